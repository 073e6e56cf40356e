"""Rows as they were read, ready to be written again with a column more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._files._arrow import column_array, text_scalar
from argmetric._files._formats import DataError, Format
from argmetric._files._functions import call
from argmetric._files._text import json_values


@dataclass(frozen=True)
class Table:
    """The rows of one file.

    Attributes
    ----------
    columns : pyarrow.Table
        Every column in its order. Those of CSV and TSV are text, cell by cell as in
        the file, so that ids such as ``007`` survive.
    format : str
        The format that was read.
    source : str
        The name of the file, for messages.
    delimiter : str
        What separates the cells of CSV and TSV.
    lines : pyarrow.Array or None
        The lines of JSONL as they were, so that each can be written back unchanged.
    parts : tuple of (str, int)
        Where the rows are of several files: each of them, and its number of rows.
    """

    columns: Any
    format: Format
    source: str
    delimiter: str = ","
    lines: Any = None
    parts: tuple[tuple[str, int], ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of the columns, in their order."""
        return list(self.columns.column_names)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.columns.num_rows)

    def place_of(self, row: int) -> tuple[str, int]:
        """Return the file of a row, and the number of the row in it; both from 0."""
        for source, n_rows in self.parts:
            if row < n_rows:
                return source, row
            row -= n_rows
        return self.source, row

    def with_column(self, name: str, values: npt.ArrayLike) -> Table:
        """Return the table with one column more at its end.

        Parameters
        ----------
        name : str
            The name of the new column, which must be free.
        values : array_like of int, float or str
            One value for each row.
        """
        if name in self.names:
            raise DataError(f"{self.source} already has a column {name!r}")
        array = column_array(np.asarray(values))
        if len(array) != self.n_rows:
            raise DataError(f"{len(array)} values for {self.n_rows} rows")
        columns = self.columns.append_column(name, array)
        lines = None if self.lines is None else _with_key(self.lines, name, array)
        return replace(self, columns=columns, lines=lines)


def _with_key(lines: Any, name: str, values: Any) -> Any:
    """Add a key to the end of JSON objects, one on a line, in the spacing they have."""
    import json

    spaced = '": ' in lines[0].as_py()
    key = json.dumps(name) + (": " if spaced else ":")
    opened = call(
        "replace_substring_regex", lines, pattern=r"\s*\}\s*$", replacement=""
    )
    has_keys = call("invert", call("match_substring_regex", opened, pattern=r"^\s*\{$"))
    comma = text_scalar(", " if spaced else ",")
    nothing = text_scalar("")
    return call(
        "binary_join_element_wise",
        opened,
        call("if_else", has_keys, comma, nothing),
        text_scalar(key),
        json_values(values),
        text_scalar("}"),
        nothing,
    )
