"""The CPU time of a child process, and a file of scores for it."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np

N_ROWS = 1_000


def write_scores(path: Path) -> None:
    rng = np.random.default_rng(6)
    p = rng.beta(0.5, 2.0, N_ROWS)
    baskets = np.repeat(np.arange(N_ROWS // 20), 20)
    rows = (f"{b},{x:.6f}" for b, x in zip(baskets, p, strict=True))
    path.write_text("basket,p\n" + "\n".join(rows) + "\n")


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
