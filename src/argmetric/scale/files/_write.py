"""Write a `Table`, and columns with types: a file is replaced whole or not at all."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import IO, Any

import pyarrow as pa

from argmetric._ground.whole_files import is_special, written_whole
from argmetric.scale.files._source import (
    DELIMITERS,
    STANDARD_STREAM,
    DataError,
    Format,
    codec_by_name,
    format_by_name,
    marked,
    without_codec,
)
from argmetric.scale.files._table import (
    Table,
    call,
    cells,
    flat,
    infer_types,
    json_values,
    text_array,
    text_bytes,
    text_scalar,
)

BATCH_ROWS = 1 << 17


def read_typed(data: bytes, format: Format) -> pa.Table:
    """Return the columns of a whole binary file."""
    if format == "parquet":
        import pyarrow.parquet as pq

        return pq.ParquetFile(pa.py_buffer(data)).read(use_pandas_metadata=False)
    open_ = pa.ipc.open_file if format == "arrow" else pa.ipc.open_stream
    return open_(pa.py_buffer(data)).read_all()


def typed_batches(
    place: Any,
    format: str,
    choose: Callable[[Any], list[str] | None],
    *,
    rows: int = BATCH_ROWS,
    memory_map: bool = False,
) -> Iterator[Any]:
    """Yield record batches of a Parquet or Arrow file.

    `place` is what pyarrow opens; `choose` gets the schema and returns the columns,
    None for all.
    """
    import pyarrow.parquet as pq

    memory_map = memory_map and os.name == "posix"  # Windows replaces no mapped file
    if format == "parquet":
        with pq.ParquetFile(place, memory_map=memory_map) as file:
            chosen = choose(file.schema_arrow)
            yield from file.iter_batches(rows, columns=chosen, use_threads=False)
        return
    place = pa.memory_map(place) if memory_map else place
    open_ = pa.ipc.open_file if format == "arrow" else pa.ipc.open_stream
    with open_(place) as reader:
        chosen = choose(reader.schema)
        n = getattr(reader, "num_record_batches", None)
        for whole in reader if n is None else map(reader.get_batch, range(n)):
            part = whole if chosen is None else whole.select(chosen)
            for first in range(0, part.num_rows, rows):
                yield part.slice(first, rows)


BINARY: tuple[Format, ...] = ("parquet", "arrow", "arrow-stream")
_ROWS_AT_ONCE = 65_536


def write_table(
    table: Table,
    target: str | os.PathLike[str],
    format: Format | None = None,
    *,
    numeric: frozenset[str] = frozenset(),
) -> None:
    """Write rows to a file, or to standard output for ``"-"``.

    The file is replaced in one step once all is on the disk. The format is by default
    that of the extension, and on standard output the one that was read; `numeric`
    columns of CSV are written as numbers where the new format has types.
    """
    path = os.fspath(target)
    if format is None:
        format = output_format(table, path)
    codec = codec_by_name(path)
    if path == STANDARD_STREAM:
        refuse_terminal(format)
        _write(table, sys.stdout.buffer, format, numeric)
        sys.stdout.buffer.flush()
        return
    with written_whole(path) as file, _packing(file, codec) as packed:
        _write(table, packed, format, numeric)


def refuse_terminal(format: Format) -> None:
    """Refuse to put bytes on a terminal that no one can read."""
    if format in BINARY and sys.stdout.isatty():
        file = marked("output", "FILE")
        raise DataError(f"{format} is not for a terminal; pass {file} or use a pipe")


def output_format(table: Table, path: str) -> Format:
    """Return the format in which rows go to a path, if nothing else is said."""
    if path == STANDARD_STREAM or is_special(path):
        return table.format
    if os.path.isdir(path):
        raise DataError(f"cannot write {path}: it is a folder")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise DataError(f"cannot write {path}: there is no folder {folder}")
    return format_by_name(without_codec(path), role="output_format")


def _write(
    table: Table, file: IO[bytes], format: Format, numeric: frozenset[str]
) -> None:
    """Write a table in a format; `numeric` columns of text become numbers."""
    if format in DELIMITERS:
        same = format == table.format
        delimiter = table.delimiter if same else DELIMITERS[format]
        names = table.columns.column_names
        alone = len(names) == 1
        header = _quote_cells(text_array(names), delimiter, alone=False).to_pylist()
        file.write(f"{delimiter.join(header)}\n".encode())
        separator = text_scalar(delimiter)
        for arrays in _batches(table.columns):
            texts = [
                cells(array, name) for array, name in zip(arrays, names, strict=True)
            ]
            # All cells at once: a call for each of 100,000 columns takes half a minute
            whole = _quote_cells(pa.concat_arrays(texts), delimiter, alone=alone)
            rows = len(arrays[0])
            texts = [whole.slice(i * rows, rows) for i in range(len(names))]
            _write_lines(file, call("binary_join_element_wise", *texts, separator))
    elif format == "jsonl":
        _write_jsonl(table, file, numeric)
    elif format == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(_with_types(table, numeric), file)
    else:
        columns = _with_types(table, numeric)
        new = pa.ipc.new_file if format == "arrow" else pa.ipc.new_stream
        with new(file, columns.schema) as writer:
            writer.write_table(columns)


def _with_types(table: Table, numeric: frozenset[str]) -> pa.Table:
    is_text = table.format in DELIMITERS
    if not is_text:
        return table.columns
    return infer_types(table.columns, numeric, table.decimal)


def _batches(columns: pa.Table) -> Iterator[list[Any]]:
    for start in range(0, columns.num_rows, _ROWS_AT_ONCE):
        part = columns.slice(start, _ROWS_AT_ONCE)
        yield [flat(column) for column in part.columns]


def _write_lines(file: IO[bytes], lines: pa.Array) -> None:
    ended = call("binary_join_element_wise", lines, text_scalar(""), text_scalar("\n"))
    file.write(text_bytes(ended))


def _quote_cells(texts: pa.Array, delimiter: str, *, alone: bool) -> pa.Array:
    """Put quotes around the cells that need them, and around no others."""
    texts = call("coalesce", texts, text_scalar(""))
    # An empty cell with no other beside it would be an empty line, which is no row
    pattern = rf'["\r\n{delimiter}]' + ("|^$" if alone else "")
    needed = call("match_substring_regex", texts, pattern=pattern)
    odd = call("array_filter", texts, needed)
    if not len(odd):
        return texts
    doubled = call("replace_substring", odd, pattern='"', replacement='""')
    quote = text_scalar('"')
    quoted = call("binary_join_element_wise", quote, doubled, quote, text_scalar(""))
    return call("replace_with_mask", texts, needed, quoted)


def _write_jsonl(table: Table, file: IO[bytes], numeric: frozenset[str]) -> None:
    """Write a table as JSON lines; unchanged lines are copied."""
    columns = _with_types(table, numeric)
    keys = [text_scalar(json.dumps(name) + ": ") for name in columns.column_names]
    comma, nothing = text_scalar(", "), text_scalar("")
    for arrays in _batches(columns):
        values = [json_values(array) for array in arrays]
        members = [
            call("binary_join_element_wise", key, value, nothing)
            for key, value in zip(keys, values, strict=True)
        ]
        inside = call("binary_join_element_wise", *members, comma)
        ends = text_scalar("{"), text_scalar("}")
        lines = call("binary_join_element_wise", ends[0], inside, ends[1], nothing)
        _write_lines(file, lines)


@contextlib.contextmanager
def _packing(file: IO[bytes], codec: str | None) -> Iterator[IO[bytes]]:
    """Yield a file that compresses what is written, or the file itself."""
    if codec is None:
        yield file
        return
    with pa.CompressedOutputStream(
        pa.PythonFile(_OpenFile(file), "w"), codec
    ) as packed:
        yield packed


class _OpenFile(io.RawIOBase):
    """A file that pyarrow may write to, and not close."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._file.write(data)
