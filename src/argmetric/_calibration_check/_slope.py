"""Slope and intercept of the log-odds, which are 1 and 0 for calibrated scores."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from argmetric._calibrate.logistic import fit_logistic, row_blocks
from argmetric._input.odds import from_log_odds
from argmetric._input.types import Floats, Integers
from argmetric._results.discrete import dot


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
    y: npt.NDArray[np.bool_],
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
        covariance = covariance @ _spread(residual, x, unit) @ covariance
    gap = np.array([slope - 1.0, intercept])
    distance = float(gap @ np.linalg.solve(covariance, gap))
    slope_error, intercept_error = map(float, np.sqrt(np.diag(covariance)))
    # The tail of chi² with two degrees of freedom.
    return Line(slope, slope_error, intercept, intercept_error, math.exp(-distance / 2))


def _spread(residual: Floats, x: Floats, unit: Integers | None) -> Floats:
    """Σ of the squares of what the rows, or whole units, pull at slope and intercept.

    The residuals are used up.
    """
    level = _per_unit(residual, unit)
    pull = _per_unit(np.multiply(residual, x, out=residual), unit)
    mixed = dot(pull, level)
    return np.array([[dot(pull, pull), mixed], [mixed, dot(level, level)]])


def _per_unit(values: Floats, unit: Integers | None) -> Floats:
    if unit is None:
        return values.copy()
    return np.bincount(unit, values).astype(np.float64, copy=False)


def _line_of_bins(x: Floats, y: npt.NDArray[np.bool_], weight: Floats | None) -> Floats:
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
