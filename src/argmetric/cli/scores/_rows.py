"""Which files rows are read from, and where they go."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy.typing as npt

from argmetric import _files as files
from argmetric._files import Format
from argmetric.cli._errors import UsageError
from argmetric.cli._progress import progress

COLUMNAR = (".parquet", ".pq", ".arrow", ".feather", ".ipc")

# One path, folder, pattern or address as it was given, or several files
Input = str | tuple[str, ...]


def gathered(file: str, more: Sequence[str], *, writes: bool = True) -> Input:
    """Return what was given as one input; `writes` says whether there is a ``-o``.

    Files of text are listed, those of a pattern in the order of their names. What is
    columnar stays as it was given: it is read in pieces.
    """
    given = (file, *more)
    if more and "-" in given:
        raise UsageError("- is standard input, which goes alone: leave the files out")
    for path in more if writes else ():  # one that is not there may be the output
        if in_pieces(path) or glob.has_magic(path) or os.path.lexists(path):
            continue
        hint = f"every file named is read: to write to it, pass -o {path}"
        if not os.path.splitext(path)[1]:
            hint = "a value with a space needs quotes, as in --metric 'F1 score'"
        raise files.DataError(f"{path}: no such file; {hint}")
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


def listed(source: Input, *, remote: bool = False) -> list[str]:
    """Return the files of an input, of folders too, and if asked for of addresses."""
    found: list[str] = []
    for path in (source,) if isinstance(source, str) else source:
        if os.path.isdir(path) or (remote and "://" in path):
            from argmetric.scale import find_files

            found += [one for one, _ in find_files(path)]
        else:
            found += _expanded(path)
    return found


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
    found = [one for one in glob.glob(path, recursive=True) if os.path.isfile(one)]
    if not found:
        raise files.DataError(f"no file matches {path!r}")
    return sorted(found)


class RowsOut(NamedTuple):
    """Where rows go: a file, ``"-"``, or None where they are not wanted."""

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
    """Settle where rows go; what cannot be is refused before the work.

    `new` has the names of the columns that will be added, each with its option.
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
        for name in table.names:  # readers would see one column of two
            if table.names.count(name) > 1:
                raise files.DataError(
                    f"cannot write {format}: {files.repeated(table, name)}"
                )
    wanted = output is not None or not json
    if wanted and target == "-":
        files.refuse_terminal(format)
    return RowsOut(target if wanted else None, format)
