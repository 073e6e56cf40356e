"""Rows, labels and options of a tagger of rows, checked."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from argmetric._input.arguments import MOST, check_count, shown, to_float
from argmetric._input.labels import clear_labels
from argmetric._input.types import BinaryLabels, Integers
from argmetric._input.validation import to_numpy
from argmetric._text.common import MOST_EPOCHS

_LARGEST = 1e150  # squares of larger values overflow


def sparse_rows(X: Any) -> Any:
    """CSR without duplicates of what `validate_data` let through."""
    from scipy.sparse import csr_array

    rows = csr_array(X)
    if not rows.has_canonical_format:
        rows = rows.copy()  # the caller's stays as it is
        rows.sum_duplicates()
    large = np.flatnonzero(np.abs(rows.data) > _LARGEST)
    if large.size:
        row = int(np.searchsorted(rows.indptr, large[0], side="right")) - 1
        column = int(rows.indices[large[0]])
        raise ValueError(
            f"X is {rows.data[large[0]]:g} at row {row}, column {column}, too large to "
            "learn from: scale it, as by sklearn.preprocessing.StandardScaler"
        )
    return rows


def label_matrix(y: Any, n_rows: int, n_labels: int | None = None) -> BinaryLabels:
    """Labels as 0 and 1 of 8 bits; `n_labels` where a model knows how many."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    labels = clear_labels(y)
    if labels.ndim != 2:
        raise ValueError(
            f"y must be a matrix with a column for each label, not of shape "
            f"{labels.shape}; one label alone is y.reshape(-1, 1)"
        )
    if len(labels) != n_rows:
        raise ValueError(f"y has {len(labels)} rows but X has {n_rows}")
    if n_labels is not None and labels.shape[1] != n_labels:
        raise ValueError(
            f"y has {labels.shape[1]} labels, the tagger learned {n_labels}"
        )
    if not labels.shape[1]:
        raise ValueError("y has no column: there is no label to learn")
    return labels.astype(np.uint8)


def label_order(order: Any, labels: BinaryLabels) -> Integers:
    """Labels in the order in which they are decided; None is the rarest first.

    Ties stay in the order of the columns.
    """
    n_labels = labels.shape[1]
    if order is None:
        counts = labels.sum(axis=0, dtype=np.int64)
        return np.argsort(counts, kind="stable")
    listed = np.iterable(order) and not isinstance(order, str)
    given = to_numpy(order, "order") if listed else np.zeros(0)
    if (
        given.shape != (n_labels,)
        or given.dtype.kind not in "iu"
        or not np.array_equal(np.sort(given), np.arange(n_labels))
    ):
        raise ValueError(
            f"order must have each label from 0 to {n_labels - 1} once, not "
            f"{shown(order)}"
        )
    return given.astype(np.int64)


def check_numbers(*, step: Any, **counts: Any) -> None:
    """Refuse a step that is not positive, and counts that are not positive integers."""
    real = isinstance(step, Real) and not isinstance(step, bool)
    if not (real and 0.0 < to_float(step) < np.inf):
        raise ValueError(f"step must be a positive number, not {shown(step)}")
    for name, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
            raise ValueError(f"{name} must be a positive integer, not {shown(value)}")
        check_count(value, name, high=MOST_EPOCHS if name == "epochs" else MOST)
