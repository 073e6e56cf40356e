"""Laws of a number of positives while one shift moves all log-odds."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from argmetric._expected import bernoulli_cumulants
from argmetric._forecast._laws import law_of_count
from argmetric._odds import from_log_odds
from argmetric._types import Floats

LONGEST_TILT = 1.0  # standard deviations by which a law is tilted before it is anew
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
        for i, shift in enumerate(shifts):
            parts = bernoulli_cumulants(*from_log_odds(centre + shift), 4)
            self.cumulants[:, i] = parts.sum(axis=1)

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
        """First count and probabilities at ascending shifts, asked for or not."""
        deviations = np.sqrt(np.interp(shifts, self.shifts, self.variance))
        anchor, low = -1, 0
        law: Floats = np.ones(1)
        steps: Floats = np.zeros(1)
        for i, shift in enumerate(shifts):
            tilt = shift - shifts[anchor]
            deviation = max(deviations[anchor], deviations[i])
            if anchor < 0 or tilt * deviation > LONGEST_TILT:
                anchor, tilt = i, 0.0
                low, law = law_of_count(*from_log_odds(self.centre + shift))
                steps = np.arange(float(law.size))
                steps -= float(law @ steps)
            # Where the power would overflow the law itself is 0.
            tilted = law * np.exp(np.minimum(tilt * steps, 700.0))
            yield self.sure + low, tilted / tilted.sum()

    def table(self, shifts: Floats) -> tuple[int, Floats]:
        """The first count of all, and the probabilities of counts, a row per shift."""
        laws = [(low, *_kept(law)) for low, law in self.exact(shifts)]
        first = min(low + start for low, start, _ in laws)
        last = max(low + start + law.size for low, start, law in laws)
        table = np.zeros((shifts.size, last - first))
        for row, (low, start, law) in zip(table, laws, strict=True):
            row[low + start - first :][: law.size] = law
        return first, table

    def points(self, shifts: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Counts and weights at ascending shifts: all counts, or some of a smooth law.

        Of a smooth law every so many counts are taken, in turn others.
        """
        from scipy.interpolate import CubicSpline

        smooth = np.interp(shifts, self.shifts, self.variance) >= self.SMOOTH
        cumulants = CubicSpline(self.shifts, self.cumulants, axis=1)(shifts)
        exact = self.exact(shifts[~smooth])
        for i in range(shifts.size):
            if smooth[i]:
                counts, weights = _edgeworth(cumulants[:, i], self.centre.size, i)
                yield self.sure + counts, weights
            else:
                low, law = next(exact)
                start, law = _kept(law)
                yield low + start + np.arange(law.size, dtype=np.float64), law


def _kept(law: Floats) -> tuple[int, Floats]:
    """The law without ends that do not matter in a mixture."""
    kept = np.flatnonzero(law > NEGLIGIBLE * law.max())
    law = law[kept[0] : kept[-1] + 1]
    return int(kept[0]), law / law.sum()


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
