"""Buckets that are too large: split by another hash, and large groups set apart."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._input.types import Integers
from argmetric.scale._columns import arrow_type
from argmetric.scale._conservation import Tally, require_same
from argmetric.scale._folders import moved_folder, temporary
from argmetric.scale._partition import (
    bucket_of,
    chunk_rows,
    gathered,
    hashed,
    pieces_file,
    write_chunk,
)
from argmetric.scale._pieces import Piece, chunks_of
from argmetric.scale._tasks import Found

FULLNESS = 4  # a part is a quarter full on average: groups are of all sizes
SEED = 7919  # the hash of the first stage is much the same for all ids of a bucket
CELLS = 1 << 16  # of hashes, counted to find where a large group can be


@dataclass(frozen=True)
class SplitTask:
    """A bucket, what ids are, how many rows a part may have, and where parts go."""

    pieces: tuple[Piece, ...]
    kind: str
    most_rows: int
    folder: str
    memory: int


def split(task: SplitTask) -> Found:
    """Write the parts of a bucket; found: rows of every piece in every part.

    The first parts are one group each that is too large by itself.
    """
    made = temporary(task.folder)
    os.mkdir(made)
    rows = sum(piece.rows for piece in task.pieces)
    others = -(-FULLNESS * rows // task.most_rows)
    try:
        large = _large_groups(task)
        parts = len(large) + others
        sizes, chunks = [], []
        for piece in task.pieces:
            found, n_chunks = np.zeros(parts, dtype=np.int64), 0
            with pieces_file(_pieces(made, piece), task.kind) as writer:
                for chunk in gathered(chunks_of(piece), chunk_rows(task.memory)):
                    codes = _parts(chunk[2], large, others)
                    found += write_chunk(writer, chunk, codes, parts)
                    n_chunks += 1
            before, after = Tally(piece.rows), Tally(int(found.sum()))
            require_same("split", piece.path, before, after)
            sizes.append(found.tolist())
            chunks.append(n_chunks)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    moved_folder(made, task.folder)
    return {"large": len(large), "sizes": sizes, "chunks": chunks}


def _large_groups(task: SplitTask) -> Any:
    """Ids of more rows than a part may have, in the order of their appearance."""
    import pyarrow as pa
    import pyarrow.compute as pc

    counts = np.zeros(CELLS, dtype=np.int64)
    for piece in task.pieces:
        for _, _, ids in chunks_of(piece):
            counts += np.bincount(bucket_of(hashed(ids, SEED), CELLS), minlength=CELLS)
    crowded = counts > task.most_rows
    names = [("values", arrow_type(task.kind)), ("counts", pa.int64())]
    found = [pa.schema(names).empty_table()]
    for piece in task.pieces if crowded.any() else ():
        for _, _, ids in chunks_of(piece):
            there = crowded[bucket_of(hashed(ids, SEED), CELLS)]
            some = pc.value_counts(ids.filter(pa.array(there)))
            found.append(pa.table(some.flatten(), names=["values", "counts"]))
    whole = pa.concat_tables(found).group_by("values", use_threads=False)
    sums = whole.aggregate([("counts", "sum")])
    enough = pc.greater(sums["counts_sum"], task.most_rows)
    return sums["values"].filter(enough).combine_chunks()


def _parts(ids: Any, large: Any, others: int) -> Integers:
    """The part of every row: its group's own, or one by hash behind those."""
    import pyarrow.compute as pc

    by_hash = bucket_of(hashed(ids, SEED), others).astype(np.int64) + len(large)
    if not len(large):
        return by_hash
    own = pc.index_in(ids, value_set=large)
    alone = own.is_valid().to_numpy(zero_copy_only=False)
    return np.where(alone, own.fill_null(0).to_numpy(), by_hash)


def _pieces(folder: str, piece: Piece) -> str:
    return os.path.join(folder, f"file-{piece.file:06d}.arrow")


def parts_of(task: SplitTask, found: Found) -> list[tuple[Piece, ...]]:
    """The parts as pieces; of those that are one large group there are `large`."""
    n_parts = len(found["sizes"][0])
    parts: list[list[Piece]] = [[] for _ in range(n_parts)]
    lists = (task.pieces, found["sizes"], found["chunks"])
    for piece, sizes, chunks in zip(*lists, strict=True):
        path = _pieces(task.folder, piece)
        for b in np.flatnonzero(sizes).tolist():
            batches = range(b, n_parts * chunks, n_parts)
            parts[b].append(Piece(piece.file, None, path, batches, sizes[b]))
    return [tuple(part) for part in parts]
