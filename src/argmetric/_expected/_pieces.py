"""Any metric at every count of many segments, piece by piece.

The counts of a segment are taken in pieces; the laws of the items before a piece and
behind it are kept as its seeds. Pieces that begin at the same count of segments of one
size are summed together, so that they share the values of the metric.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from argmetric._expected import kernels
from argmetric._expected._sums import ROUGH, SAFETY, Pairs, Sums
from argmetric._expected.plan import QUADRATURE_VARIANCE, is_affordable
from argmetric._input.segments import Segments
from argmetric._input.types import Floats, Integers
from argmetric.metrics import Metric

PIECE = 128  # counts
N_PROBES = 24  # places at which the error of the quadrature is looked at
ROOM = 1 << 20  # points of laws that are kept at a time


@dataclass(frozen=True)
class Pieces:
    """Runs of counts of segments, in ascending order: from `first` on, before `last`.

    The count behind the last item of a segment belongs to its last piece.
    """

    whole: Sums
    owner: Integers
    first: Integers
    last: Integers

    @classmethod
    def of(cls, sums: Sums) -> Pieces:
        lengths = sums.segments.lengths
        count = np.maximum(1, -(-lengths // PIECE))
        owner = np.repeat(np.arange(count.size), count)
        turn = np.arange(owner.size) - np.repeat(np.cumsum(count) - count, count)
        first = turn * PIECE
        return cls(sums, owner, first, np.minimum(first + PIECE, lengths[owner]))

    def seeded(self) -> Sums:
        """Every piece as a segment, with the laws of what lies around it."""
        sums, owner = self.whole, self.owner
        segments = sums.segments
        seeds = []
        for mirrored, count in ((False, self.first), (True, self.last)):
            pairs = Pairs(owner, count, count)
            seeds.append(sums.laws(pairs, mirrored=mirrored, moments=True))
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

    def batches(self, sums: Sums) -> Iterator[Integers]:
        """Pieces whose laws have room side by side, those that share values first."""
        before, behind = (side.cumulants[1] for side in sums.seeds)
        inside = np.maximum(sums.variance - before - behind, 0.0)
        points = sum(20.0 * np.sqrt(side + inside) + 64 for side in (before, behind))
        points *= sums.segments.lengths + 1
        order = np.lexsort((self.first, sums.segments.sizes))
        batch = (np.cumsum(points[order]) / ROOM).astype(np.int64)
        cuts = np.flatnonzero(np.diff(batch)) + 1
        return map(np.sort, np.split(order, cuts))

    def take(self, sums: Sums, chosen: Integers) -> tuple[Sums, Pairs]:
        """Some pieces as segments, and all counts of them; places are of the whole."""
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
    segments: Segments,
    metric: Metric,
    *,
    switch: float = QUADRATURE_VARIANCE,
) -> tuple[Floats, Floats]:
    """Expected metric for every k of segments, flat, and the error to reckon with.

    Trimming errs by at most the dropped mass times the range of the metric. The
    quadrature's error is estimated: see `quadrature_errors`. Segments on which it is
    large are summed without one, if they are not too long.
    """
    sums = Sums.of(segments, metric, switch)
    curves, lost = segments.empty_curves(), segments.empty_curves()
    pieces = Pieces.of(sums)
    seeded = pieces.seeded()
    for chosen in pieces.batches(seeded):
        part, pairs = pieces.take(seeded, chosen)
        laws = part.both_laws(pairs, moments=True)
        curves[pairs.place], lost[pairs.place] = part.values(pairs, *laws)
    starts = segments.indptr[:-1] + np.arange(segments.n_segments)
    largest = np.fmax.reduceat(np.abs(curves), starts)
    scale = np.fmax(largest, 1.0)
    estimate = quadrature_errors(sums, curves, starts)
    lengths = segments.lengths
    errors = scale * (np.maximum.reduceat(lost, starts) + lengths * 2.0**-53) + estimate
    rough = np.flatnonzero((estimate > ROUGH * scale) & is_affordable(lengths))
    if rough.size and switch < math.inf:
        few = segments.take(rough)
        again, errors[rough] = value_curves(few, metric, switch=math.inf)
        segments.put(rough, again, curves)
    return curves, errors


def quadrature_errors(sums: Sums, curves: Floats, starts: Integers) -> Floats:
    """Largest disagreement of quadratures at some k of segments that may have one."""
    estimate = np.zeros(starts.size)
    chosen = np.flatnonzero(sums.variance >= sums.switch)
    if not chosen.size:
        return estimate
    segments = sums.segments.take(chosen)
    part = Sums.of(segments, sums.metric, sums.switch)
    best, low = np.zeros((2, starts.size), dtype=np.int64)
    sign = 1.0 if sums.metric.greater_is_better else -1.0
    whole, floor = sums.segments, np.zeros(starts.size)
    kernels.choose(curves, whole.indptr, low, whole.lengths, sign, floor, best)
    place = probes(part, best[chosen])
    pairs = Pairs.at(segments, place)
    _, _, change = part.probed_values(pairs)
    np.fmax.at(estimate, chosen[pairs.group], SAFETY * change)
    return estimate


def probes(sums: Sums, best: Integers) -> Integers:
    """Places spread over the counts, the best, and where a law has just become smooth.

    There its quadrature is worst.
    """
    segments = sums.segments
    lengths, starts = segments.lengths, segments.indptr[:-1]
    starts = starts + np.arange(lengths.size)
    variance = segments.empty_curves()
    kernels.prefix_means(segments.p * segments.q, segments.indptr, variance)
    rest = np.repeat(variance[starts + lengths], lengths + 1) - variance
    whole = np.add.reduceat(variance < sums.switch, starts, dtype=np.int64)
    smooth = np.add.reduceat(rest >= sums.switch, starts, dtype=np.int64)
    spread = np.linspace(0.0, lengths, N_PROBES, axis=1).astype(np.int64)
    some = np.stack([best, whole, smooth - 1], axis=1)
    counts = np.clip(np.concatenate([spread, some], axis=1), 0, lengths[:, None])
    return np.unique(starts[:, None] + counts)
