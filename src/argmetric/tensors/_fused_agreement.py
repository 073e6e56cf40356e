"""A kernel of a GPU for MCC and kappa, of rows of up to 1,024 labels."""

from __future__ import annotations

import triton
import triton.language as tl

from argmetric.tensors._fused_rows import (
    _chances,
    _nodes_needed,
    _product,
    _reciprocal,
    _settle,
)


@triton.jit
def agree_rows(
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
    KAPPA: tl.constexpr,
    LOGITS: tl.constexpr,
):
    """Best counts of (n·tp - k·t)·f(k, t): MCC and kappa.

    f is a sum of e^(-s·t) and of e^(-s(n-t)). E[(n·tp - k·t)·e^(-s·t)] = G·u·(n·Y_k -
    k·Y_n) with G = Π φ_i and Y_k = Σ_{i≤k} p_i/φ_i; p·u/φ = 1 - q/φ, so that -q takes
    the place of p·u where positives are likely, and nothing cancels. The table has one
    row for MCC, and one for each node of kappa: below k = n/2 its denominator is n - 2k
    times c + t with c = n·k/(n - 2k); above that the classes are exchanged.
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
        half = (2.0 * tl.cumsum(p, 1) - total[:, None]) * 2.0 / m
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
