"""Metrics of the two rates tp/t and tn/(n-t)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from argmetric._ground.types import Floats
from argmetric.metrics._base import Metric, ratio, true_negatives
from argmetric.metrics._forms import Form, ItemForm, RatesForm


class _Rates(Metric):
    """A function of the two rates, each zero_division at 0/0."""

    convention: ClassVar[str] = "t = 0 or t = n: zero_division for the undefined rate"
    monotone_proof: ClassVar[str] = "both rates rise with tp"

    def _rates(
        self, tp: Floats, k: Floats, t: Floats, n: Floats
    ) -> tuple[Floats, Floats]:
        tnr = ratio(true_negatives(tp, k, t, n), n - t, self.zero_division)
        return ratio(tp, t, self.zero_division), tnr


def _one(k: Floats, n: Floats) -> Floats:
    return np.ones(k.shape)


def _half(k: Floats, n: Floats) -> Floats:
    return np.full(k.shape, 0.5)


@dataclass(frozen=True, repr=False, eq=False)
class BalancedAccuracy(_Rates):
    """Balanced accuracy (AM): the mean of tp/t and tn/(n-t)."""

    short_name: ClassVar[str] = "balanced_accuracy"
    aliases: ClassVar[tuple[str, ...]] = ("am", "bacc")
    formula: ClassVar[str] = "(tp/t + tn/(n-t)) / 2"
    convention: ClassVar[str] = "a class that is absent is dropped, as in scikit-learn"

    @property
    def form(self) -> Form:
        """Item weights over both classes."""
        return ItemForm(1.0, _half, _half)

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        tpr = ratio(tp, t, math.nan)
        tnr = ratio(true_negatives(tp, k, t, n), n - t, math.nan)
        both = 0.5 * (tpr + tnr)
        return np.where(np.isnan(tpr), tnr, np.where(np.isnan(tnr), tpr, both))


@dataclass(frozen=True, repr=False, eq=False)
class Youden(_Rates):
    """Youden's J: tp/t + tn/(n-t) - 1."""

    short_name: ClassVar[str] = "youden"
    formula: ClassVar[str] = "tp/t + tn/(n-t) - 1"

    @property
    def form(self) -> Form:
        """Item weights over both classes."""
        return ItemForm(1.0, _one, _one, offset=-1.0)

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        tpr, tnr = self._rates(tp, k, t, n)
        return tpr + tnr - 1.0


@dataclass(frozen=True, repr=False, eq=False)
class Recall(_Rates):
    """Recall (true positive rate): tp / t."""

    short_name: ClassVar[str] = "recall"
    aliases: ClassVar[tuple[str, ...]] = ("sensitivity", "tpr")
    formula: ClassVar[str] = "tp / t"
    convention: ClassVar[str] = "t = 0: zero_division"

    @property
    def form(self) -> Form:
        """Item weights over the positives."""
        return ItemForm(1.0, _one, None)

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        return ratio(tp, t, self.zero_division)


@dataclass(frozen=True, repr=False, eq=False)
class Specificity(_Rates):
    """Specificity (true negative rate): tn / (n-t)."""

    short_name: ClassVar[str] = "specificity"
    aliases: ClassVar[tuple[str, ...]] = ("tnr",)
    formula: ClassVar[str] = "tn / (n-t)"
    convention: ClassVar[str] = "t = n: zero_division"

    @property
    def form(self) -> Form:
        """Item weights over the negatives."""
        return ItemForm(1.0, None, _one)

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        return ratio(true_negatives(tp, k, t, n), n - t, self.zero_division)


@dataclass(frozen=True, repr=False, eq=False)
class GMean(_Rates):
    """Geometric mean of the two rates."""

    short_name: ClassVar[str] = "gmean"
    formula: ClassVar[str] = "√(tp/t · tn/(n-t))"

    @property
    def form(self) -> Form:
        """A mean of two rates."""
        return RatesForm("geometric")

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        tpr, tnr = self._rates(tp, k, t, n)
        return np.sqrt(tpr * tnr)


@dataclass(frozen=True, repr=False, eq=False)
class HMean(_Rates):
    """Harmonic mean of the two rates; 0 where both are 0."""

    short_name: ClassVar[str] = "hmean"
    formula: ClassVar[str] = "2 / (t/tp + (n-t)/tn)"

    @property
    def form(self) -> Form:
        """A mean of two rates."""
        return RatesForm("harmonic")

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        tpr, tnr = self._rates(tp, k, t, n)
        return ratio(2.0 * tpr * tnr, tpr + tnr, 0.0)


@dataclass(frozen=True, repr=False, eq=False)
class QMean(_Rates):
    """One minus the quadratic mean of the two error rates."""

    short_name: ClassVar[str] = "qmean"
    formula: ClassVar[str] = "1 - √(((fn/t)² + (fp/(n-t))²) / 2)"

    @property
    def form(self) -> Form:
        """A mean of two rates."""
        return RatesForm("quadratic")

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        tpr, tnr = self._rates(tp, k, t, n)
        return 1.0 - np.sqrt(((1.0 - tpr) ** 2 + (1.0 - tnr) ** 2) / 2.0)
