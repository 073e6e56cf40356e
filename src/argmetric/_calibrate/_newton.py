"""Logistic regression on a few columns, to the last digits, by Newton's method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from argmetric._odds import logit_of
from argmetric._types import Floats

STEPS = 200


@dataclass(frozen=True)
class Point:
    """Where Newton's method stands: the loss, w·(p-t) and w·p·(1-p)."""

    eta: Floats
    loss: float
    residual: Floats
    curvature: Floats

    @classmethod
    def at(cls, eta: Floats, target: Floats, w: Floats) -> Point:
        small = np.exp(-np.abs(eta))
        one = 1.0 + small
        p = np.where(eta >= 0, 1.0, small) / one
        # log(1+e^η) - tη, of which the large parts cancel before they are summed.
        terms = np.log1p(small) + np.maximum(eta, 0.0) - target * eta
        return cls(eta, float(w @ terms), w * (p - target), w * (small / one**2))


@dataclass(frozen=True)
class Prior:
    """Independent normal laws of the coefficients; a precision of 0 is no opinion."""

    mean: Floats
    precision: Floats

    def loss(self, theta: Floats) -> float:
        return 0.5 * float(self.precision @ (theta - self.mean) ** 2)


@dataclass(frozen=True)
class Mode:
    """Likeliest coefficients, the curvature of the loss there, and the loss."""

    theta: Floats
    curvature: Floats
    loss: float


def likeliest(
    design: Floats, target: Floats, w: Floats, start: Floats, prior: Prior
) -> Mode:
    """Minimise Σ w·(log(1 + e^η) - t·η) - log prior, η = coefficients·design.

    Convex; steps are halved until they pay. O(n) for each of about ten steps.
    """
    theta = start
    point = Point.at(theta @ design, target, w)
    for _ in range(STEPS):
        gradient = design @ point.residual + prior.precision * (theta - prior.mean)
        curvature = _curvature(design, point, prior)
        move = np.linalg.lstsq(curvature, gradient, rcond=None)[0]
        gain = float(gradient @ move)  # twice what a quadratic would gain
        # A step of 1e-6 leaves an error of about its square.
        if gain <= 1e-12 * float(point.curvature.sum()):
            theta = theta - move
            break
        loss = point.loss + prior.loss(theta)
        size, shift = 1.0, move @ design
        while size > 1e-10:
            tried = Point.at(point.eta - size * shift, target, w)
            if tried.loss + prior.loss(theta - size * move) <= loss - 0.1 * size * gain:
                break
            size /= 2
        else:
            break
        theta, point = theta - size * move, tried
    else:
        curvature = _curvature(design, point, prior)
    return Mode(theta, curvature, point.loss + prior.loss(theta))


def _curvature(design: Floats, point: Point, prior: Prior) -> Floats:
    return np.asarray((design * point.curvature) @ design.T + np.diag(prior.precision))


@dataclass(frozen=True)
class Fit:
    """Coefficients, the intercept last, and their covariance."""

    coefficients: Floats
    covariance: Floats


def fit_logistic(
    columns: list[Floats],
    target: Floats,
    weight: Floats | None = None,
    near: Floats | None = None,
) -> Fit:
    """The coefficients of the largest likelihood, η = columns·coefficients + intercept.

    Targets may lie anywhere in [0, 1]. Columns are centred and scaled first. Targets
    that columns separate have no finite optimum: it stops after STEPS. Coefficients
    that are known to be `near` save steps.
    """
    w = np.ones(target.size) if weight is None else weight
    total = float(w.sum())
    centre = np.array([float(w @ column) / total for column in columns])
    scale = np.ones(centre.size)
    design = np.ones((centre.size + 1, target.size))
    for i, column in enumerate(columns):
        design[i] = column - centre[i]
        scale[i] = float(np.sqrt(w @ design[i] ** 2 / total)) or 1.0
        design[i] /= scale[i]
    mean = min(max(float(w @ target) / total, 1e-12), 1 - 1e-12)
    start = np.zeros(centre.size + 1)
    start[-1] = logit_of(mean)
    if near is not None:
        start[:-1], start[-1] = near[:-1] * scale, near[-1] + near[:-1] @ centre
    none = Prior(np.zeros(start.size), np.zeros(start.size))
    mode = likeliest(design, target, w, start, none)
    back = np.diag(np.append(1 / scale, 1.0))
    back[-1, :-1] = -centre / scale
    covariance = back @ np.linalg.pinv(mode.curvature, hermitian=True) @ back.T
    return Fit(back @ mode.theta, covariance)
