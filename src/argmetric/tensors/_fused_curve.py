"""Parts of the kernel that settles a window: rough values, rivals, sums, the curve."""

from __future__ import annotations

import triton
import triton.language as tl

from argmetric.tensors._arrays import require_torch
from argmetric.tensors._fused_rows import (
    _nodes_needed,
    _product,
    _reciprocal,
)

torch = require_torch("the fused kernel")


@triton.jit
def _larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def _smaller(a, b):
    return tl.minimum(a, b)


@triton.jit
def _pick(x, at, power):
    """The number at a place of a short vector."""
    return tl.sum(tl.where(power == at, x, 0.0), 0)


@triton.jit
def rough_value(hits, k, n, mean, second, table_ptr, KIND: tl.constexpr):
    """As `_pixels.rough_value`, but for a factor."""
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
def _kept(i, split, copies, width, flip):
    """Where the i-th item is kept: one stands for all copies."""
    i = tl.where(i <= split, i, tl.maximum(i - copies + 1, split))
    return tl.where(flip, width - 1 - i, i)


@triton.jit
def _items(key_ptr, at, end, width, flip):
    """Kept items in order, as chances of what is rare, and the scores."""
    kept = tl.where(flip, width - 1 - at, at)
    p = tl.load(key_ptr + kept, mask=at < end, other=0.0).to(tl.float64)
    return tl.where(at < end, tl.where(flip, 1.0 - p, p), 0.0), p


@triton.jit
def _rough_best(
    key_ptr,
    table_ptr,
    first,
    head,
    width,
    copies,
    same,
    flip,
    n,
    mean,
    second,
    SCAN: tl.constexpr,
    KIND: tl.constexpr,
):
    """The best value at expected counts, its item, and the item with copies."""
    top = tl.full((), float("-inf"), tl.float64)
    near = tl.full((), 0, tl.int32)
    split = tl.full((), 0, tl.int32)
    seen = tl.full((), 0, tl.int32)
    hits = head
    for begin in range(0, width, SCAN):
        at = begin + tl.arange(0, SCAN)
        x, p = _items(key_ptr, at, width, width, flip)
        equal = (at < width) & (p == same)
        each = tl.where(at < width, tl.where(equal, copies, 1), 0)
        split = tl.maximum(split, tl.max(tl.where(equal, at, 0), 0))
        count = seen + tl.cumsum(each, 0)
        mass = hits + tl.cumsum(x * each, 0)
        k = (first + count).to(tl.float64)
        rough = rough_value(mass, k, n, mean, second, table_ptr, KIND)
        rough = tl.where(at < width, rough, float("-inf"))
        high = tl.max(rough, 0)
        best = tl.min(tl.where(rough == high, count, 0x7FFFFFFF), 0)
        near = tl.where(high > top, best - 1, near)
        top = tl.maximum(top, high)
        hits += tl.sum(x * each, 0)
        seen += tl.sum(each, 0)
    return top, near, split


@triton.jit
def _has_rival(
    key_ptr,
    table_ptr,
    top,
    near,
    start,
    first,
    head,
    width,
    flip,
    n,
    mean,
    second,
    SCAN: tl.constexpr,
    WINDOW: tl.constexpr,
):
    """Whether MCC at expected counts has another maximum that is nearly as good.

    Chances of T without an item differ by 1/mean of the value, so that two counts are
    compared to so much of the share of items between them.
    """
    rival = tl.full((), 0, tl.int32)
    high = tl.full((), float("-inf"), tl.float64)
    reach = tl.full((), float("-inf"), tl.float64)
    low = tl.full((), float("inf"), tl.float64)
    hits = head
    best = (first + near + 1).to(tl.float64)
    share = 4.0 / tl.maximum(tl.minimum(best, n - best), 1.0)
    for begin in range(0, width, SCAN):
        at = begin + tl.arange(0, SCAN)
        x, _ = _items(key_ptr, at, width, width, flip)
        k = (first + at + 1).to(tl.float64)
        mass = hits + tl.cumsum(x, 0)
        rough = rough_value(mass, k, n, mean, second, table_ptr, 3)
        doubt = tl.minimum(share * tl.abs(k - best), 1.0) * 2.0 / tl.maximum(mean, 2.0)
        upper = rough + top * doubt
        early = tl.where(at < start, rough, float("-inf"))
        most = tl.maximum(tl.associative_scan(early, 0, _larger), high)
        upper_early = tl.where(at < start, upper, float("-inf"))
        good = tl.maximum(tl.associative_scan(upper_early, 0, _larger), reach)
        falls = (at < start) & (good >= top) & (rough < most * (1.0 - 1e-9))
        behind = (at >= start + WINDOW) & (at < width)
        late = tl.where(behind, rough, float("inf"))
        least = tl.minimum(tl.associative_scan(late, 0, _smaller), low)
        rises = behind & (upper >= top) & (rough > least * (1.0 + 1e-9))
        rival = tl.maximum(rival, tl.max((falls | rises).to(tl.int32), 0))
        high = tl.max(most, 0)
        reach = tl.max(good, 0)
        low = tl.min(least, 0)
        hits += tl.sum(x, 0)
    return rival


@triton.jit
def _sums_around(
    key_ptr,
    start,
    beside,
    split,
    copies,
    width,
    flip,
    power,
    SCAN: tl.constexpr,
    WINDOW: tl.constexpr,
    POWERS: tl.constexpr,
):
    """Sums of powers of the kept items before a window, behind it, and of all."""
    before = tl.zeros((16,), dtype=tl.float64)
    after = tl.zeros((16,), dtype=tl.float64)
    inside = tl.zeros((16,), dtype=tl.float64)
    for begin in range(0, beside, SCAN):
        i = begin + tl.arange(0, SCAN)
        x, _ = _items(key_ptr, i, beside, width, flip)
        each = tl.where(i == split, copies, 1)
        at = tl.where(i <= split, i, i + copies - 1)
        y = x * tl.minimum(tl.maximum(start - at, 0), each)
        z = x * tl.minimum(tl.maximum(at + each - start - WINDOW, 0), each)
        v = x * each
        for j in tl.static_range(POWERS):
            before += tl.where(power == j, tl.sum(y, 0), 0.0)
            after += tl.where(power == j, tl.sum(z, 0), 0.0)
            inside += tl.where(power == j, tl.sum(v, 0), 0.0)
            y = y * x
            z = z * x
            v = v * x
    return before, after, inside


@triton.jit
def _curve(
    table_ptr,
    x,
    q,
    k,
    start_k,
    end_k,
    before,
    after,
    mean,
    n,
    n_nodes,
    n_rare,
    power,
    WINDOW: tl.constexpr,
    POWERS: tl.constexpr,
    NODES: tl.constexpr,
    KIND: tl.constexpr,
):
    """Expected values of the counts of a window, and what the series leave out."""
    order = (power + 1).to(tl.float64)
    real = power < POWERS
    node = tl.arange(0, NODES)
    s = tl.load(table_ptr + 48 * (1 + node), mask=node < n_rare, other=float("inf"))
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
    ahead = tl.full((), 0.0, tl.float64)
    whole = tl.full((), 0.0, tl.float64)
    slip_ahead = tl.full((), 0.0, tl.float64)
    slip_whole = tl.full((), 0.0, tl.float64)
    for j in range(rare + common):
        node_ptr = table_ptr + 48 * (1 + tl.where(j < rare, j, j - rare + n_rare))
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
            phi = q + x * miss
            behind = tl.associative_scan(phi, 0, _product, reverse=True)
            behind = behind / tl.maximum(phi, 1e-300)
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
            # Bounds where the series diverge
            of_hits = -tl.sum(powers * before / order, 0)
            share = tl.sum(powers * before, 0) / a
            most = tl.maximum(_pick(before, 0, power), 0.0)
            if u > 1.0:
                log_u = -tl.load(node_ptr) * (
                    tl.load(table_ptr) + tl.load(table_ptr + 2)
                )
                of_hits = tl.minimum(of_hits, log_u * start_k)
                share = tl.minimum(tl.maximum(share, 0.0), most)
            # Each factor with its own e^(-s·d2), as u may be above 1
            phi = q + x * u
            product = tl.associative_scan(phi * tl.exp(-rate), 0, _product)
            term = share + tl.cumsum(x * _reciprocal(tl.maximum(phi, 1e-30)), 0)
            lead = w * u * tl.exp(logs + of_hits - rate * start_k)
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
    return curve, slip
