"""Cuts of several groups whose rates differ by no more than a gap on new rows.

Theorem. The scores of n rows of a group are independent draws without ties. The cut at
the k-th highest of them selects, among new rows of the group, a proportion

    U ~ Beta(k, n + 1 - k),

whatever the distribution of the scores. Groups are independent, so that

    P(max U - min U <= gap) = Σ_g ∫ f_g(x) Π_{h≠g} [F_h(x + gap) - F_h(x)] dx,

where g has the lowest rate. It is exact where ranks are chosen by other rows.

Of recall the rows are positives: the labels and groups given, what chooses the ranks
are all negatives and some of the positives, which are independent of the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from argmetric._ground.types import Booleans, Floats, Integers, Interval

SPENT = {"recall": 0.1, "selection_rate": 0.25}  # of the certifying rows, to choose
GRID = 401  # rates that are looked at
WIDTHS = 17  # widths of windows between 0 and the gap
KEPT = 40  # candidates whose exact probability is computed, best first
MOST_ODDS = 1e3  # of a row that stands for positives
STEPS = 12  # of Dinkelbach's iteration
MOST_STEPS = 100  # of the same over cuts: it ends where nothing is better
MOST_WINDOWS = 5_000_000  # times groups; of more, evenly spaced ones are looked at
TIE = 1e-12  # what rounding leaves of a difference that equals the gap
NODES, WEIGHTS, FEW_NODES, FEW_WEIGHTS = (
    (x + shift) / 2.0
    for n in (96, 16)
    for x, shift in zip(np.polynomial.legendre.leggauss(n), (1.0, 0.0), strict=True)
)
NARROW = 1 / 16  # of the variance of the lowest rate: the integrand has steps
BREAKS = np.array([1e-6, 0.02, 0.5, 0.98, 1.0 - 1e-6])  # quantiles about each step


def gap_probability(ranks: Sequence[int], sizes: Sequence[int], gap: float) -> float:
    """Return P(max - min of the rates <= gap) for cuts of these ranks, by quadrature.

    Rank 0 selects nothing and has the rate 0; rank n + 1 selects all, with the rate 1.
    """
    from scipy.special import betainc, betaincinv

    def variance(a: int, b: int) -> float:
        return a * b / ((a + b) ** 2 * (a + b + 1.0))

    shapes = [(k, n + 1 - k) for k, n in zip(ranks, sizes, strict=True)]
    drawn = [one for one in shapes if min(one) > 0]
    none, every = (any(one[i] <= 0 for one in shapes) for i in (0, 1))
    if none or every:  # the others are within the gap of an end
        ends = [betainc(*(one if none else one[::-1]), gap) for one in drawn]
        return 0.0 if none and every else float(np.prod(ends))
    total = 0.0
    for g, own in enumerate(drawn):
        others = [*drawn[:g], *drawn[g + 1 :]]
        steps = [
            betaincinv(*one, BREAKS)
            for one in others
            if variance(*one) < NARROW * variance(*own)
        ]
        u, weights = NODES, WEIGHTS
        if steps:
            at = np.concatenate([*steps, *(np.maximum(x - gap, 0.0) for x in steps)])
            edges = np.unique([0.0, *betainc(*own, at), 1.0])
            width = np.diff(edges)[:, None]
            u, weights = edges[:-1, None] + width * FEW_NODES, width * FEW_WEIGHTS
        x = betaincinv(*own, u.ravel())
        top = np.minimum(x + gap, 1.0)
        within = [betainc(*one, top) - betainc(*one, x) for one in others]
        total += float(np.prod(within, axis=0) @ weights.ravel())
    return min(total, 1.0)


def gap_interval(
    hits: Integers, sizes: Integers, coverage: float
) -> tuple[float, Interval]:
    """Return the gap of observed rates, and an interval for that of their populations.

    By Clopper-Pearson limits l < r < u of each rate, the difference of two is at least
    r - s - √((r - l)² + (u' - s)²), and at most the same with the other limits (MOVER).
    A gap is at least the largest such bound, each at its part of the risk, and at most
    the largest upper bound. Groups without rows say nothing. By enumeration the lower
    end is missed with half of the risk at most.

    Parameters
    ----------
    hits, sizes : ndarray of shape (n_groups,)
        Rows that are selected, and all rows that count, in each group.
    coverage : float
        Nominal coverage; each end is missed with half of the rest.
    """
    from scipy.special import betaincinv

    k, n = hits[sizes > 0].astype(np.float64), sizes[sizes > 0].astype(np.float64)
    if k.size < 2:
        return math.nan, Interval(0.0, 1.0)
    tail = (1.0 - coverage) / 2.0

    def limits(tail: float) -> tuple[Floats, Floats]:
        low = np.where(k > 0.0, betaincinv(np.maximum(k, 1.0), n - k + 1.0, tail), 0.0)
        high = betaincinv(k + 1.0, np.maximum(n - k, 1.0), 1.0 - tail)
        return low, np.where(k < n, high, 1.0)

    shared = limits(tail / (k.size * (k.size - 1.0)))
    return float(np.ptp(k / n)), gap_within(k / n, shared, limits(tail))


def gap_within(
    rates: Floats, lower: tuple[Floats, Floats], upper: tuple[Floats, Floats]
) -> Interval:
    """Return the interval of a gap, each end from low and high limits of all rates."""
    apart = rates[:, None] - rates
    down, up = ((rates - x) ** 2 for x in lower)
    least = (apart - np.sqrt(down[:, None] + up)).max()
    down, up = ((rates - x) ** 2 for x in upper)
    most = (apart + np.sqrt(up[:, None] + down)).max()
    return Interval(max(float(least), 0.0), min(float(most), 1.0))


def near_probability(rates: Floats, sizes: Sequence[int], gap: float) -> Floats:
    """Return the same by normal distributions, for rates (n_candidates, n_groups)."""
    from scipy.special import ndtr

    variance = rates * (1.0 - rates) / (np.array(sizes) + 2.0)
    std = np.sqrt(np.maximum(variance, 1e-12))
    z = np.linspace(-4.0, 4.0, 41)
    weight = np.exp(-z * z / 2.0) / np.exp(-z * z / 2.0).sum()
    x = rates[:, :, None] + std[:, :, None] * z
    total = np.zeros(len(rates))
    for g in range(rates.shape[1]):
        others = [h for h in range(rates.shape[1]) if h != g]
        away = (x[:, g, None] - rates[:, others, None]) / std[:, others, None]
        wide = gap / std[:, others, None]
        total += (ndtr(away + wide) - ndtr(away)).prod(axis=1) @ weight
    return total


def labels_needed(
    rate: float, sizes: Sequence[int], gap: float, confidence: float
) -> float:
    """Return by which factor more certifying rows would prove one rate for all.

    Infinite where a million times as many would not.
    """
    low, high = 1.0, 2.0**20

    def enough(factor: float) -> bool:
        more = [max(round(n * factor), 1) for n in sizes]
        ranks = [round(rate * (n + 1)) for n in more]
        return gap_probability(ranks, more, gap) >= confidence

    if not enough(high):
        return math.inf
    while high / low > 1.01:
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


class RatioMetric(Protocol):
    """A metric that is a ratio of two linear functions of tp and k."""

    def value(self, tp: Floats, k: Floats) -> Floats: ...
    def slopes(self, value: float) -> tuple[float, float]: ...


@dataclass(frozen=True)
class GroupCurve:
    """Expected hits and false alarms of a group, at each of GRID rates."""

    hits: Floats
    alarms: Floats


def observed_curve(scores: Floats, positive: Booleans) -> GroupCurve:
    """Return proportions of positives and negatives above the cut of each rate.

    Without rows, or those of one kind, nothing is known: the rate itself.
    """
    rates = np.linspace(0.0, 1.0, GRID)
    base = np.sort(scores)[::-1]
    if not base.size:
        return GroupCurve(rates, rates)
    places = np.clip(rates * (base.size + 1), 1, base.size) - 1
    cut = np.interp(places, np.arange(base.size), base)
    above = [
        1.0 - np.searchsorted(np.sort(part), cut) / part.size if part.size else rates
        for part in (scores[positive], scores[~positive])
    ]
    for one in above:
        one[0], one[-1] = 0.0, 1.0
    return GroupCurve(*above)


@dataclass(frozen=True)
class GroupCuts:
    """Every cut between distinct scores of a group, from no row to all rows."""

    rates: Floats
    hits: Floats
    selected: Floats


def observed_cuts(scores: Floats, positive: Booleans, *, recall: bool) -> GroupCuts:
    """Return rate, true and predicted positives of every cut of a group."""
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    ends = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]), scores.size - 1)
    hits = np.append(0.0, np.cumsum(positive[order])[ends])
    selected = np.append(0.0, ends + 1.0)
    of = hits if recall else selected
    return GroupCuts(of / of[-1], hits, selected)


def best_cuts(
    cuts: Sequence[GroupCuts],
    gap: float,
    ratio: RatioMetric,
    value: Callable[[Floats, Floats], Floats],
) -> Integers:
    """Return the cut of each group, of best metric within the gap on these rows.

    Some group has the lowest rate x, and the others lie in [x, x + gap]. Every x is
    looked at, which is exact, up to MOST_WINDOWS. At the value λ of the best cuts so
    far each group takes its best cut of the window. Of equal values the fewest
    positives are returned.
    """
    starts = np.unique(np.concatenate([one.rates for one in cuts]))
    step = math.ceil(starts.size * len(cuts) / MOST_WINDOWS)
    starts = starts[::step]
    lows = [np.searchsorted(one.rates, starts) for one in cuts]
    ends = [np.searchsorted(one.rates, starts + gap + TIE, "right") for one in cuts]
    kept = np.all([low < end for low, end in zip(lows, ends, strict=True)], axis=0)
    windows = [(low[kept], end[kept]) for low, end in zip(lows, ends, strict=True)]
    best = np.zeros(len(cuts), dtype=np.int64)
    every = np.array([one.rates.size - 1 for one in cuts])
    level, fewest = -math.inf, 0.0
    slope, base = 0.0, 1.0  # of the first step: all that a window has
    for _ in range(MOST_STEPS):
        found = [
            argmax_between(slope * one.hits + base * one.selected, *window)
            for one, window in zip(cuts, windows, strict=True)
        ]
        plans = np.column_stack(found)
        plans = np.vstack([np.zeros_like(best), every, plans])
        pairs = list(zip(cuts, plans.T, strict=True))
        k = np.sum([one.selected[at] for one, at in pairs], axis=0)
        score = value(np.sum([one.hits[at] for one, at in pairs], axis=0), k)
        score = np.where(np.isfinite(score), score, -np.inf)
        first = np.lexsort((k, -score))[0]
        better = score[first] > level
        if better or (score[first] == level and k[first] < fewest):
            best, level, fewest = plans[first], float(score[first]), float(k[first])
        if not better:
            break
        slope, base = ratio.slopes(level)
    return best


def argmax_between(values: Floats, low: Integers, end: Integers) -> Integers:
    """Return the first place of the maximum in each range low..end-1.

    A range is the union of two of the same length, a power of two.
    """
    power = np.frexp((end - low).astype(np.float64))[1] - 1
    places, found = np.arange(values.size), np.zeros(low.size, dtype=np.int64)
    for exponent in range(int(power.max()) + 1):
        here, width = power == exponent, 1 << exponent
        one, other = places[low[here]], places[end[here] - width]
        found[here] = np.where(values[other] > values[one], other, one)
        one, other = places[:-width], places[width:]
        places = np.where(values[other] > values[one], other, one)
    return found


def tilted_curve(negatives: Floats, power: float) -> GroupCurve:
    """Return the curve of recall from negatives alone.

    Positives have the distribution of the negatives times (p / (1 - p)) ** power.
    """
    p, rates = np.sort(negatives)[::-1], np.linspace(0.0, 1.0, GRID)
    if not p.size:
        return GroupCurve(rates, rates)
    x = np.minimum(power * _log_odds(p), math.log(MOST_ODDS))
    odds = np.exp(x - x.max())
    caught = np.append(0.0, np.cumsum(odds)) / odds.sum()
    return GroupCurve(rates, np.interp(rates, caught, np.arange(p.size + 1) / p.size))


def _log_odds(p: Floats) -> Floats:
    least = np.finfo(np.float64).tiny
    return np.log(np.maximum(p, least)) - np.log(np.maximum(1.0 - p, 1e-9))


def odds_power(p: Floats, positive: Booleans) -> float:
    """Return the slope of a logistic regression on log-odds: 1 for calibrated p."""
    x = _log_odds(p)
    x -= x.mean()
    rows = np.column_stack([np.ones_like(x), x])
    b = np.array([np.log(positive.mean() / (1.0 - positive.mean())), 0.0])
    for _ in range(25):
        q = 1.0 / (1.0 + np.exp(-np.clip(rows @ b, -50.0, 50.0)))
        hessian = (rows * (q * (1.0 - q))[:, None]).T @ rows + 1e-6 * np.eye(2)
        b = b + np.linalg.solve(hessian, rows.T @ (positive - q))
    return float(np.clip(b[1], 0.05, 20.0)) if np.isfinite(b).all() else 1.0


def best_rates(
    curves: Sequence[GroupCurve],
    counts: Floats,
    gap: float,
    ratio: RatioMetric,
    *,
    passes: Callable[[Floats], Booleans],
) -> Floats:
    """Return vectors of rates (n, n_groups) within a window of the gap, best first.

    Dinkelbach's iteration: at the value λ a selected row is worth a · positive + b with
    (a, b) = ratio.slopes(λ), and in each window every group takes its best rate.

    Parameters
    ----------
    counts : ndarray of shape (2, n_groups)
        Positives and negatives of each group.
    """
    positives, negatives = counts[:, :, None]
    hits = np.array([one.hits for one in curves]) * positives
    alarms = np.array([one.alarms for one in curves]) * negatives
    rates, places = np.linspace(0.0, 1.0, GRID), np.arange(len(curves))
    widths = np.unique(np.round(np.linspace(0.0, gap, WIDTHS) * (GRID - 1))).astype(int)
    best, level, order = np.zeros((0, len(curves))), 0.5, np.zeros(0, dtype=np.int64)
    for _ in range(STEPS):
        slope, base = ratio.slopes(level)
        worth = (slope + base) * hits + base * alarms
        found: Integers = np.concatenate(
            [
                (sliding_window_view(worth, w + 1, axis=1).argmax(axis=2)).T
                + np.arange(GRID - w)[:, None]
                for w in widths
            ]
        )
        found = np.unique(found, axis=0)
        tp, fp = hits[places, found].sum(axis=1), alarms[places, found].sum(axis=1)
        score = np.where(passes(rates[found]), ratio.value(tp, tp + fp), -np.inf)
        order = np.argsort(-score, kind="stable")[:KEPT]
        best = rates[found[order]][np.isfinite(score[order])]
        if not len(best) or abs(score[order[0]] - level) < 1e-9:
            break
        level = float(score[order[0]])
    return best
