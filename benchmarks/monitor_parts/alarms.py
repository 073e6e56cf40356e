"""False alarms of quiet years, and how soon a fall by label shift is found.

A year has 52 periods of 1,000 rows and a reference of 2,000. Weeks are drawn without
repetition from the half of the pool that the reference is not from; rows come again in
other weeks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from harness import Target, emit

import argmetric as am
from argmetric._monitor._alarms import critical_value, movements
from monitor_parts.cases import Pool, pools
from monitor_parts.measured import by_half, seeded, tuned
from monitor_parts.shifts import by_share, drawn_reference

M, N, WEEKS = 2000, 1000, 52
YEARS = 5  # of every pool
FIRST_BAD, WATCHED = 8, 12  # the ninth week is the first bad one; weeks after it
FALLS = {"-10 points": 0.10, "-5 points": 0.05}
FOUND: dict[tuple[str, int], Target] = {
    ("-10 points", 4): (">=", 0.9),
    ("-5 points", 12): (">=", 0.75),
}


def run(*, quick: bool, half: str | None, seed: int) -> None:
    quiet: list[dict[str, Any]] = []
    falls: list[dict[str, Any]] = []
    for pool in pools(quick, half):
        for year in range(1 if quick else YEARS):
            rng = seeded(seed, "alarms", pool.name, pool.model, year)
            case = _reference(rng, pool)
            if case is None:
                continue
            chosen, other, cut = case
            share = float(pool.y.mean())
            weeks = _weeks(rng, pool, other, [share] * (4 if quick else WEEKS))
            quiet.append(
                pool.about
                | {"alarm": first_alarm(_known(pool, chosen), pool.p[weeks], cut)}
            )
            if year < 2:
                falls += _falls(rng, pool, chosen, other, cut)
    for of_half, rows in by_half(quiet):
        shown = of_half == "show"
        rate = sum(row["alarm"] is not None for row in rows) / len(rows)
        goal: Target = ("<=", 0.10) if shown else None
        told = {"stated": 0.05, "years": len(rows), "half": of_half}
        emit("alarms", "false alarms a year", rate, "share", goal, **told)
    for of_half, rows in by_half(falls):
        shown = of_half == "show"
        for fall in FALLS:
            delays = [row["delay"] for row in rows if row["fall"] == fall]
            if not delays:
                continue
            told = {"fall": fall, "falls": len(delays), "half": of_half}
            early = sum(one < 1 for one in delays)
            later = np.array([one for one in delays if one >= 1])
            emit("alarms", "alarm before the fall", early, "falls", **told)
            emit("alarms", "median delay", np.median(later), "weeks", **told)
            for weeks in (1, 4, 12):
                goal = FOUND.get((fall, weeks)) if shown else None
                value = float((later <= weeks).mean())
                emit("alarms", f"found in {weeks} weeks", value, "share", goal, **told)


def _reference(
    rng: np.random.Generator, pool: Pool
) -> tuple[np.ndarray, np.ndarray, float] | None:
    half, other = pool.halved(rng)
    chosen = drawn_reference(rng, pool.y, half, M)
    if chosen is None or other.size < 5 * N or pool.y[chosen].sum() < 5:
        return None
    return chosen, other, tuned(pool.y[chosen], pool.p[chosen]).threshold


def _known(pool: Pool, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return pool.y[chosen], pool.p[chosen]


def _weeks(
    rng: np.random.Generator, pool: Pool, other: np.ndarray, shares: list[float]
) -> np.ndarray:
    found = [by_share(rng, pool.y[other], N, share) for share in shares]
    assert all(one is not None for one in found)
    return np.concatenate([other[one] for one in found if one is not None])


def first_alarm(
    reference: tuple[np.ndarray, np.ndarray], p: np.ndarray, cut: float
) -> int | None:
    """The first week with an alarm on movement, from 0 on; as `monitor` says it.

    Without the forecasts, which take most of its time.
    """
    watch = am.monitor(p[:N], cut, reference=reference, every=N).watch
    weeks = np.arange(p.size) // N
    tables = watch.cells.count(p, p >= cut, None, weeks, int(weeks[-1]) + 1)
    critical = critical_value(watch.every.per_year, watch.false_alarms)
    found = movements(list(tables), watch.old, watch.own, watch.metric)
    return next((i for i, (z, _) in enumerate(found) if z > critical), None)


def _falls(
    rng: np.random.Generator,
    pool: Pool,
    chosen: np.ndarray,
    other: np.ndarray,
    cut: float,
) -> Iterator[dict[str, Any]]:
    before = float(pool.y.mean())
    for fall, points in FALLS.items():
        after = fallen_share(pool.y[other], pool.p[other] >= cut, before, points)
        if after is None:
            continue
        weeks = _weeks(rng, pool, other, [before] * FIRST_BAD + [after] * WATCHED)
        alarm = first_alarm(_known(pool, chosen), pool.p[weeks], cut)
        delay = np.inf if alarm is None else alarm - FIRST_BAD + 1
        yield pool.about | {"fall": fall, "delay": delay}


def fallen_share(
    y: np.ndarray, labels: np.ndarray, share: float, points: float
) -> float | None:
    """The share of positives at which F1 of these labels is so many points lower.

    Hit rate and false positive rate stay as they are. None where F1 is too low.
    """
    hit, false = labels[y].mean(), labels[~y].mean()

    def f1(s: float) -> float:
        return float(2 * hit * s / (hit * s + false * (1 - s) + s))

    shares = np.geomspace(share / 100, share, 2000)
    values = np.array([f1(s) for s in shares])
    below = np.flatnonzero(values <= f1(share) - points)
    return float(shares[below[-1]]) if below.size else None
