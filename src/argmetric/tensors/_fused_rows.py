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
    """Return 1/x: a reciprocal in float32, and a step that cubes its error."""
    y = (1.0 / x.to(tl.float32)).to(tl.float64)
    e = 1.0 - x * y
    return y + y * (e + e * e)


@triton.jit
def _join_runs(probability, hit, next_probability, next_hit):
    """Return Π φ of two runs of items, and Σ_i p_i·u·Π_{j≠i} φ_j of both."""
    return (
        probability * next_probability,
        hit * next_probability + probability * next_hit,
    )


@triton.jit
def _probabilities(key, LOGITS: tl.constexpr):
    """Return p and q = 1 - p of keys."""
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
def _read_rows(
    key_ptr, rows, ROWS: tl.constexpr, N: tl.constexpr, LOGITS: tl.constexpr
):
    """Return the rows of a program, their keys, and p and q."""
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    at = row[:, None] * N + tl.arange(0, N)[None, :]
    key = tl.load(key_ptr + at, mask=row[:, None] < rows, other=0.0).to(tl.float64)
    p, q = _probabilities(key, LOGITS)
    return row, key, p, q


@triton.jit
def _as_misses(p, q, m, N: tl.constexpr):
    """Return q and p of items, for sums over misses; padding adds nothing."""
    inside = tl.arange(0, N)[None, :] < m
    return tl.where(inside, q, 0.0), tl.where(inside, p, 1.0)


@triton.jit
def _cut_between(upper, lower):
    """Return what `_best_rows.cut_between` does."""
    middle = lower / 2.0 + upper / 2.0
    rounded = middle.to(tl.float32).to(tl.float64)
    finite = (upper < float("inf")) & (lower > float("-inf"))
    fits = finite & (lower < rounded) & (rounded <= upper)
    cut = tl.where(fits, middle, upper)
    return tl.where(upper == lower, float("nan"), cut)


@triton.jit
def _nodes_needed(s, low, step, mean, limit):
    """Return the number of nodes that matter: e^-lost bounds E[e^(-s·D)]."""
    lost = s * low + tl.maximum(mean - 1.0, 0.0) * (1.0 - tl.exp(-s * step))
    return tl.sum((lost < limit).to(tl.int32), 0)


@triton.jit
def _settle(curve, nothing, slack, key, row, rows, m, found_ptr, N: tl.constexpr):
    """Store the least count within the slack of the best value, and its cut-off."""
    col = tl.arange(0, N)[None, :]
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
    tl.store(found_ptr + row, best.to(tl.float64), mask=row < rows)
    tl.store(found_ptr + rows + row, value, mask=row < rows)
    cut = _cut_between(upper, lower)
    tl.store(found_ptr + 2 * rows + row, cut, mask=row < rows)


@triton.jit
def sort_rows(x_ptr, key_ptr, rows, m, pad, ROWS: tl.constexpr, N: tl.constexpr):
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
    nodes_ptr,
    table_ptr,
    found_ptr,
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
    """Write best counts by the sums of `_curves.ratio_curve`.

    Three kinds of denominators: F-beta (d1 = 0), Jaccard (d1 + d3 = 0) and the rest.
    """
    row, key, p, q = _read_rows(key_ptr, rows, ROWS, N, LOGITS)
    item = tl.arange(0, N)
    col = item[None, :]
    node = tl.arange(0, NODES)
    s = tl.load(nodes_ptr + node, mask=node < n_nodes, other=float("inf"))
    mean = tl.min(tl.where(row < rows, tl.sum(p, 1), m), 0)
    count = _nodes_needed(s, low, step, mean, limit)
    curve = p * 0.0
    for j in range(count):
        weight = tl.load(table_ptr + j * N + item)[None, :]
        u1 = tl.load(nodes_ptr + n_nodes + j)
        u3 = tl.load(nodes_ptr + 2 * n_nodes + j)
        if KIND == 0:
            phi = q + p * u1
            whole = (tl.reduce(phi, 1, _product) * u1)[:, None]
            hits = tl.cumsum(p * _reciprocal(phi), 1)
            curve += whole * weight * hits
        else:
            # A factor that underflows is 1e-30: it is divided out for its own item
            phi = tl.maximum(q + p * u3, 1e-30)
            after = tl.associative_scan(phi, 1, _product, reverse=True)
            after *= _reciprocal(phi)
            if KIND == 2:
                # Each factor with its own e^(-s·d2), as u of a hit may be above 1
                decay = tl.load(nodes_ptr + 3 * n_nodes + j)
                hit = p * u1
                _, hits = tl.associative_scan((q * decay + hit, hit), 1, _join_runs)
                after *= hits
            curve += weight * after
    if KIND == 1:
        curve = curve * tl.cumsum(p, 1)
    curve = tl.where(col < m, curve, float("-inf"))
    nothing = zero * tl.reduce(q, 1, _product)
    slack = nothing * 0.0
    _settle(curve, nothing, slack, key, row, rows, m, found_ptr, N)


@triton.jit
def _weights(x, rest, s, nodes_ptr, n_nodes, real, limit):
    """Return x_i·E[f(1 + T without i)] of items with probabilities x.

    f is the sum of nodes.
    """
    out = x * 0.0
    mean = tl.min(tl.where(real, tl.sum(x, 1), float("inf")), 0)
    for j in range(_nodes_needed(s, 1.0, 1.0, mean, limit)):
        w = tl.load(nodes_ptr + n_nodes + j)
        u = tl.load(nodes_ptr + 2 * n_nodes + j)
        phi = rest + x * u
        whole = (tl.reduce(phi, 1, _product) * (w * u))[:, None]
        out += whole * x * _reciprocal(phi)
    return out


@triton.jit
def weigh_rows(
    key_ptr,
    nodes_ptr,
    table_ptr,
    edge_ptr,
    found_ptr,
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
    """Write best counts of metrics in which every item has a weight of its own.

    Hits weigh a_i = p_i·E[f(1 + T without i)], rejections b_i the same of the misses.
    The value of k items is H(k)·Σ_{i≤k} a_i + R(k)·Σ_{i>k} b_i and what the table adds
    at T = 0 and T = n.
    """
    row, key, p, q = _read_rows(key_ptr, rows, ROWS, N, LOGITS)
    item = tl.arange(0, N)
    col = item[None, :]
    miss, other = _as_misses(p, q, m, N)
    total = tl.sum(p, 1)
    node = tl.arange(0, NODES)
    s = tl.load(nodes_ptr + node, mask=node < n_nodes, other=float("inf"))
    a = p * 0.0
    b = p * 0.0
    if HITS:
        a = _weights(p, q, s, nodes_ptr, n_nodes, row < rows, limit)
    if REJECTIONS:
        b = _weights(miss, other, s, nodes_ptr, n_nodes, row < rows, limit)
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
    _settle(curve, nothing, slack, key, row, rows, m, found_ptr, N)


@triton.jit
def mean_rows(
    key_ptr,
    table_ptr,
    edge_ptr,
    found_ptr,
    rows,
    m,
    count,
    ROWS: tl.constexpr,
    N: tl.constexpr,
    NODES: tl.constexpr,
    LOGITS: tl.constexpr,
):
    """Write best counts of metrics that are affine in tp and t.

    The table has the value without hits and misses at k = 1 … n, and what a hit and a
    miss add; an edge the same of k = 0, and the tie floor.
    """
    row, key, p, _q = _read_rows(key_ptr, rows, ROWS, N, LOGITS)
    item = tl.arange(0, N)
    total = tl.sum(p, 1)
    curve = tl.load(table_ptr + item)[None, :]
    curve += tl.cumsum(p, 1) * tl.load(table_ptr + N + item)[None, :]
    missed = tl.cumsum(p, 1, reverse=True) - p
    curve += missed * tl.load(table_ptr + 2 * N + item)[None, :]
    curve = tl.where(item[None, :] < m, curve, float("-inf"))
    nothing = tl.load(edge_ptr) + total * tl.load(edge_ptr + 2)
    certain = tl.minimum(tl.minimum(total, m - total), 1.0)
    slack = tl.load(edge_ptr + 3) * tl.maximum(certain, 0.0)
    _settle(curve, nothing, slack, key, row, rows, m, found_ptr, N)


@triton.jit
def agree_rows(
    key_ptr,
    nodes_ptr,
    table_ptr,
    edge_ptr,
    found_ptr,
    rows,
    m,
    n_nodes,
    limit,
    ROWS: tl.constexpr,
    N: tl.constexpr,
    NODES: tl.constexpr,
    KAPPA: tl.constexpr,
    LOGITS: tl.constexpr,
):
    """Write best counts of (n·tp - k·t)·f(k, t): MCC and kappa.

    f is a sum of e^(-s·t) and of e^(-s(n-t)). E[(n·tp - k·t)·e^(-s·t)] = G·u·(n·Y_k -
    k·Y_n) with G = Π φ_i and Y_k = Σ_{i≤k} p_i/φ_i; p·u/φ = 1 - q/φ, so that -q takes
    the place of p·u where positives are likely, and nothing cancels. The table has one
    row for MCC, and one for each node of kappa: below k = n/2 its denominator is n - 2k
    times c + t with c = n·k/(n - 2k); above that the classes are exchanged.
    """
    row, key, p, q = _read_rows(key_ptr, rows, ROWS, N, LOGITS)
    item = tl.arange(0, N)
    col = item[None, :]
    miss, other = _as_misses(p, q, m, N)
    total = tl.sum(p, 1)
    few = total[:, None] <= 0.5 * m
    z = tl.where(few, p, -miss)
    k = (col + 1).to(tl.float64)
    node = tl.arange(0, NODES)
    s = tl.load(nodes_ptr + node, mask=node < n_nodes, other=float("inf"))
    curve = p * 0.0
    for side in tl.static_range(2):
        mean = total if side == 0 else m - total
        mean = tl.min(tl.where(row < rows, mean, m), 0)
        early = 2 * (col + 1) < m if side == 0 else 2 * (col + 1) > m
        for j in range(_nodes_needed(s, 1.0, 1.0, mean, limit)):
            u = tl.load(nodes_ptr + n_nodes + j)
            if side == 0:
                phi = q + p * u
                factor = tl.where(few, u, 1.0)
            else:
                phi = other + miss * u
                factor = tl.where(few, 1.0, u)
            factor *= tl.reduce(phi, 1, _product)[:, None]
            y = z * _reciprocal(phi)
            if KAPPA:
                gain = m * tl.cumsum(y, 1) - k * tl.sum(y, 1)[:, None]
                weight = tl.load(table_ptr + j * N + item)[None, :]
                curve += tl.where(early, weight * factor * gain, 0.0)
            else:
                curve += tl.load(nodes_ptr + 2 * n_nodes + j) * factor * y
    if KAPPA:
        half = (2.0 * tl.cumsum(z, 1) - tl.sum(z, 1)[:, None]) * 2.0 / m
        curve = tl.where(2 * (col + 1) == m, half, curve)
    else:
        gain = m * tl.cumsum(curve, 1) - k * tl.sum(curve, 1)[:, None]
        curve = gain * tl.load(table_ptr + item)[None, :]
    nothing = tl.reduce(q, 1, _product) * tl.load(edge_ptr)
    last = tl.reduce(other, 1, _product) * tl.load(edge_ptr + 1)
    curve = tl.where(col == m - 1, last[:, None], curve)
    curve = tl.where(col < m, curve, float("-inf"))
    certain = tl.minimum(tl.minimum(total, m - total), 1.0)
    slack = tl.load(edge_ptr + 2) * tl.maximum(certain, 0.0)
    _settle(curve, nothing, slack, key, row, rows, m, found_ptr, N)
