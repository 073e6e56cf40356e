"""Read rows and labels into the types of the model."""

from __future__ import annotations

import math
import zlib
from collections.abc import Hashable, Mapping
from numbers import Real
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from argmetric._ground.arguments import shown, to_float
from argmetric._ground.features import (
    check_features_with_hint,
    class_number,
    estimator_labels,
    refuse_more_than_two,
)
from argmetric._ground.label_words import one_class
from argmetric._ground.labels import distinct, label_array, refuse_missing, usual_pair
from argmetric._ground.types import AnyArray, ArrayLike, ClassNames, Floats, Label
from argmetric._ground.validation import check_length, is_sparse, warn_of_common_class
from argmetric.stream._learners import FeatureRows, SparseRows, to_sparse


def read_classes(classes: ClassNames) -> AnyArray:
    """Return the classes that a caller names, or raise an error if one is missing."""
    names = label_array(classes, "classes")
    refuse_missing(names, "classes")
    return names


def sparse_rows(matrix: Any, bits: int | None = None) -> SparseRows:
    """Return a scipy CSR matrix in the types that the kernels are compiled for."""
    columns = hash_columns(matrix.indices, bits) if bits else matrix.indices
    return SparseRows(
        np.ascontiguousarray(matrix.indptr, dtype=np.int64),
        np.ascontiguousarray(columns, dtype=np.int32),
        np.ascontiguousarray(matrix.data, dtype=np.float64),
    )


def hash_columns(columns: AnyArray, bits: int) -> npt.NDArray[np.int32]:
    """Hash column numbers of any size to numbers below 2^bits (Fibonacci hashing)."""
    wide = columns.astype(np.uint64) + np.uint64(1)
    with np.errstate(over="ignore"):
        mixed = wide * np.uint64(0x9E3779B97F4A7C15)
    return (mixed >> np.uint64(64 - bits)).astype(np.int32)


def hash_rows(dense: Floats, bits: int) -> SparseRows:
    """Return the rows of a dense matrix over 2^bits hashed columns."""
    rows = to_sparse(dense)
    return SparseRows(rows.indptr, hash_columns(rows.indices, bits), rows.data)


class Vocabulary:
    """Numbers of named features; the columns of an array are named by number."""

    def __init__(
        self, columns: int = 0, names: Mapping[Hashable, int] | None = None
    ) -> None:
        self.columns = columns
        self.numbers: dict[Hashable, int] = dict(names or {})

    def __len__(self) -> int:
        return self.columns + len(self.numbers)

    def find(self, name: Hashable) -> int:
        """Return the column of a feature name, or -1 if it is unknown."""
        if isinstance(name, int | np.integer) and 0 <= name < self.columns:
            return int(name)
        return self.numbers.get(name, -1)

    def row(
        self, x: Mapping[Hashable, Any], *, bits: int | None, learn: bool
    ) -> SparseRows:
        """Read a row.

        Text becomes an indicator, and with `learn` new names are added.
        """
        entries: list[tuple[int, float]] = []
        new: dict[Hashable, int] = {}  # added once the whole row is checked
        if not isinstance(x, Mapping):
            raise TypeError(f"x must be a dict of features by name, not {shown(x)}")
        for name, value in x.items():
            if isinstance(value, str):
                name, value = f"{name}={value}", 1.0
            elif not isinstance(value, Real | np.bool_):
                raise TypeError(
                    f"feature {name!r} is {shown(value)}: a number or text is needed"
                )
            number = to_float(value)
            if not math.isfinite(number):
                raise ValueError(
                    f"feature {name!r} is {shown(value)}; drop or fill it first"
                )
            if bits is not None:
                if isinstance(name, int | np.integer):
                    column = int(hash_columns(np.array([name]), bits)[0])
                else:
                    column = zlib.crc32(str(name).encode(errors="surrogatepass")) >> (
                        32 - min(bits, 32)
                    )
            else:
                column = self.find(name)
                if column < 0 and learn:
                    column = new.setdefault(name, len(self) + len(new))
            if column >= 0 and number != 0.0:
                entries.append((column, number))
        self.numbers |= new
        entries.sort()  # the order of a dict must not matter, not even in the last bit
        indices = np.array([column for column, _ in entries], dtype=np.int32)
        data = np.array([number for _, number in entries], dtype=np.float64)
        return SparseRows(np.array([0, len(entries)], dtype=np.int64), indices, data)


def read_rows(
    estimator: BaseEstimator, X: Any, bits: int | None, *, reset: bool, least: int = 0
) -> FeatureRows:
    """Check the rows, and hash them if `bits` is set; `reset` stores their width.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
    bits : int or None
        Hash features into 2**bits columns.
    least : int
        Minimum number of rows.
    """
    options = {"accept_sparse": "csr", "dtype": np.float64, "order": "C"}
    options["ensure_min_samples"] = least
    with check_features_with_hint(X):
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
    """Return whether kernels take X as it is: small blocks save 0.2 ms."""
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


def read_labels(
    y: ArrayLike | None, n: int, *, first: bool, other: str = "X"
) -> AnyArray:
    """Return one label per row, of any kind; the first labels are checked more.

    `other` is the name of the argument with `n` rows, for messages.
    """
    if y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None: labels are needed"
        )
    is_plain = type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind not in "cO"
    read = first or not is_plain
    labels = column_or_1d(estimator_labels(y), warn=True) if read else y
    values = cast("AnyArray", labels)
    check_length(values, "y", n, other)
    return values


def first_classes(
    values: AnyArray,
    classes: ClassNames | None,
    pos_label: Label | None,
    *,
    whole: bool,
) -> AnyArray:
    """Return the negative and the positive class, from the first labels or `classes`.

    Of 0/1 and similar pairs one may follow later, unless these are the `whole` labels.
    """
    if classes is None:
        check_classification_targets(values)
    known = np.unique(values if classes is None else read_classes(classes))
    refuse_more_than_two(known, pos_label)
    if known.size < 2:
        names = distinct(known)
        if whole and names:
            raise one_class(names[0], "y")
        pair = usual_pair(names)
        if not names or pair is None:
            raise ValueError(
                f"the first rows hold one class only, {names}: pass both in "
                "partial_fit(X, y, classes=[negative, positive])"
            )
        known = np.array(pair, dtype=known.dtype)
    if pos_label is None:
        warn_of_common_class(known, 1, values)
    return known[::-1] if class_number(known, pos_label) == 0 else known


def check_same_classes(classes: ClassNames, known: AnyArray) -> None:
    """Raise an error if classes differ from those of the first call."""
    given = read_classes(classes).tolist()
    if len(given) != len(known) or any(one not in given for one in known.tolist()):
        raise ValueError(
            f"classes {shown(given)} are not those of the first call: {known.tolist()}"
        )
