"""Input files: found, inspected, and read in batches of rows."""

from __future__ import annotations

import contextlib
import errno
import glob
import itertools
import math
import os
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from argmetric._ground.arguments import check_path, shown
from argmetric.scale.files import BATCH_ROWS, DataError, typed_batches
from argmetric.scale.files._source import EXTENSIONS, without_codec
from argmetric.scale.files._table import cast, flat, json_values, with_type

OnError = Literal["stop", "skip"]

PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
TEXT = tuple(end for end, kind in EXTENSIONS.items() if kind in ("csv", "tsv", "jsonl"))
SMALL_BYTES = 1 << 16
WIDTHS = {"DOUBLE": 8, "INT64": 8, "FLOAT": 4, "INT32": 4}  # bytes of a number
# Errors that do not pass; damage of a file has no number of the system
LASTING = (None, errno.ENOENT, errno.EACCES, errno.EPERM, errno.EISDIR)


@dataclass(frozen=True)
class InputFile:
    """One input file, as it was when the run began."""

    path: str
    name: str  # of the file of the output, below its folder
    size: int  # by this and the next a change is noticed
    modified: int
    rows: int
    row_bytes: int  # memory that a row takes, about
    schema: Any  # its columns
    # How a Parquet file is compressed, and which columns a dictionary helps
    packing: tuple[str, tuple[str, ...]] | None = None
    # Arrow files with the rows of a text file, in their order; see `copy_text`
    copies: tuple[str, ...] = ()


def is_text(path: str) -> bool:
    """Return whether a file is CSV, TSV or JSON lines, compressed or not."""
    return without_codec(path).lower().endswith(TEXT)


def find_files(files: Any) -> list[tuple[str, str]]:
    """Return the path of every file, and its name in the output; sorted by path."""
    if isinstance(files, str | os.PathLike):
        found, root = _matches(check_path(files, "files"))
    else:
        try:
            wanted = iter(files)  # not read to its end before it is checked
        except TypeError:
            raise TypeError(
                "files must be a folder, a pattern such as 'scores/*.parquet' or a "
                f"list of files, not {shown(files)}"
            ) from None
        found, root = [], None
        for one in wanted:
            found += _matches(check_path(one, "files"))[0]
    found = sorted(set(found))
    if not found:
        raise DataError(
            f"files has no Parquet, Arrow, CSV or JSON file: {shown(files)}"
        )
    if root is None:  # the last folder that all share and that is no partition
        ends = found[0].split("/")[:-1], found[-1].split("/")[:-1]  # in order
        pairs = zip(*ends, strict=False)
        same = itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)
        common = [one for one, _ in same]
        while common and "=" in common[-1]:
            common.pop()
        root = "/".join(common)
    return [(path, _output_name(path[len(root) :].lstrip("/"))) for path in found]


def _output_name(name: str) -> str:
    """Return the name of the Parquet file that is written for a file."""
    if name.lower().endswith(PARQUET):
        return name
    return f"{os.path.splitext(without_codec(name))[0]}.parquet"


def _matches(path: str) -> tuple[list[str], str | None]:
    """Return the files that a path stands for, and the folder of their names."""
    if "://" in path:
        raise DataError(
            f"files: {path} is an address: copy it to this machine, or open it as a "
            "lazy table of Polars or DuckDB"
        )
    path = _with_slashes(os.path.abspath(path))
    if os.path.isdir(path):
        return [_with_slashes(one) for one in _below(path)], path
    if glob.has_magic(path) and not os.path.exists(path):
        named = (one for one in glob.glob(path, recursive=True) if os.path.isfile(one))
        return [_with_slashes(one) for one in named], _plain_part(path)
    if not os.path.exists(path):
        raise DataError(f"files: there is no {path}")
    return [path], os.path.dirname(path)


def _with_slashes(path: str) -> str:
    """Return a path with / between its folders, on Windows too."""
    return path.replace(os.sep, "/")


def _below(folder: str) -> list[str]:
    """Return the data files below a folder: text only where nothing else is.

    Names that begin with . or _ are no data.
    """
    columnar, text = [], []
    for place, folders, names in os.walk(folder):
        folders[:] = [one for one in folders if one[0] not in "._"]
        data = [posixpath.join(place, name) for name in names if name[0] not in "._"]
        columnar += [path for path in data if path.lower().endswith(PARQUET + ARROW)]
        text += [path for path in data if is_text(path)]
    return columnar or text


def _plain_part(pattern: str) -> str:
    """Return the folder before the first sign of a pattern."""
    folder = os.path.dirname(pattern)
    while glob.has_magic(folder):
        folder = os.path.dirname(folder)
    return folder


@contextlib.contextmanager
def open_place(path: str) -> Iterator[Any]:
    """Yield what pyarrow reads: the bytes of a small file, or a path."""
    if os.path.getsize(path) <= SMALL_BYTES:  # a third less time than by its path
        with open(path, "rb") as file:
            yield pa.BufferReader(file.read())
    else:
        yield path


@contextlib.contextmanager
def naming(path: str) -> Iterator[None]:
    """Raise a DataError that names the file where it cannot be read."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None) not in LASTING:
            raise  # a disk or a network that may be well again
        text = str(error).splitlines() or [type(error).__name__]
        raise DataError(f"cannot read {path}: {text[0]}") from error


def stamp(path: str) -> tuple[int, int]:
    """Return the size of a file, and when it was modified."""
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


def inspect_file(path: str, name: str) -> InputFile:
    """Return a Parquet or Arrow file with its rows, schema and sizes."""
    packing = None
    with naming(path), open_place(path) as place:
        size, modified = stamp(path)
        if is_arrow(path):
            with pa.ipc.open_file(place) as reader:
                batches = map(reader.get_batch, range(reader.num_record_batches))
                sizes = [(batch.num_rows, batch.nbytes) for batch in batches]
                schema = reader.schema
            rows, used = (sum(column) for column in zip((0, 0), *sizes, strict=True))
        else:
            with pq.ParquetFile(place) as file:
                schema, about = file.schema_arrow, file.metadata
            rows = about.num_rows
            groups = map(about.row_group, range(about.num_row_groups))
            used = sum(group.total_byte_size for group in groups)
            packing = _packing(about)
    per_row = used // max(rows, 1) + 1
    return InputFile(path, name, size, modified, rows, per_row, schema, packing)


def _packing(about: Any) -> tuple[str, tuple[str, ...]] | None:
    """Return compression and dictionary columns of a Parquet file, or None.

    One of distinct numbers takes as long to make as the rest, for nothing.
    """
    if not (about.num_row_groups and about.num_columns):
        return None
    group = about.row_group(0)
    columns = [group.column(i) for i in range(group.num_columns)]
    name = str(columns[0].compression).lower()

    def is_helped(column: Any) -> bool:
        plain = column.num_values * WIDTHS.get(column.physical_type, math.inf)
        return bool(
            column.has_dictionary_page and column.total_uncompressed_size < plain
        )

    helped = tuple(one.path_in_schema for one in columns if is_helped(one))
    return {"uncompressed": "none", "lz4_raw": "lz4"}.get(name, name), helped


def is_arrow(path: str) -> bool:
    """Return whether a file is Arrow IPC."""
    return path.lower().endswith(ARROW)


def batches_of(
    source: InputFile, columns: list[str] | None = None, rows: int = BATCH_ROWS
) -> Iterator[Any]:
    """Yield record batches of the columns (None: all): all rows, in their order."""
    n_read = 0
    for batch in _some_batches(source, columns, rows):
        n_read += batch.num_rows
        yield batch
    if n_read != source.rows:
        raise DataError(
            f"{source.path}: {source.rows:,} rows were there and {n_read:,} were read"
        )


def _some_batches(
    source: InputFile, columns: list[str] | None, rows: int
) -> Iterator[Any]:
    """Yield batches of some columns of a source; refuse a file that has changed."""
    with naming(source.path):
        if stamp(source.path) != (source.size, source.modified):
            raise DataError(f"{source.path} has changed since the run began")
        if not source.copies:
            kind = "arrow" if is_arrow(source.path) else "parquet"
            with open_place(source.path) as place:
                yield from typed_batches(place, kind, lambda schema: columns, rows=rows)
    for path in source.copies:
        yield from _copied_batches(path, source.schema, columns, rows)


def _copied_batches(
    path: str, schema: pa.Schema, columns: list[str] | None, rows: int
) -> Iterator[Any]:
    """Yield the rows of a copy of text with the types of all its blocks."""
    names = schema.names if columns is None else columns
    fields = pa.schema([schema.field(name) for name in names])

    def choose(there: pa.Schema) -> list[str]:
        return [name for name in names if name in there.names]

    with naming(path):
        for batch in typed_batches(path, "arrow", choose, rows=rows):
            arrays = [
                _convert(batch.column(field.name), field.type)
                if field.name in batch.schema.names
                else pa.nulls(batch.num_rows, field.type)
                for field in fields
            ]
            yield pa.record_batch(arrays, schema=fields)


def _convert(column: Any, kind: pa.DataType) -> pa.Array:
    """Return a column of a block as the type that it has in all blocks."""
    if column.type == kind or pa.types.is_large_string(column.type):
        return flat(with_type(column, kind))
    if pa.types.is_large_string(kind) and not pa.types.is_string(column.type):
        return json_values(column)
    return flat(cast(column, kind))
