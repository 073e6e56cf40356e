"""The best k of any metric: a rough curve of few values, and exact sums on its top.

Three points carry the first five moments of a law, so that nine values of the metric
tell E_k roughly. How roughly is measured: at some k the sum is also taken over the
whole laws. A k is left out only where its rough value stays below the best exact one by
more than a multiple of the largest error seen; every other k is summed exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType

import numpy as np

from argmetric._expected._general import (
    ROUGH,
    SAFETY,
    SWITCH,
    TOLERANCE,
)
from argmetric._expected._hermite import MAX_NODES, points_and_weights
from argmetric._expected._tables import refuse_infinite
from argmetric._segments import Segments
from argmetric._types import Booleans, Floats, Integers
from argmetric.metrics import Metric

TIE = 1e-12  # values this close, relatively, are ties: the smaller k wins
PROBES = 1  # counts of a segment at which the error is looked at, besides the ends
FEWEST = 12  # of all segments
CELLS = 1 << 14  # values that are summed at a time: they stay in the cache
PLACES = 4097  # whose rough values are made at a time: all of one small vector
NEAR = 1  # counts on either side of the best that are always looked at
SPREAD = (math.sqrt(5) - 1) / 2  # of the probes over the groups
OPEN = 0.5  # share of the counts past which the whole curve is quicker


@dataclass(frozen=True)
class Pairs:
    """Counts of segments at which sums are taken, in ascending order, and places."""

    group: Integers
    count: Integers
    place: Integers

    @classmethod
    def at(cls, segments: Segments, place: Integers) -> Pairs:
        starts = segments.indptr[:-1] + np.arange(segments.n_segments)
        group = np.searchsorted(starts, place, side="right") - 1
        return cls(group, place - starts[group], place)


@dataclass(frozen=True)
class Laws:
    """Points and weights of one law per pair, from `start` on, and the mass left out.

    Where it is smooth a law is a quadrature from its cumulants, else it is whole.
    """

    points: Floats
    weights: Floats
    start: Integers
    length: Integers
    dropped: Floats
    smooth: Booleans
    cumulants: Floats  # of the smooth ones, by columns

    def put_nodes(self, n_nodes: int) -> None:
        """So many points for the smooth laws."""
        if self.smooth.any():
            at = self.start[self.smooth] + np.arange(n_nodes)[:, None]
            found = points_and_weights(self.cumulants, n_nodes)
            self.points[at], self.weights[at] = found
            self.length[self.smooth] = n_nodes

    def of(self, chosen: Integers) -> tuple[Floats, Floats, Integers, Integers]:
        return self.points, self.weights, self.start[chosen], self.length[chosen]


@dataclass(frozen=True)
class Screen:
    """Segments on which the best k of a metric is looked for."""

    segments: Segments
    metric: Metric
    backend: ModuleType
    few: Floats  # expected positives, or negatives where they are the fewer
    variance: Floats

    @classmethod
    def of(cls, segments: Segments, metric: Metric, backend: ModuleType) -> Screen:
        moments = np.empty((segments.n_segments, 4))
        backend.segment_moments(segments.p, segments.q, segments.indptr, moments)
        mean, variance = moments[:, 0], moments[:, 1]
        few = np.minimum(mean, segments.sizes - mean)
        return cls(segments, metric, backend, few, variance)

    @property
    def tolerance(self) -> Floats:
        """Chances below it are trimmed; rare outcomes may be all that counts."""
        return TOLERANCE * np.clip(self.few, 1e-280, 1.0)

    def rough_values(self) -> tuple[Floats, Floats]:
        """E_k at every place from three points on either side, and from two.

        Nan where the metric is not defined at any of them.
        """
        segments = self.segments
        out, other = segments.empty_curves(), segments.empty_curves()
        room = min(PLACES, out.size)
        at, sums = np.zeros(2, dtype=np.int64), np.zeros((3, 5))
        counts, points = np.empty((3, room)), np.empty((2, 5, room))
        weights, first = np.empty_like(points), 0
        while first < out.size:
            arguments = segments.p, segments.q, segments.indptr, at, sums, counts
            used = self.backend.rough_laws(*arguments, points, weights)
            group, k = counts[0, :used].astype(np.int64), counts[1, :used]
            n = segments.sizes[group].astype(np.float64)
            for rows, values in ((slice(3), out), (slice(3, 5), other)):
                hits = points[0, rows, None, :used]
                t = hits + points[1, None, rows, :used]
                chance = weights[0, rows, None, :used] * weights[1, None, rows, :used]
                found = self.metric.value(hits, k, t, n)
                values[first : first + used] = mean_defined(found, chance, over_points)
            first += used
        return out, other

    def sums_at(self, pairs: Pairs) -> tuple[Floats, Floats, Floats]:
        """E_k at some places over the whole laws, and the mass that was left out.

        And how much the sums change with fewer points where a law is a quadrature.
        """
        hits, misses = (self.laws(pairs, mirrored=side) for side in (False, True))
        values = self.cell_sums(pairs, hits, misses, np.arange(pairs.count.size))
        tolerance = self.tolerance[pairs.group]
        dropped = hits.dropped + misses.dropped
        dropped += tolerance * hits.length * misses.length
        change = np.zeros(values.size)
        smooth = np.flatnonzero(hits.smooth | misses.smooth)
        for n_nodes in (MAX_NODES - 1, MAX_NODES - 2) if smooth.size else ():
            hits.put_nodes(n_nodes)
            misses.put_nodes(n_nodes)
            fewer = self.cell_sums(pairs, hits, misses, smooth)
            gap = np.abs(fewer - values[smooth])
            change[smooth] = np.fmax(change[smooth], gap)
        return values, dropped, change

    def cell_sums(
        self, pairs: Pairs, hits: Laws, misses: Laws, chosen: Integers
    ) -> Floats:
        """E_k of the chosen pairs, a block of cells after the other."""
        group = pairs.group[chosen]
        k = pairs.count[chosen].astype(np.float64)
        n = self.segments.sizes[group].astype(np.float64)
        laws = (*hits.of(chosen), *misses.of(chosen), self.tolerance[group])
        most = int((hits.length[chosen] * misses.length[chosen]).max())
        tp, t, chance = np.empty((3, max(CELLS, most)))
        ends = np.empty(k.size + 1, dtype=np.int64)
        out, first = np.empty(k.size), 0
        while first < k.size:
            last = self.backend.fill_cells(first, *laws, tp, t, chance, ends)
            cells = np.diff(ends[first : last + 1])
            part, used = slice(first, last), int(ends[last])
            many_k, many_n = np.repeat(k[part], cells), np.repeat(n[part], cells)
            values = self.metric.value(tp[:used], many_k, t[:used], many_n)
            refuse_infinite(values, self.metric)
            added = partial(np.add.reduceat, indices=ends[part])
            out[part] = mean_defined(values, chance[:used], added)
            first = last
        return out

    def laws(self, pairs: Pairs, *, mirrored: bool) -> Laws:
        """Of the hits, or of the misses, which grow from the other end."""
        segments = self.segments
        p, q, indptr = segments.p, segments.q, segments.indptr
        group, count, tolerance = pairs.group, pairs.count, self.tolerance
        variance = self.variance[group]
        if mirrored:
            p, q = (np.ascontiguousarray(x[::-1]) for x in (p, q))
            indptr = p.size - indptr[::-1]
            count = (segments.lengths[group] - count)[::-1]
            group, variance = segments.n_segments - 1 - group[::-1], variance[::-1]
            tolerance = np.ascontiguousarray(tolerance[::-1])
        cumulants = np.empty((MAX_NODES - 1, count.size))
        smooth = variance >= SWITCH
        if smooth.any():
            self.backend.cumulants_at(p, q, indptr, group, count, cumulants)
            variance = cumulants[1]
            smooth = variance >= SWITCH
        width = np.minimum(count + 1, (20.0 * np.sqrt(variance)).astype(int) + 64)
        length = np.where(smooth, MAX_NODES, width)
        start = np.cumsum(length) - length
        points, weights = np.zeros((2, int(length.sum())))
        whole, dropped = np.flatnonzero(~smooth), np.zeros(count.size)
        found = np.empty(whole.size, dtype=np.int64), np.empty(whole.size)
        asked = group[whole], count[whole], tolerance, start[whole]
        self.backend.laws_at(p, q, indptr, *asked, points, weights, *found)
        length[whole], dropped[whole] = found
        turn = -1 if mirrored else 1
        laws = Laws(
            points,
            weights,
            start[::turn],
            length[::turn],
            dropped[::turn],
            smooth[::turn],
            cumulants[:, ::turn][:, smooth[::turn]],
        )
        laws.put_nodes(MAX_NODES)
        return laws


def over_points(terms: Floats) -> Floats:
    return np.asarray(terms.sum(axis=(0, 1)))


def mean_defined(
    values: Floats, chance: Floats, added: Callable[[Floats], Floats]
) -> Floats:
    """E[value | defined], nan where never; `added` takes the sums.

    An infinity between two counts is none of the metric's.
    """
    undefined = ~np.isfinite(values)
    if not undefined.any():
        return added(values * chance)
    chance = np.where(undefined, 0.0, chance)
    mass = added(chance)
    total = added(np.where(undefined, 0.0, values) * chance)
    return total / np.where(mass > 1e-300, mass, math.nan)


class Search:
    """What is known of the curves while the best counts are looked for.

    All values have the sign with which more is better.
    """

    def __init__(
        self,
        screen: Screen,
        low: Integers,
        high: Integers,
        floor: Floats,
    ) -> None:
        self.screen, self.low, self.high, self.floor = screen, low, high, floor
        segments = screen.segments
        count = segments.n_segments
        self.sign = 1.0 if screen.metric.greater_is_better else -1.0
        rough, other = screen.rough_values()
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
        lengths = self.screen.segments.lengths
        while True:
            bar = self.top - np.maximum(TIE * np.abs(self.top), self.floor)
            reach = np.where(np.isfinite(bar), bar - SAFETY * self.gap, -math.inf)
            wanted = ~(self.rough + self.doubt < reach[self.owner])
            wanted[self.around(self.best(self.exact))] = True
            wanted &= self.open
            count = np.add.reduceat(wanted, self.starts, dtype=np.int64)
            self.settled &= count <= OPEN * lengths
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
        near = k[:, None] + np.arange(-NEAR, NEAR + 1)
        last = self.screen.segments.lengths[:, None]
        return np.asarray(self.starts[:, None] + np.clip(near, 0, last))

    def best(self, values: Floats) -> Integers:
        """Best counts of those with a value."""
        best = np.zeros(self.low.size, dtype=np.int64)
        indptr = self.screen.segments.indptr
        self.screen.backend.choose(
            values, indptr, self.low, self.high, 1.0, self.floor, best
        )
        return best

    def see(self, place: Integers) -> None:
        """Take the sums over the whole laws."""
        pairs = Pairs.at(self.screen.segments, place)
        values, dropped, change = self.screen.sums_at(pairs)
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
    backend: ModuleType,
) -> tuple[Floats, Floats, Booleans]:
    """Curves of which only those counts are known that can be the best, else nan.

    And the error of every segment, and which segments were settled. The value at
    `extra` is known too.
    """
    search = Search(Screen.of(segments, metric, backend), low, high, floor)
    search.run(extra)
    if math.isnan(metric.zero_division):
        # The outcomes that count may be rare: their laws need more than is kept here.
        search.settled &= search.screen.few >= 1.0
    errors = search.dropped + segments.lengths * 2.0**-53
    return (
        search.sign * search.exact,
        search.size * errors + search.estimate,
        search.settled,
    )
