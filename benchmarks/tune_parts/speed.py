"""5a. What `tune` costs, as a multiple of the sort that it cannot do without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from harness import emit, interleaved

import argmetric as am

METRICS = ("f1", "mcc", "gmean")
TARGET = 4.0


def run(*, quick: bool) -> None:
    rng = np.random.default_rng(5)
    sizes = (1_000, 10_000) if quick else (10_000, 100_000, 1_000_000)
    repeats = 2 if quick else 7
    am.tune(*_rows(1_000, rng))  # compiles
    _growth(sizes, repeats, rng)
    _calls(sizes[-1], repeats, rng)


def _rows(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    p = rng.beta(0.5, 2.0, n)
    return (rng.random(n) < p).astype(np.int64), p


def _growth(sizes: tuple[int, ...], repeats: int, rng: np.random.Generator) -> None:
    """Time per row and doubling: O(n log n) would show a slow rise, no more."""
    rows = {n: _rows(n, rng) for n in sizes}
    calls = {str(n): lambda y=y, p=p: am.tune(y, p) for n, (y, p) in rows.items()}
    seconds = {name: min(t) for name, t in interleaved(calls, repeats).items()}
    for n in sizes:
        emit(
            "speed",
            f"tune(y, p), all defaults, n = {n:,}",
            1e9 * seconds[str(n)] / n,
            "ns of CPU per row",
            cpu_s=seconds[str(n)],
        )


def _calls(n: int, repeats: int, rng: np.random.Generator) -> None:
    y, p = _rows(n, rng)
    ties = p.round(3)
    weights = rng.exponential(size=n)
    many = list(METRICS)
    calls: dict[str, Callable[[], Any]] = {
        "argsort": lambda: np.argsort(p),
        "tune(y, p), all defaults": lambda: am.tune(y, p),
        **{
            f"tune(y, p, {metric!r})": lambda metric=metric: am.tune(y, p, metric)
            for metric in METRICS
        },
        **{
            f"tune(y, p, {metric!r}), threshold alone": lambda metric=metric: am.tune(
                y, p, metric, n_bootstrap=0, cv=None
            )
            for metric in METRICS
        },
    }
    others: dict[str, Callable[[], Any]] = {
        "tune(y, p), p rounded to 0.001": lambda: am.tune(y, ties),
        "tune(y, p, sample_weight=...)": lambda: am.tune(y, p, sample_weight=weights),
        f"tune(y, p, {many})": lambda: am.tune(y, p, many),
        "tune(None, p), no labels": lambda: am.tune(None, p),
    }
    seconds = {name: min(t) for name, t in interleaved(calls | others, repeats).items()}
    for name in (*calls, *others):
        if name != "argsort":
            emit(
                "speed",
                f"{name}, n = {n:,}",
                seconds[name] / seconds["argsort"],
                "x np.argsort(p), CPU",
                ("<=", TARGET) if name in calls else None,
                cpu_s=seconds[name],
                argsort_s=seconds["argsort"],
            )
