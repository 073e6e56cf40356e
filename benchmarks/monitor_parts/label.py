"""Labels of some rows: `to_label` against random rows, at the same number of labels.

A period has 5,000 rows and a reference of 2,000. Random labels have the interval of two
binomial rates, among the rows predicted positive and the others, under Jeffreys' prior,
and the usual normal interval of a ratio.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import Target, emit

import argmetric as am
from monitor_parts.cases import Pool, pools
from monitor_parts.measured import (
    CHANGED,
    by_half,
    changed_labels,
    emit_ends,
    ends,
    seeded,
    tuned,
)
from monitor_parts.shifts import SHARES, drawn_reference

M, N = 2000, 5000
BUDGETS = (50, 100, 200)
CASES = ("share x 1", "share x 0.5", "share x 2", CHANGED)
REPEATS, DRAWS = 2, 4000
METHODS = ("to_label", "random", "random, normal", "no labels")


def run(*, quick: bool, half: str | None, seed: int) -> None:
    rows: list[dict[str, Any]] = []
    for pool in pools(quick, half):
        for repeat in range(1 if quick else REPEATS):
            rng = seeded(seed, "label", pool.name, pool.model, repeat)
            rows += _of_pool(rng, pool)
    for of_half, kept in by_half(rows):
        shown = of_half == "show"
        for budget in BUDGETS:
            part = [row for row in kept if row["budget"] == budget]
            cover: Target = (">=", 0.87) if shown and budget == 100 else None

            def target(method: str, cover: Target = cover) -> Target:
                return cover if method == "to_label" else None

            told = {"labels": budget, "half": of_half}
            emit_ends("label", part, METHODS, target, **told)
            for case in CASES:
                some = [row for row in part if row["shift"] == case]
                emit_ends("label", some, METHODS[:1], shift=case, **told)
            for other in METHODS[1:3]:
                found = [ends(part, one)["width"] for one in ("to_label", other)]
                what = f"width over that of {other}"
                honest = shown and budget == 100 and other == "random"
                goal: Target = ("<=", 0.5) if honest else None
                emit("label", what, found[0] / found[1], "ratio", goal, **told)


def _of_pool(rng: np.random.Generator, pool: Pool) -> list[dict[str, Any]]:
    half, other = pool.halved(rng)
    chosen = drawn_reference(rng, pool.y, half, M)
    if chosen is None or pool.y[chosen].sum() < 5:
        return []
    reference = pool.y[chosen], pool.p[chosen]
    rule = tuned(*reference)
    rows = []
    for case in CASES:
        draw = SHARES["share x 1" if case == CHANGED else case]
        period = draw(rng, pool, other, N)
        if period is None:
            continue
        y, p = pool.y[period], pool.p[period]
        if case == CHANGED:
            y = changed_labels(rng, y, pool.sides[0][period])
        labels = rule.apply(p) == 1
        found = am.monitor(p, rule, reference=reference)
        last = found.periods[-1]
        for budget in BUDGETS:
            plan = found.to_label(budget, random_state=int(rng.integers(1 << 30)))
            mine = plan.estimate(y[plan.rows])
            some = rng.choice(N, budget, False)
            rows.append(
                {
                    **pool.about,
                    "shift": case,
                    "budget": budget,
                    "actual": float(am.evaluate(y, labels)),
                    "to_label": (*mine.interval, mine.mean),
                    "random": jeffreys(rng, y[some], labels[some], labels),
                    "random, normal": normal(y[some], labels[some]),
                    "no labels": (*last.interval, last.mean),
                }
            )
    return rows


def jeffreys(
    rng: np.random.Generator, y: np.ndarray, z: np.ndarray, labels: np.ndarray
) -> tuple[float, float, float]:
    """90 % interval and mean of F1 from random labels y of rows with the labels z.

    The rate of positives has a beta distribution for each predicted label; the rows
    without a label are drawn.
    """
    drawn = []
    for side in (True, False):
        found, size = int(y[z == side].sum()), int((z == side).sum())
        rate = rng.beta(found + 0.5, size - found + 0.5, DRAWS)
        drawn.append(found + rng.binomial((labels == side).sum() - size, rate))
    hits, missed = drawn
    f1 = 2 * hits / np.maximum(labels.sum() + hits + missed, 1)
    return (*np.quantile(f1, [0.05, 0.95]).tolist(), float(f1.mean()))


def normal(y: np.ndarray, z: np.ndarray) -> tuple[float, float, float]:
    """The usual interval: F1 of the labelled rows, with the error of a ratio."""
    top, below = 2.0 * (y & z), y.astype(float) + z
    if not below.any():
        return 0.0, 1.0, 0.5
    f1 = top.sum() / below.sum()
    error = (top - f1 * below).std(ddof=1) / np.sqrt(y.size) / below.mean()
    return f1 - 1.645 * error, f1 + 1.645 * error, float(f1)
