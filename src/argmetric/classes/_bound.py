"""A bound on the expected metric that no labels can pass.

With a price λ_i for every row, Σ_c F_c = Σ_i λ_i + Σ_c (F_c − Σ_{i given c} λ_i), and a
class alone can be bounded: with k rows, F_c − Σ λ is at most the sum of the k largest
weight_i(k) − λ_i. Prices from the slopes of the decision make the bound tight.

A row of an F-score weighs a·p_i·E[1/(b_k·k + b_t·T)], T true rows with row i. A row of
Jaccard weighs p_i·E[1/(k + fn)], fn the true rows among those that are not given c: it
is greatest if these are the least probable ones.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

import numpy as np

from argmetric._ground.types import Floats, Integers
from argmetric.classes._climb import (
    Rows,
    exact_form,
    nodes,
    sums_of,
)
from argmetric.metrics import (
    ClassAgreement,
    ClassGain,
    ClassGMean,
    ClassMetric,
    ClassRatio,
)

LOOKS = 40  # numbers of rows at which a class is bounded exactly
NEAR = 1e-7  # of a bound: nearer is the error of the quadrature


def upper_bound(rows: Rows, metric: ClassMetric, labels: Integers) -> float:
    """A value that the expected metric of no labels exceeds; nan if none is known.

    It bounds the exact expectation. Where absent classes are left out it is wider by
    the expected share of classes without true rows. Limits only lower what labels can
    reach.
    """
    if isinstance(metric, ClassGain | ClassAgreement):
        return math.nan  # found exactly: there is nothing to bound
    if rows.n_groups != 1 or rows.p.shape[0] == 0:
        return math.nan
    if isinstance(metric, ClassGMean):
        return _bound_recalls(rows, labels, geometric=True)
    if not isinstance(metric, ClassRatio) or not exact_form(metric):
        return math.nan
    if metric.needs_truth:
        return metric.a / metric.b_t * _bound_recalls(rows, labels, geometric=False)
    return _bound_ratio(rows, metric, labels)


def _bound_recalls(rows: Rows, labels: Integers, *, geometric: bool) -> float:
    """A bound on the mean of the recalls of the classes that have true rows.

    The expected recall r_c, 0 where class c is absent, is a sum over its rows of
    p_i·E[1/(1 + T_-i)], T_-i the other true rows. Let S be the classes that are there
    with a chance of one half or more, or the likeliest one. Where exactly these are
    there, the mean is Σ r_c over S by their number, and a geometric mean is at most the
    mean of a_c·r_c for all a with a product of 1; elsewhere both are at most 1. An
    arithmetic mean over N of C classes is also at most Σ r_c / C + (C - N) / C. The
    geometric mean is below it.
    """
    mu, none, h, _ = (one[0] for one in sums_of(rows, labels))
    worth = np.empty_like(rows.p)
    for c in range(mu.size):
        worth[:, c] = _recall_parts(np.ascontiguousarray(rows.p[:, c]), mu[c])
    bound = (worth.max(axis=1).sum() + none.sum()) / mu.size
    often = none <= max(0.5, float(none.min()))
    other = none[often].sum() + (1.0 - none[~often]).sum()
    scale = np.ones(int(often.sum()))
    for again in (scale, _balanced(mu[often], h[often]) if geometric else scale):
        best = (worth[:, often] * again).max(axis=1).sum() / scale.size
        bound = min(bound, best + other)
    return float(min(bound + NEAR, 1.0))


@lru_cache(maxsize=1)
def _legendre() -> tuple[Floats, Floats]:
    return np.polynomial.legendre.leggauss(64)


def _recall_parts(p: Floats, mu: float) -> Floats:
    """p_i·E[1/(1 + T_-i)] of every row: p_i·∫₀¹ Π_{j≠i} (1 - p_j(1-s)) ds.

    The product falls as e^(-μ(1-s)): up to μ = 100, 64 nodes of Gauss and Legendre give
    the integral to 1e-12, above 8 of Laguerre to 1e-7.
    """
    from argmetric.classes.kernels.bound import weights_at

    if mu > 100.0:
        return _weights(p, 0.0, 1.0, 0.0, 1.0, mu)
    found, scale = np.empty(p.size), 1.0 + mu
    x, w = _legendre()
    s = (x + 1.0) / 2.0
    nodes_and_weights = -scale * np.log(s), w / 2.0 * scale / s
    weights_at(p, 0.0, 1.0, 0.0, 1.0, mu, *nodes_and_weights, found)
    return found


def _balanced(mu: Floats, h: Floats) -> Floats:
    """Factors of a product of 1 that make all recalls equal."""
    logs = np.log(mu) - np.log(np.maximum(h, 1e-3 * mu))
    return np.asarray(np.exp(logs - logs.mean()))


def _bound_ratio(rows: Rows, metric: ClassRatio, labels: Integers) -> float:
    p = rows.p
    mu, none, h, k = (one[0] for one in sums_of(rows, labels))
    below = metric.b_tp * h + metric.b_k * np.maximum(k, 1.0) + metric.b_t * mu
    value = np.where(k > 0.0, metric.a * h / below, 0.0)
    fall = metric.b_k * value
    if metric.b_tp != 0.0:  # one more row leaves the probability of the k-th behind
        fall = fall * [1.0 - _kth_largest(p[:, c], k[c]) for c in range(k.size)]
    slopes = (metric.a * p - fall) / below
    prices = [slopes.max(axis=1)]
    if (k == 0.0).any():  # classes that are better left empty need not set the price
        prices.append(slopes[:, k > 0.0].max(axis=1))
    return min(_bound_at(one, rows, metric, mu, none, k) for one in prices)


def _kth_largest(p: Floats, k: float) -> float:
    place = p.size - max(int(k), 1)
    return float(np.partition(p, place)[place])


def _bound_at(
    price: Floats, rows: Rows, metric: ClassRatio, mu: Floats, none: Floats, k: Floats
) -> float:
    n_classes = rows.p.shape[1]
    columns = np.ascontiguousarray(rows.p.T)
    most = np.array(
        [_most(columns[c], price, metric, mu[c], int(k[c])) for c in range(n_classes)]
    )
    total = float(price.sum())
    if math.isnan(metric.zero_division):
        # F_c summed over N classes that are there is at most N, so that leaving the
        # others out adds at most (C - N)/C to the mean over all of them
        bound = (total + np.maximum(most, 0.0).sum() + none.sum()) / n_classes
        return float(min(bound, 1.0))
    worth = metric.zero_division * none
    return float((total + np.maximum(most, worth).sum()) / n_classes)


def _most(p: Floats, price: Floats, metric: ClassRatio, mu: float, k: int) -> float:
    """Most of E F − Σ price over all rows that a class can be given.

    At some k it is the sum of the k largest parts, exactly. The span between two of
    them whose bound is highest is halved until no span matters, or after 40 looks.
    """
    jaccard, n = metric.b_tp != 0.0, p.size
    falling = np.sort(p)[::-1] if jaccard else p

    def look(k: int) -> tuple[int, float, float]:
        if jaccard:
            weights = p * _least_missed(falling[k:], k)
        else:
            weights = _weights(p, k, metric.a, metric.b_k, metric.b_t, mu)
        parts = np.partition(weights - price, n - k)[n - k :]
        return k, float(parts.sum()), float(parts[0])

    known = [look(one) for one in sorted({1, min(max(k, 1), n), n})]
    best = max(one[1] for one in known)
    spans = [(_most_between(*ends, jaccard), *ends) for ends in pairwise(known)]
    for _ in range(LOOKS):
        if not spans or max(spans)[0] <= best + NEAR / 10:
            break
        bound, low, high = max(spans)
        spans.remove((bound, low, high))
        middle = look((low[0] + high[0]) // 2)
        best = max(best, middle[1])
        for ends in ((low, middle), (middle, high)):
            spans.append((_most_between(*ends, jaccard), *ends))
    return max(best, max((one[0] for one in spans), default=best))


def _most_between(
    low: tuple[int, float, float], high: tuple[int, float, float], jaccard: bool
) -> float:
    """Bound for all k between two at which the sum and its least part are known.

    The sum of more parts rises by at most the least part for each, and that of fewer
    falls by at least as much. The weights of an F-score are convex in k and lie below
    the chord; those of Jaccard only fall.
    """
    (a, top, least), (b, high_top, high_least) = low, high
    if b - a < 2:
        return -math.inf
    between = np.arange(a + 1, b)
    left = top + (between - a) * least
    if jaccard:
        return float(left.max())
    share = (between - a) / (b - a)
    right = high_top - (b - between) * high_least
    return float(((1.0 - share) * left + share * right).max())


def _weights(
    p: Floats, k: float, a: float, b_k: float, b_t: float, mu: float
) -> Floats:
    """a·p_i·E[1/(b_k·k + b_t·(1 + T_-i))] of every row, T_-i the other true rows."""
    from argmetric.classes.kernels.bound import weights_at

    found = np.empty(p.size)
    weights_at(p, float(k), a, b_k, b_t, mu, *nodes(), found)
    return found


def _least_missed(others: Floats, k: int) -> float:
    """E[1/(k + fn)], fn the true rows among the others; as of a row surely true."""
    found = _weights(np.append(others, 1.0), k - 1, 1.0, 1.0, 1.0, others.sum())
    return float(found[-1])
