"""Metrics of the two rates tp/t and tn/(n-t)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from argmetric._ground.arguments import check_number, refuse_given
from argmetric._ground.types import Booleans, Floats
from argmetric._ground.validation import count_dimensions, to_floats
from argmetric.metrics._base import Metric, ratio, true_negatives
from argmetric.metrics._forms import (
    AffineFactors,
    AffineForm,
    Form,
    ItemForm,
    MeanForm,
    RankingPrinciple,
    RatesForm,
    search_violation,
)


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
    """Balanced accuracy (AM): the mean of tp/t and tn/(n-t).

    Parameters
    ----------
    zero_division : {0.0, nan}, default=0.0
        Changes nothing: a class without rows is dropped.

    Examples
    --------
    >>> import argmetric as am
    >>> am.BalancedAccuracy().value(tp=3, k=5, t=4, n=10).round(4)
    np.float64(0.7083)
    """

    short_name: ClassVar[str] = "balanced_accuracy"
    aliases: ClassVar[tuple[str, ...]] = ("am", "bacc")
    formula: ClassVar[str] = "(tp/t + tn/(n-t)) / 2"
    convention: ClassVar[str] = "a class that is absent is dropped, as in scikit-learn"
    _zero_divisions: ClassVar[tuple[float, ...]] = (math.nan,)

    form = ItemForm(1.0, _half, _half)

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        tpr = ratio(tp, t, math.nan)
        tnr = ratio(true_negatives(tp, k, t, n), n - t, math.nan)
        both = 0.5 * (tpr + tnr)
        return np.where(np.isnan(tpr), tnr, np.where(np.isnan(tnr), tpr, both))


@dataclass(frozen=True, repr=False, eq=False)
class Youden(_Rates):
    """Youden's J: tp/t + tn/(n-t) - 1.

    Parameters
    ----------
    zero_division : {0.0, 1.0, nan}, default=0.0
        The rate of a class without rows.

    Examples
    --------
    >>> import argmetric as am
    >>> am.Youden().value(tp=3, k=5, t=4, n=10).round(4)
    np.float64(0.4167)
    """

    short_name: ClassVar[str] = "youden"
    formula: ClassVar[str] = "tp/t + tn/(n-t) - 1"

    form = ItemForm(1.0, _one, _one, offset=-1.0)

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        tpr, tnr = self._rates(tp, k, t, n)
        return tpr + tnr - 1.0


@dataclass(frozen=True, repr=False, eq=False)
class Recall(_Rates):
    """Recall (true positive rate): tp / t.

    Parameters
    ----------
    zero_division : {0.0, 1.0, nan}, default=0.0
        The value where no row is positive.

    Examples
    --------
    >>> import argmetric as am
    >>> am.Recall().value(tp=3, k=5, t=4, n=10).round(4)
    np.float64(0.75)
    """

    short_name: ClassVar[str] = "recall"
    aliases: ClassVar[tuple[str, ...]] = ("sensitivity", "tpr")
    formula: ClassVar[str] = "tp / t"
    convention: ClassVar[str] = "t = 0: zero_division"

    form = ItemForm(1.0, _one, None)

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        return ratio(tp, t, self.zero_division)


@dataclass(frozen=True, repr=False, eq=False)
class Specificity(_Rates):
    """Specificity (true negative rate): tn / (n-t).

    Parameters
    ----------
    zero_division : {0.0, 1.0, nan}, default=0.0
        The value where every row is positive.

    Examples
    --------
    >>> import argmetric as am
    >>> am.Specificity().value(tp=3, k=5, t=4, n=10).round(4)
    np.float64(0.6667)
    """

    short_name: ClassVar[str] = "specificity"
    aliases: ClassVar[tuple[str, ...]] = ("tnr",)
    formula: ClassVar[str] = "tn / (n-t)"
    convention: ClassVar[str] = "t = n: zero_division"

    form = ItemForm(1.0, None, _one)

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        return ratio(true_negatives(tp, k, t, n), n - t, self.zero_division)


@dataclass(frozen=True, repr=False, eq=False)
class GMean(_Rates):
    """Geometric mean of the two rates.

    Parameters
    ----------
    zero_division : {0.0, 1.0, nan}, default=0.0
        The rate of a class without rows.

    Examples
    --------
    >>> import argmetric as am
    >>> am.GMean().value(tp=3, k=5, t=4, n=10).round(4)
    np.float64(0.7071)
    """

    short_name: ClassVar[str] = "gmean"
    formula: ClassVar[str] = "√(tp/t · tn/(n-t))"

    form = RatesForm("geometric")

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        tpr, tnr = self._rates(tp, k, t, n)
        return np.sqrt(tpr * tnr)


@dataclass(frozen=True, repr=False, eq=False)
class HMean(_Rates):
    """Harmonic mean of the two rates; 0 where both are 0.

    Parameters
    ----------
    zero_division : {0.0, 1.0, nan}, default=0.0
        The rate of a class without rows.

    Examples
    --------
    >>> import argmetric as am
    >>> am.HMean().value(tp=3, k=5, t=4, n=10).round(4)
    np.float64(0.7059)
    """

    short_name: ClassVar[str] = "hmean"
    formula: ClassVar[str] = "2 / (t/tp + (n-t)/tn)"

    form = RatesForm("harmonic")

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        tpr, tnr = self._rates(tp, k, t, n)
        return ratio(2.0 * tpr * tnr, tpr + tnr, 0.0)


@dataclass(frozen=True, repr=False, eq=False)
class QMean(_Rates):
    """One minus the quadratic mean of the two error rates.

    Parameters
    ----------
    zero_division : {0.0, 1.0, nan}, default=0.0
        The rate of a class without rows.

    Examples
    --------
    >>> import argmetric as am
    >>> am.QMean().value(tp=3, k=5, t=4, n=10).round(4)
    np.float64(0.7054)
    """

    short_name: ClassVar[str] = "qmean"
    formula: ClassVar[str] = "1 - √(((fn/t)² + (fp/(n-t))²) / 2)"

    form = RatesForm("quadratic")

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        tpr, tnr = self._rates(tp, k, t, n)
        return 1.0 - np.sqrt(((1.0 - tpr) ** 2 + (1.0 - tnr) ** 2) / 2.0)


_CELLS = ("tp", "fp", "fn", "tn")
# Of what is expected of one value a row
AMOUNTS_ASSUMPTION = "labels independent of amounts given the scores"


def _worth(value: object, name: str) -> float | Floats:
    """Return a checked number, or one finite number a row as a read-only array."""
    if count_dimensions(value) == 0 or isinstance(value, str):
        return check_number(value, name)
    worth = np.array(to_floats(value, name))
    if worth.ndim != 1:
        raise ValueError(
            f"{name} must be a number or have one value a row, not the shape "
            f"{worth.shape}"
        )
    wrong = np.flatnonzero(~np.isfinite(worth))
    if wrong.size:
        raise ValueError(
            f"{name} is {worth[wrong[0]]:g} in row {wrong[0]}: amounts must be finite"
        )
    worth.flags.writeable = False
    return worth


def refuse_for_amounts(options: Mapping[str, object]) -> None:
    """Refuse options that have no meaning beside one worth a row."""
    refuse_given(
        options,
        "does not go with a Utility of one value a row, which is a sum over the rows "
        "of one vector: leave it out, or pass four numbers",
    )


@dataclass(frozen=True, repr=False, eq=False)
class Utility(Metric):
    """Weighted counts: tp·TP + fp·FP + fn·FN + tn·TN, not divided by n.

    Parameters
    ----------
    tp : float or array-like of shape (n,), default=1.0
        Worth of a true positive; an array has one value a row.
    fp, fn, tn : float or array-like of shape (n,), default=0.0
        Worth of a false positive, false negative and true negative.
    zero_division : {0.0, 1.0, nan}, default=0.0
        Changes nothing: a sum is always defined.

    Examples
    --------
    >>> import argmetric as am
    >>> am.Utility(tp=10, fp=-1).value(tp=3, k=5, t=4, n=10)
    np.float64(28.0)

    With amounts each row counts by its own:

    >>> am.decide([0.5, 0.2], am.Utility(tp=[3.0, 90.0], fp=-5.0)).labels
    array([0, 1])
    """

    tp: float | Floats = 1.0
    fp: float | Floats = 0.0
    fn: float | Floats = 0.0
    tn: float | Floats = 0.0
    formula: ClassVar[str] = "a·TP + b·FP + c·FN + d·TN"
    convention: ClassVar[str] = "none needed"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in _CELLS:
            object.__setattr__(self, name, _worth(getattr(self, name), name))

    @property
    def _by_rows(self) -> bool:
        """Whether some worth has one value a row."""
        return any(isinstance(getattr(self, name), np.ndarray) for name in _CELLS)

    def _by_row(self, n: int) -> tuple[Floats, ...]:
        """Return tp, fp, fn and tn of each of n rows, four arrays of shape (n,)."""
        for name in _CELLS:
            size = np.size(getattr(self, name))
            if isinstance(getattr(self, name), np.ndarray) and size != n:
                raise ValueError(
                    f"{name} of Utility has {size:,} values, one a row, and there are "
                    f"{n:,} rows"
                )
        return tuple(np.broadcast_to(getattr(self, name), (n,)) for name in _CELLS)

    def _of_means(self) -> Utility:
        """Return the same with means in place of one value a row."""
        means = (float(np.mean(getattr(self, name))) for name in _CELLS)
        return Utility(*means, zero_division=self.zero_division)

    def _weights(self, selected: Booleans) -> Floats:
        """Return what each row adds if it is positive, given which are selected."""
        tp, fp, fn, tn = self._by_row(selected.size)
        return np.where(selected, tp - fp, fn - tn)

    @property
    def name(self) -> str:
        """Name with the four weights."""
        parts = (getattr(self, name) for name in _CELLS)
        texts = ("a row" if np.ndim(x) else f"{x:g}" for x in parts)
        return f"utility({', '.join(texts)})"

    @property
    def _key(self) -> tuple[Any, ...]:
        parts = (getattr(self, name) for name in _CELLS)
        return (Utility, *(x.tobytes() if np.ndim(x) else x for x in parts))

    @property
    def form(self) -> Form | None:
        """Weighted sum of the four cells; None with one value a row."""
        if self._by_rows:
            return None
        weights: Any = (self.tp, self.fp, self.fn, self.tn)
        return MeanForm(cells=weights, scale=lambda k, n: np.ones_like(k))

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        if self._by_rows:
            raise ValueError(
                "a Utility with one value a row is no function of counts: it goes with "
                "decide, forecast, evaluate and tune of one vector"
            )
        errors = self.fp * (k - tp) + self.fn * (t - tp)
        return self.tp * tp + errors + self.tn * (n - k - t + tp)

    def ranking_principle(self, n: int) -> RankingPrinciple:
        """Return whether top-k is optimal: exactly if a - b - c + d ≥ 0.

        Parameters
        ----------
        n : int
            Number of items.

        Returns
        -------
        RankingPrinciple
            True where it holds, with the proof or a counterexample.
        """
        if not self._by_rows and self.tp - self.fp - self.fn + self.tn >= 0:
            detail = "one more hit adds a - b - c + d ≥ 0"
            return RankingPrinciple(True, "proven", n, detail)
        return search_violation(self.value, n, self.greater_is_better)


@dataclass(frozen=True, repr=False, eq=False)
class SquaredCountError(Metric):
    """Squared error in counting: ((t - k) / n)², minimised.

    Parameters
    ----------
    zero_division : {0.0, 1.0, nan}, default=0.0
        Changes nothing: the error is always defined.

    Examples
    --------
    >>> import argmetric as am
    >>> am.SquaredCountError().value(tp=3, k=5, t=4, n=10).round(4)
    np.float64(0.01)
    """

    short_name: ClassVar[str] = "sec"
    formula: ClassVar[str] = "((t - k) / n)², minimised"
    convention: ClassVar[str] = "none needed"
    monotone_proof: ClassVar[str] = "the value does not depend on tp"

    @property
    def greater_is_better(self) -> bool:
        """An error: less is better."""
        return False

    form = MeanForm(curvature=lambda k, n: n**-2.0)

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        return ((t - k) / n) ** 2


@dataclass(frozen=True, repr=False, eq=False)
class Markedness(Metric):
    """Markedness (PSEP): precision + negative predictive value - 1.

    Parameters
    ----------
    zero_division : {0.0, 1.0, nan}, default=0.0
        The predictive value of a class that is never predicted.

    Examples
    --------
    >>> import argmetric as am
    >>> am.Markedness().value(tp=3, k=5, t=4, n=10).round(4)
    np.float64(0.4)
    """

    short_name: ClassVar[str] = "markedness"
    formula: ClassVar[str] = "(n·tp - k·t) / (k·(n-k))"
    convention: ClassVar[str] = "k = 0 or k = n: zero_division for the undefined value"
    monotone_proof: ClassVar[str] = "one more hit adds n/(k(n-k)) > 0"

    form = MeanForm()

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        ppv = ratio(tp, k, self.zero_division)
        npv = ratio(true_negatives(tp, k, t, n), n - k, self.zero_division)
        return ppv + npv - 1.0


@dataclass(frozen=True, repr=False, eq=False)
class Lift(Metric):
    """Lift: precision over prevalence, n·tp / (k·t).

    Parameters
    ----------
    zero_division : {0.0, 1.0, nan}, default=0.0
        With nan, cases without positives or without predicted ones are left out of
        every mean; else they count 1, no lift.

    Examples
    --------
    >>> import argmetric as am
    >>> am.Lift().value(tp=3, k=5, t=4, n=10).round(4)
    np.float64(1.5)
    """

    short_name: ClassVar[str] = "lift"
    formula: ClassVar[str] = "n·tp / (k·t)"
    convention: ClassVar[str] = "k = 0 or t = 0: 1, no lift (left out with nan)"
    _zero_divisions: ClassVar[tuple[float, ...]] = (1.0, math.nan)
    monotone_proof: ClassVar[str] = "one more hit adds n/(kt) > 0"

    form = ItemForm(1.0, lambda k, n: n / np.maximum(k, 1.0), None)

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        empty = math.nan if math.isnan(self.zero_division) else 1.0
        return ratio(n * tp, k * t, empty)


@dataclass(frozen=True, repr=False, eq=False)
class FowlkesMallows(Metric):
    """Geometric mean of precision and recall (G-TP/PR): tp / √(k·t).

    Parameters
    ----------
    zero_division : {0.0, 1.0, nan}, default=0.0
        The value where nothing is predicted and no row is positive.

    Examples
    --------
    >>> import argmetric as am
    >>> am.FowlkesMallows().value(tp=3, k=5, t=4, n=10).round(4)
    np.float64(0.6708)
    """

    short_name: ClassVar[str] = "fowlkes_mallows"
    aliases: ClassVar[tuple[str, ...]] = ("fm", "g_tppr")
    formula: ClassVar[str] = "tp / √(k·t)"
    convention: ClassVar[str] = "k = t = 0: zero_division; exactly one of them 0: 0"
    monotone_proof: ClassVar[str] = "one more hit adds 1/√(kt) > 0"

    form = ItemForm(0.5, lambda k, n: 1.0 / np.sqrt(np.maximum(k, 1.0)), None)

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        plain = ratio(tp, np.sqrt(k * t), 0.0)
        return np.where(k + t == 0, self.zero_division, plain)


@dataclass(frozen=True, repr=False, eq=False)
class MCC(Metric):
    """Matthews correlation: (n·tp - k·t) / √(k·t·(n-k)·(n-t)).

    Parameters
    ----------
    zero_division : {0.0, nan}, default=0.0
        With nan, cases in which a class has no rows or is never predicted are left
        out of every mean; else they count 0.

    Examples
    --------
    >>> import argmetric as am
    >>> am.MCC().value(tp=3, k=5, t=4, n=10).round(4)
    np.float64(0.4082)
    """

    short_name: ClassVar[str] = "mcc"
    aliases: ClassVar[tuple[str, ...]] = ("matthews", "matthews_corrcoef")
    formula: ClassVar[str] = "(n·tp - k·t) / √(k·t·(n-k)·(n-t))"
    convention: ClassVar[str] = (
        "k or t is 0 or n: 0, as in scikit-learn (left out with nan)"
    )
    _zero_divisions: ClassVar[tuple[float, ...]] = (0.0, math.nan)
    monotone_proof: ClassVar[str] = "one more hit adds n/√(kt(n-k)(n-t)) > 0"

    form = AffineForm(
        slope=lambda k, t, n: n / np.sqrt(k * (n - k) * (t * (n - t))),
        intercept=lambda k, t, n: -np.sqrt(k / (n - k) * (t / (n - t))),
        factors=AffineFactors(
            hits_k=lambda k, n: n / np.sqrt(k * (n - k)),
            hits_t=lambda t, n: 1.0 / np.sqrt(t * (n - t)),
            rest_k=lambda k, n: -np.sqrt(k / (n - k)),
            rest_t=lambda t, n: np.sqrt(t / (n - t)),
        ),
        falls_with_k=True,
    )

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        degenerate = math.nan if math.isnan(self.zero_division) else 0.0
        return ratio(n * tp - k * t, np.sqrt(k * (n - k) * t * (n - t)), degenerate)


@dataclass(frozen=True, repr=False, eq=False)
class Kappa(Metric):
    """Cohen's kappa: 2·(n·tp - k·t) / (k·(n-t) + t·(n-k)).

    Parameters
    ----------
    zero_division : {0.0, 1.0, nan}, default=0.0
        The value where all rows are predicted, and are, of one class.

    Examples
    --------
    >>> import argmetric as am
    >>> am.Kappa().value(tp=3, k=5, t=4, n=10).round(4)
    np.float64(0.4)
    """

    short_name: ClassVar[str] = "kappa"
    aliases: ClassVar[tuple[str, ...]] = ("cohen_kappa",)
    formula: ClassVar[str] = "2·(n·tp - k·t) / (k·(n-t) + t·(n-k))"
    convention: ClassVar[str] = "k = t = 0 or k = t = n: zero_division"
    monotone_proof: ClassVar[str] = "one more hit adds 2n/(k(n-t)+t(n-k)) > 0"

    form = AffineForm(
        slope=lambda k, t, n: 2.0 * n / (k * (n - t) + t * (n - k)),
        intercept=lambda k, t, n: -2.0 * k * t / (k * (n - t) + t * (n - k)),
        factors=AffineFactors(
            hits_k=lambda k, n: 2.0 * n,
            hits_t=lambda t, n: np.ones_like(t),
            rest_k=lambda k, n: -2.0 * k,
            rest_t=lambda t, n: t,
            floor=lambda k, n: k * n,
            rate=lambda k, n: n - 2.0 * k,
        ),
        falls_with_k=True,
    )

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        scale = k * (n - t) + t * (n - k)
        return ratio(2.0 * (n * tp - k * t), scale, self.zero_division)
