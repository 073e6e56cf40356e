"""Probabilities of the rows of a reference by calibrators that were not fitted to them.

The calibrator and the labels fit the reference better than new rows, so that a forecast
by them alone is too high. Held-out probabilities show how far.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from argmetric._ground.types import ArrayLike, ClassTuple, Floats, Integers
from argmetric._ground.validation import warn_of_scale
from argmetric.classes._calibrators import ClassMatrixCalibrator, apply_temperature
from argmetric.classes._fit import (
    MOST_DRAWN_TOGETHER,
    MatrixLoss,
    fit_class_matrix,
    matrix_loss,
)
from argmetric.classes._input import check_class_probabilities, class_codes

ENOUGH_ROWS = 200  # for each parameter, with which no row matters
N_FOLDS = 5  # of a calibrator with too many parameters for a step per row
FURTHEST = 8.0  # change of a logit by leaving out one row
BLOCK_CELLS = 4_000_000  # floats of the largest array of a block of rows


@dataclass(frozen=True)
class LabelledRows:
    """Rows of a reference, and the calibrator that was fitted to them."""

    code: Integers  # column of the true class
    scores: Floats  # probabilities before the calibrator, or logits
    logits: bool
    calibrator: ClassMatrixCalibrator

    @cached_property
    def held_out(self) -> Floats:
        """Probabilities of each row by a calibrator fitted to the others."""
        return held_out_probabilities(
            self.calibrator, self.code, self.scores, logits=self.logits
        )


def fit_reference(
    reference: tuple[ArrayLike, ArrayLike], names: ClassTuple, *, logits: bool
) -> LabelledRows:
    """Check the labelled rows of reference=(y, p), and fit a calibrator to them."""
    y, p = reference
    scores = check_class_probabilities(p, "the p of reference=(y, p)", logits=logits)
    if scores.size == 0:
        raise ValueError("the reference is empty: there is nothing to calibrate on")
    warn_of_scale(scores, logits=logits)
    given = list(names)
    code, known = class_codes(y, p, scores, given, several=True, numbered=True)
    found = fit_class_matrix(code, scores, logits=logits, classes=known)
    return LabelledRows(code, scores, logits, found)


def held_out_probabilities(
    calibrator: ClassMatrixCalibrator, code: Integers, scores: Floats, *, logits: bool
) -> Floats:
    """Return the probabilities of each row by a calibrator fitted to the other rows.

    Parameters
    ----------
    calibrator : ClassMatrixCalibrator
        Fitted to these rows, all of weight 1.
    code : ndarray of shape (n_rows,)
        Column of the true class.
    scores : ndarray of shape (n_rows, n_classes)
        Probabilities before the calibrator, or logits.
    logits : bool
        Whether `scores` are logits.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
    """
    if code.size >= ENOUGH_ROWS * (calibrator.n_classes + 1) * calibrator.n_classes:
        return calibrator.apply(scores, logits=logits)
    weight = np.ones(code.size)
    p = scores if logits else apply_temperature(scores, calibrator.temperature)
    loss, _ = matrix_loss(code, p, weight, logits=logits)
    ends = [calibrator.slope - 1.0, calibrator.lump]
    if loss.centre is not None and calibrator.matrix is not None:
        theta = np.concatenate([calibrator.matrix.ravel(), calibrator.biases, ends])
        if theta.size <= MOST_DRAWN_TOGETHER:
            return _by_newton_steps(loss, theta)
    fold = np.arange(code.size) % N_FOLDS
    q = np.empty(scores.shape)
    for k in range(min(N_FOLDS, code.size)):
        out = fold == k
        if out.all():  # a single row
            return calibrator.apply(scores, logits=logits)
        other = fit_class_matrix(
            code[~out], scores[~out], logits=logits, strict=False, draw=False
        )
        q[out] = other.apply(scores[out], logits=logits)
    return q


def _by_newton_steps(loss: MatrixLoss, theta: Floats) -> Floats:
    """Return held-out probabilities by one Newton step per row, without a further fit.

    With the logits z = X·θ of a row, the inverse curvature V of the loss at its
    minimum, A = X·V·Xᵀ, the curvature Q = diag(q) - q·qᵀ and the residuals r of the
    row, leaving it out moves its logits by (I - A·Q)⁻¹·A·r.
    """
    q, _ = loss.probabilities(theta, slice(None))
    n, count = q.shape
    assert loss.centre is not None
    inverse = np.linalg.inv(loss.curvature(theta, with_matrix=True))
    # X has f = (L - ℓ, 1) for matrix and biases, e = (L, low) for slope and lump
    size = (count + 1) * count
    f = np.column_stack([loss.x - loss.centre, np.ones(n)])
    low = np.zeros_like(q) if loss.low is None else loss.low
    e = np.stack([loss.x, low], axis=2)
    v_ff = inverse[:size, :size].reshape(count + 1, count, count + 1, count)
    v_fe = inverse[:size, size:].reshape(count + 1, count, 2)
    v_ee = inverse[size:, size:]
    moved = np.empty_like(q)
    unit = np.eye(count)
    for part in np.array_split(np.arange(n), n * size * count // BLOCK_CELLS + 1):
        fi, ei, qi = f[part], e[part], q[part]
        a = np.einsum("ickd,ik->icd", np.tensordot(fi, v_ff, (1, 0)), fi)
        cross = np.einsum("ij,jcm,idm->icd", fi, v_fe, ei, optimize=True)
        a += cross + cross.transpose(0, 2, 1)
        a += np.einsum("icm,mk,idk->icd", ei, v_ee, ei, optimize=True)
        residual = qi - unit[loss.code[part]]
        bend = qi[:, :, None] * (unit - qi[:, None, :])
        step = np.linalg.solve(unit - a @ bend, a @ residual[:, :, None])[:, :, 0]
        z = np.log(np.maximum(qi, 1e-300)) + np.clip(step, -FURTHEST, FURTHEST)
        z = np.exp(z - z.max(axis=1, keepdims=True))
        moved[part] = z / z.sum(axis=1, keepdims=True)
    return moved
