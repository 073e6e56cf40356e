"""Laws of a number of positives while one shift moves all log-odds."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from argmetric._discrete import dot
from argmetric._expected import bernoulli_cumulants
from argmetric._forecast._laws import law_of_count
from argmetric._odds import from_log_odds
from argmetric._types import Floats

LONGEST_TILT = 6.0  # standard deviations by which a law is tilted before it is anew
UNLIKELY = 1e-60  # of a law that is tilted: unlikely counts become likely
CELLS = 1 << 16  # rows times shifts that are summed at once: they stay in cache
NEGLIGIBLE = 1e-13
REACH = 6.5  # standard deviations that a smooth law reaches
PER_DEVIATION = 4  # counts that stand for a smooth law, per standard deviation


class CountLaws:
    """Laws of the number of positives of one side, for every shift of the log-odds.

    A shift tilts the law: P_θ(t) is proportional to P_0(t)·e^(θt). Laws are built up
    row by row at some shifts and tilted between them.

    Parameters
    ----------
    centre : ndarray
        Log-odds of the rows whose labels are unknown, without a shift.
    sure : int
        Positives that are known.
    shifts : ndarray
        Ascending shifts at which the rows are summed; cumulants are smooth between.
    """

    SMOOTH = 100.0  # variance from which the cumulants describe a law well enough

    def __init__(self, centre: Floats, sure: int, shifts: Floats) -> None:
        self.centre, self.sure, self.shifts = centre, sure, shifts
        self.cumulants: Floats = np.zeros((4, shifts.size))
        rows = max(1, CELLS // shifts.size)
        for first in range(0, centre.size, rows):
            x = centre[first : first + rows, None] + shifts
            cumulants = bernoulli_cumulants(*from_log_odds(x.ravel()), 4)
            self.cumulants += cumulants.reshape(4, *x.shape).sum(axis=1)

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

    def points(self, shifts: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Counts and weights at ascending shifts: all counts, or some of a smooth law.

        Of a smooth law every so many counts are taken, in turn others.
        """
        from scipy.interpolate import CubicSpline

        smooth = np.interp(shifts, self.shifts, self.variance) >= self.SMOOTH
        cumulants = CubicSpline(self.shifts, self.cumulants, axis=1)(shifts)
        exact = (
            (low, law) for low, laws in self.exact(shifts[~smooth]) for law in laws
        )
        for i in range(shifts.size):
            if smooth[i]:
                counts, weights = _edgeworth(cumulants[:, i], self.centre.size, i)
                yield self.sure + counts, weights
            else:
                low, law = next(exact)
                used = np.flatnonzero(law)
                yield low + used.astype(np.float64), law[used]


def _edgeworth(cumulants: Floats, most: int, turn: int) -> tuple[Floats, Floats]:
    """Some counts from 0 to `most` and their weights, from four cumulants."""
    mean, variance, third, fourth = cumulants.tolist()
    deviation = math.sqrt(variance)
    stride = max(1, int(deviation / PER_DEVIATION))
    low = max(math.ceil(mean - REACH * deviation) + turn % stride, 0)
    high = min(math.floor(mean + REACH * deviation), most)
    counts = np.arange(low, high + 1, stride, dtype=np.float64)
    x = (counts - mean) / deviation
    skew, excess = third / deviation**3, fourth / variance**2
    series = 1.0 + skew / 6 * (x**3 - 3 * x) + excess / 24 * (x**4 - 6 * x**2 + 3)
    series += skew**2 / 72 * (x**6 - 15 * x**4 + 45 * x**2 - 15)
    weights = np.exp(-(x**2) / 2) * np.maximum(series, 0.0)
    return counts, weights / weights.sum()
