"""A bound on the expected metric that no labels can pass.

With a price λ_i for every row, Σ_c F_c = Σ_i λ_i + Σ_c (F_c − Σ_{i given c} λ_i), and a
class alone can be bounded: with k rows, F_c − Σ λ is at most the sum of the k largest
weight_i(k) − λ_i. Prices from the slopes of the decision make the bound tight.
"""

from __future__ import annotations

import math

import numpy as np

from argmetric._classes._climb import (
    EXACT_ROWS,
    Rows,
    exact_form,
    group_values,
    nodes,
    sums_of,
)
from argmetric._input.types import Floats, Integers
from argmetric.metrics import (
    ClassAgreement,
    ClassGain,
    ClassGMean,
    ClassMetric,
    ClassRatio,
)

EXACT_WORK = 2e8  # rows² times classes: more would take minutes
GRID = 60  # numbers of rows at which a class of a large batch is bounded


def upper_bound(rows: Rows, metric: ClassMetric, labels: Integers) -> float:
    """A value that the expected metric of no labels exceeds; nan if none is known.

    For batches of at most 1,000 rows it bounds the exact expectation of F-scores, else
    the metric of the expected counts. Where absent classes are left out it is wider by
    the expected share of classes without true rows. Limits only lower what labels can
    reach.
    """
    if isinstance(metric, ClassGain | ClassAgreement):
        return math.nan  # found exactly: there is nothing to bound
    if rows.n_groups != 1 or rows.p.shape[0] == 0:
        return math.nan
    sums = sums_of(rows, labels)
    if isinstance(metric, ClassGMean):
        return _bound_gmean(rows, sums.mu[0], sums.h[0])
    if not isinstance(metric, ClassRatio) or metric.b_tp != 0.0 or metric.by_support:
        return math.nan
    n, n_classes = rows.p.shape
    if n <= EXACT_ROWS and n * n * n_classes > EXACT_WORK:
        return math.nan
    if metric.needs_truth:
        return float(group_values(rows, metric, labels).mean[0])  # linear: exact
    return _bound_ratio(rows, metric, labels)


def _bound_gmean(rows: Rows, mu: Floats, h: Floats) -> float:
    """Σ log h is concave: its tangent at the decision is never below it."""
    there = mu > 0.0
    if not (h[there] > 0.0).all():
        return math.nan
    count = int(there.sum())
    best = (rows.p[:, there] / h[there]).max(axis=1).sum() - count
    logs = np.log(h[there] / mu[there]).sum() + best
    return math.exp(min(float(logs) / count, 0.0))


def _bound_ratio(rows: Rows, metric: ClassRatio, labels: Integers) -> float:
    p = rows.p
    mu, none, h, k = (one[0] for one in sums_of(rows, labels))
    below = metric.b_k * np.maximum(k, 1.0) + metric.b_t * mu
    value = np.where(k > 0.0, metric.a * h / below, 0.0)
    slopes = (metric.a * p - metric.b_k * value) / below
    bounds = [_bound_at(slopes.max(axis=1), rows, metric, mu, none, k)]
    if (k == 0.0).any():  # classes that are better left empty need not set the price
        used = slopes[:, k > 0.0].max(axis=1)
        bounds.append(_bound_at(used, rows, metric, mu, none, k))
    return float(min(bounds))


def _bound_at(
    price: Floats, rows: Rows, metric: ClassRatio, mu: Floats, none: Floats, k: Floats
) -> float:
    p, n_classes = rows.p, rows.p.shape[1]
    exact = p.shape[0] <= EXACT_ROWS and exact_form(metric)
    of_rows = _exact_most if exact else _most_by_grid
    most = np.array(
        [of_rows(p[:, c], price, metric, mu[c], int(k[c])) for c in range(n_classes)]
    )
    total = float(price.sum())
    if math.isnan(metric.zero_division):
        # F_c summed over N classes that are there is at most N, so that leaving the
        # others out adds at most (C - N)/C to the mean over all of them
        bound = (total + np.maximum(most, 0.0).sum() + none.sum()) / n_classes
        return float(min(bound, 1.0))
    worth = metric.zero_division * none
    return float((total + np.maximum(most, worth).sum()) / n_classes)


def _exact_most(
    p: Floats, price: Floats, metric: ClassRatio, mu: float, _: int
) -> float:
    """Most of E F − Σ price over all rows that a class can be given."""
    from argmetric._classes.kernels.bound import weights_at

    x, w = nodes()
    best, weights = -math.inf, np.empty(p.size)
    for k in range(1, p.size + 1):
        weights_at(p, float(k), metric.a, metric.b_k, metric.b_t, mu, x, w, weights)
        parts = weights - price
        if k < p.size:
            parts = np.partition(parts, p.size - k)[p.size - k :]
        best = max(best, float(parts.sum()))
    return best


def _most_by_grid(
    p: Floats, price: Floats, metric: ClassRatio, mu: float, k: int
) -> float:
    """The same for the ratio of sums, at some k, and by chords between them.

    1/(b_k·k + b_t·μ) is convex in k: between two k of the grid the weights of a row lie
    below the chord, and so does the sum of the k largest.
    """
    n = p.size
    spread = np.unique(np.geomspace(1, n + 1, GRID // 2).astype(np.int64))
    around = np.unique(
        np.clip(np.round(k * np.linspace(0.8, 1.25, GRID // 2)), 1, n).astype(np.int64)
    )
    grid = np.unique(np.clip(np.concatenate([spread, around, [1, n]]), 1, n))
    tops = []
    for one in grid:
        weight = metric.a / (metric.b_k * one + metric.b_t * mu)
        parts = np.sort(weight * p - price)[::-1]
        tops.append(np.cumsum(parts))
    best = max(float(top[one - 1]) for one, top in zip(grid, tops, strict=True))
    for low, high, left, right in zip(
        grid[:-1], grid[1:], tops[:-1], tops[1:], strict=True
    ):
        if high - low < 2:
            continue
        between = np.arange(low + 1, high)
        share = (high - between) / (high - low)
        chord = share * left[between - 1] + (1.0 - share) * right[between - 1]
        best = max(best, float(chord.max()))
    return best
