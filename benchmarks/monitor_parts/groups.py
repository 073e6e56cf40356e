"""Means of F1 over groups: how often they lie below and above the interval.

Groups are drawn at random, or hold neighbours by a feature: their rows are then alike
in more than the score.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import Target

import argmetric as am
from monitor_parts.cases import Pool, pools
from monitor_parts.measured import (
    FEWEST,
    by_half,
    concatenated,
    emit_ends,
    seeded,
    tuned,
)
from monitor_parts.shifts import QUIET, SHARES, drawn_reference, kind_of

NONE = "none"  # F1 of all rows together, for comparison
M, N = 1000, 1000
REPEATS = 5  # references of a pool; but for the first, for quiet periods alone
FEATURE = 2  # any feature, of `FEATURES`
GROUPS = {"5 at random": (5, False), "50 at random": (50, False)} | {
    "5 by a feature": (5, True),
    "50 by a feature": (50, True),
}


def grouped(pool: Pool, rows: np.ndarray, size: int, *, alike: bool) -> np.ndarray:
    """Number of the group of each row."""
    if not alike:
        return np.arange(rows.size) // size
    order = np.argsort(pool.sides[FEATURE][rows], kind="stable")
    found = np.empty(rows.size, dtype=np.int64)
    found[order] = np.arange(rows.size) // size
    return found


def run(*, quick: bool, half: str | None, seed: int) -> None:
    rows: list[dict[str, Any]] = []
    repeats = range(1 if quick else REPEATS)
    for pool, repeat in ((x, i) for x in pools(quick, half) for i in repeats):
        rng = seeded(seed, "groups", pool.name, pool.model, repeat)
        for_reference, for_periods = pool.halved(rng)
        chosen = drawn_reference(rng, pool.y, for_reference, M)
        if chosen is None or pool.y[chosen].sum() < FEWEST:
            continue
        reference = pool.y[chosen], pool.p[chosen]
        cut = tuned(*reference).threshold
        draws = {QUIET: SHARES[QUIET]} if repeat else SHARES
        names, periods = concatenated(rng, pool, for_periods, N, draws)
        p = np.concatenate([pool.p[one] for one in periods])
        for kind, (size, alike) in GROUPS.items():
            groups = [grouped(pool, one, size, alike=alike) for one in periods]
            known = {"reference": reference, "groups": np.concatenate(groups)}
            found = am.monitor(p, cut, every=N, **known).periods
            for name, one, g, x in zip(names, periods, groups, found, strict=True):
                y, labels = pool.y[one], pool.p[one] >= cut
                row = {**pool.about, "groups": kind, "kind": kind_of(name)}
                row["actual"] = am.evaluate(y, labels, groups=g, average="groups")
                row["auto"] = (*x.interval, x.mean)
                rows.append(row)
        plain = am.monitor(p, cut, reference=reference, every=N).periods
        for name, one, x in zip(names, periods, plain, strict=True):
            row = {**pool.about, "groups": NONE, "kind": kind_of(name)}
            row["actual"] = am.evaluate(pool.y[one], pool.p[one] >= cut)
            rows.append(row | {"auto": (*x.interval, x.mean)})
    for of_half, kept in by_half(rows):
        for kind in ("quiet", "label shift"):
            all_ = [row for row in kept if row["kind"] == kind]
            part = [row for row in all_ if row["groups"] != NONE]
            goal: Target = ("within", 0.85, 0.95) if kind == "quiet" else None
            goal = goal if of_half == "show" else None
            about = {"shift": kind, "half": of_half}
            emit_ends("groups", part, ("auto",), lambda _, x=goal: x, **about)
            for groups in (*GROUPS, NONE):
                few = [row for row in all_ if row["groups"] == groups]
                emit_ends("groups", few, ("auto",), **about, groups=groups)
