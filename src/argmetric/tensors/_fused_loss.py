"""Expected metric of drawn labels and its gradient, one program for each row.

The twin is the generic path of `_losses.ratio_and_slope`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import triton
import triton.language as tl

from argmetric._expected.kernels.nodes import TOLERANCE
from argmetric.metrics import RatioForm
from argmetric.tensors._arrays import Tensor, require_torch
from argmetric.tensors._curves import nodes_of_ratio
from argmetric.tensors._fused_rows import (
    _nodes_needed,
    _probabilities,
    _product,
    _reciprocal,
)

torch = require_torch("the fused loss")
MOST_LABELS = 4096


@triton.jit
def expected_rows(
    x_ptr,
    z_ptr,
    nodes_ptr,
    value_ptr,
    slope_ptr,
    n,
    n_nodes,
    step,
    limit,
    N: tl.constexpr,
    NODES: tl.constexpr,
):
    """Write E[scale·tp/D] of drawn labels, and its derivative by each log-odds.

    J = scale·Σ w·e^(-s·base)·Πφ·V with V = Σ z·r, as in the twin, and dJ/dp_j =
    scale·Σ w·e^(-s·base)·Πφ/φ_j·(z_j·u_j - (1-u_j)·(V - z_j·r_j)). A positive has its
    share e^(-s·d3) of e^(-s·base) in its own factor, which is then at most 1.
    """
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, N)
    inside = col < n
    x = tl.load(x_ptr + row * n + col, mask=inside, other=float("-inf")).to(tl.float64)
    z = tl.load(z_ptr + row * n + col, mask=inside, other=0.0).to(tl.float64)
    p, q = _probabilities(x, True)
    # Numbers that a kernel is given are rounded to float32; those of a table are not
    base = tl.load(nodes_ptr + 7 * n_nodes)
    scale = tl.load(nodes_ptr + 7 * n_nodes + 2)
    positives = tl.sum(z, 0)
    value = tl.full((), 0.0, tl.float64)
    slope = tl.zeros((N,), dtype=tl.float64)
    if positives > 0:
        least = base + tl.load(nodes_ptr + 7 * n_nodes + 1) * positives
        node = tl.arange(0, NODES)
        s = tl.load(nodes_ptr + node, mask=node < n_nodes, other=float("inf"))
        for j in range(_nodes_needed(s, least, step, tl.sum(p, 0), limit)):
            s_j = tl.load(nodes_ptr + j)
            w = tl.load(nodes_ptr + n_nodes + j)
            u = tl.load(nodes_ptr + 2 * n_nodes + j)
            lost = tl.load(nodes_ptr + 3 * n_nodes + j)
            u_hit = tl.load(nodes_ptr + 4 * n_nodes + j)
            lost_hit = tl.load(nodes_ptr + 5 * n_nodes + j)
            u_miss = tl.load(nodes_ptr + 6 * n_nodes + j)
            true = z > 0.5
            u = tl.where(true, u_hit, u)
            lost = tl.where(true, lost_hit, lost)
            phi = tl.maximum(tl.where(true, q * u_miss, q) + p * u, 1e-30)
            inverse = _reciprocal(phi)
            hit = z * p * u * inverse
            hits = tl.sum(hit, 0)
            head = scale * w * tl.exp(-s_j * base) * tl.reduce(phi, 0, _product)
            value += head * hits
            slope += head * inverse * (z * u - lost * (hits - hit))
        slope = slope * p * q
    else:
        value = tl.load(nodes_ptr + 7 * n_nodes + 3) * tl.reduce(q, 0, _product)
        slope = -value * p
    tl.store(value_ptr + row, value)
    tl.store(slope_ptr + row * n + col, slope, mask=inside)


@lru_cache(maxsize=64)
def loss_nodes(
    d: tuple[float, ...], scale: float, empty: float, n: int, device: object
) -> Tensor:
    """Return the rows of the table that the kernels of the loss read.

    Nodes s and weights w; for a negative item u = e^(-s·d2) and 1 - u; for a positive
    one u = e^(-s(d1+d2+d3)) of a hit, u of a hit minus u of a miss, and u = e^(-s·d3)
    of a miss; last d0·n, the least that a positive adds to D, the scale, and the score
    of an empty row.
    """
    d0, d1, d2, d3 = d
    form = RatioForm((0.0, 1.0, 0.0, 0.0), d)  # type: ignore[arg-type]
    s, w = nodes_of_ratio(form, n, 1)
    hit, miss = np.exp(-s * (d1 + d2 + d3)), np.exp(-s * d3)
    # The difference of both, without a power above 1
    apart = -np.expm1(-s * abs(d1 + d2)) * (miss if d1 + d2 > 0 else -hit)
    numbers = np.resize([d0 * n, min(d3, d1 + d2 + d3), scale, empty], s.size)
    rows = [s, w, np.exp(-s * d2), -np.expm1(-s * d2), hit, apart, miss, numbers]
    return torch.from_numpy(np.stack(rows)).to(device)


def ratio_and_slope_fused(
    x: Any, z: Any, d: Any, scale: float, empty: float
) -> tuple[Tensor, Tensor]:
    """Return the value of each row, and its gradient, by one kernel."""
    rows, n = x.shape
    d0, d1, d2, d3 = d
    value = torch.empty(rows, dtype=x.dtype, device=x.device)
    slope = torch.empty_like(x)
    nodes = loss_nodes(tuple(d), scale, empty, n, x.device)
    n_nodes = nodes.shape[1]
    padded = max(32, triton.next_power_of_2(n))
    low = d0 * n + min(d3, d1 + d2 + d3)
    limit = -math.log(TOLERANCE) + math.log((d0 + d1 + d2 + d3) * n / low + 1.0) + 1.0
    if rows and n:
        expected_rows[(rows,)](
            x,
            z,
            nodes,
            value,
            slope,
            n,
            n_nodes,
            max(min(d2, d1 + d2), 0.0),
            limit,
            N=padded,
            NODES=triton.next_power_of_2(n_nodes),
            num_warps=min(max(padded // 256, 1), 8),
        )
    return value, slope
