"""Measure decisions over files: rows a CPU second, memory, and what engines take.

    python benchmarks/scale.py                  # 10^6 rows
    python benchmarks/scale.py --rows 1e7       # 60 bytes of the disk for each
    python benchmarks/scale.py engines lazy     # some of the sections

Rows lie in Parquet files of up to 10^6 rows, 20 to a group, groups all over the files.
Every run is a process of its own, whose CPU seconds and largest memory are those of the
system; it decides a few rows first, so that what is loaded and compiled before the
first row is in its memory and not in its time. `engines` are given the threshold that
argmetric finds, and write the same files with a column more; `memory` runs verbs on
files that take more than the 500 MB that are granted; `lazy` decides tables of Polars
and DuckDB, beside their own threshold-and-write. One JSON object a line.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import emit, interleaved, run_sections

import argmetric as am

FILE_ROWS = 1_000_000
GROUP_ROWS = 20
MEMORY = "2GB"
LITTLE = 500_000_000  # bytes, the least that a run may be granted
MOST, REPEATS = 1.5, 5  # times what an engine takes to write a plain threshold
FEW = 1_000  # rows that are worked on before a run is timed
RUN = """
import json, os, resource, sys, time
import argmetric as am
from argmetric.scale import _memory, open
folder, few, how = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
verb, words, calling = how["verb"], how["open"], how["call"]
if how["rule"]:
    calling["rule"] = am.Rule.load(how["rule"])
least, _memory.LEAST_MEMORY = _memory.LEAST_MEMORY, 1
few_bytes = 20_000 if verb == "decide" else 10**9  # in buckets
getattr(open(few, **{**words, "memory": few_bytes}), verb)(**calling)
_memory.LEAST_MEMORY = least
before = time.process_time()
found = getattr(open(folder, **words), verb)(**calling)
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "threshold": getattr(found, "threshold", None),
    "plan": getattr(found, "plan", ""),
    "cpu_seconds": time.process_time() - before,
    "megabytes": used.ru_maxrss / 1024,
}))
"""
ENGINES = {
    "Polars": """
import polars as pl
lazy = pl.scan_parquet(f"{folder}/*.parquet")
lazy.with_columns((pl.col("score") >= t).cast(pl.Int64).alias("decision")).sink_parquet(
    f"{out}/all.parquet")
""",
    "pyarrow": """
import os, pyarrow as pa, pyarrow.compute as pc, pyarrow.parquet as pq
for name in os.listdir(folder):
    file, writer = pq.ParquetFile(f"{folder}/{name}"), None
    for batch in file.iter_batches(1 << 17, use_threads=False):
        label = pc.greater_equal(batch.column("score"), t).cast(pa.int64())
        batch = batch.append_column("decision", label)
        writer = writer or pq.ParquetWriter(f"{out}/{name}", batch.schema)
        writer.write_batch(batch)
    writer.close()
""",
}
AROUND = """
import json, resource, sys, time
import polars, pyarrow.parquet
before = time.process_time()
folder, out, t = sys.argv[1], sys.argv[2], float(sys.argv[3])
{code}
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps(dict(cpu_seconds=time.process_time() - before,
                      megabytes=used.ru_maxrss / 1024)))
"""


def write_rows(folder: Path, rows: int, *, judged: bool = False) -> Path:
    """Write scores of shuffled groups, with a column that is only carried along."""
    folder.mkdir()
    for i, first in enumerate(range(0, rows, FILE_ROWS)):
        rng, size = np.random.default_rng(i), min(FILE_ROWS, rows - first)
        p = rng.beta(0.3, 2, size)
        columns = {
            "user": rng.integers(0, max(rows // GROUP_ROWS, 1), size),
            "item": rng.integers(0, 50_000, size).astype(np.int32),
            "score": p,
        }
        if judged:
            columns |= {"label": (rng.random(size) < p) * 1, "pred": (p > 0.3) * 1}
        pq.write_table(pa.table(columns), folder / f"part-{i:05d}.parquet")
    return folder


def converted(folder: Path, end: str) -> Path:
    """Write Parquet files again as another format, in a folder beside them."""
    import polars as pl

    if end == "parquet":
        return folder
    other = folder.with_name(f"{folder.name}-{end}")
    other.mkdir()
    for path in sorted(folder.iterdir()):
        name = {"jsonl": "ndjson", "arrow": "ipc"}.get(end, end)
        write = getattr(pl.read_parquet(path), f"write_{name}")
        write(other / f"{path.stem}.{end}")
    return other


def measured(program: str, *words: Any) -> dict[str, Any]:
    """Return what a program prints as JSON, run in a process of its own."""
    command = [sys.executable, "-c", program, *map(str, words)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def run_on(folder: Path, verb: str = "decide", **words: Any) -> dict[str, Any]:
    """Return what one run took: `rule` is a file, `metric` for the verb."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        few, rule = Path(place) / "few", words.pop("rule", None)
        write_rows(few, FEW, judged=verb != "decide")
        call: dict[str, Any] = {}
        if verb == "decide":
            call["output"] = str(Path(place) / "out")
        if "metric" in words:
            call["metric"] = words.pop("metric")
        how = {"verb": verb, "rule": rule, "call": call}
        how["open"] = {"memory": MEMORY, "n_jobs": 1} | words
        return measured(RUN, folder, few, json.dumps(how))


def show(name: str, rows: int, found: dict[str, Any]) -> None:
    """Print the rows a CPU second of a run, its memory and its plan."""
    words = {"megabytes": found["megabytes"], "plan": found.get("plan", "1 pass")}
    rate = rows / found["cpu_seconds"]
    emit("engines", name, rate, "rows/CPU s", rows=rows, **words)


def engines(folder: Path, rows: int) -> None:
    """Decide one vector beside engines that are told its threshold."""
    place = write_rows(folder / "rows", rows)
    mine = run_on(place, memory=LITTLE)
    show("argmetric, vector", rows, mine)
    show("argmetric, groups", rows, run_on(place, group="user"))
    for name, code in ENGINES.items():
        out = folder / name
        out.mkdir()
        program = AROUND.replace("{code}", code)
        found = measured(program, place, out, mine["threshold"])
        show(name, rows, found)
        ratio = mine["cpu_seconds"] / found["cpu_seconds"]
        emit("engines", f"vector over {name}", ratio, "ratio", ("<=", 1.5))


def memory(folder: Path, rows: int) -> None:
    """Run verbs on every format, with and without a rule, in little memory."""
    place = write_rows(folder / "rows", rows, judged=True)
    some = pq.read_table(place).slice(0, 100_000)
    rule = str(folder / "rule.json")
    am.tune(some["label"], some["score"], n_bootstrap=0).save(rule)
    verbs = {
        "decide": {},
        "decide, groups": {"group": "user"},
        "decide, rule": {"rule": rule},
        "evaluate": {"group": "user"},
        "forecast": {"group": "user"},
        "tune": {},
        "calibrate": {},
    }
    for end in ("parquet", "arrow", "csv", "jsonl"):
        files = converted(place, end)
        for name, how in verbs.items():
            found = run_on(files, name.partition(",")[0], memory=LITTLE, **how)
            size, limit = found["megabytes"], ("<=", LITTLE / 1e6)
            emit("memory", f"{end}, {name}", size, "MB", limit, rows=rows)


def lazy_tables(path: Path) -> dict[str, tuple[Any, Any, Any]]:
    """Return for each engine its lazy table, that with a plain cut, and a writer."""
    import duckdb
    import polars as pl

    relation = duckdb.connect().read_parquet(str(path))
    frame = pl.scan_parquet(path)
    cut = (pl.col("score") >= 0.5).cast(pl.Int8).alias("decision")
    plain = relation.project("*, (score >= 0.5)::TINYINT AS decision")
    return {
        "polars": (frame, frame.with_columns(cut), pl.LazyFrame.sink_parquet),
        "duckdb": (relation, plain, type(relation).write_parquet),
    }


def lazy(folder: Path, rows: int) -> None:
    """One vector, decided and written by Polars and by DuckDB."""
    path, out = folder / "rows.parquet", str(folder / "out.parquet")
    p = np.random.default_rng(0).beta(0.5, 2, rows)
    pq.write_table(pa.table({"score": p}), path)
    for engine, (table, plain, write) in lazy_tables(path).items():
        data = am.scale.open(table)
        passes = int(data.decide("f1").plan.split()[2])
        emit("lazy", f"{engine}: passes", passes, "", ("<=", 3))
        times = interleaved(
            {
                "alone": lambda t=plain, w=write: w(t, out),
                "vector": lambda d=data, w=write: w(d.decide("f1").table, out),
            },
            REPEATS,
        )
        alone, vector = min(times["alone"]), min(times["vector"])
        words = {"rows": rows, "cpu_seconds": vector, "threshold_cpu_seconds": alone}
        ratio = vector / alone
        emit("lazy", f"{engine}: vector", ratio, "x threshold", ("<=", MOST), **words)


def in_folder(section: Callable[[Path, int], None]) -> Callable[..., None]:
    """Return a section whose rows are written into a folder that goes with it."""

    def run(rows: float, folder: str, quick: bool) -> None:
        with tempfile.TemporaryDirectory(dir=folder or None) as place:
            section(Path(place), 20_000 if quick else int(rows))

    return run


if __name__ == "__main__":
    sections = {
        "engines": in_folder(engines),
        "memory": in_folder(memory),
        "lazy": in_folder(lazy),
    }
    sys.exit(run_sections(__doc__, sections, rows=1e6, folder=""))
