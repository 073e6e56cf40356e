"""Decide rows on a GPU: which kernels, and short rows by sums over all their items.

The twin of every kernel is the generic path, `_best_rows.choose`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import triton

from argmetric._expected import regular_at_edges
from argmetric._expected.kernels.nodes import TOLERANCE, exponential_sum, two_sided_sum
from argmetric.metrics import MCC, ItemForm, Kappa, MeanForm, Metric, RatioForm
from argmetric.tensors._arrays import BestCounts, Tensor, require_torch
from argmetric.tensors._curves import mean_factors
from argmetric.tensors._fused_curve import kind_of, pruning
from argmetric.tensors._fused_items import decide_items, item_numbers
from argmetric.tensors._fused_masks import settle_fused
from argmetric.tensors._fused_rows import (
    agree_rows,
    decide_rows,
    mean_rows,
    sort_rows,
    weigh_rows,
)
from argmetric.tensors._fused_window import run_window

torch = require_torch("the fused kernel")
MOST_LABELS = 1024
MOST_WHOLE = 4096  # longer rows need a window
MOST_ROWS = 1 << 15  # of a launch for long rows
LONG_ROWS = 256  # longer rows are decided from a window where one is enough
MANY = 64.0  # expected positives from which 12!/mean^12 < 1e-13
ROWS_OF = {16: 8, 32: 8, 64: 4, 128: 2}  # rows of a program by padded length; else 1


def kernels_for(n: int, metric: Metric, logits: bool) -> list[Any]:
    """Return kernels for rows of n items, fastest first; none for other metrics."""
    form, known = metric.form, isinstance(metric, MCC | Kappa)
    if isinstance(form, ItemForm | MeanForm):
        if isinstance(form, MeanForm) and not metric.greater_is_better:
            return []
        if n <= MOST_WHOLE:
            return [decide_whole]
        return [decide_items] if item_numbers(metric, n) else []
    if isinstance(form, RatioForm):
        # tp by a sum of counts, which is 0 for k = t = 0 alone
        d0, _, d2, d3 = form.d
        known = form.counts_hits_only and d0 == 0 and min(d2, d3, form.c[1]) > 0
    if not known:
        return []
    whole = [decide_whole] if n <= MOST_WHOLE else []
    short = MOST_LABELS if isinstance(metric, MCC) else LONG_ROWS
    if logits or n <= short:
        return whole
    return [decide_window if n <= MOST_LABELS else decide_long, *whole]


def decide_window(x: Tensor, metric: Metric, logits: bool) -> BestCounts:
    """Return best counts of rows from a window of their items."""
    return run_window(sorted_keys(x, logits), x.shape[1], metric, 1, 12, MANY)


def decide_long(x: Tensor, metric: Metric, logits: bool) -> BestCounts:
    """Return best counts of long rows from a window of their items or a bracket."""
    if len(x) <= MOST_ROWS:
        return settle_fused(x, metric)
    found = [settle_fused(one, metric) for one in x.split(MOST_ROWS)]
    best, value, cut = map(torch.cat, zip(*found, strict=True))
    return best, value, cut


def decide_whole(x: Tensor, metric: Metric, logits: bool) -> BestCounts:
    """Return best counts of rows from all their items."""
    keys, (rows, m) = sorted_keys(x, logits), x.shape
    n = keys.shape[1]
    kernel, tables, numbers, flags = row_kernel(metric, m, n, keys.device)
    count, each = tables[0].shape[1], ROWS_OF.get(n, 1)
    found = torch.empty((3, rows), dtype=torch.float64, device=keys.device)
    shape = {"ROWS": each, "N": n, "NODES": triton.next_power_of_2(count)}
    shape["num_warps"] = max(n // 512, 1)
    kernel[(triton.cdiv(rows, each),)](
        keys, *tables, found, rows, m, count, *numbers, LOGITS=logits, **shape, **flags
    )
    best, value, cut = found
    return best.long(), value, cut


def sorted_keys(x: Tensor, logits: bool) -> Tensor:
    """Return descending rows, padded to a power of two with certain zeros.

    By one warp for each row, or for several short ones: 0.8 ms for 10⁶ rows of 100 and
    1.2 ms for 10⁵ of 1,000 on an H200, where torch.sort takes 5.8 and 3.2.
    """
    rows, m = x.shape
    n, pad = max(16, triton.next_power_of_2(m)), -math.inf if logits else 0.0
    if m > MOST_LABELS:
        keys = torch.sort(x, 1, descending=True).values
        return torch.nn.functional.pad(keys, (0, n - m), value=pad)
    x = x.contiguous()
    keys = torch.empty((rows, n), dtype=x.dtype, device=x.device)
    each = max(512 // n, 1)
    sort_rows[(triton.cdiv(rows, each),)](
        x, keys, rows, m, pad, ROWS=each, N=n, num_warps=1
    )
    return keys


@lru_cache(maxsize=64)
def row_kernel(
    metric: Metric, m: int, n: int, device: object
) -> tuple[Any, list[Tensor], Any, Any]:
    """Return the kernel for rows of m labels, padded to n, with its tables.

    Numbers that a kernel is given are rounded to float32; those of a table are not.
    """
    form, limit = metric.form, 1.0 - math.log(TOLERANCE)
    if isinstance(form, RatioForm):
        kernel, tables = decide_rows, ratio_tables(form, kind_of(metric), m, n)
        numbers: Any = metric.zero_division, *pruning(form, m)
        flags: Any = {"KIND": kind_of(metric)}
    elif isinstance(form, ItemForm):
        kernel, tables = weigh_rows, weight_tables(metric, form, m, n)
        numbers = [limit + 2.0 * math.log(m)]
        flags = {"HITS": bool(form.hits), "REJECTIONS": bool(form.rejections)}
    elif isinstance(form, MeanForm):
        kernel, tables = mean_rows, mean_tables(metric, m, n)
        numbers, flags = [], {}
    else:
        kernel, tables = agree_rows, agreement_tables(metric, m, n)
        numbers = [limit + 3.0 * math.log(m)]
        flags = {"KAPPA": not isinstance(metric, MCC)}
    placed = [torch.from_numpy(np.array(x, dtype=float)).to(device) for x in tables]
    return kernel, placed, numbers, flags


def ratio_tables(form: RatioForm, kind: int, m: int, n: int) -> tuple[Any, ...]:
    """Return the nodes of 1/D = Σ w·e^(-s·D), and the weights of every k.

    nodes : ndarray of shape (4, n_nodes)
        s, e^(-s(d1+d3)) of a hit, e^(-s·d3) of a miss, and e^(-s·d2). For kind 2 the
        second is e^(-s(d1+d2+d3)).
    weights : ndarray of shape (n_nodes, n)
        c1·w·e^(-s·d2·k) for k = 1 … n; for kind 2 c1·w.
    """
    s, w = exponential_sum(1.0, *map(float, form.denominator_range(m, m)))
    _, d1, d2, d3 = form.d
    hit, rates = d1 + d3, d2 * np.arange(1.0, n + 1)
    if kind == 2:
        hit, rates = d1 + d2 + d3, np.zeros(n)
    nodes = [s, *(np.exp(-s * rate) for rate in (hit, d3, d2))]
    return np.stack(nodes), form.c[1] * w[:, None] * np.exp(-s[:, None] * rates)


def weight_tables(metric: Metric, form: ItemForm, m: int, n: int) -> tuple[Any, ...]:
    """Return nodes (s, w, u), factors of k = 1 … n, and values at the edges.

    Factors: of hits, of rejections, and what T = 0 and T = n add. Edges: the value of
    k = 0 at T = 0, between, and T = n; offset; and the tie floor.
    """
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
    return np.stack([s, w, np.exp(-s)]), table, edges


def mean_tables(metric: Metric, m: int, n: int) -> tuple[Any, ...]:
    """Return the factors of k = 1 … n, and those of k = 0 with the tie floor."""
    factors = np.stack(
        mean_factors(metric, np.arange(m + 1.0), np.full(m + 1, m + 0.0))
    )
    table = np.zeros((3, n))
    table[:, :m] = factors[:, 1:]
    return table, [*factors[:, 0], metric.tie_floor(m)]


def agreement_tables(metric: Metric, m: int, n: int) -> tuple[Any, ...]:
    """Return nodes (s, u, w), factors of k = 1 … n, and edges.

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
    return np.stack([s, np.exp(-s), w]), table, edges
