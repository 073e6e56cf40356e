"""Which files rows are read from: one, or several with the same columns."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence

from argmetric import _files as files
from argmetric.cli._errors import UsageError

COLUMNAR = (".parquet", ".pq", ".arrow", ".feather", ".ipc")

# One path, folder, pattern or address as it was given, or several files
Input = str | tuple[str, ...]


def gathered(file: str, more: Sequence[str]) -> Input:
    """Return what was given as one input.

    Files of text are listed, those of a pattern in the order of their names. What is
    columnar stays as it was given: it is read in pieces.

    Parameters
    ----------
    file : str
        A file, a pattern, a folder, an address, or ``"-"``.
    more : sequence of str
        Others of them.
    """
    given = (file, *more)
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


def listed(source: Input) -> tuple[str, ...]:
    """Return the files of an input that is read into memory."""
    given = (source,) if isinstance(source, str) else source
    return tuple(path for one in given for path in _expanded(one))


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
