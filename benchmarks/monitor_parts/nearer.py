"""One period with 50 labels of `to_label`: nearer to the score than the forecast?

References of 500 rows, periods of 1,000: quiet, other prevalences, other rows, and
labels that changed their meaning; six kinds of models.
"""

from __future__ import annotations

import numpy as np
from harness import Target, emit

import argmetric as am
from monitor_parts.cases import ALL_MODELS, HALVES_OF_KINDS, Pool, pools
from monitor_parts.measured import (
    CHANGED,
    Row,
    by_half,
    changed_labels,
    emit_ends,
    seeded,
    tuned,
)
from monitor_parts.shifts import QUIET, SHARES, SIDES, drawn_reference

M, N, LABELS, FEWEST = 500, 1000, 50, 8
DRAWS = {
    **{name: SHARES[name] for name in (QUIET, "share x 0.5", "share x 2")},
    "score feature 3:1": SIDES["score feature 3:1"],
    CHANGED: SHARES[QUIET],
}
METHODS = ("to_label", "no labels")


def run(*, quick: bool, half: str | None, seed: int) -> None:
    rows: list[Row] = []
    for pool in pools(quick, half, HALVES_OF_KINDS, ALL_MODELS):
        rows += _of_pool(pool, seed)
    for of_half, kept in by_half(rows):
        target: Target = ("<=", 1.0) if of_half == "show" else None
        _emit(kept, target, half=of_half)
        for name in DRAWS:
            _emit([x for x in kept if x["shift"] == name], half=of_half, shift=name)
        for model in ALL_MODELS:
            _emit([x for x in kept if x["model"] == model], half=of_half, model=model)


def _emit(rows: list[Row], target: Target = None, **about: str) -> None:
    if not rows:
        return
    emit_ends("nearer", rows, METHODS, labels=LABELS, **about)
    mine, other = (
        np.sqrt(np.mean([(row[one][2] - row["actual"]) ** 2 for row in rows]))
        for one in METHODS
    )
    told = {"to_label": float(mine), "no labels": float(other), **about}
    emit("nearer", "RMSE over that without labels", mine / other, "", target, **told)


def _of_pool(pool: Pool, seed: int) -> list[Row]:
    rng = seeded(seed, "nearer", pool.name, pool.model)
    for_reference, for_periods = pool.halved(rng)
    chosen = drawn_reference(rng, pool.y, for_reference, M)
    if chosen is None or pool.y[chosen].sum() < FEWEST:
        return []
    reference = pool.y[chosen], pool.p[chosen]
    try:
        am.calibrate(*reference)
    except ValueError:  # scores rank backwards
        return []
    rule, rows = tuned(*reference), []
    for case, draw in DRAWS.items():
        period = draw(rng, pool, for_periods, N)
        if period is None:
            continue
        y, p = pool.y[period], pool.p[period]
        if case == CHANGED:
            y = changed_labels(rng, y, pool.sides[0][period])
        found = am.monitor(p, rule, reference=reference)
        plan = found.to_label(LABELS, random_state=int(rng.integers(1 << 30)))
        mine, last = plan.estimate(y[plan.rows]), found.periods[-1]
        rows.append(
            {
                **pool.about,
                "shift": case,
                "actual": float(am.evaluate(y, rule.apply(p) == 1)),
                "to_label": (*mine.interval, mine.mean),
                "no labels": (*last.interval, last.mean),
            }
        )
    return rows
