"""Maximise a penalised objective from several starting points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from typing import Literal

import numpy as np

from argmetric._ground.types import Floats
from argmetric.metrics import Metric
from argmetric.train._objectives import UNDEFINED, Likelihood, Objective
from argmetric.train._rows import TrainingRows


def sample_rows(
    rows: TrainingRows, size: int, rng: np.random.Generator
) -> TrainingRows:
    """Sample about `size` rows, up to half of them positive.

    Weights are scaled so that each class keeps its total weight.
    """
    positive = np.flatnonzero(rows.positive)
    negative = np.flatnonzero(~rows.positive)
    n_positive = min(positive.size, max(size // 2, size - negative.size))
    parts, weights = [], []
    for members, count in (
        (positive, n_positive),
        (negative, min(negative.size, size - n_positive)),
    ):
        chosen = np.sort(rng.permutation(members)[:count])
        total, kept = rows.weight[members].sum(), rows.weight[chosen].sum()
        if kept == 0:
            return rows  # the sample holds only rows of weight 0
        parts.append(chosen)
        weights.append(rows.weight[chosen] * (total / kept))
    return rows.take(np.concatenate(parts), np.concatenate(weights))


def shift_intercept(rows: TrainingRows, metric: Metric, theta: Floats) -> Floats:
    """Move the intercept so that 0 is the best threshold on the margins.

    Parameters
    ----------
    theta : ndarray of shape (n_features + 1,)
        Coefficients, and the intercept last.

    Returns
    -------
    ndarray of shape (n_features + 1,)
        Scaled up if the standard deviation of the margins is below 1.
    """
    z = rows.margins(theta)
    order = np.argsort(-z)
    z, weight = z[order], rows.weight[order]
    last = np.flatnonzero(z[:-1] > z[1:])  # ties stay on one side
    if last.size == 0:
        return theta
    tp = np.cumsum(np.where(rows.positive[order], weight, 0.0))[last]
    k, n = np.cumsum(weight)[last], rows.positives + rows.negatives
    values = metric.value(tp, k, rows.positives, n)
    values = values if metric.greater_is_better else -values
    if np.isnan(values).all():
        return theta
    best = last[int(np.nanargmax(values))]
    moved = theta.copy()
    moved[-1] -= (z[best] + z[best + 1]) / 2
    # Margins near 0 count every row as half: stretch them to a standard deviation of 1.
    center = weight @ z / n
    spread = np.sqrt(weight @ (z - center) ** 2 / n)
    return np.asarray(moved / spread if 0 < spread < 1 else moved)


SAMPLE = 20_000  # with more than MANY_ROWS, starts first run on a sample of this size
MANY_ROWS = 50_000
SURVIVORS = 2  # distinct optima of the sample that are refined on all rows
SAME = 0.02  # optima closer than this, relative to their norm, count as one
LIKELIHOOD_ITERATIONS = 30
CURVATURE = 0.1  # typical second derivative of an objective in standardised columns
SCALES = (1.0, 3.0, 10.0)  # of random starts in turn: steep ones find other optima
MEMORY = 30  # pairs of L-BFGS: with rare columns, a fifth fewer steps than with 10


@dataclass(frozen=True)
class FitSettings:
    """Settings of the search."""

    strength: float  # λ of the penalty λ/2·|θ|², intercept left out
    fit_intercept: bool = True
    n_restarts: int = 5
    max_iter: int = 1000
    tol: float = 1e-4
    init: Literal["likelihood", "random"] = "likelihood"
    solver: Literal["lbfgs", "bfgs"] = "lbfgs"
    report: Callable[[str], None] = field(default=lambda text: None)


@dataclass(frozen=True)
class Scaling:
    """Map θ = (φ/s, φ₀ - m·φ/s): the search runs on standardised columns.

    θ and φ hold a coefficient for each column, then an intercept φ₀ for each operating
    point, which is 0 without an intercept, as is m. The penalty stays on θ; s² =
    variance + λ/curvature evens out both parts of the second derivative. Sparse rows
    stay sparse, since only θ is changed.
    """

    center: Floats
    spread: Floats
    varies: Floats  # 0 for a constant column, whose coefficient stays 0
    has_intercept: float  # 1 or 0

    @classmethod
    def from_rows(cls, rows: TrainingRows, settings: FitSettings) -> Scaling:
        """Compute means and spreads from the rows.

        Refuse columns whose squares overflow.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            mean, variance = rows.moments()
            squares = mean**2 + variance
            worst = int(np.argmax(np.nan_to_num(squares, nan=np.inf)))
            if not squares[worst] * squares.size < np.finfo(np.float64).max:
                raise ValueError(
                    f"the values of column {worst} of X are too large, their squares "
                    "overflow: scale it, as by sklearn.preprocessing.StandardScaler"
                )
        if not settings.fit_intercept:
            variance, mean = variance + mean**2, np.zeros_like(mean)
        variance[variance <= (1e-12 * np.abs(mean)) ** 2] = 0.0  # a constant column
        square = variance + settings.strength / CURVATURE
        spread = np.sqrt(np.where(square > 0, square, 1.0))
        varies = (variance > 0).astype(np.float64)
        return cls(mean, spread, varies, float(settings.fit_intercept))

    def to_theta(self, phi: Floats) -> Floats:
        """Return the parameters θ on the original columns."""
        coefficients, intercepts = phi[: self.spread.size], phi[self.spread.size :]
        coefficients = coefficients / self.spread
        moved = intercepts - self.center @ coefficients
        return np.append(coefficients, self.has_intercept * moved)

    def to_phi(self, theta: Floats) -> Floats:
        """Return the parameters φ on the standardised columns."""
        coefficients, intercepts = theta[: self.spread.size], theta[self.spread.size :]
        moved = intercepts + self.center @ coefficients
        scaled = coefficients * self.spread * self.varies
        return np.append(scaled, self.has_intercept * moved)

    def gradient(self, by_theta: Floats) -> Floats:
        """Return the gradient with respect to φ from that with respect to θ."""
        by_column, by_point = by_theta[: self.spread.size], by_theta[self.spread.size :]
        by_phi = (by_column - self.center * by_point.sum()) / self.spread
        return np.append(self.varies * by_phi, self.has_intercept * by_point)


@dataclass(frozen=True)
class Optimum:
    """Result of a search; the value is penalised, in units of the objective."""

    theta: Floats
    value: float
    n_iter: int
    converged: bool


def penalise(
    objective: Objective, theta: Floats, strength: float
) -> tuple[float, Floats]:
    """Return objective/scale - λ/2·|θ|² and its gradient, intercepts unpenalised."""
    value, gradient = objective.value_and_gradient(theta)
    inside = np.where(np.arange(theta.size) < objective.rows.k, theta, 0.0)
    value = value / objective.scale - 0.5 * strength * float(inside @ inside)
    return value, gradient / objective.scale - strength * inside


def maximise(
    objective: Objective, start: Floats, scaling: Scaling, settings: FitSettings
) -> Optimum:
    """Maximise the objective by L-BFGS or BFGS from one starting point.

    Parameters
    ----------
    start : ndarray of shape (n_features + n_metrics,)
        Coefficients and intercepts θ to start from.
    scaling : Scaling
        Standardisation of the columns during the search.
    """
    from scipy.optimize import minimize

    def loss(phi: Floats) -> tuple[float, Floats]:
        theta = scaling.to_theta(phi)
        value, gradient = penalise(objective, theta, settings.strength)
        return -value, -scaling.gradient(gradient)

    options = {"maxiter": settings.max_iter, "gtol": settings.tol}
    method = "BFGS"
    if settings.solver == "lbfgs":
        method = "L-BFGS-B"
        options["maxfun"] = 2 * settings.max_iter + 20
        options |= {"ftol": 1e-3 * settings.tol, "maxcor": MEMORY}
    result = minimize(
        loss, scaling.to_phi(start), method=method, jac=True, options=options
    )
    theta = scaling.to_theta(result.x)
    value = -float(result.fun) * objective.scale
    return Optimum(theta, value, int(result.nit), result.status != 1)


def fit(
    build: Callable[[TrainingRows], Objective],
    rows: TrainingRows,
    settings: FitSettings,
    rng: np.random.Generator,
    previous: Floats | None = None,
) -> tuple[Optimum, Floats]:
    """Maximise the objective from several starts.

    Return the best optimum and all values.

    With `init="likelihood"` the starts are the maximum-likelihood fit (or the previous
    solution), the same with its intercept at the best threshold, and random directions
    around it. With many rows all starts run on a stratified sample first, and only the
    best distinct optima are refined on all rows; the others keep the value that they
    have on all rows. With `init="random"`, as in Jansche (2005), initial values are
    random and every search runs on all rows.

    Parameters
    ----------
    build : callable
        Return the objective for some rows.
    previous : ndarray of shape (n_features + n_metrics,), optional
        A solution to start from.

    Returns
    -------
    best : Optimum
    values : ndarray of shape (n_restarts,)
        Value on all rows that each start reached.
    """
    sample = whole = build(rows)
    scaling = Scaling.from_rows(rows, settings)
    if settings.init == "likelihood":
        few = sample_rows(rows, SAMPLE, rng) if rows.n > MANY_ROWS else rows
        sample = build(few) if few is not rows else whole
        starts = _informed_starts(few, whole, previous, scaling, settings, rng=rng)
    else:
        starts = _random_starts(whole, previous, scaling, rng)
    optima = []
    for number, start in enumerate(islice(starts, settings.n_restarts), start=1):
        optima.append(maximise(sample, start, scaling, settings))
        settings.report(f"start {number}: {optima[-1].value:.6f}")
    if sample is not whole:
        optima = _refine_optima(whole, optima, scaling, settings)
    best = max(optima, key=lambda end: end.value)
    if best.value <= UNDEFINED * whole.scale:
        name = " or ".join(metric.name for metric in whole.metrics)
        raise ValueError(f"{name} is undefined wherever the search began")
    return best, np.array([end.value for end in optima])


def _random_starts(
    goal: Objective, previous: Floats | None, scaling: Scaling, rng: np.random.Generator
) -> Iterator[Floats]:
    """Yield the previous solution, if there is one, then random initial values."""
    if previous is not None:
        yield previous
    for scale in cycle(SCALES):
        phi = scale * rng.standard_normal(scaling.center.size + len(goal.metrics))
        phi[: scaling.center.size] *= scaling.varies
        yield scaling.to_theta(phi)


def _informed_starts(
    rows: TrainingRows,
    goal: Objective,
    previous: Floats | None,
    scaling: Scaling,
    settings: FitSettings,
    *,
    rng: np.random.Generator,
) -> Iterator[Floats]:
    """Yield the likelihood fit or the previous solution, then its neighbours.

    Each start but the first has the intercepts of all operating points at the best
    threshold of their metric. A neighbour has a random direction of the same length
    added, in the standardised columns: far away the objective is flat.

    Parameters
    ----------
    rows : TrainingRows
        Rows to fit the likelihood and the thresholds on.
    previous : ndarray of shape (n_features + n_metrics,) or None
        A solution to start from.
    """
    first, k = previous, rows.k
    if first is None:
        quick = replace(
            settings, max_iter=LIKELIHOOD_ITERATIONS, tol=1e-3, solver="lbfgs"
        )
        first = maximise(Likelihood(rows), np.zeros(k + 1), scaling, quick).theta
        first = np.append(first[:-1], np.repeat(first[-1], len(goal.metrics)))
    yield first
    start = first
    while True:
        if settings.fit_intercept:
            points = [
                shift_intercept(rows, metric, np.append(start[:k], intercept))
                for metric, intercept in zip(goal.metrics, start[k:], strict=True)
            ]
            start = np.append(points[0][:-1], [one[-1] for one in points])
        yield start
        phi = scaling.to_phi(first)
        noise = rng.standard_normal(k) * scaling.varies
        length = max(float(np.linalg.norm(phi[:k])), 1.0)
        phi[:k] += noise * (length / np.sqrt(k))
        start = scaling.to_theta(phi)


def _refine_optima(
    whole: Objective, ends: list[Optimum], scaling: Scaling, settings: FitSettings
) -> list[Optimum]:
    """Return the best distinct optima, continued on all rows, and all others."""
    kept: list[int] = []
    phi = [scaling.to_phi(one.theta) for one in ends]
    for index in sorted(range(len(ends)), key=lambda i: -ends[i].value):
        near = SAME * np.linalg.norm(phi[index])
        apart = all(np.linalg.norm(phi[index] - phi[one]) > near for one in kept)
        if apart and len(kept) < SURVIVORS:
            kept.append(index)
    refined = []
    for index, one in enumerate(ends):
        if index in kept:
            end = maximise(whole, one.theta, scaling, settings)
            settings.report(f"start {index + 1} on all rows: {end.value:.6f}")
        else:
            value, _ = penalise(whole, one.theta, settings.strength)
            end = replace(one, value=value * whole.scale)
        refined.append(end)
    return refined
