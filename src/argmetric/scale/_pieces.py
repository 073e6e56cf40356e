"""A bucket is a list of pieces: rows of one file each, to be decided together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from argmetric._types import Floats, Integers
from argmetric.scale._columns import Used, arrow_type, scores_and_ids
from argmetric.scale._conservation import Tally, tally
from argmetric.scale._sources import BATCH_ROWS, Source, told_of


@dataclass(frozen=True)
class Piece:
    """Rows of a file: those in `paths`, or all of the file itself.

    Attributes
    ----------
    file : int
        The number of the file.
    source : Source or None
        The file, where nothing was partitioned.
    paths : tuple of str
        Where its rows were put.
    rows : int
        How many there are.
    """

    file: int
    source: Source | None = None
    paths: tuple[str, ...] = ()
    rows: int = 0

    @property
    def path(self) -> str:
        """A name for it in messages."""
        return self.paths[0] if self.source is None else self.source.path


@dataclass(frozen=True)
class Rows:
    """Rows of a piece in the order of the file."""

    rows: Integers
    scores: Floats
    ids: Any
    tally: Tally


def read_piece(piece: Piece, used: Used) -> Rows:
    """Rows, scores within their range, and ids of a piece."""
    if piece.source is not None:
        rows, scores, ids = _from_source(piece.source, used)
    else:
        rows, scores, ids = _from_files(piece.paths)
    return Rows(rows, used.in_range(scores), ids, tally(rows, scores))


def batches_of_piece(piece: Piece, used: Used) -> Iterator[tuple[Integers, Floats]]:
    """Row numbers and scores as in the file, in any order and in little memory."""
    if piece.source is not None:
        alone = replace(used, group=None)
        for first, scores, _ in scores_and_ids(piece.source, alone):
            yield np.arange(first, first + scores.size), scores
        return
    import pyarrow.parquet as pq

    for path in piece.paths:
        with told_of(path), pq.ParquetFile(path) as file:
            for batch in file.iter_batches(BATCH_ROWS, columns=["row", "score"]):
                rows, scores = (column.to_numpy() for column in batch.columns)
                yield rows, scores


def read_row_numbers(piece: Piece) -> Integers:
    """Row numbers alone, in the same order."""
    if piece.source is not None:
        return np.arange(piece.source.rows)
    return np.sort(_column(piece.paths, "row"))


def _from_source(source: Source, used: Used) -> tuple[Integers, Floats, Any]:
    import pyarrow as pa

    scores, ids = np.empty(source.rows), []
    stop = 0
    for first, values, some in scores_and_ids(source, used):
        stop = first + values.size
        scores[first:stop] = values[: max(source.rows - first, 0)]
        ids.append(some)
    whole = None
    if used.group is not None:
        whole = pa.chunked_array(ids, arrow_type(used.kind))
    return np.arange(stop), scores[:stop], whole


def rows_and_scores(piece: Piece) -> tuple[Integers, Floats]:
    """Row numbers and scores as in the file, in its order, of a piece in `paths`."""
    rows, scores = _column(piece.paths, "row"), _column(piece.paths, "score")
    order = np.argsort(rows)
    return rows[order], scores[order]


def _from_files(paths: tuple[str, ...]) -> tuple[Integers, Floats, Any]:
    import pyarrow as pa

    rows, scores = _column(paths, "row"), _column(paths, "score")
    with told_of(paths[0]):
        ids = pa.chunked_array(
            [chunk for path in paths for chunk in _read(path, "id").chunks]
        )
    if (rows[1:] > rows[:-1]).all():
        return rows, scores, ids
    order = np.argsort(rows)
    return rows[order], scores[order], ids.take(pa.array(order))


def _column(paths: tuple[str, ...], name: str) -> Any:
    parts = []
    for path in paths:
        with told_of(path):
            parts.append(_read(path, name).to_numpy())
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _read(path: str, name: str) -> Any:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        return file.read([name], use_threads=False).column(0)
