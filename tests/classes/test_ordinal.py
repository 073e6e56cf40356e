"""Kappas of classes in order: decisions, rules and predicted means."""

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import cohen_kappa_score

import argmetric as am
from argmetric.classes import tune
from argmetric.classes._climb import GroupRows, decide_agreement
from argmetric.classes._means import read_means
from argmetric.metrics import ordinal_kappa
from class_oracle import few_rows
from refusing import refuses

POWERS = {"linear_kappa": 1, "quadratic_kappa": 2}
QUICK = {"n_bootstrap": 0, "cv": None}
kinds = pytest.mark.parametrize("name", POWERS)
probabilities = st.sampled_from((0.0, 1.0, 1e-300, 1e-16, 0.25, 0.5, 0.7))


def rows_of(values):
    """Rows of 4 classes that sum to 1; of nothing but zeros even ones."""
    p = np.array(values, dtype=float) + 0.0
    p[p.sum(axis=1) == 0.0] = 1.0
    return p / p.sum(axis=1, keepdims=True)


def ratio_of(p, labels, power):
    """Fractions of expected disagreement, seen and at random."""
    exact = [[Fraction(float(x)) for x in row] for row in p]
    mu = [sum(column) for column in zip(*exact, strict=True)]
    apart = [[abs(a - b) ** power for b in range(len(mu))] for a in range(len(mu))]
    seen = sum(
        x * apart[a][b]
        for row, b in zip(exact, labels, strict=True)
        for a, x in enumerate(row)
    )
    random = sum(m * apart[a][b] for b in labels for a, m in enumerate(mu))
    return seen, random / len(labels)


def plug_in(p, labels, power):
    seen, random = ratio_of(p, labels, power)
    return float(1 - seen / random) if random else 0.0


def sample(n=300, count=5, seed=0):
    """Classes in order, probabilities that are too sure, and predicted means."""
    rng = np.random.default_rng(seed)
    at = rng.normal(count / 2 - 1, 1.2, n)
    y = np.clip(np.rint(at + rng.normal(0, 0.8, n)), 0, count - 1).astype(int)
    z = -1.2 * (np.arange(count) - at[:, None] * 0.8) ** 2
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return y, p / p.sum(axis=1, keepdims=True), 0.7 * at + 0.4


def decided(p, name):
    """Labels of the highest kappa of the expected counts, and 1 less that kappa."""
    free = np.full((1, p.shape[1]), np.inf)
    rows = GroupRows(p, np.array([0, len(p)]), free, -free)
    return decide_agreement(rows, ordinal_kappa(name))


@kinds
@pytest.mark.parametrize("seed", range(4))
def test_the_decision_is_the_best_of_all_labels(name, seed):
    p = few_rows(seed, 5, 4)
    labels = itertools.product(range(4), repeat=5)
    best = max(plug_in(p, z, POWERS[name]) for z in labels)
    codes, ratio = decided(p, name)
    assert 1 - ratio[0] == pytest.approx(best, abs=1e-12)
    assert plug_in(p, codes, POWERS[name]) == pytest.approx(best, abs=1e-12)


@kinds
@settings(max_examples=15)
@given(
    st.lists(st.lists(probabilities, min_size=3, max_size=3), min_size=1, max_size=4)
)
def test_the_decision_is_the_best_on_odd_rows(name, values):
    p = rows_of(values)
    labels = itertools.product(range(3), repeat=len(p))
    best = max(plug_in(p, z, POWERS[name]) for z in labels)
    codes, ratio = decided(p, name)
    assert 1 - ratio[0] == pytest.approx(best, abs=1e-9)
    assert plug_in(p, codes, POWERS[name]) == pytest.approx(best, abs=1e-9)


@kinds
def test_the_exact_expectation_loses_little(name):
    # Over all true classes, kappa of the expected counts is not the expected kappa.
    losses = []
    truths = np.array(list(itertools.product(range(4), repeat=5)))
    steps = np.arange(4)
    w = np.abs(steps[:, None] - steps) ** POWERS[name]
    t = (truths[:, :, None] == steps).sum(axis=1)
    seen = w[truths[:, None, :], truths[None]].sum(axis=2)
    random = (t @ w @ t.T) / 5
    kappa = np.where(random > 0, 1 - seen / np.where(random > 0, random, 1), 0.0)
    for seed in range(12):
        p = few_rows(seed, 5, 4)
        weight = np.prod(p[np.arange(5), truths], axis=1)
        expected = weight @ kappa  # of every labelling
        found = am.classes.decide(p, name).codes
        losses.append(expected.max() - expected[found @ 4 ** np.arange(4, -1, -1)])
    assert min(losses) >= -1e-12
    assert np.mean(losses) < 0.02
    assert max(losses) < 0.12


@kinds
def test_scores_are_those_of_scikit_learn(name):
    y, p, _ = sample()
    weight = np.random.default_rng(0).random(y.size)
    labels = p.argmax(axis=1)
    for w in (None, weight):
        kappa = cohen_kappa_score(
            y, labels, weights=name.split("_")[0], sample_weight=w
        )
        found = am.classes.evaluate(y, labels, name, sample_weight=w)
        assert found == pytest.approx(kappa)


@kinds
def test_the_rule_gives_the_labels_of_its_decision(name):
    y, p, _ = sample()
    for reference in (None, (y, p)):
        decision = am.classes.decide(p, name, reference=reference)
        assert np.array_equal(decision.rule.apply(p), decision.labels)
        again = pickle.loads(pickle.dumps(decision)).rule
        assert np.array_equal(again.apply(p), decision.labels)
        assert am.classes.MultiClassRule.from_dict(again.to_dict()) == again


def test_the_quadratic_rule_rounds_a_stretched_mean():
    _, p, _ = sample()
    decision = am.classes.decide(p, "quadratic_kappa")
    m = p @ np.arange(5)
    stretched = m.mean() + (m - m.mean()) / decision.expected
    assert np.array_equal(decision.labels, np.clip(np.rint(stretched), 0, 4))
    cuts = m.mean() + (np.arange(4) + 0.5 - m.mean()) * decision.expected
    assert -np.diff(decision.rule.offsets) == pytest.approx(cuts)
    assert "1 from" in str(decision.rule)


def test_costs_have_a_rule():
    _, p, _ = sample()
    cost = np.abs(np.arange(5)[:, None] - np.arange(5)) ** 1.5
    decision = am.classes.decide(p, cost=cost)
    assert np.array_equal(decision.rule.apply(p), decision.labels)
    assert np.array_equal(decision.labels, (p @ cost).argmin(axis=1))


@kinds
def test_tune_calibrates_and_decides(name):
    y, p, _ = sample()
    rule = tune(y, p, name, **QUICK)
    calibrator = am.classes.calibrate(y, p)
    decision = am.classes.decide(p, name, reference=calibrator)
    assert np.array_equal(rule.apply(p), decision.labels)
    assert rule.score == am.classes.evaluate(y, rule.apply(p), name)
    assert rule.argmax_score == am.classes.evaluate(y, p.argmax(axis=1), name)
    assert rule.score > rule.argmax_score + 0.01
    assert (rule.n, rule.metric.name) == (300, name.replace("_", " "))


@kinds
def test_tune_with_a_reference_uses_its_calibrator(name):
    y, p, _ = sample()
    calibrator = am.classes.calibrate(*sample(seed=1)[:2])
    rule = tune(y, p, name, reference=calibrator, **QUICK)
    assert rule.calibrator is calibrator
    decision = am.classes.decide(p, name, reference=calibrator)
    assert np.array_equal(rule.apply(p), decision.labels)


def test_the_mean_is_that_of_rules_of_other_folds():
    y, p, _ = sample(60, 3)
    rule = tune(y, p, "quadratic_kappa", n_bootstrap=50, cv=5)
    plain = tune(y, p, "quadratic_kappa", **QUICK)
    assert rule.score == plain.score
    assert rule.optimism == pytest.approx(rule.score - rule.mean)
    assert rule.interval.low < rule.mean < rule.interval.high
    assert -0.05 < rule.optimism < 0.2
    assert math.isnan(plain.mean)
    assert plain.interval is None


def test_weights_of_rows_are_repetitions():
    y, p, _ = sample(80, 3)
    w = np.random.default_rng(3).integers(0, 3, 80)
    weighted = tune(y, p, "quadratic_kappa", sample_weight=w, **QUICK)
    repeated = tune(
        np.repeat(y, w), np.repeat(p, w, axis=0), "quadratic_kappa", **QUICK
    )
    assert weighted.score == pytest.approx(repeated.score)
    assert np.array_equal(weighted.apply(p), repeated.apply(p))
    ones = tune(y, p, "quadratic_kappa", sample_weight=np.ones(80), **QUICK)
    assert ones == tune(y, p, "quadratic_kappa", **QUICK)


def test_a_list_of_metrics_gives_rules_by_name():
    y, p, _ = sample(100, 3)
    rules = tune(y, p, ["quadratic_kappa", "f1", "linear_kappa"], **QUICK)
    assert list(rules) == ["quadratic_kappa", "f1", "linear_kappa"]
    for name in POWERS:
        assert rules[name] == tune(y, p, name, average="macro", **QUICK)


# Predicted means


def by_hand(mean, known, y, values):
    """A normal distribution about each mean, at the classes."""
    spread = math.sqrt(np.mean((values[y] - known) ** 2))
    low, high = min(values[0], known.min()), max(values[-1], known.max())
    p = np.exp(-((values - np.clip(mean, low, high)[:, None]) ** 2) / 2 / spread**2)
    return p / p.sum(axis=1, keepdims=True)


@kinds
@pytest.mark.parametrize("units", [range(5), (1, 2, 3, 4, 5), (0.0, 0.5, 1, 2, 4)])
def test_means_are_decided_as_normal_probabilities(name, units):
    values = np.array(units, dtype=float)
    y, _, at = sample()
    m = np.interp(at, range(5), values)
    new = np.append(np.interp(sample(seed=1)[2], range(5), values), (-1e300, 1e300))
    p, known = by_hand(new, m, y, values), by_hand(m, m, y, values)
    names = list(units)
    truth = np.array(names)[y]
    decision = am.classes.decide(
        mean=new, metric=name, classes=names, reference=(truth, m)
    )
    same = am.classes.decide(p, name, classes=names, reference=(truth, known))
    assert np.array_equal(decision.labels, same.labels)
    assert decision.expected == pytest.approx(same.expected)
    assert decision.forecast().mean == pytest.approx(same.forecast().mean)
    assert (decision.rule.apply(new) == decision.labels).mean() > 0.99
    rule = tune(truth, mean=m, metric=name, classes=names, **QUICK)
    assert (np.diff(rule.cuts) >= 0).all()
    assert rule.score == am.classes.evaluate(truth, rule.apply(m), name, classes=names)


def test_means_are_forecast_and_monitored_as_normal_probabilities():
    values, (y, _, m), (_, _, new) = np.arange(5.0), sample(), sample(seed=1)
    p, known = by_hand(new, m, y, values), by_hand(m, m, y, values)
    pair, same = (y, m), (y, known)
    rule = tune(y, mean=m, metric="quadratic_kappa", **QUICK)
    found = am.classes.forecast(mean=new, labels=rule, reference=pair)
    labels = rule.apply(new)
    wanted = am.classes.forecast(p, labels, "quadratic_kappa", reference=same)
    assert found.mean == pytest.approx(wanted.mean)
    assert found.interval == pytest.approx(wanted.interval)
    how = {"metric": "quadratic_kappa", "classes": range(5), "every": 150}
    nearest = np.clip(np.rint(new), 0, 4).astype(int)
    by_mean = am.classes.monitor(mean=new, reference=pair, **how)
    by_p = am.classes.monitor(p, nearest, reference=same, **how)
    for one, other in zip(by_mean.periods, by_p.periods, strict=True):
        assert one.counts == other.counts
        assert one.mean == pytest.approx(other.mean)
        assert one.interval == pytest.approx(other.interval)
        assert one.prevalences == pytest.approx(other.prevalences)


def test_periods_of_means_are_added_saved_and_predicted_by_cuts(tmp_path):
    (y, _, m), (truth, _, new) = sample(), sample(seed=1)
    rule = tune(y, mean=m, metric="quadratic_kappa", **QUICK)
    how = {"labels": rule, "reference": (y, m), "every": 150}
    whole = am.classes.monitor(mean=new, known=truth, **how)
    half = am.classes.monitor(mean=new[:150], known=truth[:150], **how)
    half.save(tmp_path / "m.json")
    again = type(half).load(tmp_path / "m.json").add(new[150:], known=truth[150:])
    assert again.to_dict() == whole.to_dict()
    counts = np.bincount(rule.predicts(new[:150]), minlength=5)
    assert whole.periods[0].counts == tuple(counts)
    score = am.classes.evaluate(truth[:150], rule.apply(new[:150]), rule.metric)
    assert whole.periods[0].actual == pytest.approx(float(score))
    refuses(ValueError, "mean must be one predicted mean", whole.add, np.eye(5))


def test_names_sorted_by_letters_are_refused():
    y, p, m = sample(60, 3)
    names = np.array(["low", "medium", "high"])
    text, z = names[y], names[p.argmax(axis=1)]
    words = r"is for classes in order.*'high', 'low', 'medium'\): pass classes="
    kappa, order = {"metric": "quadratic_kappa"}, {"classes": [*names]}
    frame = pd.DataFrame(p[:, [2, 0, 1]], columns=sorted(names))
    verbs = am.classes
    for call, passed, how in (
        (tune, (text, p, "quadratic_kappa"), {}),
        (tune, (text,), {"mean": m, **kappa}),
        (verbs.decide, (frame,), kappa),
        (verbs.decide, (), {"mean": m, "reference": (text, m), "metric": "f1"}),
        (verbs.forecast, (frame, text), kappa),
        (verbs.evaluate, (text, z), kappa),
    ):
        refuses(ValueError, words, call, *passed, **how)
    score = cohen_kappa_score(y, p.argmax(axis=1), weights="quadratic")
    assert verbs.evaluate(text, z, **kappa, **order) == pytest.approx(score)
    d = verbs.decide(p, **kappa, **order)
    assert verbs.evaluate(text, d) == verbs.evaluate(y, verbs.decide(p, **kappa))
    two = names[[0, 2]][np.minimum(y, 1)]
    assert verbs.evaluate(two, two[::-1], **kappa) == pytest.approx(
        cohen_kappa_score(two, two[::-1])
    )
    wide = {"mean": y, "reference": (m, y), **kappa}
    refuses(ValueError, "are labels and means swapped", verbs.decide, **wide)
    words = "quadratic_kappa is for rows of one of several classes in order: use"
    refuses(ValueError, words, am.decide, p[:, 1], "quadratic_kappa")
    refuses(ValueError, words, am.tune, y > 0, p[:, 1], "quadratic_kappa")


def test_means_are_refused_where_probabilities_are_needed():
    y, p, m = sample(30, 3)
    for verb, rest in (("evaluate", y), ("calibrate", p), ("check", p)):
        words = f"{verb} takes no mean: .* in classes.decide, tune, forecast and monit"
        refuses(TypeError, words, getattr(am.classes, verb), y, rest, mean=m)
    pair, verbs = (y, m), (am.classes.forecast, am.classes.monitor)
    for verb in verbs:
        refuses(ValueError, "either p, .*or mean", verb, p, y, mean=m, reference=pair)
        refuses(TypeError, "needs p, the class", verb, labels=y, reference=pair)
    refuses(TypeError, "forecast needs labels", am.classes.forecast, p)
    of_p = tune(y, p, "f1", **QUICK)
    for verb in verbs:
        words = "3 columns.*; a rule of predicted means is tuned with mean="
        refuses(ValueError, words, verb, mean=m, labels=of_p, reference=pair)
    asks = tune(y, p, min_precision=0.1, confidence=0.5, review=True)
    how = {"mean": m, "labels": asks, "reference": pair}
    refuses(ValueError, "mean has no meaning with", am.classes.monitor, **how)


def test_cuts_are_exact_and_reached_at_their_mean():
    y, _, m = sample()
    rule = tune(y, mean=m, metric="quadratic_kappa", **QUICK)
    call = read_means(None, m, (y, m), None)
    plain = tune(y, call.p, "quadratic_kappa", **QUICK)
    beside = np.concatenate([np.nextafter(rule.cuts, -9), rule.cuts])
    assert rule.predicts(beside).tolist() == [0, 1, 2, 3, 1, 2, 3, 4]
    step = np.concatenate([rule.cuts - 1e-6, rule.cuts + 1e-6])
    found = plain.predicts(call.scores.scores(step))
    assert found.tolist() == [0, 1, 2, 3, 1, 2, 3, 4]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=9))
def test_cuts_leave_the_fewest_labels_out_of_order(labels):
    # The rule of p may turn back; cuts may not.
    call = read_means(None, [0.0], ([0, 1, 2, 3], [0.0, 1.0, 2.0, 3.0]), None)
    edges = np.linspace(0.0, 3.0, len(labels) + 1)[1:-1]

    def predicts(p):
        place = p @ np.arange(4.0) if p.shape[0] != 1025 else np.linspace(0, 3, 1025)
        return np.array(labels)[np.searchsorted(edges, place, side="right")]

    grid = np.linspace(0, 3, 1025)
    given = predicts(np.zeros((1025, 4)))
    place = np.searchsorted(grid, call.scores.cuts(predicts))
    for c, first in enumerate(place, 1):
        wrong = [
            (given[:i] >= c).sum() + (given[i:] < c).sum() for i in range(grid.size + 1)
        ]
        assert wrong[first] <= min(wrong) + 1
    assert (np.diff(place) >= 0).all()


def test_names_in_order_count_from_zero():
    y, _, m = sample(200, 3)
    names = ["low", "medium", "high"]
    text = pd.Series(np.array(names)[y])
    rule = tune(
        text, mean=pd.Series(m), metric="quadratic_kappa", classes=names, **QUICK
    )
    same = tune(y, mean=m, metric="quadratic_kappa", **QUICK)
    assert rule.cuts == pytest.approx(same.cuts)
    assert rule.apply(m).tolist() == np.array(names)[same.apply(m)].tolist()
    found = am.classes.decide(
        mean=pd.Series(m, index=np.arange(200)[::-1]),
        metric="f1",
        classes=names,
        reference=(text, m),
    )
    assert found.labels.index.tolist() == list(range(200))[::-1]


def test_other_metrics_take_means_too():
    y, _, m = sample()
    for name in ("f1", "accuracy", "mcc"):
        rule = tune(y, mean=m, metric=name, cv=3, n_bootstrap=20)
        assert rule.score == am.classes.evaluate(y, rule.apply(m), name)
        assert rule.optimism == pytest.approx(rule.score - rule.mean)
        assert am.classes.MultiClassRule.from_dict(rule.to_dict()) == rule


def test_means_without_errors_keep_a_spread():
    y = np.array([0, 1, 2, 2, 1, 0])
    rule = tune(y, mean=y.astype(float), metric="quadratic_kappa", **QUICK)
    assert rule.score == 1.0
    assert np.array_equal(rule.apply([-5.0, 0.0, 1.0, 2.0, 9.0]), [0, 0, 1, 2, 2])


def test_what_cannot_be_is_refused():
    y, p, m = sample(30, 3)
    ask = am.classes.decide
    pair = {"reference": (y, m)}
    for call, words in (
        (lambda: ask(p, mean=m, **pair), "either p, class probabilities, or mean"),
        (lambda: ask(mean=m, logits=True, **pair), "either p, class probabilities"),
        (lambda: ask(mean=m), r"mean needs reference=\(y, mean\)"),
        (
            lambda: ask(mean=m, reference=am.classes.calibrate(y, p)),
            r"must be a pair \(y, mean\)",
        ),
        (lambda: ask(mean=p, **pair), r"one predicted mean for each row.*\(30, 3\)"),
        (lambda: ask(mean=[0, math.nan], **pair), "mean is nan in row 1"),
        (lambda: ask(mean=m, reference=(y, m[:9])), "y of .* has 30 rows but its mean"),
        (lambda: ask(mean=m, classes=[2, 1, 0], **pair), "classes must ascend"),
        (lambda: ask(mean=m, reference=(y * 0, m)), "has 1 class: pass classes="),
        (lambda: ask(mean=m, classes=[0, 1], **pair), "label 2.* not among"),
        (
            lambda: tune(y, p, "quadratic_kappa", max_per_class=9),
            "max_per_class has no meaning for quadratic kappa",
        ),
        (
            lambda: tune(y, p, "linear_kappa", average="weighted"),
            "average has no meaning for linear kappa",
        ),
        (lambda: tune(y, mean=m).apply(p), "p must be one predicted mean for each row"),
    ):
        refuses(ValueError, words, call)
    refuses(TypeError, "decide needs p, the class probabilities", ask)
    refuses(TypeError, "tune needs p, the class probabilities", tune, y)
    even, rule = np.ones(3), am.classes.MultiClassRule
    for options, words in (
        ({"gains": np.eye(2)}, r"gains must be numbers of shape \(3, 3\)"),
        ({"cuts": [0.5, math.nan]}, r"cuts must be numbers of shape \(2,\)"),
        ({"cuts": [0.5, 0.2]}, "cuts must ascend"),
    ):
        refuses(ValueError, words, rule, (0, 1, 2), even, am.FBeta(), **options)
    refuses(ValueError, "all must be 1", rule, (0, 1), [1, 2], am.FBeta(), cuts=[0.5])


def test_pictures_show_cuts_and_offsets():
    import matplotlib.pyplot as plt

    y, p, m = sample(100, 3)
    rules = [
        tune(y, p, "quadratic_kappa", **QUICK),
        tune(y, p, "linear_kappa", **QUICK),
        tune(y, mean=m, metric="quadratic_kappa", **QUICK),
    ]
    for rule, what in zip(rules, ("cut", "offset", "cut"), strict=True):
        ax = rule.plot()
        assert ax.get_xlabel() == what
        assert len(ax.patches) == (2 if what == "cut" else 3)
        plt.close(ax.figure)
    assert rules[2].to_frame()["from"].tolist() == [-math.inf, *rules[2].cuts]
    assert list(rules[1].to_frame()) == [
        "class", "weight", "offset", "gain of 0", "gain of 1", "gain of 2",
    ]  # fmt: skip


# MetricClassifier


@pytest.fixture(scope="module")
def classified():
    y, p, _ = sample(600, 4, seed=5)
    X = np.column_stack([np.log(p + 1e-9), np.random.default_rng(0).random(600)])
    model = am.MetricClassifier(
        LogisticRegression(max_iter=500), "quadratic_kappa", cv=3, random_state=0
    )
    return model.fit(X[:400], y[:400] + 1), X[400:], y[400:] + 1


def test_a_classifier_of_classes_in_order(classified):
    model, X, y = classified
    labels = model.predict(X)
    p = model.predict_proba(X)
    assert np.array_equal(labels, model.rule_.apply(p))
    values = model.decision_function(X)
    assert np.array_equal(labels, model.classes_[values.argmax(axis=1)])
    assert model.score(X, y) == cohen_kappa_score(y, labels, weights="quadratic")
    assert model.best_score_ == model.rule_.score > model.rule_.argmax_score
    assert 0 <= model.rule_.optimism < 0.1


def test_a_classifier_decides_and_forecasts_batches(classified):
    model, X, y = classified
    decision = model.decide(X)
    assert decision.metric.name == "quadratic kappa"
    assert decision.expected >= decision.most_probable
    forecast = model.forecast(X, decision)
    assert forecast.interval.low < am.classes.evaluate(y, decision) < 1.0
    assert forecast.mean == pytest.approx(decision.expected, abs=0.02)


def test_classes_in_no_order_are_refused():
    y, p, _ = sample(60, 3)
    model = am.MetricClassifier(metric="linear_kappa")
    names = np.array(["low", "medium", "high"])
    refuses(
        ValueError,
        "linear_kappa is for classes in order.*'high'",
        model.fit,
        p,
        names[y],
    )
    refuses(ValueError, "of two classes is kappa", model.fit, p, y > 0)
