"""Alarms, means over groups and strata of labels, against simulation and sums."""

import itertools
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import betabinom

import argmetric as am
from argmetric._compare.strata import allocation
from argmetric._forecast.posterior_score import GroupSample
from argmetric._monitor._distribution import PeriodDistribution
from argmetric._monitor._group_score import MeanOverGroups
from argmetric._monitor._labelling import PeriodTable, tilts
from argmetric._monitor._watch import (
    critical_value,
    floor_critical_value,
    floor_statistic,
    movements,
    signed_roots,
)
from argmetric.metrics import get_metric
from watched import shifted_maps

RNG = np.random.default_rng(11)
PLACE = np.tile(np.arange(10), 2)  # of ten cells, whatever rows are called
P = np.linspace(0.02, 0.95, 24) ** 2
CALLED = P > 0.3


def slow_maxima(n_periods: int, ratio: float, years: int) -> Any:
    """Largest |z| of a year: windows of 1, 2, 4, 8 periods against all rows before."""
    rng = np.random.default_rng(5)
    found = []
    for _ in range(years):
        reference = rng.normal() / np.sqrt(1.0 / ratio)  # mean of m = n/ratio rows
        means, largest = rng.normal(size=n_periods), 0.0
        for end in range(1, n_periods + 1):
            for window in (1, 2, 4, 8):
                if window > end:
                    continue
                past = end - window
                m = 1.0 / ratio + past
                before = (reference / ratio + means[:past].sum()) / m
                gap = means[past:end].mean() - before
                largest = max(largest, abs(gap) / np.sqrt(1.0 / window + 1.0 / m))
        found.append(largest)
    return np.array(found)


def test_the_critical_value_of_a_year_of_weeks() -> None:
    assert critical_value(52, 0.05) == pytest.approx(3.56, abs=0.03)
    assert critical_value(52, 0.01) == pytest.approx(4.00, abs=0.05)
    assert critical_value(1, 0.05) == pytest.approx(1.960, abs=0.03)
    assert critical_value(104, 0.05) < critical_value(8766, 0.05) < 5.0


@pytest.mark.parametrize(("n_periods", "ratio"), [(12, 1.0), (26, 5.0)])
def test_the_critical_value_by_another_simulation(n_periods: int, ratio: float) -> None:
    largest = slow_maxima(n_periods, ratio, 800)
    exceeded = (largest > critical_value(n_periods, 0.2)).mean()
    assert exceeded == pytest.approx(0.2, abs=0.045)  # three standard errors


def test_the_floor_allows_for_an_error_that_all_periods_share() -> None:
    found = [floor_critical_value(rho, 52, 0.05) for rho in (0.0, 0.5, 0.75, 0.9)]
    np.testing.assert_allclose(found, [3.09, 2.89, 2.61, 2.29], atol=0.015)
    rng = np.random.default_rng(3)
    common = rng.normal(size=(4000, 1)) * np.sqrt(0.75)
    z = (common + rng.normal(size=(4000, 52)) * 0.5).max(axis=1)
    assert (z > found[2]).mean() == pytest.approx(0.05, abs=0.012)
    assert floor_critical_value(1.0, 52, 0.05) == pytest.approx(1.645, abs=0.15)


def counts(rng: Any, n: int, theta: float = 0.0) -> Any:
    density = np.linspace(2.0, 0.3, P.size) * (1 - P + P * np.exp(theta))
    rows = rng.multinomial(n, density / density.sum())
    table = np.zeros((2, 3, P.size), dtype=np.int64)
    table[CALLED.astype(int), 0, np.arange(P.size)] = rows
    return table


def root(old: Any, new: Any) -> float:
    return float(signed_roots(old[None], new[None], P)[0])


def test_movements_compare_with_the_past() -> None:
    rng = np.random.default_rng(2)
    tables = [counts(rng, 500) for _ in range(5)] + [counts(rng, 500, -1.5)]
    old = counts(rng, 1000).sum(axis=(0, 1)) * 1.0
    found = movements(tables, old, P, am.FBeta())
    assert max(abs(z) for z, _ in found[:5]) < 3.0
    assert found[5][0] > 3.5
    rows = [one.sum(axis=(0, 1)) for one in tables]
    roots = [
        -root(old + np.sum(rows[: 6 - w], axis=0), sum(rows[6 - w :]))
        for w in (1, 2, 4)
    ]
    assert found[5][0] == pytest.approx(max(roots, key=abs))
    risen = movements([*tables[:5], counts(rng, 500, 1.5)], old, P, am.FBeta())
    assert risen[5][0] < -3.5
    assert found[5][1] == pytest.approx(-root(old, rows[5] * 1.0))
    assert movements(tables, old, P, am.FBeta(), 4) == found[4:]
    assert np.isnan(movements(tables, old, P, am.Recall())[0][0])


def test_the_floor_is_measured_in_deviations() -> None:
    rng = np.random.default_rng(2)
    tables = [counts(rng, 500) for _ in range(4)]
    old = counts(rng, 1000).sum(axis=(0, 1)) * 1.0
    maps = shifted_maps(P, 48, 0.15)

    def distribution(table: Any, score: Any) -> PeriodDistribution:
        return PeriodDistribution(table, old, maps, score, shift=watch.shift)

    watch: Any = SimpleNamespace(distribution=distribution, shift="none")
    low, rho = floor_statistic(tables, watch, am.FBeta(), 0.2)
    high, _ = floor_statistic(tables, watch, am.FBeta(), 0.9)
    assert low < -3
    assert high > 3
    assert rho == 1.0  # all of it is the uncertain calibrator, without a shift
    watch.shift = "auto"
    _, rho = floor_statistic(tables, watch, am.FBeta(), 0.5)
    assert 0 < rho < 1
    assert rho == round(rho, 3)  # critical values are kept by it
    pooled = np.sum(tables, axis=0)[:, 0]
    expected = maps.probabilities @ pooled.T
    f1 = 2 * expected[:, 1] / (pooled[1].sum() + expected.sum(axis=1))
    assert high == pytest.approx((0.9 - f1.mean()) / f1.std(), rel=1e-9)


@pytest.fixture(autouse=True)
def _draws() -> None:
    """Let no test depend on those before it."""
    RNG.bit_generator.state = np.random.default_rng(5).bit_generator.state


def groups_of(sizes: list[int], metric: str = "f1", **options: Any) -> MeanOverGroups:
    """Groups of these sizes, with random cells of ten and random predictions."""
    n = sum(sizes)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    known = options.pop("known", np.full(n, math.nan))
    selected = RNG.random(n) < 0.5
    scored = get_metric(metric, **options)
    return MeanOverGroups(scored, RNG.integers(0, 10, n), selected, known, indptr)


def sample_of(groups: MeanOverGroups) -> GroupSample:
    of_rows = groups.bin_index, groups.selected, groups.known
    return GroupSample(groups.metric, *of_rows, (groups.indptr, groups.lengths))


def slow_mean(groups: MeanOverGroups, labels: Any) -> float:
    """The mean of the metric over the groups, one group after the other."""
    values = []
    for a, b in itertools.pairwise(groups.indptr.tolist()):
        y, called = labels[a:b], groups.selected[a:b]
        counts = ((y & called).sum(), called.sum(), y.sum(), b - a)
        values.append(float(groups.metric.value(*counts)))
    return float(np.nanmean(values)) if not np.isnan(values).all() else math.nan


@pytest.mark.parametrize("metric", ["f1", "mcc", "recall", "precision"])
def test_moments_of_short_groups_are_those_of_all_labels(metric: str) -> None:
    known = np.full(10, math.nan)
    known[[1, 7]] = 1.0, 0.0
    zero = 0.0 if metric == "mcc" else 1.0
    groups = groups_of([3, 1, 4, 2], metric, zero_division=zero, known=known)
    c = RNG.uniform(0.05, 0.9, 10)
    p = np.where(np.isnan(known), c[groups.bin_index], known)
    labels = np.array(list(itertools.product([False, True], repeat=10)))
    weights = np.where(labels, p, 1 - p).prod(axis=1)
    means = np.array([slow_mean(groups, one) for one in labels])
    found = sample_of(groups).moments(c)
    mean = weights @ means
    assert found[0] == pytest.approx(mean, abs=1e-12)
    assert found[1] == pytest.approx(np.sqrt(weights @ (means - mean) ** 2), abs=1e-12)


@pytest.mark.parametrize(
    ("sizes", "metric", "zero", "lumps"),
    [
        ([6] * 40, "f1", 1.0, 0.015),
        ([3, 5, 2, 6, 4], "f1", 1.0, 0.04),  # few values, which do not move
        ([200] * 8, "f1", 1.0, 0.015),
        ([4] * 30 + [150] * 5, "gmean", 1.0, 0.015),
        ([3] * 60, "precision", math.nan, 0.015),
    ],
)
def test_draws_are_those_of_simulated_labels(
    sizes: list[int], metric: str, zero: float, lumps: float
) -> None:
    groups = groups_of(sizes, metric, zero_division=zero)
    usual = np.sort(RNG.uniform(0.02, 0.8, 10))
    probabilities = [usual ** np.exp(0.3 * i) for i in range(-2, 3)]
    value, expected = groups.draw_means(np.array(probabilities).T, PLACE, 400)
    for i, of_bins in enumerate(probabilities):
        q = of_bins[groups.bin_index]
        labels = RNG.random((4000, q.size)) < q
        sums = [
            np.add.reduceat(one, groups.indptr[:-1], axis=1, dtype=np.float64)
            for one in (labels & groups.selected, labels)
        ]
        k = np.add.reduceat(groups.selected, groups.indptr[:-1], dtype=np.float64)
        drawn = np.nanmean(
            groups.metric.value(sums[0], k, sums[1], groups.lengths), axis=1
        )
        error = drawn.std() / math.sqrt(4000)
        assert abs(expected[i] - drawn.mean()) < 5 * error + 0.002
        assert value[:, i].std() == pytest.approx(drawn.std(), rel=0.12)
        for level in (0.05, 0.5, 0.95):
            below, above = np.quantile(drawn, [level - 0.04, level + 0.04])
            found = np.quantile(value[:, i], level)
            assert below - lumps <= found <= above + lumps


def test_rates_of_strata_are_those_of_the_model() -> None:
    """E[ρ] of every stratum by summing over calibrators and the grid of tilts."""
    odds = np.array([[-3.0, -1.4, 0.4, 2.2], [-2.2, -0.8, 0.0, 1.4]])
    decisions, pattern = np.array([[False, True]]), np.repeat([0, 1], [400, 90])
    bin_ = np.repeat([0, 1, 2, 3], [300, 100, 50, 40])
    y = np.full(490, np.nan)
    y[:12], y[400:420] = np.arange(12) < 3, np.arange(20) < 9
    how = am.FBeta(), False, False
    table = PeriodTable(decisions, pattern, bin_, odds, y, *how)
    _, labels, positives = table._labels_in(table.member)
    weights = (table.member == np.unique(table.member)[:, None]) * table.size
    weights = weights / weights.sum(axis=1, keepdims=True)
    levels, means = [], []
    for x in odds:
        for a, b, prior in zip(*tilts(), strict=True):
            mu = 1 / (1 + np.exp(-(a + b * x))) @ weights.T
            far = np.maximum(np.abs(np.log(mu / (1 - mu))) - 3, 0) / 4
            kappa: Any = 20.0
            if prior == np.log(0.5):  # the forecast is right
                kappa = 1 / ((0.15**2 + far**2) * mu * (1 - mu))
            each = betabinom.pmf(positives, labels, kappa * mu, kappa * (1 - mu))
            levels.append(np.exp(prior) * each.prod())
            means.append((kappa * mu + positives) / (kappa + labels))
    level, mean = np.array(levels) / sum(levels), np.array(means)
    wanted = level @ mean
    spread = np.sqrt(level @ (mean - wanted) ** 2 + 0.05**2)
    found = weights @ table.probability_draws()
    assert found.shape == (labels.size, 960)
    assert (np.abs(found.mean(axis=1) - wanted) < 4 * spread / np.sqrt(960)).all()


def test_sizes_are_those_of_the_formula_for_f1() -> None:
    p = np.random.default_rng(11).beta(0.5, 3, 5000)
    y = np.random.default_rng(12).random(5000) < p
    made = am.monitor(p[1000:], 0.3, reference=(y[:1000], p[:1000]))
    table = made.to_label(50)._table
    rows, c, called = table.size, table.probability, table.decisions[0, table.group]
    f = 2 * (rows @ (c * called)) / (rows @ (c + called))
    found, wanted = table.influence(table.first_contrasts()), np.abs(2 * called - f)
    np.testing.assert_allclose(found / found.sum(), wanted / wanted.sum(), rtol=1e-4)


@pytest.mark.parametrize("shift", ["auto", "none", "prior"])
def test_draws_of_odds_are_those_of_the_mixture(shift: Any) -> None:
    """E[probability] of every bin by sums over readings, calibrators and θ."""
    rng = np.random.default_rng(0)
    x = rng.normal(-1.0, 1.5, 1600)
    p, y = 1 / (1 + np.exp(-x)), rng.random(1600) < 1 / (1 + np.exp(-x))
    made = am.monitor(p[400:] ** 2, 0.3, reference=(y[:400], p[:400]), shift=shift)
    table, watch = made.counts[0].table, made.watch
    one = watch.distribution(table, watch.metric)
    own, wanted = watch.probabilities.probabilities, 0.0
    parts = {"auto": one.readings, "none": (1, 0, 0), "prior": (0, 0, 1)}[shift]
    for part, (theta, _) in zip(parts, one._thetas, strict=True):
        odds = (own / (1 - own))[:, None] * np.exp(theta * (shift != "none"))[
            :, :, None
        ]
        wanted = wanted + part * (odds / (1 + odds)).mean(axis=(0, 1))
    found = 1 / (1 + np.exp(-one.odds_draws(4000)))
    assert found.shape == (4000, own.shape[1])
    np.testing.assert_allclose(found.mean(axis=0), wanted, rtol=0.01)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 20, 50, 137, 5000])
def test_labels_are_dealt_out_in_full(n: int) -> None:
    total = np.array([3000, 500, 90, 5, 1])
    weight = np.array([10.0, 50.0, 60.0, 9.0, 1.0])
    found = allocation(n, total, weight, 0 * total)
    assert found.sum() == min(n, total.sum())
    assert (found <= total).all()
    if n >= 10:
        assert (found >= np.minimum(2, total)).all()
    if n == 137:  # Neyman's, but for the bounds
        share = 0.9 * weight / weight.sum() + 0.1 * total / total.sum()
        np.testing.assert_allclose(found[:3], (share * n)[:3], rtol=0.12)
