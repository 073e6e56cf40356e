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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from argmetric._ground.types import Booleans, Floats, Integers

SPENT = {"recall": 0.1, "selection_rate": 0.25}  # of the certifying rows, to choose
GRID = 401  # rates that are looked at
WIDTHS = 17  # widths of windows between 0 and the gap
KEPT = 40  # candidates whose exact probability is computed, best first
MOST_ODDS = 1e3  # of a row that stands for positives
STEPS = 12  # of Dinkelbach's iteration
NODES, WEIGHTS = (
    (x + shift) / 2.0
    for x, shift in zip(np.polynomial.legendre.leggauss(96), (1.0, 0.0), strict=True)
)


def gap_probability(ranks: Sequence[int], sizes: Sequence[int], gap: float) -> float:
    """Return P(max - min of the rates <= gap) for cuts of these ranks, by quadrature.

    Rank 0 selects nothing and has the rate 0; rank n + 1 selects all, with the rate 1.
    """
    from scipy.special import betainc, betaincinv

    shapes = [(k, n + 1 - k) for k, n in zip(ranks, sizes, strict=True)]
    drawn = [one for one in shapes if min(one) > 0]
    none, every = (any(one[i] <= 0 for one in shapes) for i in (0, 1))
    if none or every:  # the others are within the gap of an end
        ends = [betainc(*(one if none else one[::-1]), gap) for one in drawn]
        return 0.0 if none and every else float(np.prod(ends))
    total = 0.0
    for g, own in enumerate(drawn):
        x = betaincinv(*own, NODES)
        top = np.minimum(x + gap, 1.0)
        others = [*drawn[:g], *drawn[g + 1 :]]
        within = [betainc(*one, top) - betainc(*one, x) for one in others]
        total += float(np.prod(within, axis=0) @ WEIGHTS)
    return total


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
    """Return by which factor more certifying rows would prove one rate for all."""
    low, high = 1.0, 2.0**20

    def enough(factor: float) -> bool:
        more = [max(round(n * factor), 1) for n in sizes]
        ranks = [round(rate * (n + 1)) for n in more]
        return gap_probability(ranks, more, gap) >= confidence

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


def observed_curve(scores: Floats, positive: Booleans, *, recall: bool) -> GroupCurve:
    """Return proportions of positives and negatives above the cut of each rate."""
    rates = np.linspace(0.0, 1.0, GRID)
    base = np.sort(scores[positive] if recall else scores)[::-1]
    places = np.clip(rates * (base.size + 1), 1, base.size) - 1
    cut = np.interp(places, np.arange(base.size), base)
    above = [
        1.0 - np.searchsorted(np.sort(part), cut) / max(part.size, 1)
        for part in (scores[positive], scores[~positive])
    ]
    for one in above:
        one[0], one[-1] = 0.0, 1.0
    return GroupCurve(rates if recall else above[0], above[1])


def tilted_curve(negatives: Floats, power: float) -> GroupCurve:
    """Return the curve of recall from negatives alone.

    Positives have the distribution of the negatives times (p / (1 - p)) ** power.
    """
    p, rates = np.sort(negatives)[::-1], np.linspace(0.0, 1.0, GRID)
    odds = np.minimum((p / np.maximum(1.0 - p, 1e-9)) ** power, MOST_ODDS)
    caught = np.append(0.0, np.cumsum(odds)) / max(odds.sum(), 1e-300)
    return GroupCurve(rates, np.interp(rates, caught, np.arange(p.size + 1) / p.size))


def odds_power(p: Floats, positive: Booleans) -> float:
    """Return the slope of a logistic regression on log-odds: 1 for calibrated p."""
    x = np.log(np.clip(p, 1e-9, 1.0) / np.clip(1.0 - p, 1e-9, 1.0))
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
