"""Any metric at some counts of segments: sums over the PMFs of hits and misses.

E_k = Σ_a Σ_r P(hits = a)·P(misses = r)·value(a, k, a+r, n). The hits are the positives
among the first k items, the misses those among the others. A PMF of small variance is
whole; beyond, a few points of a quadrature replace it. The metric is evaluated only at
pairs of counts that are likely enough, and segments of one size share its values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from argmetric._expected import kernels
from argmetric._expected._quadrature import MAX_NODES, cumulants_of, points_and_weights
from argmetric._expected._tables import refuse_infinite
from argmetric._expected.kernels.tolerances import TOLERANCE
from argmetric._expected.plan import QUADRATURE_VARIANCE, is_affordable
from argmetric._ground.groups import Segments
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric.metrics import Metric

# From these variances on so many points err by less than about 1e-12.
N_NODES = ((2e5, 3), (2e4, 4), (400.0, 5), (0.0, 8))
RARE = 1e-280  # for outcomes that are rare and yet the only ones that count
ROUGH = 1e-7  # an error from which a metric is too rough for quadrature
SAFETY = 4.0  # between the probes the error can be larger than at them
WORTH = 100.0  # tolerances: cells less likely are left out, and their mass is counted
CELLS = 1 << 15  # values that are needed at a time: they stay in the cache
ORDERS = MAX_NODES - 1
PROBED = (MAX_NODES, MAX_NODES - 1, MAX_NODES - 2)  # points that are compared
PIECE = 128  # counts
N_PROBES = 24  # places at which the error of the quadrature is evaluated
ROOM = 1 << 20  # points of PMFs that are kept at a time


@dataclass(frozen=True)
class Pairs:
    """Counts of segments at which sums are taken, in ascending order, and places."""

    group: Integers
    count: Integers
    place: Integers

    @classmethod
    def at(cls, segments: Segments, place: Integers) -> Pairs:
        group = np.searchsorted(segments.starts, place, side="right") - 1
        return cls(group, place - segments.starts[group], place)

    def again(self, chosen: Integers, times: int) -> Pairs:
        """Return all pairs, followed by the chosen ones repeated `times`."""
        every = np.concatenate([np.arange(self.count.size), *times * [chosen]])
        return Pairs(self.group[every], self.count[every], self.place[every])


@dataclass(frozen=True)
class PMFs:
    """Points and weights of one PMF per pair, from `start` on, and the mass left out.

    Where it is smooth a PMF is a quadrature from its cumulants, else it is whole.
    """

    table: Floats  # points, and weights
    start: Integers
    length: Integers
    dropped: Floats
    smooth: Booleans
    cumulants: Floats  # by columns; of the smooth ones at least

    @classmethod
    def of_nothing(cls, count: int) -> PMFs:
        """Return `count` PMFs of no item: certainly no positive."""
        start, length = np.zeros(count, dtype=np.int64), np.ones(count, dtype=np.int64)
        table = np.array([[0.0], [1.0]])
        smooth, cumulants = np.zeros(count, dtype=bool), np.zeros((ORDERS, count))
        return cls(table, start, length, np.zeros(count), smooth, cumulants)

    def take(self, chosen: Integers | slice) -> PMFs:
        parts = self.start[chosen], self.length[chosen], self.dropped[chosen]
        return PMFs(self.table, *parts, self.smooth[chosen], self.cumulants[:, chosen])

    def put_nodes(self) -> None:
        """Write quadrature points of each smooth PMF, as many as its variance needs."""
        smooth = np.flatnonzero(self.smooth)
        if not smooth.size:
            return
        variance = self.cumulants[1, smooth]
        above = math.inf
        for floor, nodes in N_NODES:
            some = smooth[(variance >= floor) & (variance < above)]
            above = floor
            if some.size:
                at = self.start[some] + np.arange(nodes)[:, None]
                found = points_and_weights(self.cumulants[:, some], nodes)
                self.table[0, at], self.table[1, at] = found
                self.length[some] = nodes

    def with_nodes(self, chosen: Integers, numbers: tuple[int, ...]) -> PMFs:
        """Return all PMFs, and the chosen ones again with other numbers of points."""
        smooth = np.flatnonzero(self.smooth[chosen])
        cumulants = self.cumulants[:, chosen[smooth]]
        tables, starts, lengths = [self.table], [self.start], [self.length]
        used = self.table.shape[1]
        for nodes in numbers:
            start, length = self.start[chosen], self.length[chosen]
            start[smooth] = used + nodes * np.arange(smooth.size)
            length[smooth] = nodes
            found = np.stack(points_and_weights(cumulants, nodes))
            tables.append(found.transpose(0, 2, 1).reshape(2, -1))
            starts.append(start)
            lengths.append(length)
            used += nodes * smooth.size
        again = np.concatenate([np.arange(self.start.size), *len(numbers) * [chosen]])
        return PMFs(
            np.concatenate(tables, axis=1),
            np.concatenate(starts),
            np.concatenate(lengths),
            self.dropped[again],
            self.smooth[again],
            self.cumulants[:, again],
        )


@dataclass(frozen=True)
class SegmentSums:
    """Segments with a metric, at some counts of which sums are taken.

    A segment may be a piece of a longer one: from its count `first` on, with the PMFs
    of the items before it and behind it as `seeds`.
    """

    segments: Segments
    metric: Metric
    few: Floats  # expected positives, or negatives where they are the fewer
    variance: Floats
    first: Integers
    seeds: tuple[PMFs, PMFs]
    switch: float = QUADRATURE_VARIANCE

    @classmethod
    def of(
        cls, segments: Segments, metric: Metric, switch: float = QUADRATURE_VARIANCE
    ) -> SegmentSums:
        """Return the sums of segments, with moments of their true positives."""
        count = segments.n_segments
        moments = np.empty((count, 4))
        kernels.segment_moments(segments.p, segments.q, segments.indptr, moments)
        mean, variance = moments[:, 0], moments[:, 1]
        few = np.minimum(mean, segments.sizes - mean)
        nothing = PMFs.of_nothing(count)
        first, seeds = np.zeros(count, dtype=np.int64), (nothing, nothing)
        return cls(segments, metric, few, variance, first, seeds, switch)

    @property
    def rare(self) -> Booleans:
        """Whether all defined outcomes may be rare, where 0/0 counts as nan."""
        return (self.few < 1.0) & math.isnan(self.metric.zero_division)

    @property
    def tolerance(self) -> Floats:
        """Probability of each segment below which PMFs are trimmed."""
        usual = TOLERANCE * np.clip(self.few, 1e-280, 1.0)
        return np.where(self.rare, RARE, usual)

    def pmfs(self, pairs: Pairs, *, mirrored: bool, moments: bool = False) -> PMFs:
        """Return PMFs of hits for (segment, k), or, `mirrored`, of misses."""
        segments, tolerance, rare = self.segments, self.tolerance, self.rare
        p, q, indptr = segments.p, segments.q, segments.indptr
        group, count, seeds = pairs.group, pairs.count, self.seeds[mirrored]
        if mirrored:
            p, q = (np.ascontiguousarray(x[::-1]) for x in (p, q))
            indptr = p.size - indptr[::-1]
            count = np.ascontiguousarray((segments.lengths[group] - count)[::-1])
            group = segments.n_segments - 1 - group[::-1]
            tolerance = np.ascontiguousarray(tolerance[::-1])
            rare, seeds = rare[::-1], seeds.take(slice(None, None, -1))
        variance = self.variance[:: -1 if mirrored else 1][group]
        cumulants = np.zeros((ORDERS, count.size))
        smooth = variance >= self.switch
        if moments or smooth.any():
            kernels.power_sums_at(p, q, indptr, group, count, cumulants)
            cumulants = cumulants_of(cumulants)
            cumulants += seeds.cumulants[:, group]
            variance = cumulants[1]
            smooth = variance >= self.switch
        most = count + seeds.length[group]
        width = (20.0 * np.sqrt(variance)).astype(np.int64) + 64
        width = np.minimum(most, width + np.where(rare[group], 160, 0))
        length = np.where(smooth, MAX_NODES, width)
        start = np.cumsum(length) - length
        table = np.zeros((2, int(length.sum())))
        whole, dropped = np.flatnonzero(~smooth), seeds.dropped[group]
        found = np.empty(whole.size, dtype=np.int64), np.empty(whole.size)
        begun = (*seeds.table, *map(np.ascontiguousarray, (seeds.start, seeds.length)))
        asked = group[whole], count[whole], tolerance, *begun, start[whole]
        kernels.pmfs_at(p, q, indptr, *asked, *table, *found)
        length[whole] = found[0]
        dropped[whole] += found[1]
        pmfs = PMFs(table, start, length, dropped, smooth, cumulants)
        return pmfs.take(slice(None, None, -1)) if mirrored else pmfs

    def both_pmfs(self, pairs: Pairs, *, moments: bool = False) -> tuple[PMFs, PMFs]:
        """Return the PMFs of hits and of misses for (segment, k) pairs."""
        hits, misses = (
            self.pmfs(pairs, mirrored=side, moments=moments) for side in (False, True)
        )
        hits.put_nodes()
        misses.put_nodes()
        return hits, misses

    def values(self, pairs: Pairs, hits: PMFs, misses: PMFs) -> tuple[Floats, Floats]:
        """Return E_k of all pairs, and the probability that is left out."""
        group = pairs.group
        whole = ~(hits.smooth | misses.smooth)
        n, k = self.segments.sizes[group], self.first[group] + pairs.count
        worth = np.where(self.rare, 0.0, WORTH * self.tolerance)[group]
        asked = np.stack([k, n, np.where(whole, worth, -1.0)], axis=1)
        spans = np.stack([hits.start, hits.length, misses.start, misses.length], axis=1)
        order, ends = shared_keys(n * (1 + int(k.max())) + k, whole)
        known = order, ends, spans
        sides = hits.table, misses.table
        rows, cells = kernels.widest_key(*known, *sides)
        bases = np.empty((ends.size, 3), dtype=np.int64)
        lines = np.empty((CELLS + rows, 3), dtype=np.int64)
        table, work = np.empty((4, CELLS + cells)), np.empty((3, spans[:, 3].max() + 1))
        out = np.empty((2, k.size))
        key = 0
        while key < ends.size - 1:
            last, used = kernels.fill_cells(
                key, CELLS, *known, asked, *sides, bases, lines, table
            )
            values = self.metric.value(*table[:, :used])
            finite = kernels.sum_cells(
                key, last, *known, *sides, bases, lines, values, work, out
            )
            if not finite:
                refuse_infinite(values, self.metric)
            key = last
        return out[0], out[1] + hits.dropped + misses.dropped

    def probed_values(self, pairs: Pairs) -> tuple[Floats, Floats, Floats]:
        """Return E_k of all pairs, the mass left out, and the error.

        The error is how far other quadratures differ.
        """
        hits, misses = self.both_pmfs(pairs)
        change = np.zeros(pairs.count.size)
        smooth = np.flatnonzero(hits.smooth | misses.smooth)
        if not smooth.size:
            return *self.values(pairs, hits, misses), change
        asked = pairs.again(smooth, len(PROBED))
        sides = (side.with_nodes(smooth, PROBED) for side in (hits, misses))
        found, dropped = self.values(asked, *sides)
        values, others = found[: change.size], found[change.size :]
        first, *rest = others.reshape(len(PROBED), -1)
        gaps = [np.abs(x - first) for x in (values[smooth], *rest)]
        change[smooth] = np.fmax.reduce(gaps)
        return values, dropped[: change.size], change


def shared_keys(key: Integers, whole: Booleans) -> tuple[Integers, Integers]:
    """Return pairs ordered by key, and the ends of keys.

    Pairs that are not whole have a key of their own.
    """
    key = 2 * key + ~whole
    order = np.argsort(key, kind="stable")
    key = key[order]
    cuts = (np.diff(key) != 0) | (key[1:] % 2 == 1)
    return order, np.concatenate([[0], np.flatnonzero(cuts) + 1, [key.size]])


@dataclass(frozen=True)
class Pieces:
    """Runs of counts of segments, ascending: from `first` on, before `last`."""

    whole: SegmentSums
    owner: Integers
    first: Integers
    last: Integers

    @classmethod
    def of(cls, sums: SegmentSums) -> Pieces:
        """Cut every segment into pieces of at most PIECE items."""
        lengths = sums.segments.lengths
        count = np.maximum(1, -(-lengths // PIECE))
        owner = np.repeat(np.arange(count.size), count)
        turn = np.arange(owner.size) - np.repeat(np.cumsum(count) - count, count)
        first = turn * PIECE
        return cls(sums, owner, first, np.minimum(first + PIECE, lengths[owner]))

    def seeded_segments(self) -> SegmentSums:
        """Return every piece as a segment, with PMFs of items around it as seeds."""
        sums, owner = self.whole, self.owner
        segments = sums.segments
        seeds = []
        for mirrored, count in ((False, self.first), (True, self.last)):
            pairs = Pairs(owner, count, count)
            seeds.append(sums.pmfs(pairs, mirrored=mirrored, moments=True))
        ends = segments.indptr[owner] + self.last
        return replace(
            sums,
            segments=Segments(
                segments.p,
                segments.q,
                np.concatenate([[0], ends]),
                segments.sizes[owner],
            ),
            few=sums.few[owner],
            variance=sums.variance[owner],
            first=self.first,
            seeds=(seeds[0], seeds[1]),
        )

    def batches(self, sums: SegmentSums) -> Iterator[Integers]:
        """Yield indices of pieces whose PMFs fit into memory together.

        The points of a PMF are estimated from above: ten standard deviations on either
        side, and 64 for PMFs that are narrow.
        """
        before, behind = (side.cumulants[1] for side in sums.seeds)
        inside = np.maximum(sums.variance - before - behind, 0.0)
        points = sum(20.0 * np.sqrt(side + inside) + 64 for side in (before, behind))
        points *= sums.segments.lengths + 1
        order = np.lexsort((self.first, sums.segments.sizes))
        batch = (np.cumsum(points[order]) / ROOM).astype(np.int64)
        cuts = np.flatnonzero(np.diff(batch)) + 1
        return map(np.sort, np.split(order, cuts))

    def take(self, sums: SegmentSums, chosen: Integers) -> tuple[SegmentSums, Pairs]:
        """Return some pieces as segments, and their (segment, k) pairs."""
        segments = sums.segments.take(chosen)
        hits, misses = (side.take(chosen) for side in sums.seeds)
        owner, first = self.owner[chosen], self.first[chosen]
        at_end = self.last[chosen] == self.whole.segments.lengths[owner]
        size = segments.lengths + at_end
        group = np.repeat(np.arange(chosen.size), size)
        count = np.arange(group.size) - np.repeat(np.cumsum(size) - size, size)
        start = self.whole.segments.indptr[owner] + owner + first
        part = replace(
            sums,
            segments=segments,
            few=sums.few[chosen],
            variance=sums.variance[chosen],
            first=first,
            seeds=(hits, misses),
        )
        return part, Pairs(group, count, start[group] + count)


def value_curves(
    segments: Segments, metric: Metric, *, switch: float = QUADRATURE_VARIANCE
) -> tuple[Floats, Floats]:
    """Return the expected metric for every k, flat, and an error per segment.

    Trimming errs by at most the dropped mass times the range of the metric. The
    quadrature's error is estimated: see `quadrature_errors`. Segments on which it is
    large are summed without one, if they are not too long.
    """
    sums = SegmentSums.of(segments, metric, switch)
    curves, lost = segments.empty_curves(), segments.empty_curves()
    pieces = Pieces.of(sums)
    seeded = pieces.seeded_segments()
    for chosen in pieces.batches(seeded):
        part, pairs = pieces.take(seeded, chosen)
        pmfs = part.both_pmfs(pairs, moments=True)
        curves[pairs.place], lost[pairs.place] = part.values(pairs, *pmfs)
    starts, lengths = segments.starts, segments.lengths
    scale = np.fmax(np.fmax.reduceat(np.abs(curves), starts), 1.0)
    estimate = quadrature_errors(sums, curves)
    errors = scale * (np.maximum.reduceat(lost, starts) + lengths * 2.0**-53) + estimate
    rough = np.flatnonzero((estimate > ROUGH * scale) & is_affordable(lengths))
    if rough.size and switch < math.inf:
        few = segments.take(rough)
        again, errors[rough] = value_curves(few, metric, switch=math.inf)
        segments.put(rough, again, curves)
    return curves, errors


def quadrature_errors(sums: SegmentSums, curves: Floats) -> Floats:
    """Return an error per segment: the largest gap between quadratures at some k."""
    whole = sums.segments
    estimate, floor = np.zeros((2, whole.n_segments))
    chosen = np.flatnonzero(sums.variance >= sums.switch)
    if not chosen.size:
        return estimate
    segments = sums.segments.take(chosen)
    part = SegmentSums.of(segments, sums.metric, sums.switch)
    best, low = np.zeros((2, whole.n_segments), dtype=np.int64)
    sign = 1.0 if sums.metric.greater_is_better else -1.0
    kernels.choose(curves, whole.indptr, low, whole.lengths, sign, floor, best)
    pairs = Pairs.at(segments, probes(part, best[chosen]))
    _, _, change = part.probed_values(pairs)
    np.fmax.at(estimate, chosen[pairs.group], SAFETY * change)
    return estimate


def probes(sums: SegmentSums, best: Integers) -> Integers:
    """Return positions spread over k, the best, and where a PMF becomes smooth."""
    segments = sums.segments
    lengths, starts = segments.lengths, segments.starts
    variance = segments.empty_curves()
    kernels.prefix_means(segments.p * segments.q, segments.indptr, variance)
    rest = np.repeat(variance[starts + lengths], lengths + 1) - variance
    whole = np.add.reduceat(variance < sums.switch, starts, dtype=np.int64)
    smooth = np.add.reduceat(rest >= sums.switch, starts, dtype=np.int64)
    spread = np.linspace(0.0, lengths, N_PROBES, axis=1).astype(np.int64)
    some = np.stack([best, whole, smooth - 1], axis=1)
    counts = np.clip(np.concatenate([spread, some], axis=1), 0, lengths[:, None])
    return np.unique(starts[:, None] + counts)
