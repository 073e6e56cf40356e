"""5a. What `tune` costs, as a multiple of the sort that it cannot do without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from harness import emit, interleaved

import argmetric as am

TARGET = 4.0


def run(*, quick: bool) -> None:
    rng = np.random.default_rng(5)
    repeats = 2 if quick else 7
    am.tune(*_rows(1_000, rng))  # compiles
    _calls(10_000 if quick else 1_000_000, repeats, rng)


def _rows(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    p = rng.beta(0.5, 2.0, n)
    return (rng.random(n) < p).astype(np.int64), p


def _calls(n: int, repeats: int, rng: np.random.Generator) -> None:
    y, p = _rows(n, rng)
    calls: dict[str, Callable[[], Any]] = {
        "argsort": lambda: np.argsort(p),
        "tune(y, p), all defaults": lambda: am.tune(y, p),
        "tune(y, p), threshold alone": lambda: am.tune(y, p, n_bootstrap=0, cv=None),
    }
    seconds = {name: min(t) for name, t in interleaved(calls, repeats).items()}
    for name in calls:
        if name != "argsort":
            emit(
                "speed",
                f"{name}, n = {n:,}",
                seconds[name] / seconds["argsort"],
                "x np.argsort(p), CPU",
                ("<=", TARGET),
                cpu_s=seconds[name],
                argsort_s=seconds["argsort"],
            )
