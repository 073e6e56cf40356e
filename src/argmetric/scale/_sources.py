"""Input files: found by folder, pattern or list, and read in batches of rows."""

from __future__ import annotations

import contextlib
import errno
import glob
import itertools
import math
import os
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from argmetric._files import BATCH_ROWS, DataError, typed_batches
from argmetric._input.arguments import check_path, shown
from argmetric.scale._executors import load_extra
from argmetric.scale._frames import Partition, is_frame, partitions_of

OnError = Literal["stop", "skip"]

PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
SMALL_BYTES = 1 << 16
HELD_ROWS = 1 << 10  # of a file that is read once
WIDTHS = {"DOUBLE": 8, "INT64": 8, "FLOAT": 4, "INT32": 4}  # bytes of a number
# Errors that do not pass; damage of a file has no number of the system
LASTING = (None, errno.ENOENT, errno.EACCES, errno.EPERM, errno.EISDIR)


@dataclass(frozen=True)
class Source:
    """One input file, as it was when the run began."""

    path: str
    name: str  # of the file of the output, below its folder
    keys: dict[str, str]  # of hive: day=3/part.parquet has the column day
    size: int  # by this and the next a change is noticed
    modified: int
    rows: int
    row_bytes: int  # memory that a row takes, about
    partition: Partition | None = None  # takes the place of a file
    # How a Parquet file is compressed, and which columns a dictionary helps
    packing: tuple[str, tuple[str, ...]] | None = None
    # All rows of a tiny file, in the process that has looked at it
    held: Any = field(default=None, compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "held": None}  # another process reads it again


def is_address(path: str) -> bool:
    """Whether a path is one of fsspec, such as s3://bucket/folder."""
    return "://" in path


def find_input(files: Any) -> list[Any]:
    """What `look` looks at: files, or the partitions of a Dask DataFrame."""
    return partitions_of(files) if is_frame(files) else find_files(files)


def find_files(files: Any) -> list[tuple[str, str]]:
    """Path of every file, and its name below the common folder; sorted by path."""
    if isinstance(files, str | os.PathLike):
        found, root = _found(check_path(files, "files"))
    else:
        try:
            wanted = iter(files)  # not read to its end before it is checked
        except TypeError:
            raise TypeError(
                "files must be a folder, a pattern such as 'scores/*.parquet', a list "
                f"of files or a Dask DataFrame, not {shown(files)}"
            ) from None
        found, root = [], None
        for one in wanted:
            found += _found(check_path(one, "files"))[0]
    found = sorted(set(found))
    if not found:
        raise DataError(f"files has no Parquet or Arrow file: {shown(files)}")
    root = _common_folder(found) if root is None else root
    return [(path, path[len(root) :].lstrip("/")) for path in found]


def _found(path: str) -> tuple[list[str], str | None]:
    """Files that a path stands for, and the folder that their names begin in."""
    if is_address(path):
        return _found_at_address(path)
    path = os.path.abspath(path).replace(os.sep, "/")
    if os.path.isdir(path):
        return _below(path, os.walk(path)), path
    if glob.has_magic(path) and not os.path.exists(path):
        files = [one for one in glob.glob(path, recursive=True) if os.path.isfile(one)]
        return files, _plain_part(path)
    if not os.path.exists(path):
        raise DataError(f"files: there is no {path}")
    return [path], os.path.dirname(path)


def _below(folder: str, walk: Any) -> list[str]:
    """Data files below a folder; names that begin with . or _ are no data."""
    found = []
    for place, folders, names in walk:
        folders[:] = [one for one in folders if one[0] not in "._"]
        found += [
            posixpath.join(place, name)
            for name in names
            if name[0] not in "._" and name.lower().endswith(PARQUET + ARROW)
        ]
    return found


def _plain_part(pattern: str) -> str:
    """The folder before the first sign of a pattern."""
    folder = os.path.dirname(pattern)
    while glob.has_magic(folder):
        folder = os.path.dirname(folder)
    return folder


def _common_folder(paths: list[str]) -> str:
    """The last folder that all share and that is no partition."""
    first, last = paths[0].split("/")[:-1], paths[-1].split("/")[:-1]  # in order
    pairs = zip(first, last, strict=False)
    common = [
        one for one, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)
    ]
    while common and "=" in common[-1]:
        common.pop()
    return "/".join(common)


def file_system(address: str) -> tuple[Any, str]:
    """The fsspec file system of an address, and the path there."""
    fsspec = load_extra("fsspec", "dask")
    try:
        system, path = fsspec.core.url_to_fs(address)
    except ImportError as error:
        raise DataError(f"cannot read {address}: {error}") from error
    return system, path


def _found_at_address(address: str) -> tuple[list[str], str | None]:
    system, path = file_system(address)
    if system.isdir(path):
        root, found = path, _below(path, system.walk(path))
    elif glob.has_magic(path):
        root, found = _plain_part(path), system.glob(path)
    else:
        root, found = posixpath.dirname(path), [path]
    whole = [system.unstrip_protocol(one) for one in found]
    return whole, system.unstrip_protocol(root)


def hive_keys(path: str) -> dict[str, str]:
    """Columns that folders such as day=3 stand for."""
    folders = [part for part in path.split("/")[:-1] if "=" in part]
    return {key: value for key, _, value in (one.partition("=") for one in folders)}


@contextlib.contextmanager
def opened(path: str) -> Iterator[Any]:
    """A file open for reading: its bytes if few, its path, or a file of fsspec."""
    if not is_address(path):
        if os.path.getsize(path) <= SMALL_BYTES:  # a third less time than by its path
            import pyarrow as pa

            with open(path, "rb") as file:
                yield pa.BufferReader(file.read())
        else:
            yield path
        return
    system, inner = file_system(path)
    with system.open(inner, "rb") as file:
        yield file


@contextlib.contextmanager
def told_of(path: str) -> Iterator[None]:
    """A DataError that names the file, where it cannot be read."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None) not in LASTING:
            raise  # a disk or a network that may be well again
        text = str(error).splitlines() or [type(error).__name__]
        raise DataError(f"cannot read {path}: {text[0]}") from error


def stamp(path: str) -> tuple[int, int]:
    """Size and time of the last change."""
    if is_address(path):
        system, inner = file_system(path)
        return int(system.size(inner) or 0), 0
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


def look(item: tuple[str, str] | Partition) -> tuple[Source, Any]:
    """What the end of a file says of it, and its schema."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if isinstance(item, Partition):
        table = item.table()
        rows, used = table.num_rows, table.nbytes
        per_row = used // max(rows, 1) + 1
        source = Source(item.path, item.name, {}, 0, 0, rows, per_row, item)
        return source, item.schema
    path, name = item
    packing = held = None
    with told_of(path), opened(path) as place:
        size, modified = stamp(path)
        if is_arrow(path):
            with pa.ipc.open_file(place) as reader:
                batches = map(reader.get_batch, range(reader.num_record_batches))
                sizes = [(batch.num_rows, batch.nbytes) for batch in batches]
                schema = reader.schema
            rows, used = (sum(column) for column in zip((0, 0), *sizes, strict=True))
        else:
            file = pq.ParquetFile(place)
            schema, about = file.schema_arrow, file.metadata
            rows = about.num_rows
            groups = map(about.row_group, range(about.num_row_groups))
            used = sum(group.total_byte_size for group in groups)
            packing = _packing(about)
            if max(size, used) <= SMALL_BYTES and 0 < rows <= HELD_ROWS:
                held = _held(file)
            file.close()
    stem = os.path.splitext(name)[0] if is_arrow(path) else name
    name = f"{stem}.parquet" if is_arrow(path) else name
    per_row = used // max(rows, 1) + 1
    keys = {k: v for k, v in hive_keys(path).items() if k not in schema.names}
    source = Source(
        path, name, keys, size, modified, rows, per_row, None, packing, held
    )
    return source, schema


def _held(file: Any) -> Any:
    """All rows of a tiny Parquet file, unless they cannot be read as one batch."""
    import pyarrow as pa

    with contextlib.suppress(pa.ArrowException, OSError):  # who needs them tells
        first, *others = file.iter_batches(HELD_ROWS, use_threads=False)
        if not others and first.nbytes <= SMALL_BYTES:
            return first
    return None


def _packing(about: Any) -> tuple[str, tuple[str, ...]] | None:
    """How a file is compressed, and which columns have a dictionary that helps.

    One of distinct numbers takes as long to make as the rest, for nothing.
    """
    if not (about.num_row_groups and about.num_columns):
        return None
    group = about.row_group(0)
    columns = [group.column(i) for i in range(group.num_columns)]
    name = str(columns[0].compression).lower()
    helped = tuple(column.path_in_schema for column in columns if _is_helped(column))
    return {"uncompressed": "none", "lz4_raw": "lz4"}.get(name, name), helped


def _is_helped(column: Any) -> bool:
    plain = column.num_values * WIDTHS.get(column.physical_type, math.inf)
    return bool(column.has_dictionary_page and column.total_uncompressed_size < plain)


def is_arrow(path: str) -> bool:
    return path.lower().endswith(ARROW)


def refuse_changed(source: Source) -> None:
    """Refuse a file that is another one than when the run began."""
    with told_of(source.path):
        same = stamp(source.path) == (source.size, source.modified)
    if not same:
        raise DataError(f"{source.path} has changed since the run began")


def batches_of(
    source: Source, columns: list[str] | None = None, rows: int = BATCH_ROWS
) -> Iterator[Any]:
    """Record batches of the columns (None: all) in the order of the rows."""
    if source.partition is not None:
        table = source.partition.table()
        part = table if columns is None else table.select(columns)
        yield from part.combine_chunks().to_batches(rows)
        return
    refuse_changed(source)
    if source.held is not None:
        yield source.held if columns is None else source.held.select(columns)
        return
    with told_of(source.path), opened(source.path) as place:
        kind = "arrow" if is_arrow(source.path) else "parquet"
        yield from typed_batches(place, kind, lambda schema: columns, rows=rows)
