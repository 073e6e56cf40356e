"""Lazy tables: CPU seconds beside the engine's own threshold-and-write, and passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from harness import cpu_seconds, emit, interleaved

import argmetric as am
from argmetric import scale

METRICS = ("f1", "jaccard", "mcc", "balanced_accuracy", "gmean", "kappa")
MOST = 1.5  # times what the engine takes to write a plain threshold
GROUP_ROWS = 20
REPEATS = 5


def engines(path: Path) -> dict[str, tuple[Any, Any, Any]]:
    """Return for each engine its lazy table, that with a plain cut, and a writer."""
    import duckdb

    relation = duckdb.connect().read_parquet(str(path))
    frame = pl.scan_parquet(path)
    cut = (pl.col("score") >= 0.5).cast(pl.Int8).alias("decision")
    plain = relation.project("*, (score >= 0.5)::TINYINT AS decision")
    return {
        "polars": (frame, frame.with_columns(cut), pl.LazyFrame.sink_parquet),
        "duckdb": (relation, plain, type(relation).write_parquet),
    }


def lazy(folder: Path, rows: int) -> None:
    """One vector and groups, decided and written by Polars and by DuckDB."""
    rng = np.random.default_rng(0)
    p, path, out = (
        rng.beta(0.5, 2, rows),
        folder / "rows.parquet",
        folder / "out.parquet",
    )
    users = rng.integers(0, max(rows // GROUP_ROWS, 1), rows)
    pq.write_table(pa.table({"score": p, "user": users}), path)
    for engine, (table, plain, write) in engines(path).items():
        data = scale.open(table)
        wanted = {metric: am.decide(p, metric) for metric in METRICS}
        for metric, memory in wanted.items():
            found = data.decide(metric)
            assert found.n_positives == memory.n_positives
            gap = abs(found.expected / memory.expected - 1.0)
            emit("lazy", f"{engine}, {metric}: gap to memory", gap, "", ("<=", 1e-12))
        passes = int(found.plan.split()[2])
        emit("lazy", f"{engine}: passes", passes, "", ("<=", 3))
        times = interleaved(
            {
                "alone": lambda t=plain, w=write: w(t, str(out)),
                "vector": lambda d=data, w=write: w(d.decide("f1").table, str(out)),
            },
            REPEATS,
        )
        alone, vector = min(times["alone"]), min(times["vector"])
        words = {"rows": rows, "cpu_seconds": vector, "threshold_cpu_seconds": alone}
        ratio = vector / alone
        emit("lazy", f"{engine}: vector", ratio, "x threshold", ("<=", MOST), **words)
        by_group = scale.open(table, group="user")
        seconds = cpu_seconds(
            lambda d=by_group, w=write: w(d.decide("f1").table, str(out))
        )
        emit("lazy", f"{engine}: groups", rows / seconds, "rows/CPU s", rows=rows)


if __name__ == "__main__":
    import sys
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        lazy(Path(place), int(float(sys.argv[1])))
