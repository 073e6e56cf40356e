"""Scores of weights of classes, as sums over the classes that a scan can follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from argmetric._ground.types import Floats, Integers
from argmetric._verbs.tune import means
from argmetric.metrics import (
    MCC,
    Accuracy,
    BalancedAccuracy,
    ClassGain,
    GMean,
    Kappa,
    Metric,
)


class ClassObjective(Protocol):
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


@dataclass(frozen=True)
class Hits:
    """Share of rows whose class is right."""

    def parts(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        return np.stack(np.broadcast_arrays(tp, k, t)[:1])

    def combine(self, sums: Floats, t: Floats, n: Floats) -> Floats:
        return np.asarray(sums[0] / n)


@dataclass(frozen=True)
class Agreement:
    """Cohen's kappa of several classes: (n·Σ tp − Σ k·t) / (n² − Σ k·t)."""

    def parts(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        tp, k, t = np.broadcast_arrays(tp, k, t)
        return np.stack([tp, k * t])

    def combine(self, sums: Floats, t: Floats, n: Floats) -> Floats:
        free = n * n - sums[1]
        safe = np.where(free > 0.0, free, 1.0)
        return np.where(free > 0.0, (n * sums[0] - sums[1]) / safe, 0.0)


@dataclass(frozen=True)
class Recalls:
    """Mean of the recalls of the classes with true rows, arithmetic or geometric."""

    geometric: bool

    def parts(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        tp, t = np.broadcast_arrays(tp, t)
        there = t > 0.0
        recall = np.where(there, tp / np.where(there, t, 1.0), 0.0)
        if not self.geometric:
            return np.stack([recall, there])
        missed = there & (tp <= 0.0)
        return np.stack([np.log(np.where(recall > 0.0, recall, 1.0)), there, missed])

    def combine(self, sums: Floats, t: Floats, n: Floats) -> Floats:
        mean = means(sums[0], sums[1])
        return np.where(sums[2] > 0.5, 0.0, np.exp(mean)) if self.geometric else mean


@dataclass(frozen=True)
class Weighted:
    """Mean over the classes, each with the weight of its rows."""

    metric: Metric

    def parts(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        tp, k, t, n = np.broadcast_arrays(tp, k, t, n)
        return np.stack([np.nan_to_num(self.metric.value(tp, k, t, n)) * t])

    def combine(self, sums: Floats, t: Floats, n: Floats) -> Floats:
        return np.asarray(sums[0] / n)


def objective_of(
    metric: Metric | ClassGain, *, by_support: bool = False
) -> ClassObjective | ClassGain:
    """The mean over classes, or the form that a metric has for several classes."""
    if isinstance(metric, ClassGain):
        return metric
    if isinstance(metric, MCC):
        return Correlation()
    if isinstance(metric, Kappa):
        return Agreement()
    if isinstance(metric, Accuracy):
        return Hits()
    if isinstance(metric, BalancedAccuracy | GMean):
        return Recalls(geometric=isinstance(metric, GMean))
    return Weighted(metric) if by_support else Macro(metric)


def confusion(
    true: Integers, predicted: Integers, weight: Floats | None, classes: int
) -> Floats:
    """Weight of every pair of a true and a predicted class."""
    pairs = np.bincount(true * classes + predicted, weight, classes * classes)
    return pairs.reshape(classes, classes).astype(np.float64)


def score_confusion(objective: ClassObjective | ClassGain, table: Floats) -> Floats:
    """Score of one confusion matrix, or of a stack of them."""
    if isinstance(objective, ClassGain):
        return objective.score(table)
    tp = np.diagonal(table, axis1=-2, axis2=-1)
    t, k = table.sum(axis=-1), table.sum(axis=-2)
    n = t.sum(axis=-1, keepdims=True)
    sums = objective.parts(tp, k, t, n).sum(axis=-1)
    return objective.combine(sums, t, n[..., 0])
