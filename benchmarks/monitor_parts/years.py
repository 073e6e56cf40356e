"""Quiet years for references of 200, 1,000 and 4,000 rows, and scores that rise.

A year has 52 periods of 1,000 rows, drawn as for the section alarms. Each size of a
reference has 100 years, which go round the pools; a pool is left out where it has too
few rows, or where the reference has fewer than 5 positives. Then the scores of the same
pools rise by 1.2 log-odds from the 36th week on, and labels do not change: the forecast
gets better, and the score does not.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from harness import emit

from argmetric._ground.odds import expit, logit
from monitor_parts.alarms import (
    POSITIVES,
    WEEKS,
    N,
    first_alarm,
    reference_of,
    weeks_of,
)
from monitor_parts.cases import Pool, pools
from monitor_parts.measured import seeded

SIZES = (200, 1000, 4000)
YEARS, MOST_TURNS = 100, 30  # of every size of a reference; of every pool
RISE, FIRST_RISEN, RISEN_WEEKS = 1.2, 35, 4
FOUND_IN = 2  # weeks


def run(*, quick: bool, half: str, seed: int) -> None:
    every = list(pools(quick, half))
    risen: list[tuple[float, float]] = []
    for m in SIZES:
        alarms = _quiet(every, m, 1 if quick else YEARS, seed, 4 if quick else WEEKS)
        told = {"reference": m, "years": len(alarms)}
        goal = ("<=", 6)
        emit("years", "quiet years with an alarm", sum(alarms), "years", goal, **told)
        risen += _risen(every, m, seed)
    for low, high in POSITIVES:
        kept = [x for share, x in risen if low <= N * share < high and x >= 1]
        what = f"rises found in {FOUND_IN} weeks"
        told = {"positives a week from": low, "rises": len(kept)}
        emit("years", what, sum(x <= FOUND_IN for x in kept), "rises", **told)


def _quiet(some: list[Pool], m: int, years: int, seed: int, weeks: int) -> list[bool]:
    """Whether there is an alarm in each year, one after the other from all pools."""
    found: list[bool] = []
    for turn in range(MOST_TURNS):
        for pool in some:
            if len(found) == years:
                return found
            rng = seeded(seed, "years", pool.name, pool.model, m, turn)
            case = reference_of(rng, pool, m)
            if case is not None:
                known, other, cut = case
                p = pool.p[weeks_of(rng, pool, other, [pool.share] * weeks)]
                found.append(first_alarm(known, p, cut) is not None)
    return found


def _risen(some: list[Pool], m: int, seed: int) -> Iterator[tuple[float, float]]:
    """The prevalence of each pool, and after how many weeks the rise is found."""
    for pool in some:
        rng = seeded(seed, "risen", pool.name, pool.model, m, 0)
        case = reference_of(rng, pool, m)
        if case is None:
            continue
        known, other, cut = case
        weeks = FIRST_RISEN + RISEN_WEEKS
        p = pool.p[weeks_of(rng, pool, other, [pool.share] * weeks)]
        new = slice(FIRST_RISEN * N, None)
        p[new] = expit(logit(p[new]) + RISE)
        alarm = first_alarm(known, p, cut)
        delay = np.inf if alarm is None else alarm.week - FIRST_RISEN + 1
        yield pool.share, delay
