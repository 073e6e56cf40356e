"""distribution: the law of a utility, not only its mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._input.arguments import check_count
from argmetric._input.types import Floats
from argmetric._results.discrete import DiscreteLaw, distinct
from argmetric._results.display import Lines, Result, draw_law, drawing
from argmetric.sequence._expectation import check_hypothesis
from argmetric.sequence._models import as_chain
from argmetric.sequence._runs import run
from argmetric.sequence._utilities import as_utility

COVERAGE = 0.9  # of the interval that is shown


@dataclass(frozen=True, repr=False, eq=False)
class UtilityDistribution(Result, DiscreteLaw):
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

    @property
    def _interval(self) -> tuple[float, float]:
        tail = (1 - COVERAGE) / 2
        return self.quantile(tail), self.quantile(1 - tail)

    def _lines(self) -> Lines:
        if not self.values.size:
            return [("never defined", "")]
        low, high = self._interval
        return [
            ("mean", f"{self.mean:.4f}"),
            ("median", f"{self.quantile(0.5):.4f}"),
            (f"{COVERAGE:.0%}", f"from {low:.4f} to {high:.4f}"),
            (f"{self.values.size}", "values"),
        ]

    def __repr__(self) -> str:
        parts = (" ".join(filter(None, line)) for line in self._lines())
        return f"{self._title()}({', '.join(parts)})"

    def plot(self, ax: Any = None) -> Any:
        """Draw the law with its mean and an interval from quantile to quantile.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        with drawing(ax, xlabel="utility", ylabel="probability") as ax:
            draw_law(ax, self, self._interval, COVERAGE)
        return ax


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
    undefined = float(outcome.mass[np.isnan(outcome.values)].sum())
    values, mass = distinct(outcome.values[known], outcome.mass[known])
    return UtilityDistribution(values, mass / (mass.sum() or 1.0), undefined)
