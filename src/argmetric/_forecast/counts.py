"""Laws of a number of positives while one shift moves all log-odds."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from argmetric._expected import bernoulli_cumulants
from argmetric._forecast.laws import law_of_count
from argmetric._ground.discrete import dot
from argmetric._ground.odds import from_log_odds
from argmetric._ground.types import Floats, Integers

LONGEST_TILT = 6.0  # standard deviations by which a law is tilted before it is anew
UNLIKELY = 1e-60  # of a law that is tilted: unlikely counts become likely
CELLS = 1 << 16  # rows times shifts that are summed at once: they stay in cache
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

    `centre`: Log-odds of the rows whose labels are unknown, without a shift; `sure`:
    positives that are known; `shifts`: ascending shifts at which the rows are summed;
    cumulants are smooth between.
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
        """First count and probabilities at ascending shifts, several rows at a time.

        Ends that do not matter in a mixture are 0.
        """
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
        """Counts and weights at ascending shifts: all counts, or some of a wide law.

        A row for every shift, filled up with weights of 0.
        """
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
    rows = max(1, CELLS // shifts.size)
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
    """Some counts from 0 to `most` and their weights, from four cumulants of each law.

    Of every law others are taken: in a mixture none is missing.
    """
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
