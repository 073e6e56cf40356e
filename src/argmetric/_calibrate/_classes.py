"""One temperature for the probabilities of several classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from argmetric._calibrate._fit import HOTTEST, _root
from argmetric._calibrate._maps import ClassTemperatureMap, log_softmax
from argmetric._calibrate._reference import row_count
from argmetric._input.labels import label_array, refuse_missing
from argmetric._input.odds import NEAREST
from argmetric._input.types import Floats, Integers
from argmetric._input.validation import check_length, check_weight
from argmetric._results.discrete import dot


def class_numbers(y: Any, n_rows: int, n_classes: int) -> Integers:
    """Column of every label: sorted classes, or numbers of columns from 0."""
    labels = label_array(y)
    check_length(labels, "y", n_rows)
    refuse_missing(labels, "y")
    classes, code = np.unique(labels, return_inverse=True)
    if classes.size == n_classes:
        return np.asarray(code, dtype=np.int64)
    numbers = labels.dtype.kind in "iu"
    if numbers and classes[0] >= 0 and classes[-1] < n_classes:
        return labels.astype(np.int64)
    raise ValueError(
        f"y has {classes.size} classes but p has {n_classes} columns: every column "
        "needs its class, in sorted order, or labels are the numbers of the columns"
    )


def fit_class_temperature(
    y: Any, scores: Floats, sample_weight: Any, *, logits: bool, strict: bool = True
) -> ClassTemperatureMap:
    """Largest likelihood of softmax(z/T), z the log-probabilities or given scores.

    Where it falls from T = ∞ on, an error; with `strict` off, the hottest map.
    """
    n_rows, n_classes = scores.shape
    code = class_numbers(y, n_rows, n_classes)
    weight = check_weight(sample_weight, (n_rows,))
    w = np.ones(n_rows) if weight is None else weight
    if not w.any():
        raise ValueError("all weights are 0: there is nothing to calibrate on")
    z = _finite_scores(scores, logits)
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
            return ClassTemperatureMap(HOTTEST, n_classes, n=n)
        raise ValueError(
            "no temperature fits: the true classes do not score higher than the "
            "others; the columns have to be in the order of the sorted classes"
        )

    def falling(inverse: float) -> float:
        p = np.exp(log_softmax(inverse * z))
        return dot(w, wanted - (p * z).sum(axis=1))

    return ClassTemperatureMap(1 / _root(falling), n_classes, n=n)


def _finite_scores(scores: Floats, logits: bool) -> Floats:
    if logits:
        if not np.isfinite(scores).all():
            raise ValueError("p has infinite scores, which a temperature cannot scale")
        return scores
    total = scores.sum(axis=1)
    wrong = np.flatnonzero(np.abs(total - 1) > 1e-3)
    if wrong.size:
        raise ValueError(
            f"p sums to {total[wrong[0]]:.4g} in row {wrong[0]}, not to 1: with one "
            "label per row the columns are the probabilities of its class. For several "
            "labels per row, y is a matrix of 0 and 1; for scores, pass logits=True"
        )
    return np.log(np.maximum(scores, NEAREST))
