"""Whole groups, brought together from all files in buckets by a hash of their ids.

One pass writes (row, value, id) and no more, one file for each part of the input, so
that their number does not grow with that of the buckets: rows in chunks, and of every
chunk a batch for each bucket. Buckets that are too large are split by another hash; a
group that is too large is an error.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from argmetric._ground.groups import Groups, code_groups
from argmetric._ground.types import Floats, Hashes, Integers
from argmetric._ground.whole_files import replaced_whole
from argmetric.scale._columns import FileBatch, arrow_type
from argmetric.scale._memory import fits
from argmetric.scale._scan import Scan
from argmetric.scale.files import DataError, marked

CHUNK_BYTES = 240  # of a row while its chunk is put in order
LEAST_ROWS, MOST_ROWS = 1 << 17, 1 << 20  # of a chunk; shorter ones are mere headers
MISSING = np.uint64(0x6A09E667F3BCC909)  # the hash of rows without an id
FULLNESS = 4  # a part is a quarter full on average: groups are of all sizes
SEED = 7919  # the hash of the first pass is much the same for all ids of a bucket
FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
THIRD = np.uint64(0x94D049BB133111EB)

Chunk = tuple[Integers, Floats, Any]  # numbers of rows in all files, values, ids


@dataclass(frozen=True)
class GroupedRows:
    """Rows of whole groups in memory, in the order of the files."""

    rows: Integers  # their numbers in all files
    values: Floats  # what was read of each
    ids: Any  # their groups, an Arrow array; None where all rows are one vector

    def groups(self) -> Groups:
        """Return groups by number, in the order of first appearance; null is one."""
        if pa.types.is_integer(self.ids.type) and not self.ids.null_count:
            return code_groups(self.ids.to_numpy(), len(self.ids))
        whole = self.ids.combine_chunks().dictionary_encode(null_encoding="encode")
        codes = whole.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return Groups(codes, whole.dictionary.to_numpy(zero_copy_only=False))


@dataclass(frozen=True)
class Bucket:
    """Bucket of whole groups: rows in files of rows, or the whole input."""

    n: int  # how many rows there are
    # files of rows, and which of their batches are in the bucket
    parts: tuple[tuple[str, range], ...] = ()
    scan: Scan | None = None  # the input, where nothing was written
    values: Callable[[FileBatch], Floats] | None = None  # what is read of it

    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows in their order."""
        if self.scan is not None and self.values is not None:
            for batch in self.scan.batches():
                yield _chunk_of(batch, self.values(batch))
        for path, batches in self.parts:
            try:
                with pa.OSFile(path) as file:
                    reader = pa.ipc.open_file(file)
                    for i in batches:
                        rows, values, ids = reader.get_batch(i).columns
                        yield rows.to_numpy(), values.to_numpy(), ids
            except (pa.ArrowException, OSError) as error:
                raise DataError(
                    f"{path} is damaged ({str(error).splitlines()[0]}): run again "
                    f"without {marked('resume')}"
                ) from error

    def read(self) -> GroupedRows:
        """Return all rows."""
        chunks = list(self.chunks())
        if sum(values.size for _, values, _ in chunks) != self.n:
            raise DataError(f"{self.n:,} rows went into a bucket and others came out")
        rows, values, ids = zip(*chunks, strict=True)
        whole = None if ids[0] is None else pa.chunked_array(ids)
        return GroupedRows(np.concatenate(rows), np.concatenate(values), whole)


def _chunk_of(batch: FileBatch, values: Floats) -> Chunk:
    rows = np.arange(batch.start, batch.start + batch.size)
    return rows, values, batch.ids


# -- hashes ---------------------------------------------------------------------------


def mix_bits(word: Hashes) -> Hashes:
    """Return words of 64 bits, scrambled by the end of splitmix64."""
    word = (word ^ (word >> np.uint64(30))) * SECOND
    word = (word ^ (word >> np.uint64(27))) * THIRD
    return word ^ (word >> np.uint64(31))


def tickets(rows: Integers) -> Hashes:
    """Return a pseudo-random number for each row number, all different."""
    with np.errstate(over="ignore"):
        return mix_bits(rows.view(np.uint64) * FIRST + SECOND)


def hash_ids(ids: pa.Array, seed: int = 0) -> Hashes:
    """Return 64 bits of every id, well mixed, equal in every process."""
    with np.errstate(over="ignore"):
        start = mix_bits(np.array([seed], dtype=np.uint64))[0]
    if pa.types.is_large_string(ids.type) or pa.types.is_large_binary(ids.type):
        from argmetric._ground.kernels.grouping import mix_texts

        _, places, letters = ids.buffers()
        offsets = np.frombuffer(places, np.int64)[ids.offset :][: len(ids) + 1]
        texts = np.frombuffer(letters or b"", np.uint8)
        hashes = np.empty(len(ids), dtype=np.uint64)
        mix_texts(texts, offsets, start, hashes)
    else:
        known = pc.fill_null(ids, False if pa.types.is_boolean(ids.type) else 0)
        if known.type.bit_width != 64:
            known = known.cast(pa.uint8()).cast(pa.uint64())
        words = known.to_numpy(zero_copy_only=False).view(np.uint64)
        hashes = mix_bits(words ^ start)
    if ids.null_count:
        hashes[ids.is_null().to_numpy(zero_copy_only=False)] = MISSING ^ start
    return hashes


def bucket_of(hashes: Hashes, n_buckets: int) -> Integers:
    """Return the bucket of every row, from the first half of its hash."""
    half = np.uint64(32)
    return (((hashes >> half) * np.uint64(n_buckets)) >> half).astype(np.int64)


# -- writing --------------------------------------------------------------------------


def chunk_rows(memory: int) -> int:
    """Return how many rows are put in order at a time."""
    return min(max(memory // CHUNK_BYTES, LEAST_ROWS), MOST_ROWS)


def gather_chunks(chunks: Iterable[Chunk], n_rows: int) -> Iterator[Chunk]:
    """Yield chunks of about `n_rows` rows, joined from smaller ones."""
    held: list[Chunk] = []

    def whole() -> Chunk:
        rows, values, ids = zip(*held, strict=True)
        return np.concatenate(rows), np.concatenate(values), pa.concat_arrays(ids)

    for chunk in chunks:
        held.append(chunk)
        if sum(values.size for _, values, _ in held) >= n_rows:
            yield chunk if len(held) == 1 else whole()
            held.clear()
    if held:
        yield whole()


def write_rows(
    chunks: Iterable[Chunk],
    path: str,
    kind: str,
    n: int,
    seed: int = 0,
) -> tuple[list[int], int]:
    """Write rows to a file, sorted within chunks by the bucket of their ids, of n.

    Return how many rows each bucket has, and the number of chunks.
    """
    names = [("row", pa.int64()), ("value", pa.float64()), ("id", arrow_type(kind))]
    sizes, n_chunks = np.zeros(n, dtype=np.int64), 0
    with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, pa.schema(names)) as out:
        for rows, values, ids in chunks:
            codes = bucket_of(hash_ids(ids, seed), n)
            order = np.argsort(codes.astype(np.min_scalar_type(n)), kind="stable")
            columns = [rows[order], values[order], ids.take(pa.array(order))]
            batch = pa.record_batch(columns, names=["row", "value", "id"])
            first = 0
            for size in np.bincount(codes, minlength=n).tolist():
                out.write_batch(batch.slice(first, size))
                first += size
            sizes += np.bincount(codes, minlength=n)
            n_chunks += 1
    return sizes.tolist(), n_chunks


def _buckets(written: list[tuple[str, list[int], int]]) -> list[Bucket]:
    """Return the buckets of files of rows, also those without rows."""
    buckets = []
    for b, sizes in enumerate(zip(*(sizes for _, sizes, _ in written), strict=True)):
        n = len(written[0][1])
        parts = tuple(
            (path, range(b, n * n_chunks, n)) for path, _, n_chunks in written
        )
        buckets.append(Bucket(sum(sizes), parts))
    return buckets


def as_read(batch: FileBatch) -> Floats:
    """Return the values of a batch as they were read."""
    return batch.values


def partition(
    scan: Scan, values: Callable[[FileBatch], Floats] = as_read
) -> list[Bucket]:
    """Return buckets of whole groups; the input itself if one is enough.

    `values` is what is kept of the rows of a batch.
    """
    n, _ = scan.division
    if n == 1:
        return [Bucket(scan.n, scan=scan, values=values)]
    folder = os.path.join(scan.work, "rows")
    os.makedirs(folder, exist_ok=True)
    most = chunk_rows(scan.memory // scan.n_workers // 3)

    def write(part: range) -> tuple[str, list[int], int]:
        """Write the rows of some batches, by bucket; return path, sizes and chunks."""
        path = os.path.join(folder, f"{part.start:06d}.arrow")
        batches = scan.batches(part, most)
        chunks = (_chunk_of(batch, values(batch)) for batch in batches)
        whole = gather_chunks(chunks, most)
        return path, *write_rows(whole, path, scan.columns.kind, n)

    sizes = os.path.join(folder, "sizes")
    if (written := load(sizes, list)) is None:  # by a run that was interrupted
        written = scan.map(write, scan.parts)
        save(sizes, written)
    buckets = _buckets(written)
    if (n_moved := sum(bucket.n for bucket in buckets)) != scan.n:
        raise DataError(f"{scan.n:,} rows were read and {n_moved:,} came into buckets")
    return buckets


def save(path: str, values: object) -> None:
    """Write plain values, whole or not at all."""
    with replaced_whole(path) as file:
        file.write(json.dumps(values).encode())


def load(path: str, kind: type = dict) -> Any:
    """Return values that `save` wrote; None if missing or damaged."""
    try:
        with open(path, encoding="utf-8") as file:
            values = json.load(file)
    except (OSError, ValueError):
        return None
    return values if isinstance(values, kind) else None


def whole_groups(
    scan: Scan, values: Callable[[FileBatch], Floats] = as_read
) -> list[Bucket]:
    """Return buckets of whole groups that fit in memory."""
    _, most = scan.division
    buckets: list[Bucket] = []
    for b, bucket in enumerate(partition(scan, values)):
        alone = bucket.n <= most or bucket.scan is not None
        parts = [bucket] if alone else _split(bucket, scan, most, f"{b:06d}.arrow")
        buckets += [one for one in parts if one.n]
    if (largest := max(bucket.n for bucket in buckets)) and not fits(largest, most):
        raise DataError(
            f"a group has up to {largest:,} rows, more than memory allows: raise "
            f"{marked('memory')}, or take fewer workers"
        )
    return buckets


def _split(bucket: Bucket, scan: Scan, most: int, name: str) -> list[Bucket]:
    """Return a bucket with too many rows as several, by another hash."""
    folder = os.path.join(scan.work, "split")
    os.makedirs(folder, exist_ok=True)
    path, n = os.path.join(folder, name), -(-FULLNESS * bucket.n // most)
    chunks = gather_chunks(bucket.chunks(), chunk_rows(scan.memory // 3))
    return _buckets([(path, *write_rows(chunks, path, scan.columns.kind, n, SEED))])
