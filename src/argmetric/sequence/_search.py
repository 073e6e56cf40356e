"""Decoding of all other utilities: search, with bounds that may prove the result."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from argmetric._input.types import Floats, Integers
from argmetric.metrics import Metric
from argmetric.sequence._exact import count_laws, largest, most_probable
from argmetric.sequence._expectation import expected
from argmetric.sequence._models import Chain
from argmetric.sequence._utilities import CountUtility, SimpleFunction

ALL_COUNTS = 12  # lengths up to which all hypotheses are tried
ALL_OTHERS = 9
CERTIFIED = 300  # lengths up to which the optimum is bounded
WIDTH = 64  # of the beam that a hypothesis has to pass before it is evaluated
CLOSED = 1e-9


@dataclass(frozen=True, eq=False)
class Found:
    """The best labels seen, and a bound on what any labels can reach."""

    labels: Integers
    expected: float
    bound: float
    exhaustive: bool = False


def search(function: SimpleFunction, chain: Chain, budget: int) -> Found:
    """Try all hypotheses if they are few; else bounds by size, then a local search."""
    n = chain.n
    counts = function.counts if isinstance(function, CountUtility) else None
    if counts is not None and n <= ALL_COUNTS:
        return _all_counts(counts, chain)
    judge = _Judge(function, chain, budget)
    if n <= ALL_OTHERS:
        for code in range(1 << n):
            judge.offer(code >> np.arange(n)[::-1] & 1, sure=True)
        return Found(judge.labels, judge.value, judge.value, exhaustive=True)
    bound = judge.sign * math.inf
    if counts is not None and n <= CERTIFIED and not math.isnan(counts.zero_division):
        bounds, candidates = size_bounds(counts, chain)
        for k in np.argsort(-bounds).tolist():
            if bounds[k] <= judge.gain + CLOSED:
                break  # no set of this size, or of those that follow, is better
            judge.offer(candidates[k], sure=True)
        judge.climb(np.flatnonzero(bounds > judge.gain + CLOSED).size > 0)
        bound = judge.sign * max(float(bounds.max()), judge.gain)
        if not (bounds > judge.gain + CLOSED).any():
            bound = judge.value
    else:
        marginals = chain.marginals()
        for start in (most_probable(chain), (marginals > 0.5).astype(np.int64)):
            judge.offer(start)
        order = np.argsort(-marginals, kind="stable")
        for k in np.unique(np.linspace(0, n, min(n + 1, 33)).astype(int)).tolist():
            labels = np.zeros(n, dtype=np.int64)
            labels[order[:k]] = 1
            judge.offer(labels)
        judge.climb(True)
        low, high = function.bounds(judge.labels)
        best_possible = high if judge.sign > 0 else low
        if judge.gain >= judge.sign * best_possible - CLOSED:
            bound = judge.value
    return Found(judge.labels, judge.value, bound)


class _Judge:
    """Keeps the best hypothesis; a beam turns most others away before they cost."""

    def __init__(self, function: SimpleFunction, chain: Chain, budget: int) -> None:
        self.function, self.chain, self.left = function, chain, budget
        self.sign = 1.0 if function.greater_is_better else -1.0
        self.labels = np.zeros(chain.n, dtype=np.int64)
        self.gain = -math.inf

    @property
    def value(self) -> float:
        """Expected utility of the best hypothesis; nan if none is defined."""
        return self.sign * self.gain if self.gain > -math.inf else math.nan

    def offer(self, labels: Integers, *, sure: bool = False) -> bool:
        """Whether these labels are better than the best ones so far."""
        self.left -= 1
        if not sure and math.isfinite(self.gain):
            rough = expected(self.function, labels, self.chain, WIDTH)
            hope = rough.upper if self.sign > 0 else -rough.lower
            if hope <= self.gain:
                return False
        gain = self.sign * expected(self.function, labels, self.chain).value
        margin = 1e-12 * abs(self.gain) if math.isfinite(self.gain) else 0.0
        if math.isnan(gain) or gain <= self.gain + margin:
            return False
        self.labels, self.gain = labels.copy(), gain
        return True

    def climb(self, worthwhile: bool) -> None:
        """Flip and move single labels as long as that helps and the budget lasts."""
        n = self.chain.n
        better = worthwhile
        while better and self.left > 0:
            better = False
            for i in range(n):
                for j in (i, i + 1):
                    if self.left <= 0:
                        return
                    trial = self.labels.copy()
                    trial[i] ^= 1
                    if j != i and j < n:
                        trial[j] ^= 1
                    better = self.offer(trial) or better


def _all_counts(metric: Metric, chain: Chain) -> Found:
    """Every hypothesis against every outcome, as tables of counts."""
    from argmetric.sequence._segmentation import count_ones

    n = chain.n
    sign = 1.0 if metric.greater_is_better else -1.0
    law = chain.windows(n)[-1]
    codes = np.arange(1 << n)
    ones = count_ones(codes)
    best, value = 0, -math.inf
    for code in codes[np.argsort(ones, kind="stable")].tolist():
        hits, k = ones[codes & code], int(ones[code])
        joint = np.bincount(hits * (n + 1) + ones, law, minlength=(n + 1) ** 2)
        cells = np.flatnonzero(joint)
        values = metric.value(cells // (n + 1), k, cells % (n + 1), n)
        known = ~np.isnan(values)
        mass = joint[cells][known]
        if not mass.sum() > 0:
            continue
        gain = sign * float(mass @ values[known] / mass.sum())
        if gain > value + 1e-12 * abs(value if math.isfinite(value) else 0.0):
            best, value = code, gain
    labels = best >> np.arange(n)[::-1] & 1
    value = sign * value if value > -math.inf else math.nan
    return Found(labels, value, value, exhaustive=True)


def size_bounds(metric: Metric, chain: Chain) -> tuple[Floats, list[Integers]]:
    """For every k: no k labels have a higher expected metric; and k good labels.

    An affine function of tp that lies above the metric is maximised exactly. Its slope
    at (k, s) is that of the chord, then that around the expected tp of the labels
    found; the least of the bounds holds. For a metric that is minimised the signs are
    turned.
    """
    n = chain.n
    joint, law = count_laws(chain, metric.name)
    sign = 1.0 if metric.greater_is_better else -1.0
    bounds, candidates = np.empty(n + 1), []
    tp, s = np.arange(n + 1)[None, :], np.arange(n + 1)[:, None]
    rows = np.arange(n + 1)
    for k in range(n + 1):
        low, high = np.maximum(0, k + rows - n), np.minimum(k, rows)
        inside = (tp >= low[:, None]) & (tp <= high[:, None])
        values = sign * metric.value(np.clip(tp, low[:, None], high[:, None]), k, s, n)
        start, stop = low, high
        bounds[k] = math.inf
        for _ in range(3):
            rise = values[rows, stop] - values[rows, start]
            slope = rise / np.maximum(stop - start, 1)
            lifted = np.where(inside, values - slope[:, None] * tp, -math.inf)
            offset = lifted.max(axis=1)
            gains = joint @ slope
            labels = largest(gains, k)
            bound = float(gains[labels == 1].sum() + offset @ law)
            if bound < bounds[k]:
                bounds[k], best = bound, labels
            hits = joint[labels == 1].sum(axis=0)
            mean = np.divide(hits, law, out=np.zeros(n + 1), where=law > 0)
            start = np.clip(np.floor(mean).astype(np.int64), low, high)
            stop = np.clip(start + 1, low, high)
        candidates.append(best)
    return bounds, candidates
