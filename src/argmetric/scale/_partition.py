"""Stage 1: the rows of a file by hash of their group, (row, group, score) and no more.

DuckDB writes the pieces, in memory that it is told; rows are never fetched from it.
"""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric.scale._columns import Used, arrow_type, scores_and_ids
from argmetric.scale._conservation import Tally, require_same, tally
from argmetric.scale._extras import load_extra
from argmetric.scale._folders import moved_folder, temporary
from argmetric.scale._sources import Source
from argmetric.scale._tasks import Found

LEAST_MEMORY = 96 << 20  # of DuckDB, with which it can write pieces


@dataclass(frozen=True)
class PartitionTask:
    """A file, and where its pieces go."""

    source: Source
    used: Used
    folder: str
    buckets: int
    memory: int


def partition(task: PartitionTask) -> Found:
    """Write the pieces of one file; found: its rows, in all and in each bucket."""
    counted = Tally()
    refused: list[Exception] = []

    def batches() -> Iterator[Any]:
        import pyarrow as pa

        nonlocal counted
        try:
            for first, scores, ids in scores_and_ids(task.source, task.used):
                rows = np.arange(first, first + scores.size)
                counted += tally(rows, scores)
                yield pa.record_batch([rows, ids, scores], schema=schema)
        except Exception as error:  # it would come back as an error of DuckDB
            refused.append(error)
            raise

    schema = piece_schema(task.used)
    made = temporary(task.folder)
    os.mkdir(made)
    try:
        with duck(task.memory, made) as connection:
            import pyarrow as pa

            reader = pa.RecordBatchReader.from_batches(schema, batches())
            connection.register("incoming", reader)
            bucket = f"(hash(id) % {task.buckets})::BIGINT AS bucket"
            rows = f"SELECT row, id, score, {bucket} FROM incoming"
            write_pieces(connection, rows, made)
    except Exception:
        shutil.rmtree(made, ignore_errors=True)
        if refused:
            raise refused[0] from None
        raise
    sizes = [piece_rows(pieces_in(made, b)) for b in range(task.buckets)]
    after = Tally(sum(sizes), counted.checksum)  # scores are held to it when read
    require_same("partition", task.source.path, counted, after)
    moved_folder(made, task.folder)
    return {"rows": counted.rows, "checksum": counted.checksum, "buckets": sizes}


def piece_schema(used: Used) -> Any:
    import pyarrow as pa

    return pa.schema(
        [("row", pa.int64()), ("id", arrow_type(used.kind)), ("score", pa.float64())]
    )


@contextlib.contextmanager
def duck(memory: int, folder: str) -> Iterator[Any]:
    """A DuckDB of its own for one task, which spills into a folder."""
    duckdb = load_extra("duckdb", "scale")
    spill = os.path.join(folder, "spill")
    connection = duckdb.connect(
        ":memory:",
        config={
            "threads": 1,  # tasks run side by side
            "memory_limit": f"{max(memory, LEAST_MEMORY) >> 20}MiB",
            "preserve_insertion_order": "false",
            "temp_directory": spill,
        },
    )
    try:
        yield connection
    finally:
        connection.close()
        shutil.rmtree(spill, ignore_errors=True)


def write_pieces(connection: Any, rows: str, folder: str) -> None:
    """Write rows to a folder for each bucket; a bucket is never NULL."""
    connection.execute(
        f"COPY ({rows}) TO {quoted(folder)} (FORMAT parquet, PARTITION_BY (bucket), "
        "COMPRESSION 'uncompressed', DICTIONARY_SIZE_LIMIT 1, OVERWRITE_OR_IGNORE true)"
    )


def quoted(text: str) -> str:
    """A text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"


def pieces_in(folder: str, bucket: int) -> list[str]:
    """Files of one bucket."""
    place = os.path.join(glob.escape(folder), f"bucket={bucket}", "*.parquet")
    return sorted(glob.glob(place))


def piece_rows(paths: list[str]) -> int:
    """How many rows files have, by their ends."""
    import pyarrow.parquet as pq

    return sum(int(pq.read_metadata(path).num_rows) for path in paths)
