"""One period with 50 labels of `to_label`: nearer to the score than the forecast?

References of 500 rows, periods of 1,000: quiet, other prevalences, other rows, and
labels that changed their meaning; six kinds of models. Beside the rows of the plan
stand random ones, read by the same model.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import argmetric as am
from monitor_parts.cases import ALL_MODELS, HALVES_OF_KINDS, Pool, pools
from monitor_parts.measured import (
    CHANGED,
    Row,
    changed_labels,
    seeded,
    tuned,
)
from monitor_parts.shifts import QUIET, SHARES, SIDES, draw_reference

M, N, LABELS, FEWEST = 500, 1000, 50, 8
DRAWS = {
    **{name: SHARES[name] for name in (QUIET, "share x 0.5", "share x 2")},
    "score feature 3:1": SIDES["score feature 3:1"],
    CHANGED: SHARES[QUIET],
}
METHODS = ("no labels", "50 chosen", "50 random")


def run(*, quick: bool, half: str, seed: int) -> str:
    """Return RMSE in points of F1, and how often the 90 % interval held."""
    rows: list[Row] = []
    for pool in pools(quick, half, HALVES_OF_KINDS, ALL_MODELS):
        rows += _of_pool(pool, seed)
    parts = {"all": rows}
    for name, values in (("shift", DRAWS), ("model", ALL_MODELS)):
        parts |= {v: [x for x in rows if x[name] == v] for v in values}
    text = [",".join(("periods", "n", *METHODS))]
    for part, some in parts.items():
        if some:
            figures = [_figures(some, one) for one in METHODS]
            text.append(",".join((part, str(len(some)), *figures)))
    return "\n".join(text)


def _figures(rows: list[Row], method: str) -> str:
    low, high, mean = np.array([row[method] for row in rows]).T
    actual = np.array([row["actual"] for row in rows])
    held = (low - 1e-9 <= actual) & (actual <= high + 1e-9)
    rmse = 100 * np.sqrt(np.mean((mean - actual) ** 2))
    return f"{rmse:.1f} ({held.mean():.2f})"


def _of_pool(pool: Pool, seed: int) -> list[Row]:
    rng = seeded(seed, "nearer", pool.name, pool.model)
    for_reference, for_periods = pool.halved(rng)
    reference = draw_reference(rng, pool, for_reference, M, FEWEST)
    if reference is None:
        return []
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
        last, labels = found.periods[-1], rule.apply(p) == 1
        plan = found.to_label(LABELS, random_state=int(rng.integers(1 << 30)))
        random = _random_plan(plan, p, labels, rng)
        estimates = (one.estimate(y[one.rows]) for one in (plan, random))
        answers = zip(METHODS, (last, *estimates), strict=True)
        rows.append(
            {
                **pool.about,
                "shift": case,
                "actual": float(am.evaluate(y, labels)),
                **{name: (*one.interval, one.mean) for name, one in answers},
            }
        )
    return rows


def _random_plan(
    plan: am.LabellingPlan, p: np.ndarray, labels: np.ndarray, rng: np.random.Generator
) -> am.LabellingPlan:
    """Return the plan with rows at random."""
    rows = np.sort(rng.permutation(p.size)[:LABELS])
    stratum = plan._table.member[plan._table.bin[rows]]
    how = {"scores": p[rows], "labels": labels[rows], "stratum": stratum}
    return replace(plan, rows=rows, _places=rows, **how)
