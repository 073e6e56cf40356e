"""Input files, and partitions of Dask collections, read in batches of rows."""

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
from typing import Any, Literal, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from argmetric._ground.arguments import check_path, shown
from argmetric._ground.lazy import load_module
from argmetric.scale.files import BATCH_ROWS, DataError, typed_batches
from argmetric.scale.files._source import EXTENSIONS, without_codec


class Partition(NamedTuple):
    """Rows of a Dask collection, which may be computed as often as they are read."""

    path: str  # what messages call it
    name: str  # what the file of the output is called
    parts: tuple[bytes, ...]  # what computes a frame; or features, and labels
    schema: Any  # the columns of the rows

    def table(self) -> Any:
        """The rows themselves, computed in this thread."""
        import numpy as np

        frame, *labels = map(_computed, self.parts)
        if not labels:
            return pa.Table.from_pandas(frame, self.schema, preserve_index=False)
        columns = [*np.asarray(frame, dtype=np.float64).T, np.asarray(labels[0])]
        return pa.table(dict(zip(self.schema.names, columns, strict=True)))


def is_array(data: Any, kind: str = "dask.array") -> bool:
    """Whether this is a Dask array; Dask is not loaded to tell."""
    return type(data).__module__.startswith(kind) and hasattr(data, "to_delayed")


def blocks_of(X: Any, y: Any) -> list[Partition]:
    """Blocks of rows of a Dask array of features beside one of labels."""
    if not (is_array(y) and X.ndim == 2 and y.ndim == 1):
        raise DataError(
            "a Dask array of features has two dimensions, and goes with one of labels, "
            "which has one: (X, y)"
        )
    X = X.rechunk({1: -1})
    if X.chunks[0] != y.chunks[0]:
        try:
            y = y.rechunk((X.chunks[0],))
        except ValueError as error:
            raise DataError(f"X and y: {error}") from None
    fields = [(f"x{j}", pa.float64()) for j in range(X.shape[1])]
    schema = pa.schema([*fields, ("label", pa.from_numpy_dtype(y.dtype))])
    pairs = zip(_numbered(X), _numbered(y), strict=True)
    return [
        _partition(X, i, (rows, labels), schema) for (i, rows), (_, labels) in pairs
    ]


def _numbered(collection: Any) -> list[tuple[int, bytes]]:
    """Number of each partition, and what it alone is computed from, in any process."""
    cloudpickle = load_module("cloudpickle")
    delayed, found = collection.to_delayed(), []
    for i, one in enumerate(getattr(delayed, "flat", delayed)):
        graph = dict(one.__dask_graph__().cull({one.key}))
        if any(type(x).__module__.startswith("distributed") for x in graph.values()):
            raise DataError(
                "files: this collection is held by the workers of a cluster, where "
                "tasks cannot reach it: pass it as it was before persist()"
            )
        found.append((i, cloudpickle.dumps((graph, one.key))))
    return found


def _computed(recipe: bytes) -> Any:
    """A partition, in this thread: a task must not wait for the scheduler's others."""
    graph, key = load_module("cloudpickle").loads(recipe)
    return load_module("dask").get(graph, key)


def _partition(data: Any, i: int, parts: tuple[bytes, ...], schema: Any) -> Partition:
    name = getattr(data, "_name", "") or data.name
    return Partition(f"{name}[{i}]", f"part-{i:05d}.parquet", parts, schema)


OnError = Literal["stop", "skip"]

PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
SMALL_BYTES = 1 << 16
HELD_ROWS = 1 << 10  # of a file that is read once
WIDTHS = {"DOUBLE": 8, "INT64": 8, "FLOAT": 4, "INT32": 4}  # bytes of a number
# Errors that do not pass; damage of a file has no number of the system
LASTING = (None, errno.ENOENT, errno.EACCES, errno.EPERM, errno.EISDIR)


@dataclass(frozen=True)
class InputFile:
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
    """What `look` looks at: files, or the partitions of a Dask DataFrame in order."""
    if not is_array(files, "dask.dataframe"):
        return find_files(files)
    schema = pa.Schema.from_pandas(files._meta_nonempty, preserve_index=False)
    schema = schema.remove_metadata()
    return [_partition(files, i, (one,), schema) for i, one in _numbered(files)]


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
        raise DataError(
            f"files has no Parquet or Arrow file: {shown(files)}{_other_kind(files)}"
        )
    if root is None:  # the last folder that all share and that is no partition
        ends = found[0].split("/")[:-1], found[-1].split("/")[:-1]  # in order
        pairs = zip(*ends, strict=False)
        same = itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)
        common = [one for one, _ in same]
        while common and "=" in common[-1]:
            common.pop()
        root = "/".join(common)
    return [(path, path[len(root) :].lstrip("/")) for path in found]


def _other_kind(files: Any) -> str:
    """Return a hint at the files of a folder that commands read, and this does not."""
    if isinstance(files, str | os.PathLike) and os.path.isdir(files):
        for name in sorted(os.listdir(files)):
            stem, end = os.path.splitext(without_codec(name))
            if end.lower() in EXTENSIONS:
                pattern = os.path.join(files, f"*{name[len(stem) :]}")
                return f"; commands read its {end} files as {pattern!r}"
    return ""


def _found(path: str) -> tuple[list[str], str | None]:
    """Files that a path stands for, and the folder that their names begin in."""
    if is_address(path):
        system, path = file_system(path)
        if system.isdir(path):
            root, found = path, _below(path, system.walk(path))
        elif glob.has_magic(path):
            root, found = _plain_part(path), system.glob(path)
        else:
            root, found = posixpath.dirname(path), [path]
        whole = [system.unstrip_protocol(one) for one in found]
        return whole, system.unstrip_protocol(root)
    path = _slashed(os.path.abspath(path))
    if os.path.isdir(path):
        return [_slashed(one) for one in _below(path, os.walk(path))], path
    if glob.has_magic(path) and not os.path.exists(path):
        named = (one for one in glob.glob(path, recursive=True) if os.path.isfile(one))
        return [_slashed(one) for one in named], _plain_part(path)
    if not os.path.exists(path):
        raise DataError(f"files: there is no {path}")
    return [path], os.path.dirname(path)


def _slashed(path: str) -> str:
    """A path with / between its folders, on Windows too."""
    return path.replace(os.sep, "/")


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


def file_system(address: str) -> tuple[Any, str]:
    """The fsspec file system of an address, and the path there."""
    fsspec = load_module("fsspec")
    try:
        system, path = fsspec.core.url_to_fs(address)
    except ImportError as error:
        raise DataError(f"cannot read {address}: {error}") from error
    return system, path


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
def naming(path: str) -> Iterator[None]:
    """A DataError that names the file, where it cannot be read."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None) not in LASTING:
            raise  # a disk or a network that may be well again
        text = str(error).splitlines() or [type(error).__name__]
        raise DataError(f"cannot read {path}: {text[0]}") from error


def stamp(path: str) -> tuple[int, int]:
    if is_address(path):
        system, inner = file_system(path)
        return int(system.size(inner) or 0), 0
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


def look(item: tuple[str, str] | Partition) -> tuple[InputFile, Any]:
    """What the end of a file says of it, and its schema."""
    if isinstance(item, Partition):
        table = item.table()
        rows, used = table.num_rows, table.nbytes
        per_row = used // max(rows, 1) + 1
        source = InputFile(item.path, item.name, {}, 0, 0, rows, per_row, item)
        return source, item.schema
    path, name = item
    packing = held = None
    with naming(path), opened(path) as place:
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
                with contextlib.suppress(pa.ArrowException, OSError):  # told later
                    first, *others = file.iter_batches(HELD_ROWS, use_threads=False)
                    if not others and first.nbytes <= SMALL_BYTES:
                        held = first
            file.close()
    stem = os.path.splitext(name)[0] if is_arrow(path) else name
    name = f"{stem}.parquet" if is_arrow(path) else name
    per_row = used // max(rows, 1) + 1
    folders = [part.partition("=") for part in path.split("/")[:-1] if "=" in part]
    keys = {key: value for key, _, value in folders if key not in schema.names}
    source = InputFile(
        path, name, keys, size, modified, rows, per_row, None, packing, held
    )
    return source, schema


def _packing(about: Any) -> tuple[str, tuple[str, ...]] | None:
    """How a file is compressed, and which columns have a dictionary that helps.

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
    return path.lower().endswith(ARROW)


def batches_of(
    source: InputFile, columns: list[str] | None = None, rows: int = BATCH_ROWS
) -> Iterator[Any]:
    """Record batches of the columns (None: all) in the order of the rows."""
    if source.partition is not None:
        table = source.partition.table()
        part = table if columns is None else table.select(columns)
        yield from part.combine_chunks().to_batches(rows)
        return
    with naming(source.path):
        if stamp(source.path) != (source.size, source.modified):
            raise DataError(f"{source.path} has changed since the run began")
    if source.held is not None:
        yield source.held if columns is None else source.held.select(columns)
        return
    with naming(source.path), opened(source.path) as place:
        kind = "arrow" if is_arrow(source.path) else "parquet"
        yield from typed_batches(place, kind, lambda schema: columns, rows=rows)
