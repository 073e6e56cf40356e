"""Labels of two kinds: 0/1, booleans, -1/1, or any others with `pos_label`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._arguments import check_label, shown
from argmetric._sparse import is_sparse, to_dense
from argmetric._types import Floats
from argmetric._validation import is_missing, place, to_floats, to_numpy

SOME = 4  # labels that a message lists


def label_numbers(
    values: Any,
    name: str,
    pos_label: Any = None,
    *,
    shape: tuple[int, ...] | None = None,
    other: str = "p",
    missing: bool = False,
) -> Floats:
    """1 where a label is the positive one and 0 elsewhere; nan where it is missing.

    Parameters
    ----------
    values : array-like
        The labels; of a sparse matrix the absent cells are 0.
    name : str
        What messages call them.
    pos_label : object, optional
        The positive one; not needed for 0/1, booleans and -1/1.
    shape, other
        The shape that is needed, and what has it.
    missing : bool, default=False
        Whether labels may be missing: nan or None.
    """
    if is_sparse(values):
        values = to_dense(values, name)
    array = _label_array(values, name)
    if shape is not None and array.shape != shape:
        raise ValueError(
            f"{name} has shape {array.shape} but {other} has shape {shape}"
        )
    absent = _absent(array)
    if absent.any() and not missing:
        where = place(int(np.flatnonzero(absent.ravel())[0]), array.shape)
        raise ValueError(f"{name} has NaN at {where}; labels are 0 or 1")
    if pos_label is not None:
        found = np.asarray(array == pos_label, dtype=bool)
    else:
        found = _ones(array, absent, name, missing)
    return np.where(absent, np.nan, found)


def check_pos_label(pos_label: Any, **labels: Any) -> None:
    """Refuse a `pos_label` that stands in none of the arrays, where two others do."""
    if pos_label is None:
        return
    check_label(pos_label)
    seen: dict[Any, None] = {}
    for name, values in labels.items():
        if is_sparse(values):
            if pos_label != 1:
                raise ValueError(
                    f"pos_label={shown(pos_label)} goes with dense labels: those of a "
                    f"sparse matrix such as {name} are 0 and 1"
                )
            return
        array = _label_array(values, name)
        if (array == pos_label).any():
            return
        present = array[~_absent(array)].ravel()
        seen |= dict.fromkeys(present.tolist())
    if len(seen) > 1:
        some = ", ".join(map(repr, list(seen)[:SOME]))
        raise ValueError(
            f"pos_label={shown(pos_label)} is not among the labels ({some}) of "
            f"{' and '.join(labels)}"
        )


def _label_array(values: Any, name: str) -> npt.NDArray[Any]:
    array = to_numpy(values, name, "an array of labels")
    if array.dtype.kind in "US" and isinstance(values, list | tuple):
        # numpy makes text of all for one, and "nan" of what is missing
        return np.array(values, dtype=object)
    return array.astype(object) if array.dtype.kind == "T" else array


def _absent(array: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    if array.dtype.kind == "f":
        return np.asarray(np.isnan(array))
    if array.dtype.kind == "O":
        flat = [is_missing(value) for value in array.ravel()]
        return np.array(flat, dtype=bool).reshape(array.shape)
    return np.zeros(array.shape, dtype=bool)


def _ones(
    array: npt.NDArray[Any],
    absent: npt.NDArray[np.bool_],
    name: str,
    missing: bool,
) -> npt.NDArray[np.bool_]:
    """Where numbers are 1; refused where they are not 0/1 or -1/1."""
    texts = [isinstance(value, str | bytes) for value in array[~absent].ravel()[:SOME]]
    if array.dtype.kind in "US" or (array.dtype.kind == "O" and any(texts)):
        some = list(dict.fromkeys(array[~absent].ravel().tolist()))[:SOME]
        raise ValueError(
            f"{name} has labels other than 0 and 1 ({', '.join(map(repr, some))}): say "
            "with pos_label which of them is the positive one"
        )
    numbers = to_floats(array, name)
    ones = np.asarray(numbers == 1.0)
    if (ones | (numbers == -1.0) | absent).all():
        return ones
    wrong = np.flatnonzero(~(ones | (numbers == 0.0) | absent).ravel())
    if wrong.size:
        index = int(wrong[0])
        more = ", and nan where they have not arrived" if missing else ""
        raise ValueError(
            f"{name} is {numbers.ravel()[index]:g} at {place(index, array.shape)}; "
            f"labels are 0 or 1{more}"
        )
    return ones
