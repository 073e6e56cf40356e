"""`tune` against brute force: all cuts as fractions, ties, weights, limits."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import argmetric as am
import oracle
from argmetric import tune
from decide_checks import spec

NAN, INF = math.nan, math.inf
QUICK = {"n_bootstrap": 0, "cv": None}


# ------------------------------------------------------------------ the slow twin


def all_cuts(p):
    """Thresholds of every cut: nothing, then down to everything."""
    return [INF, *sorted(set(np.asarray(p, float).tolist()), reverse=True)]


def exact_counts(y, p, w, threshold):
    """Counts tp, k, t, n of one cut, as fractions."""
    rows = list(zip(y, p, map(Fraction, w), strict=True))
    chosen = [(label, weight) for label, score, weight in rows if score >= threshold]
    if threshold == INF:
        chosen = []
    tp = sum((weight for label, weight in chosen if label), Fraction(0))
    t = sum((weight for label, _, weight in rows if label), Fraction(0))
    k = sum((weight for _, weight in chosen), Fraction(0))
    return tp, k, t, sum((weight for _, _, weight in rows), Fraction(0))


def exact_curve(name, y, p, w=None, zd=0.0, groups=None):
    """Exact value of every cut; the mean over groups in which it is defined."""
    w = [1] * len(y) if w is None else w
    groups = [0] * len(y) if groups is None else list(groups)
    curve = []
    for threshold in all_cuts(p):
        values = []
        for g in set(groups):
            rows = [i for i in range(len(y)) if groups[i] == g]
            part = ([a[i] for i in rows] for a in (y, p, w))
            value = oracle.exact_value(name, *exact_counts(*part, threshold), zd)
            if value == value:
                values.append(value)
        curve.append(sum(values) / len(values) if values else NAN)
    return curve


def exact_best(name, curve, allowed=None):
    """The best value, and every cut that has it."""
    sign = -1 if name in oracle.MINIMISED else 1
    known = {
        i: sign * value
        for i, value in enumerate(curve)
        if value == value and (allowed is None or allowed[i])
    }
    if not known:
        return None
    top = max(known.values())
    near = abs(top) * Fraction(1, 10**13)
    optimal = {i for i, value in known.items() if value >= top - near}
    return float(sign * top), optimal


def intervals_of(p, optimal):
    """Runs of optimal cuts as intervals (low, high] of thresholds."""
    cuts = [*all_cuts(p), -INF]
    found = []
    for i in sorted(optimal):
        if found and found[-1][0] == cuts[i]:
            found[-1][0] = cuts[i + 1]
        else:
            found.append([cuts[i + 1], cuts[i]])
    return np.array(found)


def check_rule(rule, name, y, p, curve, allowed=None):
    """Score, cut, and all optima of a rule are those of the enumeration."""
    best, optimal = exact_best(name, curve, allowed)
    assert rule.score == pytest.approx(best, rel=1e-12, abs=1e-14)
    chosen = all_cuts(p)[min(optimal)]  # ties go to fewer positives
    expected = np.asarray(p, float) >= chosen
    np.testing.assert_array_equal(rule.applies(p), expected)
    np.testing.assert_array_equal(rule.optimal_thresholds, intervals_of(p, optimal))
    low, high = rule.plateau
    assert low < rule.threshold <= high or rule.threshold == high == INF
    shown = [float(value) for value in curve]
    np.testing.assert_allclose(rule.scores, shown, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(rule.thresholds, all_cuts(p))


rounded = st.integers(0, 6).map(lambda i: i / 6)
nasty = st.sampled_from((0.0, 1.0, 1e-300, 1 - 1e-16, 0.5, 0.3))
margins = st.sampled_from((-2.5, -1.0, -0.0, 0.0, 1e-9, 0.25, 3.0, 1e12))
weights = st.sampled_from((0.5, 1.0, 2.0, 0.25, 3.0))


@st.composite
def labelled(draw, max_size=9, scores=None):
    """Labels of both classes and scores with many ties."""
    size = draw(st.integers(2, max_size))
    kind = (
        draw(st.sampled_from((rounded, nasty, margins))) if scores is None else scores
    )
    y = draw(st.lists(st.integers(0, 1), min_size=size, max_size=size))
    assume(0 < sum(y) < size)
    return y, draw(st.lists(kind, min_size=size, max_size=size))


def quietly(*arguments, **options):
    """Tune; scores that are all equal are warned of, which is not the point here."""
    p = arguments[1]
    if len(set(p)) > 1:
        return tune(*arguments, **options)
    with pytest.warns(UserWarning, match="all scores equal"):
        return tune(*arguments, **options)


# ------------------------------------------------------------------ exactness


@pytest.mark.parametrize("zd", [0.0, 1.0, NAN])
@pytest.mark.parametrize("name", oracle.NAMES)
@given(data=st.data())
@settings(deadline=None, max_examples=12)
def test_equals_brute_force_over_all_cuts(name, zd, data):
    y, p = data.draw(labelled())
    curve = exact_curve(name, y, p, zd=zd)
    if exact_best(name, curve) is None:
        return
    rule = quietly(y, p, spec(name), zero_division=oracle.obeyed(name, zd), **QUICK)
    check_rule(rule, name, y, p, curve)


@pytest.mark.parametrize("name", ["f1", "mcc", "gmean", "utility", "sec", "precision"])
@given(data=st.data())
def test_weighted_counts_equal_brute_force(name, data):
    y, p = data.draw(labelled())
    w = data.draw(st.lists(weights, min_size=len(y), max_size=len(y)))
    rule = quietly(y, p, spec(name), sample_weight=w, **QUICK)
    check_rule(rule, name, y, p, exact_curve(name, y, p, w))
    assert rule.prevalence == pytest.approx(np.dot(w, y) / np.sum(w))


def test_integer_weights_are_repeated_rows():
    rng = np.random.default_rng(3)
    y, p = rng.integers(0, 2, 60), np.round(rng.random(60), 2)
    w = rng.integers(0, 4, 60)
    limits = {"min_recall": 0.6, "max_positives": 70}
    once = tune(y, p, "mcc", sample_weight=w, **limits, **QUICK)
    again = tune(np.repeat(y, w), np.repeat(p, w), "mcc", **limits, **QUICK)
    assert once.score == pytest.approx(again.score, rel=1e-14)
    assert once.threshold_interval is None
    np.testing.assert_array_equal(once.applies(p)[w > 0], (p >= again.threshold)[w > 0])


def test_neighbouring_floats_are_told_apart():
    """One bit of the score apart: the label must not take its place."""
    low = 0.1
    high = np.nextafter(low, 1)
    rule = tune([1, 0, 1, 0], [high, low, high, low], **QUICK)
    assert rule.score == 1.0
    np.testing.assert_array_equal(rule.apply([low, high]), [0, 1])
    worse = tune([0, 1], [high, low], "accuracy", **QUICK)
    assert worse.score == 0.5


def test_several_metrics_over_one_sort_equal_single_calls():
    rng = np.random.default_rng(0)
    y, p = rng.integers(0, 2, 300), rng.random(300)
    names = ["f1", "mcc", am.FBeta(2), "sec"]
    rules = tune(y, p, names)
    assert list(rules) == ["f1", "mcc", "f2", "sec"]
    for name, rule in zip(names, rules.values(), strict=True):
        assert rule == tune(y, p, name)


def test_undefined_cuts_are_left_out():
    rule = tune([1, 0, 1], [0.9, 0.5, 0.4], "precision", zero_division=NAN, **QUICK)
    assert (rule.score, rule.scores[0]) == (1.0, pytest.approx(NAN, nan_ok=True))
    with pytest.raises(ValueError, match="undefined at every cut"):
        tune([1, 0], [0.9, 0.5], "precision", zero_division=NAN, max_positives=0)


# ------------------------------------------------------------------ limits and costs


@given(
    labelled(max_size=10),
    st.sampled_from((None, 0.0, 0.3, 0.5, 0.75, 1.0)),
    st.sampled_from((None, 0.25, 0.5, 1.0)),
    st.sampled_from((None, 0, 2, 5, "30%", "50%", "100%")),
    st.sampled_from((None, 1, "25%")),
    st.sampled_from(("f1", "recall", "precision", "accuracy")),
)
@settings(deadline=None, max_examples=150)
def test_limits_equal_brute_force(case, min_precision, min_recall, most, least, name):
    y, p = case
    shares = {"30%": Fraction(3, 10), "50%": Fraction(1, 2), "25%": Fraction(1, 4)}
    shares["100%"] = Fraction(1)
    allowed = []
    for threshold in all_cuts(p):
        tp, k, t, n = exact_counts(y, p, [1] * len(y), threshold)
        low, high = (shares[x] * n if x in shares else x for x in (least, most))
        allowed.append(
            (k == 0 or min_precision is None or tp / k >= min_precision)
            and (min_recall is None or tp / t >= min_recall)
            and (0 if low is None else low) <= k <= (INF if high is None else high)
        )
    limits = {
        "min_precision": min_precision,
        "min_recall": min_recall,
        "max_positives": most,
        "min_positives": least,
    }
    if not any(allowed):
        with pytest.raises(ValueError, match="no cut meets"):
            tune(y, p, name, **limits, **QUICK)
        return
    rule = quietly(y, p, name, **limits, **QUICK)
    check_rule(rule, name, y, p, exact_curve(name, y, p), allowed)
    kept = {key: x for key, x in limits.items() if x is not None}
    assert rule.constraints == {key: float(shares.get(x, x)) for key, x in kept.items()}


@given(
    labelled(max_size=10),
    st.lists(st.sampled_from((0.0, 0.5, 1.0, 3.0)), min_size=10, max_size=10),
    st.sampled_from((0.0, 1.0, 2.5, 7.0)),
    st.booleans(),
)
@settings(deadline=None, max_examples=100)
def test_a_budget_equals_brute_force(case, costs, most, weighted):
    """The best of the cuts whose rows, each times its weight, cost no more."""
    y, p = case
    costs = costs[: len(y)]
    weight = [1 + i % 3 for i in range(len(y))] if weighted else [1] * len(y)
    allowed = [
        sum(c * w for c, w, x in zip(costs, weight, p, strict=True) if x >= cut) <= most
        for cut in all_cuts(p)
    ]
    limits = {"budget": (costs, most), "sample_weight": weight if weighted else None}
    rule = quietly(y, p, "f1", **limits, **QUICK)
    check_rule(rule, "f1", y, p, exact_curve("f1", y, p, weight), allowed)


def test_a_budget_is_a_limit_on_the_rows_of_this_order():
    y, p = [1, 0, 1, 0, 1, 0], [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
    rule = tune(y, p, "recall", budget=([2, 2, 2, 9, 1, 1], 7), **QUICK)
    assert rule.constraints == {"max_positives": 3}
    assert rule.apply(p).tolist() == [1, 1, 1, 0, 0, 0]
    fewer = tune(y, p, "recall", budget=([2] * 6, 7), max_positives="20%", **QUICK)
    assert fewer.constraints == {"max_positives": 1}
    with pytest.raises(ValueError, match="one column of scores"):
        tune(np.eye(2, dtype=int), np.eye(2), budget=([1, 1], 1))


def test_limits_that_clash_say_what_can_be_had():
    y, p = [1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.6, 0.5]
    with pytest.raises(ValueError, match="no cut meets min_precision") as error:
        tune(y, p, min_recall=0.9, min_precision=0.8)
    assert "min_precision=0.8 and min_recall=0.9" in str(error.value)
    assert "best recall that min_precision=0.8 can have is 0.5" in str(error.value)
    assert "best precision that min_recall=0.9 can have is 0.6667" in str(error.value)
    with pytest.raises(ValueError, match=r"max_positives=1 can have is 0\.5"):
        tune(y, p, min_recall=0.9, max_positives=1)


def test_an_empty_prediction_passes_a_floor_under_precision():
    rule = tune([0, 1, 0, 0], [0.9, 0.8, 0.7, 0.6], min_precision=0.9, **QUICK)
    assert rule.threshold == INF
    assert rule.score == 0.0
    assert not rule.applies([0.99, 1.0]).any()
    assert "the best cut predicts no positive at all" in rule.notes


# ------------------------------------------------------------------ groups


@pytest.mark.parametrize("name", ["f1", "jaccard", "mcc", "balanced_accuracy", "sec"])
@pytest.mark.parametrize("zd", [0.0, 1.0, NAN])
@given(data=st.data())
@settings(deadline=None, max_examples=12)
def test_mean_over_groups_equals_brute_force(name, zd, data):
    y, p = data.draw(labelled(max_size=10))
    ids = st.sampled_from(("b", "a", "c"))
    groups = data.draw(st.lists(ids, min_size=len(y), max_size=len(y)))
    w = data.draw(st.none() | st.lists(weights, min_size=len(y), max_size=len(y)))
    curve = exact_curve(name, y, p, w, zd, groups)
    if exact_best(name, curve) is None:
        return
    options = {"groups": groups, "sample_weight": w}
    options["zero_division"] = oracle.obeyed(name, zd)
    rule = quietly(y, p, name, **options, **QUICK)
    check_rule(rule, name, y, p, curve)
    assert rule.average == "groups"


# ------------------------------------------------------------------ without labels


LINEAR_FRACTIONAL = [
    am.FBeta(1),
    am.FBeta(2),
    am.Jaccard(),
    am.Tversky(0.25, 1.5),
    am.LinearFractional(oracle.LINEAR_FRACTIONAL_C, oracle.LINEAR_FRACTIONAL_D),
    am.BalancedAccuracy(),
    am.Youden(),
    am.Kappa(),
    am.Accuracy(),
    am.Recall(),
    am.Utility(*oracle.UTILITY),
    am.Utility(tp=-0.5, fp=0.6, fn=0.9, tn=0.3),  # the less likely, the better
    am.Precision(),
    am.Lift(),
    # Rewards misses: the best prediction is at the low end (math of Natarajan, 8).
    am.LinearFractional((0.5, -0.5, 0.1, 0), (2, -1, 0, 0)),
]


@pytest.mark.parametrize("metric", LINEAR_FRACTIONAL, ids=lambda m: m.name)
@given(
    p=st.lists(st.floats(0.01, 0.99).map(lambda x: round(x, 3)), min_size=8, max_size=8)
)
@settings(deadline=None, max_examples=8)
def test_label_free_value_equals_all_classifiers(metric, p):
    p = np.array(p)
    chosen = np.array(list(itertools.product([0.0, 1.0], repeat=8)))
    values = metric.value(chosen @ p, chosen.sum(1), p.sum(), 8)
    rule = tune(None, p, metric, **QUICK)
    assert rule.score == pytest.approx(values.max(), rel=1e-12)
    predicted = rule.applies(p)
    own = metric.value(p[predicted].sum(), predicted.sum(), p.sum(), 8)
    assert own == pytest.approx(values.max(), rel=1e-9)
    assert rule.prevalence == pytest.approx(p.mean())


def test_label_free_thresholds_have_their_closed_forms():
    p = np.random.default_rng(0).beta(0.5, 2, 400)
    f1, f2, jaccard, am_ = (
        tune(None, p, name) for name in ("f1", "f2", "jaccard", "balanced_accuracy")
    )
    assert f1.threshold == pytest.approx(f1.score / 2, rel=1e-12)
    assert f2.threshold == pytest.approx(f2.score / 5, rel=1e-12)
    assert jaccard.threshold == pytest.approx(jaccard.score / (1 + jaccard.score))
    assert jaccard.threshold == pytest.approx(f1.threshold)
    assert am_.threshold == pytest.approx(p.mean())
    for rule in (f1, f2, jaccard, am_):
        assert rule.threshold_interval[0] < rule.threshold < rule.threshold_interval[1]
        assert rule.interval[0] < rule.score < rule.interval[1]
        assert rule.operator == ">="


def test_a_metric_that_rewards_misses_points_downwards():
    metric = am.LinearFractional((0.5, -0.5, 0.1, 0), (2, -1, 0, 0))
    rule = tune(None, [0.9, 0.5, 0.1], metric, **QUICK)
    assert rule.operator == "<"
    np.testing.assert_array_equal(rule.apply([0.9, 0.5, 0.1]), [0, 0, 1])
    assert "p < " in repr(rule)


def test_the_convention_of_the_empty_prediction_counts_without_labels():
    assert tune(None, [0.2, 0.1], "precision", zero_division=1.0).threshold == INF
    assert tune(None, [0.2, 0.1], "precision").threshold == pytest.approx(0.2)


@pytest.mark.parametrize("name", ["mcc", "gmean", "fowlkes_mallows", "sec", "qmean"])
def test_other_metrics_without_labels_name_decide(name):
    with pytest.raises(ValueError, match=r"not linear-fractional.*decide"):
        tune(None, [0.2, 0.9, 0.4], name)


def test_costs_are_minimised():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 200)
    p = np.round(np.clip(0.3 * y + 0.7 * rng.random(200), 0, 1), 2)
    rule = tune(y, p, am.Utility(tp=0, fp=-1, fn=-5), **QUICK)
    costs = [
        ((p >= t) & (y == 0)).sum() + 5 * ((p < t) & (y == 1)).sum()
        for t in all_cuts(p)
    ]
    assert rule.score == -min(costs)


def test_groups_of_one_row_are_pooled_accuracy_however_many():
    rng = np.random.default_rng(0)
    p = rng.random(70_000)
    y = rng.random(70_000) < p
    groups = rng.permutation(70_000)
    rule, plain = (tune(y, p, "accuracy", groups=g, **QUICK) for g in (groups, None))
    assert rule.threshold == plain.threshold
    assert rule.score == pytest.approx(plain.score, rel=1e-12)


def test_label_free_weights_are_repeated_rows():
    p, w = [0.9, 0.4, 0.2], [1, 2, 3]
    weighted = tune(None, p, sample_weight=w, **QUICK)
    repeated = tune(None, np.repeat(p, w), **QUICK)
    assert weighted.threshold == pytest.approx(repeated.threshold, rel=1e-14)
