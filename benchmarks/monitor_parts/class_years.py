"""False alarms in quiet years of several classes.

Sets and models of the section classes, where there are rows enough. A year has 52
periods of 200 rows beside a reference of 1,000, none of them twice; years of one pool
share rows.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import numpy as np
from harness import Target, emit

from argmetric._monitor import critical_value, movements
from argmetric.classes import monitor
from monitor_parts.classes import ClassPool, M, Row, class_pools
from monitor_parts.measured import seeded

WEEK, WEEKS = 200, 52
YEARS = 12  # of each pool


def run(*, quick: bool, half: str | None, seed: int) -> None:
    years = [one for pool in class_pools(quick) for one in _years(pool, quick, seed)]
    goal: Target = ("<=", 0.1)
    for key in ("", "model", "set"):
        for name in dict.fromkeys(one.get(key, "all") for one in years):
            own = [one for one in years if one.get(key, "all") == name]
            for way in ("worse", "better", "any"):
                share = statistics.mean(way in one["alarm"] for one in own)
                told = {key or "of": name, "years": len(own)}
                aim = goal if not key and way == "any" else None
                what = f"false alarms a year, {way}"
                emit("class_years", what, share, "share", aim, **told)


def _years(pool: ClassPool, quick: bool, seed: int) -> Iterator[Row]:
    """Quiet years; no week is left out of the past, as all of them are fine."""
    weeks = 4 if quick else WEEKS
    size = M + WEEK * weeks
    for year in range(1 if quick else YEARS):
        rng = seeded(seed, "quiet years of classes", pool.name, pool.model, year)
        own = rng.permutation(pool.y.size)[:size]
        if own.size < size:
            return
        known, rest = own[:M], pool.P[own[M:]]
        begun = monitor(rest[:50], reference=(pool.y[known], pool.P[known]))
        watch, q = begun.watch, begun.watch.calibrator.apply(rest)
        tables = [
            watch.count(q[i : i + WEEK], rest[i : i + WEEK])[None, None]
            for i in range(0, len(q), WEEK)
        ]
        roots = [z for z, _ in movements(tables, *watch.cells[1:], None)]
        first = np.flatnonzero(np.abs(roots) > critical_value(WEEKS, 0.05))[:1]
        ways = ["worse" if roots[i] > 0.0 else "better" for i in first]
        yield pool.about | {"alarm": [*ways, "any"] if ways else []}
