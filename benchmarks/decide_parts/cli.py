"""6. Fresh processes: CPU seconds of the command line, warm and for the first time."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from harness import emit

N_ROWS = 1_000
PYTHON_DECIDE = """
import sys, numpy as np, argmetric as am
data = np.genfromtxt(sys.argv[1], delimiter=",", names=True)
groups = {} if len(sys.argv) == 2 else dict(groups=data["basket"], average="groups")
print(am.decide(data["p"], "f1", **groups).expected)
"""


def run(*, quick: bool) -> None:
    repeats = 1 if quick else 3
    with tempfile.TemporaryDirectory() as folder:
        scores, output = Path(folder, "scores.csv"), Path(folder, "out.csv")
        write_scores(scores)
        commands = _commands(scores, output)
        _emit_import(repeats)
        for name, (command, how) in commands.items():
            cache = Path(folder, f"numba-cache-{name}")
            environment = {} if quick else {"NUMBA_CACHE_DIR": str(cache)}
            if not quick:
                first = child_cpu_seconds(command, environment)
                emit(
                    "cli",
                    f"first ever call, {how}, empty numba cache, {name}",
                    first,
                    "CPU s of a fresh process",
                    ("<=", 20.0),
                    compiled_files=len(list(cache.rglob("*.nbc"))),
                )
            warm = [child_cpu_seconds(command, environment) for _ in range(repeats)]
            emit(
                "cli",
                f"{how}, warm cache, {name}",
                statistics.median(warm),
                "CPU s of a fresh process",
                ("<=", 2.0) if name == "one vector" else None,
            )


def write_scores(path: Path) -> None:
    rng = np.random.default_rng(6)
    p = rng.beta(0.5, 2.0, N_ROWS)
    baskets = np.repeat(np.arange(N_ROWS // 20), 20)
    rows = (f"{b},{x:.6f}" for b, x in zip(baskets, p, strict=True))
    path.write_text("basket,p\n" + "\n".join(rows) + "\n")


def _commands(scores: Path, output: Path) -> dict[str, tuple[list[str], str]]:
    """The commands by name, by the command line or, while it does not run, by -c."""
    cli = [sys.executable, "-m", "argmetric.cli"]
    one = [*cli, "decide", str(scores), "-o", str(output)]
    grouped = [*one, "--group", "basket", "--average", "groups"]
    probe = subprocess.run(one, check=False, capture_output=True, text=True)
    if probe.returncode == 0:
        how = f"`argmetric decide` on {N_ROWS:,} rows of CSV"
        return {"one vector": (one, how), "groups of 20": (grouped, how)}
    how = f"python -c (`argmetric decide` fails) on {N_ROWS:,} rows of CSV"
    python = [sys.executable, "-c", PYTHON_DECIDE, str(scores)]
    return {"one vector": (python, how), "groups of 20": ([*python, "g"], how)}


def _emit_import(repeats: int) -> None:
    statements = ("import numpy", "import argmetric")
    times: dict[str, list[float]] = {statement: [] for statement in statements}
    for _ in range(repeats):
        for statement in statements:
            times[statement].append(
                child_cpu_seconds([sys.executable, "-c", statement], {})
            )
    emit(
        "cli",
        "import argmetric",
        statistics.median(times["import argmetric"]),
        "CPU s of a fresh process",
        import_numpy_cpu_s=statistics.median(times["import numpy"]),
    )


def child_cpu_seconds(command: list[str], environment: Mapping[str, str]) -> float:
    """User and system seconds of a child process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command,
        check=True,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
