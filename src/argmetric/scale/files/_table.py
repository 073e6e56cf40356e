"""Rows as they were read, how a column is found, and Arrow arrays to and from numpy.

``pyarrow.array``, ``pyarrow.scalar`` and ``Array.to_numpy`` import pandas wherever it
is installed, and ``pyarrow.compute`` writes a Python function, with documentation, for
each of three hundred when it is loaded: both cost more than all else that a small job
does. So arrays are made from buffers, and functions are called by name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from argmetric.scale.files._source import (
    COMMENTS,
    DELIMITERS,
    DataError,
    Format,
    Role,
    marked,
)

_OPTIONS = {
    "count_substring_regex": "MatchSubstringOptions",
    "match_substring_regex": "MatchSubstringOptions",
    "replace_substring": "ReplaceSubstringOptions",
    "replace_substring_regex": "ReplaceSubstringOptions",
}


def call(name: str, *columns: pa.Array, **options: str) -> pa.Array:
    """Apply a compute function of pyarrow to columns, with its options."""
    engine = _engine()
    chosen = getattr(engine, _OPTIONS[name])(**options) if options else None
    return engine.call_function(name, list(columns), chosen)


def cast(column: pa.Array, type_: pa.DataType, *, safe: bool = True) -> pa.Array:
    """Return a column as another type; unsafe casts may lose digits."""
    engine = _engine()
    options = engine.CastOptions
    chosen = options.safe(type_) if safe else options.unsafe(type_)
    return engine.call_function("cast", [column], chosen)


def _engine() -> Any:
    """Return `pyarrow._compute`, which loads faster than `pyarrow.compute`."""
    try:
        from pyarrow import _compute as engine
    except ImportError:
        from pyarrow import compute as engine
    return engine


def integer_array(values: npt.NDArray[Any]) -> pa.Array:
    """Return whole numbers as an Arrow int64 array, without a copy where possible."""
    values = np.ascontiguousarray(values, dtype=np.int64)
    buffers = [None, pa.py_buffer(values)]
    return pa.Array.from_buffers(pa.int64(), values.size, buffers)


def float_array(values: npt.NDArray[Any]) -> pa.Array:
    """Return floats as an Arrow float64 array, without a copy where possible."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    buffers = [None, pa.py_buffer(values)]
    return pa.Array.from_buffers(pa.float64(), values.size, buffers)


def column_array(values: npt.NDArray[Any]) -> pa.Array:
    """Return whole numbers, truth values (as 0 and 1), floats or strings for Arrow."""
    if values.dtype.kind == "f":
        return float_array(values)
    if values.dtype.kind in "OU":
        distinct, codes = np.unique(values.astype(str), return_inverse=True)
        return text_array(distinct.tolist()).take(integer_array(codes))
    return integer_array(values)


def text_array(values: Sequence[str]) -> pa.Array:
    """Return strings as an Arrow large_string array."""
    encoded = [value.encode() for value in values]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(value) for value in encoded], out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.large_string(), len(encoded), buffers)


def text_scalar(value: str) -> pa.Scalar:
    """Return one string as an Arrow large_string scalar."""
    return text_array([value])[0]


def text_bytes(array: pa.Array) -> memoryview:
    """Return the strings of a large_string array one after another, as bytes."""
    offsets = np.frombuffer(array.buffers()[1], dtype=np.int64)
    start, stop = offsets[array.offset], offsets[array.offset + len(array)]
    data = array.buffers()[2]
    return memoryview(data)[start:stop] if data is not None else memoryview(b"")


def flat(column: pa.Array) -> pa.Array:
    """Return a chunked column as one array."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return column.combine_chunks()


def to_numpy(column: pa.Array, dtype: type[np.generic]) -> npt.NDArray[Any]:
    """Return a column of fixed-width numbers as numpy; nulls hold arbitrary values."""
    array = flat(column)
    if len(array) == 0:
        return np.empty(0, dtype=dtype)
    values = np.frombuffer(array.buffers()[1], dtype=dtype)
    return values[array.offset : array.offset + len(array)]


def mask_to_numpy(mask: pa.Array) -> npt.NDArray[np.bool_]:
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


def with_decimal_points(column: pa.Array) -> pa.Array:
    """Return text in which numbers have a point for their decimal comma: 0,5 is 0.5."""
    pattern = r"^(\s*[+-]?\d*),(\d+([eE][+-]?\d+)?\s*)$"
    return call(
        "replace_substring_regex", column, pattern=pattern, replacement=r"\1.\2"
    )


def infer_types(
    table: pa.Table, numeric: frozenset[str], decimal: str = "."
) -> pa.Table:
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
        if is_text and name in numeric:
            column = cast(call("utf8_trim_whitespace", column), pa.float64())
        elif is_text and not pa.types.is_null(kind := inferred_type(column)):
            column = with_type(column, kind)
        arrays.append(column)
    return pa.Table.from_arrays(arrays, names=table.column_names)


def inferred_type(column: pa.Array) -> pa.DataType:
    """Return the type that every cell of a text column has; null if all are empty."""
    cells = _without_empty(column)
    present = cells.drop_null()
    if not len(present):
        return pa.null()

    def all_match(pattern: str) -> bool:
        return bool(
            call("all", call("match_substring_regex", present, pattern=pattern)).as_py()
        )

    bare = call(
        "replace_substring_regex", present, pattern=r"[eE].*$|\D", replacement=""
    )
    digits = call("max", call("utf8_length", bare)).as_py()
    for pattern, kind, fits in (
        (_WHOLE, pa.int64(), True),
        (_FLOAT, pa.float64(), digits <= _FLOAT_DIGITS),
        (_TRUTH, pa.bool_(), True),
    ):
        if fits and all_match(pattern):
            try:
                cast(cells, kind)
            except pa.ArrowInvalid:  # a whole number beyond 64 bits
                break
            return kind
    return pa.large_string()


def with_type(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return a text column as a type that `inferred_type` has found."""
    return column if column.type == kind else cast(_without_empty(column), kind)


def _without_empty(column: pa.Array) -> pa.Array:
    empty = call("equal", column, text_scalar(""))
    return call("if_else", empty, null_like(column), column)


def cells(column: pa.Array, name: str) -> pa.Array:
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


def _with_point(text: pa.Array) -> pa.Array:
    """Write 1.0, not 1, so that a column of floats is one when it is read again."""
    return call(
        "replace_substring_regex", text, pattern=r"^(-?\d+)$", replacement=r"\1.0"
    )


def json_values(column: pa.Array) -> pa.Array:
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


def null_like(column: pa.Array) -> pa.Scalar:
    """Return a missing value of the type of a column."""
    return pa.nulls(1, column.type)[0]


@dataclass(frozen=True)
class Table:
    """Rows of one file, or a block of them.

    Columns of CSV and TSV are text, cell by cell as in the file, so that ids such as
    ``007`` survive.
    """

    columns: Any  # pyarrow.Table
    format: Format
    source: str  # the name of the file, for messages
    delimiter: str = ","  # between the cells of CSV and TSV
    parts: tuple[tuple[str, int], ...] = ()  # of several files: name, number of rows
    decimal: str = "."  # of numbers in text: a point or a comma
    first: int = 0  # rows of the file before these, where they are a block of it
    # What is wrong with rows that are not among the columns, by their place in a block
    aside: dict[int, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        return list(self.columns.column_names)

    @property
    def n_rows(self) -> int:
        return int(self.columns.num_rows)

    def place_of(self, row: int) -> tuple[str, int]:
        """Return the file of a row, and the number of the row in it; both from 0."""
        for source, n_rows in self.parts:
            if row < n_rows:
                return source, row
            row -= n_rows
        return self.source, row + self.first

    def with_column(self, name: str, values: npt.ArrayLike) -> Table:
        """Return the table with one column more, of a free name, at its end."""
        if name in self.names:
            raise DataError(f"{self.source} already has a column {name!r}")
        array = column_array(np.asarray(values))
        if len(array) != self.n_rows:
            raise DataError(f"{len(array)} values for {self.n_rows} rows")
        return replace(self, columns=self.columns.append_column(name, array))


_SHOWN_COLUMNS = 12


def named_column(table: Table, name: str) -> str:
    """Return a name that the user gave, if one column has it; else offer near ones."""
    count = table.names.count(name)
    if count == 1:
        return name
    if count > 1:
        raise DataError(name_twice(table, name))
    lowered = {known.lower(): known for known in table.names}
    near = [lowered[low] for low in get_close_matches(name.lower(), lowered, n=3)]
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise DataError(
        f"no column {name!r} in {table.source}{hint} {_list_columns(table)}"
        f"{_header_hint(table)}"
    )


def default_columns(
    table: Table, defaults: Iterable[str], *, taken: Iterable[str] = ()
) -> list[str]:
    """Return the columns with a default name, in any case, that are not taken."""
    known, used = set(defaults), set(taken)
    return [n for n in table.names if n.lower() in known and n not in used]


def find_column(
    table: Table,
    name: str | None,
    defaults: Iterable[str],
    *,
    what: str,
    role: Role,
    taken: Iterable[str] = (),
) -> str:
    """Return the column that was named, else the only one with a default name.

    Messages say `what` it holds, such as a "score", and by which `role` the user names
    it; columns that are `taken` serve another purpose.
    """
    if name is not None:
        return named_column(table, name)
    defaults = tuple(defaults)
    found = default_columns(table, defaults, taken=taken)
    if found and len(set(found)) == 1:
        return named_column(table, found[0])
    if found:
        raise DataError(
            f"{table.source}: which column is the {what}? Candidates: "
            f"{', '.join(map(repr, found))}; choose with {marked(role)}"
        )
    looked_for = ", ".join(defaults)
    raise DataError(
        f"{table.source} has no {what} column (looked for {looked_for}); "
        f"pass {marked(role, 'COLUMN')} {_list_columns(table)}{_header_hint(table)}"
    )


def name_twice(table: Table, name: str) -> str:
    """Say which columns have the same name."""
    places = [str(i) for i, known in enumerate(table.names, 1) if known == name]
    return (
        f"{table.source} has {len(places)} columns named {name!r}: columns "
        f"{', '.join(places[:-1])} and {places[-1]}; rename one"
    )


def _list_columns(table: Table) -> str:
    names = table.names
    more = f", … {len(names)} in all" if len(names) > _SHOWN_COLUMNS else ""
    return f"(columns: {', '.join(names[:_SHOWN_COLUMNS])}{more})"


def _header_hint(table: Table) -> str:
    """Point out names that are all numbers: the first row was taken for a header."""

    def is_number(text: str) -> bool:
        """Return whether a text is a number."""
        try:
            float(text)
        except ValueError:
            return False
        return True

    if table.format in DELIMITERS and all(is_number(name) for name in table.names):
        return "; the first line looks like data: the file needs a header line"
    if table.format in DELIMITERS and table.names[0].startswith("#"):
        return COMMENTS
    return ""
