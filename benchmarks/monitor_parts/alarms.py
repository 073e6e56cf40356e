"""False alarms of quiet years, and how soon a fall by label shift is found.

A year has 52 periods of 1,000 rows and a reference of 2,000. Weeks are drawn without
repetition from the half of the pool that the reference is not from; rows come again in
other weeks. A fall is looked for in weeks of 4,000 rows, too, and by two alarms that
nobody has in time: "true calibrator" knows P(y | score) from the whole pool, "all
labels" the prevalence.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from harness import Target, emit
from scipy.special import xlogy

import argmetric as am
from argmetric._monitor._bins import CANNOT_SAY, rows_of, weigh_readings
from argmetric._monitor._watch import WINDOWS, critical_value, movements
from monitor_parts.cases import Pool, pools
from monitor_parts.measured import FEWEST, Row, seeded, tuned
from monitor_parts.shifts import Labelled, by_share, draw_reference

M, N, WEEKS = 2000, 1000, 52
YEARS, FALL_YEARS = 5, 3  # of every pool
LONG_WEEK = 4000  # rows
POSITIVES = ((0, 20), (20, 100), (100, 10**9))  # of a usual week
FIRST_BAD, WATCHED = 8, 12  # the ninth week is the first bad one; weeks after it
FALLS = {"-10 points": 0.10, "-5 points": 0.05}
SEEN = ("scores", "true calibrator", "all labels")
FOUND: dict[tuple[str, int], Target] = {
    ("-10 points", 4): (">=", 0.9),
    ("-5 points", 12): (">=", 0.75),
}


def run(*, quick: bool, half: str, seed: int) -> None:
    quiet: list[bool] = []
    falls: list[Row] = []
    for pool in pools(quick, half):
        for year in range(1 if quick else YEARS):
            rng = seeded(seed, "alarms", pool.name, pool.model, year)
            case = reference_of(rng, pool, M)
            if case is None:
                continue
            known, other, cut = case
            weeks = weeks_of(rng, pool, other, [pool.share] * (4 if quick else WEEKS))
            quiet.append(first_alarm(known, pool.p[weeks], cut) is not None)
            if year < FALL_YEARS:
                falls += _falls(rng, pool, *case, N)
            if year < FALL_YEARS and other.size >= 4 * LONG_WEEK:
                falls += _falls(rng, pool, *case, LONG_WEEK)
    rate, told = sum(quiet) / len(quiet), {"stated": 0.05, "years": len(quiet)}
    emit("alarms", "false alarms a year", rate, "share", ("<=", 0.10), **told)
    for fall, seen in product(FALLS, SEEN):
        rows = [row for row in falls if row["fall"] == fall]
        of_rows = {f"{N:,} rows a week": [row for row in rows if row["n"] == N]}
        for low, high in POSITIVES:
            kept = [row for row in rows if low <= row["n"] * row["share"] < high]
            of_rows[f"{low} positives a week or more"] = kept
        for i, (which, kept) in enumerate(of_rows.items()):
            later = np.array([row[seen] for row in kept if row[seen] >= 1])
            for weeks in (4, 12) if later.size else ():
                goal = FOUND.get((fall, weeks)) if seen == "scores" and not i else None
                told = {"fall": fall, "seen": seen, "of": which, "falls": len(kept)}
                share = float((later <= weeks).mean())
                emit("alarms", f"found in {weeks} weeks", share, "share", goal, **told)


def reference_of(
    rng: np.random.Generator, pool: Pool, m: int
) -> tuple[Labelled, np.ndarray, float] | None:
    """A reference, rows for weeks, and the cut; None where there are too few rows."""
    half, other = pool.halved(rng)
    known = draw_reference(rng, pool, half, m, FEWEST)
    if known is None or other.size < 5 * N:
        return None
    return known, other, tuned(*known).threshold


def weeks_of(
    rng: np.random.Generator,
    pool: Pool,
    other: np.ndarray,
    shares: list[float],
    n: int = N,
) -> np.ndarray:
    found = [by_share(rng, pool, other, n, share) for share in shares]
    assert all(one is not None for one in found)
    return np.concatenate([one for one in found if one is not None])


class Alarm(NamedTuple):
    """The week of an alarm, from 0 on, and which way the score moved."""

    week: int
    way: str


def first_alarm(
    reference: Labelled,
    p: np.ndarray,
    cut: float,
    n: int = N,
    true: Any = None,
    ways: tuple[str, ...] = ("worse", "better"),
) -> Alarm | None:
    """The first alarm on movement, as `monitor` says it.

    Without the forecasts, which take most of its time; by another map, where one is
    given.
    """
    watch = am.monitor(p[:n], cut, reference=reference, every=n).watch
    probabilities = watch.own if true is None else true.apply(watch.bins.scores)
    weeks = np.arange(p.size) // n
    tables = watch.bins.count(p, p >= cut, None, weeks, int(weeks[-1]) + 1)
    critical = critical_value(watch.every.per_year, watch.false_alarms)
    readings = (
        weigh_readings(watch.old, rows_of(x), watch.probabilities.probabilities)
        for x in tables
    )
    known = np.array([one.verdict() != CANNOT_SAY for one in readings])
    how = watch.old, probabilities, watch.metric, 0
    for i, (z, _) in enumerate(movements(list(tables), *how, usual=known)):
        way = "worse" if z > 0 else "better"
        if abs(z) > critical and way in ways:
            return Alarm(i, way)
    return None


def _falls(
    rng: np.random.Generator,
    pool: Pool,
    known: Labelled,
    other: np.ndarray,
    cut: float,
    n: int,
) -> Iterator[Row]:
    before = pool.share
    true = am.calibrate(pool.y, pool.p)
    for fall, points in FALLS.items():
        after = fallen_share(pool.y[other], pool.p[other] >= cut, before, points)
        if after is None:
            continue
        shares = [before] * FIRST_BAD + [after] * WATCHED
        weeks = weeks_of(rng, pool, other, shares, n)
        how = known, pool.p[weeks], cut, n
        alarms = {
            "scores": first_alarm(*how, ways=("worse",)),
            "true calibrator": first_alarm(*how, true, ("worse",)),
            "all labels": labelled_alarm(known[0], pool.y[weeks], n),
        }
        delays = {
            seen: np.inf if alarm is None else alarm.week - FIRST_BAD + 1
            for seen, alarm in alarms.items()
        }
        yield {"fall": fall, "n": n, "share": before} | delays


def labelled_alarm(y0: np.ndarray, y: np.ndarray, n_rows: int = N) -> Alarm | None:
    """The first week whose true prevalence is too low: a bound for scores.

    The same windows and critical value, and the root of the likelihood ratio of two
    binomials.
    """
    counts = np.r_[y0.sum(), np.add.reduceat(y, np.arange(0, y.size, n_rows))].cumsum()
    rows = y0.size + n_rows * np.arange(counts.size)

    def level(k: np.ndarray, n: np.ndarray) -> Any:
        return xlogy(k, k / n) + xlogy(n - k, 1 - k / n)

    critical = critical_value(WEEKS, 0.05)
    for end in range(1, counts.size):
        starts = end - np.array([w for w in WINDOWS if w <= end])
        k, n = counts[end] - counts[starts], rows[end] - rows[starts]
        k0, n0 = counts[starts], rows[starts]
        gain = level(k, n) + level(k0, n0) - level(k + k0, n + n0)
        root = np.sign(k0 / n0 - k / n) * np.sqrt(2 * np.maximum(gain, 0))
        if root.max() > critical:
            return Alarm(end - 1, "worse")
    return None


def fallen_share(
    y: np.ndarray, labels: np.ndarray, share: float, points: float
) -> float | None:
    """The prevalence at which F1 of these labels is so many points lower.

    Hit rate and false positive rate stay as they are. None where F1 is too low.
    """
    hit, false = labels[y].mean(), labels[~y].mean()

    def f1(s: float) -> float:
        return float(2 * hit * s / (hit * s + false * (1 - s) + s))

    shares = np.geomspace(share / 100, share, 2000)
    values = np.array([f1(s) for s in shares])
    below = np.flatnonzero(values <= f1(share) - points)
    return float(shares[below[-1]]) if below.size else None
