"""Calibrators of one, two or three parameters, and of as many steps as needed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from argmetric._calibrate.calibrator import (
    Calibrator,
    check_columns,
    check_not_negative,
)
from argmetric._ground.arguments import check_number
from argmetric._ground.odds import expit, logit
from argmetric._ground.types import Floats


def scale_log_odds(x: Floats, factor: Floats | float) -> Floats:
    """Return factor·x, and 0 for a factor of 0 where x is infinite."""
    with np.errstate(invalid="ignore"):
        return np.where(factor == 0.0, 0.0, factor * x)


def interpolate(x: Floats, knots: Floats, values: Floats) -> Floats:
    """Return `np.interp` of values (..., n_knots) at x, with the shape (..., n)."""
    if values.ndim == 1:
        return np.asarray(np.interp(x, knots, values))
    if knots.size == 1:
        return np.broadcast_to(values, (*values.shape[:-1], x.shape[-1]))
    x = np.minimum(np.maximum(x, knots[0]), knots[-1])
    i = np.minimum(knots.searchsorted(x, "right") - 1, knots.size - 2)
    slope = np.diff(values) / np.diff(knots)
    return np.asarray(slope[..., i] * (x - knots[i]) + values[..., i])


def as_draw_rows(values: Floats) -> Floats:
    """Return values of shape (n, n_draws, 1) as (n_draws, n); vectors as they are."""
    return values if values.ndim == 1 else values[..., 0].T


@dataclass(frozen=True, repr=False, eq=False)
class LogOddsCalibrator(Calibrator):
    """A calibrator of log-odds, fitted to ones that were kept finite.

    It takes scores near 0 and 1 as the fit did. Otherwise the many rows that a forest
    or a nearest-neighbour vote gives 0 would stay certain, however often they were
    wrong.
    """

    # log-odds further from 0 than this count as that far; None: all as they are
    reach: float | None = field(default=None, kw_only=True)

    def _check(self) -> None:
        if self.reach is not None:
            check_number(self.reach, "reach", low=0.0)
        for i, name in enumerate(self._parameters):
            low = 0.0 if i < self._bounded else -math.inf
            check_number(getattr(self, name), name, low=low)

    def _map(self, x: Floats) -> Floats:
        if self.reach is not None:
            x = np.clip(x, -self.reach, self.reach)
        return self._curve(x)

    def _curve(self, x: Floats) -> Floats:
        """Return calibrated log-odds within reach."""
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

    def _draw_fields(self, row: Floats) -> dict[str, object]:
        return dict(zip(self._parameters, row, strict=True))


@dataclass(frozen=True, repr=False, eq=False)
class IdentityCalibrator(Calibrator):
    """No change: every probability stays as it is."""

    kind: ClassVar[str] = "identity"

    def _map(self, x: Floats) -> Floats:
        return x

    def _map_p(self, p: Floats) -> Floats:
        return p

    @property
    def formula(self) -> str:
        return "p' = p"


@dataclass(frozen=True, repr=False, eq=False)
class PlattCalibrator(LogOddsCalibrator):
    """logit p' = slope·logit p + intercept (Platt 2000, on log-odds)."""

    # slope, intercept: 1 and 0 change nothing; the slope is not negative
    slope: float
    intercept: float

    kind: ClassVar[str] = "platt"
    _parameters: ClassVar[tuple[str, ...]] = ("slope", "intercept")
    _bounded: ClassVar[int] = 1

    def _curve(self, x: Floats) -> Floats:
        return scale_log_odds(x, self.slope) + self.intercept

    @property
    def formula(self) -> str:
        return f"logit p' = {self.slope:.4g} logit p {self.intercept:+.4g}"


@dataclass(frozen=True, repr=False, eq=False)
class BetaCalibrator(LogOddsCalibrator):
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
        return scale_log_odds(below, self.a) + scale_log_odds(above, self.b) + self.c

    @property
    def formula(self) -> str:
        return f"logit p' = {self.a:.4g} log p - {self.b:.4g} log(1-p) {self.c:+.4g}"


def beta_features(x: Floats) -> tuple[Floats, Floats]:
    """Return log p and -log(1-p) from the log-odds, each accurate."""
    return -np.logaddexp(0.0, -x), np.logaddexp(0.0, x)


@dataclass(frozen=True, repr=False, eq=False)
class TemperatureCalibrator(LogOddsCalibrator):
    """logit p' = logit p / temperature."""

    temperature: float  # above 1 for overconfident scores

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


def check_temperature(value: float) -> None:
    """Refuse a temperature that is no positive number."""
    check_number(value, "temperature")
    if value <= 0.0:
        raise ValueError(f"temperature must be positive, not {value!r}")


@dataclass(frozen=True, repr=False, eq=False)
class IsotonicCalibrator(Calibrator):
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
        return interpolate(p, self.x, self.y)

    def _check_draws(self, draws: Floats) -> None:
        inside = (draws >= 0.0) & (draws <= 1.0)
        if draws.shape[1] > self.x.size or not inside.all():
            raise ValueError(
                "draws must hold heights from 0 to 1 for some of the points x"
            )
        if (np.diff(draws, axis=1) < 0.0).any():
            raise ValueError("draws must not fall from one point x to the next")

    def _draw_fields(self, row: Floats) -> dict[str, object]:
        places = np.linspace(0, self.x.size - 1, len(row)).round()
        return {"x": self.x[places.astype(np.int64)], "y": as_draw_rows(row)}

    def keeps_apart(self, low: float, high: float) -> bool:
        return False

    @property
    def formula(self) -> str:
        steps = int((np.diff(self.y) > 0).sum()) + 1
        return f"isotonic, {steps:,} steps from {self.y[0]:.3g} to {self.y[-1]:.3g}"
