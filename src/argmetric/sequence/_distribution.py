"""distribution: the law of a utility, not only its mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._arguments import check_count, check_number
from argmetric._types import Floats
from argmetric.sequence._expectation import check_hypothesis
from argmetric.sequence._models import as_chain
from argmetric.sequence._runs import run
from argmetric.sequence._utilities import as_utility


@dataclass(frozen=True, eq=False)
class UtilityDistribution:
    """The law of a utility.

    Attributes
    ----------
    values, probabilities : ndarray
        Distinct values in ascending order, and the probability of each.
    p_undefined : float
        Probability that the utility is undefined and left out.
    """

    values: Floats
    probabilities: Floats
    p_undefined: float = 0.0

    @property
    def mean(self) -> float:
        """Expected utility."""
        return float(self.values @ self.probabilities)

    @property
    def std(self) -> float:
        """Standard deviation of the utility."""
        deviation = self.values - self.mean
        return math.sqrt(float(deviation**2 @ self.probabilities))

    def cdf(self, x: float) -> float:
        """Probability of a utility of at most x."""
        x = check_number(x, "x", infinite=True)
        return float(self.probabilities[self.values <= x + 1e-12].sum())

    def quantile(self, q: float) -> float:
        """Smallest value whose cdf reaches q."""
        q = check_number(q, "q", low=0.0, high=1.0)
        if not self.values.size:
            return math.nan
        reached = np.searchsorted(np.cumsum(self.probabilities), q - 1e-12)
        return float(self.values[min(int(reached), self.values.size - 1)])

    def __repr__(self) -> str:
        if not self.values.size:
            return "UtilityDistribution(never defined)"
        low, middle, high = (self.quantile(q) for q in (0.05, 0.5, 0.95))
        return (
            f"UtilityDistribution(mean {self.mean:.4f}, median {middle:.4f}, "
            f"90% from {low:.4f} to {high:.4f}, {self.values.size} values)"
        )


def distribution(
    utility: Any, z: Any, model: Any, *, max_states: int | None = None
) -> UtilityDistribution:
    """Law of the utility of a hypothesis, exactly.

    Parameters
    ----------
    utility : SimpleFunction, Metric or str
        An automaton; a metric stands for its `CountUtility`.
    z : array-like of {0, 1}
        The hypothesis.
    model : Independent, MarkovChain or LinearChainCRF
        Law of the outcome.
    max_states : int, optional
        Limit on the states of one position.

    Examples
    --------
    >>> from argmetric.sequence import Hamming, Independent, distribution
    >>> law = distribution(Hamming(), [1, 0], Independent([0.9, 0.2]))
    >>> law.values, law.probabilities.round(2)
    (array([0., 1., 2.]), array([0.72, 0.26, 0.02]))
    >>> law.quantile(0.9)
    1.0
    """
    function, chain = as_utility(utility), as_chain(model)
    if max_states is not None:
        max_states = check_count(max_states, "max_states", low=1)
    hypothesis = check_hypothesis(z, chain)
    function.check(chain.n)
    outcome = run(function, hypothesis, chain, None, max_states)
    known = ~np.isnan(outcome.values) & (outcome.mass > 0)
    mass = outcome.mass[known]
    undefined = float(outcome.mass[np.isnan(outcome.values)].sum())
    values, place = np.unique(outcome.values[known], return_inverse=True)
    if values.size > 1:  # values that differ by rounding are one value
        size = max(float(np.abs(values).max()), 1e-300)
        merged = np.concatenate([[0], np.cumsum(np.diff(values) > 1e-13 * size)])
        values = values[np.flatnonzero(np.diff(merged, prepend=-1))]
        place = merged[place]
    chances = np.bincount(place, mass, minlength=values.size).astype(np.float64)
    total = chances.sum()
    return UtilityDistribution(values, chances / total if total else chances, undefined)
