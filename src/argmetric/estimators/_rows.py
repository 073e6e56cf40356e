"""Rows of whatever the user hands in: checked once, then taken by number."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite, column_or_1d, indexable
from sklearn.utils.multiclass import check_classification_targets

from argmetric._input.label_words import one_class
from argmetric._input.labels import plain_label
from argmetric._input.responses import estimator_labels
from argmetric._input.sparse import check_features
from argmetric._input.types import AnyArray, Floats, Integers
from argmetric._input.validation import check_weight, is_frame_like


def check_rows(X: Any, y: Any, owner: str) -> tuple[Any, AnyArray]:
    """X that rows can be taken from, and one label per row as an array."""
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None")
    if getattr(X, "ndim", None) == 2 and X.shape[1] == 0:
        raise ValueError(
            f"X has 0 feature(s) (shape={X.shape}) while a minimum of 1 is required."
        )
    shape = getattr(y, "shape", None) or np.asarray(y).shape
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y has {shape[1]} columns; {owner} takes one. Wrap it in "
            "OneVsRestClassifier or MultiOutputClassifier: each label gets its own rule"
        )
    y = column_or_1d(estimator_labels(y), warn=True)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    check_features(X)
    X, y = indexable(X, y)
    return X, y


def code_classes(
    y: AnyArray, known: AnyArray | None = None
) -> tuple[AnyArray, Integers]:
    """The sorted classes and each row's number among them."""
    if y.size == 0:
        raise ValueError("y is empty: there is nothing to learn from")
    classes, codes = np.unique(y, return_inverse=True)
    if known is not None:
        foreign = classes[~np.isin(classes, known)]
        if foreign.size:
            raise ValueError(
                f"y has the class {foreign.tolist()[0]!r}, which the frozen estimator "
                f"has not seen; its classes are {known.tolist()}"
            )
        classes = known
        codes = np.searchsorted(known, y)
    if (codes == codes[0]).all():
        raise one_class(plain_label(classes[codes[0]]), "y")
    return classes, codes.astype(np.int64)


def check_weights(values: Any, codes: Integers, classes: AnyArray) -> Floats | None:
    """One weight ≥ 0 per row, and some weight in two classes at least."""
    weights = check_weight(values, codes.shape, "y")
    if weights is None:
        return None
    present = np.unique(codes[weights > 0.0])
    if present.size == 0:
        raise ValueError("sample_weight is zero in every row")
    if present.size == 1:
        label = plain_label(classes[present[0]])
        raise one_class(label, "y", "label of positive weight")
    return weights


def take_rows(values: Any, rows: Integers) -> Any:
    """These rows of an array, a sparse matrix, a frame or series, or a list."""
    if is_frame_like(values):
        import narwhals as nw

        frame = nw.from_native(values, eager_only=True, allow_series=True)
        return nw.to_native(frame[rows])
    if isinstance(values, list | tuple):
        return [values[i] for i in rows.tolist()]
    return values[rows]


def take_parameters(
    parameters: dict[str, Any], rows: Integers, n: int
) -> dict[str, Any]:
    """Parameters of `fit` for some rows: those with one entry per row are cut too."""
    return {
        name: take_rows(value, rows) if _one_per_row(value, n) else value
        for name, value in parameters.items()
    }


def _one_per_row(value: Any, n: int) -> bool:
    shape = getattr(value, "shape", None)
    if shape:
        return bool(shape[0] == n)
    return isinstance(value, list | tuple) and len(value) == n
