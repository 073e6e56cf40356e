"""Estimates of slopes and ratios over independent draws, with their intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from papers_parts.claim import Estimate

GRADIENT_STEP = 1e-3


def jackknife(statistic: Callable[[np.ndarray], float], values: np.ndarray) -> Estimate:
    """A statistic of independent draws (rows of `values`), by its pseudo-values."""
    n, whole = len(values), statistic(values)
    parts = [statistic(np.delete(values, i, axis=0)) for i in range(n)]
    return Estimate.of(n * whole - (n - 1) * np.array(parts))


def log_slope(sizes: np.ndarray, values: np.ndarray) -> float:
    """Slope of log value over log size, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def slope(sizes: np.ndarray, values: np.ndarray) -> Estimate:
    """Of the log of the mean over log size; `values` are draws by sizes."""
    return jackknife(lambda part: log_slope(sizes, part.mean(axis=0)), values)


def slope_error_of(objective: Any, theta: np.ndarray) -> float:
    """Five-point differences of a value against its gradient, as a relative error."""
    _, gradient = objective.value_and_gradient(theta)
    numeric = np.empty(theta.size)
    for j in range(theta.size):
        values = []
        for steps in (-2, -1, 1, 2):
            moved = theta.copy()
            moved[j] += steps * GRADIENT_STEP
            values.append(objective.value_and_gradient(moved)[0])
        before_2, before, after, after_2 = values
        numeric[j] = (8 * (after - before) - (after_2 - before_2)) / (
            12 * GRADIENT_STEP
        )
    return float(np.abs(gradient - numeric).max() / np.abs(numeric).max())
