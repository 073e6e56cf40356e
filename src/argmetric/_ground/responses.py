"""What an estimator gives: its classes, and the scores of the positive one."""

from __future__ import annotations

from numbers import Number
from typing import Any, Literal

import numpy as np

from argmetric._ground.arguments import check_label
from argmetric._ground.label_words import foreign, no_label, one_class, too_many
from argmetric._ground.labels import (
    classes_of,
    label_array,
    plain_label,
    refuse_missing,
)
from argmetric._ground.sparse import is_sparse
from argmetric._ground.types import AnyArray, Booleans, Floats
from argmetric._ground.validation import is_missing, place


def estimator_labels(y: Any) -> Any:
    """The y of `fit` with no label missing; numbers among objects as numbers."""
    if y is None or is_sparse(y):
        return y
    array = label_array(y, "y")
    refuse_missing(array, "y")
    if array.dtype.kind != "O" or array.size == 0:
        return y
    are_numbers = all(isinstance(label, Number) for label in array.ravel())
    return np.array(array.tolist()) if are_numbers else y


def class_number(
    classes: AnyArray, pos_label: Any, *, by_order: bool = True
) -> int | None:
    """Number of the positive one of two sorted classes: the second, or `pos_label`."""
    check_label(pos_label)
    found = [plain_label(one) for one in classes]
    if len(found) == 1:
        raise one_class(found[0], "y")
    if pos_label is None and len(found) > 2:
        return None
    if pos_label is None and by_order:
        return 1
    return found.index(classes_of(found, "y", pos_label, both=True).positive)


def refuse_more_than_two(classes: AnyArray, pos_label: Any = None) -> None:
    """Refuse several classes, with the words that scikit-learn looks for."""
    if classes.size > 2:
        found = [plain_label(one) for one in classes]
        problem = too_many(found, "y", pos_label)
        raise ValueError(f"Only binary classification is supported. {problem}")


def is_second(values: AnyArray, classes: AnyArray, name: str = "y") -> Booleans:
    """Where a label is the second of two known classes; refused where it is neither."""
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


def response_method(estimator: Any) -> Method:
    """Probabilities where the estimator has them, else margins."""
    if hasattr(estimator, "predict_proba"):
        return "predict_proba"
    if hasattr(estimator, "decision_function"):
        return "decision_function"
    raise TypeError(
        f"estimator {type(estimator).__name__} has neither predict_proba nor "
        "decision_function: there is no score to put a threshold on"
    )


def scores_of(
    estimator: Any, X: Any, classes: AnyArray, positive: int | None, method: Method
) -> Floats:
    """Score of the positive class, or of every class where `positive` is None."""
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
    estimator: Any, X: Any, pos_label: Any = None
) -> tuple[Floats, Any]:
    """Probability of the positive one of two classes, and that class."""
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(
            f"estimator must have predict_proba, which {type(estimator).__name__} has "
            "not: scikit-learn's CalibratedClassifierCV makes probabilities of margins"
        )
    return margins_of(estimator, X, pos_label)


def margins_of(estimator: Any, X: Any, pos_label: Any = None) -> tuple[Floats, Any]:
    """Score of the positive one of two classes, and that class."""
    method = response_method(estimator)
    classes = np.asarray(estimator.classes_)
    refuse_more_than_two(classes, pos_label)
    number = class_number(classes, pos_label)
    assert number is not None
    scores = scores_of(estimator, X, classes, number, method)
    return scores, plain_label(classes[number])
