"""A bucket is a list of pieces: rows of one file each, to be decided together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._types import Floats, Integers
from argmetric.scale._columns import Used, arrow_type, in_range, scores_and_ids
from argmetric.scale._conservation import Tally, tally
from argmetric.scale._sources import Source, told_of


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
    return Rows(rows, in_range(scores, used), ids, tally(rows, scores))


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
