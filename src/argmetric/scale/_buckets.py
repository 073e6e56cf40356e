"""Stages 2 and 3: decide whole buckets, and write files again with their decisions."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from argmetric._ground.types import Floats
from argmetric._ground.validation import Probabilities
from argmetric._ground.whole_files import replaced_whole
from argmetric._verbs.decide import NeverDefinedError, decide
from argmetric.metrics import Metric
from argmetric.scale._columns import UsedColumns, as_floats
from argmetric.scale._pieces import Bucket, Piece, PieceReader, read_row_numbers
from argmetric.scale._run import PieceTuple, Run, counted, n_rows, read_whole
from argmetric.scale._sources import InputFile, batches_of, is_arrow, naming, opened
from argmetric.scale._tasks import (
    Found,
    PieceTask,
    Tally,
    require_same,
    tally,
    temporary,
)
from argmetric.scale._vector import VectorCut, VectorFound
from argmetric.scale.files import DataError

MOST_ROWS = 1 << 20  # of a row group
LEAST_ROWS = 1 << 10
UNDECIDED = -1

# -- stage 2: one label a row, in the order of the pieces of a bucket ----------------


@dataclass(frozen=True)
class Decided:
    """Rows of a piece whose labels begin at a place of a file of labels."""

    piece: Piece
    labels: str
    start: int
    rows: int


def decide_buckets(
    run: Run,
    buckets: list[PieceTuple],
    metric: Metric,
    options: dict[str, Any],
    cuts: dict[int, VectorFound],
) -> tuple[list[Found], dict[int, tuple[Decided, ...]]]:
    """What was found, and where the labels of every file are.

    `cuts` are those of buckets, by number, that are larger than memory.
    """
    folder = run.places.made("labels")
    paths, tasks = [], []
    for b, pieces in enumerate(buckets):
        path = os.path.join(folder, f"bucket-{b:06d}")
        if b in cuts:
            known = partial(cut_bucket, found=cuts[b])
            decide_it = partial(known, columns=run.columns, path=path)
        else:
            asked = partial(decide_bucket, metric=metric, options=options)
            work = partial(asked, columns=run.columns, path=path)
            decide_it = partial(read_whole, columns=run.columns, work=work)
        tasks.append(PieceTask(decide_it, pieces, f"{path}.json", n_rows(pieces)))
        paths.append(path)
    results = run.all_rows("decide", tasks)
    decided: dict[int, list[Decided]] = {i: [] for i in run.sources}
    for task, path, found in zip(tasks, paths, results, strict=True):
        start = 0
        for piece, rows in zip(task.item, found["rows"], strict=True):
            decided[piece.file].append(Decided(piece, path, start, rows))
            start += rows
    return results, {i: tuple(parts) for i, parts in decided.items()}


def decide_bucket(
    bucket: Bucket,
    columns: UsedColumns,
    metric: Metric,
    options: dict[str, Any],
    path: str,
) -> Found:
    """Write the labels of a bucket; found: what it adds to the whole."""
    groups: dict[str, Any] = {}
    if columns.group is not None:
        groups = {"groups": bucket.groups(), "average": "groups"}
    # a bucket may be all 0 and 1, or never defined, where the whole is not
    try:
        decision = decide(
            Probabilities(bucket.values, columns.logits, scale_is_known=True),
            metric,
            logits=columns.logits,
            **groups,
            **options,
        )
    except NeverDefinedError as refused:
        decision = refused.decision
    write_labels(path, decision.labels.astype(np.int8))
    expected = decision.group_expected
    if expected is None:
        expected = np.array([decision.expected])
    return {
        "groups": expected.size,
        "positives": decision.n_positives,
        **defined_sum("expected", expected),
        "error": decision.error * expected.size,
        "half": decision.cut_half.expected * expected.size,
        "half_positives": decision.cut_half.n_positives,
        "likely": bool(bucket.values.max(initial=0.0) > 0.0),
        "threshold": decision.threshold,
        "notes": [] if groups else list(decision.notes),
    }


def cut_bucket(
    pieces: PieceTuple, columns: UsedColumns, found: VectorFound, path: str
) -> Found:
    """Write the labels of a group that is larger than memory and whose cut is known."""
    tallies, cut, positives = [], found.cut, 0
    with replaced_whole(path) as file:
        for piece in pieces:
            reader = PieceReader(piece, columns)
            for batch in reader:
                labels, cut = cut.labels(batch.values)
                positives += int(labels.sum())
                file.write(labels.tobytes())
            tallies.append(reader.read)
    known = found.found()
    if positives != known["positives"]:
        raise DataError(f"decide: {path}: {positives:,} rows are above the cut")
    return {**counted(pieces, tallies), **known}


def write_labels(path: str, labels: Any) -> None:
    """One byte a row."""
    with replaced_whole(path) as file:
        file.write(memoryview(labels))


def defined_sum(name: str, values: Floats) -> Found:
    """Sum of the values that are defined, and their number."""
    known = values[~np.isnan(values)]
    return {name: math.fsum(known), f"{name}_defined": known.size}


# -- stage 3: rows and columns of a file again, with the decisions at their end -------

Labelling = tuple[Decided, ...] | VectorCut


def append_decisions(run: Run, decided: Mapping[int, Labelling], column: str) -> int:
    """Write the files of the output; how many rows are positive."""
    known: dict[str, Any] = {"score": run.columns.score, "column": column}
    results = run.rewritten(
        "append",
        "appended",
        partial(append, **known),
        lambda file: {"decided": decided[file], "before": run.tallies[file]},
    )
    return sum(found["positives"] for found in results)


def append(
    piece: Piece,
    score: str,
    column: str,
    target: str,
    memory: int,
    decided: Labelling,
    before: Tally,
) -> Found:
    """Write one file of the output; found: its positives."""
    source = piece.source
    assert source is not None
    label = labeller(source, decided)
    rows = min(max(memory // (4 * source.row_bytes), LEAST_ROWS), MOST_ROWS)
    after, positives = Tally(), 0

    def labels(batch: Any) -> Any:
        nonlocal after, positives
        first = after.rows
        scores = as_floats(batch.column(score))
        part = label(scores).astype(np.int64)
        positives += int(part.sum())
        after += tally(np.arange(first, first + scores.size), scores)
        return pa.array(part)

    added = pa.field(column, pa.int64())
    with file_with_column(source, target, added, labels, rows) as on_disk:
        require_same("append", source.path, before, after)
        written = Tally(on_disk, before.checksum)
        require_same("append", source.path, before, written)
    return {"rows": after.rows, "positives": positives}


@contextlib.contextmanager
def file_with_column(
    source: InputFile, target: str, added: Any, labels: Callable[[Any], Any], rows: int
) -> Iterator[int]:
    """Write a file with one more column; it gets its name after the block.

    `labels` is given every batch of so many rows in order. The block is given the
    number of rows on the disk; where it raises, nothing is left.
    """
    made, writer = temporary(target), None
    try:
        for batch in batches_of(source, None, rows):
            schema = batch.schema.append(added)
            if writer is None:
                writer = _writer(made, schema, source)
            table = pa.Table.from_arrays([*batch.columns, labels(batch)], schema=schema)
            writer.write_table(table, row_group_size=MOST_ROWS)
        if writer is None:
            writer = _writer(made, _schema(source).append(added), source)
        writer.close()
        with naming(made), opened(made) as place:
            on_disk = int(pq.ParquetFile(place).metadata.num_rows)
        yield on_disk
        os.replace(made, target)
    except BaseException:
        if writer is not None:
            writer.close()
        if os.path.exists(made):
            os.unlink(made)
        raise


def labeller(
    source: InputFile, decided: Labelling
) -> Callable[[Floats], npt.NDArray[np.int8]]:
    """What gives the labels of the next rows, with their scores, whenever called."""
    if isinstance(decided, VectorCut):
        cut = decided

        def by_cut(scores: Floats) -> npt.NDArray[np.int8]:
            nonlocal cut
            labels, cut = cut.labels(scores)
            return labels

        return by_cut
    whole, first = labels_of(source, decided), 0

    def by_row(scores: Floats) -> npt.NDArray[np.int8]:
        nonlocal first
        first += scores.size
        return whole[first - scores.size : first]

    return by_row


def labels_of(source: InputFile, decided: tuple[Decided, ...]) -> npt.NDArray[np.int8]:
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


def _schema(source: InputFile) -> Any:
    if source.partition is not None:
        return source.partition.schema
    with naming(source.path), opened(source.path) as place:
        if is_arrow(source.path):
            with pa.ipc.open_file(place) as reader:
                return reader.schema
        return pq.read_schema(place)


def _writer(path: str, schema: Any, source: InputFile) -> Any:
    how: dict[str, Any] = {}
    if source.packing is not None:  # Arrow files become what Parquet files are
        compression, helped = source.packing
        how = {
            "compression": compression,
            "use_dictionary": [*helped, schema.names[-1]],
        }
    return pq.ParquetWriter(path, schema, **how)
