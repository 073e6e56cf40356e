"""A bucket is a list of pieces: rows of one file each, to be decided together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from argmetric._input.types import Floats, Integers
from argmetric.scale._columns import Used, arrow_type, scores_and_ids
from argmetric.scale._conservation import Tally, tally
from argmetric.scale._partition import Chunk
from argmetric.scale._sources import Source, told_of


@dataclass(frozen=True)
class Piece:
    """Rows of a file: some batches of its file of pieces, or all of the file itself.

    Attributes
    ----------
    file : int
        The number of the file.
    source : Source or None
        The file, where nothing was partitioned.
    pieces : str
        The file of pieces.
    batches : range
        Which of its batches, in the order of the rows.
    rows : int
        How many there are.
    """

    file: int
    source: Source | None = None
    pieces: str = ""
    batches: range = range(0)
    rows: int = 0

    @property
    def path(self) -> str:
        """A name for it in messages."""
        return self.pieces if self.source is None else self.source.path


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
        rows, scores, ids = _from_batches(piece)
    return Rows(rows, used.in_range(scores), ids, tally(rows, scores))


def batches_of_piece(piece: Piece, used: Used) -> Iterator[tuple[Integers, Floats]]:
    """Row numbers and scores as in the file, in its order and in little memory."""
    if piece.source is not None:
        alone = replace(used, group=None)
        for first, scores, _ in scores_and_ids(piece.source, alone):
            yield np.arange(first, first + scores.size), scores
        return
    for rows, scores, _ in chunks_of(piece):
        yield rows, scores


def chunks_of(piece: Piece) -> Iterator[Chunk]:
    """Row numbers, scores and ids of the batches of a piece."""
    import pyarrow as pa

    with told_of(piece.pieces), pa.OSFile(piece.pieces) as file:
        reader = pa.ipc.open_file(file)
        for i in piece.batches:
            rows, scores, ids = reader.get_batch(i).columns
            yield rows.to_numpy(), scores.to_numpy(), ids


def read_row_numbers(piece: Piece) -> Integers:
    """Row numbers alone, in the same order."""
    if piece.source is not None:
        return np.arange(piece.source.rows)
    import pyarrow as pa

    alone = pa.ipc.IpcReadOptions(included_fields=[0])
    with told_of(piece.pieces), pa.OSFile(piece.pieces) as file:
        reader = pa.ipc.open_file(file, options=alone)
        parts = [reader.get_batch(i).column(0).to_numpy() for i in piece.batches]
    return np.concatenate(parts)


def rows_and_scores(piece: Piece) -> tuple[Integers, Floats]:
    """Row numbers and scores as in the file, in its order, of a piece in batches."""
    rows, scores, _ = zip(*chunks_of(piece), strict=True)
    return np.concatenate(rows), np.concatenate(scores)


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


def _from_batches(piece: Piece) -> tuple[Integers, Floats, Any]:
    import pyarrow as pa

    rows, scores, ids = zip(*chunks_of(piece), strict=True)
    return np.concatenate(rows), np.concatenate(scores), pa.chunked_array(ids)
