"""Quiet years for references of 200, 1,000 and 4,000 rows, and scores that rise.

A year has 52 periods of 1,000 rows, drawn as for the section alarms. Each size of a
reference has 100 years, which go round the pools; a pool is left out where it has too
few rows, or where the reference has fewer than 5 positives. Then the scores of the same
pools rise by 1.2 log-odds from the 36th week on, and labels do not change: the forecast
gets better, and the score does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from harness import Target, emit

from argmetric._ground.odds import expit, logit
from monitor_parts.alarms import POSITIVES, WEEKS, N, first_alarm, weeks_of
from monitor_parts.cases import Pool, pools
from monitor_parts.measured import by_half, seeded, tuned
from monitor_parts.shifts import drawn_reference

SIZES = (200, 1000, 4000)
YEARS, MOST_TURNS = 100, 30  # of every size of a reference and half; of every pool
FEWEST = 5  # positives of a reference
RISE, FIRST_RISEN = 1.2, 35
RISEN_WEEKS = 4
RISES = 1  # of every pool and size


def run(*, quick: bool, half: str | None, seed: int) -> None:
    every = list(pools(quick, half))
    halves = {of: [x for x in every if x.half == of] for of in ("choose", "show")}
    quiet: list[dict[str, Any]] = []
    risen: list[dict[str, Any]] = []
    for some in filter(None, halves.values()):
        for m in SIZES:
            quiet += _quiet(some, m, 1 if quick else YEARS, seed, 4 if quick else WEEKS)
            risen += _risen(some, m, 1 if quick else RISES, seed)
    for of_half, rows in by_half(quiet):
        for m in SIZES:
            kept = [row for row in rows if row["m"] == m]
            goal: Target = ("<=", 6) if of_half == "show" else None
            told = {"reference": m, "years": len(kept), "half": of_half}
            for way in ("worse", "better"):
                count = sum(row["alarm"] == way for row in kept)
                emit("years", f"first alarm for the {way}", count, "years", **told)
            alarms = sum(row["alarm"] is not None for row in kept)
            emit("years", "quiet years with an alarm", alarms, "years", goal, **told)
    for of_half, rows in by_half(risen):
        for m, (low, high) in product(SIZES, POSITIVES):
            kept = [row for row in rows if row["m"] == m]
            kept = [row for row in kept if low <= N * row["share"] < high]
            delays = np.array([row["delay"] for row in kept])
            later = delays[delays >= 1]
            told = {"reference": m, "positives a week from": low, "half": of_half}
            for weeks in (1, 2, 4):
                share = float((later <= weeks).mean()) if later.size else np.nan
                about = {**told, "rises": later.size}
                emit("years", f"rise found in {weeks} weeks", share, "share", **about)


def _quiet(
    some: list[Pool], m: int, years: int, seed: int, weeks: int
) -> list[dict[str, Any]]:
    """So many years, one after the other from all pools."""
    found: list[dict[str, Any]] = []
    for turn in range(MOST_TURNS):
        for pool in some:
            if len(found) == years:
                return found
            rng = seeded(seed, "years", pool.name, pool.model, m, turn)
            case = _reference(rng, pool, m)
            if case is not None:
                known, other, cut = case
                p = pool.p[weeks_of(rng, pool, other, [_share(pool)] * weeks)]
                alarm = first_alarm(known, p, cut)
                way = None if alarm is None else alarm.way
                found.append(pool.about | {"m": m, "alarm": way})
    return found


def _risen(some: list[Pool], m: int, turns: int, seed: int) -> Iterator[dict[str, Any]]:
    for pool in some:
        for turn in range(turns):
            rng = seeded(seed, "risen", pool.name, pool.model, m, turn)
            case = _reference(rng, pool, m)
            if case is None:
                continue
            known, other, cut = case
            weeks = FIRST_RISEN + RISEN_WEEKS
            p = pool.p[weeks_of(rng, pool, other, [_share(pool)] * weeks)]
            new = slice(FIRST_RISEN * N, None)
            p[new] = expit(logit(p[new]) + RISE)
            alarm = first_alarm(known, p, cut)
            delay = np.inf if alarm is None else alarm.week - FIRST_RISEN + 1
            yield pool.about | {"m": m, "share": _share(pool), "delay": delay}


def _share(pool: Pool) -> float:
    return float(pool.y.mean())


def _reference(
    rng: np.random.Generator, pool: Pool, m: int
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray, float] | None:
    half, other = pool.halved(rng)
    if half.size < m or other.size < 5 * N:
        return None
    chosen = drawn_reference(rng, pool.y, half, m)
    if chosen is None or pool.y[chosen].sum() < FEWEST:
        return None
    y, p = pool.y[chosen], pool.p[chosen]
    return (y, p), other, tuned(y, p).threshold
