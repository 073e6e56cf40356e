"""The best k of any metric: a rough curve of few values, and exact sums on its top.

Three points carry the first five moments of a law, so that nine values of the metric
tell E_k roughly. How roughly is measured: at some k the sum is also taken over the
whole laws. A k is left out only where its rough value stays below the best exact one by
more than a multiple of the largest error seen; every other k is summed exactly.
"""

from __future__ import annotations

import math

import numpy as np

from argmetric._expected import kernels
from argmetric._expected._sums import ROUGH, SAFETY, Pairs, Sums
from argmetric._expected.kernels.tolerances import TIE
from argmetric._input.segments import Segments
from argmetric._input.types import Booleans, Floats, Integers
from argmetric.metrics import Metric

PROBES = 1  # counts of a segment at which the error is looked at, besides the ends
FEWEST = 12  # of all segments
PLACES = 4097  # whose rough values are made at a time: all of one small vector
RULES = 9 + 4  # cells of three points on either side, and of two
NEIGHBOURS = 1  # counts on either side of the best that are always looked at
SPREAD = (math.sqrt(5) - 1) / 2  # of the probes over the groups
MAX_OPEN_SHARE = 0.5  # share of the counts past which the whole curve is quicker


def rough_values(sums: Sums) -> tuple[Floats, Floats]:
    """E_k at every place from three points on either side, and from two.

    Nan where the metric is not defined at any of them.
    """
    segments = sums.segments
    out, other = segments.empty_curves(), segments.empty_curves()
    room = min(PLACES, out.size)
    at, totals = np.zeros(2, dtype=np.int64), np.zeros((3, 5))
    counts, points = np.empty((3, room)), np.empty((2, 5, room))
    weights, first = np.empty_like(points), 0
    cells = np.empty((2, RULES * room))
    while first < out.size:
        arguments = segments.p, segments.q, segments.indptr, at, totals, counts
        used = kernels.rough_laws(*arguments, points, weights)
        tp, t = (x[: RULES * used].reshape(RULES, used) for x in cells)
        kernels.rough_cells(points, tp, t)
        n = segments.sizes[counts[0, :used].astype(np.int64)].astype(np.float64)
        values = sums.metric.value(tp, counts[1, :used], t, n)
        place = slice(first, first + used)
        values = np.ascontiguousarray(values)
        kernels.rough_sums(values, weights, out[place], other[place])
        first += used
    return out, other


class ScreenedSearch:
    """What is known of the curves while the best counts are looked for.

    All values have the sign with which more is better.
    """

    def __init__(
        self,
        sums: Sums,
        low: Integers,
        high: Integers,
        floor: Floats,
    ) -> None:
        self.sums, self.low, self.high, self.floor = sums, low, high, floor
        segments = sums.segments
        count = segments.n_segments
        self.sign = 1.0 if sums.metric.greater_is_better else -1.0
        rough, other = rough_values(sums)
        self.rough = self.sign * rough
        # What the error of the rough value may be at this k: more, as a rule.
        self.doubt = np.abs(rough - other)
        self.exact = np.full(self.rough.size, math.nan)
        self.starts = segments.indptr[:-1] + np.arange(count)
        self.owner = np.repeat(np.arange(count), segments.lengths + 1)
        k = np.arange(self.rough.size) - self.starts[self.owner]
        self.open = (k >= low[self.owner]) & (k <= high[self.owner])
        self.settled = np.ones(count, dtype=bool)
        self.top = np.full(count, -math.inf)
        # Largest error of the rough values, of the quadrature, and mass left out.
        self.gap, self.estimate, self.dropped = np.zeros((3, count))
        self.size = np.ones(count)

    def run(self, extra: Integers) -> None:
        """Look at the first places, then wherever the best can be."""
        self.see(self.first_places(extra))
        lengths = self.sums.segments.lengths
        while True:
            bar = self.top - np.maximum(TIE * np.abs(self.top), self.floor)
            reach = np.where(np.isfinite(bar), bar - SAFETY * self.gap, -math.inf)
            wanted = ~(self.rough + self.doubt < reach[self.owner])
            wanted[self.around(self.best(self.exact))] = True
            wanted &= self.open
            count = np.add.reduceat(wanted, self.starts, dtype=np.int64)
            self.settled &= count <= MAX_OPEN_SHARE * lengths
            wanted &= self.settled[self.owner]
            if not wanted.any():
                break
            self.see(np.flatnonzero(wanted))
        self.settled &= (self.estimate <= ROUGH * self.size) & np.isfinite(self.top)

    def first_places(self, extra: Integers) -> Integers:
        """The ends, `extra`, the best by the rough values, and some spread over all."""
        count = extra.size
        n_probes = max(PROBES, math.ceil(FEWEST / count))
        turns = np.arange(1, count + 1)[:, None] * SPREAD
        share = (turns + np.arange(n_probes) / n_probes) % 1.0
        width = (self.high - self.low)[:, None]
        some = self.low[:, None] + (share * width).astype(np.int64)
        ends = np.stack([self.low, self.high, extra], axis=1)
        known = self.starts[:, None] + np.concatenate([ends, some], axis=1)
        best = self.around(self.best(self.rough))
        return np.unique(np.concatenate([known, best], axis=1))

    def around(self, k: Integers) -> Integers:
        """Places of counts and their neighbours, a row per segment."""
        near = k[:, None] + np.arange(-NEIGHBOURS, NEIGHBOURS + 1)
        last = self.sums.segments.lengths[:, None]
        return np.asarray(self.starts[:, None] + np.clip(near, 0, last))

    def best(self, values: Floats) -> Integers:
        """Best counts of those with a value."""
        best = np.zeros(self.low.size, dtype=np.int64)
        indptr = self.sums.segments.indptr
        kernels.choose(values, indptr, self.low, self.high, 1.0, self.floor, best)
        return best

    def see(self, place: Integers) -> None:
        """Take the sums over the whole laws."""
        pairs = Pairs.at(self.sums.segments, place)
        values, dropped, change = self.sums.probed_values(pairs)
        values *= self.sign
        group, inside = pairs.group, self.open[place]
        np.fmax.at(self.gap, group, np.abs(values - self.rough[place]))
        np.fmax.at(self.size, group, np.abs(values))
        np.maximum.at(self.dropped, group, dropped)
        np.fmax.at(self.estimate, group, SAFETY * change)
        np.fmax.at(self.top, group[inside], values[inside])
        self.exact[place], self.open[place] = values, False


def search_any(
    segments: Segments,
    metric: Metric,
    low: Integers,
    high: Integers,
    floor: Floats,
    extra: Integers,
) -> tuple[Floats, Floats, Booleans]:
    """Curves of which only those counts are known that can be the best, else nan.

    And the error of every segment, and which segments were settled. The value at
    `extra` is known too.
    """
    search = ScreenedSearch(Sums.of(segments, metric), low, high, floor)
    search.run(extra)
    if math.isnan(metric.zero_division):
        # The outcomes that count may be rare: their laws need more than is kept here.
        search.settled &= search.sums.few >= 1.0
    errors = search.dropped + segments.lengths * 2.0**-53
    return (
        search.sign * search.exact,
        search.size * errors + search.estimate,
        search.settled,
    )
