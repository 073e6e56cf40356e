"""`tune` against brute force: all cuts as fractions, ties, weights, limits."""

from __future__ import annotations

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
from argmetric._tune import _groups, _resample

NAN, INF = math.nan, math.inf
SPECIAL = {
    "tversky": am.Tversky(0.25, 1.5),
    "linear_fractional": am.LinearFractional(
        oracle.LINEAR_FRACTIONAL_C, oracle.LINEAR_FRACTIONAL_D
    ),
    "utility": am.Utility(*oracle.UTILITY),
    "custom": am.CustomMetric(lambda tp, k, t, n: tp * tp / (k * t)),
}
some = settings(deadline=None, max_examples=40)
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


def spec(name):
    return SPECIAL.get(name, name)


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
    rule = quietly(y, p, spec(name), zero_division=zd, **QUICK)
    check_rule(rule, name, y, p, curve)


@pytest.mark.parametrize("name", ["f1", "mcc", "gmean", "utility", "sec", "precision"])
@given(data=st.data())
@some
def test_weighted_counts_equal_brute_force(name, data):
    y, p = data.draw(labelled())
    w = data.draw(st.lists(weights, min_size=len(y), max_size=len(y)))
    rule = quietly(y, p, spec(name), sample_weight=w, **QUICK)
    check_rule(rule, name, y, p, exact_curve(name, y, p, w))
    assert rule.prevalence == pytest.approx(np.dot(w, y) / np.sum(w))


def test_a_thousand_random_cases_with_ties_are_all_exact():
    """Peers miss 12–40 % of these."""
    rng = np.random.default_rng(7)
    for _ in range(1000):
        n = int(rng.integers(4, 40))
        y = rng.integers(0, 2, n)
        y[:2] = 0, 1
        p = np.round(rng.random(n), 1)
        cuts = np.array(all_cuts(p))
        predicted = p >= cuts[:, None]
        tp, k = (predicted & (y == 1)).sum(1), predicted.sum(1)
        best = (2 * tp / (k + y.sum())).max()
        rule = quietly(y, p, **QUICK)
        assert rule.score == best
        assert am.FBeta(1).score(y, rule.apply(p)) == best


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


@given(labelled(max_size=12))
@some
def test_packing_labels_into_the_scores_loses_nothing(case):
    """Scores are sorted as bits with the label; weights of 1 take argsort."""
    y, p = case
    p = np.abs(p)
    fast = quietly(y, p, **QUICK)
    slow = quietly(y, p, sample_weight=np.ones(len(y)), **QUICK)
    assert fast == slow
    np.testing.assert_array_equal(fast.scores, slow.scores)


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


def test_an_infinite_metric_is_refused():
    odds = am.CustomMetric(lambda tp, k, t, n: tp / (k - tp), name="odds")
    with pytest.raises(ValueError, match="odds is infinite"):
        tune([1, 0, 1, 0], [0.9, 0.5, 0.4, 0.2], odds)


# ------------------------------------------------------------------ limits and costs


@given(
    labelled(max_size=10),
    st.sampled_from((None, 0.0, 0.3, 0.5, 0.75, 1.0)),
    st.sampled_from((None, 0.25, 0.5, 1.0)),
    st.sampled_from((None, 0, 2, 5, 0.3, 0.5, 1.0)),
    st.sampled_from(("f1", "recall", "precision", "accuracy")),
)
@settings(deadline=None, max_examples=150)
def test_limits_equal_brute_force(case, min_precision, min_recall, most, name):
    y, p = case
    allowed = []
    for threshold in all_cuts(p):
        tp, k, t, n = exact_counts(y, p, [1] * len(y), threshold)
        budget = INF if most is None else most if isinstance(most, int) else most * n
        allowed.append(
            (k == 0 or min_precision is None or tp / k >= min_precision)
            and (min_recall is None or tp / t >= min_recall)
            and k <= budget
        )
    limits = {
        "min_precision": min_precision,
        "min_recall": min_recall,
        "max_positives": most,
    }
    if not any(allowed):
        with pytest.raises(ValueError, match="no cut meets"):
            tune(y, p, name, **limits, **QUICK)
        return
    rule = quietly(y, p, name, **limits, **QUICK)
    check_rule(rule, name, y, p, exact_curve(name, y, p), allowed)
    assert rule.constraints == {k: v for k, v in limits.items() if v is not None}


def test_limits_that_clash_say_what_can_be_had():
    y, p = [1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.6, 0.5]
    with pytest.raises(ValueError, match="no cut meets min_precision") as error:
        tune(y, p, min_recall=0.9, min_precision=0.8)
    assert "min_precision=0.8 and min_recall=0.9" in str(error.value)
    assert "best recall that min_precision=0.8 can have is 0.5" in str(error.value)
    assert "best precision at recall 0.9 or more is 0.6667" in str(error.value)
    with pytest.raises(ValueError, match=r"max_positives=1 can have is 0\.5"):
        tune(y, p, min_recall=0.9, max_positives=1)


def test_an_empty_prediction_passes_a_floor_under_precision():
    rule = tune([0, 1, 0, 0], [0.9, 0.8, 0.7, 0.6], min_precision=0.9, **QUICK)
    assert rule.threshold == INF
    assert rule.score == 0.0
    assert not rule.applies([0.99, 1.0]).any()
    assert "the best cut predicts no positive at all" in rule.notes


@pytest.mark.parametrize(
    ("most", "error"),
    [
        (-1, ValueError),
        (1.5, ValueError),
        (True, TypeError),
        ("3", TypeError),
        (NAN, ValueError),
        (INF, ValueError),
    ],
)
def test_odd_budgets_are_refused(most, error):
    with pytest.raises(error, match="max_positives must be"):
        tune([0, 1], [0.2, 0.8], max_positives=most)


@pytest.mark.parametrize(
    "cost", [(1, 5), {"fp": 1, "fn": 5}, {"fn": 5.0, "fp": 1.0, "tp": 0.0}]
)
def test_costs_are_minimised(cost):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 200)
    p = np.round(np.clip(0.3 * y + 0.7 * rng.random(200), 0, 1), 2)
    rule = tune(y, p, cost=cost, **QUICK)
    costs = [
        ((p >= t) & (y == 0)).sum() + 5 * ((p < t) & (y == 1)).sum()
        for t in all_cuts(p)
    ]
    assert rule.score == -min(costs)
    assert isinstance(rule.metric, am.Utility)


def test_odd_costs_are_refused():
    y, p = [0, 1], [0.2, 0.8]
    with pytest.raises(ValueError, match="cost stands in place of a metric"):
        tune(y, p, "f1", cost=(1, 5))
    with pytest.raises(ValueError, match="cost stands in place of a metric"):
        tune(y, p, ["f1"], cost=(1, 5))
    with pytest.raises(ValueError, match=r"not \['fpr'\]"):
        tune(y, p, cost={"fpr": 1})
    with pytest.raises(ValueError, match="pair"):
        tune(y, p, cost=(1, 2, 3))


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
    options = {"groups": groups, "sample_weight": w, "zero_division": zd}
    rule = quietly(y, p, name, **options, **QUICK)
    check_rule(rule, name, y, p, curve)
    assert rule.average == "groups"


def test_pooled_groups_are_one_matrix():
    rng = np.random.default_rng(2)
    y, p, g = rng.integers(0, 2, 90), rng.random(90), rng.integers(0, 9, 90)
    pooled = tune(y, p, groups=g, average="pooled")
    plain = tune(y, p)
    assert (pooled.threshold, pooled.score) == (plain.threshold, plain.score)
    assert pooled.average == "pooled"
    assert pooled.score_interval != plain.score_interval


def test_a_hundred_thousand_codes_sort_by_radix():
    rng = np.random.default_rng(0)
    code = rng.integers(0, 10**5, 3000)
    expected = np.argsort(code, kind="stable")
    np.testing.assert_array_equal(_groups.stable_order(code, 10**5), expected)
    np.testing.assert_array_equal(
        _groups.stable_order(code % 7, 7), np.argsort(code % 7, kind="stable")
    )


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
        assert rule.score_interval[0] < rule.score < rule.score_interval[1]
        assert rule.operator == ">="


def test_a_metric_that_rewards_misses_points_downwards():
    metric = am.LinearFractional((0.5, -0.5, 0.1, 0), (2, -1, 0, 0))
    rule = tune(None, [0.9, 0.5, 0.1], metric, **QUICK)
    assert rule.operator == "<"
    np.testing.assert_array_equal(rule.apply([0.9, 0.5, 0.1]), [0, 0, 1])
    assert "p < " in repr(rule)


def test_rounding_does_not_lift_the_threshold_over_the_best_score():
    # The best precision is the largest p itself; n·(p/n) need not round back to it.
    p = [0.7825993536208345, 0.3347703113145619, 0.4035683030690843]
    p += [0.4796998377002315, 0.16547002737622352, 0.3356515241961211]
    for name in ("precision", "lift"):
        rule = tune(None, p, name, **QUICK)
        np.testing.assert_array_equal(rule.apply(p), [1, 0, 0, 0, 0, 0])


def test_label_free_weights_are_repeated_rows():
    p, w = [0.9, 0.4, 0.2], [1, 2, 3]
    weighted = tune(None, p, sample_weight=w, **QUICK)
    repeated = tune(None, np.repeat(p, w), **QUICK)
    assert weighted.threshold == pytest.approx(repeated.threshold, rel=1e-14)


def test_the_convention_of_the_empty_prediction_counts_without_labels():
    assert tune(None, [0.2, 0.1], "precision", zero_division=1.0).threshold == INF
    assert tune(None, [0.2, 0.1], "precision").threshold == pytest.approx(0.2)


@pytest.mark.parametrize("name", ["mcc", "gmean", "fowlkes_mallows", "sec", "qmean"])
def test_other_metrics_without_labels_name_decide(name):
    with pytest.raises(ValueError, match=r"not linear-fractional.*decide"):
        tune(None, [0.2, 0.9, 0.4], name)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_recall": 0.5}, "min_recall need labels"),
        ({"groups": [0, 0, 1]}, "groups needs labels"),
        ({"pos_label": 1}, "pos_label needs labels"),
        ({"choice": "one_se"}, "needs labels"),
    ],
)
def test_what_needs_labels_says_so(options, message):
    with pytest.raises(ValueError, match=message):
        tune(None, [0.2, 0.9, 0.4], **options)


def test_label_free_input_must_be_probabilities():
    with pytest.raises(ValueError, match="outside of"):
        tune(None, [-1.0, 2.0])
    with pytest.raises(ValueError, match="one column"):
        tune(None, [[0.2, 0.8]])
    with pytest.raises(ValueError, match="every p is 0"):
        tune(None, [0.0, 0.0])


# ------------------------------------------------------------------ uncertainty


def fresh(rng, n, prevalence=0.2):
    y = (rng.random(n) < prevalence).astype(int)
    return y, 1 / (1 + np.exp(-(2 * y - 1.5 + rng.normal(0, 1.2, n))))


def naive_fold_score(y, p, fold, metric):
    """Thresholds tuned on the other folds, counts pooled."""
    predicted = np.zeros(y.size, int)
    for f in set(fold):
        rule = tune(y[fold != f], p[fold != f], metric, **QUICK)
        inside = np.flatnonzero(fold == f)
        # At the cut of the rows as a whole: the smallest predicted score inside.
        chosen = p[fold != f][rule.applies(p[fold != f])]
        cut = chosen.min() if chosen.size else INF
        predicted[inside] = p[inside] >= cut
    return am.get_metric(metric).score(y, predicted)


def test_out_of_fold_scores_equal_a_loop_over_folds():
    rng = np.random.default_rng(5)
    y, p = fresh(rng, 120)
    search = _sampler_of(y, p)
    sampler = search.sampler(np.zeros(0, dtype=np.int64), None)
    order = np.argsort(-p, kind="stable")
    found = list(sampler.splits(np.random.default_rng(1), 4))
    assert len(found) == _resample.SPLITS
    tp, fp = found[0].tp, found[0].fp
    np.testing.assert_array_equal(np.diff(tp + fp, axis=1).sum(axis=0), 1)
    assert np.ptp(tp[:, -1]) <= 1  # each class is dealt evenly
    assert np.ptp(fp[:, -1]) <= 1
    fold = np.empty(120, int)
    fold[order] = np.argmax(np.diff(tp + fp, axis=1), axis=0)
    from argmetric._tune._limits import Limits
    from argmetric._tune._uncertainty import Procedure

    for name in ("f1", "mcc"):
        procedure = Procedure(am.get_metric(name), Limits(), 0.0)
        (cuts,) = procedure.held_out_cuts([found[0]], 0)
        score = found[0].at(cuts).score(am.get_metric(name))[0, 0]
        assert score == pytest.approx(naive_fold_score(y, p, fold, name), abs=1e-12)


def _sampler_of(y, p, weight=None, limits=None):
    from argmetric._tune._binary import Settings, search_rows
    from argmetric._tune._limits import Limits

    options = Settings(
        limits or Limits(), "best", 200, 0.9, 5, np.random.SeedSequence(0)
    )
    return search_rows(np.asarray(p, float), np.asarray(y, bool), weight, None, options)


def test_bootstrap_samples_have_the_right_spread():
    """Means and variances of the counts of rows and of bins are those of resampling."""
    rng = np.random.default_rng(0)
    n = 6000
    y, p = fresh(rng, n)
    w = rng.uniform(0.2, 3, n)
    for weight in (None, w):
        search = _sampler_of(y, p, weight)
        sampler = search.sampler(np.array([17]), None)
        assert sampler.cuts.size <= _resample.BINS + 4
        assert 17 in sampler.cuts
        drawn = sampler.bootstrap(np.random.default_rng(1), 1000)
        ones = np.ones(n) if weight is None else weight
        order = np.argsort(-p)
        for part, chosen in ((drawn.tp, y[order] == 1), (drawn.fp, y[order] == 0)):
            added = np.concatenate([[0], np.cumsum(ones[order] * chosen)])[sampler.cuts]
            square = np.concatenate([[0], np.cumsum(ones[order] ** 2 * chosen)])
            variance = square[sampler.cuts] - added**2 / n
            np.testing.assert_allclose(part.mean(0), added, atol=5 * ones.max())
            middle = sampler.cuts.size // 2
            ratio = part.var(0)[middle:] / variance[middle:]
            assert 0.85 < ratio.mean() < 1.15


def test_rows_drawn_one_by_one_have_the_law_of_cells():
    """Counts at the cuts: their totals, means, variances and covariances."""
    y, p = fresh(np.random.default_rng(0), 5000)
    p = np.round(p, 1)
    sampler = _sampler_of(y, p).sampler(np.zeros(0, dtype=np.int64), None)
    assert sampler.rows.max() > 1
    size, hits = 20_000, np.array([y[p == x].sum() for x in np.unique(p)[::-1]])
    drawn = sampler.bootstrap(np.random.default_rng(1), size)
    np.testing.assert_array_equal(drawn.tp[:, -1] + drawn.fp[:, -1], 5000)
    found, share = np.diff(drawn.tp, axis=1)[:, hits > 0], hits[hits > 0] / 5000
    hits = hits[hits > 0]
    covariance = 5000 * (np.diag(share) - np.outer(share, share))
    z = (found.mean(axis=0) - hits) / np.sqrt(np.diag(covariance) / size)
    assert np.abs(z).max() < 4
    scale = np.sqrt(np.outer(hits, hits) / size)
    assert np.abs((np.cov(found.T) - covariance) / scale).max() < 6


@pytest.mark.parametrize("n", [10_000, 30_000])
def test_rows_and_cells_are_drawn_to_the_same_end(n, monkeypatch):
    """On both sides of the number of rows from which cells are drawn."""
    y, p = fresh(np.random.default_rng(3), n)
    sampler = _sampler_of(y, p).sampler(np.zeros(0, dtype=np.int64), None)
    found = []
    for limit in (0, 10**6):
        monkeypatch.setattr(_resample, "MANY_DRAWS", limit)
        found.append(sampler.bootstrap(np.random.default_rng(1), 2000))
    by_cell, by_row = found
    assert not np.array_equal(by_cell.tp, by_row.tp)  # other random numbers
    for one, other in ((by_cell.tp, by_row.tp), (by_cell.fp, by_row.fp)):
        deviation = one.std(axis=0)[1:]
        gap = (one - other).mean(axis=0)[1:] / np.maximum(deviation, 1.0)
        assert np.abs(gap).max() < 4 * np.sqrt(2 / 2000)
        assert other.std(axis=0)[100:] == pytest.approx(deviation[99:], rel=0.12)


def test_few_rows_are_resampled_one_by_one():
    rng = np.random.default_rng(0)
    y, p = fresh(rng, 50)
    sampler = _sampler_of(y, p).sampler(np.zeros(0, dtype=np.int64), None)
    drawn = sampler.bootstrap(np.random.default_rng(1), 500)
    k = drawn.tp + drawn.fp
    np.testing.assert_array_equal(k[:, -1], 50)
    assert set(np.unique(np.diff(k, axis=1))) <= set(range(12))


@pytest.mark.parametrize("name", ["f1", "mcc"])
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
        low, high = rule.score_interval
        hits.append(low <= score <= high)
        flattery.append(rule.score - score)
        measured.append(rule.optimism)
    assert 0.85 < np.mean(hits) < 0.96
    assert abs(np.mean(flattery) - np.mean(measured)) < 0.03


def test_new_rows_have_the_spread_of_two_samples():
    """Dirichlet and multinomial noise of one cell, by their moments."""
    from argmetric._tune._uncertainty import new_tables

    table = np.array([[500.0, 100.0], [150.0, 250.0]])
    rng = np.random.default_rng(0)
    for worth in (1.0, 2.5):
        drawn = new_tables(table, worth, 20_000, rng)
        np.testing.assert_allclose(drawn.sum(axis=(1, 2)), 1000.0)
        np.testing.assert_allclose(drawn.mean(axis=0), table, rtol=0.02)
        rows = 1000 / worth
        share = table / 1000
        variance = worth**2 * rows * share * (1 - share) * 2  # once for each sample
        np.testing.assert_allclose(drawn.var(axis=0), variance, rtol=0.04)


def test_new_groups_have_the_spread_of_two_samples():
    """A mean over 80 groups: their variance over their number, twice, nearly."""
    from argmetric._tune._groups import GroupSampler

    rng = np.random.default_rng(0)
    value = rng.random((80, 1))
    sampler = GroupSampler(
        np.zeros(1, int), _resample.Sums(None, None, value, value**0)
    )
    drawn = sampler.new_scores(am.FBeta(1), np.zeros(80, int), 20_000, rng)
    assert drawn.mean() == pytest.approx(value.mean(), abs=0.002)
    variance = value.var() * (1 / 80 + (1 - 1 / 80) / 81)
    assert drawn.var() == pytest.approx(variance, rel=0.04)


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
        low, high = rule.score_interval
        hits.append(low <= score <= high)
    assert 0.83 < np.mean(hits) < 0.97


def test_intervals_stay_where_the_metric_lives():
    y = np.array([0, 1] * 6)
    for name, low in (("f1", 0.0), ("mcc", -1.0)):
        rule = tune(y, np.linspace(0.1, 0.9, 12), name)
        assert low <= rule.score_interval[0] <= rule.score_interval[1] <= 1.0
    # Separable: yet a dozen rows do not promise that the next dozen are.
    for n, low in ((12, 0.5), (12_000, 0.999)):
        y = np.arange(n) % 2
        interval = tune(y, y * 0.5 + 0.1).score_interval
        assert low < interval[0] < interval[1] == 1.0


def test_intervals_shrink_with_more_rows_and_hold_the_best_threshold():
    rng = np.random.default_rng(1)
    widths = []
    for n in (300, 30_000):
        y, p = fresh(rng, n)
        rule = tune(y, p)
        low, high = rule.threshold_interval
        assert low <= rule.threshold <= high
        widths.append((high - low, rule.score_interval[1] - rule.score_interval[0]))
    assert widths[1][0] < widths[0][0]
    assert widths[1][1] < widths[0][1] / 5


def test_bins_and_rows_tell_the_same_story(monkeypatch):
    rng = np.random.default_rng(4)
    y, p = fresh(rng, 4000)
    exact = tune(y, p, n_bootstrap=1000)
    monkeypatch.setattr(_resample, "MANY_ROWS", 100)
    monkeypatch.setattr(_resample, "BINS", 500)
    binned = tune(y, p, n_bootstrap=1000)
    assert binned.threshold == exact.threshold
    np.testing.assert_allclose(binned.score_interval, exact.score_interval, atol=0.01)
    np.testing.assert_allclose(
        binned.threshold_interval, exact.threshold_interval, atol=0.05
    )
    assert binned.out_of_fold_score == pytest.approx(exact.out_of_fold_score, abs=0.02)


def test_random_state_changes_the_intervals_alone():
    rng = np.random.default_rng(4)
    y, p = fresh(rng, 400)
    one, same, other = (tune(y, p, random_state=seed) for seed in (0, 0, 1))
    assert one == same
    assert (one.threshold, one.score) == (other.threshold, other.score)
    assert one.score_interval != other.score_interval
    fixed = tune(y, p, random_state=np.random.default_rng(3))
    assert fixed == tune(y, p, random_state=np.random.default_rng(3))
    assert tune(y, p, random_state=None).threshold == one.threshold


def test_one_standard_error_takes_fewer_positives():
    rng = np.random.default_rng(8)
    y, p = fresh(rng, 800)
    best, careful = tune(y, p), tune(y, p, choice="one_se")
    assert careful.threshold > best.threshold
    assert careful.positive_rate < best.positive_rate
    assert best.score - 0.05 < careful.score < best.score
    cut = int(np.flatnonzero(careful.scores == careful.score)[0])
    top = int(np.argmax(careful.scores))
    error = careful.scores.max() - careful.scores[cut : top + 1].min()
    # On the run around the best, all within one standard error, and no cut further.
    assert careful.scores[cut - 1] < careful.scores.max() - error
    np.testing.assert_array_equal(careful.optimal_thresholds, best.optimal_thresholds)
    with pytest.raises(ValueError, match="needs the bootstrap"):
        tune(y, p, choice="one_se", n_bootstrap=0)


def test_whole_groups_are_drawn():
    """All rows of a group alike: the interval is that of the groups, not rows."""
    rng = np.random.default_rng(0)
    y0, p0 = fresh(rng, 60)
    y, p, g = (np.repeat(a, 20) for a in (y0, p0, np.arange(60)))
    rows = tune(y, p, "accuracy")
    drawn = tune(y, p, "accuracy", groups=g, average="pooled")
    alone = tune(y0, p0, "accuracy")
    width = [
        high - low for low, high in (r.score_interval for r in (rows, drawn, alone))
    ]
    assert width[1] > 2 * width[0]
    assert width[1] == pytest.approx(width[2], rel=0.4)


def test_bundles_of_groups_have_the_spread_of_groups(monkeypatch):
    rng = np.random.default_rng(0)
    y, p = fresh(rng, 6000)
    g = rng.integers(0, 500, 6000)
    exact = tune(y, p, groups=g, n_bootstrap=500)
    monkeypatch.setattr(_groups, "UNITS", 100)
    bundled = tune(y, p, groups=g, n_bootstrap=500)
    assert bundled.score == exact.score
    widths = [r.score_interval[1] - r.score_interval[0] for r in (exact, bundled)]
    assert widths[1] == pytest.approx(widths[0], rel=0.35)


def test_limits_hold_in_samples_and_folds_with_groups():
    rng = np.random.default_rng(0)
    y, p = fresh(rng, 900)
    g = rng.integers(0, 40, 900)
    rule = tune(y, p, groups=g, min_recall=0.7)
    assert (p[y == 1] >= rule.threshold).mean() >= 0.7
    assert math.isfinite(rule.out_of_fold_score)


@pytest.mark.parametrize("groups", [None, "mean", "pooled"])
def test_a_count_means_its_share_in_folds_and_samples(groups):
    rng = np.random.default_rng(0)
    y, p = fresh(rng, 1000)
    options = {}
    if groups is not None:
        options["groups"] = rng.integers(0, 50, 1000)
        options["average"] = "groups" if groups == "mean" else "pooled"
    count = tune(y, p, max_positives=60, **options)
    share = tune(y, p, max_positives=0.06, **options)
    free = tune(y, p, **options)
    assert count.threshold == share.threshold > free.threshold
    assert count.out_of_fold_score == share.out_of_fold_score
    assert count.score_interval == share.score_interval
    assert count.threshold_interval == share.threshold_interval
    assert count.constraints == {"max_positives": 60}
    assert count.score_interval[0] < count.score
    low, _ = count.threshold_interval
    assert np.mean(p >= low) < 0.08  # no sample spends a looser budget


@pytest.mark.parametrize("average", ["groups", "pooled"])
@pytest.mark.parametrize("name", ["f1", "balanced_accuracy", "mcc"])
def test_a_group_without_weight_is_not_there(name, average):
    rng = np.random.default_rng(1)
    y, p = fresh(rng, 300)
    g = rng.integers(0, 20, 300)
    w = np.where(g % 5 == 2, 0.0, rng.uniform(0.5, 2, 300))
    kept = w > 0
    options = {"average": average, "zero_division": 1.0 if name == "f1" else None}
    all_rows = tune(y, p, name, groups=g, sample_weight=w, **options)
    some = tune(
        y[kept], p[kept], name, groups=g[kept], sample_weight=w[kept], **options
    )
    assert all_rows == some
    assert all_rows.n == kept.sum()


def test_one_group_with_weight_has_nothing_to_draw():
    y, p, g = [0, 1, 0, 1], [0.1, 0.9, 0.2, 0.4], ["a", "a", "b", "b"]
    rule = tune(y, p, groups=g, sample_weight=[1, 1, 0, 0])
    assert rule.score_interval is None
    assert "one group only" in " ".join(rule.notes)


def test_one_group_has_no_folds():
    rule = tune([0, 1, 0, 1], [0.1, 0.9, 0.2, 0.4], groups=["a"] * 4)
    assert math.isnan(rule.optimism)
    assert rule.score_interval is None  # nor anything to draw again


def test_cost_of_resampling_does_not_grow_with_the_rows():
    rng = np.random.default_rng(0)
    y, p = fresh(rng, 200_000)
    sampler = _sampler_of(y, p).sampler(np.zeros(0, dtype=np.int64), None)
    assert sampler.rows.size <= 2 * (_resample.BINS + 3)
    assert sampler.rows.sum() == 200_000
    assert len(list(sampler.splits(np.random.default_rng(0), 5))) == 1


@pytest.mark.parametrize("grouped", [False, True])
def test_rows_of_weight_0_are_not_there(grouped):
    rng = np.random.default_rng(3)
    p = rng.random(300)
    y, weight = rng.random(300) < p, rng.integers(0, 3, 300).astype(float)
    kept = weight > 0
    groups = np.arange(300) // 10 if grouped else None
    whole = am.tune(y, p, "f1", sample_weight=weight, groups=groups)
    part = am.tune(
        y[kept],
        p[kept],
        "f1",
        sample_weight=weight[kept],
        groups=None if groups is None else groups[kept],
    )
    assert whole == part
