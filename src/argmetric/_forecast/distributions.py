"""Laws of counts and of metric values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from argmetric._expected import TOLERANCE, bernoulli_cumulants, kernels
from argmetric._expected.plan import SHORT_ROWS
from argmetric._ground.discrete import distinct, dot
from argmetric._ground.odds import from_log_odds
from argmetric._ground.types import Floats, Integers
from argmetric.metrics import Metric

BLOCK = 512  # rows of a long vector whose law is made at once
MAX_ATOMS = 1 << 16  # more distinct values than this are binned
UNTRIMMED = 256  # up to so many items the whole law is kept
CELLS = 1 << 14  # pairs of counts whose values are made at once: they stay in cache
BEYOND = 1e-13  # chance of values beyond the bins that is as good as none
SAMPLED = 64  # counts of either side at which the range of the values is looked for


def law_of_count(
    p: Floats, q: Floats, tolerance: float = TOLERANCE
) -> tuple[int, Floats]:
    """Law of the number of positives: the first count with mass, and the masses.

    BLOCK rows at a time, then pair by pair: sums of positive terms throughout. The ends
    of a law of many rows that are below the tolerance are left out.
    """
    tolerance = 0.0 if p.size <= UNTRIMMED else tolerance
    if p.size <= SHORT_ROWS:  # no kernel has to be loaded
        law = np.ones(1)
        for chances in np.stack([q, p], axis=1):
            law = np.convolve(law, chances)
        return trimmed(0, law, tolerance)
    indptr = np.append(np.arange(0, p.size, BLOCK), p.size)
    box = np.empty((indptr.size - 1, 4), dtype=np.int64)
    laws = np.empty(p.size + 2 * box.shape[0])
    every = np.ones(p.size, dtype=bool)
    kernels.law_boxes(p, q, indptr, every, tolerance, box, laws)
    starts = (indptr[:-1] + 2 * np.arange(box.shape[0])).tolist()
    parts = zip(starts, box.tolist(), strict=True)
    blocks = [(low, laws[at : at + length]) for at, (low, length, _, _) in parts]
    return sum_of_laws(blocks, tolerance)


def sum_of_laws(
    laws: list[tuple[int, Floats]], tolerance: float = TOLERANCE
) -> tuple[int, Floats]:
    """Law of the sum of independent counts, pair by pair, without its ends."""
    while len(laws) > 1:
        pairs = [
            trimmed(a[0] + b[0], np.convolve(a[1], b[1]), tolerance)
            for a, b in zip(laws[::2], laws[1::2], strict=False)
        ]
        laws = pairs + laws[2 * len(pairs) :]
    return trimmed(*laws[0], tolerance)


def trimmed(low: int, law: Floats, tolerance: float) -> tuple[int, Floats]:
    """The law without the ends whose entries are not above the tolerance."""
    kept = np.flatnonzero(law > tolerance)
    return low + int(kept[0]), law[kept[0] : kept[-1] + 1]


@dataclass(frozen=True)
class ValueLaw:
    """Law of a metric's value where it is defined, and the chance that it is not."""

    values: Floats
    probabilities: Floats
    p_undefined: float
    mean: float
    variance: float


NOTHING = ValueLaw(np.zeros(0), np.zeros(0), 1.0, math.nan, math.nan)


def law_of_values(
    metric: Metric, n: int, p: Floats, q: Floats, selected: np.ndarray
) -> ValueLaw:
    """Law of the metric for a fixed selection, labels independent."""
    hits = law_of_count(p[selected], q[selected])
    misses = law_of_count(p[~selected], q[~selected])
    return law_of_counts(metric, n, int(selected.sum()), hits, misses)


def law_of_counts(
    metric: Metric,
    n: int,
    k: float,
    hit: tuple[float, Floats],
    miss: tuple[float, Floats],
) -> ValueLaw:
    """Return the distribution of the metric from those of hits and of misses.

    Hits are among k of n rows. First counts may lie between whole numbers, as nodes of
    a quadrature do.
    """
    (hit_low, hits), (miss_low, misses) = hit, miss
    pairs = _Pairs(metric, n, k, hit_low, hits, miss_low, misses)
    if hits.size * misses.size <= MAX_ATOMS:
        trim = hits.size + misses.size > UNTRIMMED
        blocks = pairs.blocks() if trim else [pairs.block(0, hits.size, 0.0)]
        return combine(list(blocks))
    # The law in bins. Their range is that of some values, or else that of all.
    ends = pairs.hits.size - 1.0, pairs.misses.size - 1.0
    a, r = (np.rint(np.linspace(0.0, end, SAMPLED)) for end in ends)
    tp = pairs.hit_low + a[:, None]
    sampled = pairs.metric.value(tp, pairs.k, tp + pairs.miss_low + r, pairs.n)
    bins = Bins(sampled[~np.isnan(sampled)])
    for values, weights in pairs.blocks():
        bins.add(values, weights)
    if bins.beyond > BEYOND:
        bins = Bins(np.array([bins.least, bins.most]))
        for values, weights in pairs.blocks():
            bins.add(values, weights)
    values, weights = bins.atoms()
    if not values.size:
        return NOTHING
    return law_of_atoms(values, weights / weights.sum(), bins.undefined)


@dataclass(frozen=True)
class _Pairs:
    """Numbers of hits and misses, which are independent of each other."""

    metric: Metric
    n: int
    k: float
    hit_low: float
    hits: Floats
    miss_low: float
    misses: Floats

    def block(self, first: int, last: int, least: float) -> tuple[Floats, Floats]:
        """Values and chances of pairs, for some numbers of hits in turn."""
        part = self.hits[first:last]
        kept = np.flatnonzero(part.max() * self.misses > least)
        inside = slice(int(kept[0]), int(kept[-1]) + 1)
        tp = (self.hit_low + np.arange(first, first + part.size, dtype=float))[:, None]
        r = self.miss_low + np.arange(inside.start, inside.stop, dtype=float)
        values = self.metric.value(tp, self.k, tp + r, self.n)
        return values.ravel(), (part[:, None] * self.misses[inside]).ravel()

    def blocks(self) -> Iterator[tuple[Floats, Floats]]:
        rows = max(1, CELLS // self.misses.size)
        least = TOLERANCE * self.misses.max()
        for first in range(0, self.hits.size, rows):
            if self.hits[first : first + rows].max() > TOLERANCE:
                yield self.block(first, first + rows, least)


def combine(parts: list[tuple[Floats, Floats]]) -> ValueLaw:
    """One law from values and their weights, which add up to one over all parts."""
    total = undefined = 0.0
    for values, weights in parts:
        defined = ~np.isnan(values)
        undefined += float(weights[~defined].sum())
        total += float(weights[defined].sum())
    if total <= 0.0:
        return NOTHING
    values, weights = compress(parts)
    return law_of_atoms(values, weights / total, undefined)


def law_of_atoms(values: Floats, probabilities: Floats, undefined: float) -> ValueLaw:
    """A law with the mean and the variance that its own values have."""
    mean = dot(probabilities, values)
    variance = dot(probabilities, (values - mean) ** 2)
    return ValueLaw(values, probabilities, undefined, mean, variance)


def compress(parts: list[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Distinct values in ascending order with their weights; binned if too many."""
    if sum(values.size for values, _ in parts) <= 4 * MAX_ATOMS:
        values = np.concatenate([values for values, _ in parts])
        weights = np.concatenate([weights for _, weights in parts])
        keep = ~np.isnan(values) & (weights > 0)
        return distinct(values[keep], weights[keep])
    ends = [
        end(values[~np.isnan(values)])
        for values, _ in parts
        for end in (np.min, np.max)
        if not np.isnan(values).all()
    ]
    bins = Bins(np.array(ends))
    for values, weights in parts:
        bins.add(values, weights)
    return bins.atoms()


class Bins:
    """A law in MAX_ATOMS cells of equal width, each with the mean of its values.

    Parameters
    ----------
    values : ndarray
        The cells reach from the least of them to the largest; what lies beyond falls
        into the cells at the ends, and `beyond` counts its chance.
    """

    def __init__(self, values: Floats) -> None:
        self.low = float(values.min(initial=math.inf))
        self.high = float(values.max(initial=-math.inf))
        self.least, self.most = self.low, self.high
        self.mass, self.moment = np.zeros((2, MAX_ATOMS))
        self.beyond = self.undefined = 0.0

    def add(self, values: Floats, weights: Floats) -> None:
        least, most = float(values.min()), float(values.max())
        if math.isnan(least):
            defined = ~np.isnan(values)
            self.undefined += float(weights[~defined].sum())
            if not defined.any():
                return
            values, weights = values[defined], weights[defined]
            least, most = float(values.min()), float(values.max())
        scale = (
            (MAX_ATOMS - 1) / (self.high - self.low) if self.high > self.low else 0.0
        )
        place = (values - self.low) * scale
        if least < self.low or most > self.high:
            outside = (values < self.low) | (values > self.high)
            self.beyond += float(weights[outside].sum())
            self.least, self.most = min(self.least, least), max(self.most, most)
            np.clip(place, 0, MAX_ATOMS - 1, out=place)
        cell = place.astype(np.intp)
        first = int(cell.min())
        cell -= first
        for total, part in ((self.mass, weights), (self.moment, weights * values)):
            added = np.bincount(cell, part)
            total[first : first + added.size] += added

    def atoms(self) -> tuple[Floats, Floats]:
        """Values in ascending order and their weights."""
        used = np.flatnonzero(self.mass)
        mass = self.mass[used]
        return self.moment[used] / mass, mass


LONGEST_TILT = 6.0  # standard deviations by which a law is tilted before it is anew
UNLIKELY = 1e-60  # of a law that is tilted: unlikely counts become likely
LAW_CELLS = 1 << 16  # rows times shifts that are summed at once: they stay in cache
NEGLIGIBLE = 1e-13
REACH = 5.6  # standard deviations that a smooth law reaches: 2e-8 lie beyond
# Counts that stand for a wide law, per standard deviation: means over them are as good
# as over all, and quantiles of the mixture are off by a few hundredths of a deviation.
PER_DEVIATION = 3
BIN = 0.02  # log-odds that are taken together: four terms err by less than 1e-9


class CountLaws:
    """Laws of the number of positives of one side, for every shift of the log-odds.

    A shift tilts the law: P_θ(t) is proportional to P_0(t)·e^(θt). Laws are built up
    row by row at some shifts and tilted between them.
    """

    SMOOTH = 100.0  # variance from which the cumulants describe a law well enough

    def __init__(self, centre: Floats, sure: int, shifts: Floats) -> None:
        self.centre, self.sure, self.shifts = centre, sure, shifts
        self.cumulants = summed_cumulants(centre, shifts)

    @property
    def variance(self) -> Floats:
        return np.asarray(self.cumulants[1])

    @property
    def width(self) -> int:
        """Counts that are within reach of any shift, about."""
        spread = 9.0 * np.sqrt(self.variance) + 20.0
        low = max(float((self.cumulants[0] - spread).min()), 0.0)
        high = min(float((self.cumulants[0] + spread).max()), self.centre.size)
        return int(high - low) + 1

    def exact(self, shifts: Floats) -> Iterator[tuple[int, Floats]]:
        """First count and probabilities at ascending shifts, several rows at a time."""
        deviations = np.sqrt(np.interp(shifts, self.shifts, self.variance))
        first = 0
        while first < shifts.size:
            tilts = shifts[first:] - shifts[first]
            far = tilts * np.maximum(deviations[first:], deviations[first])
            near = np.append(far <= LONGEST_TILT, False)
            tilts = tilts[: max(1, int(np.argmin(near)))]
            p, q = from_log_odds(self.centre + shifts[first])
            low, law = law_of_count(p, q, UNLIKELY)
            steps = np.arange(float(law.size))
            steps -= dot(law, steps)
            # Where the power would overflow the law itself is 0.
            laws = law * np.exp(np.minimum(tilts[:, None] * steps, 700.0))
            laws[laws <= NEGLIGIBLE * laws.max(axis=1, keepdims=True)] = 0.0
            used = np.flatnonzero(laws.any(axis=0))
            laws = laws[:, used[0] : used[-1] + 1]
            yield self.sure + low + int(used[0]), laws / laws.sum(axis=1, keepdims=True)
            first += tilts.size

    def table(self, shifts: Floats) -> tuple[int, Floats]:
        """The first count of all, and the probabilities of counts, a row per shift."""
        blocks = list(self.exact(shifts))
        low = min(first for first, _ in blocks)
        high = max(first + laws.shape[1] for first, laws in blocks)
        table = np.zeros((shifts.size, high - low))
        row = 0
        for first, laws in blocks:
            part = slice(first - low, first - low + laws.shape[1])
            table[row : row + laws.shape[0], part] = laws
            row += laws.shape[0]
        return low, table

    def points(self, shifts: Floats) -> tuple[Floats, Floats]:
        """Counts and weights at ascending shifts: all counts, or some of a wide law."""
        from scipy.interpolate import CubicSpline

        smooth = np.interp(shifts, self.shifts, self.variance) >= self.SMOOTH
        cumulants = CubicSpline(self.shifts, self.cumulants, axis=1)(shifts[smooth])
        rows, laws, first = [], [], 0
        if smooth.any():
            rows.append(np.flatnonzero(smooth))
            laws.append(_edgeworth(cumulants, self.centre.size))
        others = np.flatnonzero(~smooth)
        for low, law in self.exact(shifts[~smooth]):
            row = others[first : first + law.shape[0]]
            first += row.size
            cells, kept = _thinned(law, row - low)
            rows.append(row)
            laws.append((low - self.sure + cells, kept))
        width = max(law.shape[1] for _, law in laws)
        points, weights = np.zeros((2, shifts.size, width))
        for row, (counts, law) in zip(rows, laws, strict=True):
            points[row] = counts[:, :1]
            points[row, : law.shape[1]] = counts
            weights[row, : law.shape[1]] = law
        return self.sure + points, weights


def _thinned(laws: Floats, turns: Integers) -> tuple[Floats, Floats]:
    """Some cells of wide laws and all of narrow ones, of every law others."""
    cells = np.arange(float(laws.shape[1]))
    means = laws @ cells
    deviation = np.sqrt(np.maximum(laws @ cells**2 - means**2, 0.0))
    stride, turns = strides(deviation)[:, None], turns[:, None]
    place = turns % stride + stride * np.arange(-(-laws.shape[1] // stride.min()))
    inside = place < laws.shape[1]
    place = np.where(inside, place, 0)
    kept = np.where(inside, np.take_along_axis(laws, place, axis=1), 0.0)
    return place.astype(np.float64), kept / kept.sum(axis=1, keepdims=True)


def strides(deviation: Floats) -> Integers:
    """Distance of the counts that stand for a law."""
    return np.maximum((deviation / PER_DEVIATION).astype(np.int64), 1)


def summed_cumulants(centre: Floats, shifts: Floats) -> Floats:
    """The first four cumulants of the number of positives at every shift.

    The derivative of a cumulant by the log-odds is the next one: many rows are taken
    together in bins, with three terms of the series around their middles.
    """
    finite = np.isfinite(centre)
    certain = np.zeros((4, 1))
    certain[0] = np.count_nonzero(centre == math.inf)
    centre = centre[finite]
    moments = np.ones((1, centre.size))
    if centre.size:
        places = np.rint(centre / BIN)
        first = places.min()
        n_bins = int(places.max() - first) + 1
        if 2 * n_bins < centre.size:
            bins, offset = (places - first).astype(np.int64), centre - BIN * places
            term = np.ones(centre.size)
            moments = np.empty((4, n_bins))
            for order in range(4):
                moments[order] = np.bincount(bins, term, n_bins)
                term *= offset / (order + 1)
            used = moments[0] > 0
            centre = BIN * (first + np.flatnonzero(used))
            moments = moments[:, used]
    total = np.zeros((4, shifts.size))
    orders = moments.shape[0]
    rows = max(1, LAW_CELLS // shifts.size)
    for begin in range(0, centre.size, rows):
        part = slice(begin, begin + rows)
        x = centre[part, None] + shifts
        cumulants = bernoulli_cumulants(*from_log_odds(x.ravel()), 3 + orders)
        cumulants = cumulants.reshape(-1, *x.shape)
        for order in range(orders):
            some = cumulants[order : order + 4]
            total += np.einsum("jrs,r->js", some, moments[order, part])
    return total + certain


def _edgeworth(cumulants: Floats, most: int) -> tuple[Floats, Floats]:
    """Some counts and their weights, from four cumulants; of every law others."""
    mean, variance, third, fourth = cumulants
    deviation = np.sqrt(variance)
    stride = strides(deviation)
    low = np.ceil(mean - REACH * deviation) + np.arange(mean.size) % stride
    low = np.maximum(low, 0.0)
    high = np.minimum(np.floor(mean + REACH * deviation), most)
    length = int(((high - low) // stride).max()) + 1
    counts = low[:, None] + stride[:, None] * np.arange(length)
    x = (counts - mean[:, None]) / deviation[:, None]
    square = x * x
    skew = (third / deviation**3)[:, None]
    excess = (fourth / variance**2)[:, None]
    series = 1.0 + skew / 6 * x * (square - 3)
    series += excess / 24 * (square * (square - 6) + 3)
    series += skew**2 / 72 * (square * (square * (square - 15) + 45) - 15)
    weights = np.exp(-square / 2) * np.maximum(series, 0.0)
    inside = counts <= high[:, None]
    weights = np.where(inside, weights, 0.0)
    counts = np.where(inside, counts, low[:, None])
    return counts, weights / weights.sum(axis=1, keepdims=True)
