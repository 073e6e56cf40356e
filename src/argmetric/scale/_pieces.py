"""Pieces: rows of one file each, by hash of their group; a bucket is a list of them.

Stage 1 writes (row, score, group) and no more, one file of pieces for each file of the
input, so that their number does not grow with that of the buckets: its rows in chunks,
and of every chunk a batch for each bucket. Buckets that are too large are split by
another hash, and large groups set apart.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from argmetric._ground.groups import Groups, code_groups
from argmetric._ground.types import Floats, Hashes, Integers
from argmetric._ground.whole_files import replaced_whole
from argmetric.scale._columns import FileBatch, UsedColumns, arrow_type, read_batches
from argmetric.scale._sources import InputFile, naming
from argmetric.scale._tasks import (
    Found,
    Tally,
    mixed,
    moved_folder,
    require_same,
    temporary,
)

CHUNK_BYTES = 120  # of a row while its chunk is put in order
LEAST_ROWS, MOST_ROWS = 1 << 17, 1 << 20  # of a chunk; shorter ones are mere headers
MISSING = np.uint64(0x6A09E667F3BCC909)  # the hash of rows without an id
FULLNESS = 4  # a part is a quarter full on average: groups are of all sizes
SEED = 7919  # the hash of the first stage is much the same for all ids of a bucket
HASH_CELLS = 1 << 16  # counted to find where a large group can be

Chunk = tuple[Integers, Floats, Any]  # row numbers, scores, ids


@dataclass(frozen=True)
class Piece:
    """Rows of a file: some batches of its file of pieces, or all of the file itself."""

    file: int  # the number of the file
    source: InputFile | None = None  # the file, where nothing was partitioned
    pieces: str = ""  # the file of pieces
    batches: range = range(0)  # which of its batches, in the order of the rows
    rows: int = 0  # how many there are

    @property
    def path(self) -> str:
        """A name for it in messages."""
        return self.pieces if self.source is None else self.source.path


class PieceReader:
    """Batches of the rows of a piece, in the order of its file.

    Attributes
    ----------
    read : Tally
        Rows that were read so far.
    """

    def __init__(
        self, piece: Piece, columns: UsedColumns, rows: int | None = None
    ) -> None:
        self.piece, self.columns = piece, columns
        self.rows = columns.batch_rows if rows is None else rows
        self.read = Tally()

    def __iter__(self) -> Iterator[FileBatch]:
        if self.piece.source is not None:
            batches = read_batches(self.piece.source, self.columns, self.rows)
        else:
            batches = (FileBatch(*chunk) for chunk in chunks_of(self.piece))
        for batch in batches:
            self.read += batch.tally
            yield batch


@dataclass(frozen=True)
class Bucket:
    """All rows of some pieces in memory, in the order of the pieces."""

    values: Floats  # what is read of every row, within its range
    ids: Any  # their groups
    tallies: list[Tally]  # the rows of every piece

    def groups(self) -> Groups:
        """Groups by number, in the order of first appearance; null is one of them."""
        if pa.types.is_integer(self.ids.type) and not self.ids.null_count:
            return code_groups(self.ids.to_numpy(), len(self.ids))
        whole = self.ids.combine_chunks().dictionary_encode(null_encoding="encode")
        codes = whole.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return Groups(codes, whole.dictionary.to_numpy(zero_copy_only=False))


def read_bucket(pieces: tuple[Piece, ...], columns: UsedColumns) -> Bucket:
    values, ids, tallies = [np.empty(0)], [], []
    for piece in pieces:
        reader = PieceReader(piece, columns)
        for batch in reader:
            values.append(columns.in_range(batch.values))
            ids.append(batch.ids)
        tallies.append(reader.read)
    whole = None
    if columns.group is not None:
        whole = pa.chunked_array(ids, arrow_type(columns.kind))
    return Bucket(np.concatenate(values), whole, tallies)


def chunks_of(piece: Piece) -> Iterator[Chunk]:
    """Row numbers, scores and ids of the batches of a piece."""
    with naming(piece.pieces), pa.OSFile(piece.pieces) as file:
        reader = pa.ipc.open_file(file)
        for i in piece.batches:
            rows, scores, ids = reader.get_batch(i).columns
            yield rows.to_numpy(), scores.to_numpy(), ids


def read_row_numbers(piece: Piece) -> Integers:
    """Row numbers alone, in the order of the piece."""
    if piece.source is not None:
        return np.arange(piece.source.rows)
    alone = pa.ipc.IpcReadOptions(included_fields=[0])
    with naming(piece.pieces), pa.OSFile(piece.pieces) as file:
        reader = pa.ipc.open_file(file, options=alone)
        parts = [reader.get_batch(i).column(0).to_numpy() for i in piece.batches]
    return np.concatenate(parts)


def partition(
    piece: Piece, columns: UsedColumns, path: str, buckets: int, memory: int
) -> Found:
    """Write the pieces of one file; found: its rows, in all and in each bucket."""
    reader = PieceReader(piece, columns, chunk_rows(memory))
    rows = ((batch.rows, batch.values, batch.ids) for batch in reader)
    sizes, chunks = np.zeros(buckets, dtype=np.int64), 0
    with pieces_file(path, columns.kind) as writer:
        for chunk in gathered(rows, chunk_rows(memory)):
            codes = bucket_of(hashed(chunk[2]), buckets)
            sizes += write_chunk(writer, chunk, codes, buckets)
            chunks += 1
        after = Tally(int(sizes.sum()), reader.read.checksum)  # held to it when read
        require_same("partition", piece.path, reader.read, after)
    return {**vars(reader.read), "buckets": sizes.tolist(), "chunks": chunks}


def chunk_rows(memory: int) -> int:
    """How many rows are put in order at a time."""
    return min(max(memory // CHUNK_BYTES, LEAST_ROWS), MOST_ROWS)


def gathered(parts: Iterable[Chunk], rows: int) -> Iterator[Chunk]:
    """Rows in chunks of about `rows`, however small the parts are."""
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
    """64 bits of every id, well mixed, equal in every process."""
    start = mixed(np.array([seed], dtype=np.uint64))[0]
    if pa.types.is_large_string(ids.type) or pa.types.is_large_binary(ids.type):
        from argmetric._ground.kernels.grouping import mix_texts

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
    names = [("row", pa.int64()), ("score", pa.float64()), ("id", arrow_type(kind))]
    with (
        replaced_whole(path) as file,
        pa.ipc.new_file(file, pa.schema(names)) as writer,
    ):
        yield writer


def write_chunk(writer: Any, chunk: Chunk, codes: Integers, parts: int) -> Integers:
    """Write a batch for every part, rows in their order; how many rows each has."""
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


def split(
    pieces: tuple[Piece, ...], kind: str, most_rows: int, folder: str, memory: int
) -> Found:
    """Write the parts of a bucket; found: rows of every piece in every part.

    The first parts are one group each that is too large by itself.
    """
    made = temporary(folder)
    os.mkdir(made)
    rows = sum(piece.rows for piece in pieces)
    others = -(-FULLNESS * rows // most_rows)
    try:
        large = _large_groups(pieces, kind, most_rows)
        parts = len(large) + others
        sizes, chunks = [], []
        for piece in pieces:
            found, n_chunks = np.zeros(parts, dtype=np.int64), 0
            with pieces_file(_pieces(made, piece), kind) as writer:
                for chunk in gathered(chunks_of(piece), chunk_rows(memory)):
                    ids = chunk[2]  # its group's own part, or one by hash behind those
                    codes = bucket_of(hashed(ids, SEED), others) + len(large)
                    if len(large):
                        own = pc.index_in(ids, value_set=large)
                        alone = own.is_valid().to_numpy(zero_copy_only=False)
                        codes = np.where(alone, own.fill_null(0).to_numpy(), codes)
                    found += write_chunk(writer, chunk, codes, parts)
                    n_chunks += 1
            before, after = Tally(piece.rows), Tally(int(found.sum()))
            require_same("split", piece.path, before, after)
            sizes.append(found.tolist())
            chunks.append(n_chunks)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    moved_folder(made, folder)
    return {"large": len(large), "sizes": sizes, "chunks": chunks}


def _large_groups(pieces: tuple[Piece, ...], kind: str, most_rows: int) -> Any:
    """Ids of more rows than a part may have, in the order of their appearance."""
    counts = np.zeros(HASH_CELLS, dtype=np.int64)
    for piece in pieces:
        for _, _, ids in chunks_of(piece):
            counts += np.bincount(
                bucket_of(hashed(ids, SEED), HASH_CELLS), minlength=HASH_CELLS
            )
    crowded = counts > most_rows
    names = [("values", arrow_type(kind)), ("counts", pa.int64())]
    found = [pa.schema(names).empty_table()]
    for piece in pieces if crowded.any() else ():
        for _, _, ids in chunks_of(piece):
            there = crowded[bucket_of(hashed(ids, SEED), HASH_CELLS)]
            some = pc.value_counts(ids.filter(pa.array(there)))
            found.append(pa.table(some.flatten(), names=["values", "counts"]))
    whole = pa.concat_tables(found).group_by("values", use_threads=False)
    sums = whole.aggregate([("counts", "sum")])
    enough = pc.greater(sums["counts_sum"], most_rows)
    return sums["values"].filter(enough).combine_chunks()


def _pieces(folder: str, piece: Piece) -> str:
    return os.path.join(folder, f"file-{piece.file:06d}.arrow")


def parts_of(
    pieces: tuple[Piece, ...], folder: str, found: Found
) -> list[tuple[Piece, ...]]:
    """The parts as pieces; of those that are one large group there are `large`."""
    n_parts = len(found["sizes"][0])
    parts: list[list[Piece]] = [[] for _ in range(n_parts)]
    lists = (pieces, found["sizes"], found["chunks"])
    for piece, sizes, chunks in zip(*lists, strict=True):
        path = _pieces(folder, piece)
        for b in np.flatnonzero(sizes).tolist():
            batches = range(b, n_parts * chunks, n_parts)
            parts[b].append(Piece(piece.file, None, path, batches, sizes[b]))
    return [tuple(part) for part in parts]
