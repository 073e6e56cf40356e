"""Limits of a rule, and the objective that it is chosen by."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, NoReturn, Protocol

import numpy as np

from argmetric._expected import TIE
from argmetric._input.arguments import check_fraction, check_number
from argmetric._input.types import Booleans, Floats, Integers
from argmetric._tune._scan import Cuts, means
from argmetric.metrics import MCC, Accuracy, BalancedAccuracy, GMean, Kappa, Metric

Numbers = Floats | float


@dataclass(frozen=True)
class RuleLimits:
    """`max_positives` is a count where it is an int, a share where it is a float."""

    min_precision: float | None = None
    min_recall: float | None = None
    max_positives: int | float | None = None
    min_specificity: float | None = None
    min_npv: float | None = None

    @property
    def given(self) -> dict[str, float]:
        """The limits that were set."""
        return {name: x for name, x in vars(self).items() if x is not None}

    def of_share(self, n: float) -> RuleLimits:
        """Limits for any number of rows: a count among n becomes a share."""
        most = self.max_positives
        return replace(self, max_positives=most / n) if isinstance(most, int) else self

    def allowed(self, tp: Floats, k: Floats, t: Numbers, n: Numbers) -> Booleans | None:
        """Which cells obey; an empty prediction passes the floor under precision."""
        if not self.given:
            return None
        result = np.ones(np.shape(k), dtype=bool)
        if self.min_precision is not None:
            result &= tp >= self.min_precision * k * (1.0 - TIE)
        if self.min_recall is not None:
            result &= tp >= self.min_recall * t * (1.0 - TIE)
        tn = n - t - (k - tp)
        if self.min_specificity is not None:
            result &= tn >= self.min_specificity * (n - t) * (1.0 - TIE)
        if self.min_npv is not None:
            result &= tn >= self.min_npv * (n - k) * (1.0 - TIE)
        return result & self.within_budget(k, n)

    def within_budget(self, k: Floats, n: Numbers) -> Booleans:
        most = self.max_positives
        if most is None:
            return np.ones(np.shape(k), dtype=bool)
        return np.asarray(
            k <= (most if isinstance(most, int) else most * n) * (1 + TIE)
        )

    def allowed_cuts(self, cuts: Cuts) -> Booleans | None:
        """Which cuts obey; an error that says what can be had, where none does."""
        allowed = self.allowed(cuts.tp, cuts.k, cuts.t, cuts.n)
        if allowed is not None and not allowed.any():
            self._refuse(cuts)
        return allowed

    def _refuse(self, cuts: Cuts) -> NoReturn:
        """Say of each floor the most that the other limits leave."""
        tp, k, t, n = cuts.tp, cuts.k, cuts.t, cuts.n
        tn = n - t - (k - tp)
        shares = {
            "min_recall": (tp, t),
            "min_precision": (tp, k),
            "min_specificity": (tn, n - t),
            "min_npv": (tn, n - k),
        }
        text = " and ".join(f"{name}={x:g}" for name, x in self.given.items())
        parts = []
        for name, (hits, of) in shares.items():
            without = replace(self, **{name: None})  # type: ignore[arg-type]
            others = without.allowed(tp, k, t, n)
            if name not in self.given or others is None or not others.any():
                continue
            share = np.divide(hits, of, out=np.full(k.shape, -1.0), where=of > 0.0)  # type: ignore[arg-type]
            best = share[others].max()
            rest = " and ".join(f"{one}={x:g}" for one, x in without.given.items())
            kind = name.removeprefix("min_")
            parts.append(f"the best {kind} that {rest} can have is {best:.4g}")
        raise ValueError(f"no cut meets {text}: {', '.join(parts)}")


def check_tune_limits(
    min_precision: float | None,
    min_recall: float | None,
    max_positives: Any,
    **others: float | None,
) -> RuleLimits:
    floors = {"min_precision": min_precision, "min_recall": min_recall, **others}
    given = {name: x for name, x in floors.items() if x is not None}
    for name, value in given.items():
        check_fraction(value, name)
    most: int | float | None = None
    if max_positives is not None:
        most = check_number(max_positives, "max_positives")
        if isinstance(max_positives, Integral):  # 1 is a row, 1.0 all of them
            most = int(max_positives)
    if most is not None:
        if most < 0 or (most > 1 and most != int(most)):
            raise ValueError(
                "max_positives must be a whole number of rows, or a share from 0 to 1, "
                f"not {max_positives!r}"
            )
        if most > 1:
            most = int(most)
    parts = {name: float(value) for name, value in given.items()}
    return RuleLimits(max_positives=most, **parts)  # type: ignore[arg-type]


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


def objective_of(metric: Metric, *, by_support: bool = False) -> ClassObjective:
    """The mean over classes, or the form that a metric has for several classes."""
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


def score_confusion(objective: ClassObjective, table: Floats) -> Floats:
    """Score of one confusion matrix, or of a stack of them."""
    tp = np.diagonal(table, axis1=-2, axis2=-1)
    t, k = table.sum(axis=-1), table.sum(axis=-2)
    n = t.sum(axis=-1, keepdims=True)
    sums = objective.parts(tp, k, t, n).sum(axis=-1)
    return objective.combine(sums, t, n[..., 0])
