"""CSV, TSV and JSON lines: read once, checked, and copied to Arrow files with types."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pyarrow as pa

from argmetric.scale._columns import WantedColumns, find_names
from argmetric.scale._sources import InputFile, hive_keys, stamp
from argmetric.scale.files import (
    DELIMITERS,
    DataError,
    Table,
    float_array,
    numbers,
    probabilities,
    read_blocks,
)
from argmetric.scale.files._table import (
    call,
    inferred_type,
    text_scalar,
    with_decimal_points,
)


def copy_text(
    path: str, name: str, folder: str, wanted: WantedColumns, reading: dict[str, Any]
) -> InputFile:
    """Copy the rows of a file of text to Arrow files in a folder.

    Scores and weights become checked numbers; other cells stay text, and `InputFile`
    has the types that all of them have. `reading` are options of `read_blocks`.
    """
    size, modified = stamp(path)
    copier = _Copier(folder, wanted)
    try:
        for table in read_blocks(path, copier.choose, **reading):
            copier.write(table)
    finally:
        copier.close()
    if copier.rows == 0:
        raise DataError(f"{path} has no rows")
    schema, per_row = pa.schema(list(copier.kinds.items())), copier.bytes // copier.rows
    keys, rows = hive_keys(path, schema.names), copier.rows
    about = path, name, keys, size, modified, rows, per_row + 1, schema
    return InputFile(*about, copies=tuple(copier.paths))


def share_types(sources: list[InputFile]) -> list[InputFile]:
    """Return files of text with the types that all of them have together.

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


class _Copier:
    """Arrow files with the blocks of a file of text, one for each schema."""

    def __init__(self, folder: str, wanted: WantedColumns) -> None:
        self.folder, self.wanted = folder, wanted
        self.names: dict[str, str] = {}  # of columns, by role
        self.kinds: dict[str, Any] = {}  # types of columns, by name
        self.paths: list[str] = []
        self.writer: Any = None
        self.schema: Any = None  # of what is being written
        self.rows = self.bytes = 0

    def choose(self, table: Table) -> list[str]:
        """Return the columns to copy: all where the rows are written again."""
        self.names = find_names(table, self.wanted)
        features = self.wanted.features
        if self.wanted.added is not None or features is None:
            return table.names
        used = [name for name in self.names.values() if name in table.names]
        return list(dict.fromkeys([*used, *features]))

    def write(self, table: Table) -> None:
        """Write a block, its numbers checked, and widen the types of the file."""
        columns = [self._column(table, name) for name in table.names]
        batch = pa.Table.from_arrays(columns, names=table.names)
        if self.writer is None or self.schema != batch.schema:
            self.close()
            self.paths.append(os.path.join(self.folder, f"{len(self.paths):06d}.arrow"))
            self.writer = pa.ipc.new_file(self.paths[-1], batch.schema)
            self.schema = batch.schema
        self.writer.write_table(batch)
        self.rows += batch.num_rows
        self.bytes += batch.nbytes

    def close(self) -> None:
        """End the file that is being written."""
        if self.writer is not None:
            self.writer.close()
        self.writer = None

    def _column(self, table: Table, name: str) -> pa.Array:
        """Return a column as it is copied; its type is known afterwards."""
        wanted, is_score = self.wanted, name == self.names.get("score")
        if is_score and wanted.scores != "finite":
            logits = wanted.scores == "logits"
            column = float_array(probabilities(table, name, logits=logits))
        elif is_score or name == wanted.weight or name in self._features(table):
            column = float_array(numbers(table, name))
        else:
            column = table.columns.column(name)
            if table.decimal == "," and pa.types.is_large_string(column.type):
                column = with_decimal_points(column)
            if name == wanted.group and pa.types.is_large_string(column.type):
                column = _without_blanks(column)
        self.kinds[name] = common_type(
            self.kinds.get(name, pa.null()), self._kind(table, name, column)
        )
        return column

    def _features(self, table: Table) -> list[str]:
        features = self.wanted.features
        if features is None:
            return [name for name in table.names if name != self.names["label"]]
        return list(features)

    def _kind(self, table: Table, name: str, column: pa.Array) -> pa.DataType:
        """Return the type of a column in a block."""
        if table.format not in DELIMITERS or not pa.types.is_large_string(column.type):
            return column.type
        kind = inferred_type(column)
        # 1 and 1.0 are two groups, as they are in memory
        is_split = name == self.wanted.group and pa.types.is_floating(kind)
        return pa.large_string() if is_split else kind


def _without_blanks(column: pa.Array) -> pa.Array:
    """Return text with null for cells that hold nothing but spaces."""
    blank = call("equal", call("utf8_trim_whitespace", column), text_scalar(""))
    return call("if_else", blank, pa.scalar(None, column.type), column)


def common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return the type of a column that has one type here and another one there."""
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
