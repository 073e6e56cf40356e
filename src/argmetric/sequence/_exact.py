"""Decode exactly: metrics that are affine in tp, and utilities of windows.

The general F-maximiser: for any joint distribution of the labels and Φ(tp, k, s) =
a(k, s)·tp + b(k, s), the best set of k labels is made of the k largest
Δ_ik = Σ_s P(y_i = 1, S = s)·a(k, s), and the best k wins (Dembczyński et al. 2011). For
F-measures Δ needs no count distribution: 1/(k + b·S) is a sum of exponentials, and
E[y_i·exp(-t·S)] a forward-backward pass.

The expectation of a utility that adds up over positions or windows is a sum of costs,
each of one window of z: the best z is a shortest path through the windows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from argmetric._expected.kernels.nodes import exponential_sum
from argmetric._ground.types import Floats, Integers
from argmetric.metrics import AffineForm, ItemForm, MeanForm, Metric, RatioForm
from argmetric.sequence._models import Chain
from argmetric.sequence._segmentation import Pk, WindowDiff, WindowUtility, count_ones
from argmetric.sequence._utilities import Hamming, SimpleFunction, ZeroOne

BLOCK = 256  # columns of Δ at a time
SMALL_TABLE = 60  # sizes up to which all cells of a custom metric are looked at
MAX_LENGTH = 4000  # for distributions of counts: O(n²) memory, O(n³) time


@dataclass(frozen=True, eq=False)
class Maximum:
    """Best labels, and the best expected metric of every number of positives."""

    labels: Integers
    expected: float
    curve: Floats


def is_affine(metric: Metric, n: int) -> bool:
    """Return whether the metric is affine in tp at fixed k and t."""
    form = metric.form
    if isinstance(form, RatioForm):
        return form.d[1] == 0
    if isinstance(form, MeanForm | ItemForm | AffineForm):
        return True
    if n > SMALL_TABLE:
        return False
    tp, k, t = np.mgrid[: n + 1, : n + 1, : n + 1]
    possible = (tp <= np.minimum(k, t)) & (tp >= k + t - n)
    tp, k, t = (np.where(possible, x, 0) for x in (tp, k, t))
    values = np.where(possible, metric.value(tp, k, t, n), math.nan)
    bends = np.diff(values, 2, axis=0)
    return bool(np.nanmax(np.abs(bends), initial=0.0) <= 1e-12 * np.nanmax(abs(values)))


def maximise(metric: Metric, chain: Chain) -> Maximum:
    """Return the labels with the best expected metric under a chain, exactly."""
    form = metric.form
    fast = (
        isinstance(form, RatioForm)
        and form.counts_hits_only
        and form.c[1] > 0
        and form.d[0] >= 0
        and form.d[1] == 0
        and min(form.d[2:]) > 0
    )
    chain = chain.at_least(1)
    if fast:
        assert isinstance(form, RatioForm)
        # Denominator d0·n + d2·k + d3·S as a sum of exponentials: O(nQ), then n·Q·n.
        from argmetric.sequence.kernels.automata import tilted_joint

        n = chain.n
        d0, _, d2, d3 = form.d
        nodes, weights = exponential_sum(1.0, d0 * n + d2 + d3, (d0 + d2 + d3) * n)
        joint = np.empty((n, nodes.size))
        tilted_joint(chain.steps, d3 * nodes, joint)
        joint *= form.c[1] * weights

        def gains(k: Integers) -> Floats:
            return np.asarray(joint @ np.exp(-np.outer(nodes, d0 * n + d2 * k)))

        curve = np.empty(n + 1)
        for first in range(1, n + 1, BLOCK):
            k = np.arange(first, min(first + BLOCK, n + 1))
            curve[k] = top_sums(gains(k), k)
        none = float(np.prod(chain.steps[:, 0, 0]))
        empty = float(metric.value(0, 0, 0, n))
        if math.isnan(empty):
            curve[0] = 0.0 if none < 1.0 else math.nan
        else:
            curve[0] = none * empty
        best = best_size(metric, curve)
        labels = np.zeros(n, dtype=np.int64)
        if best:
            labels = mark_top(gains(np.array([best]))[:, 0], best)
        return Maximum(labels, float(curve[best]), curve)
    joint, pmf = count_pmfs(chain, metric.name)
    return _by_counts(metric, joint, pmf)


def count_pmfs(chain: Chain, name: str) -> tuple[Floats, Floats]:
    """Return P(y_i = 1, S = s) of shape (n, n + 1), and P(S = s) of shape (n + 1,)."""
    from argmetric.sequence.kernels.automata import count_joint

    n = chain.n
    if n > MAX_LENGTH:
        raise ValueError(
            f"decoding for {name} supports at most {MAX_LENGTH:,} labels; this "
            f"sequence has {n:,} (F-measures have no such limit)"
        )
    joint = np.zeros((n + 1, n + 1))
    count_joint(chain.at_least(1).steps, joint)
    return joint[:n], joint[n]


def top_sums(
    gains: Floats, sizes: Integers, keep: Callable[[int, Floats], None] | None = None
) -> Floats:
    """Return the sum of the k largest entries of every column, k by column."""
    n = gains.shape[0]
    sums = np.empty(sizes.size)
    for j, k in enumerate(sizes.tolist()):
        column = gains[:, j]
        if keep is not None:
            keep(k, column)
        if k in (0, n):
            sums[j] = column.sum() if k else 0.0
        else:
            sums[j] = np.partition(column, n - k)[n - k :].sum()
    return sums


def mark_top(column: Floats, k: int) -> Integers:
    """Return labels that mark the k largest entries; ties go to the earlier one."""
    labels = np.zeros(column.size, dtype=np.int64)
    labels[np.argsort(-column, kind="stable")[:k]] = 1
    return labels


def slopes(metric: Metric, k: Integers, n: int) -> tuple[Floats, Floats]:
    """Return a(k, s) and b(k, s) with value = a·tp + b: the chord over feasible tp."""
    s = np.arange(n + 1)[None, :]
    column = k[:, None]
    low, high = np.maximum(0, column + s - n), np.minimum(column, s)
    at_low, at_high = (metric.value(tp, column, s, n) for tp in (low, high))
    slope = (at_high - at_low) / np.maximum(high - low, 1)
    return slope, at_low - slope * low


def affine_mean(metric: Metric, z: Integers, chain: Chain) -> tuple[float, int]:
    """Return E[metric | defined] from E[tp; S = s], and the number of states.

    The metric has to be affine in tp.
    """
    from argmetric.sequence.kernels.automata import hit_counts

    n = chain.n
    pmf, hits = np.zeros(n + 1), np.zeros(n + 1)
    total = hit_counts(chain.steps, z, pmf, hits)
    slope, offset = slopes(metric, np.array([int(z.sum())]), n)
    known = ~np.isnan(offset[0])
    mean = float(slope[0][known] @ hits[known] + offset[0][known] @ pmf[known])
    if not known.all():
        mass = float(pmf[known].sum())
        mean = mean / mass if mass > 0 else math.nan
    return mean, int(total)


def _by_counts(metric: Metric, joint: Floats, pmf: Floats) -> Maximum:
    """Maximise a metric that is affine in tp, from the distributions of counts."""
    n = joint.shape[0]
    sign = 1.0 if metric.greater_is_better else -1.0
    curve = np.empty(n + 1)

    def gains(k: Integers) -> tuple[Floats, Floats, Floats]:
        """Return gains of the rows, base value and mass, for each k."""
        slope, offset = slopes(metric, k, n)
        known = ~np.isnan(offset)
        mass = known @ pmf
        base = np.where(known, offset, 0.0) @ pmf
        return joint @ np.where(known, sign * slope, 0.0).T, base, mass

    for first in range(0, n + 1, BLOCK):
        k = np.arange(first, min(first + BLOCK, n + 1))
        delta, base, mass = gains(k)
        total = sign * top_sums(delta, k) + base
        if math.isnan(metric.zero_division):
            total = np.divide(
                total, mass, out=np.full(k.size, math.nan), where=mass > 0
            )
        curve[k] = total
    best = best_size(metric, curve)
    labels = mark_top(gains(np.array([best]))[0][:, 0], best)
    return Maximum(labels, float(curve[best]), curve)


def best_size(metric: Metric, curve: Floats) -> int:
    """Return the best k, the smallest one in a tie; nan is never chosen."""
    sign = 1.0 if metric.greater_is_better else -1.0
    gain = np.where(np.isnan(curve), -math.inf, sign * curve)
    top = float(gain.max())
    if top == -math.inf:
        return 0
    margin = 1e-12 * abs(top) + float(metric.tie_floor(curve.size - 1))
    return int(np.argmax(gain >= top - margin))


MAX_DECODED_WINDOW = 12  # 2**window costs for every position


def decode_windows(function: SimpleFunction, chain: Chain) -> Integers | None:
    """Return the best labels for a utility of windows, or None for another utility."""
    if isinstance(function, Hamming):
        return (chain.marginals() > 0.5).astype(np.int64)
    if isinstance(function, ZeroOne):
        return most_probable(chain)
    if isinstance(function, Pk):
        return _decode_pk(chain, function.window)
    if (
        isinstance(function, WindowDiff | WindowUtility)
        and function.window <= MAX_DECODED_WINDOW
    ):
        # Expected cost of every window of z at every position, 0 before the first.
        w = function.window
        pmfs = chain.windows(w)
        codes = np.arange(1 << w)
        if isinstance(function, WindowDiff):
            ones = count_ones(codes)
            counts = np.eye(w + 1)[ones]
            costs = 1.0 - (pmfs @ counts)[:, ones]
        else:
            sign = -1.0 if function.greater_is_better else 1.0
            costs = sign * pmfs @ function.losses(codes).T
        costs[: w - 1] = 0.0
        return shortest_path(np.asarray(costs), 1 << function.window - 1)
    return None


def _decode_pk(chain: Chain, window: int) -> Integers:
    """Return the best labels for P_k.

    Viterbi over the labels since the last boundary of z: O(n·window).
    """
    n, w = chain.n, window
    none = p_window_empty(chain, w)
    score = np.full(w + 1, np.inf)
    score[w] = 0.0
    jump, far = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for i in range(n):
        moved = np.empty(w + 1)
        jump[i] = score.argmin()
        moved[0] = score[jump[i]]
        moved[1:] = score[:-1]
        far[i] = w if score[w] < score[w - 1] else w - 1
        moved[w] = score[far[i]]
        if i >= w - 1:
            moved[:w] += none[i - w + 1]
            moved[w] += 1.0 - none[i - w + 1]
        score = moved
    labels = np.zeros(n, dtype=np.int64)
    state = int(score[::-1].argmin())
    state = w - state
    for i in range(n - 1, -1, -1):
        if state == 0:
            labels[i], state = 1, int(jump[i])
        elif state == w:
            state = int(far[i])
        else:
            state -= 1
    return labels


def most_probable(chain: Chain) -> Integers:
    """Return the label sequence with the highest probability (Viterbi)."""
    with np.errstate(divide="ignore"):
        costs = -np.log(chain.at_least(1).steps)
    return shortest_path(costs.reshape(chain.n, -1), costs.shape[1])


def shortest_path(costs: Floats, size: int) -> Integers:
    """Return the labels with the least sum of costs[i, window that ends at i].

    There are `size` histories, those of the window without its last label.
    """
    score = np.full(size, np.inf)
    score[0] = 0.0
    oldest = np.zeros((costs.shape[0], size), dtype=np.int64)
    for i, cost in enumerate(costs):
        both = (np.repeat(score, 2) + cost).reshape(2, size)
        oldest[i] = both.argmin(axis=0)  # the label that is forgotten
        score = both.min(axis=0)
    labels, state = np.zeros(len(costs), dtype=np.int64), int(score.argmin())
    for i in range(labels.size - 1, -1, -1):
        window = int(oldest[i, state]) * size + state
        labels[i], state = window & 1, window >> 1
    return labels


def p_window_empty(chain: Chain, window: int) -> Floats:
    """Return P(no 1 among the labels of a window), for every window."""
    count, size = chain.n - window + 1, chain.steps.shape[1]
    mass = chain.histories()[:count]
    after = (np.arange(size) << 1) & (size - 1)
    for j in range(window):
        moved = np.zeros_like(mass)
        part = mass * chain.steps[j : j + count, :, 0]
        for h in range(size):
            moved[:, after[h]] += part[:, h]
        mass = moved
    return np.asarray(mass.sum(axis=1))
