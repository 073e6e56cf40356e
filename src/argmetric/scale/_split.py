"""Buckets that are too large: split by another hash, and large groups set apart."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass

from argmetric.scale._conservation import Tally, require_same
from argmetric.scale._folders import moved_folder, temporary
from argmetric.scale._partition import (
    duck,
    piece_rows,
    pieces_in,
    quoted,
    write_pieces,
)
from argmetric.scale._pieces import Piece
from argmetric.scale._tasks import Found

FULLNESS = 4  # a part is a quarter full on average: groups are of all sizes


@dataclass(frozen=True)
class SplitTask:
    """A bucket, how many rows it may have, and where its parts go."""

    pieces: tuple[Piece, ...]
    most_rows: int
    folder: str
    memory: int


def split(task: SplitTask) -> Found:
    """Write the parts of a bucket; found: rows of every piece in every part.

    The first parts are one group each that is too large by itself.
    """
    made = temporary(task.folder)
    os.mkdir(made)
    everything = [path for piece in task.pieces for path in piece.paths]
    rows = sum(piece.rows for piece in task.pieces)
    others = -(-FULLNESS * rows // task.most_rows)
    try:
        with duck(task.memory, made) as connection:
            connection.execute(
                "CREATE TEMP TABLE large AS SELECT id, row_number() OVER () - 1 AS "
                "number FROM (SELECT id, count(*) AS size FROM "
                f"{_rows_of(everything)} GROUP BY id HAVING size > {task.most_rows} "
                "ORDER BY id)"
            )
            counted = connection.execute("SELECT count(*) FROM large").fetchone()
            large = int(counted[0])
            sizes = []
            for piece in task.pieces:
                folder = os.path.join(made, f"file-{piece.file:06d}")
                os.mkdir(folder)
                # The hash of the first stage is the same for all ids of this bucket
                write_pieces(
                    connection,
                    "SELECT row, here.id, score, coalesce(number, "
                    f"{large} + (hash(here.id, 7919) % {others})::BIGINT) AS bucket "
                    f"FROM {_rows_of(piece.paths)} here LEFT JOIN large "
                    "ON here.id IS NOT DISTINCT FROM large.id",
                    folder,
                )
                found = [
                    piece_rows(pieces_in(folder, b)) for b in range(large + others)
                ]
                before, after = Tally(piece.rows), Tally(sum(found))
                require_same("split", piece.paths[0], before, after)
                sizes.append(found)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    moved_folder(made, task.folder)
    return {"large": large, "sizes": sizes}


def _rows_of(paths: list[str] | tuple[str, ...]) -> str:
    listed = ", ".join(map(quoted, paths))
    return f"read_parquet([{listed}], hive_partitioning = false)"


def parts_of(task: SplitTask, found: Found) -> list[tuple[Piece, ...]]:
    """The parts as pieces; of those that are one large group there are `large`."""
    parts = []
    for b in range(len(found["sizes"][0])):
        part = []
        for piece, sizes in zip(task.pieces, found["sizes"], strict=True):
            if sizes[b]:
                folder = os.path.join(task.folder, f"file-{piece.file:06d}")
                paths = tuple(pieces_in(folder, b))
                part.append(Piece(piece.file, paths=paths, rows=sizes[b]))
        parts.append(tuple(part))
    return parts
