"""Rows that are read for their features alone, by a layout that was learned before."""

from __future__ import annotations

from dataclasses import replace

from argmetric._files._columns import named_column
from argmetric._files._formats import DataError
from argmetric._files._table import Table
from argmetric._files.blocks._base import Layout, RowFormat


def known_layout(known: Layout, kind: RowFormat, source: str) -> Layout:
    """Return the layout of rows of another kind with the same features.

    Parameters
    ----------
    known : Layout
        What was learned from.
    kind : str
        The format of the rows.
    source : str
        What messages call them.
    """
    numbered = known.format == "svmlight", kind == "svmlight"
    if numbered[0] != numbered[1]:
        raise DataError(
            f"{source} is {kind}, but the model has learned from {known.format}: "
            "svmlight has numbers where others have names"
        )
    if not known.names and kind != known.format:
        raise DataError(
            f"{source} is {kind}, but the model has learned from hashed {known.format}"
        )
    return replace(known, format=kind, target=None, columns=())


def with_header(
    layout: Layout, names: list[str], source: str, delimiter: str = ","
) -> Layout:
    """Return a layout whose features are found among the columns of a file."""
    import pyarrow as pa

    empty = pa.Table.from_arrays([pa.nulls(0)] * len(names), names=names)
    table = Table(empty, "csv", source)
    wanted = {named_column(table, name) for name in layout.names}
    found = tuple(name for name in names if name in wanted)
    return replace(layout, names=found, columns=tuple(names), delimiter=delimiter)
