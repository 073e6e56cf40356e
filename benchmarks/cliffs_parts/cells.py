"""One cell of the table: its data, its cost per row and its memory."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import cpu_seconds

SMALLEST_CALL = 10_000  # rows that a call is reckoned for at least
TIMED_ROWS = 200_000


@dataclass(frozen=True)
class Cell:
    """What is measured: `make(n_groups)` gives a call on so many groups.

    Attributes
    ----------
    rows : int
        Of one group; of the whole where there are no groups.
    positives : str
        Expected positives of one group, as a number or a share.
    grows : bool
        Whether there can be more than one group.
    """

    verb: str
    metric: str
    rows: int
    positives: str
    layout: str
    make: Callable[[int], Callable[[], Any]]
    grows: bool = True


@dataclass(frozen=True)
class Measured:
    cell: Cell
    ns_per_row: float
    timed_rows: int


def measure(cell: Cell, budget: float) -> Measured:
    """Cost per row of as many groups as fit the budget of CPU seconds."""
    gc.collect()
    count = max(1, min(2_000, TIMED_ROWS) // cell.rows) if cell.grows else 1
    call = cell.make(count)
    call()  # compiled, loaded, cached
    spent = max(cpu_seconds(call), 1e-7)
    most = max(1, TIMED_ROWS // cell.rows) if cell.grows else 1
    while count < most and spent < budget / 4:
        count = min(most, count * int(max(2.0, min(16.0, budget / 2 / spent))))
        call = cell.make(count)
        spent = max(cpu_seconds(call), 1e-7)
    if spent < 10 * budget:  # more groups may have loaded a kernel
        spent = min(spent, cpu_seconds(call))
    rows = count * cell.rows
    return Measured(cell, 1e9 * spent / max(rows, SMALLEST_CALL), rows)


def peak(call: Callable[[], Any]) -> float:
    tracemalloc.start()
    try:
        call()
        return float(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


def probabilities(
    rows: int, count: int, positives: str, rng: np.random.Generator
) -> np.ndarray:
    """Scores of `count` groups whose expected positives are as asked, about.

    Log-odds are normal with deviation 2; a constant is added until the mean is met.
    """
    share = float(positives[:-1]) / 100 if positives.endswith("%") else None
    mean = share if share is not None else min(float(positives) / rows, 0.9)
    logits = 2.0 * rng.standard_normal(rows * count)
    sample = 2.0 * np.random.default_rng(1).standard_normal(10_000)
    low, high = -60.0, 60.0
    for _ in range(60):
        middle = (low + high) / 2
        found = float((1 / (1 + np.exp(-(sample + middle)))).mean())
        low, high = (middle, high) if found < mean else (low, middle)
    return np.asarray(1 / (1 + np.exp(-(logits + low))))


def group_ids(rows: int, count: int, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Ids of the rows: sorted, or shuffled as small, as wide integers or as text."""
    ids = np.repeat(np.arange(count), rows)
    if kind == "sorted":
        return ids
    ids = ids[rng.permutation(ids.size)]
    if kind == "shuffled int":
        return ids
    wide = rng.integers(0, 2**62, count)
    if kind == "shuffled 64-bit":
        return wide[ids]
    assert kind == "shuffled text"
    return np.array([f"order-{x:x}" for x in wide])[ids]
