"""What others do without labels: CBPE, NannyML's estimate, for F1."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from monitor_parts.cases import isotonic

BANDS = {"CBPE ± 1.645 se": 1.645, "CBPE ± 3 se": 3.0}  # NannyML draws the second


class Cbpe(NamedTuple):
    """NannyML's formula: an isotonic calibrator, and the ratio of expected counts.

    Attributes
    ----------
    probabilities : callable
        The isotonic calibrator.
    deviation, relevant : float
        Standard deviation over those rows of the reference that are hits, misses or
        false positives, of their parts of F1; and the share of such rows.
    """

    probabilities: Any
    deviation: float
    relevant: float

    @classmethod
    def fit(cls, y: np.ndarray, p: np.ndarray, labels: np.ndarray) -> Cbpe:
        hits = np.asarray(y, dtype=bool) & labels
        relevant = np.asarray(y, dtype=bool) | labels
        tp, rest = int(hits.sum()), int(relevant.sum() - hits.sum())
        if not tp + rest:
            return cls(isotonic(y, p), math.nan, 0.0)
        parts = hits[relevant] * ((tp + rest) / (tp + 0.5 * rest))
        return cls(isotonic(y, p), float(parts.std()), (tp + rest) / y.size)

    def estimate(self, p: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
        """F1 and its standard error."""
        c = self.probabilities(p)
        below = labels.sum() + c.sum()
        score = float(2 * c[labels].sum() / below) if below else 0.0
        rows = p.size * self.relevant
        return score, self.deviation / math.sqrt(rows) if rows else math.nan
