"""Ridge regression on features of any scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from argmetric._input.types import Floats


@dataclass(frozen=True, eq=False)
class Linear:
    """A linear function: means and scales of the features, weights, and the mean.

    Attributes
    ----------
    means, scales, weights : ndarray of float
        One value for each feature.
    mean : float
        The value where all features have their means.
    """

    means: Floats
    scales: Floats
    weights: Floats
    mean: float

    def predict(self, features: Floats) -> Floats:
        """Values of the rows."""
        slopes = self.weights / self.scales
        found: Floats = features @ slopes + (self.mean - self.means @ slopes)
        return found


class Sums:
    """Sums that ridge regression needs, so that rows need not be kept."""

    def __init__(self, n_features: int) -> None:
        self._squares = np.zeros((n_features + 2, n_features + 2))

    def add(self, features: Floats, targets: Floats, weights: Floats) -> None:
        """Add rows."""
        rows = np.column_stack([np.ones(len(targets)), features, targets])
        self._squares += rows.T @ (weights[:, None] * rows)

    def fit(self, penalty: float) -> Linear:
        """Least Σ weight (y - f(x))² + penalty |weights|²; features have spread 1."""
        total = self._squares[0, 0] or 1.0  # no row: the function is 0
        moments = self._squares / total
        means, mean = moments[0, 1:-1], float(moments[0, -1])
        squares = moments[1:-1, 1:-1] - np.outer(means, means)
        spread = np.sqrt(np.maximum(np.diag(squares), 0.0))
        # What does not vary beyond rounding has no weight.
        is_flat = spread <= 1e-9 * np.maximum(np.abs(means), 1.0)
        scales = np.where(is_flat, 1.0, spread)
        products = np.where(is_flat, 0.0, (moments[1:-1, -1] - means * mean) / scales)
        matrix = squares / np.outer(scales, scales)
        matrix[is_flat] = matrix[:, is_flat] = 0.0
        matrix[np.diag_indices_from(matrix)] += penalty / total
        return Linear(means, scales, np.linalg.solve(matrix, products), mean)


def fit_linear(features: Floats, targets: Floats, penalty: float) -> Linear:
    """Ridge regression of rows."""
    sums = Sums(features.shape[1])
    sums.add(features, targets, np.ones(len(targets)))
    return sums.fit(penalty)
