"""Periods in which nothing happened, from more references than `coverage` has."""

from __future__ import annotations

from harness import emit

import argmetric as am
from monitor_parts.cases import pools
from monitor_parts.measured import FEWEST, PERIODS, seeded, tuned
from monitor_parts.shifts import QUIET, SHARES, draw_reference

REFERENCES, REPEATS = (1000, 4000), 3


def run(*, quick: bool, half: str, seed: int) -> None:
    moved: dict[bool, list[bool]] = {True: [], False: []}  # by whether n is small
    for pool in pools(quick, half):
        for repeat in range(1 if quick else REPEATS):
            rng = seeded(seed, "quiet", pool.name, pool.model, repeat)
            for_reference, for_periods = pool.halved(rng)
            for m in REFERENCES:
                known = draw_reference(rng, pool, for_reference, m, FEWEST)
                if known is None:
                    continue
                rule = tuned(*known)
                for n in PERIODS:
                    period = SHARES[QUIET](rng, pool, for_periods, n)
                    if period is not None:
                        found = am.monitor(pool.p[period], rule, reference=known)
                        verdict = found.periods[0].verdict
                        moved[n < 1000].append(verdict != "no shift")
    for few, part in moved.items():
        if part:
            told = {"n": "200" if few else "1,000 or more", "periods": len(part)}
            goal = ("<=", 0.05 if few else 0.02)
            emit("quiet", "moved", sum(part) / len(part), "share", goal, **told)
