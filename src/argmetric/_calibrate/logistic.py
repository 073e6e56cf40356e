"""Logistic regression by Newton's method, and draws of its coefficients."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from argmetric._input.odds import logit_of
from argmetric._input.types import Floats
from argmetric._results.discrete import dot

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


@dataclass
class Point:
    """Where Newton's method stands, in sums over the rows.

    Attributes
    ----------
    loss : float
        Σ w·(log(1 + e^η) - t·η).
    gradient, curvature : ndarray
        Its first and second derivatives by the coefficients.
    information : float
        Σ w·p·(1-p).
    """

    loss: float
    gradient: Floats
    curvature: Floats
    information: float

    @classmethod
    def at(cls, theta: Floats, design: Floats, target: Floats, w: Floats) -> Point:
        count, n = design.shape
        point = cls(0.0, np.zeros(count), np.zeros((count, count)), 0.0)
        for part in row_blocks(n, min(ROWS_AT_ONCE, ALONE // count**2)):
            point._add(theta, design[:, part], target[part], w[part])
        return point

    def _add(self, theta: Floats, design: Floats, target: Floats, w: Floats) -> None:
        eta = np.einsum("i,ij->j", theta, design)
        small = np.exp(-np.abs(eta))
        one = 1.0 + small
        p = np.where(eta >= 0, 1.0, small) / one
        # log(1+e^η) - tη, of which the large parts cancel before they are summed.
        self.loss += dot(w, np.log1p(small) + np.maximum(eta, 0.0) - target * eta)
        self.gradient += np.einsum("ij,j->i", design, w * (p - target))
        bend = w * (small / one**2)
        self.curvature += (design * bend) @ design.T
        self.information += float(bend.sum())


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
    theta, stiffness = start, np.diag(prior.precision)
    point = Point.at(theta, design, target, w)
    for _ in range(STEPS):
        gradient = point.gradient + prior.precision * (theta - prior.mean)
        move = np.linalg.lstsq(point.curvature + stiffness, gradient, rcond=None)[0]
        gain = float(gradient @ move)  # twice what a quadratic would gain
        # A step of 1e-6 leaves an error of about its square.
        if gain <= 1e-12 * point.information:
            theta = theta - move
            break
        loss, size = point.loss + prior.loss(theta), 1.0
        while size > 1e-10:
            there = theta - size * move
            tried = Point.at(there, design, target, w)
            if tried.loss + prior.loss(there) <= loss - 0.1 * size * gain:
                break
            size /= 2
        else:
            break
        theta, point = there, tried
    return Mode(theta, point.curvature + stiffness, point.loss + prior.loss(theta))


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
