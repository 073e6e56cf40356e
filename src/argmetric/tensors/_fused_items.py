"""Long rows on a GPU of metrics in which every item has a weight of its own.

The value of the k most likely items is

    offset + h·k^-e·Σ_{i≤k} a_i + r·Σ_{i>k} b_i + P(T=0)·(affine in k) + P(T=n)·(same)

with a_i = p_i·E[f(1 + T without i)] and b_i the same of the misses, as in
`_fused_rows.weigh_rows`; a metric that is affine in tp and t has a_i = b_i = p_i and
one affine function of k. One pass sums log φ over all items at every node, a second one
over sorted items gives the weights and their sums by block, a third one the curve.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import triton
import triton.language as tl

from argmetric._expected import regular_at_edges
from argmetric._expected.kernels.nodes import TOLERANCE, exponential_sum
from argmetric._ground.types import Floats
from argmetric.metrics import ItemForm, MeanForm, Metric
from argmetric.tensors._arrays import (
    BestCounts,
    Tensor,
    cut_between,
    namespace,
    require_torch,
)
from argmetric.tensors._curves import mean_factors
from argmetric.tensors._fused_rows import _nodes_needed, _probabilities, _reciprocal

torch = require_torch("the fused kernel")
BLOCK = tl.constexpr(2048)  # items of a program
CELLS = 1 << 26  # of rows at a time: two sums of 512 MB
MOST_ROWS = 1 << 15  # of a launch


class ItemTable(NamedTuple):
    """Numbers of a metric for rows of n items.

    nodes : tensor of shape (3, n_nodes)
        s, w·u and u = e^-s of f; the last one, u = 0, has no weight: P(no positive).
    numbers : tensor of shape (13,)
        offset, h, e and r; slope and level in k at T = 0, and at T = n; the value of
        k = 0 at T = 0, between, and at T = n; the tie floor; and the limit of nodes.
    """

    nodes: Tensor
    numbers: Tensor


def _affine(at: Floats, values: Floats) -> tuple[float, float] | None:
    """Return slope and level of a line through all values, or None."""
    slope = (values[-1] - values[0]) / (at[-1] - at[0])
    level = values[0] - slope * at[0]
    fits = np.allclose(values, level + slope * at, rtol=1e-12, atol=1e-12)
    return (float(slope), float(level)) if fits else None


@lru_cache(maxsize=64)
def item_numbers(metric: Metric, n: int) -> tuple[float, ...] | None:
    """Return the numbers of `ItemTable`; None where factors are no powers of k."""
    form, k = metric.form, np.array([1.0, 2.0, 5.0, n / 2.0, n - 1.0])
    sizes, absent = np.full(k.size, float(n)), np.zeros(k.size)
    if isinstance(form, MeanForm):
        level, hits, rest = mean_factors(metric, k, sizes)
        edges: list[Floats] = [level, absent]
        empty = [float(mean_factors(metric, absent, sizes)[0][0]), 0.0, 0.0]
        offset = 0.0
    else:
        assert isinstance(form, ItemForm)
        hits, rest = (
            absent + (factor(k, sizes) if factor else 0.0)
            for factor in (form.hits, form.rejections)
        )
        regular = regular_at_edges(form, metric, k, sizes)
        outcomes = metric.value(0, k, 0, sizes), metric.value(k, k, sizes, sizes)
        edges = [x - y for x, y in zip(outcomes, regular, strict=True)]
        empty = [float(metric.value(0, 0, t, n)) for t in (0, 1, n)]
        offset = form.offset
    height = float(hits[0])
    power = round(2.0 * math.log2(height / hits[1])) / 2.0 if height > 0.0 else 0.0
    lines = [_affine(k, values) for values in edges]
    fits = np.allclose(hits, height * k**-power, rtol=1e-12, atol=0.0)
    fits &= bool(np.ptp(rest) == 0.0) and power in (0.0, 0.5, 1.0)
    if None in lines or not fits:
        return None
    ends = [number for line in lines if line for number in line]
    limit = 1.0 - math.log(TOLERANCE) + 2.0 * math.log(n)
    shape = offset, height, power, float(rest[0])
    return (*shape, *ends, *empty, float(metric.tie_floor(n)), limit)


@lru_cache(maxsize=64)
def item_table(metric: Metric, n: int, device: object) -> ItemTable:
    """Return nodes and numbers of a metric on a device."""
    form, numbers = metric.form, item_numbers(metric, n)
    assert numbers is not None
    exponent = form.exponent if isinstance(form, ItemForm) else 1.0
    s, w = exponential_sum(exponent, 1.0, float(n))
    s, w = np.append(s, math.inf), np.append(w, 0.0)
    nodes = np.stack([s, w * np.exp(-s), np.exp(-s)])
    placed = [torch.from_numpy(np.array(x)).to(device) for x in (nodes, numbers)]
    return ItemTable(*placed)


@triton.jit
def _read_items(x_ptr, at, m, LOGITS: tl.constexpr):
    """Return p and q of items of a row, and q and p with padding as misses."""
    row = tl.program_id(1).to(tl.int64)
    pad = float("-inf") if LOGITS else 0.0
    x = tl.load(x_ptr + row * m + at, mask=at < m, other=pad).to(tl.float64)
    p, q = _probabilities(x, LOGITS)
    miss = tl.where(at < m, q, 0.0)
    other = tl.where(at < m, p, 1.0)
    return row, p, q, miss, other


@triton.jit
def _count_nodes(nodes_ptr, n_nodes, mean, limit, NODES: tl.constexpr):
    """Return how many nodes add more than rounding for a class of so many items."""
    node = tl.arange(0, NODES)
    s = tl.load(nodes_ptr + node, mask=node < n_nodes - 1, other=float("inf"))
    return _nodes_needed(s, 1.0, 1.0, mean, limit)


@triton.jit
def _join_factors(lost, far, next_lost, next_far):
    """Return 1 - Π(1 - lost) and Π far of two runs of items, without cancellation."""
    return lost + next_lost - lost * next_lost, far * next_far


@triton.jit
def _log_phi(x, rest, u):
    """Return the sum of log(1 - x·(1-u)), each to its last digit, of a matrix."""
    lost = x * (1.0 - u)
    near = lost < 0.25
    far = tl.where(near, 1.0, rest + x * u)
    lost, far = tl.reduce((tl.where(near, lost, 0.0), far), 1, _join_factors)
    phi = 1.0 - lost
    log = tl.where(phi < 1.0, tl.log(phi) * lost * _reciprocal(1.0 - phi), -lost)
    return tl.sum(log + tl.log(far), 0)


@triton.jit
def sum_logs(
    x_ptr,
    mean_ptr,
    nodes_ptr,
    number_ptr,
    log_ptr,
    m,
    n_nodes,
    NODES: tl.constexpr,
    HITS: tl.constexpr,
    REJECTIONS: tl.constexpr,
    LOGITS: tl.constexpr,
):
    """Add Σ log φ of a block at every node: of positives, and of negatives."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row, p, q, miss, other = _read_items(
        x_ptr, tl.reshape(at, (BLOCK // 4, 4)), m, LOGITS
    )
    limit = tl.load(number_ptr + 12)
    mean = tl.load(mean_ptr + row)
    for side in tl.static_range(2):
        x = p if side == 0 else miss
        rest = q if side == 0 else other
        to_ptr = log_ptr + (2 * row + side) * n_nodes
        if HITS if side == 0 else REJECTIONS:
            size = mean if side == 0 else m - mean
            for j in range(_count_nodes(nodes_ptr, n_nodes, size, limit, NODES)):
                u = tl.load(nodes_ptr + 2 * n_nodes + j)
                tl.atomic_add(to_ptr + j, _log_phi(x, rest, u), sem="relaxed")
        total = _log_phi(x, rest, 0.0)
        tl.atomic_add(to_ptr + n_nodes - 1, total, sem="relaxed")


@triton.jit
def _item_weights(x, rest, lead_ptr, nodes_ptr, n_nodes, count):
    """Return x_i·Σ_j w_j·u_j·Π φ_j of the other items."""
    out = x * 0.0
    for j in range(count):
        u = tl.load(nodes_ptr + 2 * n_nodes + j)
        out += tl.load(lead_ptr + j) * _reciprocal(rest + x * u)
    return out * x


@triton.jit
def weigh_items(
    key_ptr,
    mean_ptr,
    nodes_ptr,
    number_ptr,
    lead_ptr,
    curve_ptr,
    weight_ptr,
    sum_ptr,
    m,
    n_nodes,
    n_blocks,
    NODES: tl.constexpr,
    HITS: tl.constexpr,
    REJECTIONS: tl.constexpr,
    MEAN: tl.constexpr,
    LOGITS: tl.constexpr,
):
    """Write h·a and r·b of sorted items, and their sums in every block."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row, p, q, miss, other = _read_items(key_ptr, at, m, LOGITS)
    limit = tl.load(number_ptr + 12)
    mean = tl.load(mean_ptr + row)
    a = p * 0.0
    b = p * 0.0
    lead_ptr += 2 * row * n_nodes
    if HITS:
        a = p
        if not MEAN:
            count = _count_nodes(nodes_ptr, n_nodes, mean, limit, NODES)
            a = _item_weights(p, q, lead_ptr, nodes_ptr, n_nodes, count)
        a *= tl.load(number_ptr + 1)
        tl.store(curve_ptr + row * m + at, a, mask=at < m)
    if REJECTIONS:
        b = p
        if not MEAN:
            count = _count_nodes(nodes_ptr, n_nodes, m - mean, limit, NODES)
            lead_ptr += n_nodes
            b = _item_weights(miss, other, lead_ptr, nodes_ptr, n_nodes, count)
        b *= tl.load(number_ptr + 3)
        tl.store(weight_ptr + row * m + at, b, mask=at < m)
    place = 2 * row * n_blocks + tl.program_id(0)
    tl.store(sum_ptr + place, tl.sum(a, 0))
    tl.store(sum_ptr + place + n_blocks, tl.sum(b, 0))


@triton.jit
def draw_items(
    curve_ptr,
    weight_ptr,
    base_ptr,
    edge_ptr,
    number_ptr,
    top_ptr,
    m,
    n_blocks,
    HITS: tl.constexpr,
    REJECTIONS: tl.constexpr,
):
    """Write the values of the counts of a block in place of weights, and the largest.

    The base has Σ a before a block and Σ b behind its begin; an edge P(T=0), P(T=n).
    """
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.program_id(1).to(tl.int64)
    inside = at < m
    k = (at + 1).to(tl.float64)
    place = 2 * row * n_blocks + tl.program_id(0)
    curve = tl.load(number_ptr) + k * 0.0
    if HITS:
        a = tl.load(curve_ptr + row * m + at, mask=inside, other=0.0)
        power = tl.load(number_ptr + 2)
        shrink = tl.where(power == 0.5, 1.0 / tl.sqrt(k), 1.0 / k)
        shrink = tl.where(power == 0.0, 1.0, shrink)
        curve += (tl.load(base_ptr + place) + tl.cumsum(a, 0)) * shrink
    if REJECTIONS:
        b = tl.load(weight_ptr + row * m + at, mask=inside, other=0.0)
        curve += tl.load(base_ptr + place + n_blocks) - tl.cumsum(b, 0)
    for side in tl.static_range(2):
        slope = tl.load(number_ptr + 4 + 2 * side)
        level = tl.load(number_ptr + 5 + 2 * side)
        curve += tl.load(edge_ptr + 2 * row + side) * (slope * k + level)
    curve = tl.where(inside, curve, float("-inf"))
    tl.store(curve_ptr + row * m + at, curve, mask=inside)
    tl.store(top_ptr + row * n_blocks + tl.program_id(0), tl.max(curve, 0))


def decide_items(x: Tensor, metric: Metric, logits: bool) -> BestCounts:
    """Return best counts of long rows from the weights of all their items."""
    step = min(max(CELLS // x.shape[1], 1), MOST_ROWS)
    found = [_decide_some(some, metric, logits) for some in x.split(step)]
    best, value, cut = map(torch.cat, zip(*found, strict=True))
    return best, value, cut


def _decide_some(x: Tensor, metric: Metric, logits: bool) -> BestCounts:
    """Return best counts of so many rows as memory has room for."""
    rows, m = x.shape
    keys = torch.sort(x, 1, descending=True).values
    nodes, numbers = item_table(metric, m, x.device)
    n_nodes, n_blocks = nodes.shape[1], triton.cdiv(m, BLOCK.value)
    grid, like = (n_blocks, rows), {"dtype": torch.float64, "device": x.device}
    p = torch.sigmoid(keys.double()) if logits else keys
    mean = p.sum(1, dtype=torch.float64)
    affine = isinstance(metric.form, MeanForm)
    height, rest = (item_numbers(metric, m) or ())[1:4:2]
    parts = {"HITS": height != 0.0, "REJECTIONS": rest != 0.0}
    at = {"NODES": triton.next_power_of_2(n_nodes), "LOGITS": logits, "num_warps": 8}
    logs = torch.zeros((rows, 2, n_nodes), **like)
    edges = torch.ones((rows, 2), **like)
    if not affine:
        sum_logs[grid](keys, mean, nodes, numbers, logs, m, n_nodes, **at, **parts)
        edges = torch.exp(logs[:, :, -1]).contiguous()
    lead = torch.exp(logs) * nodes[1]
    curve, weight = (
        torch.empty((rows, m) if used else (1,), **like)
        for used in (True, parts["REJECTIONS"])
    )
    sums = torch.empty((rows, 2, n_blocks), **like)
    known = keys, mean, nodes, numbers, lead, curve, weight, sums
    weigh_items[grid](*known, m, n_nodes, n_blocks, MEAN=affine, **at, **parts)
    ahead = sums.cumsum(2)
    behind = sums[:, 1].flip(1).cumsum(1).flip(1)
    base = torch.stack([ahead[:, 0] - sums[:, 0], behind], 1)
    tops = torch.empty((rows, n_blocks), **like)
    draw_items[grid](curve, weight, base, edges, numbers, tops, m, n_blocks, **parts)
    none, every = edges.unbind(1)
    within = (1.0 - none - every).clamp(min=0.0)
    at_none, between, at_every, floor = numbers[8:12].unbind()
    nothing = none * at_none + within * between + every * at_every
    if affine:
        nothing = at_none + behind[:, 0]
    top = torch.maximum(tops.amax(1), nothing)
    certain = torch.minimum(mean, m - mean).clamp(0.0, 1.0)
    bar = top - torch.maximum(1e-12 * top.abs(), floor * certain)
    first = (tops >= bar[:, None]).to(torch.int8).argmax(1, keepdim=True)
    places = first * BLOCK.value + torch.arange(BLOCK.value, device=x.device)
    some = curve.gather(1, places.clamp(max=m - 1))
    least = (some >= bar[:, None]).to(torch.int8).argmax(1, keepdim=True)
    chosen = places.gather(1, least)
    empty = (nothing >= bar)[:, None]
    best = torch.where(empty, 0, chosen + 1)
    value = torch.where(empty[:, 0], nothing, some.gather(1, least)[:, 0])
    upper = keys.gather(1, (best - 1).clamp(min=0)).double()
    lower = keys.gather(1, best.clamp(max=m - 1)).double()
    upper = torch.where(empty, math.inf, upper)
    lower = torch.where(best < m, lower, -math.inf)
    cut = cut_between(namespace(x), upper, lower)
    return best[:, 0], value, cut[:, 0]
