"""Arrow arrays to and from numpy, columns as text, and functions of Arrow by name.

``pyarrow.array``, ``pyarrow.scalar`` and ``Array.to_numpy`` import pandas wherever it
is installed, and ``pyarrow.compute`` writes a Python function, with documentation, for
each of three hundred when it is loaded: both cost more than all else that a small job
does. So arrays are made from buffers, and functions are called by name.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from argmetric.scale.files._source import DataError

_OPTIONS = {
    "count_substring_regex": "MatchSubstringOptions",
    "match_substring_regex": "MatchSubstringOptions",
    "replace_substring": "ReplaceSubstringOptions",
    "replace_substring_regex": "ReplaceSubstringOptions",
}


def call(name: str, *columns: Any, **options: str) -> Any:
    """Apply a function to columns and scalars, with the options that it has."""
    engine = _engine()
    chosen = getattr(engine, _OPTIONS[name])(**options) if options else None
    return engine.call_function(name, list(columns), chosen)


def cast(column: Any, type_: Any, *, safe: bool = True) -> Any:
    """Return a column as another type; unsafe casts may lose digits."""
    engine = _engine()
    options = engine.CastOptions
    chosen = options.safe(type_) if safe else options.unsafe(type_)
    return engine.call_function("cast", [column], chosen)


def _engine() -> Any:
    """`pyarrow._compute`: it loads faster than `pyarrow.compute`, made from it."""
    try:
        from pyarrow import _compute as engine
    except ImportError:
        from pyarrow import compute as engine
    return engine


def integer_array(values: npt.NDArray[Any]) -> Any:
    """Return whole numbers as an Arrow int64 array, without a copy where possible."""
    values = np.ascontiguousarray(values, dtype=np.int64)
    buffers = [None, pa.py_buffer(values)]
    return pa.Array.from_buffers(pa.int64(), values.size, buffers)


def float_array(values: npt.NDArray[Any]) -> Any:
    """Return floats as an Arrow float64 array, without a copy where possible."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    buffers = [None, pa.py_buffer(values)]
    return pa.Array.from_buffers(pa.float64(), values.size, buffers)


def column_array(values: npt.NDArray[Any]) -> Any:
    """Return whole numbers, truth values (as 0 and 1), floats or strings for Arrow."""
    if values.dtype.kind == "f":
        return float_array(values)
    if values.dtype.kind in "OU":
        distinct, codes = np.unique(values.astype(str), return_inverse=True)
        return text_array(distinct.tolist()).take(integer_array(codes))
    return integer_array(values)


def text_array(values: Sequence[str]) -> Any:
    """Return strings as an Arrow large_string array."""
    encoded = [value.encode() for value in values]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(value) for value in encoded], out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.large_string(), len(encoded), buffers)


def text_scalar(value: str) -> Any:
    """Return one string as an Arrow large_string scalar."""
    return text_array([value])[0]


def text_bytes(array: Any) -> memoryview:
    """Return the strings of a large_string array one after another, as bytes."""
    offsets = np.frombuffer(array.buffers()[1], dtype=np.int64)
    start, stop = offsets[array.offset], offsets[array.offset + len(array)]
    data = array.buffers()[2]
    return memoryview(data)[start:stop] if data is not None else memoryview(b"")


def flat(column: Any) -> Any:
    """Return a chunked column as one array."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return column.combine_chunks()


def to_numpy(column: Any, dtype: type[np.generic]) -> npt.NDArray[Any]:
    """Return a column of fixed-width numbers as numpy; nulls hold arbitrary values."""
    array = flat(column)
    if len(array) == 0:
        return np.empty(0, dtype=dtype)
    values = np.frombuffer(array.buffers()[1], dtype=dtype)
    return values[array.offset : array.offset + len(array)]


def mask_to_numpy(mask: Any) -> npt.NDArray[np.bool_]:
    """Return a boolean column as numpy, False where it is null."""
    false = pa.Array.from_buffers(pa.bool_(), 1, [None, pa.py_buffer(b"\0")])[0]
    bits = cast(call("coalesce", mask, false), pa.uint8())
    return to_numpy(bits, np.uint8).astype(np.bool_)


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
    arrays = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        is_text = pa.types.is_large_string(column.type)
        if is_text and decimal == ",":
            column = with_decimal_points(column)
        arrays.append(_inferred_column(column, name in numeric) if is_text else column)
    return pa.Table.from_arrays(arrays, names=table.column_names)


def _inferred_column(column: Any, numeric: bool) -> Any:
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
        column = cast(column, pa.large_string())
        odd = call("match_substring_regex", column, pattern=_TO_ESCAPE_IN_JSON)
        if call("any", odd).as_py():
            values = column.to_pylist()
            text = text_array([json.dumps(v, ensure_ascii=False) for v in values])
        else:
            ends, nothing = text_scalar('"'), text_scalar("")
            text = call("binary_join_element_wise", ends, column, ends, nothing)
    else:
        values = column.to_pylist()
        text = text_array([json.dumps(value, default=str) for value in values])
    return call("coalesce", text, text_scalar("null"))


def null_like(column: Any) -> Any:
    """Return a missing value of the type of a column."""
    return pa.nulls(1, column.type)[0]
