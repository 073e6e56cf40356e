"""Stage 3: the same rows and columns again, with the decisions at their end."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._files import DataError
from argmetric._input.types import Floats
from argmetric.scale._columns import as_floats
from argmetric.scale._conservation import Tally, require_same, tally
from argmetric.scale._folders import temporary
from argmetric.scale._pieces import Piece, read_row_numbers
from argmetric.scale._sources import Source, batches_of, is_arrow, opened, told_of
from argmetric.scale._tasks import Found
from argmetric.scale._vector import VectorCut

MOST_ROWS = 1 << 20  # of a row group
LEAST_ROWS = 1 << 10
UNDECIDED = -1


@dataclass(frozen=True)
class Decided:
    """Rows of a piece whose labels begin at a place of a file of labels."""

    piece: Piece
    labels: str
    start: int
    rows: int


@dataclass(frozen=True)
class AppendTask:
    """A file, what was decided of its rows, or how they are cut, and where it goes."""

    source: Source
    score: str
    column: str
    decided: tuple[Decided, ...] | VectorCut
    before: Tally
    target: str
    memory: int


def append(task: AppendTask) -> Found:
    """Write one file of the output; found: its positives."""
    import pyarrow as pa

    label = labeller(task)
    made = temporary(task.target)
    rows = task.memory // (4 * task.source.row_bytes)
    rows = min(max(rows, LEAST_ROWS), MOST_ROWS)
    after, positives, writer = Tally(), 0, None
    try:
        for batch in batches_of(task.source, None, rows):
            first = after.rows
            scores = as_floats(batch.column(task.score))
            part = label(scores).astype(np.int64)
            positives += int(part.sum())
            after += tally(np.arange(first, first + scores.size), scores)
            columns = [*batch.columns, pa.array(part)]
            schema = batch.schema.append(pa.field(task.column, pa.int64()))
            if writer is None:
                writer = _writer(made, schema, task.source)
            table = pa.Table.from_arrays(columns, schema=schema)
            writer.write_table(table, row_group_size=MOST_ROWS)
        if writer is None:
            schema = _schema(task.source)
            schema = schema.append(pa.field(task.column, pa.int64()))
            writer = _writer(made, schema, task.source)
        writer.close()
        require_same("append", task.source.path, task.before, after)
        _require_rows(made, task)
        os.replace(made, task.target)
    except BaseException:
        if writer is not None:
            writer.close()
        if os.path.exists(made):
            os.unlink(made)
        raise
    return {"rows": after.rows, "positives": positives}


def labeller(task: AppendTask) -> Callable[[Floats], npt.NDArray[np.int8]]:
    """What gives the labels of the next rows, with their scores, whenever called."""
    decided = task.decided
    if isinstance(decided, VectorCut):
        cut = decided

        def by_cut(scores: Floats) -> npt.NDArray[np.int8]:
            nonlocal cut
            labels, cut = cut.labels(scores)
            return labels

        return by_cut
    whole, first = labels_of(task.source, decided), 0

    def by_row(scores: Floats) -> npt.NDArray[np.int8]:
        nonlocal first
        first += scores.size
        return whole[first - scores.size : first]

    return by_row


def labels_of(source: Source, decided: tuple[Decided, ...]) -> npt.NDArray[np.int8]:
    """Labels of all rows of a file, gathered from the buckets."""
    labels = np.full(source.rows, UNDECIDED, dtype=np.int8)
    for one in decided:
        with open(one.labels, "rb") as file:
            file.seek(one.start)
            found = np.frombuffer(file.read(one.rows), np.int8)
        rows = read_row_numbers(one.piece)
        if not found.size == rows.size == one.rows:
            raise DataError(
                f"append: {one.labels} has {found.size:,} labels for {rows.size:,} "
                f"rows of {source.path}"
            )
        labels[rows] = found
    left = int((labels == UNDECIDED).sum())
    if left:
        raise DataError(f"append: {left:,} rows of {source.path} have no decision")
    return labels


def _schema(source: Source) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if source.partition is not None:
        return source.partition.schema
    with told_of(source.path), opened(source.path) as place:
        if is_arrow(source.path):
            with pa.ipc.open_file(place) as reader:
                return reader.schema
        return pq.read_schema(place)


def _writer(path: str, schema: Any, source: Source) -> Any:
    import pyarrow.parquet as pq

    how: dict[str, Any] = {}
    if source.packing is not None:  # Arrow files become what Parquet files are
        compression, helped = source.packing
        how = {
            "compression": compression,
            "use_dictionary": [*helped, schema.names[-1]],
        }
    return pq.ParquetWriter(path, schema, **how)


def _require_rows(path: str, task: AppendTask) -> None:
    """Hold what lies on the disk to what went in."""
    import pyarrow.parquet as pq

    with told_of(path), opened(path) as place:
        rows = int(pq.ParquetFile(place).metadata.num_rows)
    written = Tally(rows, task.before.checksum)
    require_same("append", task.source.path, task.before, written)
