"""Periods in which nothing happened, from more references than `coverage` has."""

from __future__ import annotations

from typing import Any

from harness import Target, emit

import argmetric as am
from monitor_parts.cases import pools
from monitor_parts.measured import (
    FEWEST,
    PERIODS,
    by_half,
    seeded,
    tuned,
)
from monitor_parts.shifts import QUIET, SHARES, drawn_reference

REFERENCES, REPEATS = (1000, 4000), 3


def run(*, quick: bool, half: str | None, seed: int) -> None:
    rows: list[dict[str, Any]] = []
    for pool in pools(quick, half):
        for repeat in range(1 if quick else REPEATS):
            rng = seeded(seed, "quiet", pool.name, pool.model, repeat)
            for_reference, for_periods = pool.halved(rng)
            for m in REFERENCES:
                chosen = drawn_reference(rng, pool.y, for_reference, m)
                if chosen is None or pool.y[chosen].sum() < FEWEST:
                    continue
                known = pool.y[chosen], pool.p[chosen]
                rule = tuned(*known)
                for n in PERIODS:
                    period = SHARES[QUIET](rng, pool, for_periods, n)
                    if period is None:
                        continue
                    p = pool.p[period]
                    one = am.monitor(p, rule, reference=known).periods[0]
                    moved = one.verdict != "no shift"
                    rows.append({**pool.about, "n": n, "moved": moved})
    for of_half, kept in by_half(rows):
        shown = of_half == "show"
        for few, part in (
            (True, [row for row in kept if row["n"] < 1000]),
            (False, [row for row in kept if row["n"] >= 1000]),
        ):
            if part:
                share = sum(row["moved"] for row in part) / len(part)
                goal: Target = ("<=", 0.05 if few else 0.02) if shown else None
                told = {"n": "200" if few else "1,000 or more", "half": of_half}
                emit("quiet", "moved", share, "share", goal, **told, periods=len(part))
