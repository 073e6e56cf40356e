"""7. The limits: against one sort of the values, per request, and from the shell."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from harness import cpu_seconds, emit, interleaved, median_ratio, wall_seconds
from search_parts.data import timed

import argmetric as am

SORTS = {"f1": 1.5, "jaccard": 1.5, "mcc": 2.5, "kappa": 2.5}
SORTS |= {"gmean": 5.0, "hmean": 5.0, "qmean": 5.0}
REQUEST_US = 100.0
FIRST_S = 0.5
BASKETS_S = 2.0


def run(*, quick: bool) -> None:
    calls = 20 if quick else 30
    _requests(calls, "before")
    am.warmup()
    _requests(calls, "after")
    _sorts(*((60_000, 1) if quick else (1_000_000, 7)))
    _baskets(*((5_000, 1) if quick else (1_000_000, 3)))
    _shell(1 if quick else 10)


def _sorts(n: int, repeats: int) -> None:
    rng = np.random.default_rng(7)
    distributions = {
        "uniform": rng.random(n),
        "Beta(.1,2)": rng.beta(0.1, 2.0, n),
        "two decimals": rng.random(n).round(2),
    }
    for distribution, p in distributions.items():
        for metric, limit in SORTS.items():
            am.decide(p, metric)
            times = interleaved(
                {"sort": partial(np.sort, p), "decide": partial(am.decide, p, metric)},
                repeats,
            )
            emit(
                "limits",
                f"decide(p, {metric!r}) / np.sort(p), {distribution}, n = {n:,}",
                median_ratio(times["decide"], times["sort"]),
                "× one sort of the values, CPU time",
                ("<=", limit) if distribution != "two decimals" else None,
                decide_cpu_s=statistics.median(times["decide"]),
                sort_cpu_s=statistics.median(times["sort"]),
            )


def _requests(calls: int, when: str) -> None:
    """Calls on ten rows."""
    p = np.random.default_rng(8).random(10)

    def microseconds(call: Callable[[], Any], times: int) -> float:
        def many() -> None:
            for _ in range(times):
                call()

        call()
        # Many short repeats: some fall between what else the machine does
        return 1e6 * min(cpu_seconds(many) for _ in range(150)) / times

    for metric in ("f1", "mcc", "gmean", "accuracy"):
        emit(
            "limits",
            f"decide(p, {metric!r}) on 10 rows, {when} a kernel is loaded",
            microseconds(partial(am.decide, p, metric), calls),
            "microseconds of CPU, best of the repeats",
            ("<=", REQUEST_US) if metric == "f1" else None,
        )


def _baskets(count: int, repeats: int) -> None:
    rng = np.random.default_rng(9)
    ids = np.repeat(np.arange(count), 20)[rng.permutation(20 * count)]
    p = rng.beta(0.5, 3.0, ids.size)

    def call() -> am.Decision:
        return am.decide(p, "f1", groups=ids, average="groups", n_jobs=2)

    call()
    emit(
        "limits",
        f"{count:,} baskets of 20, shuffled integer ids, two threads",
        min(wall_seconds(call) for _ in range(repeats)),
        "s of wall clock, best of the repeats",
        ("<=", BASKETS_S),
        cpu_s=cpu_seconds(call),
        load_of_the_machine=os.getloadavg()[0],
    )


def _shell(repeats: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        scores, output = Path(folder, "scores.csv"), Path(folder, "out.csv")
        p = np.random.default_rng(6).beta(0.5, 2.0, 1_000)
        rows = (f"{i // 20},{x:.6f}" for i, x in enumerate(p))
        scores.write_text("basket,p\n" + "\n".join(rows) + "\n")
        # Installed packages are bytecode, whatever the settings of this environment
        compiled = {"PYTHONDONTWRITEBYTECODE": ""}
        compiled["PYTHONPYCACHEPREFIX"] = str(Path(folder, "bytecode"))
        line = [sys.executable, "-m", "argmetric.cli", "decide", str(scores)]
        line += ["-o", str(output)]
        how: dict[str, Any] = {"env": os.environ | compiled, "capture_output": True}
        run = partial(subprocess.run, line, check=True, **how)
        run()
        seconds = min(timed(run)[1] for _ in range(repeats))
        what, unit = "argmetric decide file.csv, 1,000 rows", "CPU s of a fresh process"
        emit("limits", what, seconds, unit, ("<=", FIRST_S))
