"""Maximise a penalised objective from several starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from argmetric._input.types import Floats
from argmetric.metrics import Metric
from argmetric.train._objectives import UNDEFINED, Likelihood, MetricGoal, Objective
from argmetric.train._rows import SummedRows, TrainingRows


def stratified(rows: SummedRows, size: int, rng: np.random.Generator) -> TrainingRows:
    """About `size` rows, up to half of them positive, weighted so that sums agree."""
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
            return rows.in_memory()  # only rows of weight 0 were drawn
        parts.append(chosen)
        weights.append(rows.weight[chosen] * (total / kept))
    return rows.take(np.concatenate(parts), np.concatenate(weights))


def shifted(rows: TrainingRows, metric: Metric, theta: Floats) -> Floats:
    """The intercept moved so that 0 is the best threshold of the margins.

    An exact scan over all cuts between distinct margins; as it stands where no cut
    that leaves rows on both sides has a value.
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
    # Margins that are all near 0 count every row as half: stretched to a spread of 1.
    center = weight @ z / n
    spread = np.sqrt(weight @ (z - center) ** 2 / n)
    return np.asarray(moved / spread if 0 < spread < 1 else moved)


def random_start(theta: Floats, scaling: Scaling, rng: np.random.Generator) -> Floats:
    """A random direction of the same length added, in the standardised columns.

    Far away the objective is flat, so the length is that of a sensible model.
    """
    phi = scaling.to_phi(theta)
    noise = rng.standard_normal(theta.size - 1) * scaling.varies
    length = max(float(np.linalg.norm(phi[:-1])), 1.0)
    phi[:-1] += noise * (length / np.sqrt(noise.size))
    return scaling.to_theta(phi)


SAMPLE = 20_000  # rows on which the starts run first, where there are many more
MANY_ROWS = 50_000
SURVIVORS = 2  # distinct optima of the sample that go on to all rows
SAME = 0.02  # optima nearer than this, relative to their length, are one
LIKELIHOOD_ITERATIONS = 30
CURVATURE = 0.1  # of an objective in the standardised columns, roughly
MEMORY = (
    30  # pairs of L-BFGS: hundreds of rare columns take a fifth fewer steps than 10
)


@dataclass(frozen=True)
class FitSettings:
    """What the search is told."""

    strength: float  # λ of the penalty λ/2·|θ|², intercept left out
    fit_intercept: bool = True
    n_restarts: int = 5
    max_iter: int = 1000
    tol: float = 1e-4
    report: Callable[[str], None] = field(default=lambda text: None)


@dataclass(frozen=True)
class Scaling:
    """θ = (φ/s, φ₀ - m·φ/s): the search runs on standardised columns.

    The penalty stays on θ; s² = variance + λ/curvature evens out both parts of the
    second derivative. Sparse rows stay sparse, since only θ is changed.
    """

    center: Floats
    spread: Floats
    varies: Floats  # 0 for a constant column, whose coefficient stays 0
    fit_intercept: bool

    @classmethod
    def of(cls, rows: SummedRows, settings: FitSettings) -> Scaling:
        with np.errstate(over="ignore", invalid="ignore"):
            mean, variance = rows.moments()
            _refuse_overflow(mean**2 + variance)
        if not settings.fit_intercept:
            variance, mean = variance + mean**2, np.zeros_like(mean)
        variance[variance <= (1e-12 * np.abs(mean)) ** 2] = 0.0  # a constant column
        square = variance + settings.strength / CURVATURE
        spread = np.sqrt(np.where(square > 0, square, 1.0))
        varies = (variance > 0).astype(np.float64)
        return cls(mean, spread, varies, settings.fit_intercept)

    def to_theta(self, phi: Floats) -> Floats:
        coefficients = phi[:-1] / self.spread
        intercept = phi[-1] - self.center @ coefficients if self.fit_intercept else 0.0
        return np.append(coefficients, intercept)

    def to_phi(self, theta: Floats) -> Floats:
        intercept = theta[-1] + self.center @ theta[:-1] if self.fit_intercept else 0.0
        return np.append(theta[:-1] * self.spread * self.varies, intercept)

    def gradient(self, by_theta: Floats) -> Floats:
        if not self.fit_intercept:
            return np.append(self.varies * by_theta[:-1] / self.spread, 0.0)
        by_phi = (by_theta[:-1] - self.center * by_theta[-1]) / self.spread
        return np.append(self.varies * by_phi, by_theta[-1])


def _refuse_overflow(squares: Floats) -> None:
    """Refuse columns whose squares, or the sum of all, no float can hold."""
    worst = int(np.argmax(np.nan_to_num(squares, nan=np.inf)))
    if not squares[worst] * squares.size < np.finfo(np.float64).max:
        raise ValueError(
            f"the values of column {worst} of X are too large, their squares overflow: "
            "scale it, as by sklearn.preprocessing.StandardScaler"
        )


@dataclass(frozen=True)
class Optimum:
    """Where a search ended; the value is penalised, in units of the objective."""

    theta: Floats
    value: float
    n_iter: int
    converged: bool


def penalised(
    objective: Objective, theta: Floats, strength: float
) -> tuple[float, Floats]:
    """Objective/scale - λ/2·|θ|² and its gradient, the intercept unpenalised."""
    value, gradient = objective.value_and_gradient(theta)
    inside = np.append(theta[:-1], 0.0)
    value = value / objective.scale - 0.5 * strength * float(inside @ inside)
    return value, gradient / objective.scale - strength * inside


def climb(
    objective: Objective,
    start: Floats,
    scaling: Scaling,
    settings: FitSettings,
) -> Optimum:
    """L-BFGS from one start."""
    from scipy.optimize import minimize

    def loss(phi: Floats) -> tuple[float, Floats]:
        theta = scaling.to_theta(phi)
        value, gradient = penalised(objective, theta, settings.strength)
        return -value, -scaling.gradient(gradient)

    found = minimize(
        loss,
        scaling.to_phi(start),
        method="L-BFGS-B",
        jac=True,
        options={
            "maxiter": settings.max_iter,
            "maxfun": 2 * settings.max_iter + 20,
            "gtol": settings.tol,
            "ftol": 1e-3 * settings.tol,
            "maxcor": MEMORY,
        },
    )
    theta = scaling.to_theta(found.x)
    value = -float(found.fun) * objective.scale
    return Optimum(theta, value, int(found.nit), found.status != 1)


@dataclass(frozen=True)
class Fit:
    """The best optimum, and the value on all rows that each start came to."""

    best: Optimum
    values: Floats


def fit(
    build: Callable[[SummedRows], MetricGoal],
    rows: SummedRows,
    settings: FitSettings,
    rng: np.random.Generator,
    previous: Floats | None = None,
) -> Fit:
    """The best of several climbs.

    The starts are the maximum-likelihood fit (or the previous solution), the same
    with its intercept at the best threshold, and random directions around it. With
    many rows all of them run on a stratified sample first, and only the best
    distinct optima go on to all rows; the rest keep the value that their optimum of the
    sample has on all rows.
    """
    whole = build(rows)
    few = stratified(rows, SAMPLE, rng) if rows.n > MANY_ROWS else rows.in_memory()
    scaling = Scaling.of(rows, settings)
    sample = build(few) if few is not rows else whole
    first = previous
    if first is None:
        quick = replace(settings, max_iter=LIKELIHOOD_ITERATIONS, tol=1e-3)
        zero = np.zeros(rows.k + 1)
        first = climb(Likelihood(few), zero, scaling, quick).theta
    found = []
    for number in range(settings.n_restarts):
        start = first
        if number:
            start = first if number == 1 else random_start(first, scaling, rng)
            if settings.fit_intercept:
                start = shifted(few, whole.metric, start)
        found.append(climb(sample, start, scaling, settings))
        settings.report(f"start {number + 1}: {found[-1].value:.6f}")
    if few is not rows:
        found = _polish(whole, found, scaling, settings)
    best = max(found, key=lambda end: end.value)
    if best.value <= UNDEFINED * whole.scale:
        raise ValueError(f"{whole.metric.name} is undefined wherever the search began")
    return Fit(best, np.array([end.value for end in found]))


def _polish(
    whole: Objective, found: list[Optimum], scaling: Scaling, settings: FitSettings
) -> list[Optimum]:
    """All rows: the best distinct optima climb on, the others are valued."""
    kept: list[int] = []
    for index in sorted(range(len(found)), key=lambda i: -found[i].value):
        apart = all(_apart(found[index], found[one], scaling) for one in kept)
        if apart and len(kept) < SURVIVORS:
            kept.append(index)
    ends = []
    for index, one in enumerate(found):
        if index in kept:
            end = climb(whole, one.theta, scaling, settings)
            settings.report(f"start {index + 1} on all rows: {end.value:.6f}")
        else:
            value, _ = penalised(whole, one.theta, settings.strength)
            end = replace(one, value=value * whole.scale)
        ends.append(end)
    return ends


def _apart(one: Optimum, other: Optimum, scaling: Scaling) -> bool:
    """Whether two optima are distinct, by their distance in standardised columns."""
    a, b = scaling.to_phi(one.theta), scaling.to_phi(other.theta)
    return float(np.linalg.norm(a - b)) > SAME * float(np.linalg.norm(a))
