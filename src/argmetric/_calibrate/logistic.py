"""Logistic regression by Newton's method, and draws of its coefficients."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from argmetric._ground.discrete import dot
from argmetric._ground.odds import logit_of
from argmetric._ground.types import Floats

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
    """Independent normal laws of the coefficients; a precision of 0 is no opinion.

    Rows of precisions are as many priors, each for a fit of its own.
    """

    mean: Floats
    precision: Floats

    def loss(self, theta: Floats) -> Floats:
        apart = self.precision * (theta - self.mean) ** 2
        return np.asarray(0.5 * np.add.reduce(apart, axis=-1))


@dataclass(frozen=True)
class Mode:
    """Likeliest coefficients, the curvature of the loss there, and the loss.

    Of several priors each has a first axis, for the fits.
    """

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
        move = _solved(point.curvature + stiffness, gradient)
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
    """Sums over the rows, for each fit.

    The loss Σ w·(log(1 + e^η) - t·η), its first and second derivatives by the
    coefficients, and the information Σ w·p·(1-p).
    """

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


def _solved(matrices: Floats, vectors: Floats) -> Floats:
    """The vector that each matrix takes to the given one; the least where many are."""
    try:
        inverse = np.linalg.inv(matrices)
    except np.linalg.LinAlgError:
        inverse = np.linalg.pinv(matrices)
    return np.asarray((inverse @ vectors[:, :, None])[:, :, 0])


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
