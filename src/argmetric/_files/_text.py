"""Columns as text: the cells of CSV, the values of JSON, and types from text."""

from __future__ import annotations

import json
from typing import Any

from argmetric._files._arrow import call, cast, text_array, text_scalar
from argmetric._files._formats import DataError

_WHOLE = r"^-?(0|[1-9]\d*)$"
# No leading zero and no trailing one but in ".0": text that a float gives back
_FLOAT = r"^-?(0|[1-9]\d*)(\.(0|\d*[1-9]))?([eE][+-]?\d+)?$"
_FLOAT_DIGITS = 17
_TRUTH = r"^(true|false)$"
_TO_ESCAPE_IN_JSON = r'[\x00-\x1f"\\]'


def with_decimal_points(column: Any) -> Any:
    """Return text in which numbers have a point for their decimal comma: 0,5 is 0.5."""
    pattern = r"^(\s*[+-]?\d*),(\d+([eE][+-]?\d+)?\s*)$"
    return call(
        "replace_substring_regex", column, pattern=pattern, replacement=r"\1.\2"
    )


def inferred(table: Any, numeric: frozenset[str], decimal: str = ".") -> Any:
    """Give types to columns of text where no cell loses anything by it.

    Columns whose every cell is written as a program writes whole numbers, floats or
    truth values get that type, empty cells are null; ``007`` and ``1.10`` stay text.
    `numeric` columns are known to hold numbers, however written.
    """
    import pyarrow as pa

    arrays = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        is_text = pa.types.is_large_string(column.type)
        if is_text and decimal == ",":
            column = with_decimal_points(column)
        arrays.append(_inferred_column(column, name in numeric) if is_text else column)
    return pa.Table.from_arrays(arrays, names=table.column_names)


def _inferred_column(column: Any, numeric: bool) -> Any:
    import pyarrow as pa

    if numeric:
        return cast(call("utf8_trim_whitespace", column), pa.float64())
    filled = call("equal", column, text_scalar(""))
    cells = call("if_else", filled, null_like(column), column)
    present = cells.drop_null()
    if not len(present):
        return column

    def all_match(pattern: str) -> bool:
        return bool(
            call("all", call("match_substring_regex", present, pattern=pattern)).as_py()
        )

    bare = call(
        "replace_substring_regex", present, pattern=r"[eE].*$|\D", replacement=""
    )
    digits = call("max", call("utf8_length", bare)).as_py()
    for pattern, type_, fits in (
        (_WHOLE, pa.int64(), True),
        (_FLOAT, pa.float64(), digits <= _FLOAT_DIGITS),
        (_TRUTH, pa.bool_(), True),
    ):
        if fits and all_match(pattern):
            try:
                return cast(cells, type_)
            except pa.ArrowInvalid:  # a whole number beyond 64 bits
                return column
    return column


def cells(column: Any, name: str) -> Any:
    """Return a column as text cells, null where a value is missing."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = cast(column, column.type.value_type)
    if pa.types.is_large_string(column.type):
        return column
    try:
        text = cast(column, pa.large_string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise DataError(
            f"column {name!r} of type {column.type} has no place in a CSV file; "
            "write Parquet, Arrow or JSONL"
        ) from None
    return _with_point(text) if pa.types.is_floating(column.type) else text


def _with_point(text: Any) -> Any:
    """Write 1.0, not 1, so that a column of floats is one when it is read again."""
    return call(
        "replace_substring_regex", text, pattern=r"^(-?\d+)$", replacement=r"\1.0"
    )


def json_values(column: Any) -> Any:
    """Return a column as JSON values, ``null`` where a value is missing."""
    import pyarrow as pa

    type_ = (
        column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    )
    if type_ != column.type:
        column = cast(column, type_)
    if pa.types.is_integer(type_) or pa.types.is_boolean(type_):
        text = cast(column, pa.large_string())
    elif pa.types.is_floating(type_):
        # JSON has neither NaN nor infinities
        column = call("if_else", call("is_finite", column), column, null_like(column))
        text = _with_point(cast(column, pa.large_string()))
    elif pa.types.is_string(type_) or pa.types.is_large_string(type_):
        text = _json_strings(cast(column, pa.large_string()))
    else:
        values = column.to_pylist()
        text = text_array([json.dumps(value, default=str) for value in values])
    return call("coalesce", text, text_scalar("null"))


def _json_strings(column: Any) -> Any:
    odd = call("match_substring_regex", column, pattern=_TO_ESCAPE_IN_JSON)
    if call("any", odd).as_py():
        values = column.to_pylist()
        return text_array([json.dumps(v, ensure_ascii=False) for v in values])
    quote = text_scalar('"')
    return call("binary_join_element_wise", quote, column, quote, text_scalar(""))


def null_like(column: Any) -> Any:
    """Return a missing value of the type of a column."""
    import pyarrow as pa

    return pa.nulls(1, column.type)[0]
