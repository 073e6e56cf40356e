"""What a column holds: numbers, probabilities, weights, groups, or features."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from argmetric._files._arrow import (
    call,
    cast,
    flat,
    mask_to_numpy,
    text_scalar,
    to_numpy,
)
from argmetric._files._formats import DataError, marked
from argmetric._files._table import Table
from argmetric._input.label_words import NO_LABEL as MISSING
from argmetric._input.label_words import TRUTHS
from argmetric._input.validation import check_scores

_NUMBER = r"(?i)^[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|inf|infinity)$"
_SHOWN_CHARACTERS = 40
_COUNTED = "rows are counted from 1, without the header"


def numbers(table: Table, name: str) -> npt.NDArray[np.float64]:
    """Return a column as finite floats.

    Parameters
    ----------
    table : Table
        The rows.
    name : str
        A column of numbers, or of text that reads as numbers.

    Raises
    ------
    DataError
        With row, column and value of the first cell that is no finite number.
    """
    import pyarrow as pa

    column = _plain(table, name)
    if column.null_count:
        _refuse(table, name, mask_to_numpy(call("is_null", column)), "is empty")
    if pa.types.is_large_string(column.type):
        column = call("utf8_trim_whitespace", column)
        legible = mask_to_numpy(call("match_substring_regex", column, pattern=_NUMBER))
        _refuse(table, name, ~legible, "is not a number")
    elif not _is_numeric(column.type):
        raise DataError(f"{_place(table, name)} holds {column.type}, not numbers")
    # float64 by way of text would be exact for no type but text itself
    values = to_numpy(cast(column, pa.float64(), safe=False), np.float64)
    _refuse(table, name, ~np.isfinite(values), "is not a finite number")
    return values


def probabilities(
    table: Table, name: str, *, logits: bool = False
) -> npt.NDArray[np.float64]:
    """Return a column of probabilities, or of logits where that is said.

    Parameters
    ----------
    table : Table
        The rows.
    name : str
        The column.
    logits : bool, optional
        Whether the column holds logits, which may be any finite number.

    Raises
    ------
    DataError
        With row, column and value of the first cell outside [0, 1].
    """
    hint = f"looks like logits: pass {marked('logits')}"

    def where(index: int) -> str:
        source, row = table.place_of(index)
        return f"row {row + 1}" + f" of {source}" * (source != table.source)

    values, column = numbers(table, name), _place(table, name)
    try:
        return check_scores(values, column, logits=logits, hint=hint, where=where)
    except ValueError as error:
        raise DataError(f"{error}; {_COUNTED}") from None


def weights(table: Table, name: str) -> npt.NDArray[np.float64]:
    """Return a column of weights: finite, none below 0, not all 0."""
    values = numbers(table, name)
    _refuse(table, name, values < 0, "is below 0; a weight is not")
    if not values.any():
        raise DataError(f"{_place(table, name)} holds no weight above 0")
    return values


def groups(table: Table, name: str) -> tuple[npt.NDArray[np.int64], list[Any]]:
    """Return a column of ids of any kind as group numbers.

    Parameters
    ----------
    table : Table
        The rows.
    name : str
        The column; groups may come in any order and need not be contiguous.

    Returns
    -------
    codes : ndarray of int64
        For each row the number of its group, in order of first appearance.
    ids : list
        The ids as they are in the file.
    """
    coded = _coded(table, name)
    gaps = np.array([_is_gap(value) for value in coded.values], dtype=np.bool_)
    empty = coded.spread(gaps, of_null=True)
    _refuse(table, name, empty, "is empty; every row needs a group")
    return coded.codes, coded.values


@dataclass(frozen=True)
class _Coded:
    """Rows as numbers of distinct values; -1 for null."""

    codes: npt.NDArray[np.int64]
    values: list[Any]

    def spread(self, worth: npt.NDArray[Any], *, of_null: Any) -> npt.NDArray[Any]:
        """Give each row what its value is worth."""
        return np.append(worth, of_null)[self.codes]


def _coded(table: Table, name: str) -> _Coded:
    import pyarrow as pa

    column = _plain(table, name)
    try:
        encoded = flat(call("dictionary_encode", column))
    except pa.ArrowNotImplementedError:
        raise DataError(
            f"{_place(table, name)} holds {column.type}, which cannot be told apart"
        ) from None
    codes = to_numpy(cast(encoded.indices, pa.int64()), np.int64)
    if column.null_count:
        codes = np.where(mask_to_numpy(call("is_null", column)), -1, codes)
    return _Coded(codes, encoded.dictionary.to_pylist())


def _plain(table: Table, name: str) -> Any:
    """Return a column with text as large_string and dictionaries decoded."""
    import pyarrow as pa

    column = flat(table.columns.column(table.names.index(name)))
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type) or pa.types.is_string_view(column.type):
        column = cast(column, pa.large_string())
    return column


def _is_numeric(type_: Any) -> bool:
    from pyarrow import types

    return bool(
        types.is_integer(type_)
        or types.is_floating(type_)
        or types.is_decimal(type_)
        or types.is_boolean(type_)
    )


def _is_gap(value: Any) -> bool:
    """Whether a value is no value at all: an empty cell or NaN."""
    is_nan = isinstance(value, float) and math.isnan(value)
    return is_nan or (isinstance(value, str) and not value.strip())


def _refuse(table: Table, name: str, bad: npt.NDArray[np.bool_], problem: str) -> None:
    """Raise for the first bad row, with its column and value; return if none is."""
    if not bad.any():
        return
    row = int(np.argmax(bad))
    value = table.columns.column(table.names.index(name))[row].as_py()
    shown = "" if value is None or value == "" else f"{_clipped(value)} "
    count = int(bad.sum())
    more = f" ({count} such rows)" if count > 1 else ""
    source, row = table.place_of(row)
    raise DataError(
        f"{source}: column {name!r}, row {row + 1}: {shown}{problem}{more}; {_COUNTED}"
    )


def _clipped(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"


def _place(table: Table, name: str) -> str:
    return f"{table.source}: column {name!r}"


Kind = Literal["number", "category", "other", "empty"]


def kind_of(table: Table, name: str) -> Kind:
    """Return what a model can make of a column.

    Parameters
    ----------
    table : Table
        The rows.
    name : str
        The column.

    Returns
    -------
    str
        ``"number"`` where every cell is a number, true, false or missing;
        ``"category"`` for other text; ``"other"`` for dates, lists and the like;
        ``"empty"`` where no cell has a value.
    """
    import pyarrow as pa

    column = _plain(table, name)
    if column.null_count == len(column):
        return "empty"
    if _is_numeric(column.type):
        return "number"
    if not pa.types.is_large_string(column.type):
        return "other"
    is_number, is_missing = _legible(column)
    if is_missing.all():
        return "empty"
    return "number" if (is_number | is_missing).all() else "category"


def sparse_numbers(table: Table, name: str) -> npt.NDArray[np.float64]:
    """Return a column as floats, NaN where a cell is empty, na, nan, null or none.

    Raises
    ------
    DataError
        With row, column and value of the first cell that is neither.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    column = _plain(table, name)
    if pa.types.is_large_string(column.type):
        is_number, is_missing = _legible(column)
        _refuse(table, name, ~(is_number | is_missing), "is not a number")
        return _read(table, name, _truths_as_numbers(column), is_missing)
    if not _is_numeric(column.type):
        everything = np.ones(len(column), dtype=np.bool_)
        _refuse(table, name, everything, "is not a number")
    is_missing = mask_to_numpy(pc.is_null(column, nan_is_null=True))
    return _read(table, name, column, is_missing)


def categories(table: Table, name: str) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Return a column as numbers of distinct texts.

    Returns
    -------
    codes : ndarray of int64
        For each row the place of its text in the list, -1 where it has none.
    texts : list of str
        The texts without the space around them, sorted; numbers as Python writes
        them, truth values as true and false.
    """
    coded = _coded(table, name)
    known = [_text(value) for value in coded.values]
    texts = sorted({text for text in known if text is not None})
    place = {text: i for i, text in enumerate(texts)}
    of_value = np.array([place.get(text or "", -1) for text in known], dtype=np.int64)
    return coded.spread(of_value, of_null=-1), texts


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and math.isnan(value):
        return None
    text = str(value).strip()
    return None if text.lower() in MISSING else text


def _legible(column: Any) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Tell numbers and missing values among texts."""
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(column)
    gaps = "|".join(sorted(MISSING))
    missing = pc.match_substring_regex(trimmed, pattern=f"(?i)^({gaps})$")
    is_missing = mask_to_numpy(pc.is_null(column)) | mask_to_numpy(missing)
    pattern = f"{_NUMBER}|(?i)^(true|false)$"
    is_number = mask_to_numpy(pc.match_substring_regex(trimmed, pattern=pattern))
    return is_number & ~is_missing, is_missing


def _truths_as_numbers(column: Any) -> Any:
    import pyarrow.compute as pc

    column = pc.utf8_trim_whitespace(column)
    for word in ("true", "false"):
        pattern, number = f"(?i)^{word}$", f"{TRUTHS[word]:g}"
        column = pc.replace_substring_regex(column, pattern, number)
    return column


def _read(
    table: Table, name: str, column: Any, is_missing: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_large_string(column.type) and is_missing.any():
        pattern = f"(?i)^({'|'.join(sorted(MISSING))})$"
        column = pc.replace_substring_regex(
            pc.fill_null(column, text_scalar("")), pattern, "nan"
        )
    values = to_numpy(pc.cast(column, pa.float64(), safe=False), np.float64)
    values = np.where(is_missing, np.nan, values)
    _refuse(table, name, np.isinf(values), "is not a finite number")
    return values
