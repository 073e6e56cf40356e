"""JSON lines: one object on each line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from argmetric._files._arrow import call, text_array, to_numpy
from argmetric._files._formats import OTHER_ENCODING, UTF8_MARK, DataError
from argmetric._results.saving import MAX_NESTING, decoded, is_too_deep, parsed


def read_jsonl(data: bytes, name: str) -> tuple[Any, Any]:
    """Read JSON lines.

    Parameters
    ----------
    data : bytes
        The whole file.
    name : str
        What messages call it.

    Returns
    -------
    columns : pyarrow.Table
    lines : pyarrow.Array
        The lines as they were, blank ones left out.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    data = data.removeprefix(UTF8_MARK)
    if data.lstrip().startswith(b"["):
        raise DataError(
            f"{name} holds a JSON array; one object on each line is needed "
            "(jq -c '.[]' makes them)"
        )
    lines = _lines(data, name)
    if any(is_too_deep(line) for line in _bracketed(lines)):  # pyarrow would crash
        return _columns_of_mixed_types(lines, name), lines
    objects = pc.match_substring_regex(lines, pattern=r"^\s*\{")
    if not pc.all(objects).as_py():  # pyarrow takes null for a row, or crashes
        return _columns_of_mixed_types(lines, name), lines
    # A row must fit into a block
    longest = pc.max(pc.binary_length(lines)).as_py()
    block_bytes = max(1 << 20, 2 * longest)
    try:
        return _columns(data, block_bytes), lines
    except pa.ArrowInvalid:
        return _columns_of_mixed_types(lines, name), lines


def _lines(data: bytes, name: str) -> Any:
    import pyarrow.compute as pc

    whole = text_array([decoded(data, "utf-8", name, OTHER_ENCODING)])
    lines = pc.split_pattern(whole, pattern="\n").values
    return lines.filter(pc.match_substring_regex(lines, pattern=r"\S"))


def _bracketed(lines: Any) -> Iterator[bytes]:
    """Lines with so many brackets that they may be nested too deeply."""
    brackets = call("count_substring_regex", lines, pattern=r"[\[{]")
    for line in np.flatnonzero(to_numpy(brackets, np.int64) > MAX_NESTING):
        yield lines[line].as_py().encode()


def _columns(data: bytes, block_bytes: int) -> Any:
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


def _columns_of_mixed_types(lines: Any, name: str) -> Any:
    """Read what has no single type; such columns become text, to be judged if used."""
    import pyarrow as pa

    rows: list[dict[str, Any]] = []
    for number, line in enumerate(lines.to_pylist(), start=1):
        try:
            row = parsed(line, rows=True)
        except ValueError as error:
            raise DataError(f"{name}, line {number}: not JSON: {error}") from None
        if not isinstance(row, dict):
            raise DataError(f"{name}, line {number}: not a JSON object: {line[:40]}")
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
    return None if value is None else json.dumps(value)
