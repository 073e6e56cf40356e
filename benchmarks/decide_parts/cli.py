"""The CPU time of a child process, and a file of scores for it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
from search_parts.data import timed

N_ROWS = 1_000


def write_scores(path: Path) -> None:
    rng = np.random.default_rng(6)
    p = rng.beta(0.5, 2.0, N_ROWS)
    baskets = np.repeat(np.arange(N_ROWS // 20), 20)
    rows = (f"{b},{x:.6f}" for b, x in zip(baskets, p, strict=True))
    path.write_text("basket,p\n" + "\n".join(rows) + "\n")


def child_cpu_seconds(command: list[str], environment: Mapping[str, str]) -> float:
    """User and system seconds of a child process."""
    env = {**os.environ, **environment}
    run = partial(subprocess.run, command, check=True, env=env, capture_output=True)
    return timed(run)[1]
