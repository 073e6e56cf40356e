"""Alarms with a stated rate of false ones.

On movement, for the worse and for the better: the signed root of 2·max ℓ for the last
1, 2, 4 and 8 periods together, against the reference and all periods before them.
Residuals against the past are independent of each other, so one critical value holds
whatever the sizes are. A map that is wrong costs power alone: ℓ asks whether two
samples of scores differ along it.

On a floor: (floor - mean)/sd of the expected score of the last 4 periods together. The
error of the map is common to all periods: with ρ, its part of the variance, the largest
of T such values stays below c with the probability ∫ φ(u)·Φ((c - √ρ·u)/√(1 - ρ))^T du.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from argmetric._ground.types import Booleans, Floats, Integers
from argmetric._monitor._cells import rows_of
from argmetric._monitor._law import CERTAIN, Maps, PeriodLaw, Shift, likelihood_of
from argmetric.metrics import Metric

if TYPE_CHECKING:
    from argmetric._monitor._watch import MeanOverGroups

WINDOWS = (1, 2, 4, 8)
FLOOR_WINDOW = 4
OWN_MOVE = 2.0  # root of a period that moved itself, and not the ones before it
YEARS = 40_000  # that are simulated
LONGEST_YEAR = 104  # periods of a simulated year; longer ones are several of these
SMALL_STEP = 0.1  # of θ, on which side of 0 the score is compared
NO_STEP = 1e-6  # difference of the score that counts as none


@lru_cache(maxsize=64)
def critical_value(n_periods: int, false_alarms: float) -> float:
    """Value that the statistic on movement exceeds with a stated probability.

    By simulation of quiet years: normal means of periods of equal size, and of a
    reference as large as a period; the size of the reference hardly matters.
    """
    length = min(n_periods, LONGEST_YEAR)
    quiet = (1.0 - false_alarms) ** (length / n_periods)
    rng = np.random.default_rng(0)
    total = np.cumsum(rng.standard_normal((YEARS, length + 1)), axis=1)
    rows = np.arange(1.0, length + 2.0)
    largest = np.zeros(YEARS)
    for window in WINDOWS:
        if window > length:
            continue
        past, end = total[:, :-window], total[:, window:]
        n_past = rows[:-window]
        gap = (end - past) / window - past / n_past
        z = gap / np.sqrt(1.0 / window + 1.0 / n_past)
        largest = np.maximum(largest, np.abs(z).max(axis=1))
    return float(np.quantile(largest, quiet))


@lru_cache(maxsize=256)
def floor_critical_value(rho: float, n_periods: int, false_alarms: float) -> float:
    """Value that the statistic of the floor exceeds with a stated probability."""
    from scipy.optimize import brentq
    from scipy.special import log_ndtr

    x, weight = np.polynomial.hermite_e.hermegauss(120)
    weight = weight / weight.sum()
    rho = min(rho, 0.999)

    def excess(c: float) -> float:
        inside = (c - math.sqrt(rho) * x) / math.sqrt(1.0 - rho)
        return float(weight @ np.exp(n_periods * log_ndtr(inside))) - 1 + false_alarms

    return float(brentq(excess, -10.0, 20.0))


def direction(table: Integers, old: Floats, chances: Floats, metric: Metric) -> float:
    """Whether the score gets better (1) or worse (-1) as the share of positives rises.

    Under label shift hit rate and false positive rate stay as they are. 0 for a metric
    of these two alone, such as recall.
    """
    total = rows_of(table)
    there = np.flatnonzero(total)
    share = table[1].sum(axis=0)[there] / total[there]
    called = np.interp(np.arange(total.size), there, share)
    positive, negative = old * chances, old * (1.0 - chances)
    rates = [one @ called / one.sum() for one in (positive, negative)]
    odds = positive.sum() / negative.sum()
    values = []
    for theta in (-SMALL_STEP, SMALL_STEP):
        t = odds * math.exp(theta) / (1.0 + odds * math.exp(theta))
        tp, n = rates[0] * t, 1e6
        values.append(metric.value(tp * n, (tp + rates[1] * (1 - t)) * n, t * n, n))
    step = float(values[1] - values[0])
    sign = 1.0 if metric.greater_is_better else -1.0
    return 0.0 if not abs(step) > NO_STEP else math.copysign(sign, sign * step)


def signed_roots(old: Floats, new: Floats, chances: Floats) -> Floats:
    """√(2·max ℓ) with the sign of the likeliest θ, for pairs of rows of counts."""
    alike = np.broadcast_to(chances, old.shape)
    theta, level = likelihood_of(old, new, alike).peaks
    return np.copysign(np.sqrt(2.0 * np.maximum(level, 0.0)), theta)


def movements(
    tables: Sequence[Integers],
    old: Floats,
    chances: Floats,
    metric: Metric | None,
    first: int = 0,
    known: Booleans | None = None,
) -> list[tuple[float, float]]:
    """Statistics on movement of every period from `first` on.

    The one of the alarm, and the root of the period against the reference alone. They
    are positive where the score moved for the worse; without a `metric` it rises with
    the chance. Only `known` periods are compared with: strange rows in the past would
    make ordinary ones look moved.
    """
    rows = [np.zeros_like(old), *map(rows_of, tables)]
    sums = np.cumsum(rows, axis=0)
    part = np.ones(len(tables)) if known is None else known.astype(np.float64)
    past = old + np.cumsum(rows * np.append(0.0, part)[:, None], axis=0)
    labels = np.cumsum(np.array(tables), axis=0)
    found = []
    for end in range(first + 1, len(tables) + 1):  # each by itself: sums round alike
        side = 1.0
        if metric is not None:
            side = direction(labels[end - 1], old, chances, metric)
        starts = end - np.array([1, *(w for w in WINDOWS if w <= end)])
        then = past[starts]
        then[0] = old  # the period against the reference alone
        against, *roots = signed_roots(then, sums[end] - sums[starts], chances).tolist()
        furthest = -side * max(roots, key=abs)
        found.append((furthest, -side * against) if side else (math.nan, math.nan))
    return found


def floor_statistic(
    tables: Sequence[Integers],
    old: Floats,
    maps: Maps,
    metric: Metric | MeanOverGroups,
    shift: Shift,
    floor: float,
) -> tuple[float, float]:
    """How far the last periods together lie below a floor, and the map's part ρ.

    Infinite where all labels are known: the score is then certain.
    """
    pooled = np.sum(tables, axis=0)
    law = PeriodLaw(pooled, old, maps, metric, shift)
    (mean, deviation), quiet = law.mixed.level(), law.unmoved.level()[1]
    sign = 1.0 if metric.greater_is_better else -1.0
    if not deviation > CERTAIN:
        return math.copysign(math.inf, sign * (floor - mean)), 0.0
    rho = min(quiet**2 / deviation**2, 1.0)
    return sign * (floor - mean) / deviation, round(rho, 3)
