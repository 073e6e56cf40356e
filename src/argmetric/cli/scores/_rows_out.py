"""Rows go to a file or to standard output, with columns added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from argmetric import _files as files
from argmetric._files import Format
from argmetric.cli import _report
from argmetric.cli._errors import UsageError, say
from argmetric.cli._progress import progress


@dataclass(frozen=True)
class RowsOut:
    """Where rows go, known to be possible before any work is done.

    Attributes
    ----------
    target : str or None
        A file, ``"-"``, or None where the rows are not wanted.
    format : str
        The format to write.
    json : bool
        Whether the summary is printed as JSON instead.
    """

    target: str | None
    format: Format
    json: bool

    def write(
        self,
        table: files.Table,
        added: dict[str, npt.NDArray[Any]],
        *,
        numeric: frozenset[str] = frozenset(),
    ) -> None:
        """Write the rows with new columns."""
        if self.target is None:
            return
        for name, values in added.items():
            table = table.with_column(name, values)
        with progress("writing"):
            files.write_table(table, self.target, self.format, numeric=numeric)

    def print_json(self, summary: Mapping[str, object]) -> None:
        """Print the summary as JSON, and say so if the rows went nowhere."""
        _report.print_json(summary)
        if self.target is None:
            say("rows not written: no --output")


def _refuse_repeated_names(table: files.Table, format: Format) -> None:
    """Refuse a name twice, where readers would see one column of the two."""
    for name in table.names:
        if table.names.count(name) > 1:
            raise files.DataError(
                f"cannot write {format}: {files.repeated(table, name)}"
            )


def refuse_shared_output(output: str | None, *, json: bool) -> None:
    """Refuse a summary and rows in one stream; before a file is read."""
    if json and output == "-":
        raise UsageError("--json and the rows cannot share standard output: -o FILE")


def rows_out(
    table: files.Table,
    output: str | None,
    format: Format | None,
    *,
    json: bool,
    new: dict[str, str],
) -> RowsOut:
    """Settle where the rows go; what cannot be is refused here.

    Parameters
    ----------
    table : Table
        The rows.
    output, format
        What was asked for.
    json : bool
        Whether standard output is for the summary.
    new : dict
        Names of the columns that will be added, each with the option that names it.
    """
    for name, option in new.items():
        if name in table.names:
            raise files.DataError(
                f"{table.source} already has a column {name!r}; "
                f"name the new one with {option}"
            )
    target = output if output is not None else "-"
    format = format or files.output_format(table, target)
    if format != table.format and format not in files.DELIMITERS:
        _refuse_repeated_names(table, format)
    wanted = output is not None or not json
    if wanted and target == "-":
        files.refuse_terminal(format)
    return RowsOut(target if wanted else None, format, json)
