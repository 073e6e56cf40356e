"""Decisions under a budget: rows have costs, and a segment may spend so much.

For fixed k and t every metric lies on or below a line, value <= a(k, t) + s(k, t)·tp.
The line is the metric itself where this is affine in tp, as F_beta, MCC and recall are;
the Jaccard index is not. Of the line, a set S of k rows has the expectation

    E[a(k, T)] + Σ_{i in S} v_ik,   v_ik = p_i·E[s(k, 1 + T_-i)],

T_-i the positives among the other rows. For each k this is a knapsack of k rows. Where
few sets are within the budget, all are evaluated. Otherwise the k rows with the largest
v_ik - λ·cost_i are taken, for the least λ that stays within the budget; by duality no k
rows are better than λ·budget plus the sum of these, for any λ. The least such bound
gives the gap. Sets are compared by the expectation of the metric, not of the line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from argmetric._ground.arguments import check_number, shown
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric._ground.validation import to_floats, to_numpy
from argmetric._verbs.decide._question import Question
from argmetric._verbs.decide._result import Decision
from argmetric.metrics import Metric

MOST_SETS = 1 << 12  # sets of rows of a segment that are all evaluated
LARGEST_AFFINE, LARGEST = 2000, 500  # rows of a segment that is over its budget
CELLS = 1 << 21  # numbers of a block of segments
HALVINGS = 40  # of the range of λ
ROUNDING = 1e-12  # a smaller gain is none
SMALL = 12  # size at which a metric is checked


def check_budget(budget: object, question: Question) -> tuple[Floats, float]:
    """Return the costs of the rows, and the largest total cost of a segment."""
    costs, most = read_budget(budget, question.layout.shape)
    limits = question.limits
    if limits.least or limits.min_precision or limits.min_recall:
        raise ValueError(
            "budget does not go with min_positives, min_precision or min_recall"
        )
    if np.isnan(question.metric.zero_division):
        raise ValueError("budget needs zero_division=0 or 1, not nan")
    return costs, most


def read_budget(budget: object, shape: tuple[int, ...]) -> tuple[Floats, float]:
    """Return the costs of rows of scores of this shape, and the most to spend."""
    if not isinstance(budget, tuple | list) or len(budget) != 2:
        raise TypeError(
            "budget must be a pair (cost, most): the cost of each row, and the largest "
            f"total cost of the predicted positives, not {shown(budget)}"
        )
    most = check_number(budget[1], "the most of budget=(cost, most)", low=0.0)
    name = "the cost of budget=(cost, most)"
    costs = to_floats(budget[0], name)
    if len(shape) != 1 or costs.shape != shape:
        raise ValueError(
            f"{name} must have one number per row of a vector p: it has the shape "
            f"{costs.shape}, and p {shape}"
        )
    wrong = np.flatnonzero(~np.isfinite(costs) | (costs < 0.0))
    if wrong.size:
        raise ValueError(
            f"{name} is {costs[wrong[0]]:g} in row {wrong[0]}: it must hold finite "
            "numbers of 0 or more"
        )
    return costs, most


def _is_affine(metric: Metric) -> bool:
    """Return whether the metric is linear in tp at fixed k and t, tried on few rows."""
    tp, k, t = (x.ravel() for x in np.mgrid[: SMALL + 1, : SMALL + 1, : SMALL + 1])
    real = (tp <= np.minimum(k, t)) & (tp >= k + t - SMALL)
    tp, k, t = tp[real], k[real], t[real]
    start, slope = _line(metric, 1.0, SMALL, SMALL, affine=True)
    value = metric.value(tp, k, t, SMALL)
    line = start[k, t] + slope[k, t] * tp
    return np.allclose(value, line, rtol=1e-9, atol=1e-9)


def _line(
    metric: Metric, sign: float, n: int, most: int, *, affine: bool
) -> tuple[Floats, Floats]:
    """Return A and s by k ≤ most and t: a line above all values of n rows."""
    k, t = np.mgrid[: most + 1, : n + 1]
    low, high = np.maximum(k + t - n, 0), np.minimum(k, t)
    first, last = (sign * metric.value(tp, k, t, n) for tp in (low, high))
    slope = (last - first) / np.maximum(high - low, 1)
    start = first - slope * low
    for tp in () if affine else range(1, most):
        at = np.clip(tp, low, high)
        start = np.maximum(start, sign * metric.value(at, k, t, n) - slope * at)
    return start, slope


def within_budget(
    decision: Decision, question: Question, costs: Floats, max_cost: float
) -> Decision:
    """Return the decision with segments over the budget decided again."""
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
    affine = _is_affine(question.metric)
    largest = LARGEST_AFFINE if affine else LARGEST
    if int(sizes.max()) > largest:
        raise ValueError(
            f"budget works for groups of up to {largest:,} rows with "
            f"{question.metric.name}, not {sizes.max():,}: leave out the rows of "
            "smallest p, or pass max_positives instead"
        )
    expected = np.array([decision.expected])
    if decision.group_expected is not None:
        expected = decision.group_expected.copy()
    gaps = np.zeros(expected.size)
    for size in np.unique(sizes).tolist():
        for part in _blocks(over[sizes == size], size, affine):
            place = rows[layout.indptr[part][:, None] + np.arange(size)]
            p = question.probabilities(layout.scores[place])[0]
            found = _best_sets(p, costs[place], max_cost, question, affine)
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


def _blocks(segments: Integers, size: int, affine: bool) -> Iterator[Integers]:
    cells = (size + 1) * (size + 1 if affine else max(MOST_SETS, size + 1))
    step = max(CELLS // cells, 1)
    for first in range(0, segments.size, step):
        yield segments[first : first + step]


class _Segments(NamedTuple):
    """Segments of one size, and what their rows are worth.

    p, cost : ndarray of shape (n_segments, size)
        Probabilities and costs of the rows.
    base : ndarray of shape (n_segments, most + 1)
        Value of k predicted rows without their own part, for each k.
    worth : ndarray of shape (n_segments, size, most + 1)
        Gain by each row if it is one of k.
    exact : Question or None
        If given, the exact expected metric takes the place of this sum.
    """

    p: Floats
    cost: Floats
    base: Floats
    worth: Floats
    budget: float
    exact: Question | None


def _best_sets(
    p: Floats, cost: Floats, budget: float, question: Question, affine: bool
) -> tuple[Integers, Floats, Floats]:
    """Return labels, expected metric and gap of segments of one size."""
    size = p.shape[1]
    cheapest = np.cumsum(np.sort(cost, axis=1), axis=1).min(axis=0)
    fitting = int(np.count_nonzero(_fits(cheapest, budget)))
    most = min(question.limits.most_of(size), fitting)
    start, slope = _line(question.metric, question.sign, size, most, affine=affine)
    pmf = _count_pmf(p)
    base = pmf @ start.T
    worth = p[:, :, None] * (_leave_one_out(p, pmf) @ slope.T[1:])  # by row and k
    segments = _Segments(p, cost, base, worth, budget, None if affine else question)
    if sum(math.comb(size, k) for k in range(most + 1)) <= MOST_SETS:
        labels, value = _enumerate(segments)
        bound = value
    else:
        labels, value, bound = _search_dual(segments)
    return labels, question.sign * value, np.maximum(bound - value, 0.0)


def _expected_scores(p: Floats, taken: Floats, k: int, question: Question) -> Floats:
    """Return the expected metric of rows of probabilities, k of them taken."""
    n = p.shape[1]
    inside, outside = _count_pmf(p * taken), _count_pmf(p * (1.0 - taken))
    tp, missed = np.mgrid[: k + 1, : n - k + 1]
    value = question.sign * question.metric.value(tp, k, tp + missed, n)
    return np.asarray(
        ((inside[:, : k + 1] @ value) * outside[:, : n - k + 1]).sum(axis=1)
    )


def _count_pmf(p: Floats) -> Floats:
    """Return P(T = t), t = 0 … m, of each row of independent probabilities."""
    pmf = np.zeros((p.shape[0], p.shape[1] + 1))
    pmf[:, 0] = 1.0
    for i in range(p.shape[1]):
        one = p[:, i : i + 1]
        pmf[:, 1:] = pmf[:, 1:] * (1.0 - one) + pmf[:, :-1] * one
        pmf[:, 0] *= 1.0 - one[:, 0]
    return pmf


def _leave_one_out(p: Floats, pmf: Floats) -> Floats:
    """Return P(T_-i = t) of every item i, divided out from the likely end."""
    size = p.shape[1]
    likely = p > 0.5
    probability = np.where(likely, 1.0 - p, p)
    whole = np.where(likely[:, :, None], pmf[:, None, ::-1], pmf[:, None, :])
    found = np.zeros((*p.shape, size))
    last = np.zeros(p.shape)
    for t in range(size):
        last = np.maximum(
            (whole[:, :, t] - probability * last) / (1.0 - probability), 0.0
        )
        found[:, :, t] = last
    return np.where(likely[:, :, None], found[:, :, ::-1], found)


def _enumerate(segments: _Segments) -> tuple[Integers, Floats]:
    """Return the best of all sets; of equal ones the smallest.

    Returns
    -------
    labels : ndarray of int, shape (n_segments, size)
    value : ndarray of shape (n_segments,)
    """
    p, cost, base, worth, budget, exact = segments
    n_segments, size = cost.shape
    labels, value = np.zeros(cost.shape, dtype=np.int64), base[:, 0].copy()
    every = np.arange(n_segments)
    for k in range(1, base.shape[1]):
        places = np.array(list(combinations(range(size), k)))
        sets = np.zeros((len(places), size))
        np.put_along_axis(sets, places, 1.0, axis=1)
        if exact is None:
            values = base[:, k, None] + worth[:, :, k] @ sets.T
        else:
            each = np.repeat(p, len(sets), axis=0), np.tile(sets, (n_segments, 1))
            values = _expected_scores(*each, k, exact).reshape(n_segments, -1)
        values[~_fits(cost @ sets.T, budget)] = -np.inf
        best = values.argmax(axis=1)
        now = values[every, best]
        better = now > value + ROUNDING
        value[better] = now[better]
        labels[better] = sets[best[better]]
    return labels, value


def _fits(spent: Floats, budget: float) -> Booleans:
    return np.asarray(spent <= budget * (1.0 + ROUNDING))


def _search_dual(segments: _Segments) -> tuple[Integers, Floats, Floats]:
    """Return a good set of each segment, its value, and an upper bound."""
    p, cost, base, worth, budget, exact = segments
    size = cost.shape[1]
    labels, value = np.zeros(cost.shape, dtype=np.int64), base[:, 0].copy()
    cheapest = np.cumsum(np.sort(cost, axis=1), axis=1)[:, : base.shape[1] - 1]
    segment, count = np.nonzero(_fits(cheapest, budget))
    count += 1  # of each pair of a segment and a number of rows k, the best set:
    sets, reached = np.zeros((count.size, size), bool), np.full(count.size, -np.inf)
    bound = np.full(count.size, np.inf)
    v = worth[segment, :, count]
    scale = np.maximum(np.abs(v).max(axis=1), 1e-300) / max(float(cost.max()), 1e-300)
    low, high = np.zeros(count.size), np.ones(count.size)  # θ = λ / (λ + scale)
    at = np.arange(count.size)  # pairs that may still improve on their segment's best
    for step in range(HALVINGS + 2):
        g, k, c = segment[at], count[at], cost[segment[at]]
        # First λ = 0, then the cheapest rows, then halves between
        theta = (low[at] + high[at]) / 2 if step > 1 else np.full(at.size, float(step))
        price = theta * scale[at]
        weight = (1.0 - theta)[:, None] * v[at] - price[:, None] * c
        order = np.argsort(-weight, axis=1, kind="stable")
        taken = np.zeros(c.shape, dtype=bool)
        np.put_along_axis(taken, order, np.arange(size) < k[:, None], axis=1)
        spent, gain = (c * taken).sum(axis=1), (v[at] * taken).sum(axis=1)
        fits = _fits(spent, budget)
        now = np.where(fits, base[g, k] + gain, -np.inf)
        better = now > reached[at] + ROUNDING
        reached[at[better]], sets[at[better]] = now[better], taken[better]
        with np.errstate(divide="ignore", invalid="ignore"):
            dual = base[g, k] + gain + price / (1.0 - theta) * (budget - spent)
        bound[at] = np.fmin(bound[at], np.where(theta < 1.0, dual, np.inf))
        if step == 0:
            high[at] = np.where(fits, 0.0, high[at])
        elif step > 1:
            low[at] = np.where(fits, low[at], theta)
            high[at] = np.where(fits, theta, high[at])
        if exact is None:
            np.maximum.at(value, g, now)
            at = at[bound[at] > value[g] + ROUNDING]
    if exact is not None:
        for one in np.unique(count).tolist():
            some = np.flatnonzero((count == one) & np.isfinite(reached))
            reached[some] = _expected_scores(p[segment[some]], sets[some], one, exact)
    value = base[:, 0].copy()
    first = np.lexsort((count, -reached, segment))
    first = first[np.diff(segment[first], prepend=-1) > 0]
    first = first[reached[first] > value[segment[first]] + ROUNDING]
    value[segment[first]], labels[segment[first]] = reached[first], sets[first]
    ceiling = value.copy()
    np.maximum.at(ceiling, segment, bound)
    return labels, value, ceiling
