"""Stage 1: the rows of a file by hash of their group, (row, group, score) and no more.

One file of pieces for each file of the input, so that their number does not grow with
that of the buckets: its rows in chunks, and of every chunk a batch for each bucket.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._input.types import Floats, Hashes, Integers
from argmetric._results.saving import replaced_whole
from argmetric.scale._columns import Used, arrow_type, scores_and_ids
from argmetric.scale._conservation import Tally, mixed, require_same, tally
from argmetric.scale._sources import Source
from argmetric.scale._tasks import Found

CHUNK_BYTES = 120  # of a row while its chunk is put in order
LEAST_ROWS, MOST_ROWS = 1 << 17, 1 << 20  # of a chunk; shorter ones are mere headers
MISSING = np.uint64(0x6A09E667F3BCC909)  # the hash of rows without an id

Chunk = tuple[Integers, Floats, Any]  # row numbers, scores, ids


@dataclass(frozen=True)
class PartitionTask:
    """A file, and where its pieces go."""

    source: Source
    used: Used
    path: str
    buckets: int
    memory: int


def partition(task: PartitionTask) -> Found:
    """Write the pieces of one file; found: its rows, in all and in each bucket."""
    counted = Tally()

    def rows() -> Iterator[Chunk]:
        nonlocal counted
        size = chunk_rows(task.memory)
        for first, scores, ids in scores_and_ids(task.source, task.used, size):
            numbers = np.arange(first, first + scores.size)
            counted += tally(numbers, scores)
            yield numbers, scores, ids

    sizes = np.zeros(task.buckets, dtype=np.int64)
    chunks = 0
    with pieces_file(task.path, task.used.kind) as writer:
        for chunk in gathered(rows(), chunk_rows(task.memory)):
            codes = bucket_of(hashed(chunk[2]), task.buckets)
            sizes += write_chunk(writer, chunk, codes, task.buckets)
            chunks += 1
        after = Tally(int(sizes.sum()), counted.checksum)  # held to it when read
        require_same("partition", task.source.path, counted, after)
    return {
        "rows": counted.rows,
        "checksum": counted.checksum,
        "buckets": sizes.tolist(),
        "chunks": chunks,
    }


def chunk_rows(memory: int) -> int:
    """How many rows are put in order at a time."""
    return min(max(memory // CHUNK_BYTES, LEAST_ROWS), MOST_ROWS)


def gathered(parts: Iterable[Chunk], rows: int) -> Iterator[Chunk]:
    """The same rows in chunks of about `rows`, however small the parts are."""
    import pyarrow as pa

    held: list[Chunk] = []
    n_held = 0

    def whole() -> Chunk:
        numbers, scores, ids = zip(*held, strict=True)
        return np.concatenate(numbers), np.concatenate(scores), pa.concat_arrays(ids)

    for part in parts:
        held.append(part)
        n_held += part[1].size
        if n_held >= rows:
            yield part if len(held) == 1 else whole()
            held, n_held = [], 0
    if held:
        yield whole()


def hashed(ids: Any, seed: int = 0) -> Hashes:
    """64 bits of every id, well mixed, the same in every process."""
    import pyarrow as pa
    import pyarrow.compute as pc

    start = mixed(np.array([seed], dtype=np.uint64))[0]
    if pa.types.is_large_string(ids.type) or pa.types.is_large_binary(ids.type):
        from argmetric._input.kernels.grouping import mix_texts

        _, places, letters = ids.buffers()
        offsets = np.frombuffer(places, np.int64)[ids.offset :][: len(ids) + 1]
        texts = np.frombuffer(letters or b"", np.uint8)
        found = np.empty(len(ids), dtype=np.uint64)
        mix_texts(texts, offsets, start, found)
    else:
        known = pc.fill_null(ids, False if pa.types.is_boolean(ids.type) else 0)
        if known.type.bit_width != 64:
            known = known.cast(pa.uint8()).cast(pa.uint64())
        words = known.to_numpy(zero_copy_only=False).view(np.uint64)
        found = mixed(words ^ start)
    if ids.null_count:
        found[ids.is_null().to_numpy(zero_copy_only=False)] = MISSING ^ start
    return found


def bucket_of(hashes: Hashes, buckets: int) -> Integers:
    """The bucket of every row, from the first half of its hash."""
    half = np.uint64(32)
    return (((hashes >> half) * np.uint64(buckets)) >> half).astype(np.int64)


@contextlib.contextmanager
def pieces_file(path: str, kind: str) -> Iterator[Any]:
    """What writes a file of pieces, which is there when all of it is."""
    import pyarrow as pa

    names = [("row", pa.int64()), ("score", pa.float64()), ("id", arrow_type(kind))]
    with (
        replaced_whole(path) as file,
        pa.ipc.new_file(file, pa.schema(names)) as writer,
    ):
        yield writer


def write_chunk(writer: Any, chunk: Chunk, codes: Integers, parts: int) -> Integers:
    """Write a batch for every part, rows in their order; how many rows each has."""
    import pyarrow as pa

    sizes: Integers = np.bincount(codes, minlength=parts)
    short = codes.astype(np.min_scalar_type(parts))  # two bytes are sorted by digits
    order = np.argsort(short, kind="stable")
    rows, scores, ids = chunk
    columns = [rows[order], scores[order], ids.take(pa.array(order))]
    batch = pa.record_batch(columns, names=["row", "score", "id"])
    first = 0
    for size in sizes.tolist():
        writer.write_batch(batch.slice(first, size))
        first += size
    return sizes
