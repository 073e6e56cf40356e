"""Logistic regression under a normal prior by Newton's method, and draws around it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from argmetric._ground.discrete import dot
from argmetric._ground.odds import logit_of
from argmetric._ground.types import Floats

# Rows per block: they stay in the cache, and BLAS adds up to 10,000 products by one
# thread.
ROWS_PER_BLOCK = 1 << 13
ONE_THREAD_PRODUCTS = 1 << 17  # products of numbers that BLAS leaves to one thread
MAX_STEPS = 200
N_DRAWS = 48
# Added to the diagonal of correlations: rounding may have left them not definite.
DIAGONAL_EXCESS = 1e-9


def row_blocks(n: int, rows: int = ROWS_PER_BLOCK) -> Iterator[slice]:
    """Iterate over slices of at most `rows` rows that cover the rows 0…n-1."""
    return (slice(first, min(first + rows, n)) for first in range(0, n, rows))


def sum_blocks(terms: Callable[[slice], float], n: int) -> float:
    """Return the sum of `terms(block)` over blocks of the n rows."""
    return math.fsum(terms(part) for part in row_blocks(n))


@dataclass(frozen=True)
class NormalPrior:
    """Independent normal distributions of coefficients.

    mean : ndarray of shape (n_coefficients,)
    precision : ndarray of shape (n_coefficients,) or (n_priors, n_coefficients)
        Inverse variances; a precision of 0 is no opinion.
    """

    mean: Floats
    precision: Floats

    def loss(self, theta: Floats) -> Floats:
        """Return ½·Σ precision·(θ - mean)² for each row of coefficients."""
        apart = self.precision * (theta - self.mean) ** 2
        return np.asarray(0.5 * np.add.reduce(apart, axis=-1))


@dataclass(frozen=True)
class Mode:
    """Posterior mode of the coefficients; for several priors, one row for each.

    theta : ndarray of shape (n_coefficients,)
    curvature : ndarray of shape (n_coefficients, n_coefficients)
        Second derivatives of the loss at the mode.
    loss : ndarray
        The least loss.
    """

    theta: Floats
    curvature: Floats
    loss: Floats

    def evidence(self, prior: NormalPrior) -> Floats:
        """Return the log-evidence by Laplace's approximation, but for a constant."""
        volume = np.linalg.slogdet(self.curvature)[1]
        size = np.log(prior.precision).sum(axis=-1) - volume
        return np.asarray(0.5 * size - self.loss)


class Derivatives(NamedTuple):
    """A loss and its first two derivatives at coefficients, for each of several fits.

    loss, information : ndarray of shape (n_fits,)
        The information is the size of the curvature along one coefficient.
    gradient : ndarray of shape (n_fits, n_coefficients)
    curvature : ndarray of shape (n_fits, n_coefficients, n_coefficients)
    """

    loss: Floats
    gradient: Floats
    curvature: Floats
    information: Floats


def fit_penalised(
    design: Floats, target: Floats, weight: Floats, start: Floats, prior: NormalPrior
) -> Mode:
    """Minimise Σ w·(log(1 + e^η) - t·η) - log prior, η = coefficients·design.

    Convex. O(n) for each of about ten steps, which the fits under all priors take
    together.

    design : ndarray of shape (n_coefficients, n_rows)
    target, weight : ndarray of shape (n_rows,)
        Targets may lie anywhere in [0, 1].
    start : ndarray of shape (n_coefficients,)
    """

    def evaluate(theta: Floats) -> Derivatives:
        return _logistic_loss(theta, design, target, weight)

    return minimise_penalised(evaluate, start, prior)


def minimise_penalised(
    evaluate: Callable[[Floats], Derivatives], start: Floats, prior: NormalPrior
) -> Mode:
    """Minimise a loss - log prior by Newton's method; steps are halved until they pay.

    evaluate : callable
        Return the loss at coefficients of shape (n_fits, n_coefficients).
    start : ndarray of shape (n_coefficients,)
    """
    precision = np.atleast_2d(prior.precision)
    theta = np.broadcast_to(start, precision.shape)
    stiffness = precision[:, :, None] * np.eye(start.size)
    point = evaluate(theta)
    stuck = np.zeros(len(theta), dtype=bool)  # where rounding leaves nothing to gain
    for _ in range(MAX_STEPS):
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
            tried = evaluate(there)
            worse = ~(tried.loss + prior.loss(there) <= loss - 0.1 * size * gain)
            worse &= ~ended & (size > 0.0)
            if not worse.any():
                break
            size = np.where(worse, np.where(size > 1e-10, size / 2, 0.0), size)
        stuck |= size == 0.0
        theta, point = there, tried
    mode = theta, point.curvature + stiffness, point.loss + prior.loss(theta)
    return Mode(*(mode if prior.precision.ndim > 1 else (one[0] for one in mode)))


def _logistic_loss(
    theta: Floats, design: Floats, target: Floats, weight: Floats
) -> Derivatives:
    """Return Σ w·(log(1 + e^η) - t·η) at each row of theta (n_fits, n_coefficients).

    Other arguments as for `fit_penalised`. The information is Σ w·p·(1-p).
    """
    (fits, count), n = theta.shape, target.size
    loss, information = np.zeros((2, fits))
    gradient, curvature = np.zeros((fits, count)), np.zeros((fits, count, count))
    for part in row_blocks(n, min(ROWS_PER_BLOCK, ONE_THREAD_PRODUCTS // count**2)):
        columns, t, w = design[:, part], target[part], weight[part]
        eta = np.add.reduce(theta[:, :, None] * columns, axis=1)
        small = np.exp(-np.abs(eta))
        one = 1.0 + small
        p = np.where(eta >= 0, 1.0, small) / one
        # log(1+e^η) - tη, of which the large parts cancel before they are summed.
        large = np.log1p(small) + np.maximum(eta, 0.0) - t * eta
        loss += np.add.reduce(w * large, axis=1)
        gradient += np.add.reduce((w * (p - t))[:, None] * columns, axis=2)
        bend = w * (small / one**2)
        curvature += (bend[:, None] * columns) @ columns.T
        information += np.add.reduce(bend, axis=1)
    return Derivatives(loss, gradient, curvature, information)


class LogisticFit(NamedTuple):
    """Coefficients (n_columns + 1,), the intercept last, and their covariance."""

    coefficients: Floats
    covariance: Floats


def fit_logistic(
    columns: list[Floats],
    target: Floats,
    weight: Floats | None = None,
    near: Floats | None = None,
) -> LogisticFit:
    """Return the likeliest coefficients of columns and intercept.

    Columns are centred and scaled first. Targets may lie anywhere in [0, 1]; those that
    columns separate have no finite optimum: the fit stops after MAX_STEPS.

    columns : list of n_columns ndarrays of shape (n_rows,)
    target, weight : ndarray of shape (n_rows,)
    near : ndarray of shape (n_columns + 1,)
        Coefficients that are nearly right, which save steps.
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
    start = np.zeros(centre.size + 1)
    start[-1] = logit_of(min(max(dot(w, target) / total, 1e-12), 1 - 1e-12))
    if near is not None:
        start[:-1], start[-1] = near[:-1] * scale, near[-1] + near[:-1] @ centre
    none = NormalPrior(np.zeros(start.size), np.zeros(start.size))
    mode = fit_penalised(design, target, w, start, none)
    back = np.diag(np.append(1 / scale, 1.0))
    back[-1, :-1] = -centre / scale
    covariance = np.linalg.pinv(mode.curvature, hermitian=True)
    return LogisticFit(back @ mode.theta, back @ covariance @ back.T)


def standard_normal(size: int, dimension: int) -> Floats:
    """Return fixed draws (size, dimension) whose mean is 0 and covariance 1 exactly."""
    half = np.random.default_rng(0).standard_normal((size // 2, dimension))
    both = np.concatenate([half, -half])
    root = np.linalg.cholesky(both.T @ both / size)
    return np.asarray(np.linalg.solve(root, both.T).T)


def normal_draws(mean: Floats, covariance: Floats) -> Floats:
    """Return draws (N_DRAWS, n) of a normal distribution; some variances may be 0.

    By the root of the correlations: draws do not depend on the units of the mean.
    """
    deviation = np.sqrt(np.diag(covariance))
    unit = np.where(deviation > 0.0, deviation, 1.0)
    correlation = covariance / np.outer(unit, unit)
    np.fill_diagonal(correlation, 1.0 + DIAGONAL_EXCESS)
    root = deviation[:, None] * np.linalg.cholesky(correlation)
    return round_draws(mean + standard_normal(N_DRAWS, mean.size) @ root.T)


def round_draws(draws: Floats) -> Floats:
    """Round to seven digits, so that a file stays small and gives the same back."""
    scale = 10.0 ** (6 - np.floor(np.log10(np.maximum(np.abs(draws), 1e-290))))
    return np.asarray(np.round(draws * scale) / scale)
