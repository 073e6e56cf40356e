"""evaluate: what score did the labels get?"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from argmetric._decide._groups import mean_defined
from argmetric._input.labels import (
    classes_of,
    distinct,
    read_together,
    refuse_sparse_pos_label,
)
from argmetric._input.layout import Average, lay_out
from argmetric._input.sparse import check_structure, entry_place, is_sparse
from argmetric._input.types import Floats, Integers
from argmetric._input.validation import Probabilities
from argmetric.metrics import MetricLike, get_metric, require_defined


def evaluate(
    y_true: Any,
    y_pred: Any,
    metric: MetricLike = "f1",
    *,
    groups: Any = None,
    average: Average | None = None,
    zero_division: float | None = None,
    pos_label: Any = None,
    forecast: Any = None,
) -> float:
    """Realised score of labels against the truth, averaged as in `decide`.

    Parameters
    ----------
    y_true, y_pred : array-like
        Labels, as a vector or a matrix: 0/1, booleans, -1/1, or any others with
        `pos_label`.
    metric : str, Metric or callable, default="f1"
        What to compute.
    groups : array-like, optional
        Group of each row.
    average : {"groups", "pooled", "samples", "macro", "micro"}, optional
        How segments are combined. Groups alone mean "groups".
    zero_division : {0.0, 1.0, nan}, optional
        Value of 0/0; with nan such segments are left out of the mean.
    pos_label : object, optional
        The label that counts as positive.
    forecast : Forecast, optional
        What was forecast of the same labels: a warning tells if its interval does not
        hold the score.

    Examples
    --------
    >>> import argmetric as am
    >>> round(am.evaluate([1, 1, 0, 0], [1, 0, 0, 0]), 4)
    0.6667
    >>> am.evaluate(["spam", "ham"], ["spam", "spam"], "recall", pos_label="spam")
    1.0
    """
    metric = get_metric(metric, zero_division=zero_division)
    if groups is not None and average is None:
        average = "groups"
    if is_sparse(y_true) and is_sparse(y_pred):
        refuse_sparse_pos_label(pos_label, y_true=y_true, y_pred=y_pred)
        counts = _count_sparse(y_true, y_pred, groups, average)
    else:
        counts = _count(y_true, y_pred, pos_label, groups, average)
    hit, predicted, actual, sizes = counts
    require_defined(metric, int(sizes.max()))
    score = mean_defined(np.atleast_1d(metric.value(hit, predicted, actual, sizes)))
    if math.isnan(score):
        raise ValueError(
            f"{metric.name} is undefined (0/0) on these labels; zero_division=0 or 1 "
            "gives it a value"
        )
    if forecast is not None:
        _warn_of_surprise(forecast, score)
    return score


def _warn_of_surprise(forecast: Any, score: float) -> None:
    if not hasattr(forecast, "surprise"):
        raise TypeError(
            f"forecast must be what forecast() gave, not {type(forecast).__name__}"
        )
    surprise = forecast.surprise(score)
    if surprise is not None:
        warnings.warn(surprise, UserWarning, stacklevel=3)


def _count(
    y_true: Any, y_pred: Any, pos_label: Any, groups: Any, average: Average | None
) -> tuple[Floats, Floats, Floats, Integers]:
    """Hits, predicted and actual positives, and the size, of every segment."""
    read = read_together(pos_label, y_true=y_true, y_pred=y_pred)
    true, pred = (numbers == 1.0 for numbers in read)
    if true.size == 0:
        raise ValueError("y_true is empty: there is nothing to evaluate")
    cells = Probabilities(true.astype(np.float64))
    layout = lay_out(cells, groups=groups, average=average, name="y_true")
    order = layout.segment_rows(0, layout.indptr.size - 1)
    hit, predicted, actual = (
        np.add.reduceat(layout.select(a)[order].astype(np.float64), layout.indptr[:-1])
        for a in (true & pred, pred, true)
    )
    return hit, predicted, actual, layout.sizes


def _count_sparse(
    y_true: Any, y_pred: Any, groups: Any, average: Average | None
) -> tuple[Floats, Floats, Floats, Integers]:
    """Counts of two sparse matrices, from their entries alone."""
    check_structure(y_true, "y_true")
    check_structure(y_pred, "y_pred")
    if 0 in y_true.shape:
        raise ValueError("y_true is empty: there is nothing to evaluate")
    layout = lay_out(y_true, groups=groups, average=average, name="y_true")
    true, pred = _entries(y_true, "y_true"), _entries(y_pred, "y_pred")
    if true.shape != pred.shape:
        raise ValueError(
            f"y_pred has shape {pred.shape} but y_true has shape {true.shape}"
        )
    axis = {"samples": 1, "macro": 0}.get(layout.average or "")
    hit, predicted, actual = (
        np.asarray(a.sum(axis=axis), dtype=np.float64).ravel()
        for a in (true.multiply(pred), pred, true)
    )
    return hit, predicted, actual, layout.sizes


def _entries(labels: Any, name: str) -> Any:
    """Sparse 0/1 labels with one entry per cell."""
    matrix = labels.tocsr(copy=True).astype(np.float64)
    matrix.sum_duplicates()

    def where(label: Any) -> str:
        return entry_place(matrix, int(np.flatnonzero(matrix.data == label)[0]))

    cells = np.append(matrix.data, (0, 1))  # the absent ones are 0
    classes_of(distinct(cells), name, where=where)  # refuses all but 0 and 1
    return matrix
