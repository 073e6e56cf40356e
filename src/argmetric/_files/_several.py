"""Rows of several files, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from argmetric._files._formats import MAX_LINE_BYTES, DataError, Format
from argmetric._files._read import read_table
from argmetric._files._table import Table


def read_tables(
    sources: Sequence[str],
    format: Format | None = None,
    *,
    encoding: str = "utf-8",
    max_line: int = MAX_LINE_BYTES,
    name: str,
) -> Table:
    """Read files with the same columns into one table.

    Parameters
    ----------
    sources : sequence of str
        The files, in the order of their rows.
    format, encoding, max_line : optional
        As for `read_table`.
    name : str
        What messages call all of them.

    Raises
    ------
    DataError
        If a file has other columns than the first one; it names both.
    """
    import pyarrow as pa

    options: dict[str, Any] = {"encoding": encoding, "max_line": max_line}
    tables = [read_table(one, format, **options) for one in sources]
    first = tables[0]
    aligned = [_aligned(table, first) for table in tables]
    try:
        columns = pa.concat_tables(aligned, promote_options="permissive")
    except pa.ArrowException:
        raise DataError(_clash(tables)) from None
    lines = None
    if first.lines is not None:
        lines = pa.concat_arrays([table.lines for table in tables])
    parts = tuple((table.source, table.n_rows) for table in tables)
    return replace(first, columns=columns, source=name, lines=lines, parts=parts)


def _aligned(table: Table, first: Table) -> Any:
    """Return columns in the order of the first file; other ones are refused."""
    if table.format != first.format:
        raise DataError(
            f"{table.source} is {table.format}, but {first.source} is {first.format}"
        )
    if table.names == first.names:
        return table.columns
    for one, other in ((first, table), (table, first)):
        for name in one.names:
            if one.names.count(name) != other.names.count(name):
                raise DataError(
                    f"{other.source} has not the column {name!r} that {one.source} has"
                )
    return table.columns.select(first.names)


def _clash(tables: list[Table]) -> str:
    """Say which column has one type here and another one there."""
    import pyarrow as pa

    first, *others = tables
    for table in others:
        for name in first.names:
            types = [one.columns.schema.field(name).type for one in (first, table)]
            schemas = [pa.schema([(name, type_)]) for type_ in types]
            try:
                pa.unify_schemas(schemas, promote_options="permissive")
            except pa.ArrowException:
                return (
                    f"{table.source}: column {name!r} holds {types[1]}, but that of "
                    f"{first.source} {types[0]}"
                )
    return f"the columns of {first.source} and {others[-1].source} differ"
