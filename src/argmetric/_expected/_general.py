"""Any metric of the counts: sums over the laws of hits and misses.

E_k = Σ_a Σ_r P(hits = a)·P(misses = r)·value(a, k, a+r, n). The hits are the positives
among the first k items, the misses those among the last m-k. While its variance is
small a law is kept exactly on a window; beyond, a few quadrature points replace it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import ModuleType

import numpy as np

from argmetric._expected._hermite import bernoulli_cumulants, points_and_weights
from argmetric._expected._tables import refuse_infinite
from argmetric._input.segments import Segments
from argmetric._input.types import Floats, Integers
from argmetric.metrics import Metric

SWITCH = 60.0  # variance from which eight points err by less than 1e-10
# From these variances on so many points err by less than about 1e-12.
N_NODES = ((2e5, 3), (2e4, 4), (400.0, 5), (0.0, 8))
RARE = 1e-280  # for outcomes that are rare and yet the only ones that count
ROUGH = 1e-7  # an error from which a metric is too rough for quadrature
WINDOWS_AFFORDABLE = 5000  # items; a rough metric on more keeps its error and says so
TOLERANCE = 1e-18  # entries of a law below it are trimmed, their mass is counted
NEGLIGIBLE = 1e-16  # entries at the end of a window that are not worth a cell
CELLS = 1 << 16  # cells of one block: they stay in the cache
GRID = 64  # items between two kept laws, from which the others are rolled forward
SAFETY = 4.0  # between the probes the error can be larger than at them
N_PROBES = 24  # places at which the error of the quadrature is looked at

Quadrature = tuple[Floats, Floats]  # points and weights
BothSides = tuple[Quadrature, Quadrature]  # of the hits, of the misses


def window_width(variance: float) -> int:
    """Entries that a trimmed law of this variance can have, and a margin."""
    return int(18.5 * math.sqrt(variance)) + 40


class PrefixLaws:
    """Laws of the number of positives among the first 0, 1, …, m items."""

    def __init__(
        self, p: Floats, q: Floats, switch: float, tolerance: float, backend: ModuleType
    ) -> None:
        self.p, self.q, self.tolerance, self.backend = p, q, tolerance, backend
        self.variance = np.concatenate([[0.0], np.cumsum(p * q)])
        # First count whose law is smooth enough for quadrature.
        self.smooth = int(np.searchsorted(self.variance, switch))
        starts = np.arange(0, p.size, GRID)
        sums = np.zeros((7, starts.size + 1))
        if p.size:
            for first in range(0, starts.size, 1024):
                part = slice(first * GRID, (first + 1024) * GRID)
                steps = bernoulli_cumulants(p[part], q[part])
                added = np.add.reduceat(steps, np.arange(0, steps.shape[1], GRID), 1)
                sums[:, first + 1 : first + 1 + added.shape[1]] = added
        self.cumulants = np.cumsum(sums, axis=1)
        last = min(self.smooth, p.size + 1)
        self.kept, self.lows, self.dropped = self._windows(0, last, GRID, None)

    def _windows(
        self, first: int, last: int, stride: int, start: tuple[Floats, int] | None
    ) -> tuple[Floats, Integers, float]:
        """Laws of counts first, first+stride, … below last."""
        width = window_width(float(self.variance[max(last - 1, 0)]))
        if self.tolerance == RARE:  # of mean below 1: P(T = 160) < 1/160! < 1e-280
            width += 160
        law, low, length = np.zeros(width + 1), 0, 1
        law[0] = 1.0
        if start is not None:
            length = int(np.flatnonzero(start[0])[-1]) + 1
            law[:length], low = start[0][:length], start[1]
        n_rows = len(range(first, last, stride))
        rows = np.zeros((n_rows, width))
        lows = np.zeros(n_rows, dtype=np.int64)
        dropped = self.backend.prefix_laws(
            self.p,
            self.q,
            first,
            last,
            stride,
            law,
            low,
            length,
            self.tolerance,
            rows,
            lows,
        )
        assert dropped >= 0, "the window was made too narrow"
        return rows, lows, dropped

    def n_points(self, count: int) -> int:
        """Points of the quadrature for this count, to size a block."""
        if count >= self.smooth:
            return self.n_nodes(count)
        return min(count + 1, int(15 * math.sqrt(self.variance[count])) + 12)

    def n_nodes(self, count: int) -> int:
        variance = float(self.variance[count])
        return next(nodes for floor, nodes in N_NODES if variance >= floor)

    def quadrature(self, start: int, stop: int, n_nodes: int = 0) -> Quadrature:
        """Points and weights of counts start…stop-1, all on one side of `smooth`.

        Arrays (points, counts).
        """
        knot = start // GRID
        skip = start - knot * GRID
        if start >= self.smooth:
            n_nodes = n_nodes or self.n_nodes(start)
            items, orders = slice(knot * GRID, stop - 1), max(n_nodes - 1, 2)
            sums = np.zeros((orders, stop - knot * GRID))
            steps = bernoulli_cumulants(self.p[items], self.q[items], orders)
            np.cumsum(steps, axis=1, out=sums[:, 1:])
            sums += self.cumulants[:orders, knot, None]
            return points_and_weights(sums[:, skip:], n_nodes)
        kept = (self.kept[knot], int(self.lows[knot]))
        rows, lows, _ = self._windows(knot * GRID, stop, 1, kept)
        rows, lows = rows[skip:], lows[skip:]
        negligible = min(NEGLIGIBLE, 100 * self.tolerance)
        used = int(np.flatnonzero((rows > negligible).any(axis=0))[-1]) + 1
        rows = np.ascontiguousarray(rows[:, :used].T)
        points = lows + np.arange(used, dtype=np.float64)[:, None]
        # Past the end of a window the point must stay feasible: repeat the first.
        return np.where(rows > 0.0, points, lows), rows


class BothLaws:
    """Quadratures of the hits and the misses along k."""

    def __init__(
        self, segment: Segments, switch: float, tolerance: float, backend: ModuleType
    ) -> None:
        p, q = segment.p, segment.q
        self.m = p.size
        self.hits = PrefixLaws(p, q, switch, tolerance, backend)
        self.misses = PrefixLaws(p[::-1], q[::-1], switch, tolerance, backend)

    @property
    def splits(self) -> list[int]:
        """Ends of the ranges of k within which neither side changes its kind."""
        ends = {0, self.m + 1, self.hits.smooth, self.m - self.misses.smooth + 1}
        return sorted(k for k in ends if 0 <= k <= self.m + 1)

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Ranges of k of about CELLS cells each."""
        for start, stop in zip(self.splits, self.splits[1:], strict=False):
            k = start
            while k < stop:
                side = min(k + GRID, self.m)
                cells = self.hits.n_points(side if k < self.hits.smooth else k)
                cells *= self.misses.n_points(self.m - k)
                end = min(k + max(1, CELLS // cells), stop)
                yield k, end
                k = end

    def quadratures(self, start: int, stop: int, n_nodes: int = 0) -> BothSides:
        """Quadratures of both sides for k = start…stop-1."""
        low, high = self.m - stop + 1, self.m - start + 1
        points, weights = self.misses.quadrature(low, high, n_nodes)
        hits = self.hits.quadrature(start, stop, n_nodes)
        return hits, (points[:, ::-1], weights[:, ::-1])


def expected_values(metric: Metric, n: float, k: Floats, sides: BothSides) -> Floats:
    """E[value | defined] for rows of k, from the points and weights of both sides.

    The rows of k come last, where numpy's loops run, unless they are few.
    """
    hits, hit_weights = (a[:, None, :] for a in sides[0])
    misses, miss_weights = (a[None, :, :] for a in sides[1])
    if few := k.size < misses.shape[1]:
        hits, hit_weights, misses, miss_weights = (
            np.ascontiguousarray(a.transpose(2, 0, 1))
            for a in (hits, hit_weights, misses, miss_weights)
        )
        k = k[:, None, None]
    axes = (1, 2) if few else (0, 1)
    values = metric.value(hits, k, hits + misses, n)
    if not math.isnan(metric.zero_division):
        if not values.flags.writeable:  # a constant of the user's, broadcast
            values = values.copy()
        with np.errstate(invalid="ignore"):
            values *= miss_weights
            values *= hit_weights
            result = np.asarray(values.sum(axis=axes), dtype=np.float64)
        if not np.isfinite(result).all():
            refuse_infinite(metric.value(hits, k, hits + misses, n), metric)
        return result
    weights = hit_weights * miss_weights
    defined = ~np.isnan(values)
    mass = np.where(defined, weights, 0.0).sum(axis=axes)
    total = np.where(defined, weights * values, 0.0).sum(axis=axes)
    result = np.full(k.size, np.nan)
    np.divide(total, mass, out=result, where=mass > 1e-300)
    return result


def general_curve(
    segment: Segments, metric: Metric, backend: ModuleType, *, switch: float = SWITCH
) -> tuple[Floats, float]:
    """Expected metric for every k of one segment, and the error to reckon with.

    Trimming errs by at most the dropped mass times the range of the metric. The
    quadrature's error is estimated where it is used: the largest difference between
    the quadrature in use and those with 8, 7 and 6 points, at some k. With an infinite
    `switch` there is no quadrature, and the error is the rigorous bound alone.
    """
    # With nan the outcomes that count may be rare: keep those too.
    few = min(float(segment.p.sum()), float(segment.q.sum())) < 1.0
    rare = math.isnan(metric.zero_division) and few
    laws = BothLaws(segment, switch, RARE if rare else TOLERANCE, backend)
    n = float(segment.sizes[0])
    curve = np.empty(laws.m + 1)
    for start, stop in laws.blocks():
        k = np.arange(start, stop, dtype=np.float64)
        curve[start:stop] = expected_values(metric, n, k, laws.quadratures(start, stop))
    scale = max(1.0, float(np.nanmax(np.abs(curve), initial=0.0)))
    estimate = quadrature_error(laws, metric, n, curve)
    if estimate > ROUGH * scale and switch < math.inf and laws.m <= WINDOWS_AFFORDABLE:
        return general_curve(segment, metric, backend, switch=math.inf)
    rounding = laws.m * 2.0**-53
    dropped = laws.hits.dropped + laws.misses.dropped
    return curve, scale * (dropped + rounding) + estimate


def general_curves(
    segments: Segments, metric: Metric, backend: ModuleType, switch: float
) -> tuple[Floats, Floats]:
    """Expected metric for every k of segments, one after the other, and the errors."""
    curves, errors = segments.empty_curves(), np.zeros(segments.n_segments)
    for g in range(errors.size):
        found = general_curve(segments.one(g), metric, backend, switch=switch)
        curves[segments.place(g)], errors[g] = found
    return curves, errors


def quadrature_error(laws: BothLaws, metric: Metric, n: float, curve: Floats) -> float:
    """Largest disagreement of the quadratures at some k where a side is smooth."""
    first, last = laws.hits.smooth, laws.m - laws.misses.smooth
    finite = np.where(np.isfinite(curve), curve, -np.inf)
    best = int(np.argmax(finite if metric.greater_is_better else -finite))
    probes = {0, first, last, best, laws.m}
    probes |= set(np.linspace(0, laws.m, N_PROBES).astype(int).tolist())
    worst = 0.0
    for k in sorted(probes):
        if not 0 <= k <= laws.m or first > k > last:
            continue
        values = [
            float(expected_values(metric, n, np.array([float(k)]), sides)[0])
            for sides in (laws.quadratures(k, k + 1, nodes) for nodes in (8, 7, 6))
        ]
        gaps = [abs(value - values[0]) for value in (*values[1:], float(curve[k]))]
        worst = max(worst, *(gap for gap in gaps if not math.isnan(gap)), 0.0)
    return SAFETY * worst
