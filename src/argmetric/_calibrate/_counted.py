"""A reference of which sums over rows with about the same score are known."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from argmetric._calibrate._reference import Reference, furthest, row_count
from argmetric._input.types import Booleans, Floats, Integers


@dataclass(frozen=True)
class Counted(Reference):
    """Sums over rows of one class and about the same score, by rising score.

    `scores` and `known_odds` are means of the rows, `weight` is the sum of theirs.

    Attributes
    ----------
    rows : ndarray
        How many each stands for.
    squares : ndarray
        Sum of the squares of their weights.
    low, high : ndarray
        Lowest and highest of their scores.
    """

    rows: Integers = field(kw_only=True)
    squares: Floats = field(kw_only=True)
    low: Floats = field(kw_only=True)
    high: Floats = field(kw_only=True)

    @property
    def n(self) -> int:
        return int(self.rows.sum())

    @property
    def odds(self) -> Floats:
        return self.scores if self.known_odds is None else self.known_odds

    def shares(self, part: slice) -> tuple[Floats, Floats]:
        most = self.largest_weight
        return self.weights[part] / most, self.squares[part] / most**2

    def _row_count(self, part: Booleans) -> float:
        return row_count(self.weights[part], self.squares[part])

    @property
    def _furthest(self) -> float | None:
        return furthest(np.concatenate([self.low, self.high]))

    @property
    def _least_distance(self) -> float:
        distance = np.concatenate([self.low, 1.0 - self.high])
        return float(distance.min(initial=0.5, where=distance > 0.0))

    @property
    def _usual_distances(self) -> tuple[float, float]:
        positive = self._middle(self.scores, self.y)
        return positive, self._middle(1.0 - self.scores, ~self.y)

    def _middle(self, values: Floats, part: Booleans) -> float:
        """The median of the rows of a class, whose values rise or fall."""
        last = np.cumsum(self.rows[part])
        middle = [(last[-1] - 1) // 2, last[-1] // 2]
        return float(values[part][np.searchsorted(last, middle, side="right")].mean())
