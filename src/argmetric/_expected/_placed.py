"""The expected metric at some counts of one long vector."""

from __future__ import annotations

import numpy as np

from argmetric._expected._powers import TOTAL_TERMS, evaluator_of
from argmetric._input.types import Floats, Integers
from argmetric.metrics import Metric


class PlacedSums:
    """E at some k of one long vector, for any metric, from the same sums of powers.

    Parameters
    ----------
    p : ndarray
        Probabilities in descending order.
    k : ndarray
        Ascending counts, 0 and p.size among them.
    """

    def __init__(self, p: Floats, k: Integers) -> None:
        self.n, self.k, self.largest = p.size, k, float(p[0])
        self.sums = np.zeros((TOTAL_TERMS, k.size))
        power = p.copy()
        for row in self.sums:
            np.cumsum(np.add.reduceat(power, k[:-1]), out=row[1:])
            power *= p

    def expected(self, metric: Metric) -> Floats | None:
        """The metric at all k; None where that takes the whole curve."""
        mean, squares = self.sums[:2, -1].tolist()
        spread = mean - squares
        evaluator = evaluator_of(metric, self.n, mean, spread, self.largest)
        if evaluator is None:
            return None
        sums = self.sums[: evaluator.terms]
        evaluator.begin(self.sums[:, -1])
        inner = slice(1, -1)
        k = self.k[inner].astype(float)
        if not evaluator.valid(k, sums[:, inner]).all():
            return None
        values = np.empty(self.k.size)
        values[inner] = evaluator.values(k, sums[:, inner])
        values[0], values[-1] = evaluator.none_chosen(), evaluator.all_chosen()
        return evaluator.sign * values
