"""Measure decisions over files: rows a CPU second, memory, and what engines take.

    python benchmarks/scale.py                  # 10^6 rows
    python benchmarks/scale.py --rows 1e7       # 60 bytes of the disk for each
    python benchmarks/scale.py groups lazy      # some of the sections

Rows lie in Parquet files of up to 10^6 rows, 20 to a group, groups all over the files.
Every run is a process of its own, whose CPU seconds and largest memory are those of the
system; it decides a few rows first, so that what is loaded and compiled before the
first row is in its memory and not in its time. `engines` are given the threshold that
argmetric finds, and write the same files with a column more; `memory` runs verbs on
files that take more than the 500 MB that are granted; `lazy` decides tables of Polars
and DuckDB. One JSON object a line.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import cpu_seconds, emit, run_sections
from scale_parts.lazy import lazy

import argmetric as am

FILE_ROWS = 1_000_000
GROUP_ROWS = 20
MEMORY = "2GB"
LITTLE = 500_000_000  # bytes, the least that a run may be granted
IN_MEMORY = 10_000_000  # rows up to which all are decided in memory beside it
METRICS = ("f1", "jaccard", "mcc", "balanced_accuracy", "gmean")
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
before, begun = time.process_time(), time.perf_counter()
found = getattr(open(folder, **words), verb)(**calling)
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "expected": getattr(found, "expected", None),
    "n_positives": getattr(found, "n_positives", None),
    "threshold": getattr(found, "threshold", None),
    "plan": getattr(found, "plan", ""),
    "seconds": time.perf_counter() - begun,
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
    "DuckDB": """
import duckdb
duckdb.sql(f"SET threads=1")
duckdb.sql(f"COPY (SELECT *, (score >= {t})::BIGINT AS decision FROM "
           f"read_parquet('{folder}/*.parquet')) TO '{out}/all.parquet'")
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


def show(section: str, name: str, rows: int, found: dict[str, Any]) -> None:
    """Print the rows a CPU second of a run, its memory and its plan."""
    words = {"megabytes": found["megabytes"], "plan": found.get("plan", "1 pass")}
    rate = rows / found["cpu_seconds"]
    emit(section, name, rate, "rows/CPU s", rows=rows, **words)


def groups(folder: Path, rows: int) -> None:
    """Decide by group, beside one call in memory where that is possible."""
    place = write_rows(folder / "rows", rows)
    runs = {n: run_on(place, group="user", n_jobs=n) for n in (1, 2)}
    for n, found in runs.items():
        show("groups", f"{n} threads", rows, found)
        emit("groups", f"{n} threads, time", rows / found["seconds"], "rows/s")
    emit("groups", "largest memory", runs[2]["megabytes"], "MB", ("<=", 2000.0))
    if rows > IN_MEMORY:
        return
    first = pq.read_table(place).slice(0, 10_000)
    am.decide(first["score"], groups=first["user"], average="groups")  # compiles

    def in_memory() -> None:
        table = pq.read_table(place, use_threads=False)
        p, ids = table["score"].to_numpy(), table["user"].to_numpy()
        decision = am.decide(p, groups=ids, average="groups")
        assert abs(decision.expected - runs[1]["expected"]) < 1e-12
        table = table.append_column("decision", pa.array(decision.labels))
        pq.write_table(table, folder / "decided.parquet")

    ratio = cpu_seconds(in_memory) / runs[1]["cpu_seconds"]
    emit("groups", "over memory", ratio, "ratio of rows a CPU second", (">=", 0.5))


def vector(folder: Path, rows: int) -> None:
    """Decide one vector that is larger than the memory that is granted."""
    place = write_rows(folder / "rows", rows)
    for metric in METRICS:
        found = run_on(place, metric=metric, memory=LITTLE)
        show("vector", metric, rows, found)
        if rows <= IN_MEMORY:
            p = pq.read_table(place, columns=["score"])["score"].to_numpy()
            wanted = am.decide(p, metric)
            apart = abs(wanted.n_positives - found["n_positives"])
            emit("vector", f"{metric}, labels that differ", apart, "", ("<=", 0))
            gap = abs(wanted.expected - found["expected"])
            emit("vector", f"{metric}, gap to memory", gap, "", ("<=", 1e-12))


def engines(folder: Path, rows: int) -> None:
    """Decide one vector beside engines that are told its threshold."""
    place = write_rows(folder / "rows", rows)
    mine = run_on(place, memory=LITTLE)
    show("engines", "argmetric, vector", rows, mine)
    show("engines", "argmetric, groups", rows, run_on(place, group="user"))
    for name, code in ENGINES.items():
        if find_spec(name.lower()) is None:
            continue
        out = folder / name
        out.mkdir()
        program = AROUND.replace("{code}", code)
        found = measured(program, place, out, mine["threshold"])
        show("engines", name, rows, found)
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


def in_folder(section: Callable[[Path, int], None]) -> Callable[..., None]:
    """Return a section whose rows are written into a folder that goes with it."""

    def run(rows: float, folder: str, quick: bool) -> None:
        with tempfile.TemporaryDirectory(dir=folder or None) as place:
            section(Path(place), 20_000 if quick else int(rows))

    return run


if __name__ == "__main__":
    sections = {
        "groups": in_folder(groups),
        "vector": in_folder(vector),
        "engines": in_folder(engines),
        "memory": in_folder(memory),
        "lazy": in_folder(lazy),
    }
    sys.exit(run_sections(__doc__, sections, rows=1e6, folder=""))
