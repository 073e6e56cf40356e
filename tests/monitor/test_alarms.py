"""Alarms: critical values by other simulations, and what they are raised by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import argmetric as am
from argmetric._monitor._alarms import (
    critical_value,
    direction,
    floor_critical_value,
    floor_statistic,
    movements,
    signed_roots,
)
from watched import shifted_maps

CHANCE = np.linspace(0.02, 0.95, 24) ** 2
CALLED = CHANCE > 0.3
LOSS = am.CustomMetric(
    lambda tp, k, t, n: 1 - 2 * tp / (k + t), "loss", greater_is_better=False
)


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


@pytest.mark.parametrize(("n_periods", "ratio"), [(12, 1.0), (26, 0.2), (26, 5.0)])
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
    density = np.linspace(2.0, 0.3, CHANCE.size) * (1 - CHANCE + CHANCE * np.exp(theta))
    rows = rng.multinomial(n, density / density.sum())
    table = np.zeros((2, 3, CHANCE.size), dtype=np.int64)
    table[CALLED.astype(int), 0, np.arange(CHANCE.size)] = rows
    return table


def test_signed_roots_are_normal_when_nothing_moves() -> None:
    rng = np.random.default_rng(0)
    pairs = [[counts(rng, n).sum(axis=(0, 1)) for n in (800, 400)] for _ in range(300)]
    roots = signed_roots(*np.moveaxis(np.array(pairs) * 1.0, 1, 0), CHANCE)
    assert abs(roots.mean()) < 0.17
    assert roots.std() == pytest.approx(1.0, abs=0.12)


@pytest.mark.parametrize(
    ("metric", "wanted"),
    [
        ("f1", 1.0),
        ("precision", 1.0),
        ("jaccard", 1.0),
        ("recall", 0.0),
        ("gmean", 0.0),
        ("balanced_accuracy", 0.0),
        (LOSS, 1.0),
    ],
)
def test_which_way_a_share_moves_the_score(metric: Any, wanted: float) -> None:
    table = counts(np.random.default_rng(0), 2000)
    old = table.sum(axis=(0, 1)) * 1.0
    assert direction(table, old, CHANCE, am.get_metric(metric)) == wanted


def root(old: Any, new: Any) -> float:
    return float(signed_roots(old[None], new[None], CHANCE)[0])


def test_movements_compare_with_the_past() -> None:
    rng = np.random.default_rng(2)
    tables = [counts(rng, 500) for _ in range(5)] + [counts(rng, 500, -1.5)]
    old = counts(rng, 1000).sum(axis=(0, 1)) * 1.0
    found = movements(tables, old, CHANCE, am.FBeta())
    assert max(abs(z) for z, _ in found[:5]) < 3.0
    assert found[5][0] > 3.5
    rows = [one.sum(axis=(0, 1)) for one in tables]
    roots = [
        -root(old + np.sum(rows[: 6 - w], axis=0), sum(rows[6 - w :]))
        for w in (1, 2, 4)
    ]
    assert found[5][0] == pytest.approx(max(roots, key=abs))
    risen = movements([*tables[:5], counts(rng, 500, 1.5)], old, CHANCE, am.FBeta())
    assert risen[5][0] < -3.5
    assert found[5][1] == pytest.approx(-root(old, rows[5] * 1.0))
    assert movements(tables, old, CHANCE, am.FBeta(), 4) == found[4:]
    assert np.isnan(movements(tables, old, CHANCE, am.Recall())[0][0])


def test_the_floor_is_measured_in_deviations() -> None:
    rng = np.random.default_rng(2)
    tables = [counts(rng, 500) for _ in range(4)]
    old = counts(rng, 1000).sum(axis=(0, 1)) * 1.0
    maps = shifted_maps(CHANCE, 48, 0.15)
    how = old, maps, am.FBeta(), "none"
    low, rho = floor_statistic(tables, *how, 0.2)
    high, _ = floor_statistic(tables, *how, 0.9)
    assert low < -3
    assert high > 3
    assert rho == 1.0  # all of it is the map's, without a shift
    pooled = np.sum(tables, axis=0)[:, 0]
    expected = maps.chances @ pooled.T
    f1 = 2 * expected[:, 1] / (pooled[1].sum() + expected.sum(axis=1))
    assert high == pytest.approx((0.9 - f1.mean()) / f1.std(), rel=1e-9)
