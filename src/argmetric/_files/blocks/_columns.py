"""Columns of a header or an Arrow table as features and labels, shared by formats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from argmetric._files._arrow import flat, float_array, integer_array, to_numpy
from argmetric._files._formats import DataError
from argmetric._files._table import Table, named_column
from argmetric._files.blocks._base import RowFormat, RowLayout, StreamClasses
from argmetric._input.types import Booleans, Bytes, Floats


def known_layout(known: RowLayout, kind: RowFormat, source: str) -> RowLayout:
    """Return the layout of rows of another kind with the same features.

    Parameters
    ----------
    known : RowLayout
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
    layout: RowLayout, names: list[str], source: str, delimiter: str = ","
) -> RowLayout:
    """Return a layout whose features are found among the columns of a file."""
    import pyarrow as pa

    empty = pa.Table.from_arrays([pa.nulls(0)] * len(names), names=names)
    table = Table(empty, "csv", source)
    wanted = {named_column(table, name) for name in layout.names}
    found = tuple(name for name in names if name in wanted)
    return replace(layout, names=found, columns=tuple(names), delimiter=delimiter)


def label_texts(column: Any) -> tuple[Any, list[str]]:
    """Return the code of every label, -1 for none, and the labels as text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = flat(column)
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    missing = integer_array(np.array([-1]))[0]
    codes = to_numpy(pc.fill_null(column.indices.cast(pa.int64()), missing), np.int64)
    return codes, [label_text(value) for value in column.dictionary.to_pylist()]


def label_text(value: Any) -> str:
    """Return a label as the text that stands for it in all formats."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).strip()


def known_labels(
    column: Any, classes: StreamClasses
) -> tuple[Bytes, StreamClasses, Callable[[int], str]]:
    """Return labels as 0 and 1, 2 for those that are neither class.

    Returns
    -------
    y : ndarray of uint8
    classes : StreamClasses
        With a class that was found here.
    text_of : callable
        The label of a row as text.
    """
    codes, texts = label_texts(column)
    if not classes.known:
        # In order of the rows: which of two new values comes first must not depend on
        # how the rows are cut into blocks
        new, first = np.unique(codes, return_index=True)
        for code in new[np.argsort(first)]:
            if code >= 0 and classes.of(texts[code]) is None:
                classes = classes.learned(texts[code]) or classes
    found = [classes.of(text) for text in texts]
    meaning = np.array([2 if one is None else one for one in found] + [2], np.uint8)

    def text_of(row: int) -> str:
        return texts[codes[row]] if codes[row] >= 0 else ""

    return meaning[codes], classes, text_of


def dense(columns: list[Any], n_rows: int) -> tuple[Floats, Booleans]:
    """Return columns side by side, and which cells cannot be used."""
    import pyarrow as pa
    import pyarrow.compute as pc

    X = np.empty((n_rows, len(columns)))
    nothing = float_array(np.array([np.nan]))[0]
    for j, column in enumerate(columns):
        column = flat(column)
        if column.type != pa.float64():
            column = pc.cast(column, pa.float64(), safe=False)
        if column.null_count:
            column = pc.fill_null(column, nothing)
        X[:, j] = to_numpy(column, np.float64)
    return X, ~np.isfinite(X)
