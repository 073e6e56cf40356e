"""Values of a row on a GPU: at expected counts, its maxima, and those of a window.

The table of a metric has a row of its numbers, and a row for each node: s, w, u of a
hit and of a miss, and powers of 1 - u of both. Its nodes are those of e^(-s·t), and for
MCC and kappa those of e^(-s(n-t)) = e^(-s·n)·e^(s·t) as nodes below 0.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import triton
import triton.language as tl

from argmetric._expected.kernels.nodes import TOLERANCE, exponential_sum, two_sided_sum
from argmetric.metrics import MCC, Metric, RatioForm
from argmetric.tensors._arrays import Tensor, require_torch
from argmetric.tensors._fused_rows import _nodes_needed, _product, _reciprocal

torch = require_torch("the fused kernel")
COLUMNS = tl.constexpr(48)
FARTHEST = 90.0  # e^(-s·t) with s·n above it is rounding where t is n/2 or more


def kind_of(metric: Metric) -> int:
    """Return the kind of a metric for kernels.

    0: a denominator without tp; 1: one of k and misses; 2: another; 3: MCC; 4: kappa.
    """
    form = metric.form
    if not isinstance(form, RatioForm):
        return 3 if isinstance(metric, MCC) else 4
    _, d1, _, d3 = form.d
    return 0 if d1 == 0 else 1 if d1 + d3 == 0 else 2


def pruning(form: RatioForm, n: int) -> tuple[float, float, float]:
    """Return low, step and limit of nodes that add less than rounding.

    D ≥ low + step·(T - 1) with a hit: nodes with s·low + (E[T]-1)·(1-e^(-s·step)) above
    the limit add less than rounding.
    """
    _, d1, d2, d3 = form.d
    low = d1 + d2 + d3
    step = min(d3, low)
    limit = -math.log(TOLERANCE) + math.log((d1 + d2 + d3 + d2 + d3) * n / low) + 1.0
    return low, step, limit


@lru_cache(maxsize=64)
def window_table(metric: Metric, n: int, device: object) -> Tensor:
    """Return numbers and nodes of a metric for rows of n items."""
    form, zero = metric.form, float(metric.value(0, 0, 0, n))
    if isinstance(form, RatioForm):
        _, d1, d2, d3 = form.d
        s, w = exponential_sum(1.0, *map(float, form.denominator_range(n, n)))
        w, rates, count = w * form.c[1], (d1 + d3, d3), s.size
        ahead = d2 if d1 == 0 else 0.0  # what a positive adds to low
        numbers = [d1, d2, d3, *pruning(form, n), zero, 0.0, ahead]
    else:
        rule = isinstance(metric, MCC)
        s, w = two_sided_sum(n) if rule else exponential_sum(1.0, 2.0, float(n) * n + n)
        near, count, rates = s * n < FARTHEST, s.size, (1.0, 1.0)
        s, w = np.append(s, -s[near]), np.append(w, (w * np.exp(-s * n))[near])
        limit = -math.log(TOLERANCE) + 3.0 * math.log(n) + 1.0
        floor = float(metric.tie_floor(n))
        numbers = [0.0, 0.0, 0.0, 1.0, 1.0, limit, zero, floor, 0.0]
    table = np.zeros((1 + s.size, COLUMNS.value))
    table[0, :11] = *numbers, s.size, count
    table[1:, 0], table[1:, 1] = s, w
    if isinstance(form, RatioForm):
        table[1:, 4], table[1:, 5] = np.exp(-s * (d1 + d2 + d3)), -s * (d1 + d3)
    powers = np.arange(1, 17)
    for i, rate in enumerate(rates):
        log_u = np.minimum(-s * rate, 690.0)
        table[1:, 2 + i] = np.exp(log_u)
        a = np.maximum(-np.expm1(log_u), -1e15)  # below it a node has no weight
        table[1:, 16 + 16 * i : 32 + 16 * i] = a[:, None] ** powers
    return torch.from_numpy(table).to(device)


@triton.jit
def _pick(x, at, power):
    """Return the number at a position of a short vector."""
    return tl.sum(tl.where(power == at, x, 0.0), 0)


@triton.jit
def _powers(y, x, FROM: tl.constexpr, TO: tl.constexpr):
    """Return sums of y, y·x, y·x² … at positions of a short vector."""
    power = tl.arange(0, 16)
    sums = tl.zeros((16,), dtype=tl.float64)
    for j in tl.static_range(FROM, TO):
        sums += tl.where(power == j, tl.sum(y, 0), 0.0)
        y = y * x
    return sums


@triton.jit
def rough_value(hits, k, counts, KIND: tl.constexpr):
    """Return the value at expected counts with one positive, but for a factor.

    A PMF is the table of a metric, the number of items, Σp and Σp².
    """
    table_ptr, n, mean, second = counts
    one = tl.where(mean > 0.0, 1.0 - second / tl.maximum(mean, 1e-300), 1.0)
    if KIND < 3:
        below = tl.load(table_ptr) * (hits + one) + tl.load(table_ptr + 1) * k
        value = hits / (below + tl.load(table_ptr + 2) * (mean + one))
    elif KIND == 3:
        value = (n * hits - k * mean) / tl.sqrt(tl.maximum(k * (n - k), 1.0))
    else:
        true = mean + one
        value = (n * hits - k * mean) / (n * (k + true) - 2.0 * k * true)
    return value


@triton.jit
def _items(row, kept, inside):
    """Return p of the rarer label, and 1 - p, of the entries at these positions.

    `flip` says that negatives are rarer. Positions outside give 0 and 1.
    """
    key = tl.load(row[0] + kept, mask=inside, other=0.0).to(tl.float64)
    x = tl.where(row[4], 1.0 - key, key)
    q = tl.where(row[4], key, 1.0 - key)
    return tl.where(inside, x, 0.0), tl.where(inside, q, 1.0)


@triton.jit
def _entries(row, at, end, BRACKET: tl.constexpr):
    """Return sorted entries: x and 1 - x of each, and its number of items."""
    _, end_ptr, width, _, flip = row
    kept = tl.where(flip, width - 1 - at, at)
    inside = at < end
    x, q = _items(row, kept, inside)
    each = inside.to(tl.int32)
    if BRACKET:
        last = tl.load(end_ptr + kept, mask=inside, other=0)
        each = last - tl.load(end_ptr + kept - 1, mask=inside & (kept >= 0), other=0)
    return x, q, each


@triton.jit
def _place(row, i, BRACKET: tl.constexpr):
    """Return the position in memory of the entry with the i-th item in sorted order.

    In a bracket an entry stands for several equal items, and `end_ptr` has their
    cumulative counts: a binary search, largest step first, for the last entry with at
    most i items before it. With `flip` entries are kept in reverse order.
    """
    _, end_ptr, width, length, flip = row
    at = i
    if BRACKET:
        at = i * 0
        for step in tl.static_range(13):
            probe = at + (4096 >> step)
            fits = probe <= width
            last = tl.where(flip, width - probe, probe) - 1
            before = tl.load(end_ptr + last, mask=fits, other=1) - 1
            before = tl.where(flip, length - before, before)
            at = tl.where(fits & (before <= i), probe, at)
    return tl.where(flip, width - 1 - at, at)


@triton.jit
def _best_place(
    row,
    counts,
    first,
    head,
    leads,
    SCAN: tl.constexpr,
    NODES: tl.constexpr,
    KIND: tl.constexpr,
    BRACKET: tl.constexpr,
):
    """Return the item at which the value is best: at expected counts, exact for MCC.

    MCC of k items is (n·A_k - k·A_n)/√(k(n-k)), A_k the sum of a_i = p_i·Σ lead_j/φ_ij
    over nodes. Along equal items it has no maximum but at an end: where the derivative
    of log((αk + β)/√(k(n-k))) is 0, the second one is (1/k + 1/(n-k))²/4.
    """
    table_ptr, n, _, _ = counts
    width = row[2]
    flip = row[4]
    node = tl.arange(0, NODES)
    top = tl.full((), float("-inf"), tl.float64)
    near = tl.full((), 0, tl.int32)
    seen = tl.full((), 0, tl.int32)
    hits = head
    for begin in range(0, width, SCAN):
        at = begin + tl.arange(0, SCAN)
        x, q, each = _entries(row, at, width, BRACKET)
        gain = x * each
        if KIND == 3:
            y = x * 0.0
            for j in range(tl.load(table_ptr + 9).to(tl.int32)):
                lead = _pick(leads, j, node)
                if lead > 0.0:
                    u = tl.load(table_ptr + COLUMNS * (1 + j) + 2)
                    y += lead * _reciprocal(q + x * u)
            gain = gain * y
        count = seen + tl.cumsum(each, 0)
        k = (first + count).to(tl.float64)
        value = rough_value(hits + tl.cumsum(gain, 0), k, counts, KIND)
        value = tl.where(at < width, value, float("-inf"))
        if KIND >= 3:
            value = tl.where(k < n, value, float("-inf"))
        # Of equal values that with the fewest positives
        high = tl.max(value, 0)
        slack = 1e-14 * tl.abs(high)
        tied = value >= high - slack
        least = tl.min(tl.where(tied, count, 0x7FFFFFFF), 0)
        most = tl.max(tl.where(tied, count, 0), 0)
        better = high > top + tl.where(flip, -slack, slack)
        near = tl.where(better, tl.where(flip, most, least) - 1, near)
        top = tl.maximum(top, high)
        hits += tl.sum(gain, 0)
        seen += tl.sum(each, 0)
    if KIND == 2:
        # Along equal items the value may fall from the first one on
        single = rough_value(tl.load(row[0]).to(tl.float64), 1.0, counts, KIND)
        near = tl.where((first == 0) & (single > top), 0, near)
    return near


@triton.jit
def _curve(
    counts,
    x,
    q,
    k,
    parts,
    WINDOW: tl.constexpr,
    POWERS: tl.constexpr,
    NODES: tl.constexpr,
    KIND: tl.constexpr,
):
    """Return expected values of the counts of a window, and the series' remainder.

    For MCC also the lead of every node, and A of the items ahead and of all.
    """
    table_ptr, n, mean, _ = counts
    before, after, ends = parts
    start_k, end_k = ends
    n_nodes = tl.load(table_ptr + 9).to(tl.int32)
    n_rare = tl.load(table_ptr + 10).to(tl.int32)
    power = tl.arange(0, 16)
    order = (power + 1).to(tl.float64)
    real = power < POWERS
    node = tl.arange(0, NODES)
    s = tl.load(
        table_ptr + COLUMNS * (1 + node), mask=node < n_rare, other=float("inf")
    )
    outside = before + after
    last_before = _pick(before, POWERS - 1, power) / POWERS
    last_after = _pick(after, POWERS - 1, power) / POWERS
    least = tl.load(table_ptr + 3)
    common = n_nodes - n_rare
    if KIND < 3:
        least += tl.load(table_ptr + 8) * start_k
    elif KIND == 4:
        least += n * start_k / tl.maximum(n - 2.0 * start_k, 1.0)
    step = tl.load(table_ptr + 4)
    rare = _nodes_needed(s, least, step, mean, tl.load(table_ptr + 5))
    if KIND == 4:
        rare = tl.where(2.0 * (start_k + 1.0) < n, rare, 0)
        common = tl.where(2.0 * end_k > n, common, 0)
    curve = tl.zeros((WINDOW,), dtype=tl.float64)
    slip = tl.zeros((WINDOW,), dtype=tl.float64)
    leads = tl.zeros((NODES,), dtype=tl.float64)
    nil = tl.full((), 0.0, tl.float64)
    ahead, whole, slip_ahead, slip_whole = nil, nil, nil, nil
    for j in range(rare + common):
        at = tl.where(j < rare, j, j - rare + n_rare)
        node_ptr = table_ptr + COLUMNS * (1 + at)
        w = tl.load(node_ptr + 1)
        u = tl.load(node_ptr + 2)
        rate = tl.load(node_ptr) * tl.load(table_ptr + 1)
        a = tl.load(node_ptr + 16)
        powers = tl.load(node_ptr + 16 + power, mask=real, other=0.0)
        left_hits = tl.abs(_pick(powers, POWERS - 1, power))
        if KIND == 1 or KIND == 2:
            miss = tl.load(node_ptr + 3)
            missed = tl.load(node_ptr + 32 + power, mask=real, other=0.0)
            left_after = last_after * _pick(missed, POWERS - 1, power)
            # A factor that underflows is 1e-30: it is divided out for its own item
            phi = tl.maximum(q + x * miss, 1e-30)
            behind = tl.associative_scan(phi, 0, _product, reverse=True)
            behind = behind * _reciprocal(phi)
            logs = -tl.sum(missed * after / order, 0)
        if KIND == 0:
            phi = q + x * u
            logs = -tl.sum(powers * outside / order, 0)
            share = tl.sum(powers * before, 0) / a
            lead = w * u * tl.reduce(phi, 0, _product)
            term = share + tl.cumsum(x * _reciprocal(phi), 0)
            term = term * (lead * tl.exp(logs - rate * k))
            left = (last_before + last_after) * left_hits
        elif KIND == 1:
            term = w * tl.exp(logs - rate * k) * behind
            left = left_after
        elif KIND == 2:
            of_hits = -tl.sum(powers * before / order, 0)
            share = u * tl.sum(powers * before, 0) / a
            if u > 1.0:
                # Where the series diverge: p·log u ≤ log φ ≤ log u, p ≤ p·u/φ ≤ 1
                log_u = tl.load(node_ptr + 5)
                sure = _pick(before, 0, power)
                of_hits = tl.maximum(of_hits, log_u * sure)
                of_hits = tl.minimum(of_hits, log_u * start_k)
                share = tl.minimum(tl.maximum(share, sure), start_k)
            # Each factor with its own e^(-s·d2), as u may be above 1
            hit = x * tl.load(node_ptr + 4)
            phi = q * tl.exp(-rate) + hit
            product = tl.associative_scan(phi, 0, _product)
            term = share + tl.cumsum(hit * _reciprocal(tl.maximum(phi, 1e-30)), 0)
            lead = w * tl.exp(logs + of_hits - rate * start_k)
            term = term * product * behind * lead
            left = last_before * left_hits + left_after
        else:
            phi = q + x * u
            y = x * _reciprocal(phi)
            y_ahead = tl.sum(powers * before, 0) / a
            y_whole = tl.sum(powers * outside, 0) / a + tl.sum(y, 0)
            logs = -tl.sum(powers * outside / order, 0)
            lead = w * u * tl.exp(logs) * tl.reduce(phi, 0, _product)
            left = (last_before + last_after) * left_hits
            if KIND == 3:
                term = lead * y
                leads += tl.where(node == at, lead, 0.0)
                ahead += lead * y_ahead
                whole += lead * y_whole
                slip_ahead += left * lead * y_ahead
                slip_whole += left * lead * y_whole
            else:
                side = tl.where(j < rare, k, n - k)
                apart = n - 2.0 * side
                safe = tl.maximum(apart, 1.0)
                gain = n * (y_ahead + tl.cumsum(y, 0)) - k * y_whole
                term = tl.exp(-tl.abs(tl.load(node_ptr)) * n * side / safe)
                term = 2.0 * lead / safe * term * gain
                term = tl.where(apart > 0.0, term, 0.0)
        curve += term
        slip += tl.abs(term) * left
    if KIND == 1 or KIND == 4:
        hits = _pick(before, 0, power) + tl.cumsum(x, 0)
        if KIND == 1:
            curve = curve * hits
            slip = slip * hits
        else:
            half = 4.0 / n * (hits - mean * k / n)
            curve = tl.where(2.0 * k == n, half, curve)
    elif KIND == 3:
        scale = 1.0 / tl.sqrt(tl.maximum(k * (n - k), 1.0))
        curve = (n * (ahead + tl.cumsum(curve, 0)) - k * whole) * scale
        slip = n * (slip_ahead + tl.cumsum(slip, 0)) - k * slip_whole
        slip = tl.abs(slip) * scale
    return curve, slip, (leads, ahead, whole)
