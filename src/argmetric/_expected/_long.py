"""Best number of positives k of one long vector, without sorting it.

A histogram of p gives the sums of powers above every edge, and with them E_k there
(`_powers`). As a false alarm never helps, no k within a bin can be worth more than the
hits of its end with the count of its beginning. Only the bins that can hold the best
k are evaluated again, with finer bins; in the end so few items are left that they are
sorted, and E_k is taken at each of them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from argmetric._expected._powers import (
    FEW_HITS,
    RELATIVE_ERROR,
    TOTAL_TERMS,
    Evaluator,
    make_evaluator,
)
from argmetric._expected.kernels.tolerances import TIE
from argmetric._ground.types import Floats, Integers
from argmetric.metrics import Metric

N_SUMS = 5  # that are kept of a bin
MOST_AT_ONCE = 1 << 31  # items whose sums are whole numbers of 64 bits
MOST_COUNTS = 1 << 15  # evaluated one by one; with more the curve is no slower


class BestCount(NamedTuple):
    """Best k, its expected metric, that of the cut at 0.5, and scores at the best cut.

    `upper` is the lowest score that is predicted, `lower` the highest that is not.
    """

    best: int
    expected: float
    error: float
    n_half: int
    at_half: float
    upper: float
    lower: float
    lost: float = 0.0  # by splitting no tie


class Items(ABC):
    """Probabilities in memory or elsewhere; nothing depends on their order."""

    size: int

    @abstractmethod
    def sums(self, low: float, scale: float, bins: int) -> Integers:
        """Return exact sums within bins of width 1/scale, from `low` on."""

    @abstractmethod
    def within(self, low: float, high: float, count: int) -> Items:
        """Return the items in [low, high); `count` is their known number."""

    @abstractmethod
    def counted(self, low: float, high: float, count: int) -> RankedItems:
        """Return distinct items in [low, high) and their counts.

        Their total number `count` is known.
        """

    @abstractmethod
    def largest_below(self, edge: float) -> float:
        """Return the largest item below `edge`; -inf if there is none."""

    @abstractmethod
    def smallest(self) -> float:
        """Return the smallest item."""

    @abstractmethod
    def n_possible(self) -> int:
        """Return the number of items with p > 0."""

    def from_half(self) -> Items | None:
        """Return the items with a raw score of at least 1/2; None if p is raw."""
        return None

    def moments(self, low: float, scale: float, bins: int) -> Floats:
        """Return moments 0 … 3 of positions within the bins, in [-1/2, 1/2]."""
        count, coarse, fine, square, cube = self.sums(low, scale, bins).T.astype(float)
        middle = coarse * 2.0**-22 + fine * 2.0**-53
        return np.stack([count, middle, square * 2.0**-32, cube * 2.0**-32], axis=1)


class Array(Items):
    """A vector in memory."""

    def __init__(self, p: Floats, given: Floats | None = None) -> None:
        self.p, self.size = p, p.size
        self.given = given  # the scores before a calibrator, where there is one

    def sums(self, low: float, scale: float, bins: int) -> Integers:
        return sums_in_bins(self.p, low, scale, bins)

    def within(self, low: float, high: float, count: int) -> Array:
        """Return the items p with low ≤ p < high, of which there are `count`."""
        from argmetric._expected.kernels.segments import take_range

        out = np.empty(count + 1)
        take_range(self.p, low, high, out)
        return Array(out[:count])

    def counted(self, low: float, high: float, count: int) -> RankedItems:
        return RankedItems.of(
            *np.unique(self.within(low, high, count).p, return_counts=True)
        )

    def largest_below(self, edge: float) -> float:
        return float(self.p[self.p < edge].max(initial=-np.inf))

    def smallest(self) -> float:
        return float(self.p.min())

    def n_possible(self) -> int:
        return int(np.count_nonzero(self.p))

    def from_half(self) -> Array | None:
        return None if self.given is None else Array(self.p[self.given >= 0.5])


@dataclass(frozen=True)
class RankedItems:
    """Distinct values in descending order, and how many items have at least each."""

    values: Floats
    ends: Integers

    @classmethod
    def of(cls, values: Floats, counts: Integers) -> RankedItems:
        """Return the ranked items of ascending values."""
        return cls(values[::-1].copy(), np.cumsum(counts[::-1]))

    @property
    def size(self) -> int:
        return int(self.ends[-1]) if self.ends.size else 0

    def part(self, first: int, last: int) -> Floats:
        """Return the items at positions first … last - 1."""
        places = np.arange(first, last)
        return self.values[np.searchsorted(self.ends, places, side="right")]

    def sums_before(self, place: int, terms: int) -> Floats:
        """Return sums of powers 1 … terms of the first items, as a column."""
        counts = np.diff(np.minimum(self.ends, place), prepend=0)
        whole = int(np.searchsorted(self.ends, place)) + 1
        powers = powers_of(self.values[:whole], terms)
        return np.asarray((powers * counts[:whole]).sum(axis=1, keepdims=True))


def sums_in_bins(p: Floats, low: float, scale: float, bins: int) -> Integers:
    """Count the p of each bin of width 1/scale, and sum powers of their places in it.

    Sums are whole numbers, of shape (bins, N_SUMS); see `kernels.segments.bin_sums`.
    """
    from argmetric._expected.kernels.segments import bin_sums

    sums = np.zeros((bins, N_SUMS), dtype=np.int64)
    for first in range(0, p.size, MOST_AT_ONCE):
        bin_sums(p[first : first + MOST_AT_ONCE], low, scale, sums)
        carry(sums)
    return sums


def carry(sums: Integers) -> None:
    """Carry the high bits of the sums that fill up first into the next ones."""
    sums[:, 1] += sums[:, 2] >> 31
    sums[:, 2] &= (1 << 31) - 1


def powers_of(items: Floats, terms: int) -> Floats:
    """Return powers 1 … terms of the items, one row each."""
    rows = np.empty((terms, items.size))
    rows[0] = items
    for r in range(1, terms):
        np.multiply(rows[r - 1], items, out=rows[r])
    return rows


def running_sums(rows: Floats) -> Floats:
    """Return cumulative sums of rows on two levels: equal items do not drift."""
    size = 64
    extra = -rows.shape[1] % size
    blocks = np.pad(rows, ((0, 0), (0, extra))).reshape(rows.shape[0], -1, size)
    sums = np.cumsum(blocks, axis=2)
    sums[:, 1:] += np.cumsum(sums[:, :-1, -1:], axis=1)
    return sums.reshape(rows.shape[0], -1)[:, : rows.shape[1]]


BINS = 4096
FIRST_BINS = 0.0, float(BINS), BINS + 1  # p = 1 has one for itself
STRIDE = 32  # bins taken together in a first look
PIECES = 1024  # into which the bins that are left are cut for a last look
MAX_SORTED_ITEMS = 1 << 14  # with more, finer bins come first
MAX_ITEMS_IN_BLOCK = 1 << 16  # sorted items that are evaluated at a time
APART = 16  # counts of which one bounds the others, before they are evaluated
LEVELS = 4
SLACK = 1e-11  # rounding of a bound


@dataclass(frozen=True)
class Edges:
    """Places between bins, descending: items above each, and their sums of powers."""

    at: Floats
    k: Floats
    sums: Floats

    def take(self, chosen: np.ndarray) -> Edges:
        return Edges(self.at[chosen], self.k[chosen], self.sums[:, chosen])


def choose_in_long(
    items: Items,
    metric: Metric,
    low: int,
    high: int,
    *,
    floor: float,
    max_candidates: int,
    whole: bool = False,
) -> BestCount | None:
    """Return the best k in low … high without sorting all items, or None.

    Items are read as histograms. Sums of p^r over the bins bound E[metric] at every k;
    counts that cannot be best are left out, the bins that remain are divided into
    finer ones, and the few items that are left in the end are sorted.

    Parameters
    ----------
    items : Items
        Probabilities in any order.
    low, high : int
        Least and largest number of predicted positives allowed.
    floor : float
        Values whose difference is below it count as equal.
    max_candidates : int
        The result is None if more than this many k may still be best.
    whole : bool
        Only counts that split no tie.
    """
    n, everything = items.size, items
    if low > high:
        return None
    moments = items.moments(*FIRST_BINS)
    edges = bin_edges(moments, 0.0, float(BINS), TOTAL_TERMS)
    total = edges.sums[:, -1]
    mean, squares = total[:2].tolist()
    largest = edges.at[np.argmax(edges.k > 0.0) - 1]
    evaluator = make_evaluator(metric, n, mean, mean - squares, min(largest, 1.0))
    if evaluator is None:
        return None
    evaluator.begin(total)
    edges = replace(edges, sums=edges.sums[: evaluator.terms])
    search = HistogramSearch(evaluator, n, low, high, floor)
    search.whole = whole
    value_at_cut_half = value_at_half(search, items, edges)
    if value_at_cut_half is None:
        return None
    remaining = search.narrow(edges)
    scale = float(BINS)
    for _ in range(LEVELS):
        first, last = remaining.first, remaining.last
        count = int(last.k - first.k)
        items = items.within(last.at, first.at, count)
        bins = round((first.at - last.at) * scale)
        if count <= MAX_SORTED_ITEMS or 2 * bins > BINS:
            break
        finer = 2 ** int(math.log2(BINS / bins))
        scale, bins = scale * finer, bins * finer
        moments = items.moments(last.at, scale, bins)
        inner = bin_edges(moments, last.at, scale, evaluator.terms)
        sums = inner.sums + first.sums
        remaining = search.narrow(Edges(inner.at, inner.k + first.k, sums))
    if remaining.most - remaining.least > max_candidates:
        return None
    first, last = remaining.first, remaining.last
    ranked = items.counted(last.at, first.at, int(last.k - first.k))
    return search.finish(everything, ranked, remaining, value_at_cut_half)


def bin_edges(moments: Floats, low: float, scale: float, terms: int) -> Edges:
    """Return sums of powers above all edges, from the moments within the bins.

    Of the power (c + f/scale)^r, c the middle of a bin, four terms are exact to
    rounding: f/scale is below 2^-13.
    """
    bins = moments.shape[0]
    moments = moments[::-1].T * scale ** -np.arange(4.0)[:, None]
    middle = low + (np.arange(bins)[::-1] + 0.5) / scale
    sums = np.zeros((terms, bins + 1))
    power = [np.zeros(bins), np.zeros(bins), np.zeros(bins), np.ones(bins)]
    for r in range(1, terms + 1):
        power = [*power[1:], power[-1] * middle]  # exponents r-3…r
        term = sum(math.comb(r, j) * power[3 - j] * moments[j] for j in range(4))
        np.cumsum(term, out=sums[r - 1, 1:])
    k = np.concatenate([[0.0], np.cumsum(moments[0])])
    at = low + np.arange(bins, -1, -1) / scale
    return Edges(at, k, sums)


@dataclass(frozen=True)
class Edge:
    """Edge between two bins: its p, and number and power sums of the items above."""

    at: float
    k: float
    sums: Floats  # one column


@dataclass(frozen=True)
class CandidateRange:
    """Range of the k that can be the best: least < k ≤ most, between two edges."""

    first: Edge
    last: Edge
    least: float
    most: float


class HistogramSearch:
    """Search over k: the best value so far, and bounds that exclude other counts k."""

    whole = False  # whether a count may split no tie; edges between bins split none

    def __init__(
        self, evaluator: Evaluator, n: int, low: int, high: int, floor: float
    ) -> None:
        self.evaluator, self.n, self.low, self.high = evaluator, n, low, high
        self.floor = floor
        self.ends = {0: evaluator.none_chosen(), n: evaluator.all_chosen()}
        allowed = [v for k, v in self.ends.items() if low <= k <= high]
        self.top = max([v for v in allowed if not math.isnan(v)], default=-math.inf)

    @property
    def bar(self) -> float:
        if math.isinf(self.top):
            return self.top
        return self.top - max(TIE * abs(self.top), self.floor)

    def narrow(self, edges: Edges) -> CandidateRange:
        """Exclude counts by bounds: between every 32nd edge, all edges, within bins."""
        fresh = np.flatnonzero(np.diff(edges.k, prepend=-1.0))
        valid = self.evaluator.valid(edges.k[fresh], edges.sums[:, fresh])
        valid[[0, -1]] = True
        edges = edges.take(fresh[valid])
        coarse = np.append(np.arange(0, edges.k.size - 1, STRIDE), edges.k.size - 1)
        some = edges.take(coarse)
        first, last = self._survivors(some.k, some.sums, some.sums)
        edges = edges.take(np.arange(coarse[first], coarse[last] + 1))
        first, last = self._survivors(edges.k, edges.sums, edges.sums)
        edges = edges.take(np.arange(first, last + 1))
        least, most = float(edges.k[0]), float(edges.k[-1])
        for _ in range(LEVELS):
            wide = most - least
            least, most = self._narrow_within_bins(edges, least, most)
            if most - least > wide / 2 or most - least < PIECES:
                break
        kept = [int(np.searchsorted(edges.k, least, side="right")) - 1]
        kept.append(int(np.searchsorted(edges.k, most)))
        ends = [
            Edge(float(edges.at[e]), float(edges.k[e]), edges.sums[:, [e]])
            for e in kept
        ]
        return CandidateRange(ends[0], ends[1], least, most)

    def _narrow_within_bins(
        self, edges: Edges, least: float, most: float
    ) -> tuple[float, float]:
        """Return a smaller range least < k ≤ most, from bounds at counts within bins.

        A bin has m items with p from l to u, and S = Σ p^r. Its d largest items sum to
        at least d/m·S, and to at most min(d·u^r, S - (m - d)·l^r). The counts at which
        these bounds are taken are denser near both ends of the range.
        """
        if edges.k.size < 2:
            return least, most
        near = 2.0 ** np.arange(math.log2(most - least) if most > least else 0)
        grid = np.linspace(least, most, PIECES).round()
        grid = np.concatenate([grid, least + near, most - near])
        grid = np.unique(
            np.concatenate([grid, edges.k[(edges.k > least) & (edges.k < most)]])
        )
        b = np.maximum(np.searchsorted(edges.k, grid), 1)
        done, size = grid - edges.k[b - 1], edges.k[b] - edges.k[b - 1]
        before, after = edges.sums[:, b - 1], edges.sums[:, b]
        r = np.arange(1, before.shape[0] + 1)[:, None]
        lower = before + (done / size) * (after - before)
        upper = np.minimum(
            before + done * edges.at[b - 1] ** r,
            after - (size - done) * edges.at[b] ** r,
        )
        at_edges = np.isin(grid, edges.k)
        first, last = self._survivors(grid, lower, upper, at_edges)
        return float(grid[first]), float(grid[last])

    def _survivors(
        self, k: Floats, lower: Floats, upper: Floats, is_whole: Any = True
    ) -> tuple[int, int]:
        """Return the first and last position in k that can be best.

        `lower` and `upper` bound the sums of p^r over the k largest items; `is_whole`
        marks the k that split no tie.
        """
        if k.size < 2:
            return 0, k.size - 1
        inner = (k >= max(self.low, 1)) & (k <= min(self.high, self.n - 1))
        inner &= self.evaluator.valid(k, lower)
        if self.whole:
            inner &= is_whole
        if inner.any():
            values = self.evaluator.values(k[inner], lower[:, inner])
            self.top = max(self.top, float(values.max()))
        begin = np.clip(np.maximum(k[:-1] + 1.0, self.low), 1.0, self.n - 1.0)
        bound = self.evaluator.bounds(begin, k[1:], upper[:, 1:])
        alive = bound >= self.bar - SLACK * abs(self.top)
        alive &= (k[1:] >= self.low) & (k[:-1] < self.high)
        found = np.flatnonzero(alive)
        if not found.size:
            return 0, 0
        return int(found[0]), int(found[-1]) + 1

    def value(self, k: int, items: Floats | None, sums: Floats) -> float | None:
        """Return E at one k from sums of powers, or from `items`, or None."""
        if k in self.ends:
            return self.ends[k]
        if self.evaluator.valid(np.array([float(k)]), sums)[0]:
            return float(self.evaluator.values(np.array([float(k)]), sums)[0])
        return None if items is None else self.evaluator.at_few(k, items, sums[:, 0])

    def finish(
        self,
        items: Items,
        ranked: RankedItems,
        left: CandidateRange,
        half: tuple[int, float],
    ) -> BestCount | None:
        """Return the best of all remaining k, of k = 0 and of k = n."""
        begin = int(left.first.k)
        skip, stop = (int(k) - begin for k in (left.least, left.most))
        value = np.full(stop - skip, -np.inf)
        sums = left.first.sums + ranked.sums_before(skip, self.evaluator.terms)
        for first in range(skip, stop, MAX_ITEMS_IN_BLOCK):
            last = min(first + MAX_ITEMS_IN_BLOCK, stop)
            powers = powers_of(ranked.part(first, last), self.evaluator.terms)
            rows = sums + running_sums(powers)
            sums = rows[:, -1:]
            k = np.arange(begin + first + 1.0, begin + last + 1.0)
            inside = (k < self.n) & (k >= self.low) & (k <= self.high)
            if not self.evaluator.valid(k[inside], rows[:, inside]).all():
                return None
            some = np.append(np.arange(0, k.size - 1, APART), k.size - 1)
            is_whole = np.isin(k[some] - begin, ranked.ends)
            ends = self._survivors(k[some], rows[:, some], rows[:, some], is_whole)
            inside[: some[ends[0]]] = inside[some[ends[1]] + 1 :] = False
            found = self.evaluator.values(k[inside], rows[:, inside])
            value[first - skip : last - skip][inside] = found
        places = np.concatenate([[0], begin + np.arange(skip, stop) + 1, [self.n]])
        value = np.concatenate([[-np.inf], value, [-np.inf]])
        for place, count in ((0, 0), (-1, self.n)):
            if self.low <= count <= self.high and not math.isnan(self.ends[count]):
                value[place] = self.ends[count]
        free = float(value.max())
        if self.whole:
            value[1:-1][~np.isin(places[1:-1] - begin, ranked.ends)] = -np.inf
        self.top = float(value.max())
        if math.isinf(self.top):
            return None
        place = int(np.argmax(value >= self.bar))
        best, expected = int(places[place]), float(value[place])
        error = RELATIVE_ERROR * max(1.0, abs(expected))
        if 0 < best < self.n:
            before = ranked.sums_before(best - begin, self.evaluator.terms)
            sums = left.first.sums + before
            error = self.evaluator.error(expected, float(best), sums)
        upper, lower = cut_scores(items, ranked, best - begin, left.last.at, best)
        sign, (n_half, at_half) = self.evaluator.sign, half
        values = sign * expected, error, n_half, sign * at_half
        return BestCount(best, *values, upper, lower, free - self.top)


def value_at_half(
    search: HistogramSearch, items: Items, edges: Edges
) -> tuple[int, float] | None:
    """Return the number of scores of at least 1/2, and their expected metric."""
    chosen, least = items.from_half(), 0.0
    if chosen is None:
        chosen, least = items, 0.5
    else:
        moments = chosen.moments(*FIRST_BINS)
        edges = bin_edges(moments, 0.0, float(BINS), search.evaluator.terms)
    at = int(np.flatnonzero(edges.at == least)[0])
    n_half, sums = int(edges.k[at]), edges.sums[:, [at]]
    few = None
    if n_half <= FEW_HITS and not search.evaluator.valid(edges.k[[at]], sums)[0]:
        few = chosen.counted(least, 2.0, n_half).part(0, n_half)
    value = search.value(n_half, few, sums)
    return None if value is None else (n_half, value)


def cut_scores(
    items: Items, ranked: RankedItems, place: int, edge: float, best: int
) -> tuple[float, float]:
    """Return the scores of the last selected and of the first other item."""
    if best == 0:
        return math.inf, items.largest_below(math.inf)
    if best == items.size:
        return items.smallest(), -math.inf
    upper = float(ranked.part(place - 1, place)[0])
    if place < ranked.size:
        return upper, float(ranked.part(place, place + 1)[0])
    return upper, items.largest_below(edge)
