"""Measure decisions over files: rows a second, memory, growth, and what peers take.

    python benchmarks/scale.py                  # 10^6 rows
    python benchmarks/scale.py --rows 1e8       # 60 bytes of the disk for each
    python benchmarks/scale.py groups peers     # some of the sections
    python benchmarks/scale.py vector --rows 5e8

Rows lie in Parquet files of up to 10^6 rows, 20 to a group, groups all over the files.
Every run is a process of its own, whose CPU seconds and largest memory are those of the
system. The local engine decides a few rows first, so that what is loaded and compiled
before the first row is in its memory and not in its time; to Dask it counts in both.
Peers call `decide` once for each group, on a sample; their figures are for the rows of
the sample, and hold for all rows if time grows as rows do. Targets are meant for 10^6
rows or more: with fewer, what every run does once takes most of the time. One JSON
object a line.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import cpu_seconds, emit, emit_machine, emit_summary, judge

import argmetric as am
from argmetric import scale

SECTIONS = ("groups", "growth", "peers", "vector", "verbs", "train")
FILE_ROWS = 1_000_000
GROUP_ROWS = 20
SAMPLE = 40_000
MEMORY = "2GB"
IN_MEMORY = 10_000_000  # rows up to which a vector is decided in memory beside it
METRICS = (
    *("f1", "f2", "jaccard", "balanced_accuracy", "recall", "fm", "lift", "mcc"),
    *("kappa", "gmean", "hmean", "qmean", "accuracy", "precision", "sec"),
)
FEATURES = 20
PASSES = 5  # iterations of a search whose passes are timed
FEW = 1_000  # rows that are decided before a run is timed
RUN = """
import json, resource, sys, time
from argmetric.scale import Dask, Threads, open
folder, few, output, memory, engine, workers, metric, group = sys.argv[1:]
kind = Dask if engine == "dask" else Threads
asked = {"metric": metric, "output": output}
before = 0.0
if kind is Threads:
    open(few, group=group or None, memory=20_000).decide(**asked)  # in buckets
    before = time.process_time()
begun = time.perf_counter()
with kind(n_jobs=int(workers)) as executor:
    files = open(folder, group=group or None, memory=memory, executor=executor)
    found = files.decide(**asked)
seconds = time.perf_counter() - begun
used = [resource.getrusage(who) for who in
        (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(json.dumps({
    "rows": found.n,
    "expected": found.expected,
    "positives": found.n_positives,
    "plan": found.plan,
    "seconds": seconds,
    "cpu_seconds": sum(one.ru_utime + one.ru_stime for one in used) - before,
    "megabytes": max(one.ru_maxrss for one in used) / 1024,
}))
"""


def write_rows(folder: Path, rows: int) -> None:
    """Scores of shuffled groups, with a column that is only carried along."""
    folder.mkdir()
    for i, first in enumerate(range(0, rows, FILE_ROWS)):
        rng, size = np.random.default_rng(i), min(FILE_ROWS, rows - first)
        columns = {
            "user": rng.integers(0, max(rows // GROUP_ROWS, 1), size),
            "item": rng.integers(0, 50_000, size).astype(np.int32),
            "score": rng.beta(0.3, 2, size),
        }
        pq.write_table(pa.table(columns), folder / f"part-{i:05d}.parquet")


def run_on(
    folder: Path,
    engine: str,
    workers: int,
    metric: str = "f1",
    group: str = "user",
    memory: str = MEMORY,
) -> dict[str, Any]:
    """What one run took, in a process of its own."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        few, output = Path(place) / "few", Path(place) / "out"
        write_rows(few, FEW)
        words = [folder, few, output, memory, engine, workers, metric, group]
        done = subprocess.run(
            [sys.executable, "-c", RUN, *map(str, words)],
            check=True,
            capture_output=True,
            text=True,
        )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def groups(folder: Path, rows: int) -> None:
    """Both engines, beside one call in memory where that is possible."""
    write_rows(folder / "rows", rows)
    alone = run_on(folder / "rows", "local", 1)
    local = run_on(folder / "rows", "local", 2)
    dask = run_on(folder / "rows", "dask", 2)
    runs = {
        "local, 1 worker": alone,
        "local, 2 workers": local,
        "dask, 2 workers": dask,
    }
    for name, found in runs.items():
        emit(
            "groups",
            name,
            rows / found["seconds"],
            "rows/s",
            rows=rows,
            rows_a_cpu_second=rows / found["cpu_seconds"],
            megabytes=found["megabytes"],
            plan=found["plan"],
        )
    emit("groups", "largest memory", local["megabytes"], "MB", ("<=", 2000.0))
    gap = abs(local["expected"] - dask["expected"])
    emit("groups", "gap between engines", gap, "", ("<=", 1e-12))
    if rows > 20_000_000:
        return
    first = pq.read_table(folder / "rows").slice(0, 10_000)
    am.decide(first["score"], groups=first["user"], average="groups")  # compiles

    def in_memory() -> None:
        table = pq.read_table(folder / "rows", use_threads=False)
        p, ids = table["score"].to_numpy(), table["user"].to_numpy()
        decision = am.decide(p, groups=ids, average="groups")
        assert abs(decision.expected - local["expected"]) < 1e-12
        table = table.append_column("decision", pa.array(decision.labels))
        pq.write_table(table, folder / "decided.parquet")

    seconds = cpu_seconds(in_memory)
    emit("groups", "read, decided, written in memory", rows / seconds, "rows/CPU s")
    for name, found in (("1 worker", alone), ("2 workers", local)):
        emit(
            "groups",
            f"local, {name}, over in memory",
            seconds / found["cpu_seconds"],
            "ratio of rows a CPU second",
            (">=", 0.5),
        )


def growth(folder: Path, rows: int) -> None:
    """The same rate at a hundredth, a tenth and all of the rows.

    In memory that grows with the rows, so that there are as many buckets; then in all
    of it, where few rows are one bucket that is read at once.
    """
    rates = []
    for size in (rows // 100, rows // 10, rows):
        place = folder / f"growth-{size}"
        write_rows(place, size)
        for memory in (f"{20 * size // 1_000_000 + 1}MB", MEMORY):
            found = run_on(place, "local", 1, memory=memory)
            rate = size / found["cpu_seconds"]
            words = {"plan": found["plan"], "seconds": found["seconds"]}
            emit("growth", f"{size:,} rows in {memory}", rate, "rows/CPU s", **words)
            if memory != MEMORY:
                rates.append(rate)
    ratio = min(rates) / max(rates)
    emit("growth", "slowest over fastest", ratio, "ratio", (">=", 0.75))


def vector(folder: Path, rows: int) -> None:
    """One vector, larger than the memory that is granted; all metrics where it fits."""
    write_rows(folder / "rows", rows)
    small = rows <= IN_MEMORY
    # so little that the vector does not fit, however short it is
    memory = f"{rows * 60 // 1_000_000 + 1}MB" if small else MEMORY
    p = np.zeros(0)
    if small:
        p = pq.read_table(folder / "rows", columns=["score"])["score"].to_numpy()
    for metric in METRICS if small else ("f1", "jaccard"):
        found = run_on(folder / "rows", "local", 2, metric, "", memory)
        emit(
            "vector",
            f"{metric}, 2 workers",
            rows / found["seconds"],
            "rows/s",
            rows=rows,
            rows_a_cpu_second=rows / found["cpu_seconds"],
            megabytes=found["megabytes"],
            plan=found["plan"],
        )
        emit(
            "vector",
            f"{metric}, largest memory",
            found["megabytes"],
            "MB",
            ("<=", 2000.0),
        )
        if not small:
            continue
        wanted = am.decide(p, metric)
        apart = abs(wanted.n_positives - found["positives"])
        emit("vector", f"{metric}, labels that differ", apart, "", ("<=", 0))
        gap = abs(wanted.expected - found["expected"])
        emit("vector", f"{metric}, gap to memory", gap, "", ("<=", 1e-12))


def verbs(folder: Path, rows: int) -> None:
    """Rows a CPU second of the verbs that write nothing, one worker."""
    write_rows(folder / "rows", rows)
    for path in sorted((folder / "rows").iterdir()):
        table = pq.read_table(path)
        p = table["score"].to_numpy()
        label = (np.random.default_rng(0).random(p.size) < p).astype(np.int8)
        table = table.append_column("label", pa.array(label))
        chosen = pa.array((p > 0.3).astype(np.int8))
        pq.write_table(table.append_column("decision", chosen), path)
    calls: dict[str, Callable[[Path], Any]] = {
        "evaluate": lambda place: scale.open(place).evaluate(),
        "evaluate by group": lambda place: scale.open(place, group="user").evaluate(),
        "forecast": lambda place: scale.open(place).forecast(),
        "tune": lambda place: scale.open(place).tune(n_bootstrap=0, cv=None),
        "calibrate": lambda place: scale.open(place).calibrate(),
    }
    for name, call in calls.items():
        call(folder / "rows")  # compiles, and reads the files once
        rate = rows / cpu_seconds(lambda call=call: call(folder / "rows"))
        emit("verbs", name, rate, "rows a CPU second", rows=rows)


def train(folder: Path, rows: int) -> None:
    """Soft-F on files beside memory, and a pass beside one of LogisticRegression."""
    files = write_examples(folder, rows)
    some = files[: max(1, FILE_ROWS * len(files) // rows)]
    table = pq.read_table(some)
    *columns, y = (table[name].to_numpy() for name in table.column_names)
    X = np.ascontiguousarray(np.column_stack(columns))
    # Two searches of this length end in the same place to the last digits
    words: dict[str, Any] = {"n_restarts": 2, "random_state": 0, "tol": 1e-11}
    wanted = am.MetricLogisticRegression("f1", **words).fit(X, y)
    found = am.MetricLogisticRegression("f1", **words)
    seconds_of_passes(found, some, 2)
    gap = float(np.abs(wanted.coef_ - found.coef_).max())
    emit(
        "train",
        "gap of coefficients to memory",
        gap,
        "",
        ("<=", 1e-8),
        rows=y.size,
        iterations=int(found.n_iter_[0]),
    )
    del table, columns
    seconds = {}
    for workers in (1, 2):
        model = am.MetricLogisticRegression(
            "f1", n_restarts=1, random_state=0, max_iter=PASSES, tol=1e-12
        )
        passes = seconds_of_passes(model, files, workers)
        seconds[workers] = statistics.median(passes)
        emit(
            "train",
            f"a pass, {workers} worker{'s' * (workers > 1)}",
            seconds[workers],
            "s",
            rows=rows,
            rows_a_second=rows / seconds[workers],
            passes=len(passes),
        )
    ratio = seconds[1] / seconds[2]
    emit("train", "2 workers over 1", ratio, "ratio", (">=", 1.6))
    peer = y.size / seconds_of_logistic_regression(X, y)
    emit("train", "LogisticRegression in memory, a pass", peer, "rows/s", rows=y.size)
    ratio = peer * seconds[1] / rows
    emit("train", "a pass over one of LogisticRegression, row for row", ratio, "ratio")


def write_examples(folder: Path, rows: int) -> list[Path]:
    """Files of features and labels, several for each worker."""
    rng, size = np.random.default_rng(0), min(FILE_ROWS, -(-rows // 8))
    theta = rng.normal(size=FEATURES) / 3
    files = []
    for i, first in enumerate(range(0, rows, size)):
        X = rng.normal(size=(min(size, rows - first), FEATURES))
        y = rng.random(X.shape[0]) < 1 / (1 + np.exp(1.5 - X @ theta))
        columns = {f"x{j}": X[:, j] for j in range(FEATURES)} | {"label": y.astype(int)}
        files.append(folder / f"part-{i:05d}.parquet")
        pq.write_table(pa.table(columns), files[-1])
    return files


def seconds_of_passes(
    model: am.MetricLogisticRegression, files: list[Path], workers: int
) -> list[float]:
    """Fit on files; what each pass over all rows took, the wait for processes apart."""
    taken: list[float] = []
    begun = 0.0

    def watch(at: scale.Progress) -> None:
        nonlocal begun
        if at.stage == "train" and at.done == 0:
            begun = time.perf_counter()
        elif at.stage == "train" and at.done == at.rows:
            taken.append(time.perf_counter() - begun)

    with warnings.catch_warnings(), scale.Processes(workers) as executor:
        warnings.simplefilter("ignore")  # of a search that is cut short
        how = {"label": "label", "executor": executor, "progress": watch}
        scale.open(files, **how).fit(model)
    return taken


def seconds_of_logistic_regression(X: Any, y: Any) -> float:
    """What one value and gradient takes in it, by the median."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.linear_model._linear_loss import LinearModelLoss

    one_pass, taken = LinearModelLoss.loss_gradient, []

    def timed(*args: Any, **words: Any) -> Any:
        begun = time.perf_counter()
        answer = one_pass(*args, **words)
        taken.append(time.perf_counter() - begun)
        return answer

    with mock.patch.object(LinearModelLoss, "loss_gradient", timed):
        LogisticRegression(max_iter=100).fit(X, y)
    return statistics.median(taken)


def peers(folder: Path, rows: int) -> None:
    """One call of `decide` for each group, in the ways that libraries offer."""
    write_rows(folder / "rows", rows)
    mine = rows / run_on(folder / "rows", "local", 1)["cpu_seconds"]
    emit("peers", f"local, 1 worker, {rows:,} rows", mine, "rows a CPU second")
    size = min(rows, SAMPLE)
    write_rows(folder / "sample", size)
    for name, call in peer_calls(folder / "sample", folder / "out.parquet").items():
        rate = size / cpu_seconds(call)
        emit(
            "peers",
            f"argmetric over {name}",
            mine / rate,
            "ratio",
            (">=", 30.0),
            rows_a_cpu_second=rate,
            sample=size,
        )


def labels_of(p: Any) -> list[int]:
    found: list[int] = am.decide(np.asarray(p)).labels.tolist()
    return found


def peer_calls(rows: Path, output: Path) -> dict[str, Callable[[], Any]]:
    """Files read, decided group by group and written again, as ours are."""
    import duckdb
    import pandas as pd
    import polars as pl

    def by_pandas() -> None:
        frame = pd.read_parquet(rows)
        frame["decision"] = frame.groupby("user")["score"].transform(
            lambda p: pd.Series(labels_of(p), index=p.index)
        )
        frame.to_parquet(output)

    def by_polars() -> None:
        pl.read_parquet(rows).group_by("user").map_groups(
            lambda part: part.with_columns(
                pl.Series("decision", labels_of(part["score"]))
            )
        ).write_parquet(output)

    def by_duckdb() -> None:
        connection = duckdb.connect()
        connection.create_function("labels_of", labels_of, ["DOUBLE[]"], "BIGINT[]")
        connection.execute(
            "COPY (SELECT user, unnest(list(item)) AS item, unnest(list(score)) AS "
            "score, unnest(labels_of(list(score))) AS decision FROM "
            f"read_parquet('{rows}/*') GROUP BY user) TO '{output}' (FORMAT parquet)"
        )

    return {
        "pandas groupby-transform": by_pandas,
        "Polars map_groups": by_polars,
        "a function in DuckDB": by_duckdb,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], default=[])
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--folder", type=Path, help="where rows are written")
    given = parser.parse_args()
    rows = 20_000 if given.quick else int(given.rows)
    judge(not given.quick)
    emit_machine()
    calls = {
        "groups": groups,
        "growth": growth,
        "peers": peers,
        "vector": vector,
        "verbs": verbs,
        "train": train,
    }
    for section in given.sections or SECTIONS:
        with tempfile.TemporaryDirectory(dir=given.folder) as place:
            calls[section](Path(place), rows)
    emit_summary()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
