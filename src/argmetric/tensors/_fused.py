"""Decide rows of up to 1,024 labels on a GPU: sort, find the best count, compare.

The twin of every kernel is the generic path of `_decide.choose`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import triton

from argmetric._expected import regular_at_edges
from argmetric._expected.kernels.nodes import (
    TOLERANCE,
    exponential_sum,
    two_sided_sum,
)
from argmetric.metrics import MCC, ItemForm, Kappa, Metric, RatioForm
from argmetric.tensors._arrays import Tensor, as_single, require_torch
from argmetric.tensors._decide import counts_hits
from argmetric.tensors._fused_curve import kind_of, pruning
from argmetric.tensors._fused_rows import (
    agree_rows,
    decide_rows,
    sort_rows,
    weigh_rows,
)
from argmetric.tensors._fused_window import run_window

torch = require_torch("the fused kernel")
MOST_LABELS = 1024
MOST_WHOLE = 4096  # longer rows need a window
LONG_ROWS = 256  # longer rows are decided from a window where one is enough
MANY = 64.0  # expected positives from which 12!/mean^12 < 1e-13
ROWS_OF = {16: 8, 32: 8, 64: 4, 128: 2}  # rows of a program by padded length; else 1

Found = tuple[Tensor, Tensor, Tensor]  # best count, expected value, cut-off


def can_fuse(metric: Metric) -> bool:
    """Whether a kernel knows the metric."""
    if math.isnan(metric.zero_division):
        return False
    items = isinstance(metric.form, ItemForm) or isinstance(metric, MCC | Kappa)
    return items or counts_hits(metric.form)


def decide_fused(
    x: Tensor, metric: Metric, logits: bool, whole: bool = False
) -> tuple[Found, Tensor]:
    """Best counts of rows with their values and cut-offs, and the labels.

    A cut-off is nan where a tie is split, and a count -1 where a window was not enough
    and the row is to be taken whole.
    """
    form, m = metric.form, x.shape[1]
    keys = sorted_keys(x.contiguous(), logits)
    if isinstance(form, ItemForm):
        found = weigh(keys, m, metric, logits)
    elif not (whole or logits or m <= LONG_ROWS or isinstance(metric, MCC)):
        found = run_window(keys, m, metric, 1, 12, MANY)
    elif isinstance(form, RatioForm):
        found = decide_all(keys, m, metric, logits)
    else:
        found = agree(keys, m, metric, logits)
    cut = found[2]
    level = as_single(cut) if x.dtype == torch.float32 else cut
    return found, x >= level[:, None]


def sorted_keys(x: Tensor, logits: bool) -> Tensor:
    """Rows in descending order, padded to a power of two with certain zeros.

    By one warp for each row, or for several short ones: 0.8 ms for 10⁶ rows of 100 and
    1.2 ms for 10⁵ of 1,000 on an H200, where torch.sort takes 5.8 and 3.2.
    """
    rows, m = x.shape
    n = max(16, triton.next_power_of_2(m))
    keys = torch.empty((rows, n), dtype=x.dtype, device=x.device)
    each = max(512 // n, 1)
    pad = -math.inf if logits else 0.0
    sort_rows[(triton.cdiv(rows, each),)](
        x, keys, rows, m, pad, ROWS=each, N=n, num_warps=1
    )
    return keys


def settle_fused_whole(p: Tensor, metric: Metric, logits: bool) -> Found:
    """As `_pixels.settle_whole`, of rows of up to MOST_WHOLE items."""
    keys, m = torch.sort(p, 1, descending=True).values, p.shape[1]
    more = max(16, triton.next_power_of_2(m)) - m
    pad = -math.inf if logits else 0.0
    keys = torch.nn.functional.pad(keys, (0, more), value=pad)
    way = decide_all if isinstance(metric.form, RatioForm) else agree
    return way(keys, m, metric, logits)


def launch(
    kernel: Any, keys: Tensor, m: int, tables: Any, *numbers: float, **flags: Any
) -> Found:
    """Best counts of rows of m, padded and in order, by a kernel of `_fused_rows`."""
    rows, n = keys.shape
    each = ROWS_OF.get(n, 1)
    best = torch.empty(rows, dtype=torch.int64, device=keys.device)
    value, cut = torch.empty((2, rows), dtype=torch.float64, device=keys.device)
    shape = {"ROWS": each, "N": n, "num_warps": max(n // 512, 1)}
    kernel[(triton.cdiv(rows, each),)](
        keys, *tables, best, value, cut, rows, m, *numbers, **shape, **flags
    )
    return best, value, cut


# Numbers that a kernel is given are rounded to float32; those of a table are not.
@lru_cache(maxsize=64)
def node_tables(metric: Metric, m: int, n: int, device: Any) -> tuple[Tensor, ...]:
    """c1·w·e^(-s·d2·k) for k = 1…n, s, u of a hit, u of a miss, and e^(-s·d2).

    For kind 2 the first is c1·w alone.
    """
    form = metric.form
    assert isinstance(form, RatioForm)
    low, high = map(float, form.denominator_range(m, m))
    s, w = on_device(device, *exponential_sum(1.0, low, high))
    _, d1, d2, d3 = form.d
    k = torch.arange(1, n + 1, dtype=torch.float64, device=device)
    table = form.c[1] * w[:, None] * torch.exp(-d2 * s[:, None] * k)
    if kind_of(metric) == 2:
        table = (form.c[1] * w)[:, None].expand_as(table)
    factors = [torch.exp(-s * x) for x in (d1 + d3, d3, d2)]
    return table.contiguous(), s, *factors


def decide_all(keys: Tensor, m: int, metric: Metric, logits: bool) -> Found:
    """Best counts by sums over all items."""
    form = metric.form
    assert isinstance(form, RatioForm)
    tables = node_tables(metric, m, keys.shape[1], keys.device)
    count = tables[1].shape[0]
    numbers = count, metric.zero_division, *pruning(form, m)
    flags = {"NODES": triton.next_power_of_2(count), "KIND": kind_of(metric)}
    return launch(decide_rows, keys, m, tables, *numbers, **flags, LOGITS=logits)


@lru_cache(maxsize=64)
def weight_tables(
    metric: Metric, m: int, n: int, device: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """Nodes (s, w, u), factors of k = 1…n, and values at the edges.

    Factors: of hits, of rejections, and what T = 0 and T = n add. Edges: the value of
    k = 0 at T = 0, between, and T = n; offset; and the tie floor.
    """
    form = metric.form
    assert isinstance(form, ItemForm)
    k = np.arange(1.0, m + 1)
    sizes = np.full(m, float(m))
    s, w = exponential_sum(form.exponent, 1.0, float(m))
    regular = regular_at_edges(form, metric, k, sizes)
    table = np.zeros((4, n))
    table[0, :m] = form.hits(k, sizes) if form.hits else 0.0
    table[1, :m] = form.rejections(k, sizes) if form.rejections else 0.0
    table[2, :m] = metric.value(0, k, 0, sizes) - regular[0]
    table[3, :m] = metric.value(k, k, sizes, sizes) - regular[1]
    first = [metric.value(0, 0, t, m) for t in (0, min(1, m), m)]
    edges = [*first, form.offset, metric.tie_floor(m)]
    return on_device(device, np.stack([s, w, np.exp(-s)]), table, edges)


def on_device(device: Any, *tables: Any) -> tuple[Tensor, ...]:
    return tuple(
        torch.from_numpy(np.array(x, dtype=np.float64)).to(device) for x in tables
    )


def weigh(keys: Tensor, m: int, metric: Metric, logits: bool) -> Found:
    """Best counts of metrics whose items have weights of their own."""
    form = metric.form
    assert isinstance(form, ItemForm)
    tables = weight_tables(metric, m, keys.shape[1], keys.device)
    count = tables[0].shape[1]
    limit = -math.log(TOLERANCE) + 2.0 * math.log(m) + 1.0
    flags = {"HITS": form.hits is not None, "REJECTIONS": form.rejections is not None}
    flags |= {"NODES": triton.next_power_of_2(count), "LOGITS": logits}
    return launch(weigh_rows, keys, m, tables, count, limit, **flags)


@lru_cache(maxsize=64)
def agreement_tables(
    metric: Metric, m: int, n: int, device: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """Nodes (s, u, w), factors of k = 1…n, and edges.

    Edges: the value of k = t = 0, of k = t = m, and the tie floor.
    """
    k = np.arange(1.0, n + 1)
    if isinstance(metric, MCC):
        s, w = two_sided_sum(m) if m > 1 else (np.ones(1), np.zeros(1))
        table = 1.0 / np.sqrt(np.maximum(k * (m - k), 1.0))
    else:
        smaller = np.clip(np.minimum(k, m - k), 0.0, (m - 1) // 2)
        scale = np.maximum(m - 2.0 * smaller, 1.0)
        s, w = exponential_sum(1.0, 2.0, float(m + m * m))
        c = m * smaller / scale
        table = 2.0 * w[:, None] * np.exp(-s[:, None] * c) / scale
    edges = [*(metric.value(t, t, t, m) for t in (0, m)), metric.tie_floor(m)]
    return on_device(device, np.stack([s, np.exp(-s), w]), table, edges)


def agree(keys: Tensor, m: int, metric: Metric, logits: bool) -> Found:
    """Best counts of MCC and kappa."""
    tables = agreement_tables(metric, m, keys.shape[1], keys.device)
    count = tables[0].shape[1]
    limit = -math.log(TOLERANCE) + 3.0 * math.log(m) + 1.0
    flags = {"KAPPA": not isinstance(metric, MCC), "LOGITS": logits}
    flags["NODES"] = triton.next_power_of_2(count)
    return launch(agree_rows, keys, m, tables, count, limit, **flags)
