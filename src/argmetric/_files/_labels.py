"""Columns of labels: 0 and 1, true and false, any two values, or several classes."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._files._formats import DataError, marked
from argmetric._files._table import Table
from argmetric._files._values import _Coded, _coded, _is_gap, _place, _refuse
from argmetric._input.label_words import (
    EVERY_ROW,
    LabelError,
    is_spelled_missing,
    listed,
    same_spelling,
    spelled_label,
)
from argmetric._input.labels import Classes, classes_of

_WHOLE = re.compile(r"-?\d+\.0+")
_TWO_OF_THEM = (
    "make a column with two of them first; argmetric decide and evaluate take several "
    f"classes with {marked('one_label')}"
)


def labels(
    table: Table, name: str, *, pos_label: str | None = None, missing: bool = False
) -> npt.NDArray[np.float64]:
    """Return a column of labels as 0 and 1; NaN where cells may be `missing`, and are.

    The column has 0 and 1, -1 and 1, true and false, or any two values, of which
    `pos_label` means 1; it may be absent where all rows have one other value.
    """
    coded = _coded(table, name)
    read, classes = _read(table, name, coded, pos_label, missing=missing)
    worth = np.array([_worth(label, classes.positive) for label in read])
    return coded.spread(worth, of_null=math.nan)


def classes(
    table: Table, name: str, pos_label: str | None
) -> tuple[npt.NDArray[Any], Any]:
    """Return labels of both classes as the values that a rule learns and gives back.

    These are 0 and 1 without `pos_label` (then None is second), else the values that
    are in the file, and the positive one of them.
    """
    coded = _coded(table, name)
    read, found = _read(table, name, coded, pos_label, missing=False, both=True)
    worth = np.array([_worth(label, found.positive) for label in read])
    is_positive = coded.spread(worth, of_null=math.nan) == 1
    if pos_label is None:
        return is_positive.astype(np.int64), None
    return np.where(is_positive, found.positive, found.negative), found.positive


def class_names(
    table: Table, name: str, among: Collection[str] | None = None
) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Return the number of every row's class, and the names of classes.

    A whole number has the name without decimals: 2.0 is "2". Classes that are not
    `among` the known ones are refused.
    """
    coded = _coded(table, name)
    gaps = np.array([_is_gap(value) for value in coded.values], dtype=np.bool_)
    _refuse(table, name, coded.spread(gaps, of_null=True), f"is empty; {EVERY_ROW}")
    names = [_class_name(value) for value in coded.values]
    if among is not None:
        odd = np.array([one not in among for one in names], dtype=np.bool_)
        problem = f"is none of the classes ({listed(tuple(among))})"
        _refuse(table, name, coded.spread(odd, of_null=True), problem)
    return coded.codes, names


def _class_name(value: Any) -> str:
    text = str(value).strip()
    return text.rstrip("0").rstrip(".") if _WHOLE.fullmatch(text) else text


def _read(
    table: Table,
    name: str,
    coded: _Coded,
    pos_label: str | None,
    *,
    missing: bool,
    both: bool = False,
) -> tuple[list[Any], Classes]:
    """Return the label of each value, None where it is no label, and the classes."""
    gaps = np.array([is_spelled_missing(value) for value in coded.values], dtype=bool)
    if not missing:
        empty = coded.spread(gaps, of_null=True)
        _refuse(table, name, empty, f"is empty; {EVERY_ROW}")
    present = [v for v, gap in zip(coded.values, gaps, strict=True) if not gap]
    meant, known = read_values(present, _place(table, name), pos_label, both=both)
    return [meant.get(value) for value in coded.values], known


def read_values(
    values: Sequence[Any], place: str, pos_label: str | None, *, both: bool = False
) -> tuple[dict[Any, Any], Classes]:
    """Return the label that each distinct value spells, and the classes.

    `place` is what messages call the column; `pos_label` means "positive" in any
    spelling; with `both` both classes must be there.
    """
    if pos_label is None:
        meant, positive = {value: spelled_label(value) for value in values}, None
    else:
        same = [value for value in values if _is_same(value, pos_label)]
        positive = _stripped(same[0]) if same else pos_label
        meant = {value: _stripped(value) for value in values}
        meant |= dict.fromkeys(same, positive)
    found = list(dict.fromkeys(meant.values()))
    try:
        known = classes_of(found, place, positive, both=both, naming=_naming)
    except LabelError as error:
        way_out = _TWO_OF_THEM if error.kind == "many" else error.way_out
        raise DataError(f"{error.problem}; {way_out}") from None
    return meant, known


def _naming(*value: Any) -> str:
    return marked("pos_label", str(value[0]) if value else None)


def _worth(label: Any, positive: Any) -> float:
    return math.nan if label is None else float(label == positive)


def _stripped(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def _is_same(value: Any, text: str) -> bool:
    if isinstance(value, bool):
        return str(value).lower() == text.lower()
    if isinstance(value, str):
        return same_spelling(value.strip(), text)
    try:
        return bool(value == float(text))
    except (TypeError, ValueError):
        return str(value) == text
