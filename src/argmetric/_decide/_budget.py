"""Decisions under a budget: rows have costs, and a segment may spend so much.

Where a metric is affine in tp for fixed k and t, value = a(k, t) + s(k, t)·tp, a set S
of k rows has the expected metric

    E[a(k, T)] + Σ_{i in S} v_ik,   v_ik = p_i·E[s(k, 1 + T_-i)],

T_-i the positives among the other rows. For each k this is a knapsack of k rows. Where
few sets are within the budget, all are looked at. Otherwise the k rows with the largest
v_ik - λ·cost_i are taken, for the least λ that stays within the budget; by duality no k
rows are better than λ·budget plus the sum of these, for any λ. The least such bound
gives the gap.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from argmetric._decide._question import Question
from argmetric._decide._result import Decision
from argmetric._input.arguments import check_number
from argmetric._input.types import Booleans, Floats, Integers
from argmetric._input.validation import to_floats, to_numpy
from argmetric.metrics import Metric

MOST_SETS = 1 << 12  # sets of rows of a segment that are all looked at
LARGEST_SEGMENT = 500  # rows of one that is over its budget
CELLS = 1 << 21  # numbers of a block of segments
HALVINGS = 40  # of the range of λ
ROUNDING = 1e-12  # a smaller gain is none
SMALL = 12  # size at which a metric is checked


def check_budget(cost: Any, max_cost: Any, question: Question) -> Floats:
    """Costs of the rows."""
    if cost is None:
        raise ValueError("max_cost needs cost, a number for each row")
    check_number(max_cost, "max_cost", low=0.0)
    layout, limits = question.layout, question.limits
    costs = to_floats(cost, "cost")
    if len(layout.shape) != 1 or costs.shape != layout.shape:
        raise ValueError(
            f"cost must have one number per row of a vector p: it has the shape "
            f"{costs.shape}, and p {layout.shape}"
        )
    if not np.isfinite(costs).all() or (costs < 0.0).any():
        raise ValueError("cost must hold finite numbers of 0 or more")
    if limits.least or limits.min_precision or limits.min_recall:
        raise ValueError(
            "max_cost does not go with min_positives, min_precision or min_recall"
        )
    _require_affine(question.metric)
    return costs


def _require_affine(metric: Metric) -> None:
    if np.isnan(metric.zero_division):
        raise ValueError("max_cost needs zero_division=0 or 1, not nan")
    start, slope = _affine_parts(metric, SMALL)
    tp, k, t = (x.ravel() for x in np.mgrid[: SMALL + 1, : SMALL + 1, : SMALL + 1])
    real = (tp <= np.minimum(k, t)) & (tp >= k + t - SMALL)
    tp, k, t = tp[real], k[real], t[real]
    value = metric.value(tp, k, t, SMALL)
    if not np.allclose(value, start[k, t] + slope[k, t] * tp, rtol=1e-9, atol=1e-9):
        raise ValueError(
            f"max_cost needs a metric that is linear in the true positives, such as f1 "
            f"or mcc; {metric.name} is not"
        )


def _affine_parts(metric: Metric, n: int) -> tuple[Floats, Floats]:
    """A and s by k and t, for segments of n rows."""
    k, t = np.mgrid[: n + 1, : n + 1]
    low, high = np.maximum(k + t - n, 0), np.minimum(k, t)
    first, last = metric.value(low, k, t, n), metric.value(high, k, t, n)
    slope = (last - first) / np.maximum(high - low, 1)
    return first - slope * low, slope


def within_budget(
    decision: Decision, question: Question, costs: Floats, max_cost: float
) -> Decision:
    """The decision with segments over the budget decided again, within it."""
    layout = question.layout
    labels = np.array(layout.select(to_numpy(decision.labels, "labels")), dtype=int)
    rows = layout.segment_rows(0, layout.indptr.size - 1)
    if not rows.size:
        return decision
    spent = np.add.reduceat((costs * labels)[rows], layout.indptr[:-1])
    over = np.flatnonzero(~_fits(spent, max_cost))
    if not over.size:
        return decision
    sizes = layout.sizes[over]
    if int(sizes.max()) > LARGEST_SEGMENT:
        raise ValueError(
            f"a budget works for groups of up to {LARGEST_SEGMENT} rows, not "
            f"{sizes.max()}: leave out rows of small p"
        )
    expected = np.array([decision.expected])
    if decision.group_expected is not None:
        expected = decision.group_expected.copy()
    gaps = np.zeros(expected.size)
    for size in np.unique(sizes).tolist():
        for part in _blocks(over[sizes == size], size):
            place = rows[layout.indptr[part][:, None] + np.arange(size)]
            p = question.chances(layout.scores[place])[0]
            found = _best_sets(p, costs[place], max_cost, question)
            labels[place], expected[part], gaps[part] = found
    counts = np.add.reduceat(labels[rows], layout.indptr[:-1])
    note = (
        f"{over.size:,} of {expected.size:,} segments would cost more than "
        f"{max_cost:g}: they are decided within it"
    )
    return replace(
        decision,
        labels=layout.restore(labels),
        n_positives=int(labels.sum()),
        threshold=None,
        threshold_raw=None,
        expected=float(expected.mean()),
        group_n_positives=None if layout.single else counts,
        group_expected=None if layout.single else expected,
        notes=(*decision.notes, note),
        gap=float(gaps.mean()),
    )


def _blocks(segments: Integers, size: int) -> Iterator[Integers]:
    step = max(CELLS // (size + 1) ** 2, 1)
    for first in range(0, segments.size, step):
        yield segments[first : first + step]


def _best_sets(
    p: Floats, cost: Floats, budget: float, question: Question
) -> tuple[Integers, Floats, Floats]:
    """Labels, expected metric and gap of segments of one size."""
    size = p.shape[1]
    start, slope = _affine_parts(question.metric, size)
    law = _count_law(p)
    base = question.sign * law @ start.T
    others = _laws_without_one(p, law)
    worth = question.sign * p[:, :, None] * (others @ slope.T[1:])  # by row and k
    cheapest = np.cumsum(np.sort(cost, axis=1), axis=1).min(axis=0)
    most = min(question.limits.most, int(np.count_nonzero(_fits(cheapest, budget))))
    if sum(math.comb(size, k) for k in range(most + 1)) <= MOST_SETS:
        labels, value = _enumerated(base, worth, cost, budget, most)
        bound = value
    else:
        labels, value, bound = _by_duality(base, worth, cost, budget, most)
    return labels, question.sign * value, np.maximum(bound - value, 0.0)


def _count_law(p: Floats) -> Floats:
    """P(T = t) of each row of independent chances, t = 0…m."""
    law = np.zeros((p.shape[0], p.shape[1] + 1))
    law[:, 0] = 1.0
    for i in range(p.shape[1]):
        one = p[:, i : i + 1]
        law[:, 1:] = law[:, 1:] * (1.0 - one) + law[:, :-1] * one
        law[:, 0] *= 1.0 - one[:, 0]
    return law


def _laws_without_one(p: Floats, law: Floats) -> Floats:
    """P(T_-i = t) for every item i, t = 0…m-1.

    An item is divided out from the end at which its own chance is 1/2 or more, so that
    errors do not grow.
    """
    size = p.shape[1]
    likely = p > 0.5
    chance = np.where(likely, 1.0 - p, p)
    whole = np.where(likely[:, :, None], law[:, None, ::-1], law[:, None, :])
    found = np.zeros((*p.shape, size))
    last = np.zeros(p.shape)
    for t in range(size):
        last = np.maximum((whole[:, :, t] - chance * last) / (1.0 - chance), 0.0)
        found[:, :, t] = last
    return np.where(likely[:, :, None], found[:, :, ::-1], found)


def _enumerated(
    base: Floats, worth: Floats, cost: Floats, budget: float, most: int
) -> tuple[Integers, Floats]:
    """The best of all sets; of equal ones the smallest."""
    labels, value = np.zeros(cost.shape, dtype=np.int64), base[:, 0].copy()
    every = np.arange(cost.shape[0])
    for k in range(1, most + 1):
        places = np.array(list(combinations(range(cost.shape[1]), k)))
        sets = np.zeros((len(places), cost.shape[1]))
        np.put_along_axis(sets, places, 1.0, axis=1)
        fits = _fits(cost @ sets.T, budget)
        values = np.where(fits, worth[:, :, k] @ sets.T, -np.inf)
        best = values.argmax(axis=1)
        now = base[:, k] + values[every, best]
        better = now > value + ROUNDING
        value[better] = now[better]
        labels[better] = sets[best[better]]
    return labels, value


def _fits(spent: Floats, budget: float) -> Booleans:
    return np.asarray(spent <= budget * (1.0 + ROUNDING))


def _by_duality(
    base: Floats, worth: Floats, cost: Floats, budget: float, most: int
) -> tuple[Integers, Floats, Floats]:
    """A good set of each segment, its value, and what no set exceeds."""
    size = cost.shape[1]
    labels, value = np.zeros(cost.shape, dtype=np.int64), base[:, 0].copy()
    cheapest = np.cumsum(np.sort(cost, axis=1), axis=1)[:, :most]
    g, k = np.nonzero(_fits(cheapest, budget))
    k += 1
    v, c = worth[g, :, k], cost[g]
    scale = np.maximum(np.abs(v).max(axis=1), 1e-300) / max(float(cost.max()), 1e-300)
    low, high = np.zeros(g.size), np.ones(g.size)  # θ = λ / (λ + scale)
    bound = np.full(g.size, np.inf)
    ceiling = value.copy()
    for step in range(HALVINGS + 2):
        # First λ = 0, then the cheapest rows, then halves between
        theta = (low + high) / 2 if step > 1 else np.full(g.size, float(step))
        weight = (1.0 - theta)[:, None] * v - (theta * scale)[:, None] * c
        order = np.argsort(-weight, axis=1, kind="stable")
        taken = np.zeros(v.shape, dtype=bool)
        np.put_along_axis(taken, order, np.arange(size) < k[:, None], axis=1)
        spent, gain = (c * taken).sum(axis=1), (v * taken).sum(axis=1)
        fits = _fits(spent, budget)
        now = np.where(fits, base[g, k] + gain, -np.inf)
        first = np.lexsort((k, -now, g))
        first = first[np.append(True, np.diff(g[first]) > 0)] if g.size else first
        first = first[now[first] > value[g[first]] + ROUNDING]
        value[g[first]], labels[g[first]] = now[first], taken[first]
        with np.errstate(divide="ignore", invalid="ignore"):
            price = theta * scale / (1.0 - theta)
            dual = base[g, k] + gain + price * (budget - spent)
        bound = np.fmin(bound, np.where(theta < 1.0, dual, np.inf))
        if step == 0:
            high = np.where(fits, 0.0, high)
        elif step > 1:
            low, high = np.where(fits, low, theta), np.where(fits, theta, high)
        open_ = bound > value[g] + ROUNDING
        g, k, v, c, scale = g[open_], k[open_], v[open_], c[open_], scale[open_]
        low, high, bound = low[open_], high[open_], bound[open_]
    np.maximum.at(ceiling, g, bound)
    return labels, value, np.maximum(ceiling, value)
