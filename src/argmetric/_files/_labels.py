"""Columns of labels: 0 and 1, true and false, or any two values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._files._formats import DataError, marked
from argmetric._files._table import Table
from argmetric._files._values import _Coded, _coded, _place, _refuse, _shown

TRUTHS = {"1": 1.0, "1.0": 1.0, "true": 1.0, "0": 0.0, "0.0": 0.0, "false": 0.0}
MISSING = frozenset({"", "na", "nan", "null", "none"})


def labels(
    table: Table,
    name: str,
    *,
    pos_label: str | None = None,
    missing: bool = False,
    one_sided: bool = False,
) -> npt.NDArray[np.float64]:
    """Return a column of labels as 0 and 1.

    Parameters
    ----------
    table : Table
        The rows.
    name : str
        A column of 0 and 1, of true and false, or of any two values.
    pos_label : str, optional
        The value that means 1; needed unless the values say it themselves.
    missing : bool, optional
        Whether cells may be empty; they become NaN.
    one_sided : bool, optional
        Whether `pos_label` may be absent without a word: among decisions, or among
        the few labels that have arrived.

    Raises
    ------
    DataError
        If the values are not two, not plainly 0 and 1 without `pos_label`, or never
        `pos_label`.
    """
    coded = _coded(table, name)
    meaning = _meaning(table, name, coded, pos_label, missing=missing)
    if not one_sided:
        _refuse_absent(table, name, meaning, pos_label)
    worth = np.array([meaning.get(value, math.nan) for value in coded.values])
    return coded.spread(worth, of_null=math.nan)


def classes(
    table: Table, name: str, pos_label: str | None
) -> tuple[npt.NDArray[Any], Any]:
    """Return a column of labels as the values that a rule learns and gives back.

    Parameters
    ----------
    table : Table
        The rows.
    name : str
        A column as `labels` takes it.
    pos_label : str or None
        The value that means "positive".

    Returns
    -------
    y : ndarray
        0 and 1 without `pos_label`, else the values that are in the file.
    pos_label : int, bool, float or str or None
        The positive one of them; None without `pos_label`.
    """
    coded = _coded(table, name)
    meaning = _meaning(table, name, coded, pos_label, missing=False)
    _refuse_absent(table, name, meaning, pos_label)
    worth = np.array([meaning[value] for value in coded.values])
    is_positive = coded.spread(worth, of_null=math.nan) == 1
    if pos_label is None:
        return is_positive.astype(np.int64), None
    positive, negative = (
        next((_stripped(v) for v, value in meaning.items() if value == side), None)
        for side in (1, 0)
    )
    if positive is None or negative is None:
        raise DataError(
            f"{_place(table, name)} holds {_shown(list(meaning))} only; "
            "rows of both classes are needed"
        )
    return np.where(is_positive, positive, negative), positive


def _meaning(
    table: Table, name: str, coded: _Coded, pos_label: str | None, *, missing: bool
) -> dict[Any, float]:
    """Return for each value that is present whether it means 1 or 0."""
    gaps = np.array([_is_missing(value) for value in coded.values], dtype=np.bool_)
    if not missing:
        problem = "is empty; every row needs a label"
        _refuse(table, name, coded.spread(gaps, of_null=True), problem)
    present = [v for v, gap in zip(coded.values, gaps, strict=True) if not gap]
    if pos_label is None:
        meaning = {v: TRUTHS.get(str(v).strip().lower(), math.nan) for v in present}
    else:
        meaning = {v: float(_is_same(v, pos_label)) for v in present}
    _check_two_values(table, name, meaning, pos_label)
    return meaning


def _stripped(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def _check_two_values(
    table: Table, name: str, meaning: dict[Any, float], pos_label: str | None
) -> None:
    place, values = _place(table, name), _shown(list(meaning))
    if pos_label is None:
        if any(math.isnan(worth) for worth in meaning.values()):
            raise DataError(
                f"{place} holds {values}, not 0 and 1; "
                f"name the positive value with {marked('pos_label')}"
            )
        return
    others = sum(worth == 0 for worth in meaning.values())
    if others > 1:
        _refuse_absent(table, name, meaning, pos_label)
        raise DataError(f"{place} holds {values}; labels have two values")


def _refuse_absent(
    table: Table, name: str, meaning: dict[Any, float], pos_label: str | None
) -> None:
    """Refuse a positive value that no row has; only 0, where it is 1, is no slip."""
    if pos_label is None or any(meaning.values()):
        return
    if TRUTHS.get(pos_label.lower()) == 1 and all(
        TRUTHS.get(str(value).strip().lower()) == 0 for value in meaning
    ):
        return
    raise DataError(
        f"{_place(table, name)} never holds {pos_label!r}, which {marked('pos_label')} "
        f"names; it holds {_shown(list(meaning))}"
    )


def _is_missing(value: Any) -> bool:
    """Whether a label has not arrived, in any of the usual spellings."""
    return str(value).strip().lower() in MISSING


def _is_same(value: Any, text: str) -> bool:
    if isinstance(value, bool):
        return str(value).lower() == text.lower()
    if isinstance(value, str):
        return value.strip() == text
    try:
        return bool(value == float(text))
    except (TypeError, ValueError):
        return str(value) == text
