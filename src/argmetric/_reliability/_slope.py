"""Slope and intercept of the log-odds, which are 1 and 0 for calibrated scores."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from argmetric._calibrate import fit_logistic
from argmetric._odds import from_log_odds
from argmetric._types import Floats, Integers


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
    w = np.ones(x.size) if weight is None else weight
    near = _line_of_bins(x, y, w) if x.size > MANY_ROWS else None
    fit = fit_logistic([x], y.astype(np.float64), weight, near)
    slope, intercept = map(float, fit.coefficients)
    eta = slope * x + intercept
    p, q = from_log_odds(eta)
    curve = w * p * q
    information = np.array([[curve @ x**2, curve @ x], [curve @ x, float(curve.sum())]])
    if not np.linalg.cond(information) < 1e15:
        return SEPARATED
    covariance = np.linalg.inv(information)
    if weight is not None or unit is not None:
        residual = w * np.where(y, q, -p)
        parts = np.stack([residual * x, residual])
        if unit is not None:
            count = int(unit.max()) + 1
            parts = np.stack([np.bincount(unit, part, count) for part in parts])
        covariance = covariance @ (parts @ parts.T) @ covariance
    gap = np.array([slope - 1.0, intercept])
    distance = float(gap @ np.linalg.solve(covariance, gap))
    slope_error, intercept_error = map(float, np.sqrt(np.diag(covariance)))
    # The tail of chi² with two degrees of freedom.
    return Line(slope, slope_error, intercept, intercept_error, math.exp(-distance / 2))


def _line_of_bins(x: Floats, y: npt.NDArray[np.bool_], w: Floats) -> Floats:
    """About the same line, from bins of equal width, with targets off 0 and 1."""
    low, high = float(x.min()), float(x.max())
    number = ((x - low) * ((BINS - 1) / (high - low))).astype(np.int64)
    sums = np.stack([np.bincount(number, one, BINS) for one in (w, w * x, w * y)])
    sums = sums[:, sums[0] > 0.0].astype(np.float64, copy=False)
    total, middle, positive = sums
    target = (positive + total / w.sum()) / (total * (1.0 + 2.0 / w.sum()))
    return fit_logistic([middle / total], target, total).coefficients
