"""decode: the labels with the best expected utility under a model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._input.arguments import check_count
from argmetric._input.types import Floats, Integers
from argmetric._results.display import Lines, Result
from argmetric._results.pictures import Mark, draw_curve, drawing
from argmetric._results.saving import shown_number
from argmetric.metrics import Metric
from argmetric.sequence._exact import decode_windows, is_affine, maximise
from argmetric.sequence._expectation import UtilityDistribution, distribution, expected
from argmetric.sequence._models import Chain, Independent, as_chain
from argmetric.sequence._search import CLOSED, search
from argmetric.sequence._utilities import CountUtility, SimpleFunction, as_utility


@dataclass(frozen=True, repr=False, eq=False)
class SequenceDecision(Result):
    """The labels to hand in for a sequence, and the utility to expect.

    Attributes
    ----------
    labels : ndarray of {0, 1}
        One for each position.
    expected : float
        Expected utility of these labels.
    proven : bool
        Whether no other labels have a better expectation, but for rounding.
    bound : float
        No labels have a better expectation than this; equal to `expected` if proven,
        infinite where nothing is known.
    curve : ndarray or None
        Best expectation for every number of positives, where it was computed.
    utility : SimpleFunction
        What was optimised.
    method : str
        How the labels were found.
    """

    labels: Integers
    expected: float
    proven: bool
    bound: float
    curve: Floats | None
    utility: SimpleFunction
    method: str
    _chain: Chain

    @property
    def n(self) -> int:
        """Number of labels."""
        return int(self.labels.size)

    @property
    def n_positives(self) -> int:
        """How many labels are 1."""
        return int(self.labels.sum())

    def distribution(self) -> UtilityDistribution:
        """Law of the utility of these labels, exactly."""
        return distribution(self.utility, self.labels, self._chain)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays, for JSON."""
        return {
            "utility": self.utility.name,
            "n": self.n,
            "n_positives": self.n_positives,
            "expected": self.expected,
            "proven": self.proven,
            "bound": shown_number(self.bound),
            "method": self.method,
        }

    def _lines(self) -> Lines:
        known = "proven" if self.proven else "not proven"
        if not self.proven and math.isfinite(self.bound):
            known += f", none beats {self.bound:.4f}"
        return [
            ("utility", self.utility.name),
            ("positives", f"{self.n_positives:,} of {self.n:,}"),
            ("expected", f"{self.expected:.4f}"),
            ("optimum", known),
            ("found by", self.method),
        ]

    def plot(self, ax: Any = None) -> Any:
        """Draw the best expectation for every number of positives.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        if self.curve is None:
            raise ValueError(
                f"there is no curve to draw: the method {self.method!r} makes none; "
                "distribution() has a picture of its own"
            )
        k, value = self.n_positives, self.expected
        mark = Mark(k, value, f"decision: {k:,} positives, {value:.3f}")
        name = f"expected {self.utility.name}"
        with drawing(ax, xlabel="labels predicted positive", ylabel=name) as ax:
            draw_curve(ax, self.curve, k, f"{name} of the best k", [mark])
        return ax


def decode(
    metric: Any,
    model: Any,
    *,
    zero_division: float | None = None,
    budget: int = 2000,
) -> SequenceDecision:
    """Labels with the best expected utility under a model.

    Parameters
    ----------
    metric : str, Metric or SimpleFunction
        What is optimised. A metric of counts is maximised exactly for independent
        labels (:func:`argmetric.decide`) and, if it is affine in tp at fixed numbers
        of predicted and actual positives, for every other model: F-measures, MCC,
        kappa, balanced accuracy, recall and most others, but not Jaccard and the means
        of two rates. `Hamming`, `ZeroOne`, `Pk`, `WindowDiff` and windows of your own
        are exact too. Everything else is searched.
    model : Independent, MarkovChain or LinearChainCRF
        Law of the labels.
    zero_division : {0.0, 1.0, nan}, optional
        Value of 0/0, by default the metric's own.
    budget : int, default=2000
        How many label sequences a search may look at.

    Returns
    -------
    SequenceDecision
        With `labels`, `expected` and `proven`.

    Examples
    --------
    >>> from argmetric.sequence import MarkovChain, decode
    >>> chain = MarkovChain([0.7, 0.3], [[[0.9, 0.1], [0.4, 0.6]]] * 5)
    >>> decode("f1", chain)
    SequenceDecision
      utility    f1
      positives  6 of 6
      expected   0.3116
      optimum    proven
      found by   general F-maximiser
    """
    function, chain = as_utility(metric), as_chain(model)
    budget = check_count(budget, "budget", low=1)
    if zero_division is not None:
        if not isinstance(function, CountUtility):
            raise ValueError(f"{function.name} has no zero_division")
        function = CountUtility(function.counts.with_zero_division(zero_division))
    function.check(chain.n)

    def decision(
        labels: Integers, value: float, bound: float, curve: Floats | None, how: str
    ) -> SequenceDecision:
        proven = abs(value - bound) <= CLOSED * max(1.0, abs(value))
        bound = value if proven else bound
        return SequenceDecision(
            np.asarray(labels), value, proven, bound, curve, function, how, chain
        )

    if isinstance(function, CountUtility):
        counts: Metric = function.counts
        if isinstance(model, Independent) and counts.ranking_principle(chain.n):
            from argmetric._decide import decide

            best = decide(model.p, counts, check=False)
            value = best.expected
            return decision(best.labels, value, value, best.curve, "most probable k")
        if is_affine(counts, chain.n):
            top = maximise(counts, chain)
            how = "general F-maximiser"
            return decision(top.labels, top.expected, top.expected, top.curve, how)
    else:
        labels = decode_windows(function, chain)
        if labels is not None:
            value = expected(function, labels, chain).value
            return decision(labels, value, value, None, "shortest path")
    found = search(function, chain, budget)
    how = "all hypotheses" if found.exhaustive else "search with bounds"
    return decision(found.labels, found.expected, found.bound, None, how)
