"""Decisions, scores and thresholds where the worth of a label differs by row.

With u the worth of true and false positives and negatives of row i, choosing it gains

    g_i = p_i·(tp_i - fn_i) + (1 - p_i)·(fp_i - tn_i),

whatever else is chosen: the best labels are those with g_i > 0, with a limit on their
number those with the largest g_i, and with a budget the solution of a knapsack.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from argmetric._expected import Plan
from argmetric._ground.limits import refuse_more_than_all
from argmetric._ground.types import Booleans, Floats, Integers, Interval
from argmetric._verbs.decide._budget import check_budget
from argmetric._verbs.decide._question import Question, raw_threshold
from argmetric._verbs.decide._result import Cut, Decision
from argmetric.metrics import Metric, Utility, refuse_for_amounts

if TYPE_CHECKING:
    from argmetric._verbs.tune._rule import Rule

FITS = 1e-12  # by which costs may exceed the budget in rounding


def decide_amounts(question: Question, budget: object, per_row: object) -> Decision:
    """Return the labels with the largest expected worth of one vector."""
    layout, metric, limits = question.layout, question.metric, question.limits
    assert isinstance(metric, Utility)
    several = layout.ids is not None or len(layout.shape) != 1
    named: dict[str, object] = {"groups": several}
    named |= {"min_precision": limits.min_precision > 0.0, "per_row": per_row}
    refuse_for_amounts(named | {"min_recall": limits.min_recall > 0.0})
    scores = layout.scores
    n = scores.size
    refuse_more_than_all(limits, n)
    p, q = question.probabilities(scores)
    tp, fp, fn, tn = metric._by_row(n)
    gain, none = p * (tp - fn) + q * (fp - tn), float(np.sum(p * fn + q * tn))
    most, gap = min(int(limits.most_of(n)), n), 0.0
    order = np.argsort(-gain, kind="stable")
    count = min(max(int(np.count_nonzero(gain > 0.0)), limits.least), most)
    labels = np.zeros(n, dtype=np.int64)
    labels[order[:count]] = 1
    if budget is not None:
        cost, spend = check_budget(budget, question)
        if float(cost @ labels) > spend * (1.0 + FITS):
            labels, gap = _within(gain, cost, spend, most)
    by_p = np.argsort(-scores, kind="stable")
    half = question.from_half

    def cuts() -> tuple[Floats, Floats]:
        return scores[by_p], none + np.append(0.0, np.cumsum(gain[by_p]))

    def best_cut() -> Cut:
        key, values = cuts()
        whole = np.concatenate([[True], key[1:] != key[:-1], [True]])
        k = int(np.argmax(np.where(whole, values, -math.inf)))
        cut = math.inf if k == 0 else float(key[k - 1])
        return Cut(cut, k, float(values[k]))

    curve = none + np.append(0.0, np.cumsum(gain[order]))
    return Decision(
        labels=layout.restore(labels),
        n_positives=int(labels.sum()),
        threshold=raw_threshold(scores, labels),
        threshold_raw=raw_threshold(
            scores if question.raw is None else question.raw, labels
        ),
        scale=question.scale,
        expected=none + float(gain @ labels),
        error=float(n * 2.0**-52 * np.abs(gain).max(initial=0.0)),
        metric=metric,
        n=n,
        average=layout.average,
        gap=gap,
        _asked=question.asked,
        _cut_half=lambda: Cut(
            question.half, int(half.sum()), none + float(gain @ half)
        ),
        _best_cut=best_cut,
        _curve_of=lambda g: curve,
        _cuts=cuts,
        _plan=lambda: Plan("the gain of each row", f"{n:,} rows"),
    )


def _within(
    gain: Floats, cost: Floats, spend: float, most: int
) -> tuple[Integers, float]:
    """Return the labels of largest gain within a budget, and how far from the best."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    rows = np.flatnonzero((gain > 0.0) & (cost <= spend * (1.0 + FITS)))
    labels = np.zeros(gain.size, dtype=np.int64)
    value, weight, room = gain[rows], cost[rows], spend
    if not rows.size:
        return labels, 0.0
    scale, bound = max(spend, float(weight.max())), None
    while True:  # again with less room where the solver's tolerance oversteps it
        limits = LinearConstraint(
            np.stack([weight / scale, np.ones(rows.size)]), ub=[room / scale, most]
        )
        found = milp(
            -value / value.max(),
            constraints=limits,
            bounds=Bounds(0, 1),
            integrality=np.ones(rows.size),
            options={"mip_rel_gap": 0.0},
        )
        chosen = found.x > 0.5
        bound = -found.mip_dual_bound * value.max() if bound is None else bound
        over = float(weight[chosen].sum()) - spend * (1.0 + FITS)
        if over <= 0.0:
            break
        room -= over + 1e-9 * scale
    labels[rows[chosen]] = 1
    gap = bound - float(value[chosen].sum())
    return labels, gap if gap > 1e-9 * value.max() else 0.0


def evaluate_amounts(
    true: Booleans, pred: Booleans, metric: Utility, coverage: float
) -> tuple[float, dict[str, int], Interval | None]:
    """Return the worth of labels, their counts, and the interval on as many rows.

    Rows count as independent draws: the sum ± 1.645·√(n·variance of a row's worth).
    """
    n = true.size
    tp, fp, fn, tn = metric._by_row(n)
    worth = np.where(pred, np.where(true, tp, fp), np.where(true, fn, tn))
    total = float(worth.sum())
    counts = {
        "tp": int((true & pred).sum()),
        "fp": int((~true & pred).sum()),
        "fn": int((true & ~pred).sum()),
        "tn": int((~true & ~pred).sum()),
    }
    if n < 2:
        return total, counts, None
    from scipy.special import ndtri

    reach = float(ndtri(0.5 + coverage / 2.0)) * math.sqrt(n * worth.var(ddof=1))
    return total, counts, Interval(total - reach, total + reach)


def tune_amounts(
    positive: Booleans,
    metric: Utility,
    tune_rows: Callable[[Booleans, Floats, Metric], Rule],
) -> Rule:
    """Return the rule with the largest worth of these rows.

    Σ over chosen rows of g_i is TP - FP of rows that weigh |g_i| and are positive
    where g_i > 0; `tune_rows(positive, weight, metric)` tunes on these.
    """
    tp, fp, fn, tn = metric._by_row(positive.size)
    gain = np.where(positive, tp - fn, fp - tn)
    if not ((gain > 0.0).any() and (gain < 0.0).any()):
        every = "gains" if (gain >= 0.0).all() else "loses"
        raise ValueError(
            f"every row {every} by being chosen, so that no threshold is to be found: "
            "does the Utility have fp below tn and tp above fn?"
        )
    none = float(np.sum(np.where(positive, fn, tn)))
    rule = tune_rows(gain > 0.0, np.abs(gain), Utility(tp=1.0, fp=-1.0))
    interval = rule.interval
    if interval is not None:
        interval = Interval(*(none + end for end in interval))
    return replace(
        rule,
        metric=metric,
        score=none + rule.score,
        mean=none + rule.mean,
        interval=interval,
        scores=None if rule.scores is None else none + rule.scores,
        prevalence=float(np.mean(positive)),
    )
