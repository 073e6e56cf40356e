"""References of 200 rows with few positives: what holds, and what is refused.

A reference has exactly so many positives, and its periods have the same share of them
in expectation: nothing happened, or the share doubled or halved. Where nothing happened
`forecast` on the same reference stands beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import emit

import argmetric as am
from monitor_parts.cases import pools
from monitor_parts.measured import by_half, emit_ends, seeded, tuned
from monitor_parts.shifts import by_share

M, N, REPEATS = 200, 1000, 3
POSITIVES = (1, 2, 3, 5, 8, 16, 40)
METHODS = ("auto", "prior", "none", "forecast")
FACTORS = {"quiet": 1.0, "share x 0.5": 0.5, "share x 2": 2.0}


def run(*, quick: bool, half: str | None, seed: int) -> None:
    rows: list[dict[str, Any]] = []
    for pool in pools(quick, half):
        for repeat in range(1 if quick else REPEATS):
            rng = seeded(seed, "small", pool.name, pool.model, repeat)
            halves = pool.halved(rng)
            for k in POSITIVES:
                rows += _of_reference(rng, pool, *halves, k)
    for of_half, of_rows in by_half(rows):
        for k in POSITIVES:
            kept = [row for row in of_rows if row["positives"] == k]
            about = {"positives": k, "half": of_half}
            refused = [row["refused"] for row in kept]
            if kept:
                share = sum(map(bool, refused)) / len(kept)
                why = sorted({one for one in refused if one})[:1]
                emit("small", "refused", share, "share", **about, why=why)
            for shift in FACTORS:
                part = [r for r in kept if r.get("shift") == shift and "auto" in r]
                if part:
                    told = {"shift": shift, **about}
                    emit_ends("small", part, METHODS, **told)
                    fine = sum(row["fine"] for row in part) / len(part)
                    emit("small", "verdict fine", fine, "share", **told)


def _of_reference(
    rng: np.random.Generator, pool: Any, half: np.ndarray, other: np.ndarray, k: int
) -> list[dict[str, Any]]:
    ones, zeros = (half[pool.y[half] == label] for label in (True, False))
    rows = np.r_[rng.choice(ones, k, False), rng.choice(zeros, M - k, False)]
    reference = pool.y[rows], pool.p[rows]
    drawn = {
        name: by_share(rng, pool.y[other], N, factor * k / M)
        for name, factor in FACTORS.items()
    }
    periods = {name: other[one] for name, one in drawn.items() if one is not None}
    about = {**pool.about, "positives": k, "refused": ""}
    if not periods:
        return []
    p = np.concatenate([pool.p[one] for one in periods.values()])
    try:
        rule = tuned(*reference)
        auto, none = (
            am.monitor(p, rule, reference=reference, every=N, shift=shift).periods
            for shift in ("auto", "none")
        )
    except ValueError as refusal:
        return [about | {"refused": str(refusal)}]
    found = []
    for (name, one), x, plain in zip(periods.items(), auto, none, strict=True):
        actual = am.evaluate(pool.y[one], rule.apply(pool.p[one]))
        beside = {}
        if name == "quiet":
            labels = rule.apply(pool.p[one])
            law = am.forecast(pool.p[one], labels, "f1", reference=reference)
            beside["forecast"] = (*law.interval, law.mean)
        found.append(
            about
            | beside
            | {
                "shift": name,
                "actual": float(actual),
                "auto": (*x.interval, x.mean),
                "prior": (*x.if_prevalence_shift_interval, x.if_prevalence_shift),
                "none": (*plain.interval, plain.mean),
                "fine": x.verdict == "no shift",
            }
        )
    return found
