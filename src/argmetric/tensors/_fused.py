"""Sort and decide rows of up to 1,024 labels in one program of the GPU each.

The sums are those of `_curves.ratio_curve`; everything stays in registers. Three kinds
of denominators share the kernel: F-beta (d1 = 0), Jaccard (d1 + d3 = 0) and the rest.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import triton
import triton.language as tl

from argmetric._expected.kernels.nodes import TOLERANCE, exponential_sum
from argmetric.metrics import RatioForm
from argmetric.tensors._arrays import Tensor, require_torch

torch = require_torch("the fused kernel")
MOST_LABELS = 1024
SORTED_APART = 256  # longer rows are sorted by torch before
ROWS_OF = {16: 8, 32: 8, 64: 4, 128: 2}  # rows of a program by padded length; else 1


@triton.jit
def _product(a, b):
    return a * b


@triton.jit
def _reciprocal(x):
    """1/x: a reciprocal in float32 and two Newton steps."""
    y = (1.0 / x.to(tl.float32)).to(tl.float64)
    y = y * (2.0 - x * y)
    return y * (2.0 - x * y)


@triton.jit
def decide_rows(
    x_ptr,
    key_ptr,
    table_ptr,
    s_ptr,
    hit_ptr,
    miss_ptr,
    best_ptr,
    value_ptr,
    cut_ptr,
    label_ptr,
    rows,
    m,
    n_nodes,
    scale,
    zero,
    low,
    step,
    limit,
    ROWS: tl.constexpr,
    N: tl.constexpr,
    NODES: tl.constexpr,
    KIND: tl.constexpr,
    LOGITS: tl.constexpr,
    SORT: tl.constexpr,
):
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    col = tl.arange(0, N)
    inside = (row[:, None] < rows) & (col[None, :] < m)
    place = row[:, None] * m + col[None, :]
    pad = float("-inf") if LOGITS else 0.0
    key = tl.load(key_ptr + place, mask=inside, other=pad)
    if SORT:
        key = tl.sort(key, descending=True)
    key = key.to(tl.float64)
    if LOGITS:
        small = tl.exp(-tl.abs(key))
        large = 1.0 / (1.0 + small)
        p = tl.where(key >= 0, large, small * large)
        q = tl.where(key >= 0, small * large, large)
    else:
        p = key
        q = 1.0 - key
    # Nodes beyond this bound on E[e^(-s·D)] add less than rounding
    mean = tl.min(tl.sum(p, 1), 0)
    node = tl.arange(0, NODES)
    s = tl.load(s_ptr + node, mask=node < n_nodes, other=float("inf"))
    lost = s * low + tl.maximum(mean - 1.0, 0.0) * (1.0 - tl.exp(-s * step))
    count = tl.sum((lost < limit).to(tl.int32), 0)
    acc = tl.zeros((ROWS, N), dtype=tl.float64)
    for j in range(count):
        weight = tl.load(table_ptr + j * N + col)[None, :]
        u1 = tl.load(hit_ptr + j)
        u3 = tl.load(miss_ptr + j)
        if KIND == 0:
            phi = q + p * u1
            whole = tl.reduce(phi, 1, _product) * u1
            hits = tl.cumsum(p * _reciprocal(phi), 1)
            acc += whole[:, None] * weight * hits
        elif KIND == 1:
            phi = q + p * u3
            after = tl.associative_scan(phi, 1, _product, reverse=True)
            acc += weight * after * _reciprocal(phi)
        else:
            phi = q + p * u1
            before = tl.associative_scan(phi, 1, _product)
            hits = tl.cumsum(p * u1 * _reciprocal(phi), 1)
            phi = q + p * u3
            after = tl.associative_scan(phi, 1, _product, reverse=True)
            acc += weight * before * after * _reciprocal(phi) * hits
    if KIND == 1:
        acc = acc * tl.cumsum(p, 1)
    acc = tl.where(col[None, :] < m, acc * scale, -1.0)
    nothing = zero * tl.reduce(q, 1, _product)
    top = tl.maximum(tl.max(acc, 1), nothing)
    bar = top - 1e-12 * tl.abs(top)
    tied = tl.where(acc >= bar[:, None], col[None, :] + 1, N + 1)
    best = tl.where(nothing >= bar, 0, tl.min(tied, 1))
    at_best = tl.sum(tl.where(col[None, :] + 1 == best[:, None], acc, 0.0), 1)
    value = tl.where(best == 0, nothing, at_best)
    upper = tl.sum(tl.where(col[None, :] + 1 == best[:, None], key, 0.0), 1)
    lower = tl.sum(tl.where(col[None, :] == best[:, None], key, 0.0), 1)
    upper = tl.where(best == 0, float("inf"), upper)
    lower = tl.where(best == m, float("-inf"), lower)
    middle = lower / 2.0 + upper / 2.0
    rounded = middle.to(tl.float32).to(tl.float64)
    finite = (upper < float("inf")) & (lower > float("-inf"))
    fits = finite & (lower < rounded) & (rounded <= upper)
    cut = tl.where(fits, middle, upper)
    cut = tl.where(upper == lower, float("nan"), cut)
    real = row < rows
    tl.store(best_ptr + row, best.to(tl.int64), mask=real)
    tl.store(value_ptr + row, value, mask=real)
    tl.store(cut_ptr + row, cut, mask=real)
    x = tl.load(x_ptr + place, mask=inside, other=pad).to(tl.float64)
    label = (x >= cut[:, None]).to(tl.int8)
    tl.store(label_ptr + place, label, mask=inside)


@lru_cache(maxsize=64)
def node_tables(form: RatioForm, m: int, n: int, device: Any) -> tuple[Tensor, ...]:
    """w·e^(-s·d2·k) for k = 1…n, s, u of a hit and u of a miss, on the device."""
    low, high = form.denominator_range(m, m)
    s, w = exponential_sum(1.0, float(low), float(high))
    s, w = (torch.from_numpy(x).to(device) for x in (s, w))
    _, d1, d2, d3 = form.d
    k = torch.arange(1, n + 1, dtype=torch.float64, device=device)
    table = w[:, None] * torch.exp(-d2 * s[:, None] * k)
    return table.contiguous(), s, torch.exp(-s * (d1 + d3)), torch.exp(-s * d3)


def can_fuse(form: Any, zero_division: float) -> bool:
    """Whether the kernel knows the metric: only k = t = 0 may be 0/0."""
    if not isinstance(form, RatioForm) or math.isnan(zero_division):
        return False
    d0, _, d2, d3 = form.d
    return form.counts_hits_only and form.c[1] > 0 and d0 == 0 and min(d2, d3) > 0


def decide_fused(
    x: Tensor, form: RatioForm, zero_division: float, logits: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Best count, expected value, cut-off (nan: a tie is split) and labels of rows."""
    x = x.contiguous()
    rows, m = x.shape
    n = max(16, triton.next_power_of_2(m))
    apart = n > SORTED_APART
    key = torch.sort(x, dim=1, descending=True).values if apart else x
    table, s, hit, miss = node_tables(form, m, n, x.device)
    _, d1, d2, d3 = form.d
    kind = 0 if d1 == 0 else 1 if d1 + d3 == 0 else 2
    # D ≥ low + step·(T - 1) bounds E[e^(-s·D)] for all outcomes with a hit
    step = d3 if kind == 0 else min(1.0, d1 + d2 + d3, d3)
    low = d2 + d3 if kind == 0 else step
    limit = -math.log(TOLERANCE) + math.log((d1 + d2 + d3 + d2 + d3) * m / low) + 1.0
    best = torch.empty(rows, dtype=torch.int64, device=x.device)
    value = torch.empty(rows, dtype=torch.float64, device=x.device)
    cut = torch.empty_like(value)
    labels = torch.empty(rows, m, dtype=torch.int8, device=x.device)
    each = ROWS_OF.get(n, 1)
    decide_rows[(triton.cdiv(rows, each),)](
        x,
        key,
        table,
        s,
        hit,
        miss,
        best,
        value,
        cut,
        labels,
        rows,
        m,
        s.shape[0],
        form.c[1],
        zero_division,
        low,
        step,
        limit,
        ROWS=each,
        N=n,
        NODES=triton.next_power_of_2(s.shape[0]),
        KIND=kind,
        LOGITS=logits,
        SORT=not apart,
        num_warps=1 if n <= 256 else n // 256,
    )
    return best, value, cut, labels.view(torch.bool)
