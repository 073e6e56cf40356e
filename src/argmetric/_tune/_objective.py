"""Scores of several classes that add up over the classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from argmetric._input.types import Floats, Integers
from argmetric._tune._scan import means
from argmetric.metrics import MCC, Metric


class Objective(Protocol):
    """`parts` of every class add up; `combine` makes the score of their sums."""

    def parts(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats: ...

    def combine(self, sums: Floats, t: Floats, n: Floats) -> Floats: ...


@dataclass(frozen=True)
class Macro:
    """Mean over the classes in which the metric is defined."""

    metric: Metric

    def parts(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        values = self.metric.value(tp, k, t, n)
        missing = np.isnan(values)
        parts = np.empty((2, *values.shape))
        parts[0] = values
        parts[0][missing] = 0.0
        parts[1] = ~missing
        return parts

    def combine(self, sums: Floats, t: Floats, n: Floats) -> Floats:
        return means(sums[0], sums[1])


@dataclass(frozen=True)
class Correlation:
    """Multi-class Matthews correlation, 0 where a margin is empty.

    (n·Σ tp − Σ k·t) / √((n² − Σ k²)·(n² − Σ t²)).
    """

    def parts(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        tp, k, t = np.broadcast_arrays(tp, k, t)
        return np.stack([tp, k * t, k * k])

    def combine(self, sums: Floats, t: Floats, n: Floats) -> Floats:
        spread = np.maximum((n * n - sums[2]) * (n * n - (t * t).sum(axis=-1)), 0.0)
        safe = np.where(spread > 0, spread, 1.0)
        return np.where(spread > 0, (n * sums[0] - sums[1]) / np.sqrt(safe), 0.0)


def objective_of(metric: Metric) -> Objective:
    """The mean of the metric; the correlation has a form for classes of its own."""
    return Correlation() if isinstance(metric, MCC) else Macro(metric)


def confusion(
    true: Integers, predicted: Integers, weight: Floats | None, classes: int
) -> Floats:
    """Weight of every pair of a true and a predicted class."""
    pairs = np.bincount(true * classes + predicted, weight, classes * classes)
    return pairs.reshape(classes, classes).astype(np.float64)


def score_confusion(objective: Objective, table: Floats) -> Floats:
    """Score of one confusion matrix, or of a stack of them."""
    tp = np.diagonal(table, axis1=-2, axis2=-1)
    t, k = table.sum(axis=-1), table.sum(axis=-2)
    n = t.sum(axis=-1, keepdims=True)
    sums = objective.parts(tp, k, t, n).sum(axis=-1)
    return objective.combine(sums, t, n[..., 0])
