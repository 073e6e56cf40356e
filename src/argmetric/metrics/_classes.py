"""Metrics of one label per row: functions of a confusion matrix of several classes.

A table holds counts by true class (rows) and predicted class (columns). Of class c,
tp_c is on the diagonal, k_c is the column sum, t_c the row sum, n the sum of all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal

import numpy as np

from argmetric._ground.arguments import check_choice, shown
from argmetric._ground.plain import plain, restore_values
from argmetric._ground.types import AnyArray, Floats
from argmetric._ground.validation import place, to_floats
from argmetric.metrics._base import CustomMetric, Metric
from argmetric.metrics._fractional import (
    HEAVIEST,
    Accuracy,
    FBeta,
    Jaccard,
    Precision,
    Tversky,
)
from argmetric.metrics._names import MetricLike, MissingFunction, get_metric
from argmetric.metrics._rates import MCC, BalancedAccuracy, GMean, Kappa, Recall

ClassAverage = Literal["macro", "weighted"]
ABSENT = {0.0: "counts 0", 1.0: "counts 1"}


@dataclass(frozen=True)
class ClassMetric:
    """A score of a confusion matrix of several classes; greater is better."""

    name: str  # what results call it, such as "macro f1"
    # what a class counts that is neither true nor predicted in any row: 0, 1, or nan
    # where it is left out of the mean
    zero_division: float = math.nan

    greater_is_better: ClassVar[bool] = True

    @property
    def zero_divisions(self) -> tuple[float, ...]:
        """Values of zero_division beside nan that it can take; others are refused."""
        return 0.0, 1.0

    def score(self, table: Floats) -> Floats:
        """Return the score of a table, or of a stack of tables."""
        raise NotImplementedError

    @property
    def range(self) -> tuple[float, float]:
        """Return the least and the greatest value."""
        return 0.0, 1.0

    @property
    def convention(self) -> str:
        """Return how absent classes count, in words; empty where it does not matter."""
        return ""

    def to_dict(self) -> dict[str, Any]:
        """Return class and parameters for JSON; only the name of a function."""
        own = {one.name: getattr(self, one.name) for one in fields(self)}
        own.pop("function", None)
        values = {name: plain(value) for name, value in own.items()}
        return {"class": type(self).__name__, **values}


def _margins(table: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    tp = np.diagonal(table, axis1=-2, axis2=-1)
    t, k = table.sum(axis=-1), table.sum(axis=-2)
    return tp, k, t, t.sum(axis=-1)


def ratio_or(above: AnyArray, below: AnyArray, otherwise: float | AnyArray) -> Floats:
    """Return above/below, and `otherwise` where below is 0."""
    safe = np.where(below > 0.0, below, 1.0)
    return np.where(below > 0.0, above / safe, otherwise)


@dataclass(frozen=True)
class ClassRatio(ClassMetric):
    """Mean over the classes of a·tp / (b_tp·tp + b_k·k + b_t·t).

    With `by_support` a class weighs as many rows as it has. Where a class is absent
    (k = t = 0) it counts `zero_division`; any other 0/0 counts 0, except that a recall
    (b_k = 0) leaves classes without true rows out.
    """

    a: float = 1.0
    b_tp: float = 0.0
    b_k: float = 0.0
    b_t: float = 0.0
    by_support: bool = False

    @property
    def needs_truth(self) -> bool:
        """Whether a class without true rows has no value: recalls."""
        return self.b_k == 0.0

    @property
    def zero_divisions(self) -> tuple[float, ...]:
        return () if self.needs_truth else (0.0, 1.0)

    def values(self, tp: Floats, k: Floats, t: Floats) -> Floats:
        """Return the value of each class, nan where it is left out."""
        below = self.b_tp * tp + self.b_k * k + self.b_t * t
        absent = np.where(k + t > 0.0, 0.0, self.zero_division)
        return ratio_or(self.a * tp, below, math.nan if self.needs_truth else absent)

    def score(self, table: Floats) -> Floats:
        """Return the mean value of the classes, plain or weighted by support."""
        tp, k, t, _ = _margins(table)
        values = self.values(tp, k, t)
        weight = np.where(np.isnan(values), 0.0, t if self.by_support else 1.0)
        total = (np.nan_to_num(values) * weight).sum(axis=-1)
        return ratio_or(total, weight.sum(axis=-1), math.nan)

    @property
    def convention(self) -> str:
        if self.needs_truth:
            return "a class without true rows is left out"
        missed = "" if self.b_t else "a true class that is never predicted counts 0"
        if self.by_support:
            return missed
        absent = ABSENT.get(self.zero_division, "is left out")
        told = f"a class that is neither true nor predicted {absent}"
        return f"{told}, {missed}" if missed else told


@dataclass(frozen=True)
class ClassGMean(ClassMetric):
    """Geometric mean of the recalls of the classes that have true rows."""

    zero_divisions = ()

    def score(self, table: Floats) -> Floats:
        tp, _, t, _ = _margins(table)
        with np.errstate(divide="ignore"):
            logs = np.log(ratio_or(tp, t, 1.0))
        return np.exp(ratio_or(logs.sum(axis=-1), (t > 0.0).sum(axis=-1), math.nan))

    convention = "a class without true rows is left out"


@dataclass(frozen=True)
class ClassCorrelation(ClassMetric):
    """(n·Σ tp − Σ k·t) / √((n² − Σ k²)(n² − Σ t²)); 0 where a margin is empty."""

    zero_divisions = (0.0,)

    range = (-1.0, 1.0)

    def score(self, table: Floats) -> Floats:
        tp, k, t, n = _margins(table)
        spread = (n * n - (k * k).sum(axis=-1)) * (n * n - (t * t).sum(axis=-1))
        above = n * tp.sum(axis=-1) - (k * t).sum(axis=-1)
        return ratio_or(above, np.sqrt(np.maximum(spread, 0.0)), 0.0)


@dataclass(frozen=True, eq=False)
class ClassAgreement(ClassMetric):
    """Cohen's kappa 1 − Σ w_ab·M_ab / Σ w_ab·t_a·k_b/n, w_ab the disagreement.

    w = |a−b|^power, for classes in order: 1 is linear and 2 quadratic. Nominal kappa
    has the power 0, and w = 1 off the diagonal.
    """

    power: int = 0

    zero_divisions = (0.0,)

    range = (-1.0, 1.0)

    def disagreement(self, n_classes: int) -> Floats:
        """Return the weights w of a true class a and a predicted class b."""
        steps = np.arange(n_classes, dtype=np.float64)
        apart = np.abs(steps[:, None] - steps)
        return np.where(apart > 0.0, apart**self.power, 0.0)

    def score(self, table: Floats) -> Floats:
        """Return weighted kappa: 1 - observed / expected disagreement."""
        w = self.disagreement(table.shape[-1])
        _, k, t, n = _margins(table)
        seen = (w * table).sum(axis=(-2, -1))
        expected = np.einsum("...a,ab,...b->...", t, w, k) / np.maximum(n, 1.0)
        return np.where(expected > 0.0, 1.0 - ratio_or(seen, expected, 0.0), 0.0)


@dataclass(frozen=True, eq=False)
class ClassGain(ClassMetric):
    """Mean gain of a row: matrix[a, b] where a is true and b predicted.

    Accuracy has the identity; costs have their negative.
    """

    matrix: Floats | None = field(default=None, repr=False)

    @property
    def range(self) -> tuple[float, float]:
        if self.matrix is None:
            return 0.0, 1.0
        return float(self.matrix.min()), float(self.matrix.max())

    def gains(self, n_classes: int) -> Floats:
        return np.eye(n_classes) if self.matrix is None else self.matrix

    def score(self, table: Floats) -> Floats:
        total = (self.gains(table.shape[-1]) * table).sum(axis=(-2, -1))
        return ratio_or(total, table.sum(axis=(-2, -1)), math.nan)


@dataclass(frozen=True, eq=False)
class ClassFunction(ClassMetric):
    """A function of the table of counts, true classes in rows, predicted in columns."""

    function: Callable[[Floats], float] = field(default=float, repr=False)

    zero_divisions = ()

    range = (-math.inf, math.inf)

    def score(self, table: Floats) -> Floats:
        if table.ndim == 2:
            return np.float64(self._one(table))  # type: ignore[return-value]
        flat = table.reshape(-1, *table.shape[-2:])
        return np.array([self._one(one) for one in flat]).reshape(table.shape[:-2])

    def finite_score(self, table: Floats) -> float:
        """Return the score of one table; refuse one that is not finite."""
        value = self._one(table)
        if math.isfinite(value):
            return value
        n = len(table)
        raise ValueError(
            f"the metric {self.name} gives {value:g} for a table of {n} x {n} counts "
            f"that sum to {table.sum():g}: it must return a finite number, such as 0 "
            "where it would divide by 0"
        )

    def _one(self, table: Floats) -> float:
        """Return the value of the user's function for one table, as a float."""
        value = self.function(table)
        try:
            return float(value)
        except (TypeError, ValueError):
            raise TypeError(
                f"the metric {self.name} must give one number for a table of counts, "
                f"not {shown(value)}"
            ) from None


def class_metric_from_dict(values: dict[str, Any]) -> ClassMetric:
    """Return the metric that `ClassMetric.to_dict` described."""
    known = {key: restore_values(one) for key, one in values.items() if key != "class"}
    if known.pop("quadratic", False):  # as older files have it
        known["power"] = 2
    kinds = {one.__name__: one for one in ClassMetric.__subclasses__()}
    kind = values["class"]
    if kind not in kinds:
        raise ValueError(f"no metric of the class {kind!r} is known here")
    if kind == "ClassFunction":
        known["function"] = MissingFunction(str(known["name"]))
    if known.get("matrix") is not None:
        known["matrix"] = np.array(known["matrix"], dtype=np.float64)
    return kinds[kind](**known)


def get_class_metric(
    metric: MetricLike | ClassMetric | None = None,
    *,
    average: str | None = None,
    zero_division: float | None = None,
    cost: object = None,
    n_classes: int,
) -> ClassMetric:
    """Return the metric of one label per row for a name, an instance or a cost.

    Parameters
    ----------
    metric : str, Metric, ClassMetric, callable or None
        None goes with a cost, and is "f1" without one. "f1", "f2", "jaccard",
        "precision", "recall": averaged over the classes.
        "balanced_accuracy", "gmean", "mcc", "kappa", "linear_kappa",
        "quadratic_kappa", "accuracy": their forms for several classes. A function of
        the table of counts.
    average : {"macro", "weighted"}, optional
        For metrics that are averaged: every class weighs the same (default), or as
        many rows as it has.
    zero_division : {0.0, 1.0, nan}, optional
        What an absent class counts; nan, the default, leaves it out. A value that
        would change nothing is refused.
    cost : array-like of shape (classes, classes), optional
        Cost of a true class (row) that is predicted as another (column), in place of a
        metric.
    n_classes : int
        Number of classes.
    """
    absent = math.nan
    if zero_division is not None:  # checked as that of one class
        absent = FBeta(zero_division=zero_division).zero_division
    if average is not None:
        check_choice(average, "average", ("macro", "weighted"))
    found = _class_metric(metric, average, absent, cost, n_classes)
    if zero_division is not None:
        refuse_ignored_absence(absent, found)
        found = replace(found, zero_division=absent)
    return found


def refuse_ignored_absence(absent: float, *metrics: Metric | ClassMetric) -> None:
    """Refuse a zero_division that would change nothing for any of the metrics."""
    ignored = []
    for metric in metrics:
        known: Metric | ClassMetric | None = metric
        if isinstance(metric, Recall):
            known = _class_mean(metric, by_support=False, absent=absent)
        elif isinstance(metric, Metric):
            known = _of_classes(metric, absent)
        if not isinstance(known, ClassMetric) or absent in known.zero_divisions:
            return
        ignored.append(known)
    if not math.isnan(absent):
        why = ignored[0].convention or "its 0/0 has a value of its own"
        raise ValueError(
            f"zero_division={absent:g} would change nothing for {ignored[0].name} of "
            f"several classes ({why}): leave it out"
        )


def _class_metric(
    metric: MetricLike | ClassMetric | None,
    average: str | None,
    absent: float,
    cost: object,
    n_classes: int,
) -> ClassMetric:
    """Return the metric of options that are already checked."""
    if cost is not None:
        if metric is not None:
            raise ValueError("pass either cost or metric, not both")
        return ClassGain("negative cost", absent, _cost_matrix(cost, n_classes))
    metric = "f1" if metric is None else metric
    if isinstance(metric, ClassMetric):
        by_support = isinstance(metric, ClassRatio) and metric.by_support
        if average is not None and by_support != (average == "weighted"):
            raise ValueError(
                f"average={average!r} is not that of {metric.name}, which the labels "
                "were decided for: pass metric as well"
            )
        return metric
    if callable(metric) and not isinstance(metric, Metric):
        return ClassFunction(getattr(metric, "__name__", "metric"), absent, metric)
    found = ordinal_kappa(metric) or get_metric(metric)
    if isinstance(found, CustomMetric):
        return ClassFunction(found.name, absent, found.function)
    of_classes = _of_classes(found, absent)
    if of_classes is None:
        assert isinstance(found, Metric)
        of_classes = _class_mean(found, average == "weighted", absent)
    elif average == "weighted":
        raise ValueError(f"{found.name} of several classes is no mean over classes")
    return of_classes


def ordinal_kappa(metric: object) -> ClassAgreement | None:
    """Return the kappa of classes in order that a name means, or None."""
    if isinstance(metric, ClassAgreement):
        return metric if metric.power else None
    power = _ORDINAL.get(metric) if isinstance(metric, str) else None
    if power is None:
        return None
    return ClassAgreement(str(metric).replace("_", " "), power=power)


_ORDINAL = {"linear_kappa": 1, "quadratic_kappa": 2}


def check_order(
    metric: object,
    classes: Sequence[Any],
    way_out: str = "pass classes=, the classes in their order",
) -> None:
    """Refuse three or more names that are sorted by letters, for classes in order."""
    found = ordinal_kappa(metric)
    if found is None or len(classes) < 3 or not isinstance(classes[0], str):
        return
    if list(classes) == sorted(classes):
        name = metric if isinstance(metric, str) else found.name
        raise ValueError(
            f"{name} is for classes in order, and names are sorted by letters "
            f"({', '.join(map(shown, classes[:3]))}): {way_out}"
        )


def _cost_matrix(cost: object, n_classes: int) -> Floats:
    """Return the utility -cost of a checked matrix (n_classes, n_classes)."""
    found = to_floats(cost, "cost")
    if found.shape != (n_classes, n_classes):
        raise ValueError(
            f"cost must be a matrix of {n_classes} x {n_classes}, true class by "
            f"predicted class, not of shape {found.shape}"
        )
    wrong = np.flatnonzero(~np.isfinite(found))
    if wrong.size:
        at = place(int(wrong[0]), found.shape)
        raise ValueError(
            f"cost is {found.flat[wrong[0]]:g} at {at}; costs are finite numbers: "
            "write a large one for what must not happen"
        )
    return -found


_OF_CLASSES: dict[type[Metric], ClassMetric] = {
    MCC: ClassCorrelation("mcc"),
    Kappa: ClassAgreement("kappa"),
    Accuracy: ClassGain("accuracy"),
    GMean: ClassGMean("gmean"),
    BalancedAccuracy: ClassRatio("balanced accuracy", b_t=1.0),
}


def _of_classes(metric: Metric | ClassMetric, absent: float) -> ClassMetric | None:
    """Return the multi-class form of a metric that has one of its own."""
    if isinstance(metric, ClassMetric):
        return replace(metric, zero_division=absent)
    for kind, form in _OF_CLASSES.items():
        if isinstance(metric, kind):
            return replace(form, zero_division=absent)
    return None


def _class_mean(metric: Metric, by_support: bool, absent: float) -> ClassRatio:
    """Return the mean over classes of tp over a sum of tp, k and t."""
    name = f"{'weighted' if by_support else 'macro'} {metric.name}"
    known: dict[str, float] | None = None
    if isinstance(metric, FBeta):
        (_, above, _, _), (_, _, _, square) = metric.coefficients
        known = {"a": above, "b_k": 1.0, "b_t": square}
    elif isinstance(metric, Jaccard):
        known = {"b_tp": -1.0, "b_k": 1.0, "b_t": 1.0}
    elif isinstance(metric, Tversky):
        alpha, beta = metric.alpha, metric.beta
        if max(alpha, beta) > HEAVIEST:
            raise ValueError(
                f"{metric.name} of several classes loses true positives beside its "
                f"weights: alpha and beta must be at most {HEAVIEST:g}"
            )
        known = {"b_tp": 1.0 - alpha - beta, "b_k": alpha, "b_t": beta}
    elif isinstance(metric, Precision):
        known = {"b_k": 1.0}
    elif isinstance(metric, Recall):
        known = {"b_t": 1.0}
    if known is None:
        raise ValueError(
            f"{metric.name} has no form for several classes; there are f1 (f2, ...), "
            "jaccard, tversky, precision, recall, balanced_accuracy, gmean, mcc, "
            "kappa, linear_kappa, quadratic_kappa and accuracy; in Python also a cost "
            "matrix (cost=) and functions of the table of counts"
        )
    return ClassRatio(name, absent, by_support=by_support, **known)
