"""Open a file or a stream, and find the reader for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from argmetric._ground.saving import refuse_utf16_and_zero_bytes
from argmetric.scale.files._source import (
    EXTENSIONS,
    UTF8_MARK,
    DataError,
    Source,
    marked,
    sniff,
    without_codec,
)
from argmetric.scale.files.blocks._base import (
    Position,
    Request,
    RowFormat,
    RowLayout,
    StreamClasses,
)
from argmetric.scale.files.blocks._columns import ParquetRows, known_layout
from argmetric.scale.files.blocks._delimited import DelimitedRows, SvmlightRows
from argmetric.scale.files.blocks._rows import JsonRows

_READERS: dict[RowFormat, Any] = {
    "svmlight": SvmlightRows,
    "csv": DelimitedRows,
    "tsv": DelimitedRows,
    "jsonl": JsonRows,
    "parquet": ParquetRows,
}


@dataclass
class OpenRows:
    """An input that is open."""

    source: Any  # has a `name`, can `mark` a place and `close`
    reader: Any  # has the `layout`, and yields `blocks`
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
    """Open a file of svmlight, CSV, TSV, JSONL or Parquet, or standard input for "-".

    The `format` is needed where neither the name nor the first bytes say it. A reader
    goes on from where it is `resumed`, if that is the same input. `stopped` is asked
    while a pipe has nothing to give; True ends the reading.
    """
    source = Source(path, stopped)
    try:
        head = source.head.removeprefix(UTF8_MARK)
        if not head.strip():
            raise DataError(f"{source.name} is empty")
        kind = format or _format(path, head, source.name)
        if kind != "parquet":
            refuse_utf16_and_zero_bytes(head, source.name)
        if kind != "svmlight":
            if request.features is not None:
                raise DataError(
                    f"{marked('features')} is for svmlight; {kind} says itself how many"
                )
            if request.zero_based:
                raise DataError(
                    f"{marked('zero_based')} is for svmlight, not for {kind}"
                )
        elif request.target is not None or request.drop:
            raise DataError(
                f"svmlight has no columns: {marked('label')} and {marked('drop')} are "
                "not for it"
            )
        if request.decimal != "." and kind not in ("csv", "tsv"):
            raise DataError(f"{marked('decimal')} is for CSV and TSV, not for {kind}")
        if request.hash_bits is not None and kind not in ("svmlight", "jsonl"):
            raise DataError(
                f"{marked('hash_bits')} is for svmlight and JSONL; {kind} has columns"
            )
        reader = _READERS[kind](source, request)
        if resumed is None:
            known = request.known
            if known is not None:
                known = known_layout(known, kind, source.name)
            reader.begin(kind, known, classes or StreamClasses())
        else:
            reader.layout, reader.position = resumed.layout, resumed.position
            reader.skip_to(resumed.position.offset, resumed.mark)
        return OpenRows(reader, reader, reader.position)
    except BaseException:
        source.close()
        raise


def _format(path: str, head: bytes, name: str) -> RowFormat:
    extension = PurePath(without_codec(path)).suffix.lower()
    if extension in (".svm", ".libsvm", ".svmlight"):
        return "svmlight"
    named = EXTENSIONS.get(extension)
    if named in ("csv", "tsv", "jsonl", "parquet"):
        return named
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
