"""JSON lines: one object on each line."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from argmetric._files._arrow import call, text_array, to_numpy
from argmetric._files._delimited import Place
from argmetric._files._formats import DataError
from argmetric._results.saving import MAX_NESTING, is_too_deep, parsed


def json_columns(data: bytes, place: Place) -> tuple[Any, Any]:
    """Return the columns of JSON lines, and the lines without blank ones."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = text_array([place.text(data)])
    lines = pc.split_pattern(whole, pattern="\n").values
    lines = lines.filter(pc.match_substring_regex(lines, pattern=r"\S"))
    brackets = call("count_substring_regex", lines, pattern=r"[\[{]")
    many = np.flatnonzero(to_numpy(brackets, np.int64) > MAX_NESTING).tolist()
    too_deep = any(is_too_deep(lines[i].as_py().encode()) for i in many)
    objects = pc.match_substring_regex(lines, pattern=r"^\s*\{")
    if not too_deep and pc.all(objects).as_py():  # pyarrow takes null for a row
        longest = pc.max(pc.binary_length(lines)).as_py() or 0
        try:
            return _plain_columns(data, max(1 << 20, 2 * longest)), lines
        except pa.ArrowInvalid:
            pass
    return _mixed_columns(lines, place), lines


def _plain_columns(data: bytes, block_bytes: int) -> Any:
    """Read with the types that pyarrow infers, but keep text that looks like a date."""
    import pyarrow as pa
    import pyarrow.json as pj

    def read(schema: Any) -> Any:
        return pj.read_json(
            pa.BufferReader(pa.py_buffer(data)),
            read_options=pj.ReadOptions(block_size=block_bytes),
            parse_options=pj.ParseOptions(explicit_schema=schema),
        )

    table = read(None)
    schema = pa.schema(
        [field.with_type(_as_text(field.type)) for field in table.schema]
    )
    return table if schema.equals(table.schema) else read(schema)


def _as_text(type_: Any) -> Any:
    """Return a type with every timestamp in it, however deep, as text."""
    import pyarrow as pa

    if pa.types.is_timestamp(type_):
        return pa.string()
    if pa.types.is_list(type_):
        return pa.list_(_as_text(type_.value_type))
    if pa.types.is_struct(type_):
        fields = [type_.field(i) for i in range(type_.num_fields)]
        return pa.struct([field.with_type(_as_text(field.type)) for field in fields])
    return type_


def _mixed_columns(lines: Any, place: Place) -> Any:
    """Read what has no single type; such columns become text, to be judged if used."""
    import pyarrow as pa

    rows: list[dict[str, Any]] = []
    for number, line in enumerate(lines.to_pylist(), start=place.lines + 1):
        try:
            row = parsed(line, rows=True)
        except ValueError as error:
            raise DataError(f"{place.name}, line {number}: not JSON: {error}") from None
        if not isinstance(row, dict):
            raise DataError(
                f"{place.name}, line {number}: not a JSON object: {line[:40]}"
            )
        rows.append(row)
    keys = dict.fromkeys(key for row in rows for key in row)
    arrays = []
    for key in keys:
        values = [row.get(key) for row in rows]
        try:
            arrays.append(pa.array(values))
        except (pa.ArrowException, OverflowError, ValueError, TypeError):
            arrays.append(pa.array([_json_text(value) for value in values]))
    return pa.Table.from_arrays(arrays, names=list(keys))


def _json_text(value: Any) -> str | None:
    if isinstance(value, str):  # half of a surrogate pair is no text
        return value.encode(errors="backslashreplace").decode()
    if value is None:
        return None
    return plain_id(value) if isinstance(value, bool) else json.dumps(plain_id(value))


def plain_id(value: Any) -> Any:
    """Return what a value is called whatever stands in other rows: 1.0 is 1.

    pyarrow reads 1 as 1.0 where 1.5 is near, and a truth value as text where there is
    text.
    """
    if isinstance(value, bool):
        return json.dumps(value)
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return int(value) if is_whole else value
