"""Kernels of a GPU that find the best count of rows of up to 1,024 labels.

Keys are scores in descending order. A program takes some rows and keeps everything in
registers; the threads of a warp share a row. Rows are padded to a power of two, so that
a thread has neighbouring items: sums along a row then pass through fewer threads.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _product(a, b):
    return a * b


@triton.jit
def _reciprocal(x):
    """1/x: a reciprocal in float32, and a step that cubes its error."""
    y = (1.0 / x.to(tl.float32)).to(tl.float64)
    e = 1.0 - x * y
    return y + y * (e + e * e)


@triton.jit
def _chances(key, LOGITS: tl.constexpr):
    """P and q = 1 - p of keys."""
    if LOGITS:
        small = tl.exp(-tl.abs(key))
        large = 1.0 / (1.0 + small)
        p = tl.where(key >= 0, large, small * large)
        q = tl.where(key >= 0, small * large, large)
    else:
        p = key
        q = 1.0 - key
    return p, q


@triton.jit
def _cut_between(upper, lower):
    """As `_decide.cut_between`."""
    middle = lower / 2.0 + upper / 2.0
    rounded = middle.to(tl.float32).to(tl.float64)
    finite = (upper < float("inf")) & (lower > float("-inf"))
    fits = finite & (lower < rounded) & (rounded <= upper)
    cut = tl.where(fits, middle, upper)
    return tl.where(upper == lower, float("nan"), cut)


@triton.jit
def _nodes_needed(s, low, step, mean, limit):
    """How many nodes add more than rounding: e^-lost bounds E[e^(-s·D)]."""
    lost = s * low + tl.maximum(mean - 1.0, 0.0) * (1.0 - tl.exp(-s * step))
    return tl.sum((lost < limit).to(tl.int32), 0)


@triton.jit
def _settle(
    curve,
    nothing,
    slack,
    key,
    col,
    row,
    rows,
    m,
    best_ptr,
    value_ptr,
    cut_ptr,
    N: tl.constexpr,
):
    """Store the least count within the slack of the best value, and its cut-off."""
    top = tl.maximum(tl.max(curve, 1), nothing)
    bar = top - tl.maximum(1e-12 * tl.abs(top), slack)
    tied = tl.where(curve >= bar[:, None], col + 1, N + 1)
    best = tl.where(nothing >= bar, 0, tl.min(tied, 1))
    chosen = best[:, None]
    here, next = col + 1 == chosen, col == chosen
    value = tl.where(best == 0, nothing, tl.sum(tl.where(here, curve, 0.0), 1))
    upper = tl.sum(tl.where(here, key, 0.0), 1)
    lower = tl.sum(tl.where(next, key, 0.0), 1)
    upper = tl.where(best == 0, float("inf"), upper)
    lower = tl.where(best == m, float("-inf"), lower)
    tl.store(best_ptr + row, best.to(tl.int64), mask=row < rows)
    tl.store(value_ptr + row, value, mask=row < rows)
    tl.store(cut_ptr + row, _cut_between(upper, lower), mask=row < rows)


@triton.jit
def sort_rows(
    x_ptr,
    key_ptr,
    rows,
    m,
    pad,
    ROWS: tl.constexpr,
    N: tl.constexpr,
):
    """Sort rows in descending order, and fill them up to N items."""
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None]
    col = tl.arange(0, N)[None, :]
    inside = (row < rows) & (col < m)
    key = tl.load(x_ptr + row * m + col, mask=inside, other=pad)
    key = tl.sort(key, descending=True)
    tl.store(key_ptr + row * N + col, key, mask=row < rows)


@triton.jit
def decide_rows(
    key_ptr,
    table_ptr,
    s_ptr,
    hit_ptr,
    miss_ptr,
    decay_ptr,
    best_ptr,
    value_ptr,
    cut_ptr,
    rows,
    m,
    n_nodes,
    zero,
    low,
    step,
    limit,
    ROWS: tl.constexpr,
    N: tl.constexpr,
    NODES: tl.constexpr,
    KIND: tl.constexpr,
    LOGITS: tl.constexpr,
):
    """Best counts by the sums of `_curves.ratio_curve`.

    Three kinds of denominators: F-beta (d1 = 0), Jaccard (d1 + d3 = 0) and the rest.
    """
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    item = tl.arange(0, N)
    line = row[:, None]
    col = item[None, :]
    key = tl.load(key_ptr + line * N + col, mask=line < rows, other=0.0)
    key = key.to(tl.float64)
    p, q = _chances(key, LOGITS)
    node = tl.arange(0, NODES)
    s = tl.load(s_ptr + node, mask=node < n_nodes, other=float("inf"))
    mean = tl.min(tl.where(row < rows, tl.sum(p, 1), m), 0)
    count = _nodes_needed(s, low, step, mean, limit)
    curve = p * 0.0
    for j in range(count):
        weight = tl.load(table_ptr + j * N + item)[None, :]
        u1 = tl.load(hit_ptr + j)
        u3 = tl.load(miss_ptr + j)
        if KIND == 0:
            phi = q + p * u1
            whole = (tl.reduce(phi, 1, _product) * u1)[:, None]
            hits = tl.cumsum(p * _reciprocal(phi), 1)
            curve += whole * weight * hits
        elif KIND == 1:
            phi = q + p * u3
            after = tl.associative_scan(phi, 1, _product, reverse=True)
            curve += weight * after * _reciprocal(phi)
        else:
            # Each factor with its own e^(-s·d2), as u1 may be above 1
            decay = tl.load(decay_ptr + j)
            phi = q * decay + p * (u1 * decay)
            before = tl.associative_scan(phi, 1, _product)
            # Below 1e-30 the product is rounding, and 1/φ is no float32
            hits = tl.cumsum(p * (u1 * decay) * _reciprocal(tl.maximum(phi, 1e-30)), 1)
            phi = q + p * u3
            after = tl.associative_scan(phi, 1, _product, reverse=True)
            curve += weight * before * (after / tl.maximum(phi, 1e-300)) * hits
    if KIND == 1:
        curve = curve * tl.cumsum(p, 1)
    curve = tl.where(col < m, curve, float("-inf"))
    nothing = zero * tl.reduce(q, 1, _product)
    slack = nothing * 0.0
    _settle(
        curve,
        nothing,
        slack,
        key,
        col,
        row,
        rows,
        m,
        best_ptr,
        value_ptr,
        cut_ptr,
        N,
    )


@triton.jit
def weigh_rows(
    key_ptr,
    nodes_ptr,
    table_ptr,
    edge_ptr,
    best_ptr,
    value_ptr,
    cut_ptr,
    rows,
    m,
    n_nodes,
    limit,
    ROWS: tl.constexpr,
    N: tl.constexpr,
    NODES: tl.constexpr,
    HITS: tl.constexpr,
    REJECTIONS: tl.constexpr,
    LOGITS: tl.constexpr,
):
    """Best counts of metrics in which every item has a weight of its own.

    Hits weigh a_i = p_i·E[f(1 + T without i)], rejections b_i the same of the misses.
    The value of k items is H(k)·Σ_{i≤k} a_i + R(k)·Σ_{i>k} b_i and what the table adds
    at T = 0 and T = n.
    """
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    item = tl.arange(0, N)
    line = row[:, None]
    col = item[None, :]
    key = tl.load(key_ptr + line * N + col, mask=line < rows, other=0.0)
    key = key.to(tl.float64)
    p, q = _chances(key, LOGITS)
    # As misses, what is behind the end is a certain 0
    miss = tl.where(col < m, q, 0.0)
    other = tl.where(col < m, p, 1.0)
    total = tl.sum(p, 1)
    node = tl.arange(0, NODES)
    s = tl.load(nodes_ptr + node, mask=node < n_nodes, other=float("inf"))
    a = p * 0.0
    b = p * 0.0
    if HITS:
        mean = tl.min(tl.where(row < rows, total, m), 0)
        for j in range(_nodes_needed(s, 1.0, 1.0, mean, limit)):
            w = tl.load(nodes_ptr + n_nodes + j)
            u = tl.load(nodes_ptr + 2 * n_nodes + j)
            phi = q + p * u
            whole = (tl.reduce(phi, 1, _product) * (w * u))[:, None]
            a += whole * p * _reciprocal(phi)
    if REJECTIONS:
        mean = tl.min(tl.where(row < rows, m - total, m), 0)
        for j in range(_nodes_needed(s, 1.0, 1.0, mean, limit)):
            w = tl.load(nodes_ptr + n_nodes + j)
            u = tl.load(nodes_ptr + 2 * n_nodes + j)
            phi = other + miss * u
            whole = tl.reduce(phi, 1, _product)[:, None]
            b += whole * (w * u) * miss * _reciprocal(phi)
    none = tl.reduce(q, 1, _product)
    every = tl.reduce(other, 1, _product)
    of_hits = tl.load(table_ptr + item)[None, :]
    of_rejections = tl.load(table_ptr + N + item)[None, :]
    at_none = tl.load(table_ptr + 2 * N + item)[None, :]
    at_every = tl.load(table_ptr + 3 * N + item)[None, :]
    offset = tl.load(edge_ptr + 3)
    curve = offset + of_hits * tl.cumsum(a, 1)
    curve += of_rejections * (tl.cumsum(b, 1, reverse=True) - b)
    curve += none[:, None] * at_none
    curve += every[:, None] * at_every
    within = 1.0 - none - every
    nothing = none * tl.load(edge_ptr) + within * tl.load(edge_ptr + 1)
    nothing += every * tl.load(edge_ptr + 2)
    curve = tl.where(col < m, curve, float("-inf"))
    certain = tl.minimum(tl.minimum(total, m - total), 1.0)
    slack = tl.load(edge_ptr + 4) * tl.maximum(certain, 0.0)
    _settle(
        curve,
        nothing,
        slack,
        key,
        col,
        row,
        rows,
        m,
        best_ptr,
        value_ptr,
        cut_ptr,
        N,
    )
