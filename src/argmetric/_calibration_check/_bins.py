"""Reliability: what was said against what happened, in bins of equal mass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._calibrate.cells import cell_numbers, first_of_equals
from argmetric._input.sorting import sort_labelled
from argmetric._input.types import Booleans, Floats, Integers
from argmetric._results.display import as_frame

Z = 1.959963984540054  # 97.5 % point of the normal law


@dataclass(frozen=True, eq=False)
class ReliabilityBins:
    """Bins of about equal mass, from low to high probability; ties are not split.

    Attributes
    ----------
    low, high : ndarray
        Lowest and highest probability in each bin.
    weight : ndarray
        Rows in it, or the sum of their weights.
    mean : ndarray
        Mean probability: what was said.
    rate : ndarray
        Share of positives: what happened.
    rate_low, rate_high : ndarray
        Wilson's 95 % interval of the share.
    """

    low: Floats
    high: Floats
    weight: Floats
    mean: Floats
    rate: Floats
    rate_low: Floats
    rate_high: Floats

    def __len__(self) -> int:
        return int(self.mean.size)

    @property
    def ece(self) -> float:
        """Expected calibration error: the mean of |rate - mean| by weight."""
        share = self.weight / self.weight.sum()
        return float(share @ np.abs(self.rate - self.mean))

    def to_dict(self) -> dict[str, list[float]]:
        """Columns as lists, for JSON."""
        return {name: column.tolist() for name, column in vars(self).items()}

    def to_frame(self, backend: str = "pandas") -> Any:
        """Bins as rows.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default="pandas"
            Library of the frame.
        """
        return as_frame(dict(vars(self)), backend)


def reliability_bins(
    p: Floats,
    y: Booleans,
    weight: Floats | None,
    n_bins: int,
    *,
    by_positives: bool = False,
) -> ReliabilityBins:
    """Distinct probabilities, each in the bin in which the middle of its mass lies.

    Bins have equal masses of rows, or of expected positives.
    """
    if weight is None:
        p, y = sort_labelled(p, y)
    else:
        order = np.argsort(p, kind="stable")
        p, y, weight = p[order], y[order], weight[order]
    rows = _Rows(p, y, weight)
    first = first_of_equals(p)
    of_positives = by_positives and p[-1] > 0.0
    mass = rows.said(first) if of_positives else rows.total(first)
    number = cell_numbers(mass, n_bins)
    np.minimum(number, n_bins - 1, out=number)
    begin = first[first_of_equals(number)]
    end = np.append(begin[1:], p.size) - 1
    total = rows.total(begin)
    rate = rows.happened(begin) / total
    low, high = wilson(rate, total**2 / rows.squares(begin))
    said = rows.said(begin) / total
    return ReliabilityBins(p[begin], p[end], total, said, rate, low, high)


@dataclass(frozen=True)
class _Rows:
    """Rows in order, and sums over those of every bin, by where it begins."""

    p: Floats
    y: Booleans
    weight: Floats | None

    def _sum(self, values: Floats | Booleans, begin: Integers) -> Floats:
        weighted = values if self.weight is None else self.weight * values
        return np.add.reduceat(weighted, begin, dtype=np.float64)

    def total(self, begin: Integers) -> Floats:
        if self.weight is None:
            return np.diff(begin, append=self.p.size).astype(np.float64)
        return np.add.reduceat(self.weight, begin)

    def squares(self, begin: Integers) -> Floats:
        if self.weight is None:
            return self.total(begin)
        return np.add.reduceat(self.weight**2, begin)

    def said(self, begin: Integers) -> Floats:
        return self._sum(self.p, begin)

    def happened(self, begin: Integers) -> Floats:
        return self._sum(self.y, begin)


def wilson(rate: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Wilson's 95 % interval of a share seen on n rows."""
    share = Z**2 / n
    centre = (rate + share / 2) / (1 + share)
    half = np.sqrt(rate * (1 - rate) * share + share**2 / 4) / (1 + share)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
