"""Labels of some rows: `to_label` against random rows, at the same number of labels.

A period has 5,000 rows and a reference of 2,000. Random labels have the interval of two
binomial rates, among the rows predicted positive and the others, under Jeffreys' prior,
and the usual normal interval of a ratio.
"""

from __future__ import annotations

import numpy as np
from harness import emit

import argmetric as am
from monitor_parts.cases import Pool, pools
from monitor_parts.measured import (
    CHANGED,
    FEWEST,
    Row,
    changed_labels,
    emit_ends,
    ends,
    seeded,
    tuned,
)
from monitor_parts.shifts import SHARES, draw_reference

M, N = 2000, 5000
BUDGETS = (50, 100, 200)
CASES = ("share x 1", "share x 0.5", "share x 2", CHANGED)
REPEATS, DRAWS = 2, 4000
METHODS = ("to_label", "random", "random, normal")


def run(*, quick: bool, half: str, seed: int) -> None:
    rows: list[Row] = []
    for pool in pools(quick, half):
        for repeat in range(1 if quick else REPEATS):
            rng = seeded(seed, "label", pool.name, pool.model, repeat)
            rows += _of_pool(rng, pool)
    for budget in BUDGETS:
        part = [row for row in rows if row["budget"] == budget]
        judged = budget == 100
        goals = {"to_label": (">=", 0.87)} if judged else {}
        emit_ends("label", part, METHODS, goals, labels=budget)
        some = [row for row in part if row["shift"] == CHANGED]
        emit_ends("label", some, METHODS[:1], shift=CHANGED, labels=budget)
        ours, theirs = (ends(part, one)["width"] for one in METHODS[:2])
        goal = ("<=", 0.5) if judged else None
        what = "width over that of random"
        emit("label", what, ours / theirs, "ratio", goal, labels=budget)


def _of_pool(rng: np.random.Generator, pool: Pool) -> list[Row]:
    half, other = pool.halved(rng)
    reference = draw_reference(rng, pool, half, M, FEWEST)
    if reference is None:
        return []
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
        for budget in BUDGETS:
            plan = found.to_label(budget, random_state=int(rng.integers(1 << 30)))
            mine = plan.estimate(y[plan.rows])
            some = rng.choice(N, budget, False)
            rows.append(
                {
                    "shift": case,
                    "budget": budget,
                    "actual": float(am.evaluate(y, labels)),
                    "to_label": (*mine.interval, mine.mean),
                    "random": jeffreys(rng, y[some], labels[some], labels),
                    "random, normal": normal(y[some], labels[some]),
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
