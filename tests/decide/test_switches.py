"""On both sides of every switch of routes by size: the same answers."""

import math

import numpy as np
import pytest

import argmetric as am
from argmetric._expected import _affine, _curves, _exponential, _tables
from argmetric._kernels import reference


def own(tp, k, t, n):
    return tp / (0.3 * k + 0.7 * t + 1.0)


def law_value(metric, p, k, n):
    """E at one k from the laws of hits and misses."""
    metric, p = am.get_metric(metric), np.sort(p)[::-1]
    low, hits = reference.law_of_items(p[:k], 1 - p[:k], 1e-22)
    lowest, misses = reference.law_of_items(p[k:], 1 - p[k:], 1e-22)
    a = low + np.arange(hits.size)[:, None]
    values = metric.value(a, k, a + lowest + np.arange(misses.size), n)
    return float(hits @ values @ misses)


LIMITS = (
    _tables.REMEMBERED,
    _curves.TABLE_LIMIT,
    _curves.GENERAL_TABLE_LIMIT,
    _curves.HARMONIC_LIMIT,
    _curves.NUMPY_HARMONIC_LIMIT,
    _curves.SHARED_TABLE_LIMIT,
)
METRICS = ("f1", "f0.7", "jaccard", "mcc", "kappa", "gmean", "qmean")
METRICS += ("balanced_accuracy", "fowlkes_mallows", own)


@pytest.mark.parametrize("size", sorted({m + d for m in LIMITS for d in (0, 1)}))
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("copies", [1, _tables.SHARING - 1, _tables.SHARING])
def test_curves_at_the_limits_of_tables(metric, size, copies):
    rng = np.random.default_rng(size)
    p = rng.beta(0.5, 2, (copies, size))
    decision = (
        am.decide(p[0], metric)
        if copies == 1
        else am.decide(p, metric, average="samples")
    )
    for g in {0, copies - 1}:
        curve = decision.curve if copies == 1 else decision.curve_of(g)
        best = int(decision.n_positives if copies == 1 else p[g].size // 3)
        for k in {best, 1, size - 1}:
            assert curve[k] == pytest.approx(
                law_value(metric, p[g], k, size), rel=1e-11, abs=1e-13
            )
        if copies > 1:
            k = int(decision.group_n_positives[g])
            assert decision.group_expected[g] == pytest.approx(
                law_value(metric, p[g], k, size), rel=1e-11, abs=1e-13
            )
            assert curve.max() == pytest.approx(decision.group_expected[g], rel=2e-12)


@pytest.mark.parametrize(
    ("metric", "variance"),
    [
        ("jaccard", _exponential.NARROW),
        ("mcc", _affine.SWITCH),
        ("kappa", _affine.SWITCH),
    ],
)
@pytest.mark.parametrize("side", [0.97, 1.03])
def test_curves_at_the_limits_of_variance(metric, variance, side):
    p = np.random.default_rng(1).beta(0.5, 2, 5000)
    items = np.searchsorted(np.cumsum(p * (1 - p)), side * variance)
    p = np.concatenate([p[:items], np.full(5000 - items, 1e-9)])
    assert math.isclose(float(p @ (1 - p)), side * variance, rel_tol=0.02)
    decision = am.decide(p, metric)
    for k in (decision.n_positives, 5, 2400):
        wanted = law_value(metric, p, k, p.size)
        assert decision.curve[k] == pytest.approx(wanted, rel=1e-11, abs=1e-13)


@pytest.mark.parametrize("metric", ["f1", "jaccard", "mcc", "gmean", "hmean"])
@pytest.mark.parametrize("size", [_curves.SMALL, _curves.SMALL + 1])
def test_numpy_and_compiled_kernels_meet(metric, size):
    p = np.random.default_rng(2).beta(0.5, 8, size)
    decision = am.decide(p, metric)
    k = decision.n_positives
    wanted = law_value(metric, p, k, size)
    assert decision.expected == pytest.approx(wanted, rel=1e-11)
    for other in (k - 1, k + 1):
        assert law_value(metric, p, other, size) <= wanted * (1 + 1e-12)


@pytest.mark.parametrize("name", ["f1", "mcc", "gmean", "specificity"])
@pytest.mark.parametrize("zd", [0.0, 1.0, math.nan])
def test_short_vectors_at_once_equal_the_oracle(name, zd):
    p = np.random.default_rng(3).random(9)
    metric = am.get_metric(name, zero_division=zd)
    decision = am.decide(p, metric)
    values = [oracle_value(metric, p, k) for k in range(10)]
    np.testing.assert_allclose(decision.curve, values, rtol=1e-12)


def oracle_value(metric, p, k):
    """By enumeration of all outcomes, those left out in which it is undefined."""
    chosen = np.argsort(-p)[:k]
    outcomes = np.array(list(np.ndindex(*(2,) * p.size)))
    chance = np.where(outcomes == 1, p, 1 - p).prod(axis=1)
    hits, positives = outcomes[:, chosen].sum(axis=1), outcomes.sum(axis=1)
    values = metric.value(hits, k, positives, p.size)
    defined = ~np.isnan(values)
    if not defined.any():
        return math.nan
    return chance[defined] @ values[defined] / chance[defined].sum()


def test_functions_of_the_users_own_are_asked_again():
    """What a function reads besides the counts may have changed."""
    weight = [1.0]

    def weighted(tp, k, t, n):
        return weight[0] * tp / (k + t + 1)

    first = am.decide([0.9, 0.4, 0.2], weighted)
    weight[0] = 2.0
    second = am.decide([0.9, 0.4, 0.2], weighted)
    assert second.expected == pytest.approx(2 * first.expected)
