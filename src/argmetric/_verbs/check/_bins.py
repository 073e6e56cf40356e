"""Reliability bins, and the line of the log-odds: 1 and 0 for calibrated scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._calibrate.cells import cell_numbers, first_of_equals
from argmetric._calibrate.maps import fit_logistic, row_blocks
from argmetric._ground.discrete import dot
from argmetric._ground.display import as_frame
from argmetric._ground.odds import from_log_odds, sort_labelled
from argmetric._ground.types import Booleans, Floats, Integers

Z = 1.959963984540054  # 97.5 % point of the normal law


@dataclass(frozen=True, eq=False)
class ReliabilityBins:
    """Bins of about equal mass, from low to high probability; ties are not split."""

    # low, high: lowest and highest probability in each bin
    low: Floats
    high: Floats
    weight: Floats  # rows in it, or the sum of their weights
    mean: Floats  # mean probability: what was said
    rate: Floats  # share of positives: what happened
    # rate_low, rate_high: wilson's 95 % interval of the share
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

    def added(begin: Integers, values: Floats | Booleans | None = None) -> Floats:
        """Weight of the rows from each place to the next, times the values."""
        if weight is None and values is None:
            return np.diff(begin, append=p.size).astype(np.float64)
        each: Any = values
        if weight is not None:
            each = weight if values is None else weight * values
        return np.add.reduceat(each, begin, dtype=np.float64)

    first = first_of_equals(p)
    mass = added(first, p if by_positives and p[-1] > 0.0 else None)
    number = cell_numbers(mass, n_bins)
    np.minimum(number, n_bins - 1, out=number)
    begin = first[first_of_equals(number)]
    end = np.append(begin[1:], p.size) - 1
    total = added(begin)
    rate, said = (added(begin, values) / total for values in (y, p))
    low, high = wilson(rate, total**2 / added(begin, weight))
    return ReliabilityBins(p[begin], p[end], total, said, rate, low, high)


def wilson(rate: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Wilson's 95 % interval of a share seen on n rows."""
    share = Z**2 / n
    centre = (rate + share / 2) / (1 + share)
    half = np.sqrt(rate * (1 - rate) * share + share**2 / 4) / (1 + share)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


@dataclass(frozen=True)
class Line:
    """logit P(y = 1) = slope·logit p + intercept, of the largest likelihood.

    `p_value` is the chance of a line this far from (1, 0) if p were calibrated.
    """

    slope: float
    slope_error: float
    intercept: float
    intercept_error: float
    p_value: float


MANY_ROWS = 20_000  # from which Newton's first steps are taken on bins
BINS = 4096
SEPARATED = Line(math.inf, math.inf, math.nan, math.inf, math.nan)


def calibration_line(
    x: Floats,
    y: Booleans,
    weight: Floats | None,
    unit: Integers | None,
) -> Line:
    """The line, with standard errors from the information.

    Where rows come in units, or have weights, errors are of the sandwich kind, from
    the sums of the residuals of whole units.
    """
    if float(x[y].min()) >= float(x[~y].max()):
        return SEPARATED
    near = _line_of_bins(x, y, weight) if x.size > MANY_ROWS else None
    fit = fit_logistic([x], y.astype(np.float64), weight, near)
    slope, intercept = map(float, fit.coefficients)
    information, residual = np.zeros((2, 2)), np.empty(x.size)
    for part in row_blocks(x.size):
        z = x[part]
        p, q = from_log_odds(slope * z + intercept)
        curve, off = p * q, np.where(y[part], q, -p)
        if weight is not None:
            curve, off = weight[part] * curve, weight[part] * off
        mixed = dot(curve, z)
        information += [[dot(curve, z**2), mixed], [mixed, float(curve.sum())]]
        residual[part] = off
    if not np.linalg.cond(information) < 1e15:
        return SEPARATED
    covariance = np.linalg.inv(information)
    if weight is not None or unit is not None:
        # Σ of the squares of what rows, or whole units, pull at slope and intercept
        pull: Any = residual * x
        level: Any = residual
        if unit is not None:
            pull, level = (np.bincount(unit, values) for values in (pull, level))
        mixed = dot(pull, level)
        spread = np.array([[dot(pull, pull), mixed], [mixed, dot(level, level)]])
        covariance = covariance @ spread @ covariance
    gap = np.array([slope - 1.0, intercept])
    distance = float(gap @ np.linalg.solve(covariance, gap))
    slope_error, intercept_error = map(float, np.sqrt(np.diag(covariance)))
    # The tail of chi² with two degrees of freedom.
    return Line(slope, slope_error, intercept, intercept_error, math.exp(-distance / 2))


def _line_of_bins(x: Floats, y: Booleans, weight: Floats | None) -> Floats:
    """About the same line, from bins of equal width, with targets off 0 and 1."""
    low, high = float(x.min()), float(x.max())
    number = ((x - low) * ((BINS - 1) / (high - low))).astype(np.int64)
    sums = np.empty((3, BINS))
    for i, values in enumerate((None, x, y)):
        if weight is not None:
            values = weight if values is None else weight * values
        sums[i] = np.bincount(number, values, BINS)
    everything = float(x.size if weight is None else weight.sum())
    total, middle, positive = sums[:, sums[0] > 0.0]
    target = (positive + total / everything) / (total * (1.0 + 2.0 / everything))
    return fit_logistic([middle / total], target, total).coefficients
