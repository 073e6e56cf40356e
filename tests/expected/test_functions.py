"""Metrics of which only values are known: sums over PMFs, and the rough search."""

import math

import numpy as np
import pytest

import argmetric as am
import oracle
from decide_checks import curve_by_pmfs
from routes import decide_by


def own(tp, k, t, n):
    return tp / (0.3 * k + 0.7 * t + 1.0)


def squares(tp, k, t, n):
    return tp * tp / (k * t)


def capped(tp, k, t, n):
    return np.minimum(tp, 12) - 0.3 * (k - tp)


def at_least_half(tp, k, t, n):
    return np.where(tp >= 0.5 * t, 1.0 - k / (4 * n), 0.0)


def bonus(tp, k, t, n):
    return tp / (k + t + 1) + (tp == k)


def wavy(tp, k, t, n):
    return tp / (k + t) + 0.05 * (tp % 5 == 1)


def steps(tp, k, t, n):
    return np.floor(10 * tp / (k + 1)) + tp / (t + 1)


def roots(tp, k, t, n):
    return np.sqrt(tp) / np.sqrt(k + 1) - 0.01 * (t - tp)


def flat(tp, k, t, n):
    return 0.25


def signed(tp, k, t, n):
    return (tp * n - k * t) / (k * t + 1)


def spike(tp, k, t, n):
    return np.where((k == 17) & (tp >= 2), 2.5, 2 * tp / (k + t + 1))


def odd(tp, k, t, n):
    return (t % 2) * (tp + 1) / (n + 1)


FUNCTIONS = [own, squares, capped, at_least_half, bonus, wavy, steps, roots]
FUNCTIONS += [flat, signed]
LOSS = am.CustomMetric(
    lambda tp, k, t, n: (k - tp) + 4 * (t - tp),
    name="loss",
    greater_is_better=False,
    smooth=True,
)
SHAPES = {
    "uniform": lambda rng, n: rng.random(n),
    "skewed": lambda rng, n: rng.beta(0.2, 2.0, n),
    "rare": lambda rng, n: np.minimum(1.0, rng.exponential(2.0 / n, n)),
    "frequent": lambda rng, n: 1.0 - rng.beta(0.2, 4.0, n),
    "tied": lambda rng, n: rng.choice([0.1, 0.2, 0.5, 0.9], n),
    "certain": lambda rng, n: rng.choice([0.0, 1.0, 0.3], n),
    "tiny": lambda rng, n: rng.choice([1e-300, 1e-16, 1 - 1e-16, 0.4], n),
}


def decided(vectors, metric, **options):
    """The decision in groups, one for each vector."""
    ids = np.repeat(np.arange(len(vectors)), [len(p) for p in vectors])
    options = {"average": "groups", "check": False} | options
    return decide_by(np.concatenate(vectors), metric, groups=ids, **options)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("function", [own, spike, squares, signed, odd])
def test_curves_in_pieces_and_batches(function, shape):
    """PMFs are rolled on from seeds; segments of one size share their values."""
    rng = np.random.default_rng(4)
    vectors = [SHAPES[shape](rng, n) for n in (130, 1, 40, 130, 81, 260, 65)]
    for zero in (0.0, 1.0, math.nan):
        metric = am.CustomMetric(function, zero_division=zero)
        found = decided(vectors, metric)
        for g, p in enumerate(vectors):
            wanted = curve_by_pmfs(p, metric)
            scale = max(1.0, np.nanmax(np.abs(wanted), initial=0.0))
            slack = scale * 1e-11 + (found.error * len(vectors) if g else 0.0)
            np.testing.assert_allclose(found.curve_of(g), wanted, rtol=0, atol=slack)


@pytest.mark.parametrize("function", [own, odd, spike])
def test_curves_of_large_variance(function):
    """Quadratures are tried, and given up where the metric is too rough for them."""
    p = np.random.default_rng(5).random(500)
    metric = am.CustomMetric(function)
    found = decide_by(p, metric, check=False)
    exact = decide_by(p, metric, check=False, method="windows")
    assert exact.error < 1e-11
    assert found.error < 1e-7
    np.testing.assert_allclose(found.curve, exact.curve, rtol=0, atol=found.error)
    np.testing.assert_allclose(exact.curve, curve_by_pmfs(p, metric), atol=1e-11)
    if function is odd:
        np.testing.assert_array_equal(found.curve, exact.curve)


def values_asked(vectors, **options):
    """How many values a function is asked for."""
    asked = []

    def counted(tp, k, t, n):
        asked.append(np.broadcast(tp, k, t, n).size)
        return own(tp, k, t, n)

    decided(vectors, am.CustomMetric(counted, **options))
    return sum(asked)


def test_segments_share_values_and_smooth_functions_need_few():
    rng = np.random.default_rng(3)
    vectors = [rng.beta(0.3, 2.0, 400) for _ in range(12)]
    everything = values_asked(vectors)
    assert everything < 4 * values_asked(vectors[:1])
    assert values_asked(vectors, smooth=True) < 0.3 * everything


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("smooth", [False, True])
def test_infinite_values_are_refused_wherever_they_have_weight(smooth, sign):
    p = np.random.default_rng(1).random(200)

    def infinite(tp, k, t, n):
        return sign * np.where(tp > 2, np.inf, tp)

    def somewhere(tp, k, t, n):
        return sign * np.where((k == 7) & (tp == 3), np.inf, tp / (k + 1))

    with pytest.raises(ValueError, match="odd one is infinite on some counts"):
        decide_by(p, am.CustomMetric(infinite, "odd one", smooth=smooth), check=False)
    for options in ({"method": "windows"}, {"groups": p > 0.5, "average": "groups"}):
        with pytest.raises(ValueError, match="infinite on some counts"):
            decide_by(p, somewhere, check=False, **options)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("metric", [*FUNCTIONS, LOSS])
def test_decisions_equal_those_on_whole_curves(metric, shape):
    """Smooth functions and others that say so, in groups and one by one."""
    rng, sizes = np.random.default_rng(6), [1, 2, 64, 65, 66, 130, 300]
    vectors = [SHAPES[shape](rng, n) for n in sizes]
    if metric is not LOSS:
        metric = am.CustomMetric(metric, smooth=True)
    sign = 1.0 if metric.greater_is_better else -1.0
    found, floor = decided(vectors, metric), metric.tie_floor(np.array(sizes))
    for g, p in enumerate(vectors):
        curve = sign * decide_by(p, metric, method="windows", check=False).curve
        bar = curve.max() - max(2e-12 * max(1.0, np.abs(curve).max()), floor[g])
        alone = decide_by(p, metric, check=False)
        for k, value in (
            (alone.n_positives, alone.expected),
            (found.group_n_positives[g], found.group_expected[g]),
        ):
            assert sign * value == pytest.approx(curve[k], rel=1e-11, abs=1e-12)
            assert curve[k] >= bar
            assert (curve[:k] < curve.max() - 5e-13 * abs(curve.max())).all()
        half = alone.cut_half
        assert sign * half.expected == pytest.approx(
            curve[half.n_positives], rel=1e-11, abs=1e-12
        )


@pytest.mark.parametrize("zero", [0.0, 1.0, math.nan])
@pytest.mark.parametrize("shape", ["skewed", "rare", "certain"])
def test_undefined_outcomes_are_left_out(zero, shape):
    rng = np.random.default_rng(7)
    metric = am.CustomMetric(squares, zero_division=zero, smooth=True)
    for n in (66, 200):
        p = SHAPES[shape](rng, n)
        found = decide_by(p, metric, check=False)
        curve = decide_by(p, metric, check=False, method="windows").curve
        k = oracle.best_k(np.where(np.isnan(curve), -np.inf, curve))
        assert found.n_positives == k
        assert found.expected == pytest.approx(curve[k], rel=1e-11)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_hides_from_a_rough_curve_is_found_by_default(shape):
    """One k is singled out by what may seldom happen there."""
    rng = np.random.default_rng(9)
    for n in (66, 150):
        p = SHAPES[shape](rng, n)
        curve = decide_by(p, spike, check=False, method="windows").curve
        found = decide_by(p, spike, check=False)
        assert found.expected == pytest.approx(curve.max(), rel=1e-11)
        assert found.n_positives == oracle.best_k(curve)
