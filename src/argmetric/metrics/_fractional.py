"""Metrics that are a ratio of two affine functions of the counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from argmetric._ground.arguments import check_items, check_number
from argmetric._ground.types import Floats
from argmetric.metrics._base import Metric, ratio
from argmetric.metrics._forms import (
    Coefficients,
    Form,
    MeanForm,
    RankingPrinciple,
    RatioForm,
    search_violation,
)

FAR = 1e16  # β from which F is recall, and from 1/FAR down precision, to rounding
HEAVIEST = 1e4  # weights beside which tp keeps 12 digits


class _Fractional(Metric):
    """(c0·n + c1·tp + c2·k + c3·t) / (d0·n + d1·tp + d2·k + d3·t)."""

    @property
    def coefficients(self) -> tuple[Coefficients, Coefficients]:
        raise TypeError(f"{type(self).__name__} must define `coefficients`")

    @property
    def form(self) -> Form | None:
        """Ratio of two affine functions; a plain mean where only k divides."""
        c, d = self.coefficients
        return MeanForm() if d[1] == d[3] == 0 else RatioForm(c, d)

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        (c0, c1, c2, c3), (d0, d1, d2, d3) = self.coefficients
        numerator = c0 * n + c1 * tp + c2 * k + c3 * t
        return ratio(numerator, d0 * n + d1 * tp + d2 * k + d3 * t, self.zero_division)


@dataclass(frozen=True, repr=False, eq=False)
class FBeta(_Fractional):
    """F-measure: (1+β²)·tp / (k + β²·t); β > 1 favours recall.

    Parameters
    ----------
    beta : float, default=1.0
        Any positive number.
    zero_division : {0.0, 1.0, nan}, default=0.0
        Value when nothing is predicted and nothing is there.

    Examples
    --------
    >>> import argmetric as am
    >>> am.FBeta(2).name
    'f2'
    """

    beta: float = 1.0
    formula: ClassVar[str] = "(1+β²)·tp / (k + β²·t)"
    convention: ClassVar[str] = "k = t = 0: zero_division"
    monotone_proof: ClassVar[str] = "one more hit adds (1+β²)/(k+β²t) > 0"

    def __post_init__(self) -> None:
        super().__post_init__()
        beta = check_number(self.beta, "beta", low=0.0, strict=True)
        object.__setattr__(self, "beta", beta)

    @property
    def name(self) -> str:
        """Name with the value of beta, such as "f1" or "f0.5"."""
        return "f" + repr(self.beta).removesuffix(".0")  # all digits: it reads back

    @property
    def coefficients(self) -> tuple[Coefficients, Coefficients]:
        """Numerator and denominator over (n, tp, k, t)."""
        b2 = min(max(self.beta, 1.0 / FAR), FAR) ** 2
        return (0.0, 1.0 + b2, 0.0, 0.0), (0.0, 0.0, 1.0, b2)


@dataclass(frozen=True, repr=False, eq=False)
class Jaccard(_Fractional):
    """Jaccard index: tp / (k + t - tp).

    Parameters
    ----------
    zero_division : {0.0, 1.0, nan}, default=0.0
        The value where nothing is predicted and no row is positive.

    Examples
    --------
    >>> import argmetric as am
    >>> am.Jaccard().value(tp=3, k=5, t=4, n=10).round(4)
    np.float64(0.5)
    """

    short_name: ClassVar[str] = "jaccard"
    aliases: ClassVar[tuple[str, ...]] = ("iou",)
    formula: ClassVar[str] = "tp / (k + t - tp)"
    convention: ClassVar[str] = "k = t = 0: zero_division"
    monotone_proof: ClassVar[str] = "numerator rises and denominator falls with tp"

    coefficients = (0.0, 1.0, 0.0, 0.0), (0.0, -1.0, 1.0, 1.0)


@dataclass(frozen=True, repr=False, eq=False)
class Tversky(_Fractional):
    """Tversky index: tp / (tp + alpha·fp + beta·fn).

    Parameters
    ----------
    alpha, beta : float, default=0.5
        Weights of false positives and of false negatives, not negative.
    zero_division : {0.0, 1.0, nan}, default=0.0
        Value where the denominator is 0.

    Examples
    --------
    >>> import argmetric as am
    >>> am.Tversky(alpha=0.3, beta=0.7).value(tp=3, k=5, t=4, n=10).round(4)
    np.float64(0.6977)
    """

    alpha: float = 0.5
    beta: float = 0.5
    formula: ClassVar[str] = "tp / (tp + α·fp + β·fn)"
    convention: ClassVar[str] = "denominator 0: zero_division"
    monotone_proof: ClassVar[str] = "one more hit adds (αk+βt)/(D·D') ≥ 0"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("alpha", "beta"):
            weight = check_number(getattr(self, name), name, low=0.0)
            object.__setattr__(self, name, weight)
        if self.alpha == self.beta == 0:
            raise ValueError("alpha and beta must not both be 0: the value is constant")

    @property
    def name(self) -> str:
        """Name with both weights."""
        return f"tversky({self.alpha:g}, {self.beta:g})"

    @property
    def form(self) -> Form | None:
        """None for heavy weights: (1 - α - β)·tp + α·k + β·t would lose tp."""
        return super().form if max(self.alpha, self.beta) <= HEAVIEST else None

    @property
    def coefficients(self) -> tuple[Coefficients, Coefficients]:
        """Numerator and denominator over (n, tp, k, t)."""
        a, b = self.alpha, self.beta
        return (0.0, 1.0, 0.0, 0.0), (0.0, 1.0 - a - b, a, b)

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        with np.errstate(over="ignore"):
            wrong = self.alpha * (k - tp) + self.beta * (t - tp)
            return ratio(tp, tp + wrong, self.zero_division)


@dataclass(frozen=True, repr=False, eq=False)
class LinearFractional(_Fractional):
    """(c0·n + c1·tp + c2·k + c3·t) / (d0·n + d1·tp + d2·k + d3·t).

    Parameters
    ----------
    c, d : tuple of four floats
        Coefficients of n, tp, k and t above and below.
    zero_division : {0.0, 1.0, nan}, default=0.0
        Value where the denominator is 0.

    Examples
    --------
    >>> import argmetric as am
    >>> f1 = am.LinearFractional((0, 2, 0, 0), (0, 0, 1, 1))
    >>> am.decide([0.9, 0.6, 0.2], f1).n_positives
    2
    """

    c: Coefficients
    d: Coefficients
    formula: ClassVar[str] = "(c0·n+c1·tp+c2·k+c3·t) / (d0·n+d1·tp+d2·k+d3·t)"
    convention: ClassVar[str] = "denominator 0: zero_division"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("c", "d"):
            given = check_items(getattr(self, name), name, "four numbers")
            numbers = tuple(check_number(x, name) for x in given)
            if len(numbers) != 4:
                raise ValueError(f"{name} must be four numbers, not {numbers}")
            object.__setattr__(self, name, numbers)
        if not any(self.d):
            raise ValueError("d must not be all 0")

    @property
    def name(self) -> str:
        """Name with the coefficients."""
        c, d = (", ".join(f"{x:g}" for x in numbers) for numbers in (self.c, self.d))
        return f"linear_fractional(({c}), ({d}))"

    @property
    def coefficients(self) -> tuple[Coefficients, Coefficients]:
        """Numerator and denominator over (n, tp, k, t)."""
        return self.c, self.d

    def ranking_principle(self, n: int) -> RankingPrinciple:
        """Return whether some optimal decision on n items is a top-k set.

        For a positive denominator the value grows with tp exactly when
        c1·(d0·n + d2·k + d3·t) ≥ d1·(c0·n + c2·k + c3·t): affine in (k, t), so the
        four corners of 1 ≤ k, t ≤ n-1 prove it. (c1 > d1 alone does not suffice.)

        Parameters
        ----------
        n : int
            Number of items.

        Returns
        -------
        RankingPrinciple
            True where it holds, with the proof or a counterexample.
        """
        (c0, c1, c2, c3), (d0, d1, d2, d3) = self.c, self.d
        k, t = (a.ravel() for a in np.meshgrid([1, n - 1], [1, n - 1]))
        gain = c1 * (d0 * n + d2 * k + d3 * t) - d1 * (c0 * n + c2 * k + c3 * t)
        if RatioForm(self.c, self.d).positive_inside(n) and (gain >= 0).all():
            detail = "c1·(d0n+d2k+d3t) ≥ d1·(c0n+c2k+c3t) at the four corners of (k, t)"
            return RankingPrinciple(True, "proven", n, detail)
        return search_violation(self.value, n, self.greater_is_better)


@dataclass(frozen=True, repr=False, eq=False)
class Accuracy(_Fractional):
    """Accuracy: (tp + tn) / n.

    Parameters
    ----------
    zero_division : {0.0, 1.0, nan}, default=0.0
        Changes nothing: accuracy is always defined.

    Examples
    --------
    >>> import argmetric as am
    >>> am.Accuracy().value(tp=3, k=5, t=4, n=10).round(4)
    np.float64(0.7)
    """

    short_name: ClassVar[str] = "accuracy"
    formula: ClassVar[str] = "(2·tp + n - k - t) / n"
    convention: ClassVar[str] = "none needed"
    monotone_proof: ClassVar[str] = "one more hit adds 2/n > 0"

    form = MeanForm(cells=(1.0, 0.0, 0.0, 1.0), scale=lambda k, n: n)

    coefficients = (1.0, 2.0, -1.0, -1.0), (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, repr=False, eq=False)
class Precision(_Fractional):
    """Precision: tp / k.

    Parameters
    ----------
    zero_division : {0.0, 1.0, nan}, default=0.0
        The value where nothing is predicted.

    Examples
    --------
    >>> import argmetric as am
    >>> am.Precision().value(tp=3, k=5, t=4, n=10).round(4)
    np.float64(0.6)
    """

    short_name: ClassVar[str] = "precision"
    formula: ClassVar[str] = "tp / k"
    convention: ClassVar[str] = "k = 0: zero_division"
    monotone_proof: ClassVar[str] = "one more hit adds 1/k > 0"

    coefficients = (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0)
