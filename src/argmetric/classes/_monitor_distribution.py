"""Three explanations of a period of class probabilities; the distribution of its score.

Rows x of the reference (m) and of the period (n) differ by

    P(period | x) = n·h/(m + n·h),  h = density of the period over that of the reference

with q the calibrated probabilities of the classes, and a free constant κ ~ N(0, 1):

    nothing           log h = κ
    covariate shift   log h = κ + φ·b,  φ = log q, standardised;  b ~ N(0, σ²/classes)
    prevalence shift  log h = κ + log Σ_c q_c·e^θ_c,  θ ~ N(0, 1) for every class

The evidence of each is Laplace's. Under prevalence shift P(class | x) is q·e^θ, scaled
to sum to 1, and known labels inform θ too. Under covariate shift it is q·e^θ with
θ ~ N(0, .15²) that is not learnt. The distribution of the score is the class forecast
at these probabilities, over calibrators and draws of θ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from argmetric._calibrate.logistic import (
    Derivatives,
    NormalPrior,
    fit_penalised,
    minimise_penalised,
)
from argmetric._ground.discrete import central_interval, distinct
from argmetric._ground.odds import expit
from argmetric._ground.types import Booleans, Floats, Integers, Interval
from argmetric._monitor import DEVIATIONS, PRIOR, SIZES, Readings
from argmetric.classes._calibrate import ClassBatch
from argmetric.classes._forecast import ClassForecast, forecast_batch

if TYPE_CHECKING:
    from argmetric.classes._monitor_period import ClassWatch

MOST_ROWS = 20_000  # of either sample in a likelihood; more are thinned evenly
LEAST = 1e-6  # smaller probabilities count as this where their logarithm is taken
SEED = 3
SHIFT_STD = 1.0  # of θ under prevalence shift


def shift_loss(
    q: Floats, is_new: Booleans, q_known: Floats, code: Integers
) -> Callable[[Floats], Derivatives]:
    """Return the loss of β = (κ, θ) under prevalence shift: h = e^κ·Σ_c q_c·e^θ_c.

    P(label y) of a row of known class is q_y·e^θ_y / Σ_c q_c·e^θ_c.

    Parameters
    ----------
    q : ndarray of shape (n_rows, n_classes)
        Of the reference and of the period.
    is_new : ndarray of bool, shape (n_rows,)
        Whether the row is of the period.
    q_known : ndarray of shape (n_known, n_classes)
    code : ndarray of shape (n_known,)
        Column of the class of each row whose class is known.
    """

    def evaluate(beta: Floats) -> Derivatives:
        """Return the loss at coefficients beta (1, size), gradient and curvature."""
        moved = q * np.exp(beta[0, 1:])
        total = moved.sum(axis=1)
        x = beta[0, 0] + np.log(total)
        p_new = expit(x)
        weight = p_new * (1.0 - p_new)
        slopes = np.column_stack([np.ones(x.size), moved / total[:, None]])
        loss = np.logaddexp(0.0, x).sum() - x[is_new].sum()
        gradient = slopes.T @ (p_new - is_new)
        curvature = (slopes * weight[:, None]).T @ slopes
        moved = q_known * np.exp(beta[0, 1:])
        total = moved.sum(axis=1)
        loss += (np.log(total) - beta[0, 1:][code]).sum()
        slopes = moved / total[:, None]
        slopes[np.arange(code.size), code] -= 1.0
        gradient[1:] += slopes.sum(axis=0)
        curvature[1:, 1:] += slopes.T @ slopes
        at = loss, gradient, curvature, weight.sum()
        return Derivatives(*(np.asarray(one)[None] for one in at))

    return evaluate


class Explanations(NamedTuple):
    """Probabilities of the explanations, and θ under prevalence shift."""

    readings: Readings
    theta: Floats
    root: Floats


def weigh_explanations(q_old: Floats, q_new: Floats, true: Integers) -> Explanations:
    """Weigh the three explanations of a period by their evidence.

    Parameters
    ----------
    q_old : ndarray of shape (n_reference, n_classes)
        Calibrated probabilities of the reference.
    q_new : ndarray of shape (n_rows, n_classes)
        Those of the period.
    true : ndarray of shape (n_rows,)
        Columns of known classes, -1 elsewhere.
    """
    old, new = (q[:: -(-len(q) // MOST_ROWS)] for q in (q_old, q_new))
    q = np.concatenate([old, new])
    is_new = np.arange(len(q)) >= len(old)
    count, ones = q.shape[1], np.ones((len(q), 1))
    logs = np.log(np.maximum(q, LEAST))
    std = logs[~is_new].std(axis=0)
    features = (logs - logs[~is_new].mean(axis=0)) / np.where(std > 0.0, std, 1.0)
    features = np.hstack([ones, features])

    start = np.zeros(count + 1)
    start[0] = np.log(is_new.sum() / (~is_new).sum())  # κ is about it
    target, weight = is_new.astype(np.float64), np.ones(len(q))
    one_std = NormalPrior(start[:1], np.ones(1))
    nothing = fit_penalised(ones.T, target, weight, start[:1], one_std)
    stds = np.ones((len(SIZES), count + 1))
    stds[:, 1:] = np.array(SIZES)[:, None] / np.sqrt(count)
    sizes = NormalPrior(start, 1.0 / stds**2)
    covariate = fit_penalised(features.T, target, weight, start, sizes).evidence(sizes)
    known = true >= 0
    stds = np.append(1.0, np.full(count, SHIFT_STD))
    free = NormalPrior(start, 1.0 / stds**2)
    loss = shift_loss(q, is_new, q_new[known], true[known])
    shift = minimise_penalised(loss, start, free)
    evidence = np.array(
        [
            nothing.evidence(one_std),
            np.logaddexp.reduce(covariate) - np.log(len(SIZES)),
            shift.evidence(free),
        ]
    )
    weight = PRIOR * np.exp(evidence - evidence.max())
    readings = Readings(*(weight / weight.sum()).tolist())
    root = np.linalg.cholesky(np.linalg.inv(shift.curvature))
    return Explanations(readings, shift.theta[1:], root[1:])


class ShiftedCalibrators(NamedTuple):
    """Calibrators that the reference allows, each with a shift θ, for one batch."""

    alternatives: list[tuple[Floats, Floats]]  # probabilities by a calibrator, and θ
    prevalences: Floats
    n: int


def shift_probabilities(q: Floats, theta: Floats) -> Floats:
    """Return rows proportional to q·e^θ.

    Parameters
    ----------
    q : ndarray of shape (n_rows, n_classes)
    theta : ndarray of shape (n_classes,)
    """
    moved = q * np.exp(theta - theta.max())
    return np.asarray(moved / moved.sum(axis=1, keepdims=True))


class PeriodDistribution:
    """Distribution of the score of a period, under each explanation and mixed.

    Parameters
    ----------
    watch : ClassWatch
        The reference and the settings.
    q : list of ndarray of shape (n_rows, n_classes)
        Probabilities of its rows by the calibrator, and by each other one that the
        reference allows.
    codes, true : ndarray of shape (n_rows,)
        Columns of the labels, and of known classes, which are -1 elsewhere.
    """

    def __init__(
        self, watch: ClassWatch, q: list[Floats], codes: Integers, true: Integers
    ) -> None:
        reference, coverage = watch.reference_q, watch.coverage
        others = q[1:] or q
        explanations = weigh_explanations(reference, q[0], true)
        count = q[0].shape[1]
        unmoved, free = np.zeros(count), np.eye(count)
        # Mean and root of the covariance of θ under nothing, covariate and prevalence
        # shift
        thetas = [
            (unmoved, 0.0 * free),
            (unmoved, DEVIATIONS[1] * free),
            (explanations.theta, explanations.root),
        ]
        normal = np.random.default_rng(SEED).standard_normal((len(others), count + 1))
        known = np.where(true < 0, np.nan, true)
        self.readings = explanations.readings
        self.forecasts: list[ClassForecast] = []
        means = []
        for theta, root in thetas:
            draws = theta + normal[:, : root.shape[1]] @ root.T
            pairs = list(zip(others, draws, strict=True))
            batch = ClassBatch(
                shift_probabilities(q[0], theta),
                tuple(range(count)),
                None,
                ShiftedCalibrators(pairs, watch.prevalences, len(reference)),
                recalibrate=lambda pair: shift_probabilities(*pair),
            )
            one = forecast_batch(batch, codes, watch.metric, coverage, known=known)
            self.forecasts.append(one)
            means.append([_class_means(one, true) for one in batch.alternatives()])
        weights = {"none": [1.0, 0.0, 0.0], "prior": [0.0, 0.0, 1.0]}.get(watch.shift)
        self.weights = np.array(self.readings if weights is None else weights)
        self._means = np.array(means)  # by explanation, calibrator and class
        self._coverage, self._true = coverage, true

    def score(self) -> tuple[float, Interval]:
        """Return mean and interval of the score, not narrower than without a shift."""
        values = np.concatenate([one.values for one in self.forecasts])
        pairs = zip(self.weights, self.forecasts, strict=True)
        probabilities = np.concatenate([w * one.probabilities for w, one in pairs])
        ends = central_interval(*distinct(values, probabilities), self._coverage)
        plain = self.forecasts[0].interval
        mean = float(self.weights @ [one.mean for one in self.forecasts])
        return mean, Interval(min(ends[0], plain[0]), max(ends[1], plain[1]))

    def prevalences(self) -> tuple[Floats, Floats, Floats]:
        """Return the prevalence of each class among the rows, and its interval.

        Returns
        -------
        mean, low, high : ndarray of shape (n_classes,)
        """
        from scipy.special import ndtri

        n, unknown = self._true.size, (self._true < 0).mean()
        draws = self._means.reshape(-1, self._means.shape[2])
        weight = np.repeat(self.weights, self._means.shape[1]) / self._means.shape[1]
        mean = weight @ draws
        label_variance = unknown * mean * (1.0 - mean) / n
        std = np.sqrt(weight @ (draws - mean) ** 2 + label_variance)
        reach = float(ndtri((1.0 + self._coverage) / 2)) * std
        return mean, np.maximum(mean - reach, 0.0), np.minimum(mean + reach, 1.0)


def _class_means(p: Floats, true: Integers) -> Floats:
    """Return the expected prevalences (n_classes,) of rows, some of known class."""
    known = np.bincount(true[true >= 0], minlength=p.shape[1])
    return np.asarray((known + p[true < 0].sum(axis=0)) / true.size)
