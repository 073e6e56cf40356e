"""Fit one map of a given method to a reference."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Literal

import numpy as np

from argmetric._calibrate._base import Calibrator
from argmetric._calibrate._maps import (
    BetaMap,
    IsotonicMap,
    PlattMap,
    TemperatureMap,
    beta_features,
)
from argmetric._calibrate._newton import fit_logistic
from argmetric._calibrate._reference import Reference
from argmetric._segments import Floats, expit

Method = Literal["auto", "platt", "beta", "temperature", "isotonic"]
METHODS = ("auto", "platt", "beta", "temperature", "isotonic")
COOLEST, HOTTEST = 1e-6, 1e6  # temperatures where a fold has no better one


def fit_map(reference: Reference, method: str, *, strict: bool = True) -> Calibrator:
    """The map of a method. In folds `strict` is off: a constant map is no surprise."""
    if strict:
        _check_direction(reference, method)
    return _FITS[method](reference, strict)


def smoothed_targets(reference: Reference) -> Floats:
    """Platt's targets (N₊+1)/(N₊+2) and 1/(N₋+2), which no map separates."""
    negative, positive = reference.counts
    return np.where(reference.y, (positive + 1) / (positive + 2), 1 / (negative + 2))


def _check_direction(reference: Reference, method: str) -> None:
    """Refuse scores that rank backwards; warn where they carry nothing.

    z is the score statistic of the slope at 0, robust to weights.
    """
    score = reference.p if method == "isotonic" else reference.x
    w = reference.weights / reference.weights.max()  # squares must not vanish
    centred = score - float(w @ score) / float(w.sum())
    terms = w * (reference.y - reference.prevalence) * centred
    size = float(np.sqrt(terms @ terms))
    z = float(terms.sum()) / size if size > 0 else 0.0
    if z > 0:
        return
    if z < -2:
        raise ValueError(
            "the scores rank backwards: positives score lower than negatives (z = "
            f"{z:.1f}). If p is the probability of the other class, pass 1 - p (-p for "
            "log-odds) or name the positive class with pos_label; if it is not, these "
            "are not the labels of these rows"
        )
    if method in ("platt", "beta"):
        warnings.warn(
            f"the scores tell nothing about the {reference.n:,} labels (z = {z:.1f}): "
            f"the {method} map gives every row the prevalence "
            f"{reference.prevalence:.3g}",
            UserWarning,
            stacklevel=4,
        )


def _platt(reference: Reference, strict: bool) -> Calibrator:
    target = smoothed_targets(reference)
    slope, intercept = fit_logistic([reference.x], target, reference.weight)
    if slope <= 0:  # the best map that does not fall is the constant one
        slope, intercept = 0.0, _constant(target, reference.weights)
    return PlattMap(
        float(slope), float(intercept), n=reference.n, prevalence=reference.prevalence
    )


def _constant(target: Floats, weight: Floats) -> float:
    mean = float(weight @ target) / float(weight.sum())
    return float(np.log(mean) - np.log1p(-mean))


def _beta(reference: Reference, strict: bool) -> Calibrator:
    if strict and n_distinct(reference.scores) < 3:
        raise ValueError(
            "beta calibration needs three distinct scores or more: use method='platt'"
        )
    target, w = smoothed_targets(reference), reference.weights
    columns = beta_features(reference.x)
    best, lowest = np.zeros(3), np.inf
    # The loss is convex: its optimum under a, b ≥ 0 is the best of the feasible
    # optima with none, one or both of them held at 0.
    for free in ([0, 1], [0], [1], []):
        found = np.zeros(3)
        if free:
            found[[*free, 2]] = fit_logistic([columns[i] for i in free], target, w)
        else:
            found[2] = _constant(target, w)
        if (found[:2] < 0).any():
            continue
        eta = found[0] * columns[0] + found[1] * columns[1] + found[2]
        loss = float(w @ (np.logaddexp(0.0, eta) - target * eta))
        if loss < lowest:
            best, lowest = found, loss
        if len(free) == 2:
            break
    a, b, c = map(float, best)
    return BetaMap(a, b, c, n=reference.n, prevalence=reference.prevalence)


def n_distinct(scores: Floats, enough: int = 3) -> int:
    """Number of distinct scores, counted up to `enough`."""
    rest, count = scores, 0
    while rest.size and count < enough:
        rest = rest[rest != rest[0]]
        count += 1
    return count


def _temperature(reference: Reference, strict: bool) -> Calibrator:
    x, y, w = reference.x, reference.y, reference.weights
    right = np.where(y, x > 0, x < 0).all()
    # Without a single error the likelihood has no finite optimum.
    target = smoothed_targets(reference) if right else y.astype(np.float64)
    if float(w @ (x * (target - 0.5))) <= 0:
        if strict:
            raise ValueError(
                "no temperature fits: scores above one half are not positive more than "
                "half of the time. They are off by a constant, which a temperature "
                "cannot mend: use method='platt'"
            )
        slope = 1 / HOTTEST
    else:
        slope = _root(lambda b: float(w @ (x * (target - expit(b * x)))))
    return TemperatureMap(1 / slope, n=reference.n, prevalence=reference.prevalence)


def _root(falling: Callable[[float], float]) -> float:
    """Where a falling function of the inverse temperature passes 0."""
    from scipy.optimize import brentq

    low, high = 1 / HOTTEST, 1.0
    if falling(low) <= 0:
        return low
    while falling(high) > 0 and high < 1 / COOLEST:
        low, high = high, high * 4
    if falling(high) > 0:
        return high
    return float(brentq(falling, low, high, xtol=1e-300, rtol=1e-14))


def _isotonic(reference: Reference, strict: bool) -> Calibrator:
    from scipy.optimize import isotonic_regression

    order = np.argsort(reference.p, kind="stable")
    p, w = reference.p[order], reference.weights[order]
    first = np.flatnonzero(np.concatenate([[True], p[1:] != p[:-1]]))
    mass = np.add.reduceat(w, first)  # equal scores are one point
    mean = np.add.reduceat(w * reference.y[order], first) / mass
    height = np.clip(isotonic_regression(mean, weights=mass).x, 0.0, 1.0)
    # Only the two ends of a step matter to a line between them.
    inner = np.zeros(height.size, dtype=bool)
    inner[1:-1] = (height[1:-1] == height[:-2]) & (height[1:-1] == height[2:])
    return IsotonicMap(
        p[first][~inner],
        height[~inner],
        n=reference.n,
        prevalence=reference.prevalence,
    )


_FITS = {
    "platt": _platt,
    "beta": _beta,
    "temperature": _temperature,
    "isotonic": _isotonic,
}
