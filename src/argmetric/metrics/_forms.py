"""The algebraic form of a metric, which decides how fast E[metric] can be had.

A room never asks a metric for its name: it asks for its form and picks the
algorithm that the form allows. A metric without a form is a function of three
counts and nothing else; it is summed over windows of the two Poisson-binomial
laws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from argmetric._ground.types import Floats

Coefficients = tuple[float, float, float, float]


@dataclass(frozen=True)
class MeanForm:
    """Affine in tp and at most quadratic in t, for fixed k.

    E[value] = value(E[tp], k, E[t], n) + curvature(k, n) · Var[t]. Where the value is
    a weighted sum of TP, FP, FN and TN over scale(k, n), the four expected counts are
    summed each for itself, which keeps small values accurate.
    """

    curvature: Callable[[Floats, Floats], Floats] | None = None
    cells: Coefficients | None = None
    scale: Callable[[Floats, Floats], Floats] | None = None


@dataclass(frozen=True)
class RatioForm:
    """(c0·n + c1·tp + c2·k + c3·t) / (d0·n + d1·tp + d2·k + d3·t)."""

    c: Coefficients
    d: Coefficients

    @property
    def counts_hits_only(self) -> bool:
        """Whether the numerator is a multiple of tp."""
        return self.c[0] == self.c[2] == self.c[3] == 0

    def positive_inside(self, n: int) -> bool:
        """Whether the denominator is positive wherever 1 ≤ k, t and k, t ≤ n-1."""
        d0, d1, d2, d3 = self.d
        last = max(n - 1, 1)
        pairs = [(1, 1), (1, last), (last, 1), (last, last)]
        cells = [(max(0, k + t - n), k, t) for k, t in pairs]
        cells += [(min(k, t), k, t) for k, t in pairs]
        return min(d0 * n + d1 * tp + d2 * k + d3 * t for tp, k, t in cells) > 0

    def denominator_range(
        self, m: npt.ArrayLike, n: npt.ArrayLike
    ) -> tuple[Floats, Floats]:
        """Smallest and largest denominator, at corners of the cells that are summed."""
        least = 1 if self.counts_hits_only else 0
        most = np.maximum(np.asarray(m, dtype=np.float64), least)
        size, few = np.asarray(n, dtype=np.float64), np.full_like(most, least)
        corners = [(few, few, few), (few, few, most), (few, most, few)]
        corners.append((most, most, most))
        d0, d1, d2, d3 = self.d
        values = np.stack(
            [d0 * size + d1 * tp + d2 * k + d3 * t for tp, k, t in corners]
        )
        return values.min(axis=0), values.max(axis=0)


@dataclass(frozen=True)
class ItemForm:
    """hits(k, n) · tp / t^exponent + rejections(k, n) · tn / (n-t)^exponent + offset.

    Each item then carries a weight of its own, whatever else is predicted. Neither
    `hits` nor `rejections` rises with k.
    """

    exponent: float
    hits: Callable[[Floats, Floats], Floats] | None
    rejections: Callable[[Floats, Floats], Floats] | None
    offset: float = 0.0


@dataclass(frozen=True)
class AffineFactors:
    """(hits_k·hits_t·tp + rest_k·rest_t) / (floor + rate·t) in (k, n) or (t, n)."""

    hits_k: Callable[[Floats, Floats], Floats]
    hits_t: Callable[[Floats, Floats], Floats]
    rest_k: Callable[[Floats, Floats], Floats]
    rest_t: Callable[[Floats, Floats], Floats]
    floor: Callable[[Floats, Floats], Floats] | None = None
    rate: Callable[[Floats, Floats], Floats] | None = None


@dataclass(frozen=True)
class AffineForm:
    """slope(k, t, n) · tp + intercept(k, t, n) for 0 < k < n and 0 < t < n.

    Both are smooth in t on the scale of min(t, n-t). At k = 0 and k = n the
    value is the same for every 0 < t < n. Without `factors` the metric is summed as
    any other function of the counts. `falls_with_k` says that at fixed tp and t one
    more predicted positive never raises the value.
    """

    slope: Callable[[Floats, Floats, float], Floats]
    intercept: Callable[[Floats, Floats, float], Floats]
    factors: AffineFactors | None = None
    falls_with_k: bool = False


@dataclass(frozen=True)
class RatesForm:
    """A mean of the rates tp/t and tn/(n-t): concave, and each rate helps the other.

    `mean` is "geometric", "harmonic", or "quadratic": 1 less that of both errors. A
    rate that is 0/0 is zero_division.
    """

    mean: Literal["geometric", "harmonic", "quadratic"]


Form = MeanForm | RatioForm | ItemForm | AffineForm | RatesForm
