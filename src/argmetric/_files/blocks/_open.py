"""Open a file or a stream, and find the reader for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Protocol

from argmetric._files._formats import (
    UTF8_MARK,
    DataError,
    marked,
    sniff,
)
from argmetric._files.blocks._base import (
    Blocks,
    Position,
    Request,
    RowFormat,
    RowLayout,
    StreamClasses,
)
from argmetric._files.blocks._columns import known_layout
from argmetric._files.blocks._delimited import (
    DelimitedReader,
    SvmlightReader,
    delimited_layout,
    svmlight_layout,
)
from argmetric._files.blocks._jsonl import JsonlReader, jsonl_layout
from argmetric._files.blocks._parquet import (
    ParquetReader,
    ParquetSource,
    parquet_layout,
)
from argmetric._files.blocks._text import ByteSource
from argmetric._results.saving import refuse_other_encodings

_EXTENSIONS: dict[str, RowFormat] = {
    ".svm": "svmlight",
    ".libsvm": "svmlight",
    ".svmlight": "svmlight",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}

_READERS: dict[RowFormat, Any] = {
    "svmlight": SvmlightReader,
    "csv": DelimitedReader,
    "tsv": DelimitedReader,
    "jsonl": JsonlReader,
    "parquet": ParquetReader,
}


class Reader(Protocol):
    """Blocks from a position on."""

    layout: RowLayout

    def blocks(self) -> Blocks:
        """Yield blocks until the input ends."""


@dataclass
class OpenRows:
    """An input that is open, and its reader.

    Attributes
    ----------
    source : ByteSource or ParquetSource
        Where rows come from; it can `mark` a place.
    reader : Reader
        The rows.
    start : Position
        Where it begins.
    """

    source: Any
    reader: Reader
    start: Position


@dataclass(frozen=True)
class Resumed:
    """Where another run has been: position, layout, and the mark of the place."""

    position: Position
    layout: RowLayout
    mark: dict[str, Any]


def open_rows(
    path: str,
    request: Request,
    *,
    format: RowFormat | None = None,
    classes: StreamClasses | None = None,
    resumed: Resumed | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> OpenRows:
    """Open a file, or standard input for ``"-"``.

    Parameters
    ----------
    path : str
        A file of svmlight, CSV, TSV, JSONL or Parquet, or "-".
    request : Request
        How rows are to be read.
    format : str, optional
        The format, where neither the name nor the first bytes say it.
    classes : StreamClasses, optional
        What labels mean.
    resumed : Resumed, optional
        Go on from there; another file is refused.
    stopped : callable, optional
        Asked while a pipe has nothing to give; True ends the reading.
    """
    source = ByteSource(path, stopped)
    try:
        return _opened(source, request, format, classes or StreamClasses(), resumed)
    except BaseException:
        source.close()
        raise


def _opened(
    source: Any,
    request: Request,
    format: RowFormat | None,
    classes: StreamClasses,
    resumed: Resumed | None,
) -> OpenRows:
    head = source.head.removeprefix(UTF8_MARK)
    if not head.strip():
        raise DataError(f"{source.name} is empty")
    source.refuse_packed()
    kind = format or _format(source.path, head, source.name)
    if kind != "parquet":
        refuse_other_encodings(head, source.name)
    _check_request(kind, request)
    if kind == "parquet":
        source = ParquetSource(source)
    if resumed is None:
        layout, start = _layout(source, request, kind, Position(classes=classes))
    else:
        layout, start = resumed.layout, resumed.position
        source.skip_to(start.offset, resumed.mark)
    return OpenRows(source, _READERS[kind](source, layout, request, start), start)


def _layout(
    source: Any, request: Request, kind: RowFormat, start: Position
) -> tuple[RowLayout, Position]:
    """Return the layout, and the position before the first row."""
    known = request.known
    if known is not None:
        known = known_layout(known, kind, source.name)
    if kind == "parquet":
        return parquet_layout(source, request, known), start
    mark = len(UTF8_MARK) if source.head.startswith(UTF8_MARK) else 0
    offset, lines = mark, 0
    if kind in ("csv", "tsv"):
        layout, offset, lines = delimited_layout(source, request, kind, known)
    elif known is not None:
        layout = known
    elif kind == "svmlight":
        layout = svmlight_layout(source, request)
    else:
        layout = jsonl_layout(source, request)
    source.read(offset)
    tail = source.head[:offset]
    return layout, Position(offset, lines, classes=start.classes, tail=tail[-4096:])


def _format(path: str, head: bytes, name: str) -> RowFormat:
    extension = PurePath(path).suffix.lower()
    if extension in _EXTENSIONS:
        return _EXTENSIONS[extension]
    words = head.splitlines()[0].split()
    if len(words) > 1 and words[1].partition(b":")[0].isdigit() and b":" in words[1]:
        return "svmlight"
    found = sniff(head)
    if found in ("csv", "tsv", "jsonl", "parquet"):
        return found
    raise DataError(
        f"cannot tell the format of {name}; pass {marked('format')} with one of "
        "svmlight, csv, tsv, jsonl, parquet"
    )


def _check_request(kind: RowFormat, request: Request) -> None:
    if kind != "svmlight":
        if request.features is not None:
            raise DataError(
                f"{marked('features')} is for svmlight; {kind} says itself how many"
            )
        if request.zero_based:
            raise DataError(f"{marked('zero_based')} is for svmlight, not for {kind}")
    elif request.target is not None or request.drop:
        raise DataError(
            f"svmlight has no columns: {marked('label')} and {marked('drop')} are not "
            "for it"
        )
    if request.decimal != "." and kind not in ("csv", "tsv"):
        raise DataError(f"{marked('decimal')} is for CSV and TSV, not for {kind}")
    if request.hash_bits is not None and kind not in ("svmlight", "jsonl"):
        raise DataError(
            f"{marked('hash_bits')} is for svmlight and JSONL; {kind} has columns"
        )
