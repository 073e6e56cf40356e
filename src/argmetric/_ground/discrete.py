"""Distributions on finitely many values: distribution function, quantiles, intervals.

Values are ascending, and probabilities add up to one. Both come out of long sums:
values that differ by rounding are one value, a value is reached that is missed by
`ROUNDING`, and so is a probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np

from argmetric._ground.arguments import check_number
from argmetric._ground.display import number
from argmetric._ground.types import Booleans, Floats, Interval

ROUNDING = 1e-12
MOST_DIGITS = 13  # after the point, at which what differs by more than ROUNDING does
RARE = 0.01  # probability below which a score is not put down to randomness
SAME = 1e-13  # of the largest value: the same value, come by in another way


def dot(a: Floats, b: Floats | Booleans) -> float:
    """Return Σ aᵢ·bᵢ, summed in one order by one thread, unlike BLAS."""
    return float(np.add.reduce(a * b))


class DiscreteDistribution:
    """Methods of an object with `values` and their `probabilities`."""

    values: Floats
    probabilities: Floats

    def cdf(self, x: float) -> float:
        """Return the probability of a value of at most x.

        Parameters
        ----------
        x : float
            A score; it may be infinite.

        Returns
        -------
        float
            From 0 to 1.
        """
        x = check_number(x, "x", infinite=True)
        return float(self.probabilities[self.values <= x + ROUNDING].sum())

    def probability_below(self, x: float) -> float:
        """Return the probability of a value below x.

        Parameters
        ----------
        x : float
            A score, such as a floor; it may be infinite.

        Returns
        -------
        float
            From 0 to 1.
        """
        x = check_number(x, "x", infinite=True)
        return float(self.probabilities[self.values < x - ROUNDING].sum())

    def quantile(self, q: float) -> float:
        """Return the smallest value whose cdf reaches q; nan if there is no value.

        Parameters
        ----------
        q : float
            A probability from 0 to 1.

        Returns
        -------
        float
            The quantile.
        """
        q = check_number(q, "q", low=0.0, high=1.0)
        if not self.values.size:
            return math.nan
        reached = np.searchsorted(np.cumsum(self.probabilities), q - ROUNDING)
        return float(self.values[min(int(reached), self.values.size - 1)])


def distinct(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the distinct values in ascending order, and their total weights."""
    if not values.size:
        return values, weights
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    apart = SAME * np.abs(values[np.isfinite(values)]).max(initial=0.0)
    starts = np.flatnonzero(np.concatenate([[True], np.diff(values) > apart]))
    return values[starts], np.add.reduceat(weights, starts)


def central_interval(
    values: Floats, probabilities: Floats, coverage: float
) -> Interval:
    """Return the ends of the interval with at most (1 - coverage)/2 on either side."""
    below = np.cumsum(probabilities)
    rest = below[-1] * (1.0 - coverage) / 2
    # The first value that more than `rest` reaches, the last with more than it above.
    first = np.searchsorted(below, rest + ROUNDING, side="right")
    last = np.searchsorted(below, below[-1] - rest - ROUNDING)
    size = values.size - 1
    return Interval(float(values[min(first, size)]), float(values[min(last, size)]))


class ScoreDistribution(DiscreteDistribution):
    """Distribution of a score on finitely many values, with its forecast interval."""

    metric: Any
    interval: Interval
    coverage: float
    _check: ClassVar[str] = "calibration_check(y, p)"

    def surprise(self, score: float) -> str | None:
        """Return a message if the interval does not contain the score, else None.

        Parameters
        ----------
        score : float
            The actual score.

        Returns
        -------
        str or None
            How far out the score is, and how unlikely that is.
        """
        outside = probability_outside(self, score)
        if outside is None:
            return None
        verdict = "is unlikely to be chance" if outside < RARE else "may be chance"
        actual, low, high = beside(float(score), *self.interval, "{:.4f}".format)
        return (
            f"the actual {self.metric.name} is {actual}, outside of the forecast's "
            f"{self.coverage:.0%} interval ({low} to {high}); this {verdict}: "
            f"check the probabilities with {self._check}"
        )


def beside(
    value: float, low: float, high: float, write: Callable[[float], str] = number
) -> tuple[str, str, str]:
    """Return a value and both ends of an interval as texts, with digits that differ.

    A value outside has the digit that shows it: not 0.479 beside an end of 0.479, but
    0.4793 beside 0.4791. A bound on one side has an infinite other end.
    """
    texts = [write(x) for x in (value, low, high)]
    inside = low - ROUNDING <= value <= high + ROUNDING
    if inside or any(map(math.isnan, (value, low, high))):
        return texts[0], texts[1], texts[2]
    digits = len(texts[0].partition(".")[2])

    def is_end() -> bool:  # as numbers, for -0.000 is 0.000, and 10 is 10.000
        own, *ends = (float(text.replace(",", "")) for text in texts)
        return own in ends

    while is_end() and digits < MOST_DIGITS:
        digits += 1
        texts = [f"{x:.{digits}f}" for x in (value, low, high)]
    return texts[0], texts[1], texts[2]


def probability_outside(distribution: ScoreDistribution, score: float) -> float | None:
    """Return P(a score at least as far outside the interval); None inside it.

    As of a normal distribution with the same interval.
    """
    if isinstance(score, float) and math.isnan(score):  # undefined
        return None
    score, (low, high) = check_number(score, "score"), distribution.interval
    if low - ROUNDING <= score <= high + ROUNDING:
        return None
    z = NormalDist().inv_cdf(0.5 + min(distribution.coverage, 0.999) / 2.0)
    far = abs(score - (low + high) / 2.0) / max((high - low) / 2.0, ROUNDING)
    return 2.0 * NormalDist().cdf(-z * far)
