"""The same objectives for gradient boosting: LightGBM and XGBoost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from argmetric._segments import expit
from argmetric._validation import check_choice, to_floats
from argmetric.metrics import Metric, MetricLike, get_metric
from argmetric.metrics._derivatives import slopes
from argmetric.train._expected import Gold, expected_f, squared_beta
from argmetric.train._rows import Floats

LEAST_SLOPE = 0.01  # of g' in the second derivative: rows beyond |z| = 4.6 move less


@dataclass(frozen=True)
class MetricObjective:
    """Gradients of a metric for boosting; made by `metric_objective`.

    Called by the library with labels and margins (scikit-learn interface) or with
    margins and its own data set (native interface); it returns the first and the second
    derivatives of the loss -U, one per row.
    """

    metric: Metric
    objective: Literal["soft", "expected"] = "soft"

    def __call__(
        self, first: Any, second: Any, sample_weight: Any = None
    ) -> tuple[Floats, Floats]:
        """First and second derivatives of the loss in the margins."""
        given = _read(first, second, sample_weight)
        p, q = expit(given.margin), expit(-given.margin)
        by_row = self._slopes(p, q, given)
        # The mean of |∂U/∂p| is made 1, as in the log-loss: settings such as the least
        # weight of a leaf or the penalty of its value then mean what they meant.
        size = float(np.abs(by_row).sum())
        by_row *= given.weight.sum() / size if size > 0 else 0.0
        slope = p * q
        second_derivative = np.abs(by_row) * np.maximum(slope, LEAST_SLOPE)
        return -slope * by_row, np.maximum(second_derivative, 1e-12)

    def eval(
        self, first: Any, second: Any, sample_weight: Any = None
    ) -> tuple[str, float, bool] | tuple[str, float]:
        """The metric of the margins cut at 0, in the form the library asks for.

        Parameters
        ----------
        first, second : array-like, or a data set of the library
            (labels, margins) or (margins, data set).
        sample_weight : array-like, optional
            Weights of the rows.

        Returns
        -------
        tuple
            (name, value, whether more is better) for LightGBM, (name, value) for
            XGBoost's native interface. Its scikit-learn interface takes `score`.
        """
        value = _score(self.metric, _read(first, second, sample_weight))
        if type(second).__module__.startswith("xgboost"):
            return self.metric.name, value
        return self.metric.name, value, self.metric.greater_is_better

    def score(
        self,
        y_true: npt.ArrayLike,
        y_pred: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
    ) -> float:
        """The metric of the margins cut at 0, as one number.

        Parameters
        ----------
        y_true, y_pred : array-like
            Labels and margins.
        sample_weight : array-like, optional
            Weights of the rows.

        Returns
        -------
        float
            Value of the metric.
        """
        return _score(self.metric, _read(y_true, y_pred, sample_weight))

    def _slopes(self, p: Floats, q: Floats, given: _Given) -> Floats:
        """∂U/∂p of every row, U to be made large."""
        positive, weight = given.positive, given.weight
        if self.objective == "expected":
            gold = Gold(positive, weight / weight.mean())
            return expected_f(p, q, gold, squared_beta(self.metric))[1]
        hits, alarms = weight[positive] @ p[positive], weight[~positive] @ p[~positive]
        t, f = weight[positive].sum(), weight[~positive].sum()
        counts = min(float(hits), float(t)), min(float(alarms), float(f))
        _, by_hits, by_alarms = slopes(self.metric, *counts, float(t), float(f))
        if not math.isfinite(by_hits + by_alarms):
            raise ValueError(f"{self.metric.name} has no slope at the counts {counts}")
        sign = 1.0 if self.metric.greater_is_better else -1.0
        return np.asarray(sign * weight * np.where(positive, by_hits, by_alarms))


def metric_objective(
    metric: MetricLike = "f1", *, objective: Literal["soft", "expected"] = "soft"
) -> MetricObjective:
    """A training objective and an eval metric for LightGBM and XGBoost.

    A leaf moves up exactly where its share of positives pays for the metric: for F1
    where it exceeds half of the F1 reached so far. The second derivative is the
    Gauss-Newton one, abs(∂U/∂p)·p(1-p), so a leaf moves by at most the learning rate.

    Parameters
    ----------
    metric : str, Metric or callable, default="f1"
        A name, a `Metric` or a function of (tp, k, t, n).
    objective : {"soft", "expected"}, default="soft"
        The metric of smooth counts, or the exact expected F-measure.

    Returns
    -------
    MetricObjective
        Use it as `objective` (`obj` of ``xgboost.train``) and its `eval` as
        `eval_metric`, `feval` or `custom_metric`. The scikit-learn interface of XGBoost
        takes `score` instead, and less for better unless its callback for early
        stopping says ``maximize=True``. Models return margins; a positive one is a
        positive label.

    Examples
    --------
    >>> import argmetric as am
    >>> objective = am.metric_objective("f1")
    >>> gradient, hessian = objective([1, 0, 0, 0], [0.0, 0.0, 0.0, 0.0])
    >>> gradient.round(4)  # one positive weighs as much as five negatives
    array([-0.625,  0.125,  0.125,  0.125])
    >>> objective.eval([1, 0, 0, 0], [0.4, -1.0, 0.2, -3.0])
    ('f1', 0.6666666666666666, True)
    """
    check_choice(objective, "objective", ("soft", "expected"))
    found = get_metric(metric)
    if objective == "expected":
        squared_beta(found)
    return MetricObjective(found, objective)


@dataclass(frozen=True)
class _Given:
    margin: Floats
    positive: npt.NDArray[np.bool_]
    weight: Floats


def _read(first: Any, second: Any, sample_weight: Any) -> _Given:
    """Margins, labels and weights from either order of arguments."""
    labels, margin = first, second
    if hasattr(second, "get_label"):
        labels, margin = second.get_label(), first
        sample_weight = second.get_weight()
    margin = to_floats(margin, "the margins")
    labels = to_floats(labels, "the labels")
    if margin.ndim != 1:
        raise ValueError(
            f"one margin per row is needed, not an array of shape {margin.shape}: "
            "the objective is for two classes"
        )
    if labels.shape != margin.shape:
        raise ValueError(f"{labels.size} labels but {margin.size} margins")
    wrong = np.flatnonzero((labels != 0) & (labels != 1))
    if wrong.size:
        row = int(wrong[0])
        raise ValueError(f"label {labels[row]:g} at row {row}; labels are 0 or 1")
    weight = np.ones(margin.size)
    if sample_weight is not None and np.size(sample_weight):
        weight = to_floats(sample_weight, "sample_weight")
        if weight.shape != margin.shape:
            raise ValueError(f"{weight.size} weights but {margin.size} margins")
    return _Given(margin, labels == 1, weight)


def _score(metric: Metric, given: _Given) -> float:
    above, weight = given.margin > 0, given.weight
    tp, k = weight[above & given.positive].sum(), weight[above].sum()
    return float(metric.value(tp, k, weight[given.positive].sum(), weight.sum()))
