"""Objectives of the parameters θ: value and gradient in one pass over the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from argmetric._input.types import Floats
from argmetric.metrics import Metric, slopes
from argmetric.train._rows import SummedRows

UNDEFINED = -2.0  # below every value of an objective over its scale


class Objective(Protocol):
    """A function of θ that is to be made large."""

    @property
    def rows(self) -> SummedRows: ...

    @property
    def scale(self) -> float:
        """What the objective is divided by before the penalty is taken off."""

    def value_and_gradient(self, theta: Floats) -> tuple[float, Floats]: ...


class MetricGoal(Objective, Protocol):
    """An objective that stands for a metric."""

    @property
    def metric(self) -> Metric: ...


@dataclass(frozen=True)
class Likelihood:
    """Mean log-likelihood of logistic regression."""

    rows: SummedRows
    scale: float = 1.0

    def value_and_gradient(self, theta: Floats) -> tuple[float, Floats]:
        """Σ w·log p(y) / Σ w and its gradient."""
        sums, slopes_ = self.rows.sums(theta, 1.0, likelihood=True)
        total = self.rows.positives + self.rows.negatives
        return -float(sums.sum()) / total, -slopes_.sum(axis=0) / total


@dataclass(frozen=True)
class SoftMetric:
    """The metric at smooth counts (Jansche 2005, equations 5 and 6).

    With g_i = 1/(1+e^(-γ·x_i·θ)) the counts are A = Σ w·y·g, B = Σ w·y·(1-g),
    C = Σ w·(1-y)·g and D = Σ w·(1-y)·(1-g), and

        ∇U = γ·[(U_A - U_B)·Σ_{y=1} w·g(1-g)·x + (U_C - U_D)·Σ_{y=0} w·g(1-g)·x].

    One pass, O(nk) time, O(k) space. A metric that is minimised changes its sign.
    """

    rows: SummedRows
    metric: Metric
    gamma: float = 1.0

    @cached_property
    def scale(self) -> float:
        """1 for a metric within [-1, 1]; else its size at the corners of the table."""
        t, n = self.rows.positives, self.rows.positives + self.rows.negatives
        corners = self.metric.value([t, 0.0, t, 0.0], [t, 0.0, n, n - t], t, n)
        return max(1.0, float(np.nan_to_num(np.abs(corners)).max()))

    @property
    def sign(self) -> float:
        return 1.0 if self.metric.greater_is_better else -1.0

    def value_and_gradient(self, theta: Floats) -> tuple[float, Floats]:
        """U and its gradient at θ, intercept last."""
        (hits, alarms), by_class = self.rows.sums(theta, self.gamma)
        t, f = self.rows.positives, self.rows.negatives
        counts = min(float(hits), t), min(float(alarms), f)  # a sum may round up
        value, by_hits, by_alarms = slopes(self.metric, *counts, t, f)
        if not (math.isfinite(value) and math.isfinite(by_hits + by_alarms)):
            # Undefined counts: worse than anything, so that a search turns back.
            return UNDEFINED * self.scale, np.zeros(theta.size)
        gradient = self.gamma * (by_hits * by_class[0] + by_alarms * by_class[1])
        return self.sign * value, self.sign * gradient
