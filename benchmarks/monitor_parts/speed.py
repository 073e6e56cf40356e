"""10^7 rows in 52 periods, and a daily job: seconds and memory, in their own processes.

Periods are computed when they are asked for, so the clock runs until they are there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import emit

ROWS = 10_000_000
ROWS_A_DAY, DAYS = 100_000, 5
WORK = """
import json, resource, sys, time
import numpy as np
import argmetric as am

n, timed = int(sys.argv[1]), sys.argv[2] == "time"
rng = np.random.default_rng(0)
p = rng.beta(0.5, 5, n)
p0 = rng.beta(0.5, 5, 4000)
y0 = rng.random(4000) < p0
days = np.datetime64("2026-01-05") + (np.arange(n) * 364 // n).astype("m8[D]")
how = {"time": days, "every": "1w"} if timed else {"every": -(-n // 52)}
am.monitor(p[:100], 0.3, reference=(y0, p0)).periods  # compiles what is compiled
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
start, used = time.perf_counter(), time.process_time()
found = am.monitor(p, 0.3, reference=(y0, p0), **how).periods
print(json.dumps({
    "wall": time.perf_counter() - start,
    "cpu": time.process_time() - used,
    "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    "before": before,
    "periods": len(found),
}))
"""


def run(*, quick: bool) -> None:
    n = ROWS // 100 if quick else ROWS
    alone = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    for how in ("rows", "time"):
        command = [sys.executable, "-c", WORK, str(n), how]
        done = subprocess.run(
            command, check=True, capture_output=True, env=os.environ | alone
        )
        found = json.loads(done.stdout)
        told = {"rows": n, "periods": found["periods"], "every": how}
        emit("speed", "CPU time", found["cpu"], "s", ("<=", 30.0), **told)
        emit("speed", "wall time", found["wall"], "s", **told)
        most = {"with the data alone": found["before"], **told}
        emit("speed", "memory at most", found["memory"], "GiB", ("<=", 2.0), **most)
    daily(n * ROWS_A_DAY // ROWS)


def daily(n: int) -> None:
    """`argmetric monitor --append` once a day: the days after the first."""
    rng = np.random.default_rng(0)
    took = []
    with tempfile.TemporaryDirectory() as folder:

        def write(name: str, rows: int, day: int, *, labels: bool) -> str:
            p = rng.beta(0.5, 5, rows)
            second = np.datetime64("2026-01-05") + np.timedelta64(86400 * day, "s")
            times = second + np.sort(rng.integers(0, 86400, rows)).astype("m8[s]")
            columns = {"scored_at": times, "score": p}
            if labels:
                columns["y"] = (rng.random(rows) < p).astype(np.int64)
            pq.write_table(pa.table(columns), Path(folder) / name)
            return str(Path(folder) / name)

        reference = write("reference.parquet", 4000, -10, labels=True)
        for day in range(DAYS):
            command = [
                *(sys.executable, "-m", "argmetric", "monitor"),
                write(f"{day}.parquet", n, day, labels=False),
                *("--reference", reference, "--time", "scored_at", "--every", "day"),
                *("--append", str(Path(folder) / "state.json")),
            ]
            start = time.perf_counter()
            done = subprocess.run(command, check=False, capture_output=True)
            took.append(time.perf_counter() - start)
            if done.returncode not in (0, 3):  # 3: an alarm
                raise RuntimeError(done.stderr.decode())
    middle = float(np.median(took[1:]))
    emit("speed", "daily --append, wall time", middle, "s", ("<=", 2.0), rows=n)
