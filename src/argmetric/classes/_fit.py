"""Fit calibrators of class probabilities to rows with one label each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from argmetric._calibrate.fit import MAX_TEMPERATURE, root_of
from argmetric._calibrate.logistic import round_draws, row_blocks
from argmetric._calibrate.reference import row_count
from argmetric._ground.discrete import dot
from argmetric._ground.odds import NEAREST
from argmetric._ground.types import ArrayLike, ClassTuple, Floats, Integers
from argmetric._ground.validation import check_weight
from argmetric.classes._calibrators import (
    ClassMatrixCalibrator,
    ClassTemperatureCalibrator,
    apply_temperature,
    log_softmax,
)

# Standard deviations and precisions of the normal prior, centred at no change. They
# were chosen by held-out log-loss and macro-F1 on real models.
MATRIX_SD, BIAS_SD = 0.2, 0.5
SLOPE_PRECISION, LUMP_PRECISION = 0.001, 0.3
LEAST_FALL = 2.0  # of the loss, for which scores get a temperature first
HOTTEST_FIRST = 64.0
MOST_CLASSES_WITH_MATRIX = 60  # it has C² weights; up to 26 classes were tried
MOST_DRAWN_TOGETHER = 800  # parameters whose curvature is inverted as a whole
N_CLASS_DRAWS = 16
MOST_STEPS = 500
BACKWARDS = -2.0  # standard errors by which true classes score below the others


def class_weights(sample_weight: ArrayLike | None, code: Integers) -> Floats:
    """Return weights of the rows that sum to the number of rows they stand for.

    `code` and the answer have the shape (n_rows,).
    """
    weight = check_weight(sample_weight, code.shape)
    if weight is None:
        return np.ones(code.size)
    if not weight.any():
        raise ValueError("all weights are 0: there is nothing to calibrate on")
    return np.asarray(weight * (row_count(weight) / float(weight.sum())))


def fit_class_temperature(
    code: Integers,
    scores: Floats,
    sample_weight: ArrayLike | None = None,
    *,
    logits: bool,
    strict: bool = True,
) -> ClassTemperatureCalibrator:
    """Maximise the likelihood of softmax(z/T), z the log-probabilities or logits.

    Where it falls from T = ∞ on, raise; with `strict` off, return the hottest.
    """
    n_rows, n_classes = scores.shape
    w = class_weights(sample_weight, code)
    z = scores if logits else np.log(np.maximum(scores, NEAREST))
    rows = np.arange(n_rows)
    if (z == z[:, :1]).all():
        raise ValueError("all classes have the same score in every row: nothing to fit")
    target = np.zeros_like(z)
    target[rows, code] = 1.0
    others = np.where(target > 0, -np.inf, z).max(axis=1)
    if ((z[rows, code] > others) | (w == 0)).all():
        # Without a single error the likelihood has no finite optimum.
        count = row_count(w)
        target = (target * count + 1) / (count + n_classes)
    z = z - z.mean(axis=1, keepdims=True)
    wanted = (target * z).sum(axis=1)
    n = int((w > 0).sum())
    if dot(w, wanted) <= 0:  # the slope of the likelihood at T = ∞
        if not strict:
            return ClassTemperatureCalibrator(MAX_TEMPERATURE, n_classes, n=n)
        raise ValueError(f"no temperature fits: {_WRONG_ORDER}")

    def falling(inverse: float) -> float:
        p = np.exp(log_softmax(inverse * z))
        return dot(w, wanted - (p * z).sum(axis=1))

    return ClassTemperatureCalibrator(1 / root_of(falling), n_classes, n=n)


_WRONG_ORDER = (
    "the true classes do not score higher than the others; the columns have to be in "
    "the order of the sorted classes, or pass classes=, the class of each column"
)


@dataclass(frozen=True)
class MatrixLoss:
    """Loss of the parameters θ = (W, b, a, s) of a matrix calibrator on a reference.

    With L = log p (m × C), its column means ℓ and the logits

        z_ic = (1+a)·L_ic + Σ_j (L_ij - ℓ_j)·W_jc + b_c + s·[p_ic ≤ floor]

    it is Σ_i w_i·(log Σ_c e^z_ic - z_i,y_i) + ½·Σ precision·θ², which is convex.
    Without a matrix W is absent from θ. O(m·C²) for a value and its gradient.
    """

    # L, and 1 where p ≤ floor; `low` is None where no entry is
    x: Floats
    low: Floats | None
    # Column of the true class, and weight, of each row
    code: Integers
    w: Floats
    centre: Floats | None  # ℓ; None without a matrix

    @property
    def n_classes(self) -> int:
        return int(self.x.shape[1])

    @property
    def precision(self) -> Floats:
        """Precisions of the prior of θ, of shape (n_parameters,)."""
        count = self.n_classes
        matrix = 0 if self.centre is None else count * count
        return np.concatenate(
            [
                np.full(matrix, 1 / MATRIX_SD**2),
                np.full(count, 1 / BIAS_SD**2),
                [SLOPE_PRECISION, LUMP_PRECISION],
            ]
        )

    def parts(self, theta: Floats) -> tuple[Floats | None, Floats, float, float]:
        """Split θ into W, b, a and s."""
        count = self.n_classes
        head, b, (a, s) = np.split(theta, [theta.size - count - 2, theta.size - 2])
        matrix = None if self.centre is None else head.reshape(count, count)
        return matrix, b, float(a), float(s)

    def probabilities(self, theta: Floats, part: slice) -> tuple[Floats, Floats]:
        """Return probabilities of some rows, and their negative log-likelihoods.

        Returns
        -------
        p : ndarray of shape (n_rows, n_classes)
        losses : ndarray of shape (n_rows,)
        """
        from argmetric.classes.kernels.softmax import divide_rows, lower_rows

        matrix, b, a, s = self.parts(theta)
        if matrix is None or self.centre is None:
            z = (1.0 + a) * self.x[part] + b
        else:
            whole = matrix + (1.0 + a) * np.eye(self.n_classes)
            z = self.x[part] @ whole + (b - self.centre @ matrix)
        if self.low is not None:
            z += s * self.low[part]
        true, total = np.empty((2, len(z)))
        lower_rows(z, self.code[part], true)
        np.exp(z, out=z)
        divide_rows(z, total)
        return z, np.log(total) - true

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Return the loss and its gradient, of shape (n_parameters,)."""
        from argmetric.classes.kernels.softmax import take_residuals

        count = self.n_classes
        products = np.zeros((count, count))  # Lᵀ·r, r the residuals
        residuals, of_a, of_s, loss = np.zeros(count), 0.0, 0.0, 0.0
        for part in row_blocks(self.w.size):
            r, losses = self.probabilities(theta, part)
            loss += dot(self.w[part], losses)
            take_residuals(r, self.code[part], self.w[part], residuals)
            if self.centre is None:
                of_a += float(np.vdot(self.x[part], r))
            else:
                products += self.x[part].T @ r
            if self.low is not None:
                of_s += float(np.vdot(self.low[part], r))
        head = np.empty(0)
        if self.centre is not None:
            head = (products - np.outer(self.centre, residuals)).ravel()
            of_a = float(np.trace(products))
        gradient = np.concatenate([head, residuals, [of_a, of_s]])
        penalty = self.precision * theta
        return loss + 0.5 * float(penalty @ theta), gradient + penalty

    def curvatures_at_zero(self) -> Floats:
        """Return second derivatives by each of θ alone at θ = 0."""
        count, zero = self.n_classes, np.zeros(self.precision.size)
        matrix, b, ends = np.zeros((count, count)), np.zeros(count), np.zeros(2)
        for part in row_blocks(self.w.size):
            p, _ = self.probabilities(zero, part)
            w = self.w[part, None]
            bend = w * p * (1.0 - p)
            b += bend.sum(axis=0)
            if self.centre is not None:
                matrix += ((self.x[part] - self.centre) ** 2).T @ bend
            for i, line in enumerate(self._deviations(p, part)):
                ends[i] += float((w * p * line**2).sum())
        head = matrix.ravel() if self.centre is not None else matrix[:0, 0]
        return np.concatenate([head, b, ends]) + self.precision

    def _deviations(self, p: Floats, part: slice) -> list[Floats]:
        """Return deviations of the features of a and s from their means over classes.

        `p` and both answers have the shape (n_rows, n_classes).
        """
        low = np.zeros_like(p) if self.low is None else self.low[part]
        both = self.x[part], low
        return [one - (p * one).sum(axis=1, keepdims=True) for one in both]

    def curvature(self, theta: Floats, *, with_matrix: bool) -> Floats:
        """Return second derivatives by θ, or by (b, a, s) alone.

        With the features f_i of a row (L_i - ℓ and 1, or 1 alone), those of the pair of
        logits c and d are Σ_i w_i·f_i·f_iᵀ·p_ic·([c=d] - p_id). A product of matrices:
        O(m·C⁴) with the matrix and O(m·C²) without.
        """
        count = self.n_classes
        width = count + 1 if with_matrix else 1
        size = width * count
        total = np.zeros((size + 2, size + 2))
        diagonal = total[:size, :size].reshape(width, count, width, count)
        each = np.arange(count)
        for part in row_blocks(self.w.size, max(16, 2**21 // size)):
            p, _ = self.probabilities(theta, part)
            w = self.w[part]
            f = np.ones((w.size, width))
            if with_matrix and self.centre is not None:
                f[:, :count] = self.x[part] - self.centre
            fp = (f[:, :, None] * p[:, None, :]).reshape(w.size, size)
            weighted = fp * w[:, None]
            total[:size, :size] -= fp.T @ weighted
            same = (f.T @ weighted).reshape(width, width, count)
            diagonal[:, each, :, each] += np.moveaxis(same, 2, 0)
            lines = self._deviations(p, part)
            for i, line in enumerate(lines):
                across = f.T @ (p * line * w[:, None])
                total[size + i, :size] += across.ravel()
                for j, other in enumerate(lines):
                    total[size + i, size + j] += float(
                        np.einsum("i,ic,ic,ic->", w, p, line, other)
                    )
        total[:size, size:] = total[size:, :size].T
        total[np.diag_indices(size + 2)] += self.precision[-size - 2 :]
        return total


def matrix_loss(
    code: Integers, scores: Floats, w: Floats, *, logits: bool
) -> tuple[MatrixLoss, float | None]:
    """Return the loss on a reference, and the floor of its probabilities.

    The floor is half the least positive probability, and at least 1/4m for m rows: they
    do not tell smaller ones apart. With many classes and few rows it stays at 1/30
    of 1/C, so that it does not reach usual probabilities.
    """
    count = scores.shape[1]
    floor, low = None, None
    if logits:
        x = log_softmax(scores)
    else:
        least = float(scores.min(initial=1.0, where=scores > 0.0))
        floor = max(least / 2, min(1 / (4 * row_count(w)), 1 / (30 * count)))
        x = np.log(np.maximum(scores, floor))
        low = (scores <= floor).astype(np.float64)
        low = low if low.any() else None
    centre = None
    if count <= MOST_CLASSES_WITH_MATRIX:
        centre = np.asarray(w @ x / w.sum())
    return MatrixLoss(x, low, code, w, centre), floor


def fit_class_matrix(
    code: Integers,
    scores: Floats,
    sample_weight: ArrayLike | None = None,
    *,
    logits: bool,
    classes: ClassTuple | None = None,
    strict: bool = True,
    draw: bool = True,
) -> ClassMatrixCalibrator:
    """Fit the likeliest matrix, biases, slope and lump, all pulled towards no change.

    Parameters
    ----------
    code : ndarray of shape (n_rows,)
        Column of the true class.
    scores : ndarray of shape (n_rows, n_classes)
        Probabilities, or logits.
    sample_weight : array-like of shape (n_rows,), optional
    logits : bool
    classes : tuple, optional
        The class of each column.
    strict : bool, default=True
        Refuse scores that rank backwards.
    draw : bool, default=True
        Draw other calibrators that fit as well.
    """
    w = class_weights(sample_weight, code)
    used = w > 0.0
    if not used.all():
        code, scores, w = code[used], scores[used], w[used]
    fit = _fit(code, scores, w, logits=logits, strict=strict)
    temperature = 1.0
    if fit.floor and ((scores > 0.0) & (scores < fit.floor)).any():
        fit, temperature = _fit_hotter(fit, code, scores, w)
    loss, theta = fit.loss, fit.theta
    matrix, b, a, s = loss.parts(theta)
    return ClassMatrixCalibrator(
        1.0 + a,
        b,
        matrix,
        loss.centre,
        s,
        fit.floor,
        n=code.size,
        prevalences=np.bincount(code, w, b.size) / w.sum(),
        classes=classes,
        temperature=temperature,
        draws=_draws(loss, theta) if draw else None,
    )


class Fit(NamedTuple):
    """Least loss, the coefficients θ that reach it, and the floor of probabilities."""

    value: float
    theta: Floats
    loss: MatrixLoss
    floor: float | None


def _fit(
    code: Integers, scores: Floats, w: Floats, *, logits: bool, strict: bool = False
) -> Fit:
    """Return θ of the least loss; arrays as for `fit_class_matrix`, weights above 0."""
    from scipy.optimize import minimize

    loss, floor = matrix_loss(code, scores, w, logits=logits)
    if strict:
        rows = np.arange(loss.code.size)
        ahead = loss.x[rows, loss.code] - loss.x.mean(axis=1)
        spread = float(np.sqrt(dot(loss.w**2, ahead**2)))
        if dot(loss.w, ahead) < BACKWARDS * spread:
            raise ValueError(f"the scores rank backwards: {_WRONG_ORDER}")
    unit = 1.0 / np.sqrt(loss.curvatures_at_zero())  # halves the number of steps

    def in_units(u: Floats) -> tuple[float, Floats]:
        value, gradient = loss(u * unit)
        return value, gradient * unit

    least = minimize(
        in_units,
        np.zeros(unit.size),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": MOST_STEPS, "ftol": 1e-12, "gtol": 1e-6},
    )
    return Fit(float(least.fun), np.asarray(least.x * unit), loss, floor)


def _fit_hotter(plain: Fit, code: Integers, p: Floats, w: Floats) -> tuple[Fit, float]:
    """Fit to p at a temperature, doubled while the loss falls, if it falls enough.

    The floor cuts the small probabilities of scores that are far too sure, and which
    class comes second is lost. At a temperature they are above the floor.
    """
    best, hottest, temperature = plain, 1.0, 2.0
    while temperature <= HOTTEST_FIRST:
        hotter = apply_temperature(p, temperature)
        tried = _fit(code, hotter, w, logits=False)
        if tried.value >= best.value:
            break
        best, hottest, temperature = tried, temperature, 2.0 * temperature
    return (best, hottest) if best.value < plain.value - LEAST_FALL else (plain, 1.0)


def _draws(loss: MatrixLoss, theta: Floats) -> Floats:
    """Draw from the normal distribution with the curvature of the loss at its minimum.

    With too many parameters for that, draw biases, slope and lump, given the matrix.

    Returns
    -------
    ndarray of shape (N_CLASS_DRAWS, n_parameters)
    """
    from scipy.linalg import cholesky, solve_triangular

    whole = theta.size <= MOST_DRAWN_TOGETHER and loss.centre is not None
    mean = theta if whole else theta[-loss.n_classes - 2 :]
    root = cholesky(loss.curvature(theta, with_matrix=whole), lower=False)
    normal = np.random.default_rng(0).standard_normal((mean.size, N_CLASS_DRAWS))
    draws = mean + solve_triangular(root, normal, lower=False).T
    draws[:, -2] += 1.0  # the slope, not its distance from 1
    return round_draws(draws)
