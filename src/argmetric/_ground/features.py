"""Features X of estimators: what scikit-learn would fail on, and where it stands."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Number
from typing import Any, Literal

import numpy as np

from argmetric._ground.arguments import (
    check_label,
    check_structure,
    entry_place,
    is_sparse,
    shown,
)
from argmetric._ground.label_words import foreign, no_label, one_class, too_many
from argmetric._ground.labels import (
    classes_of,
    label_array,
    plain_label,
    refuse_missing,
)
from argmetric._ground.layout import column_names
from argmetric._ground.types import AnyArray, Booleans, Floats, Label
from argmetric._ground.validation import is_masked, is_missing, place, to_numpy


class _ComplexError(ValueError):
    def __init__(self) -> None:
        super().__init__("Complex data not supported: X is complex; pass X.real")


def check_features(X: object) -> None:
    """Refuse features that scikit-learn would fail on, or read in another way."""
    check_structure(X, "X")
    _refuse_masked(X)
    # A lazy frame, which has no shape, would read its source to tell its types
    is_frame = hasattr(X, "shape") and hasattr(X, "columns")
    columns = getattr(X, "dtypes", ()) if is_frame else ()
    types = [getattr(X, "dtype", None), *columns]
    if not isinstance(X, list | tuple) and np.dtype(object) not in types:
        return
    try:
        cells = np.asarray(X, dtype=object)
        kinds = set(map(type, cells.ravel()))
        if any(issubclass(kind, complex | np.complexfloating) for kind in kinds):
            raise _ComplexError  # numpy would drop a part of them
        with np.errstate(over="ignore"):  # longer floats than 64 bits become infinite
            cells.astype(np.float64)
    except _ComplexError:
        raise
    except (TypeError, ValueError):  # text, say, which some estimators take
        # Refuse the nan of Decimal that raises an error when it is compared.
        try:
            np.not_equal(cells, cells)
        except ArithmeticError:
            raise ValueError("X has Decimal('sNaN'); write nan in its place") from None
        except (TypeError, ValueError):
            pass  # NA of pandas has no truth value either, but some estimators take it
    except OverflowError:
        huge = (at for at, x in np.ndenumerate(cells) if abs(x) > sys.float_info.max)
        raise ValueError(
            f"X has a whole number at {_place(X, next(huge))} that is beyond all "
            f"floats, about {sys.float_info.max:.2g}; divide it by a constant first"
        ) from None


@contextmanager
def check_features_with_hint(
    X: object, y: object = None, *, model: bool = False
) -> Iterator[None]:
    """Check X, and name the bad row if the block raises an error.

    The checks of scikit-learn, which run in the block, are fast but name no row: only
    when they fail is X searched for the value at fault. With `model` the block fits or
    applies a model of the user's own, which may accept text.
    """
    check_features(X)
    if not model and getattr(getattr(X, "dtype", None), "kind", "") in ("m", "M"):
        raise TypeError("X holds dates or times; pass numbers, such as days since 2000")
    if not model and hasattr(X, "collect") and not hasattr(X, "shape"):
        # Old versions of scikit-learn ask a lazy frame for its types, and it warns
        to_numpy(X, "X", "a matrix of numbers")
    try:
        yield
    except (TypeError, ValueError, IndexError, OverflowError) as error:
        _explain(X, y, text=model)
        if not model:
            raise
        words = str(error).partition("\n")[0]
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"the model cannot take X: {words}") from error


def _explain(X: Any, y: object, *, text: bool) -> None:
    """Raise the error that says what is wrong with X, if something is."""
    if is_sparse(X):
        _refuse_shape(X.shape, y)
        matrix = X if X.format in ("csr", "csc") else X.tocsr()
        infinite = matrix.dtype.kind == "f" and ~np.isfinite(matrix.data)
        for entry in np.flatnonzero(infinite)[:1].tolist():
            where = entry_place(matrix, entry)
            raise ValueError(_not_finite(matrix.data[entry], where))
        return
    array = to_numpy(X, "X", "a matrix of numbers")
    if text and array.dtype.kind in "OUST":
        return
    _refuse_shape(array.shape, y)
    if array.dtype.kind == "c":
        raise _ComplexError
    if array.dtype.kind in "OUST":
        _refuse_words(X, array)
    elif array.dtype.kind == "f":
        wrong = np.flatnonzero(~np.isfinite(array))
        if wrong.size:
            at = np.unravel_index(int(wrong[0]), array.shape)
            raise ValueError(_not_finite(array[at], _place(X, at)))


def _refuse_shape(shape: tuple[int, ...], y: Any) -> None:
    """Refuse X that is no matrix, is empty, or has other rows than y."""
    if len(shape) != 2:
        raise ValueError(
            f"X must be a matrix with a row for each item, not of shape {shape}. "
            "Reshape your data: X.reshape(-1, 1) if it is one feature, "
            "X.reshape(1, -1) if it is one row"
        )
    if shape[1] == 0:
        raise ValueError(
            f"X has no columns: 0 feature(s) (shape={shape}) while a minimum of 1 is "
            "required."
        )
    if shape[0] == 0:
        raise ValueError("X has no rows: one or more are needed")
    rows = None if y is None else np.shape(y)[:1]
    if rows and rows[0] != shape[0]:
        raise ValueError(f"X has {shape[0]} rows but y has {rows[0]}")


def _refuse_words(X: object, array: AnyArray) -> None:
    """Refuse the first cell that is no number and spells none."""
    for at, value in np.ndenumerate(array):  # only after an error, to name the culprit
        if is_missing(value):
            raise ValueError(_not_finite(np.nan, _place(X, at)))
        try:
            number = float(value)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            value = value.item() if isinstance(value, np.generic) else value
            raise kind(
                f"X is not a number at {_place(X, at)}: {shown(value)}; each cell of "
                "this argument must be a number, or a string that spells a number"
            ) from None
        if not np.isfinite(number):
            raise ValueError(_not_finite(number, _place(X, at)))


def _not_finite(value: float, where: str) -> str:
    if np.isnan(value):
        return f"X has NaN at {where}; drop or fill it first"
    return f"X is {value} at {where}: finite numbers are needed"


def _refuse_masked(X: object) -> None:
    """Refuse masked values, in an array or in a list of rows."""
    if "numpy.ma" not in sys.modules:
        return
    at: tuple[int, ...] | None = None
    if is_masked(X):
        at = _first_masked(X)
    elif isinstance(X, list | tuple):
        masked = [i for i, row in enumerate(X) if is_masked(row)]
        found = ((i, _first_masked(X[i])) for i in masked)
        at = next(((i, *place) for i, place in found if place is not None), None)
    if at is not None:
        raise ValueError(f"X is masked at {_place(X, at)}; drop or fill it first")


def _first_masked(values: Any) -> tuple[int, ...] | None:
    wrong = np.argwhere(np.ma.getmaskarray(values))
    return tuple(wrong[0].tolist()) if len(wrong) else None


def _place(X: object, at: tuple[Any, ...]) -> str:
    """Return the text for an entry's row and column (its name if it has one)."""
    if not at:
        return "its only cell"
    row, *rest = at
    names = column_names(X) if len(rest) == 1 else None
    columns = [shown(names[rest[0]])] if names is not None else list(map(str, rest))
    return ", column ".join([f"row {row}", *columns])


def estimator_labels(y: object) -> object:
    """Return the y of `fit`; missing labels are refused, objects converted."""
    if y is None or is_sparse(y):
        return y
    array = label_array(y, "y")
    refuse_missing(array, "y")
    if array.dtype.kind != "O" or array.size == 0:
        return y
    are_numbers = all(isinstance(label, Number) for label in array.ravel())
    return np.array(array.tolist()) if are_numbers else y


def class_number(
    classes: AnyArray, pos_label: object, *, by_order: bool = True
) -> int | None:
    """Return the index of the positive one of two sorted classes.

    It is the second, or `pos_label`.
    """
    check_label(pos_label)
    found = [plain_label(one) for one in classes]
    if len(found) == 1:
        raise one_class(found[0], "y")
    if pos_label is None and len(found) > 2:
        return None
    if pos_label is None and by_order:
        return 1
    return found.index(classes_of(found, "y", pos_label, both=True).positive)


def refuse_more_than_two(classes: AnyArray, pos_label: object = None) -> None:
    """Refuse several classes, with the words that scikit-learn looks for."""
    if classes.size > 2:
        found = [plain_label(one) for one in classes]
        problem = too_many(found, "y", pos_label)
        raise ValueError(f"Only binary classification is supported. {problem}")


def is_second(values: AnyArray, classes: AnyArray, name: str = "y") -> Booleans:
    """Return where a label is the second of two known classes; refuse other labels."""
    second = np.asarray(values == classes[1], dtype=bool)
    wrong = np.flatnonzero(~(second | np.asarray(values == classes[0], dtype=bool)))
    if wrong.size:
        row = int(wrong[0])
        label, where = plain_label(values[row]), place(row, values.shape)
        if is_missing(label):
            raise no_label(name, where)
        raise foreign(label, name, where, *classes.tolist())
    return second


Method = Literal["predict_proba", "decision_function"]


def response_method(estimator: object) -> Method:
    """Return the probabilities of an estimator that has them, else its margins."""
    if hasattr(estimator, "predict_proba"):
        return "predict_proba"
    if hasattr(estimator, "decision_function"):
        return "decision_function"
    raise TypeError(
        f"estimator {type(estimator).__name__} has neither predict_proba nor "
        "decision_function: there is no score to put a threshold on"
    )


def scores_of(
    estimator: object,
    X: object,
    classes: AnyArray,
    positive: int | None,
    method: Method,
) -> Floats:
    """Return the score of the positive class, or of every class without one."""
    scores = np.asarray(getattr(estimator, method)(X), dtype=np.float64)
    name = type(estimator).__name__
    if method == "decision_function" and positive is not None:
        if scores.ndim == 2 and scores.shape[1] == 1:
            scores = scores[:, 0]
        if scores.ndim == 2:
            return np.ascontiguousarray(scores[:, positive])
        return scores if positive == 1 else -scores
    if scores.ndim != 2 or scores.shape[1] != classes.size:
        raise ValueError(
            f"{method} of {name} has shape {scores.shape} for {classes.size} classes; "
            f"one column per class is needed"
        )
    if positive is None:
        return scores
    return np.ascontiguousarray(scores[:, positive])


def probabilities_of(
    estimator: object, X: object, pos_label: object = None
) -> tuple[Floats, Label]:
    """Return the probability of the positive one of two classes, and that class."""
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(
            f"estimator must have predict_proba, which {type(estimator).__name__} has "
            "not: scikit-learn's CalibratedClassifierCV makes probabilities of margins"
        )
    return margins_of(estimator, X, pos_label)


def margins_of(
    estimator: Any, X: object, pos_label: object = None
) -> tuple[Floats, Any]:
    """Return the margin of the positive one of two classes, and that class."""
    method = response_method(estimator)
    classes = np.asarray(estimator.classes_)
    refuse_more_than_two(classes, pos_label)
    number = class_number(classes, pos_label)
    assert number is not None
    scores = scores_of(estimator, X, classes, number, method)
    return scores, plain_label(classes[number])
