"""1. The whole curve of a long vector: time and memory."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tracemalloc

import numpy as np
from harness import emit, interleaved, median_ratio

import argmetric as am

RATIO_LIMITS = {
    "f1": 3,
    "f2": 3,
    "jaccard": 3,
    "balanced_accuracy": 3,
    "fowlkes_mallows": 3,
    "mcc": 12,
    "kappa": 12,
    "gmean": 15,
    "hmean": 15,
    "qmean": 15,
}
GROWTH_LIMIT = 13
MEMORY_LIMIT = 14


def run(*, quick: bool) -> None:
    n, repeats = (20_000, 1) if quick else (1_000_000, 3)
    rng = np.random.default_rng(1)
    laws = {"uniform": rng.random(n), "Beta(.1,2)": rng.beta(0.1, 2.0, n)}
    for metric in RATIO_LIMITS:  # compile before timing
        am.decide(laws["uniform"][:10_000], metric)
    for law, p in laws.items():
        for metric in RATIO_LIMITS:
            _time(law, p, metric, repeats)
    worst = max(
        (_peak_arrays(law, p, metric), law, metric)
        for law, p in laws.items()
        for metric in RATIO_LIMITS
    )
    _check_resident_memory(n, *worst[1:])


def _time(law: str, p: np.ndarray, metric: str, repeats: int) -> None:
    tenth = p[: p.size // 10].copy()
    times = interleaved(
        {
            "argsort": lambda: np.argsort(p),
            "decide": lambda: am.decide(p, metric),
            "argsort again": lambda: np.argsort(p),
            "decide a tenth": lambda: am.decide(tenth, metric),
        },
        repeats,
    )
    argsort = [
        (before + after) / 2
        for before, after in zip(times["argsort"], times["argsort again"], strict=True)
    ]
    emit(
        "curve",
        f"decide(p, {metric!r}) / argsort(p), {law}, n = {p.size:,}",
        median_ratio(times["decide"], argsort),
        "× argsort, CPU time",
        ("<=", RATIO_LIMITS[metric]),
        decide_cpu_s=statistics.median(times["decide"]),
        argsort_cpu_s=statistics.median(argsort),
    )
    emit(
        "curve",
        f"time(n) / time(n/10), {metric}, {law}, n = {p.size:,}",
        median_ratio(times["decide"], times["decide a tenth"]),
        "×, CPU time",
        ("<=", GROWTH_LIMIT),
        tenth_cpu_s=statistics.median(times["decide a tenth"]),
    )


def _peak_arrays(law: str, p: np.ndarray, metric: str) -> float:
    """Peak of what numpy and Python allocate, in arrays of n float64, without p."""
    tracemalloc.start()
    am.decide(p, metric)
    peak = tracemalloc.get_traced_memory()[1] / (8 * p.size)
    tracemalloc.stop()
    emit(
        "curve",
        f"peak memory of decide(p, {metric!r}), {law}, n = {p.size:,}, without p",
        peak,
        "arrays of n float64 (tracemalloc)",
        ("<=", MEMORY_LIMIT),
    )
    return peak


# Not ru_maxrss on Linux: a child inherits its parent's high-water mark there.
_CHILD = """
import json, pathlib, resource, sys
import numpy as np, argmetric as am

def peak_bytes():
    status = pathlib.Path("/proc/self/status")
    if status.exists():
        line = next(x for x in status.read_text().splitlines() if "VmHWM" in x)
        return 1024 * int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

n, law, metric = int(sys.argv[1]), sys.argv[2], sys.argv[3]
rng = np.random.default_rng(1)
p = rng.random(n) if law == "uniform" else rng.beta(.1, 2., n)
am.decide(p[: n // 10], metric)
before = peak_bytes()
am.decide(p, metric)
print(json.dumps((peak_bytes() - before) / (8 * n)))
"""


def _check_resident_memory(n: int, law: str, metric: str) -> None:
    """The same in resident memory, which also sees what compiled code allocates."""
    child = subprocess.run(
        [sys.executable, "-c", _CHILD, str(n), law, metric],
        check=True,
        capture_output=True,
        text=True,
    )
    emit(
        "curve",
        f"growth of resident memory, worst of the above ({metric}, {law}), n = {n:,}, "
        "over that of a call with n/10",
        json.loads(child.stdout),
        "arrays of n float64 (RSS of a fresh process)",
        ("<=", MEMORY_LIMIT),
    )
