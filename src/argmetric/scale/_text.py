"""CSV, TSV and JSON lines: read once, checked, and copied to Arrow files with types."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pyarrow as pa

from argmetric.scale import files
from argmetric.scale._columns import WantedColumns, find_names
from argmetric.scale._sources import InputFile, stamp
from argmetric.scale.files._table import (
    call,
    inferred_type,
    text_scalar,
    with_decimal_points,
)


def copy_text(
    path: str,
    name_in_output: str,
    folder: str,
    wanted: WantedColumns,
    reading: dict[str, Any],
) -> InputFile:
    """Copy the rows of a file of text to Arrow files in a folder.

    Scores and weights become checked numbers; other cells stay text, and `InputFile`
    has the types that all of them have. `reading` are options of `read_blocks`.
    """
    size, modified = stamp(path)
    names: dict[str, str] = {}  # of columns, by role
    kinds: dict[str, Any] = {}  # types of columns, by name
    copies: list[str] = []
    n_rows = n_bytes = 0

    def choose(table: files.Table) -> list[str]:
        """Return the names of the columns to read of a file."""
        names.update(find_names(table, wanted))
        if wanted.added is not None:
            return table.names  # the rows are written again
        used = [name for name in names.values() if name in table.names]
        return list(dict.fromkeys([*used, *wanted.classes]))

    for table in files.read_blocks(path, choose, **reading):
        columns = [_copied(table, name, names, wanted) for name in table.names]
        for name, column in zip(table.names, columns, strict=True):
            kind = _kind(table, column, is_group=name == wanted.group)
            kinds[name] = common_type(kinds.get(name, pa.null()), kind)
        batch = pa.Table.from_arrays(columns, names=table.names)
        copies.append(os.path.join(folder, f"{len(copies):06d}.arrow"))
        with pa.ipc.new_file(copies[-1], batch.schema) as writer:
            writer.write_table(batch)
        n_rows += batch.num_rows
        n_bytes += batch.nbytes
    if n_rows == 0:
        raise files.DataError(f"{path} has no rows")
    schema = pa.schema(list(kinds.items()))
    about = path, name_in_output, size, modified
    per_row = n_bytes // n_rows + 1
    return InputFile(*about, n_rows, per_row, schema, copies=tuple(copies))


def share_types(sources: list[InputFile]) -> list[InputFile]:
    """Return files of text with common types of their columns.

    A column that is empty everywhere is text.
    """
    kinds: dict[str, Any] = {}
    for source in sources:
        for field in source.schema if source.copies else ():
            kind = common_type(kinds.get(field.name, pa.null()), field.type)
            kinds[field.name] = kind
    kinds = {
        name: pa.large_string() if pa.types.is_null(kind) else kind
        for name, kind in kinds.items()
    }

    def with_types(source: InputFile) -> InputFile:
        fields = [(name, kinds[name]) for name in source.schema.names]
        return replace(source, schema=pa.schema(fields))

    return [with_types(one) if one.copies else one for one in sources]


def _copied(
    table: files.Table, name: str, names: dict[str, str], wanted: WantedColumns
) -> pa.Array:
    """Return a column of a block as it is copied: numbers are checked."""
    is_score, logits = name == names.get("score"), wanted.scores == "logits"
    if is_score and wanted.scores != "finite":
        return files.float_array(files.probabilities(table, name, logits=logits))
    if is_score or name == wanted.weight or name in wanted.classes:
        return files.float_array(files.numbers(table, name))
    column = table.columns.column(name)
    if not pa.types.is_large_string(column.type):
        return column
    if table.decimal == ",":
        column = with_decimal_points(column)
    return _without_blanks(column) if name == wanted.group else column


def _kind(table: files.Table, column: pa.Array, *, is_group: bool) -> pa.DataType:
    """Return the type of a column in a block."""
    is_text = pa.types.is_large_string(column.type)
    if not is_text or table.format not in files.DELIMITERS:
        return column.type
    kind = inferred_type(column)
    # 1 and 1.0 are two groups, as they are in memory
    return pa.large_string() if is_group and pa.types.is_floating(kind) else kind


def _without_blanks(column: pa.Array) -> pa.Array:
    """Return text with null for cells that hold nothing but spaces."""
    blank = call("equal", call("utf8_trim_whitespace", column), text_scalar(""))
    return call("if_else", blank, pa.scalar(None, column.type), column)


def common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return a type that holds the values of two types of a column."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    pair = pa.schema([("x", one)]), pa.schema([("x", other)])
    try:
        if pa.types.is_boolean(one) or pa.types.is_boolean(other):
            return pa.large_string()
        return pa.unify_schemas(pair, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return pa.large_string()
