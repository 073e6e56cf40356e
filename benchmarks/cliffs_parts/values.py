"""Functions of the user's own: how many values are asked for, and what is added."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

import argmetric as am
from cliffs_parts.cells import cpu_time
from cliffs_parts.verbs import _grouped, decide_call, own_metric

BLOCK = 1 << 15  # numbers at a time, as the function is called by `decide`
REPEATS = 5
# Rows, groups, expected positives; one group is a vector, which numpy alone sums up to
# 4,096 rows.
CALLS = (
    (100, 1, "10%"),
    (500, 1, "10%"),
    (5_000, 1, "10%"),
    (100_000, 1, "10"),
    (65, 150, "10%"),
    (100, 100, "10%"),
    (200, 50, "10%"),
    (1_000, 2, "10%"),
    (1_000, 10, "10%"),
    (10_000, 2, "10%"),
)


def run() -> None:
    for smooth in (False, True):
        for rows, count, positives in CALLS:
            line = measured(rows, count, positives, smooth=smooth)
            print(json.dumps(line), flush=True)


def measured(
    rows: int, count: int, positives: str, *, smooth: bool
) -> dict[str, object]:
    """Values per row, the cost of each, and times what the function alone costs."""
    asked = [0]

    def counted(tp: Any, k: Any, t: Any, n: Any) -> Any:
        asked[0] += np.size(tp)
        return own_metric(tp, k, t, n)

    layout = "one vector" if count == 1 else "groups sorted"

    def call_of(function: Any) -> Any:
        metric = am.CustomMetric(function, smooth=smooth)
        cell = _grouped("decide", decide_call, metric, rows, positives, layout)
        return cell.make(count)

    call_of(counted)()
    values = asked[0]
    call, alone = call_of(own_metric), function_alone(values, rows)
    call()
    spent = [(cpu_time(call), cpu_time(alone)) for _ in range(REPEATS)]
    whole, own = (min(times) for times in zip(*spent, strict=True))
    return {
        "section": "values",
        "metric": "custom, smooth" if smooth else "custom",
        "rows": rows,
        "groups": count,
        "positives": positives,
        "values_per_row": rounded(values / (rows * count)),
        "ns_per_value": rounded(1e9 * whole / values),
        "ns_of_the_function": rounded(1e9 * own / values),
        "times_function": rounded(whole / own),
    }


def function_alone(values: int, rows: int) -> Any:
    """A call of the function on as many numbers."""
    counts = np.random.default_rng(0).integers(1, rows, (4, min(values, BLOCK)))
    tp, k, t, n = counts.astype(np.float64)

    def call() -> None:
        for _ in range(max(1, values // BLOCK)):
            own_metric(tp, k, t, n)

    return call


def rounded(x: float) -> float:
    return float(f"{x:.3g}")
