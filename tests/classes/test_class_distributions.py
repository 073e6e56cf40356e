"""Distributions of the score of labels of several classes, held to all outcomes."""

import math

import numpy as np
import pytest

import argmetric as am
import oracle
from argmetric._expected import plan
from argmetric.classes._calibrate import ClassBatch
from argmetric.classes._distributions import (
    MetricDistribution,
    distribution_over_calibrators,
    draw_scores,
    hit_distribution,
)
from argmetric.classes.kernels.draws import add_expected, draw_tables
from argmetric.metrics import Tversky, get_class_metric
from class_oracle import all_truths, few_rows
from slow import SLOW

NAN = math.nan
AVERAGED = ("f1", "f2", "f0.5", "jaccard", "precision", "recall", Tversky(0.3, 0.9))
WHOLE = ("balanced_accuracy", "gmean", "mcc", "kappa", "quadratic_kappa", "accuracy")
CASES = [
    {"metric": metric, "average": average, "zero_division": absent}
    for metric in AVERAGED
    for average in ("macro", "weighted")
    for absent in ((NAN,) if metric == "recall" else (NAN, 0.0, 1.0))
]
CASES += [
    {"metric": metric, "zero_division": absent}
    for metric in WHOLE
    for absent in ((NAN,) if metric in ("balanced_accuracy", "gmean") else (NAN, 0.0))
]
CASES += [{"metric": "cost"}, {"metric": "share of pairs"}]
PROBLEMS = 2000 if SLOW else 200
NEAR = 1e-12  # rounding
SURE = 4.5  # standard errors: 2,000 draws of a normal stay within with probability .987


def odd_rows(rng):
    """2 to 7 rows of 2 to 4 classes: certain rows, ties, a class that cannot be."""
    n, count = rng.integers(2, 8), rng.integers(2, 5)
    p = rng.dirichlet(np.full(count, rng.choice([0.1, 1.0, 3.0])), size=n)
    kind = rng.integers(6)
    if kind == 1:
        sure = rng.random(n) < 0.5
        p[sure] = np.eye(count)[rng.integers(count, size=sure.sum())]
    elif kind == 2:
        p = np.full((n, count), 1.0 / count)
    elif kind == 3:
        p[:, rng.integers(count)] = 0.0
        p[p.sum(axis=1) == 0.0] = 1.0
    elif kind == 4:
        p[:, 0] *= 1e-9
    elif kind == 5:
        p = np.eye(count)[rng.integers(count, size=n)]
    p /= p.sum(axis=1, keepdims=True)
    labels = p.argmax(axis=1) if rng.random() < 0.5 else rng.integers(count, size=n)
    return p, labels


def pairs_share(table):
    """A function of one's own: how often the labels agree, over the largest class."""
    return float(np.trace(table) / table.sum(axis=1).max())


def call_of(case, rng, count):
    """Keywords of `forecast`, and the score of a table of counts."""
    how = dict(case)
    if how["metric"] == "cost":
        how = {"metric": None, "cost": rng.integers(0, 4, (count, count)) / 3}
    elif how["metric"] == "share of pairs":
        how = {"metric": pairs_share}
    return how, get_class_metric(**how, n_classes=count).score


def enumerated(p, labels, score):
    """Every score that can be, and its probability."""
    truths, weights = all_truths(p)
    count = p.shape[1]
    tables = np.zeros((len(truths), count, count))
    for row, label in enumerate(labels):
        tables[np.arange(len(truths)), truths[:, row], label] += 1
    possible = weights > 0.0
    weights = weights[possible]
    return score(tables[possible]), weights / weights.sum()


def is_right(f, values, weights):
    """Mean, support and interval of a forecast against all scores that can be."""
    off = abs(f.mean - weights @ values)
    away = np.abs(f.values[:, None] - values).min(axis=1).max()
    low, high = f.interval
    inside = weights[(values >= low - NEAR) & (values <= high + NEAR)].sum()
    short = SURE / (2 * math.sqrt(f.n_draws)) if f.n_draws else 0.0
    return (
        off <= NEAR + SURE * f.mean_standard_error
        and away <= NEAR
        and inside >= f.coverage - NEAR - short
        and f.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    )


@pytest.mark.parametrize("drawn", [False, True])
def test_distributions_are_those_of_all_outcomes(drawn, monkeypatch):
    """Summed over all truths as small batches are, and drawn as larger ones are."""
    if drawn:
        monkeypatch.setattr(plan, "TRUTH_CELLS", 0)
        monkeypatch.setattr(plan, "FUNCTION_TRUTHS", 0)
    rng = np.random.default_rng(40)
    wrong = []
    for number in range(PROBLEMS):
        p, labels = odd_rows(rng)
        case = CASES[number % len(CASES)]
        how, score = call_of(case, rng, p.shape[1])
        values, weights = enumerated(p, labels, score)
        coverage = (0.5, 0.8, 0.9, 0.99)[number % 4]
        f = am.classes.forecast(p, labels, coverage=coverage, **how)
        many = how["metric"] is pairs_share and len(values) > plan.FUNCTION_TRUTHS
        if not is_right(f, values, weights) or (f.n_draws > 0) > (drawn or many):
            wrong.append((number, case))
    assert wrong == []


def test_a_certain_score_is_certain():
    how = {"classes": [0, 1], "zero_division": 0}
    f = am.classes.forecast([[0, 1], [1, 0]], [1, 0], "f2", **how)
    assert (f.mean, f.interval, f.std) == (1.0, (1.0, 1.0), 0.0)
    actual = am.classes.evaluate([1, 0], [1, 0], "f2", **how)
    assert f.surprise(actual) is None


def test_accuracy_has_the_distribution_of_a_count():
    p = np.array([[0.6, 0.4], [0.7, 0.3], [0.8, 0.2], [0.43, 0.57]])
    f = am.classes.forecast(p, [0, 0, 0, 1], "accuracy", classes=[0, 1])
    assert f.values.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert f.probabilities[-1] == pytest.approx(0.6 * 0.7 * 0.8 * 0.57, abs=1e-15)
    assert f.interval[1] == 1.0
    some = few_rows(1, n=6)  # one block of rows, and two
    exact = oracle.poisson_binomial(some[:, 0])
    assert hit_distribution(some[:, 0])[1] == pytest.approx(
        exact[exact > 1e-18], rel=1e-12
    )
    many = few_rows(3, n=3000)
    f = am.classes.forecast(many, many.argmax(axis=1), "accuracy")
    best = many.max(axis=1)
    assert f.n_draws == 0
    assert f.mean == pytest.approx(best.mean(), abs=1e-13)
    assert f.std == pytest.approx(
        math.sqrt((best * (1 - best)).sum()) / 3000, abs=1e-13
    )
    assert (f.values * 3000) == pytest.approx(np.rint(f.values * 3000), abs=1e-9)


@pytest.mark.parametrize("average", ["macro", "weighted"])
@pytest.mark.parametrize("absent", [NAN, 0.0, 1.0])
@pytest.mark.parametrize("metric", [*AVERAGED, "balanced_accuracy"])
def test_expected_scores_are_exact_to_rounding(metric, average, absent):
    if metric == "balanced_accuracy" and average == "weighted":
        pytest.skip("it is no mean by support")
    if metric in ("balanced_accuracy", "recall") and not math.isnan(absent):
        pytest.skip("a class without true rows is left out")
    how = {"metric": metric, "average": average, "zero_division": absent}
    for seed in range(10):
        p = few_rows(seed, n=5)
        d = am.classes.decide(p, **how)
        score = get_class_metric(**how, n_classes=3).score
        values, weights = enumerated(p, d.codes, score)
        assert d.is_exact
        assert d.expected == pytest.approx(weights @ values, abs=1e-14)


def test_groups_have_the_distribution_of_their_mean():
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.ones(3), size=9)
    groups = np.repeat([0, 1, 2], 3)
    labels = p.argmax(axis=1)
    for metric in ("f1", "mcc", "accuracy"):
        score = get_class_metric(metric, n_classes=3).score
        parts = [
            enumerated(p[groups == g], labels[groups == g], score) for g in (0, 1, 2)
        ]
        (a, u), (b, v), (c, w) = parts
        values = (a[:, None, None] + b[:, None] + c).ravel() / 3
        weights = (u[:, None, None] * v[:, None] * w).ravel()
        f = am.classes.forecast(p, labels, metric, groups=groups)
        assert (f.n_draws, f.n_groups) == (0, 3)
        assert is_right(f, values, weights)


def test_drawn_distributions_have_the_exact_mean():
    p = few_rows(2, n=60)
    labels = p.argmax(axis=1)
    for metric, error in (("f1", 0.0), ("gmean", 0.004)):
        f = am.classes.forecast(p, labels, metric)
        assert f.n_draws > 1000
        assert f.values @ f.probabilities == pytest.approx(f.mean, abs=1e-12)
        assert f.mean_standard_error <= error
        assert (f.to_dict()["mean_standard_error"], f.to_dict()["n_draws"]) == (
            f.mean_standard_error,
            f.n_draws,
        )


@pytest.mark.parametrize("learnt", [False, True])
@pytest.mark.parametrize("metric", ["accuracy", "f1", "kappa", "gmean", "cost"])
def test_a_map_that_may_be_wrong_moves_no_score_off_its_values(metric, learnt):
    """With a calibrator alone, and with the labelled rows that it was fitted to."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.array([4, 2, 1.0]), size=306)
    y = np.array([rng.choice(3, p=row) for row in p])
    how, score = call_of({"metric": metric}, rng, 3)
    reference = y[:300], p[:300]
    if not learnt:
        reference = am.classes.calibrate(*reference)
    d = am.classes.decide(p[300:], reference=reference, **how)
    f = d.forecast()
    values, weights = enumerated(d._batch.p, d.codes, score)
    assert np.abs(f.values[:, None] - values).min(axis=1).max() < NEAR
    std = math.sqrt(weights @ (values - weights @ values) ** 2)
    least = 0.95 if metric == "gmean" else 1.0  # most scores are 0 or 1 already
    if learnt:
        assert f.values @ f.probabilities == pytest.approx(f.mean, abs=NEAR)
        least = 0.9  # other odds may spread less
    assert least * std < f.std < 2 * std
    known = d.forecast(known=y[300:])
    assert known.interval == pytest.approx((known.mean, known.mean), abs=NEAR)


def test_odds_of_levels_are_those_of_plain_rows():
    """Tables of moved odds, expected and drawn, against rows one by one."""
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(3), size=700)
    p[:50] = np.eye(3)[rng.integers(3, size=50)]
    labels = p.argmax(axis=1)
    factors = np.exp(rng.normal(size=(2, 3, 3)))
    expected, drawn = np.zeros((2, 3, 3)), np.zeros((2, 400, 3, 3))
    add_expected(p, 0, 700, labels, factors, expected)
    draw_tables(p, 0, 700, labels, factors, np.array([7], dtype=np.uint64), drawn)
    for level in range(2):
        moved = p * factors[level].T[labels]
        moved /= moved.sum(axis=1, keepdims=True)
        plain = np.array([moved[labels == c].sum(axis=0) for c in range(3)]).T
        assert expected[level] == pytest.approx(plain, abs=1e-10)
        error = np.sqrt(plain.sum() / 400)
        assert drawn[level].mean(axis=0) == pytest.approx(plain, abs=error)
        sums = drawn[level].sum(axis=1)
        assert (sums == np.bincount(labels, minlength=3)).all()


@pytest.mark.parametrize("n", [200, 50_000])
@pytest.mark.parametrize("metric", ["f1", "kappa", "accuracy"])
def test_a_distribution_over_calibrators_spreads_as_they_do(metric, n):
    """Its variance is that of the drawn scores, and that of the means of maps."""
    p = np.random.default_rng(n).dirichlet([2, 1, 0.5], size=n)
    rows, labels = ClassBatch(p, (0, 1, 2), None).rows(), p.argmax(axis=1)
    of_classes = get_class_metric(metric, n_classes=3)
    given = MetricDistribution.from_draws(draw_scores(rows, of_classes, labels, seed=0))
    how = {"seed": 0, "mean": given.mean, "std": 0.03}
    spread = distribution_over_calibrators(rows, of_classes, labels, **how)
    assert spread.mean == pytest.approx(given.mean, abs=0.002)
    assert spread.std == pytest.approx(math.hypot(given.std, 0.03), rel=0.06)
