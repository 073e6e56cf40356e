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
from argmetric._input.types import Floats
from argmetric.metrics import RatioForm
from argmetric.tensors._arrays import Tensor, as_single, namespace, require_torch
from argmetric.tensors._decide import cut_between

torch = require_torch("the fused kernel")
MOST_LABELS = 1024
SORTED_APART = 256  # longer rows are sorted by torch before
LEAST_MEAN = 64.0  # from here on 12 powers are exact: 12!/mean^12 < 1e-13
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
    acc = tl.where(col[None, :] < m, acc, -1.0)
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


@triton.jit
def decide_sorted_rows(
    key_ptr,
    table_ptr,
    best_ptr,
    value_ptr,
    m,
    n_nodes,
    d1,
    d2,
    d3,
    low,
    step,
    limit,
    least,
    CHUNK: tl.constexpr,
    NODES: tl.constexpr,
    JACCARD: tl.constexpr,
):
    """Best count of a sorted row with many expected positives, by one warp.

    The ratio of expected counts says where to look: CHUNK items around its best count.
    The others enter by sums of their powers, as pixels of masks do. Where the best
    lies at an end of the window, or the mean is below `least`, the count is -1.
    """
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, CHUNK)
    mean = tl.full((), 0.0, tl.float64)
    for begin in range(0, m, CHUNK):
        at = begin + col
        p = tl.load(key_ptr + row * m + at, mask=at < m, other=0.0).to(tl.float64)
        mean += tl.sum(p, 0)
    if mean < least:
        tl.store(best_ptr + row, -1)
    else:
        # Ratio of expected counts, chunk by chunk
        top = tl.full((), -1.0, tl.float64)
        near = tl.full((), 0, tl.int32)
        hits = tl.full((), 0.0, tl.float64)
        for begin in range(0, m, CHUNK):
            at = begin + col
            p = tl.load(key_ptr + row * m + at, mask=at < m, other=0.0).to(tl.float64)
            mass = hits + tl.cumsum(p, 0)
            rough = mass / (d1 * mass + d2 * (at + 1) + d3 * mean)
            rough = tl.where(at < m, rough, -1.0)
            high = tl.max(rough, 0)
            place = tl.min(tl.where(rough == high, at, m), 0)
            near = tl.where(high > top, place, near)
            top = tl.maximum(top, high)
            hits += tl.sum(p, 0)
        first = tl.maximum(tl.minimum(near + 1 - CHUNK // 2, m - CHUNK), 0)
        # Sums of the powers 1…12 before and behind the window
        power = tl.arange(0, 16)
        before = tl.zeros((16,), dtype=tl.float64)
        after = tl.zeros((16,), dtype=tl.float64)
        for begin in range(0, m, CHUNK):
            at = begin + col
            p = tl.load(key_ptr + row * m + at, mask=at < m, other=0.0).to(tl.float64)
            x = tl.where(at < first, p, 0.0)
            z = tl.where(at >= first + CHUNK, p, 0.0)
            y = x
            v = z
            for j in tl.static_range(12):
                before += tl.where(power == j, tl.sum(y, 0), 0.0)
                after += tl.where(power == j, tl.sum(v, 0), 0.0)
                y = y * x
                v = v * z
        at = first + col
        key = tl.load(key_ptr + row * m + at, mask=at < m, other=0.0)
        p = key.to(tl.float64)
        q = 1.0 - p
        head = tl.sum(tl.where(power == 0, before, 0.0), 0)
        node = tl.arange(0, NODES)
        s = tl.load(table_ptr + node, mask=node < n_nodes, other=float("inf"))
        lost = s * low + (mean - 1.0) * (1.0 - tl.exp(-s * step))
        count = tl.sum((lost < limit).to(tl.int32), 0)
        acc = tl.zeros((CHUNK,), dtype=tl.float64)
        order = (power + 1).to(tl.float64)
        for j in range(count):
            decay = tl.load(table_ptr + n_nodes + j)
            w = tl.load(table_ptr + 2 * n_nodes + j)
            u = tl.load(table_ptr + 3 * n_nodes + j)
            a = tl.load(table_ptr + 4 * n_nodes + j)
            powers = tl.exp(order * tl.log(a))
            phi = q + p * u
            weight = w * tl.exp(-decay * (at + 1))
            if JACCARD:
                logs = -tl.sum(powers * after / order, 0)
                behind = tl.associative_scan(phi, 0, _product, reverse=True)
                acc += weight * tl.exp(logs) * behind * _reciprocal(phi)
            else:
                logs = -tl.sum(powers * (before + after) / order, 0)
                whole = tl.exp(logs) * tl.reduce(phi, 0, _product) * u
                share = tl.sum(powers * before, 0) / a
                acc += weight * whole * (share + tl.cumsum(p * _reciprocal(phi), 0))
        if JACCARD:
            acc = acc * (head + tl.cumsum(p, 0))
        acc = tl.where(at < m, acc, -1.0)
        top = tl.max(acc, 0)
        found = tl.min(tl.where(acc >= top - 1e-12 * top, col, CHUNK), 0)
        inner = ((found > 0) | (first == 0)) & (
            (found < CHUNK - 1) | (first + CHUNK >= m)
        )
        best = first + found + 1
        tl.store(best_ptr + row, tl.where(inner, best, -1).to(tl.int64))
        tl.store(value_ptr + row, tl.sum(tl.where(col == found, acc, 0.0), 0))


@lru_cache(maxsize=64)
def node_tables(form: RatioForm, m: int, n: int, device: Any) -> tuple[Tensor, ...]:
    """c1·w·e^(-s·d2·k) for k = 1…n, s, u of a hit and u of a miss, on the device.

    Numbers that a kernel is given are rounded to float32; these are not.
    """
    s, w = (torch.from_numpy(x).to(device) for x in nodes_of(form, m))
    _, d1, d2, d3 = form.d
    k = torch.arange(1, n + 1, dtype=torch.float64, device=device)
    table = form.c[1] * w[:, None] * torch.exp(-d2 * s[:, None] * k)
    return table.contiguous(), s, torch.exp(-s * (d1 + d3)), torch.exp(-s * d3)


@lru_cache(maxsize=64)
def row_tables(form: RatioForm, m: int, device: Any) -> Tensor:
    """s, s·d2, c1·w, u and 1 - u of a miss: one row each."""
    s, w = (torch.from_numpy(x).to(device) for x in nodes_of(form, m))
    _, _, d2, d3 = form.d
    rows = s, s * d2, form.c[1] * w, torch.exp(-s * d3), -torch.expm1(-s * d3)
    return torch.stack(rows).contiguous()


def nodes_of(form: RatioForm, m: int) -> tuple[Floats, Floats]:
    low, high = form.denominator_range(m, m)
    return exponential_sum(1.0, float(low), float(high))


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
    m = x.shape[1]
    if m <= SORTED_APART:
        return decide_all(x, x, form, zero_division, logits)
    key = torch.sort(x, dim=1, descending=True).values
    if kind_of(form) == 2 or logits:
        return decide_all(x, key, form, zero_division, logits)
    best, value = decide_sorted(key, form)
    left = torch.nonzero(best < 0)[:, 0]
    k = best.clamp(min=1)[:, None]
    upper = key.gather(1, k - 1)[:, 0].double()
    lower = key.gather(1, k.clamp(max=m - 1))[:, 0].double()
    lower = torch.where(best < m, lower, -math.inf)
    cut = cut_between(namespace(x), upper, lower)
    level = as_single(cut) if x.dtype == torch.float32 else cut
    labels = x >= level[:, None]
    if left.numel():
        some = decide_all(x[left], key[left], form, zero_division, logits)
        for target, values in zip((best, value, cut, labels), some, strict=True):
            target[left] = values
    return best, value, cut, labels


def kind_of(form: RatioForm) -> int:
    """0: a denominator without tp; 1: one of k and misses; 2: any other."""
    _, d1, _, d3 = form.d
    return 0 if d1 == 0 else 1 if d1 + d3 == 0 else 2


def pruning(form: RatioForm, m: int) -> tuple[float, float, float]:
    """D ≥ low + step·(T - 1) with a hit: nodes with s·low + (E[T]-1)·(1-e^(-s·step))
    above the limit add less than rounding.
    """
    _, d1, d2, d3 = form.d
    step = d3 if d1 == 0 else min(1.0, d1 + d2 + d3, d3)
    low = d2 + d3 if d1 == 0 else step
    limit = -math.log(TOLERANCE) + math.log((d1 + d2 + d3 + d2 + d3) * m / low) + 1.0
    return low, step, limit


def decide_sorted(key: Tensor, form: RatioForm) -> tuple[Tensor, Tensor]:
    """Best counts of sorted rows and their values; -1 where another way is needed."""
    rows, m = key.shape
    table = row_tables(form, m, key.device)
    best = torch.empty(rows, dtype=torch.int64, device=key.device)
    value = torch.empty(rows, dtype=torch.float64, device=key.device)
    n_nodes = table.shape[1]
    decide_sorted_rows[(rows,)](
        key,
        table,
        best,
        value,
        m,
        n_nodes,
        *form.d[1:],
        *pruning(form, m),
        LEAST_MEAN,
        CHUNK=64,
        NODES=triton.next_power_of_2(n_nodes),
        JACCARD=kind_of(form) == 1,
        num_warps=1,
    )
    return best, value


def decide_all(
    x: Tensor, key: Tensor, form: RatioForm, zero_division: float, logits: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """As `decide_fused`, by sums over all items; `key` is x, or x sorted."""
    rows, m = x.shape
    n = max(16, triton.next_power_of_2(m))
    table, s, hit, miss = node_tables(form, m, n, x.device)
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
        zero_division,
        *pruning(form, m),
        ROWS=each,
        N=n,
        NODES=triton.next_power_of_2(s.shape[0]),
        KIND=kind_of(form),
        LOGITS=logits,
        SORT=m <= SORTED_APART,
        num_warps=1 if n <= 256 else n // 256,
    )
    return best, value, cut, labels.view(torch.bool)
