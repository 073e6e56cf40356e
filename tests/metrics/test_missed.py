"""Positives that never became rows, against enumeration of rows and of missed ones."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import betaln, gammaln

import argmetric as am
from argmetric.metrics import metric_from_dict, metric_to_dict, with_missed

# Of t > 0 positives: the others score 0
METRICS = {
    "f1": lambda tp, k, t: 2 * tp / (k + t),
    "f2": lambda tp, k, t: 5 * tp / (k + 4 * t),
    "jaccard": lambda tp, k, t: tp / (k + t - tp),
    "recall": lambda tp, k, t: tp / t,
    "fowlkes_mallows": lambda tp, k, t: tp / np.sqrt(k * t) if k else 0.0 * t,
}
P = [0.9, 0.6, 0.35, 0.3, 0.1]
MISSED = [0, 4, 0.0, 0.25, 1.0, 2.5, (30, 70), (90, 10), (4, 0)]


def pmf(missed, t):
    """P(M = m | t), m = 0 …, by the formula of the negative binomial of Beta π."""
    if isinstance(missed, int):
        return np.eye(missed + 1)[missed]
    if t == 0 or missed == 0.0:
        return np.ones(1)
    m = np.arange(5000.0)
    ways = gammaln(t + m) - gammaln(t) - gammaln(m + 1.0)
    if isinstance(missed, float):
        return np.exp(ways - t * math.log1p(missed) + m * np.log(missed / (1 + missed)))
    a, b = missed[0] + 0.5, missed[1] + 0.5
    return np.exp(ways + betaln(a + t, b + m) - betaln(a, b))


def slow_expected(name, p, labels, missed):
    """Sum over all true labels and all numbers of missed positives."""
    total, k = 0.0, sum(labels)
    masses = [pmf(missed, t) for t in range(len(p) + 1)]
    for y in itertools.product((0, 1), repeat=len(p)):
        weight = math.prod(x if one else 1 - x for x, one in zip(p, y, strict=True))
        tp, t = sum(a * b for a, b in zip(y, labels, strict=True)), sum(y)
        if tp:
            every = t + np.arange(masses[t].size)
            total += weight * (masses[t] * METRICS[name](tp, k, every)).sum()
    return total


@pytest.mark.parametrize("missed", MISSED)
@pytest.mark.parametrize("name", METRICS)
def test_decisions_are_the_best_of_all_sets(name, missed):
    d = am.decide(P, name, missed=missed)
    tops = [[1] * k + [0] * (5 - k) for k in range(6)]
    slow = [slow_expected(name, P, top, missed) for top in tops]
    np.testing.assert_allclose(d.curve, slow, atol=1e-8)
    assert d.labels.tolist() == tops[int(np.argmax(np.round(slow, 9)))]
    assert am.forecast(P, d.labels, name, missed=missed).mean == pytest.approx(
        d.expected, abs=1e-9
    )


def test_no_other_set_is_better():
    best = am.decide(P, "f1", missed=(3, 5)).expected
    sets = itertools.product((0, 1), repeat=5)
    # 8e-6: the six nodes of π with three found
    assert max(slow_expected("f1", P, s, (3, 5)) for s in sets) < best + 1e-5


@pytest.mark.parametrize("missed", [7, 0.4, (40, 20)])
def test_long_vectors_agree_with_whole_sums(missed):
    p = np.random.default_rng(0).beta(0.4, 2.0, 150)
    d = am.decide(p, "f1", missed=missed)
    t = np.arange(151)
    order = np.argsort(-p)
    chosen = p[order][: d.n_positives], p[order][d.n_positives :]
    hits, rest = (np.ones(1), np.ones(1))
    for x in chosen[0]:
        hits = np.convolve(hits, [1 - x, x])
    for x in chosen[1]:
        rest = np.convolve(rest, [1 - x, x])
    total = 0.0
    masses = [pmf(missed, int(one)) for one in t]
    for tp, a in enumerate(hits):
        for fn, b in enumerate(rest):
            if a * b > 1e-13:
                mass = masses[tp + fn]
                m = np.arange(mass.size)
                total += a * b * (mass * 2 * tp / (d.n_positives + tp + fn + m)).sum()
    assert d.expected == pytest.approx(total, abs=2e-8)
    curve = np.array([d.curve[k] for k in range(151)])
    assert curve.max() <= d.expected + 1e-9


@pytest.mark.parametrize(
    "p", [[0.0, 0.0], [1.0], [1.0, 1.0, 0.0], [1e-300, 1 - 1e-16], [0.5] * 6, [1e-9]]
)
@pytest.mark.parametrize("missed", [0, 3, 0.7, 1e-12, 30.0, (1, 1), (2, 0), (1, 30)])
def test_nasty_probabilities(p, missed):
    for name in METRICS:
        d = am.decide(p, name, missed=missed)
        labels = [int(x) for x in d.labels]
        slow = slow_expected(name, p, labels, missed)
        assert d.expected == pytest.approx(
            slow, abs=1e-3 if missed == (1, 30) else 2e-4
        )
        # Missed positives never raise the score
        assert d.expected <= am.decide(p, name).expected + 1e-12


def test_distribution_of_the_forecast_is_that_of_draws():
    rng = np.random.default_rng(1)
    p = rng.beta(0.5, 1.5, 80)
    labels = p > 0.4
    for missed in (0.8, (60, 40)):
        f = am.forecast(p, labels, "f1", missed=missed)
        y = rng.random((40_000, 80)) < p
        found = 1 / 1.8 if missed == 0.8 else rng.beta(60.5, 40.5, len(y))
        t = y.sum(axis=1)
        m = rng.negative_binomial(t, found)
        tp = (y & labels).sum(axis=1)
        drawn = 2 * tp / (labels.sum() + t + m)
        assert f.mean == pytest.approx(drawn.mean(), abs=0.002)
        assert f.std == pytest.approx(drawn.std(), rel=0.03)
        assert f.interval == pytest.approx(np.quantile(drawn, (0.05, 0.95)), abs=0.01)


def test_groups_and_macro_are_means_of_their_parts():
    p, groups = np.array(P * 2), np.repeat([0, 1], 5)
    d = am.decide(p, "f1", groups=groups, missed=0.5)
    one = am.decide(P, "f1", missed=0.5)
    assert d.group_expected == pytest.approx([one.expected] * 2, abs=1e-12)
    f = d.forecast()
    assert f.mean == pytest.approx(one.expected, abs=1e-9)
    wide = am.decide(np.array([P, P]).T, "f1", average="macro", missed=(30, 70))
    assert wide.expected == pytest.approx(
        am.decide(P, "f1", missed=(30, 70)).expected, abs=1e-12
    )


def test_reference_with_missed_positives_covers_its_draws():
    rng = np.random.default_rng(2)
    p = rng.beta(0.5, 1.5, 300)
    y = rng.random(300) < p
    f = am.forecast(p, p > 0.4, "f1", reference=(y, p), missed=(50, 50))
    plain = am.forecast(p, p > 0.4, "f1", reference=(y, p))
    whole = am.forecast(p, p > 0.4, "f1", missed=(50, 50))
    assert f.mean == pytest.approx(whole.mean, abs=0.05)
    assert f.mean < plain.mean - 0.1


def test_evaluate_counts_them_as_false_negatives():
    y, labels = [1, 1, 0, 0, 1], [1, 0, 1, 0, 1]
    score = am.evaluate(y, labels, "f1", missed=3)
    assert score == pytest.approx(2 * 2 / (3 + 6))
    assert (score.counts["fn"], score.n) == (4, 5)
    assert score.to_dict()["missed"] == 3
    low, high = score.interval
    assert low < score < high
    rate = am.evaluate(y, labels, "recall", missed=1.0)
    assert rate == pytest.approx(slow_recall(2, 3, 1.0), abs=1e-9)
    assert rate.interval[0] < rate < rate.interval[1]
    wide = am.evaluate(
        [[1, 1], [0, 1]], [[1, 0], [1, 1]], "f1", average="macro", missed=[2, 0]
    )
    assert wide == pytest.approx((2 / 5 + 2 / 3) / 2)
    decision = am.decide(P, "f1", missed=2)
    assert am.evaluate([1, 0, 0, 1, 0], decision) == am.evaluate(
        [1, 0, 0, 1, 0], decision.labels, "f1", missed=2
    )


def slow_recall(tp, t, rate):
    mass = pmf(rate, t)
    return (mass * tp / (t + np.arange(mass.size))).sum()


@pytest.mark.parametrize("missed", [5, 0.5, (20, 10)])
def test_tune_takes_the_best_cut(missed):
    rng = np.random.default_rng(3)
    p = rng.random(60).round(2)
    y = (rng.random(60) < p**2).astype(int)
    rule = am.tune(y, p, "f1", missed=missed)
    metric = with_missed(am.FBeta(1), missed)
    scores = [
        float(metric.value((y & (p >= c)).sum(), (p >= c).sum(), y.sum(), 60))
        for c in [*np.unique(p), 2.0]
    ]
    assert rule.score == pytest.approx(max(scores), abs=1e-12)
    assert rule.score == pytest.approx(
        am.evaluate(y, rule.apply(p), "f1", missed=missed)
    )
    assert rule.interval[0] < rule.mean < rule.interval[1]
    again = am.Rule.from_dict(rule.to_dict())
    assert again.metric == rule.metric
    assert again.to_dict() == rule.to_dict()


def test_more_missed_positives_lower_the_cut():
    rng = np.random.default_rng(4)
    p = rng.random(2000)
    y = (rng.random(2000) < p**3).astype(int)
    cuts = [am.tune(y, p, "f1", missed=m, n_bootstrap=0).threshold for m in (0, 2000)]
    assert cuts[1] < cuts[0] - 0.05


def test_one_threshold_a_label():
    rng = np.random.default_rng(5)
    p = rng.random((200, 2))
    y = (rng.random((200, 2)) < p).astype(int)
    rule = am.tune(y, p, "f1", average="macro", missed=[40, 0.5])
    for j, missed in enumerate((40, 0.5)):
        own = am.tune(y[:, j], p[:, j], "f1", missed=missed)
        assert (rule.rules[j].threshold, rule.rules[j].score) == (
            own.threshold,
            own.score,
        )


@pytest.mark.parametrize("missed", [3, 0.5, (3, 4)])
def test_metrics_are_saved_and_shown(missed):
    metric = with_missed(am.Tversky(0.3, 0.7, zero_division=1.0), missed)
    again = metric_from_dict(metric_to_dict(metric))
    assert again == metric
    assert hash(again) == hash(metric)
    assert again.zero_division == 1.0
    assert "missed" in str(am.decide(P, "f1", missed=missed))


def test_a_function_and_a_utility_count_them():
    own = am.CustomMetric(lambda tp, k, t, n: 2 * tp / (k + t), name="own")
    assert am.decide(P, own, missed=0.5).expected == pytest.approx(
        am.decide(P, "f1", missed=0.5).expected, abs=1e-12
    )
    paid = am.Utility(tp=1.0, fp=-1.0, fn=-2.0)
    d, plain = am.decide(P, paid, missed=0.5), am.decide(P, paid)
    assert d.labels.tolist() == plain.labels.tolist()
    assert d.expected == pytest.approx(plain.expected - 2.0 * 0.5 * sum(P), abs=1e-9)


def test_a_count_and_an_equal_rate_are_two_metrics():
    count, rate = (with_missed(am.metrics.get_metric("f1"), one) for one in (3, 3.0))
    assert count != rate
    assert len({count, rate}) == 2
    for first, second in ((3, 3.0), (2.0, 2)):  # what was computed first is kept
        curves = [am.decide(P, "f1", missed=one).curve for one in (first, second)]
        for one, curve in zip((first, second), curves, strict=True):
            slow = slow_expected("f1", P, [1, 1, 0, 0, 0], one)
            assert curve[2] == pytest.approx(slow, abs=1e-8)


def test_a_count_is_exact_also_with_a_reference():
    rng = np.random.default_rng(5)
    p, held = rng.beta(0.5, 2.0, 300), rng.beta(0.5, 2.0, 20_000)
    reference = (rng.random(held.size) < held).astype(int), held
    labels = (p >= 0.35).astype(int)
    for missed in (0, 40):
        alone = am.forecast(p, labels, missed=missed)
        own = am.forecast(p, labels, missed=missed, reference=reference)
        assert own.std == pytest.approx(alone.std, rel=0.05)  # 16 % too wide before
        assert own.mean == pytest.approx(alone.mean, abs=0.03)
