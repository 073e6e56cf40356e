"""Rows and labels as scikit-learn hands them, in the types of the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from argmetric._input.arguments import check_count, shown
from argmetric._input.labels import estimator_labels, is_second
from argmetric._input.likely_slips import warn_of_common_class
from argmetric._input.sparse import check_features
from argmetric._input.types import BinaryLabels
from argmetric._input.validation import is_sparse
from argmetric.stream._features import hash_rows, sparse_rows
from argmetric.stream._labels import order_classes, read_classes, two_classes
from argmetric.stream._learners import Rows


def read_rows(
    estimator: BaseEstimator, X: Any, bits: int | None, *, reset: bool, least: int = 0
) -> Rows:
    """Checked rows, hashed if asked for; `reset` notes their width and names."""
    if bits is not None:
        bits = check_count(bits, "hash_bits", low=1, high=30)
    check_features(X)
    options = {"accept_sparse": "csr", "dtype": np.float64, "order": "C"}
    options["ensure_min_samples"] = least
    if bits:
        checked = check_array(X, accept_large_sparse=True, **options)
        if reset:
            estimator.n_features_in_ = 2**bits
    elif not reset and _needs_no_check(estimator, X):
        checked = X
    else:
        checked = validate_data(estimator, X, reset=reset, **options)
    if is_sparse(checked):
        return sparse_rows(checked, bits)
    return hash_rows(checked, bits) if bits else checked


def _needs_no_check(estimator: BaseEstimator, X: Any) -> bool:
    """Whether rows are as the kernels take them: small blocks spare 0.2 ms."""
    if hasattr(estimator, "feature_names_in_"):
        return False
    if type(X) is np.ndarray:
        values = X if X.flags.c_contiguous else None
    else:
        is_csr = is_sparse(X) and getattr(X, "format", "") == "csr"
        values = X.data if is_csr else None
    if values is None or values.dtype != np.float64:
        return False
    if X.ndim != 2 or X.shape[1] != estimator.n_features_in_:
        return False
    with np.errstate(all="ignore"):
        return bool(np.isfinite(values.sum()))


def read_labels(y: Any, n: int, *, first: bool) -> npt.NDArray[Any]:
    """One label for each of n rows, of whatever kind; the first with more care."""
    if y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None: labels are needed"
        )
    values: npt.NDArray[Any] = y
    is_plain = type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind not in "cO"
    if first or not is_plain:
        values = column_or_1d(estimator_labels(y), warn=True)
    if values.size != n:
        check_consistent_length(np.empty(n), values)
    return values


def first_classes(
    values: npt.NDArray[Any], classes: Any, pos_label: Any, *, whole: bool
) -> npt.NDArray[Any]:
    """Negative and positive class, from the first labels or as they are named."""
    if classes is None:
        check_classification_targets(values)
    found = two_classes(values, classes, pos_label, whole=whole)
    if pos_label is None:
        warn_of_common_class(found, 1, values)
    return order_classes(found, pos_label)


def check_same_classes(classes: Any, known: npt.NDArray[Any]) -> None:
    """Refuse other classes than those of the first call."""
    given = read_classes(classes).tolist()
    if len(given) != len(known) or any(one not in given for one in known.tolist()):
        raise ValueError(
            f"classes {shown(given)} are not those of the first call: {known.tolist()}"
        )


def code_labels(values: npt.NDArray[Any], classes: npt.NDArray[Any]) -> BinaryLabels:
    """1 for the positive class, 0 for the negative one; others are refused."""
    return is_second(values, classes).astype(np.uint8)
