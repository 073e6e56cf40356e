"""How sure a threshold is: samples drawn again, folds, and coverage."""

import math

import numpy as np
import pytest

import argmetric as am
from argmetric import tune

QUICK = {"n_bootstrap": 0, "cv": None}


def fresh(rng, n, prevalence=0.2):
    y = (rng.random(n) < prevalence).astype(int)
    return y, 1 / (1 + np.exp(-(2 * y - 1.5 + rng.normal(0, 1.2, n))))


def width(interval):
    return interval[1] - interval[0]


# ------------------------------------------------------------------ plain twins


def naive_fold_score(y, p, folds, metric, rng):
    """Cuts tuned on the other folds of one random deal, each class evenly; pooled."""
    fold, predicted = np.empty(y.size, int), np.zeros(y.size, int)
    for label in (0, 1):
        own = np.flatnonzero(y == label)
        fold[rng.permutation(own)] = np.arange(own.size) % folds
    for f in range(folds):
        rest, inside = fold != f, fold == f
        rule = tune(y[rest], p[rest], metric, **QUICK)
        # At the cut of the rows as a whole: the smallest predicted score inside.
        chosen = p[rest][rule.applies(p[rest])]
        predicted[inside] = p[inside] >= (chosen.min() if chosen.size else math.inf)
    return am.get_metric(metric).score(y, predicted)


@pytest.mark.parametrize("name", ["f1", pytest.param("mcc", marks=pytest.mark.slow)])
def test_out_of_fold_scores_are_those_of_a_loop_over_folds(name):
    y, p = fresh(np.random.default_rng(5), 120)
    rng, options = np.random.default_rng(1), {"n_bootstrap": 0, "cv": 4}
    naive = [naive_fold_score(y, p, 4, name, rng) for _ in range(300)]
    rules = [tune(y, p, name, random_state=seed, **options) for seed in range(200)]
    found = [rule.mean for rule in rules]
    error = np.hypot(np.std(naive) / np.sqrt(300), np.std(found) / np.sqrt(200))
    assert np.mean(found) == pytest.approx(np.mean(naive), abs=4 * error)
    # Each is the mean over five deals; a kurtosis of 5 gives the ratio an error of .18.
    assert np.var(naive) / np.var(found) == pytest.approx(5, rel=0.7)
    one = rules[0]
    assert one.optimism == one.score - one.mean


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [300, 6000, pytest.param(30_000, marks=pytest.mark.slow)])
def test_threshold_intervals_are_those_of_a_plain_bootstrap(n, weighted):
    """Rows drawn one by one, rows of bins, and cells of many rows."""
    rng = np.random.default_rng(0)
    y, p = fresh(rng, n)
    w = rng.uniform(0.2, 3, n) if weighted else np.ones(n)
    given = w if weighted else None
    rule = tune(y, p, sample_weight=given, n_bootstrap=2000, cv=None)
    rates = []
    for _ in range(300):
        rows = rng.integers(0, n, n)
        again = tune(y[rows], p[rows], sample_weight=w[rows], **QUICK)
        rates.append(np.mean(p >= again.threshold))
    found = [np.mean(p >= end) for end in rule.threshold_interval[::-1]]
    naive = np.quantile(rates, [0.05, 0.95])
    np.testing.assert_allclose(found, naive, atol=0.25 * width(naive))


@pytest.mark.parametrize("weighted", [False, True])
def test_new_rows_have_the_spread_of_two_samples(weighted):
    """Of a share a seen on m rows and drawn again: the variance is 2·a(1-a)/m."""
    rng = np.random.default_rng(0)
    y, p = fresh(rng, 4000)
    w = rng.uniform(0.2, 3, 4000) if weighted else np.ones(4000)
    rule = tune(y, p, "accuracy", sample_weight=w, n_bootstrap=2, cv=None)
    rows = w.sum() ** 2 / (w**2).sum()
    deviation = np.sqrt(2 * rule.score * (1 - rule.score) / rows)
    assert width(rule.interval) == pytest.approx(3.29 * deviation, rel=0.07)
    assert np.mean(rule.interval) == pytest.approx(rule.score, abs=0.002)


# ------------------------------------------------------------------ coverage


@pytest.mark.parametrize("name", ["f1", pytest.param("mcc", marks=pytest.mark.slow)])
def test_tuning_flatters_and_the_interval_knows(name):
    """The interval is for as many new rows: 200 runs have an error of .021."""
    hits, flattery, measured = [], [], []
    metric = am.get_metric(name)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        y, p = fresh(rng, 150)
        rule = tune(y, p, name, n_bootstrap=2)
        other_y, other_p = fresh(rng, 150)
        score = metric.score(other_y, rule.apply(other_p))
        low, high = rule.interval
        hits.append(low <= score <= high)
        flattery.append(rule.score - score)
        measured.append(rule.optimism)
    assert 0.85 < np.mean(hits) < 0.96
    assert abs(np.mean(flattery) - np.mean(measured)) < 0.03


@pytest.mark.slow
def test_groups_cover_as_many_new_groups():
    """200 groups of 5; of 60 groups it holds .85 for .90, see the docs."""
    hits = []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        parts = []
        for _ in range(2):
            shift = rng.normal(0, 1, 200).repeat(5)
            y = (rng.random(1000) < 0.3).astype(int)
            parts.append((y, 1.5 * y + shift + rng.normal(0, 1, 1000)))
        (y, x), (other_y, other_x) = parts
        rule = tune(y, x, "accuracy", groups=np.arange(200).repeat(5), n_bootstrap=2)
        score = np.mean((other_x >= rule.threshold) == other_y)
        low, high = rule.interval
        hits.append(low <= score <= high)
    assert 0.83 < np.mean(hits) < 0.97


def test_intervals_stay_where_the_metric_lives():
    y = np.array([0, 1] * 6)
    for name, low in (("f1", 0.0), ("mcc", -1.0)):
        rule = tune(y, np.linspace(0.1, 0.9, 12), name)
        assert low <= rule.interval[0] <= rule.interval[1] <= 1.0
    # Separable: yet a dozen rows do not promise that the next dozen are.
    for n, low in ((12, 0.5), (12_000, 0.999)):
        y = np.arange(n) % 2
        interval = tune(y, y * 0.5 + 0.1).interval
        assert low < interval[0] < interval[1] == 1.0


def test_random_state_changes_the_intervals_alone():
    y, p = fresh(np.random.default_rng(4), 400)
    one, same, other = (tune(y, p, random_state=seed) for seed in (0, 0, 1))
    assert one == same
    assert (one.threshold, one.score) == (other.threshold, other.score)
    assert one.interval != other.interval
    fixed = tune(y, p, random_state=np.random.default_rng(3))
    assert fixed == tune(y, p, random_state=np.random.default_rng(3))
    assert tune(y, p, random_state=None).threshold == one.threshold


# ------------------------------------------------------------------ groups, weights


def test_whole_groups_are_drawn():
    """All rows of a group alike: the interval is that of the groups, not rows."""
    y0, p0 = fresh(np.random.default_rng(0), 60)
    y, p, g = (np.repeat(a, 20) for a in (y0, p0, np.arange(60)))
    rows, drawn, alone = (
        width(rule.interval)
        for rule in (
            tune(y, p, "accuracy"),
            tune(y, p, "accuracy", groups=g, average="pooled"),
            tune(y0, p0, "accuracy"),
        )
    )
    assert drawn > 2 * rows
    assert drawn == pytest.approx(alone, rel=0.4)


@pytest.mark.parametrize("average", [None, "groups", "pooled"])
def test_a_count_means_its_share_in_folds_and_samples(average):
    rng = np.random.default_rng(0)
    y, p = fresh(rng, 1000)
    options = {}
    if average is not None:
        options = {"groups": rng.integers(0, 50, 1000), "average": average}
    count = tune(y, p, max_positives=60, **options)
    share = tune(y, p, max_positives="6%", **options)
    assert count.threshold == share.threshold > tune(y, p, **options).threshold
    for name in ("mean", "interval", "threshold_interval"):
        assert getattr(count, name) == getattr(share, name)
    assert count.constraints == {"max_positives": 60}
    assert count.interval[0] < count.score
    low, _ = count.threshold_interval
    assert np.mean(p >= low) < 0.08  # no sample spends a looser budget


@pytest.mark.parametrize("average", [None, "groups", "pooled"])
@pytest.mark.parametrize("name", ["f1", "balanced_accuracy", "mcc"])
def test_rows_and_groups_without_weight_are_not_there(name, average):
    rng = np.random.default_rng(1)
    y, p = fresh(rng, 300)
    # Units are numbered as they first appear: in order, both calls draw the same ones.
    g = np.sort(rng.integers(0, 20, 300))
    w = np.where((g % 5 == 2) | (np.arange(300) % 7 == 0), 0.0, rng.uniform(0.5, 2))
    kept = w > 0
    options = {"average": average, "zero_division": 1.0 if name == "f1" else None}
    found = []
    for part in (slice(None), kept):
        groups = None if average is None else g[part]
        given = {"groups": groups, "sample_weight": w[part], **options}
        found.append(tune(y[part], p[part], name, **given))
    assert found[0] == found[1]
    assert found[0].n == kept.sum()


@pytest.mark.parametrize(
    "given",
    [
        {"groups": ["a"] * 4},
        {"groups": ["a", "a", "b", "b"], "sample_weight": [1, 1, 0, 0]},
    ],
)
def test_one_group_has_nothing_to_draw(given):
    y, p = [0, 1, 0, 1], [0.1, 0.9, 0.2, 0.4]
    rule = tune(y, p, **given)
    assert rule.interval is rule.threshold_interval is None
    assert math.isnan(rule.optimism)
    assert "one group only" in " ".join(rule.notes)


def test_new_groups_have_the_spread_of_two_samples():
    """A mean over 80 groups: their variance over their number, twice, nearly."""
    rng = np.random.default_rng(0)
    groups = np.arange(80).repeat(10)
    y, p = fresh(rng, 800)
    rule = tune(y, p, "accuracy", groups=groups, n_bootstrap=2, cv=None)
    right = (p >= rule.threshold) == y
    values = right.reshape(80, 10).mean(axis=1)
    deviation = np.sqrt(values.var() * (1 / 80 + (1 - 1 / 80) / 81))
    assert width(rule.interval) == pytest.approx(3.29 * deviation, rel=0.12)
