"""False alarms in quiet years of several classes.

Sets and models of the section classes, where there are rows enough. A year has 52
periods of 200 rows beside a reference of 1,000, none of them twice; years of one pool
share rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from harness import emit

from argmetric._monitor import critical_value, movements
from argmetric.classes import monitor
from monitor_parts.classes import ClassPool, M, class_pools
from monitor_parts.measured import seeded

WEEK, WEEKS = 200, 52
YEARS = 12  # of each pool


def run(*, quick: bool, seed: int) -> None:
    years = [one for pool in class_pools(quick) for one in _years(pool, quick, seed)]
    share, told = sum(years) / len(years), {"years": len(years)}
    emit("class_years", "false alarms a year", share, "share", ("<=", 0.1), **told)


def _years(pool: ClassPool, quick: bool, seed: int) -> Iterator[bool]:
    """Whether quiet years have an alarm; no week is left out of the past."""
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
        roots = [z for z, _ in movements(tables, *watch.bins[1:], None)]
        yield bool((np.abs(roots) > critical_value(WEEKS, 0.05)).any())
