"""Fit one calibrator of a method to a reference."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from argmetric._calibrate.bins import LabelBins, first_of_equals
from argmetric._calibrate.calibrator import Calibrator
from argmetric._calibrate.calibrators import (
    BetaCalibrator,
    IdentityCalibrator,
    IsotonicCalibrator,
    PlattCalibrator,
    TemperatureCalibrator,
    beta_features,
)
from argmetric._calibrate.logistic import (
    N_DRAWS,
    fit_logistic,
    normal_draws,
    sum_blocks,
)
from argmetric._calibrate.reference import Reference
from argmetric._calibrate.spline import fit_spline
from argmetric._ground.discrete import dot
from argmetric._ground.odds import bounded_logit, expit
from argmetric._ground.types import Floats

Method = Literal[
    "spline", "platt", "beta", "temperature", "isotonic", "identity", "auto"
]
METHOD_WORDS: dict[Method, str] = {
    "spline": "a smooth curve, pulled towards no change",
    "platt": "slope and intercept of the log-odds",
    "beta": "three parameters",
    "temperature": "slope only",
    "isotonic": "any that rises",
    "identity": "none",
    "auto": "the simplest of them that does as well as the best out of fold",
}
METHODS = tuple(METHOD_WORDS)
DEFAULT: Method = "spline"
MAX_DRAW_POINTS = 64  # points of an isotonic calibrator at which draws are kept
# Temperatures where a fold has no better one
MIN_TEMPERATURE, MAX_TEMPERATURE = 1e-6, 1e6


def fit_calibrator(
    reference: Reference, method: str, *, strict: bool = True, draws: bool = True
) -> Calibrator:
    """Fit a calibrator, with the draws of others that the reference allows.

    Parameters
    ----------
    strict : bool
        Whether scores that the method cannot calibrate are refused.
    draws : bool
        Whether draws and counts are kept.
    """
    if method in _IN_ORDER:
        reference = reference.rising()
    if strict:
        _check_direction(reference, method)
    return _FITS[method](reference, strict, draws)


def smoothed_targets(reference: Reference) -> Floats:
    """Return Platt's targets (N₊+1)/(N₊+2) and 1/(N₋+2), which no curve separates."""
    negative, positive = reference.counts
    return np.where(reference.y, (positive + 1) / (positive + 2), 1 / (negative + 2))


def _check_direction(reference: Reference, method: str) -> None:
    """Refuse scores that rank backwards; warn where they carry nothing.

    z is the score statistic of the slope at 0, robust to weights.
    """
    score = reference.p if method == "isotonic" else reference.x
    # Z of a slope of 0: Σ w·(y - π)·(score - its mean), by its deviation.
    w, squares = reference.relative_weights(slice(None))
    terms = score - dot(w, score) / float(w.sum())
    terms *= reference.y - reference.prevalence
    spread = dot(squares, terms**2)
    z = dot(w, terms) / math.sqrt(spread) if spread > 0 else 0.0
    if z > 0:
        return
    if z < -2:
        raise ValueError(
            "the scores rank backwards: positives score lower than negatives (z = "
            f"{z:.1f}). If p is the probability of the other class, pass 1 - p (-p for "
            "log-odds) or name the positive class with pos_label; if it is not, these "
            "are not the labels of these rows"
        )
    if method in ("platt", "beta", "spline"):
        warnings.warn(
            f"the scores carry nothing about the {reference.n:,} labels (z = {z:.1f}): "
            f"the {method} calibrator moves every row towards the prevalence "
            f"{reference.prevalence:.3g}",
            UserWarning,
            stacklevel=4,
        )


def _platt(reference: Reference, strict: bool, draw: bool) -> Calibrator:
    """Fit slope and intercept of the log-odds."""
    target = smoothed_targets(reference)
    fit = fit_logistic([reference.x], target, reference.weight)
    draws = normal_draws(fit.coefficients, fit.covariance * reference.weight_of_a_row)
    slope, intercept = map(float, fit.coefficients)
    if slope <= 0:  # the best curve that does not fall is the constant one
        slope, intercept = 0.0, _constant(target, reference.weights)
    draws[:, 0] = np.maximum(draws[:, 0], 0.0)
    return PlattCalibrator(
        slope, intercept, draws=draws, **_reach_fields(reference, draw)
    )


def _reference_fields(
    reference: Reference, draw: bool, bins: LabelBins | None = None
) -> dict[str, Any]:
    """Return the fields of a calibrator that describe its reference."""
    if draw and bins is None:
        bins = LabelBins.from_reference(reference)
    counts = bins.condense() if draw and bins is not None else None
    return {"n": reference.n, "prevalence": reference.prevalence, "counts": counts}


def _reach_fields(reference: Reference, draw: bool) -> dict[str, Any]:
    """Return the fields on the reference, and the reach of its log-odds."""
    return {"reach": reference.reach} | _reference_fields(reference, draw)


def _constant(target: Floats, weight: Floats) -> float:
    """Return the log-odds of the mean target."""
    return math.log(dot(weight, target)) - math.log(dot(weight, 1.0 - target))


def _beta(reference: Reference, strict: bool, draw: bool) -> Calibrator:
    """Fit a, b ≥ 0 and c of a·log p - b·log(1-p) + c."""
    if strict and n_distinct(reference.scores) < 3:
        raise ValueError(
            "beta calibration needs three distinct scores or more: use method='platt'"
        )
    target, w = smoothed_targets(reference), reference.weights
    columns = beta_features(reference.x)
    best, lowest, covariance = np.zeros(3), np.inf, np.zeros((3, 3))
    # The loss is convex: its optimum under a, b ≥ 0 is the best of the feasible
    # optima with none, one or both of them held at 0. Two scores within the reach
    # leave no single optimum with both: one of them gives all values that both give.
    both = [[0, 1]] if n_distinct(reference.x) > 2 else []
    for free in (*both, [0], [1], []):
        theta, kept = np.zeros(3), [*free, 2]
        spread = np.zeros((3, 3))
        if free:
            fit = fit_logistic([columns[i] for i in free], target, w)
            theta[kept], spread[np.ix_(kept, kept)] = fit
        else:
            theta[2] = _constant(target, w)
        if (theta[:2] < 0).any():
            continue
        loss = _beta_loss(theta, columns, target, w)
        if loss < lowest:
            best, lowest, covariance = theta, loss, spread
        if len(free) == 2:
            break
    a, b, c = map(float, best)
    draws = normal_draws(best, covariance * reference.weight_of_a_row)
    draws[:, :2] = np.maximum(draws[:, :2], 0.0)
    return BetaCalibrator(a, b, c, draws=draws, **_reach_fields(reference, draw))


def _beta_loss(
    theta: Floats, columns: tuple[Floats, Floats], target: Floats, w: Floats
) -> float:
    """Return Σ w·(log(1 + e^η) - t·η); columns, target, w of shape (n_rows,)."""

    def terms(part: slice) -> float:
        eta = theta[0] * columns[0][part] + theta[1] * columns[1][part] + theta[2]
        return dot(w[part], np.logaddexp(0.0, eta) - target[part] * eta)

    # One row that outweighs all others makes slopes beyond floats: nan is never least
    with np.errstate(over="ignore", invalid="ignore"):
        return sum_blocks(terms, w.size)


def n_distinct(scores: Floats, enough: int = 3) -> int:
    """Return the number of distinct scores, counted up to `enough`."""
    rest, count = scores, 0
    while rest.size and count < enough:
        rest = rest[rest != rest[0]]
        count += 1
    return count


def _temperature(reference: Reference, strict: bool, draw: bool) -> Calibrator:
    """Fit T of expit(x/T), with draws of 1/T from its normal distribution."""
    x, y, w = reference.x, reference.y, reference.weights
    no_errors = np.where(y, x >= 0, x <= 0).all()  # 0 stays 0 whatever the temperature
    # Without a single error the likelihood has no finite optimum.
    target = smoothed_targets(reference) if no_errors else y.astype(np.float64)

    def derivative(b: float) -> float:
        """Return the derivative of the likelihood by the inverse temperature."""
        return sum_blocks(
            lambda part: dot(w[part], x[part] * (target[part] - expit(b * x[part]))),
            x.size,
        )

    if derivative(0.0) <= 0:
        if strict:
            raise ValueError(
                "no temperature fits: scores above one half are not positive more than "
                "half of the time. They are off by a constant, which a temperature "
                "cannot mend: use method='platt'"
            )
        inverse = 1 / MAX_TEMPERATURE
    else:
        inverse = root_of(derivative)

    def information(part: slice) -> float:
        """Return -1 times the second derivative."""
        p = expit(inverse * x[part])
        return dot(w[part], x[part] ** 2 * p * (1 - p))

    total = sum_blocks(information, x.size) or np.inf  # it may underflow
    variance = reference.weight_of_a_row / total
    inverses = normal_draws(np.array([inverse]), np.array([[variance]]))
    draws = 1 / np.clip(inverses, 1 / MAX_TEMPERATURE, 1 / MIN_TEMPERATURE)
    return TemperatureCalibrator(
        1 / inverse, draws=draws, **_reach_fields(reference, draw)
    )


def root_of(falling: Callable[[float], float]) -> float:
    """Return the inverse temperature at which a falling function is 0."""
    from scipy.optimize import brentq

    low, high = 1 / MAX_TEMPERATURE, 1.0
    if falling(low) <= 0:
        return low
    while falling(high) > 0 and high < 1 / MIN_TEMPERATURE:
        low, high = high, high * 4
    if falling(high) > 0:
        return high
    return float(brentq(falling, low, high, xtol=1e-300, rtol=1e-14))


def _isotonic(reference: Reference, strict: bool, draw: bool) -> Calibrator:
    """Fit steps that do not fall; draws are heights of fits to rows drawn again."""
    x, y = _steps(reference)
    others = _reference_fields(reference, False)
    if draw:
        bins = LabelBins.from_reference(reference)
        p = expit(bins.x) if reference.logits else bins.score
        # Scores of 0 and 1 stay where they are: steps are steps of probabilities.
        others["counts"] = bins.condense(bounded_logit(p, 1e-300, 1.0 - 1e-16))
        place = np.linspace(0, x.size - 1, min(x.size, MAX_DRAW_POINTS)).round()
        at = x[place.astype(np.int64)]
        rng, count = np.random.default_rng(0), bins.total.size
        both = np.concatenate([bins.positive, bins.total - bins.positive])
        rows = max(1, min(round(float(both.sum())), MAX_MULTINOMIAL))
        draws = np.empty((N_DRAWS, at.size))
        for i, again in enumerate(rng.multinomial(rows, both / both.sum(), N_DRAWS)):
            hits, mass = again[:count], again[:count] + again[count:]
            there = mass > 0
            hits, mass = hits[there], mass[there].astype(np.float64)
            height = _heights(hits / mass, mass, reference)
            draws[i] = np.interp(at, p[there], height)
        others["draws"] = np.round(draws, 12)
    return IsotonicCalibrator(x, y, **others)


def _steps(reference: Reference) -> tuple[Floats, Floats]:
    """Return scores and heights at both ends of every step of an isotonic fit."""
    p, w = reference.p, reference.weights
    first = first_of_equals(p)
    mass = np.add.reduceat(w, first)  # equal scores are one point
    height = _heights(np.add.reduceat(w * reference.y, first) / mass, mass, reference)
    # Only the two ends of a step matter to a line between them.
    ends = np.ones(height.size, dtype=bool)
    ends[1:-1] = (height[1:-1] != height[:-2]) | (height[1:-1] != height[2:])
    return p[first[ends]], height[ends]


def _heights(rate: Floats, mass: Floats, reference: Reference) -> Floats:
    """Return rates that do not fall, kept off 0 and 1; all of shape (n_scores,).

    m rows without a positive show that its probability is small, not that it is 0:
    heights stay between π/(m+1) and 1-(1-π)/(m+1).
    """
    from scipy.optimize import isotonic_regression

    m, prevalence = sum(reference.counts), reference.prevalence
    height = np.asarray(isotonic_regression(rate, weights=mass).x)
    low, high = prevalence / (m + 1), 1 - (1 - prevalence) / (m + 1)
    return np.clip(height, low, high, out=height)


MAX_MULTINOMIAL = 2**53  # rows; more would be no different, and numpy draws 63 bits


def _identity(reference: Reference, strict: bool, draw: bool) -> Calibrator:
    """Change nothing."""
    return IdentityCalibrator(n=reference.n, prevalence=reference.prevalence)


def _spline(reference: Reference, strict: bool, draw: bool) -> Calibrator:
    """Fit the default curve."""
    bins = LabelBins.from_reference(reference)
    return fit_spline(bins, draw=draw, **_reference_fields(reference, draw, bins))


_IN_ORDER = ("isotonic", "spline")  # fitted to rows by rising score
_FITS: dict[str, Callable[[Reference, bool, bool], Calibrator]] = {
    "identity": _identity,
    "platt": _platt,
    "beta": _beta,
    "temperature": _temperature,
    "isotonic": _isotonic,
    "spline": _spline,
}
