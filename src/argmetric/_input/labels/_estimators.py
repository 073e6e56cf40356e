"""Classes of estimators: sorted, the second of two positive, as scikit-learn has it."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np

from argmetric._input.arguments import check_label
from argmetric._input.labels._arrays import label_array, plain_label, refuse_missing
from argmetric._input.labels._verdict import classes_of
from argmetric._input.labels._words import foreign, no_label, one_class, too_many
from argmetric._input.sparse import is_sparse
from argmetric._input.types import AnyArray, Booleans
from argmetric._input.validation import is_missing, place


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
    """Number of the positive one of two sorted classes; None where there are more.

    Without `pos_label` it is the second, by order, or the one that 0/1 and their like
    say. More than two are refused with a `pos_label`, which is for two.
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
