"""Limits with a confidence: the counts behind them, and how often they are broken."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import argmetric as am
from binomials import most_errors, tail
from refusing import refuses

QUICK = {"n_bootstrap": 0, "cv": None}


def labelled(n, seed=0, sharp=0.25):
    rng = np.random.default_rng(seed)
    p = rng.beta(sharp, 2 * sharp, n)
    return (rng.random(n) < p).astype(int), p


def certified(y, p, metric="f1", **options):
    return am.tune(y, p, metric, **QUICK, **options).guarantee


FLOORS = st.sampled_from([Fraction(1, 2), Fraction(3, 4), Fraction(9, 10)])
DELTAS = st.sampled_from([Fraction(1, 10), Fraction(1, 20)])


@given(st.integers(0, 200), FLOORS, DELTAS)
def test_precision_passes_by_the_exact_binomial(seed, floor, delta):
    y, p = labelled(200, seed)
    try:
        found = certified(y, p, min_precision=float(floor), confidence=float(1 - delta))
    except am.NotCertifiedError:
        return
    (promise,) = found.promises
    assert promise.allowed == most_errors(promise.k, 1 - floor, delta)
    # every certified cut passes, and the next lower one does not
    scores = np.sort(p)[::-1]
    for cut in scores[
        (scores >= promise.interval.low) & (scores <= promise.interval.high)
    ]:
        k, errors = int((p >= cut).sum()), int((1 - y)[p >= cut].sum())
        assert errors <= most_errors(k, 1 - floor, delta)
    assert promise.k == (p >= promise.interval.low).sum()
    if promise.k < p.size:
        below = p >= scores[promise.k]
        errors = int((1 - y)[below].sum())
        assert errors > most_errors(promise.k + 1, 1 - floor, delta)


@given(st.integers(0, 200), FLOORS, DELTAS)
def test_shares_of_a_class_pass_by_an_order_statistic(seed, floor, delta):
    y, p = labelled(150, seed)
    confidence = float(1 - delta)
    kinds = {
        "min_recall": (p[y == 1], floor),
        "min_specificity": (-p[y == 0], floor),
        "max_positives": (-p, floor),
    }
    for name, (scores, bound) in kinds.items():
        asked = float(bound)
        if name == "max_positives":
            asked = f"{float(100 * (1 - bound))}%"
        c = most_errors(scores.size, 1 - bound, delta)
        if c < 0:
            with pytest.raises(am.NotCertifiedError, match=name):
                certified(y, p, confidence=confidence, **{name: asked})
            continue
        (promise,) = certified(y, p, confidence=confidence, **{name: asked}).promises
        value = np.sort(scores)[c]
        if name == "min_recall":
            assert promise.interval.high == value
        else:
            assert promise.interval.low == np.nextafter(-value, np.inf)


@given(st.integers(0, 100), DELTAS)
def test_negative_predictive_value_is_precision_of_turned_rows(seed, delta):
    y, p = labelled(200, seed)
    p = np.round(p, 6)
    options = {"confidence": float(1 - delta)}
    try:
        turned = certified(1 - y, 1 - p, min_precision=0.8, **options).promises[0]
    except am.NotCertifiedError:
        with pytest.raises(am.NotCertifiedError):
            certified(y, p, min_npv=0.8, **options)
        return
    (promise,) = certified(y, p, min_npv=0.8, **options).promises
    assert (promise.k, promise.errors) == (turned.k, turned.errors)
    assert (p < promise.interval.high).sum() == promise.k


@given(st.integers(0, 100), DELTAS, st.sampled_from(["f1", "jaccard"]))
def test_f1_and_jaccard_are_tested_floor_by_floor(seed, delta, metric):
    y, p = labelled(120, seed)
    best = None
    for i in range(1, 200):  # F1 = i/200 is best reached at the cut i/400
        f = Fraction(i, 200)
        chosen = p >= i / 200 / 2
        tp = int(y[chosen].sum())
        m = int(chosen.sum()) + int(y.sum()) - tp
        if m == 0 or tail(m, 1 - f / (2 - f), m - tp) > delta:
            break
        best = i / 200, i / 200 / 2
    if best is None:
        with pytest.raises(am.NotCertifiedError):
            certified(y, p, metric, confidence=float(1 - delta))
        return
    found = certified(y, p, metric, confidence=float(1 - delta))
    value = best[0] if metric == "f1" else best[0] / (2 - best[0])
    assert found.promises[0].bound == pytest.approx(value, rel=1e-12)
    assert found.threshold == best[1]


def test_two_limits_share_the_risk_and_must_meet():
    y, p = labelled(1000)
    both = certified(y, p, min_precision=0.6, min_recall=0.8, confidence=0.9)
    alone = [
        certified(y, p, confidence=0.95, **{name: bound}).promises[0]
        for name, bound in (("min_precision", 0.6), ("min_recall", 0.8))
    ]
    assert both.promises == tuple(alone)
    assert both.certified_interval == (alone[0].interval.low, alone[1].interval.high)
    assert alone[0].interval.low <= both.threshold <= alone[1].interval.high
    with pytest.raises(am.NotCertifiedError, match="proven thresholds do not meet"):
        certified(y, p, min_precision=0.9, min_recall=0.9, confidence=0.9)


def test_a_promise_for_the_next_rows_asks_for_more():
    y, p = labelled(1000)
    population = certified(y, p, min_recall=0.8, confidence=0.9).promises[0]
    found = certified(y, p, min_recall=0.8, confidence=0.9, new_rows=100)
    (promise,) = found.promises
    # 80 of 100 draws succeed with a probability of 1 - delta / 2
    share = Fraction(promise.tested).limit_denominator(10**9)
    assert 1 - float(tail(100, share, 79)) == pytest.approx(0.95, abs=1e-6)
    assert promise.interval.high < population.interval.high
    assert "at least 80 of the next 100 positive rows" in found.sentence


def test_another_prevalence_turns_the_floor():
    y, p = labelled(2000, sharp=0.15)
    found = certified(y, p, min_precision=0.7, confidence=0.9, prior=0.2)
    share = y.mean()
    odds = 0.7 / 0.3 * (share / (1 - share)) / (0.2 / 0.8)
    assert found.promises[0].tested == pytest.approx(odds / (1 + odds), rel=1e-12)
    same = certified(y, p, min_recall=0.7, confidence=0.9)
    moved = certified(y, p, min_recall=0.7, confidence=0.9, prior=0.2)
    assert moved.promises == same.promises
    with pytest.raises(ValueError, match="cannot be promised at another prevalence"):
        certified(y, p, max_positives="20%", confidence=0.9, prior=0.2)


def test_of_groups_one_row_counts():
    y, p = labelled(600)
    groups = np.repeat(np.arange(600), 3)
    found = certified(
        np.repeat(y, 3),
        np.repeat(p, 3),
        min_precision=0.6,
        confidence=0.9,
        groups=groups,
    )
    alone = certified(y, p, min_precision=0.6, confidence=0.9)
    assert found.promises == alone.promises
    assert found.n == 600


def test_the_promise_is_kept_with_the_rule(tmp_path):
    y, p = labelled(1000)
    rule = am.tune(y, p, min_precision=0.7, confidence=0.95)
    sentence = rule.guarantee.sentence
    assert sentence.startswith(
        "with 95 % confidence at least 70 % of the rows selected"
    )
    assert sentence.endswith("come from the same population as these 1,000 rows")
    rule.save(tmp_path / "rule.json")
    assert am.Rule.load(tmp_path / "rule.json") == rule
    assert am.Rule.load(tmp_path / "rule.json").guarantee == rule.guarantee
    for text in (repr(rule), repr(rule.guarantee), rule.to_python(), rule.to_sql()):
        assert sentence in text
    plain = am.tune(y, p, min_precision=0.7)
    assert ("on these rows", "min_precision=0.7") in plain.lines()


def test_nothing_is_promised_without_a_proof():
    y, p = labelled(100)
    with pytest.raises(am.NotCertifiedError, match="at p ≥") as caught:
        certified(y, p, min_precision=0.99, confidence=0.95)
    nearest = caught.value.nearest
    assert nearest["errors"] > nearest["allowed"]
    assert nearest["errors"] == (1 - y)[p >= nearest["threshold"]].sum()
    assert nearest["k"] == (p >= nearest["threshold"]).sum()
    assert caught.value.labels_needed > 100
    more = "labelled rows may do (a forecast), or lower the limit or the confidence"
    assert f"{caught.value.labels_needed:,} {more}" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"confidence": 1.0}, "confidence"),
        ({"new_rows": 10}, "new_rows goes with confidence"),
        ({"confidence": 0.9, "sample_weight": np.ones(60)}, "has no guarantee"),
        ({"confidence": 0.9, "new_rows": [0.2, 2.0]}, "new_rows is 2"),
        ({"confidence": 0.9, "metric": "mcc"}, "F-beta and Jaccard"),
        ({"confidence": 0.9, "new_rows": 10}, "new_rows and prior go with a limit"),
    ],
)
def test_what_cannot_be_promised_is_refused(options, words):
    y, p = labelled(60)
    refuses((TypeError, ValueError), words, am.tune, y, p, **options)


def test_few_rows_and_repeated_rows_are_told():
    with pytest.raises(ValueError, match="4 rows prove nothing"):
        am.tune([0, 1, 0, 1], [0.1, 0.9, 0.2, 0.8], min_recall=0.5, confidence=0.9)
    y, p = labelled(200)
    with pytest.warns(UserWarning, match="every score occurs 3 times"):
        certified(np.repeat(y, 3), np.repeat(p, 3), min_recall=0.5, confidence=0.9)
    extra = np.r_[np.arange(200), np.arange(60)]
    with pytest.warns(UserWarning, match="23% of the rows have the score"):
        certified(y[extra], p[extra], min_recall=0.5, confidence=0.9)


def test_decide_takes_the_threshold_that_its_reference_proves():
    y, p = labelled(1000)
    new = labelled(5000, 7)[1]
    options = {"min_precision": 0.8, "confidence": 0.95}
    found = am.decide(new, reference=(y, p), **options)
    rule = am.tune(y, p, new_rows=new, **options)
    assert found.guarantee == rule.guarantee
    assert np.array_equal(found.labels, new >= rule.threshold)
    assert rule.guarantee.sentence in repr(found)
    for result in (found, rule):
        assert rule.guarantee.sentence in am.report(result).render("md")
    refuses(ValueError, r"pass reference=\(y, p\)", am.decide, new, **options)
    with pytest.raises(ValueError, match="for groups use tune"):
        am.decide(
            new,
            reference=(y, p),
            groups=np.arange(5000) // 5,
            average="groups",
            **options,
        )


def test_a_frozen_classifier_promises_what_tune_does():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = (rng.random(3000) < 1 / (1 + np.exp(-4 * X[:, 0]))).astype(int)
    model = LogisticRegression().fit(X[:1000], y[:1000])
    options = {"min_precision": 0.8, "confidence": 0.9}
    found = am.MetricClassifier(FrozenEstimator(model), **options)
    found = found.fit(X[1000:], y[1000:])
    p = model.predict_proba(X[1000:])[:, 1]
    rule = am.tune(y[1000:], p, "f1", **options)
    assert found.rule_.guarantee.promises == rule.guarantee.promises
    assert found.best_threshold_ == rule.threshold
    with pytest.raises(ValueError, match="confidence goes with route='tune'"):
        found.set_params(route="half", min_precision=None).fit(X, y)


def test_several_labels_hold_at_once():
    y, p = labelled(1000)
    z, q = labelled(1000, 1)
    found = am.tune(
        np.c_[y, z], np.c_[p, q], min_precision=0.7, confidence=0.9, **QUICK
    )
    alone = [
        certified(*one, min_precision=0.7, confidence=0.95) for one in ((y, p), (z, q))
    ]
    assert [rule.guarantee.promises for rule in found.rules] == [
        one.promises for one in alone
    ]


def test_the_best_certified_cut_is_taken():
    y, p = labelled(1000, 3)
    rule = am.tune(y, p, "f1", min_precision=0.7, confidence=0.95, **QUICK)
    low, high = rule.guarantee.certified_interval
    cuts = p[(p >= low) & (p <= high)]
    scores = [float(am.evaluate(y, p >= cut, "f1")) for cut in cuts]
    assert rule.score == pytest.approx(max(scores), rel=1e-12)
    assert rule.score == float(am.evaluate(y, rule.apply(p), "f1"))


def test_an_undefined_score_is_never_the_best():
    def false_discoveries(tp, k, t, n):
        with np.errstate(invalid="ignore"):
            return (k - tp) / k

    y, p = labelled(1000, 3)
    metric = am.metrics.CustomMetric(
        false_discoveries, greater_is_better=False, zero_division=np.nan
    )
    rule = am.tune(y, p, metric, min_specificity=0.5, confidence=0.9, **QUICK)
    assert rule.threshold <= p.max()


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ({"min_recall": 0.5123}, "at least 61,477 of the next 120,001 positive rows"),
        ({"max_positives": 0.5123}, "at most 61,476 of the next 120,001 rows are"),
    ],
)
def test_rows_of_a_promise_are_whole(limit, words):
    limit = {k: "51.23%" if k == "max_positives" else x for k, x in limit.items()}
    y, p = labelled(1000)
    found = certified(y, p, confidence=0.9, new_rows=120_001, **limit)
    assert words in found.sentence


def test_no_confidence_below_1_is_called_100_percent():
    y, p = labelled(1000)
    found = certified(y, p, min_recall=0.5, confidence=0.9999999)
    assert found.sentence.startswith("with 99.99999 % confidence at least 50 %")


def test_a_climb_names_its_assumption_where_unlabelled_rows_choose_no_start():
    y, p = labelled(1000)
    logits = np.log(p / (1 - p))
    options = {"min_precision": 0.7, "confidence": 0.9}
    of_logits = am.decide(logits, reference=(y, logits), logits=True, **options)
    assert any("crosses the floor once" in x for x in of_logits.guarantee.assumptions)
    of_scores = am.decide(p, reference=(y, p), **options)
    assert len(of_scores.guarantee.assumptions) == 2


def test_unlabelled_scores_are_calibrated_as_the_others():
    y, p = labelled(1000)
    new = labelled(500, 7)[1] ** 3
    known = am.calibrate(y, p**3)
    options = {"min_precision": 0.7, "confidence": 0.9}
    found = am.tune(y, p**3, reference=known, new_rows=new, **options)
    scores = {"p": known.apply(p**3), "new_rows": known.apply(new)}
    assert found.guarantee == am.tune(y, **scores, **options).guarantee


def test_the_threshold_of_a_decision_is_the_one_that_is_proven():
    rng = np.random.default_rng(3)
    p = rng.beta(0.3, 0.6, 600)
    y = (rng.random(600) < p) * 1
    new = rng.beta(0.3, 0.6, 30)
    how = {"min_precision": 0.9, "confidence": 0.95, "reference": (y, p)}
    d = am.decide(new, "f1", **how)
    assert d.guarantee.threshold == d.threshold_raw
    np.testing.assert_array_equal(d.labels, new >= d.threshold_raw)
    below = new[new < d.threshold_raw].max()
    assert below < d.threshold_raw  # not midway to the next row
