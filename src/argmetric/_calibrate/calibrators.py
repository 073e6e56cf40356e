"""The maps: two parameters, three, one, or as many steps as the data ask for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from argmetric._calibrate.calibrator import (
    Calibrator,
    check_columns,
    check_finite,
    check_not_negative,
)
from argmetric._ground.discrete import dot
from argmetric._ground.odds import expit, logit, logit_of
from argmetric._ground.types import Floats


def scaled(x: Floats, factor: Floats | float) -> Floats:
    """factor·x, and 0 for a factor of 0 where x is infinite."""
    with np.errstate(invalid="ignore"):
        return np.where(factor == 0.0, 0.0, factor * x)


def interpolated(x: Floats, knots: Floats, values: Floats) -> Floats:
    """`np.interp` of values, or of rows of values: (..., knots) to (..., x)."""
    if values.ndim == 1:
        return np.asarray(np.interp(x, knots, values))
    if knots.size == 1:
        return np.broadcast_to(values, (*values.shape[:-1], x.shape[-1]))
    x = np.minimum(np.maximum(x, knots[0]), knots[-1])
    i = np.minimum(knots.searchsorted(x, "right") - 1, knots.size - 2)
    slope = np.diff(values) / np.diff(knots)
    return np.asarray(slope[..., i] * (x - knots[i]) + values[..., i])


def as_rows(drawn: Floats) -> Floats:
    """Values of one map as they are; those of several, (values, maps, 1), in rows."""
    return drawn if drawn.ndim == 1 else drawn[..., 0].T


@dataclass(frozen=True, repr=False, eq=False)
class LogOddsMap(Calibrator):
    """A map of log-odds, fitted to ones that were kept finite.

    It takes scores near 0 and 1 as the fit did. Otherwise the many rows that a forest
    or a nearest-neighbour vote gives 0 would stay certain, however often they were
    wrong.
    """

    # log-odds further from 0 than this count as that far; None: all as they are
    reach: float | None = field(default=None, kw_only=True)

    def _check(self) -> None:
        if self.reach is not None:
            check_finite("reach", self.reach, 0.0)
        for i, name in enumerate(self._parameters):
            low = 0.0 if i < self._bounded else -math.inf
            check_finite(name, getattr(self, name), low)

    def _map(self, x: Floats) -> Floats:
        if self.reach is not None:
            x = np.clip(x, -self.reach, self.reach)
        return self._curve(x)

    def _curve(self, x: Floats) -> Floats:
        """The map itself, within reach."""
        raise NotImplementedError

    def keeps_apart(self, low: float, high: float) -> bool:
        within = self.reach is None or max(-low, high) <= self.reach
        return within and self._rises

    @property
    def _rises(self) -> bool:
        """Whether the curve rises everywhere."""
        bounded = self._parameters[: self._bounded]
        return any(getattr(self, name) > 0.0 for name in bounded)

    _parameters: ClassVar[tuple[str, ...]]  # that a row of draws holds
    _bounded: ClassVar[int]  # how many of them, the first, are not negative

    def _check_draws(self, draws: Floats) -> None:
        names = self._parameters
        check_columns(draws, len(names), " and ".join(names))
        check_not_negative(draws[:, : self._bounded], names[0])

    def _drawn(self, row: Floats) -> dict[str, Any]:
        return dict(zip(self._parameters, row, strict=True))


@dataclass(frozen=True, repr=False, eq=False)
class IdentityMap(Calibrator):
    """No map: every probability stays as it is."""

    kind: ClassVar[str] = "identity"

    def _map(self, x: Floats) -> Floats:
        return x

    def _map_p(self, p: Floats) -> Floats:
        return p

    @property
    def formula(self) -> str:
        return "p' = p"


@dataclass(frozen=True, repr=False, eq=False)
class PlattMap(LogOddsMap):
    """logit p' = slope·logit p + intercept (Platt 2000, on log-odds)."""

    # slope, intercept: 1 and 0 change nothing; the slope is not negative
    slope: float
    intercept: float

    kind: ClassVar[str] = "platt"
    _parameters: ClassVar[tuple[str, ...]] = ("slope", "intercept")
    _bounded: ClassVar[int] = 1

    def _curve(self, x: Floats) -> Floats:
        return scaled(x, self.slope) + self.intercept

    @property
    def formula(self) -> str:
        return f"logit p' = {self.slope:.4g} logit p {self.intercept:+.4g}"


@dataclass(frozen=True, repr=False, eq=False)
class BetaMap(LogOddsMap):
    """logit p' = a·log p - b·log(1-p) + c with a, b ≥ 0 (Kull et al. 2017)."""

    # a, b, c: 1, 1 and 0 change nothing
    a: float
    b: float
    c: float

    kind: ClassVar[str] = "beta"
    _parameters: ClassVar[tuple[str, ...]] = ("a", "b", "c")
    _bounded: ClassVar[int] = 2

    def _curve(self, x: Floats) -> Floats:
        below, above = beta_features(x)
        return scaled(below, self.a) + scaled(above, self.b) + self.c

    @property
    def formula(self) -> str:
        return f"logit p' = {self.a:.4g} log p - {self.b:.4g} log(1-p) {self.c:+.4g}"


def beta_features(x: Floats) -> tuple[Floats, Floats]:
    """Log p and -log(1-p) from the log-odds, each accurate."""
    return -np.logaddexp(0.0, -x), np.logaddexp(0.0, x)


@dataclass(frozen=True, repr=False, eq=False)
class TemperatureMap(LogOddsMap):
    """logit p' = logit p / temperature."""

    temperature: float  # above 1 for scores that are too sure of themselves

    kind: ClassVar[str] = "temperature"
    _parameters: ClassVar[tuple[str, ...]] = ("temperature",)
    _bounded: ClassVar[int] = 1

    def _check(self) -> None:
        check_temperature(self.temperature)
        super()._check()

    def _check_draws(self, draws: Floats) -> None:
        super()._check_draws(draws)
        check_temperature(float(draws.min()))

    def _curve(self, x: Floats) -> Floats:
        return x / self.temperature

    @property
    def formula(self) -> str:
        return f"logit p' = logit p / {self.temperature:.4g}"


def check_temperature(value: Any) -> None:
    """Refuse a temperature that is no positive number."""
    check_finite("temperature", value)
    if value <= 0.0:
        raise ValueError(f"temperature must be positive, not {value!r}")


@dataclass(frozen=True, repr=False, eq=False)
class IsotonicMap(Calibrator):
    """Non-decreasing steps with straight lines between them, constant outside."""

    # x, y: probabilities at the ends of the steps, and the heights there
    x: Floats
    y: Floats

    kind: ClassVar[str] = "isotonic"

    def _check(self) -> None:
        x, y = (np.asarray(a, dtype=np.float64) for a in (self.x, self.y))
        if x.ndim != 1 or x.shape != y.shape or x.size == 0:
            raise ValueError("x and y must be vectors of the same length, 1 or more")
        inside = (x >= 0) & (x <= 1) & (y >= 0) & (y <= 1)
        if not (inside.all() and (np.diff(x) > 0).all() and (np.diff(y) >= 0).all()):
            raise ValueError("x must rise and y must not fall, both between 0 and 1")
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "y", y)

    def _map(self, x: Floats) -> Floats:
        return logit(self._map_p(expit(x)))

    def _map_p(self, p: Floats) -> Floats:
        return interpolated(p, self.x, self.y)

    def _check_draws(self, draws: Floats) -> None:
        inside = (draws >= 0.0) & (draws <= 1.0)
        if draws.shape[1] > self.x.size or not inside.all():
            raise ValueError("draws must hold a height from 0 to 1 for some points x")
        if (np.diff(draws, axis=1) < 0.0).any():
            raise ValueError("draws must not fall from one point x to the next")

    def _drawn(self, row: Floats) -> dict[str, Any]:
        places = np.linspace(0, self.x.size - 1, len(row)).round()
        return {"x": self.x[places.astype(np.int64)], "y": as_rows(row)}

    def keeps_apart(self, low: float, high: float) -> bool:
        return False

    @property
    def formula(self) -> str:
        steps = int((np.diff(self.y) > 0).sum()) + 1
        return f"isotonic, {steps:,} steps from {self.y[0]:.3g} to {self.y[-1]:.3g}"


# Worked on at a time: they stay in the cache, and BLAS adds up to 10,000 products by
# one thread.
ROWS_AT_ONCE = 1 << 13


def row_blocks(n: int, rows: int = ROWS_AT_ONCE) -> Iterator[slice]:
    """The rows 0…n-1 in parts."""
    return (slice(first, min(first + rows, n)) for first in range(0, n, rows))


def summed(terms: Callable[[slice], float], n: int) -> float:
    """The sum over all rows of what is told of a part of them."""
    return math.fsum(terms(part) for part in row_blocks(n))


STEPS = 200
ALONE = 1 << 17  # products of numbers that BLAS leaves to one thread


@dataclass(frozen=True)
class Prior:
    """Independent normal laws of the coefficients; a precision of 0 is no opinion."""

    mean: Floats
    precision: Floats

    def loss(self, theta: Floats) -> Floats:
        apart = self.precision * (theta - self.mean) ** 2
        return np.asarray(0.5 * np.add.reduce(apart, axis=-1))


@dataclass(frozen=True)
class Mode:
    """Likeliest coefficients, the curvature of the loss there, and the loss."""

    theta: Floats
    curvature: Floats
    loss: Floats


def likeliest(
    design: Floats, target: Floats, w: Floats, start: Floats, prior: Prior
) -> Mode:
    """Minimise Σ w·(log(1 + e^η) - t·η) - log prior, η = coefficients·design.

    Convex; steps are halved until they pay. O(n) for each of about ten steps, which
    the fits under all priors take together.
    """
    precision = np.atleast_2d(prior.precision)
    theta = np.broadcast_to(start, precision.shape)
    stiffness = precision[:, :, None] * np.eye(start.size)
    point = _point(theta, design, target, w)
    stuck = np.zeros(len(theta), dtype=bool)  # where rounding leaves nothing to gain
    for _ in range(STEPS):
        gradient = point.gradient + precision * (theta - prior.mean)
        # The vector that each matrix takes to the given one; the least where many are.
        matrices = point.curvature + stiffness
        try:
            inverse = np.linalg.inv(matrices)
        except np.linalg.LinAlgError:
            inverse = np.linalg.pinv(matrices)
        move = np.asarray((inverse @ gradient[:, :, None])[:, :, 0])
        move[stuck] = 0.0
        gain = np.add.reduce(gradient * move, axis=1)  # twice that of a quadratic
        # A step of 1e-6 leaves an error of about its square.
        ended = gain <= 1e-12 * point.information
        if ended.all():
            theta = theta - move
            break
        loss, size = point.loss + prior.loss(theta), np.ones(len(theta))
        while True:
            there = theta - size[:, None] * move
            tried = _point(there, design, target, w)
            worse = ~(tried.loss + prior.loss(there) <= loss - 0.1 * size * gain)
            worse &= ~ended & (size > 0.0)
            if not worse.any():
                break
            size = np.where(worse, np.where(size > 1e-10, size / 2, 0.0), size)
        stuck |= size == 0.0
        theta, point = there, tried
    mode = theta, point.curvature + stiffness, point.loss + prior.loss(theta)
    return Mode(*(mode if prior.precision.ndim > 1 else (one[0] for one in mode)))


class _Point(NamedTuple):
    """Σ w·(log(1 + e^η) - t·η), its first two derivatives, and Σ w·p·(1-p), by fit."""

    loss: Floats
    gradient: Floats
    curvature: Floats
    information: Floats


def _point(theta: Floats, design: Floats, target: Floats, w: Floats) -> _Point:
    (fits, count), n = theta.shape, target.size
    loss, information = np.zeros((2, fits))
    gradient, curvature = np.zeros((fits, count)), np.zeros((fits, count, count))
    for part in row_blocks(n, min(ROWS_AT_ONCE, ALONE // count**2)):
        columns, t, weight = design[:, part], target[part], w[part]
        eta = np.add.reduce(theta[:, :, None] * columns, axis=1)
        small = np.exp(-np.abs(eta))
        one = 1.0 + small
        p = np.where(eta >= 0, 1.0, small) / one
        # log(1+e^η) - tη, of which the large parts cancel before they are summed.
        large = np.log1p(small) + np.maximum(eta, 0.0) - t * eta
        loss += np.add.reduce(weight * large, axis=1)
        off = weight * (p - t)
        gradient += np.add.reduce(off[:, None] * columns, axis=2)
        bend = weight * (small / one**2)
        curvature += (bend[:, None] * columns) @ columns.T
        information += np.add.reduce(bend, axis=1)
    return _Point(loss, gradient, curvature, information)


@dataclass(frozen=True)
class LogisticFit:
    """Coefficients, the intercept last, and their covariance."""

    coefficients: Floats
    covariance: Floats


def fit_logistic(
    columns: list[Floats],
    target: Floats,
    weight: Floats | None = None,
    near: Floats | None = None,
) -> LogisticFit:
    """The coefficients of the largest likelihood, η = columns·coefficients + intercept.

    Targets may lie anywhere in [0, 1]. Columns are centred and scaled first. Targets
    that columns separate have no finite optimum: it stops after STEPS. Coefficients
    that are known to be `near` save steps.
    """
    w = np.ones(target.size) if weight is None else weight
    total = float(w.sum())
    centre = np.array([dot(w, column) / total for column in columns])
    scale = np.ones(centre.size)
    design = np.ones((centre.size + 1, target.size))
    for i, column in enumerate(columns):
        np.subtract(column, centre[i], out=design[i])
        scale[i] = math.sqrt(dot(w, design[i] ** 2) / total) or 1.0
        design[i] /= scale[i]
    mean = min(max(dot(w, target) / total, 1e-12), 1 - 1e-12)
    start = np.zeros(centre.size + 1)
    start[-1] = logit_of(mean)
    if near is not None:
        start[:-1], start[-1] = near[:-1] * scale, near[-1] + near[:-1] @ centre
    none = Prior(np.zeros(start.size), np.zeros(start.size))
    mode = likeliest(design, target, w, start, none)
    back = np.diag(np.append(1 / scale, 1.0))
    back[-1, :-1] = -centre / scale
    covariance = back @ np.linalg.pinv(mode.curvature, hermitian=True) @ back.T
    return LogisticFit(back @ mode.theta, covariance)


N_DRAWS = 48
SINGULAR = 1e-9  # added to correlations, which rounding may have made those of no law


def standard_normal(size: int, dimension: int) -> Floats:
    """Draws whose mean and covariance are those of the law itself; always the same."""
    half = np.random.default_rng(0).standard_normal((size // 2, dimension))
    both = np.concatenate([half, -half])
    root = np.linalg.cholesky(both.T @ both / size)
    return np.asarray(np.linalg.solve(root, both.T).T)


def drawn(mean: Floats, covariance: Floats) -> Floats:
    """Draws of a normal law, in rows; some variances may be 0.

    By the root of the correlations: draws do not depend on the units of the mean.
    """
    deviation = np.sqrt(np.diag(covariance))
    unit = np.where(deviation > 0.0, deviation, 1.0)
    correlation = covariance / np.outer(unit, unit)
    np.fill_diagonal(correlation, 1.0 + SINGULAR)
    root = deviation[:, None] * np.linalg.cholesky(correlation)
    return rounded(mean + standard_normal(N_DRAWS, mean.size) @ root.T)


def rounded(draws: Floats) -> Floats:
    """Seven digits of each, so that a file stays small and gives the same back."""
    scale = 10.0 ** (6 - np.floor(np.log10(np.maximum(np.abs(draws), 1e-290))))
    return np.asarray(np.round(draws * scale) / scale)
