"""Which files rows are read from, and where they go."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from argmetric import _files as files
from argmetric._files import Format
from argmetric.cli._errors import UsageError
from argmetric.cli._progress import progress

COLUMNAR = (".parquet", ".pq", ".arrow", ".feather", ".ipc")

# One path, folder, pattern or address as it was given, or several files
Input = str | tuple[str, ...]


def gathered(file: str, more: Sequence[str], *, writes: bool = True) -> Input:
    """Return what was given as one input.

    Files of text are listed, those of a pattern in the order of their names. What is
    columnar stays as it was given: it is read in pieces.

    Parameters
    ----------
    file : str
        A file, a pattern, a folder, an address, or ``"-"``.
    more : sequence of str
        Others of them.
    writes : bool, optional
        Whether the command has an option ``-o``.
    """
    given = (file, *more)
    for path in more:
        if writes and not (in_pieces(path) or "-" in given or glob.has_magic(path)):
            _refuse_output_among_inputs(path)
    if "-" in given and more:
        raise UsageError("- is standard input, which goes alone: leave the files out")
    found = [path for one in given for path in _expanded(one)]
    columnar = [one for one in found if in_pieces(one)]
    if not columnar:
        return found[0] if len(found) == 1 else tuple(found)
    if len(columnar) < len(found):
        other = next(one for one in found if not in_pieces(one))
        raise UsageError(
            f"{columnar[0]} and {other} cannot be read together: pass files of one kind"
        )
    return file if not more else given


def _refuse_output_among_inputs(path: str) -> None:
    """Refuse a second file that is not there: it may be meant as the output."""
    if not os.path.lexists(path):
        if not os.path.splitext(path)[1]:
            raise files.DataError(
                f"{path}: no such file; a value with a space needs quotes, as in "
                "--metric 'F1 score'"
            )
        raise files.DataError(
            f"{path}: no such file; every file named is read: to write to it, pass "
            f"-o {path}"
        )


def listed(source: Input) -> tuple[str, ...]:
    """Return the files of an input that is read into memory."""
    given = (source,) if isinstance(source, str) else source
    return tuple(path for one in given for path in _in_folder(one))


def _in_folder(path: str) -> list[str]:
    """Return the files of a folder or a pattern, or the path itself."""
    if not os.path.isdir(path):
        return _expanded(path)
    from argmetric.scale import find_files

    return [one for one, _ in find_files(path)]


def shown_input(source: Input) -> str:
    """Return an input as people call it."""
    if isinstance(source, str):
        return source
    if len(source) > 2:
        return f"{source[0]} and {len(source) - 1} other files"
    return " and ".join(source)


def in_pieces(path: str) -> bool:
    """Whether this is a folder, an address, or a file whose columns stand apart."""
    return "://" in path or os.path.isdir(path) or path.lower().endswith(COLUMNAR)


def is_pattern(path: str) -> bool:
    """Whether a path stands for all files that match it."""
    return "://" not in path and glob.has_magic(path) and not os.path.exists(path)


def _expanded(path: str) -> list[str]:
    """Return the files that match a pattern, or the path itself."""
    if not is_pattern(path):
        return [path]
    found = sorted(
        one for one in glob.glob(path, recursive=True) if os.path.isfile(one)
    )
    if not found:
        raise files.DataError(f"no file matches {path!r}")
    return found


@dataclass(frozen=True)
class RowsOut:
    """Where rows go, known to be possible before any work is done.

    Attributes
    ----------
    target : str or None
        A file, ``"-"``, or None where the rows are not wanted.
    format : str
        The format to write.
    """

    target: str | None
    format: Format

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
    return RowsOut(target if wanted else None, format)
