"""Labels of two classes, of whatever kind, as booleans."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._types import Booleans
from argmetric._validation import is_missing, is_sparse, to_floats, to_numpy

SHOWN = 5  # labels that a message lists


@dataclass(frozen=True)
class Labels:
    """Which rows are positive, and what the two classes are called."""

    positive: Booleans
    pos_label: Any
    neg_label: Any


def label_array(y: Any, name: str = "y") -> npt.NDArray[Any]:
    """Labels as an array without missing values: numbers, booleans, text or objects."""
    if is_sparse(y):
        raise TypeError(f"{name} must be dense: pass {name}.toarray()")
    array = to_numpy(y, name)
    if array.dtype.kind == "T":  # numpy's own variable-width text
        array = array.astype(object)
    if array.dtype.kind in "US" and isinstance(y, list | tuple):
        # numpy makes the text "nan" of a missing value next to text
        array = np.fromiter(y, dtype=object, count=len(y)) if array.ndim == 1 else array
    if array.dtype.kind == "O":
        for i, value in enumerate(array.ravel()):  # only objects: to name the row
            if is_missing(value):
                raise ValueError(f"{name} has a missing value at row {i}")
        if all(isinstance(value, Real) for value in array.ravel()):
            return to_floats(array, name)
    elif array.dtype.kind == "f":
        missing = np.flatnonzero(np.isnan(array))
        if missing.size:
            raise ValueError(f"{name} has NaN at row {missing[0]}; drop the row first")
    return array


def plain_label(value: Any) -> Any:
    """A label as Python's own value; a whole number as an int."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def binary_labels(y: Any, pos_label: Any = None, where: str = "y") -> Labels:
    """Labels of two classes; refuse one class, three, and an unclear positive one.

    Parameters
    ----------
    y : array-like
        One label per row.
    pos_label : object, optional
        The positive class; not needed for 0/1, -1/1 and booleans.
    where : str, default="y"
        What messages call the labels, such as a column of them.
    """
    array = label_array(y)
    if array.ndim != 1:
        raise ValueError(
            f"{where} must have one dimension, not {array.ndim}, as p is one column"
        )
    if array.size == 0:
        raise ValueError(f"{where} is empty: there is nothing to tune on")
    low, high = _two_values(array, where)
    if pos_label is None:
        if isinstance(low, str) or (low, high) not in ((0, 1), (-1, 1)):
            raise ValueError(
                f"{where} takes value in {{{low!r}, {high!r}}} and pos_label is not "
                f"specified: pass pos_label={high!r} or pos_label={low!r}"
            )
        pos_label = high
    if pos_label != low and pos_label != high:
        raise ValueError(
            f"pos_label={pos_label!r} is not a label of {where}: its labels are "
            f"{low!r} and {high!r}"
        )
    positive, negative = (high, low) if pos_label == high else (low, high)
    return Labels(np.asarray(array == positive), positive, negative)


def _two_values(array: npt.NDArray[Any], where: str) -> tuple[Any, Any]:
    """The two distinct labels, in their order where they have one."""
    if array.dtype.kind in "biuf":
        ends = array.min(), array.max()
        if ((array == ends[0]) | (array == ends[1])).all():
            if ends[0] == ends[1]:
                _refuse_one_class(plain_label(ends[0]), where)
            return plain_label(ends[0]), plain_label(ends[1])
        distinct = [plain_label(value) for value in np.unique(array)]
    else:
        found = {plain_label(value) for value in array.tolist()}
        distinct = sorted(found, key=lambda value: (type(value).__name__, value))
    if len(distinct) == 1:
        _refuse_one_class(distinct[0], where)
    if len(distinct) > 2:
        shown = ", ".join(map(repr, distinct[:SHOWN]))
        more = ", ..." if len(distinct) > SHOWN else ""
        raise ValueError(
            f"{where} has {len(distinct)} distinct labels ({shown}{more}) but one "
            "column of scores separates two classes: pass p with a column per class"
        )
    return distinct[0], distinct[1]


def _refuse_one_class(value: Any, where: str) -> None:
    raise ValueError(
        f"{where} has one class only: every label is {value!r}; tuning needs rows of "
        "both classes"
    )
