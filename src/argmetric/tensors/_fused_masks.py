"""Best masks on a GPU: a histogram of all pixels, a bracket, and a window in it.

The twin of the kernels is the generic path of `_pixels`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import triton
import triton.language as tl

from argmetric.metrics import RatioForm
from argmetric.tensors._arrays import Tensor, require_torch
from argmetric.tensors._fused import empty_found, kind_of, pruning, window_table
from argmetric.tensors._fused_rows import settle_sorted
from argmetric.tensors._pixels import (
    AROUND,
    FEW_BINS,
    LOWEST,
    MANY_PIXELS,
    POWERS,
    SHIFT,
)

torch = require_torch("the fused kernel")
ROOM_SHARE = 64  # of its pixels a row may have one in so many in its bracket
LEAST_ROOM = 1024
BLOCK = 2048  # pixels of a step
STEPS = 8  # steps of a program
BINS = 1024  # of the kernel's histogram: a power of two


@triton.jit
def scan_rows(
    p_ptr,
    count_ptr,
    sums_ptr,
    n,
    lowest,
    last,
    SHIFT: tl.constexpr,
    POWERS: tl.constexpr,
    BLOCK: tl.constexpr,
    STEPS: tl.constexpr,
    BINS: tl.constexpr,
):
    """Pixels of every bin, and sums of powers, of every row."""
    row = tl.program_id(1).to(tl.int64)
    begin = tl.program_id(0) * BLOCK * STEPS
    count = tl.zeros((BINS,), dtype=tl.int32)
    power = tl.arange(0, POWERS)
    sums = tl.zeros((POWERS,), dtype=tl.float64)
    for step in range(STEPS):
        place = begin + step * BLOCK + tl.arange(0, BLOCK)
        p = tl.load(p_ptr + row * n + place, mask=place < n, other=0.0)
        found = (p.to(tl.int32, bitcast=True) >> SHIFT) - lowest
        found = tl.minimum(tl.maximum(found, 0), last)
        found = tl.where(place < n, found, BINS - 1)
        count += tl.histogram(found, BINS)
        x = p.to(tl.float64)
        y = x
        for j in tl.static_range(POWERS):
            sums += tl.where(power == j, tl.sum(y, 0), 0.0)
            y = y * x
    bins = tl.arange(0, BINS)
    keep = (bins <= last) & (count > 0)
    tl.atomic_add(count_ptr + row * (last + 1) + bins, count, mask=keep)
    tl.atomic_add(sums_ptr + row * POWERS + power, sums)


@triton.jit
def choose_bracket(
    count_ptr,
    sums_ptr,
    edge_ptr,
    low_ptr,
    high_ptr,
    bins,
    around,
    POWERS: tl.constexpr,
    BINS: tl.constexpr,
    JACCARD: tl.constexpr,
):
    """Edges of the bins around the best ratio of expected counts, of every row."""
    row = tl.program_id(0)
    bin = tl.arange(0, BINS)
    inside = bin < bins
    count = tl.load(count_ptr + row * bins + bin, mask=inside, other=0).to(tl.float64)
    low = tl.load(edge_ptr + bin, mask=inside, other=0.0)
    high = tl.load(edge_ptr + bin + 1, mask=inside, other=0.0)
    middle = tl.where(bin < bins - 1, (low + high) / 2.0, low)
    mean = tl.load(sums_ptr + row * POWERS)
    k = tl.cumsum(count, 0, reverse=True)
    mass = tl.cumsum(count * middle, 0, reverse=True)
    below = k + mean - mass if JACCARD else (k + mean) / 2.0
    rough = tl.where(inside & (below > 0.0), mass / below, -1.0)
    top = tl.max(rough, 0)
    best = tl.min(tl.where(rough == top, bin, BINS), 0)
    first = tl.maximum(best - around, 0)
    last = tl.minimum(best + around, bins - 1) + 1
    tl.store(low_ptr + row, tl.load(edge_ptr + first).to(tl.float32))
    tl.store(high_ptr + row, tl.load(edge_ptr + last).to(tl.float32))


@triton.jit
def scan_bracket(
    p_ptr,
    low_ptr,
    high_ptr,
    fine_ptr,
    n,
    BLOCK: tl.constexpr,
    STEPS: tl.constexpr,
    FINE: tl.constexpr,
):
    """Pixels of FINE equal steps of the bits between low and high, of every row."""
    row = tl.program_id(1).to(tl.int64)
    begin = tl.program_id(0) * BLOCK * STEPS
    low = tl.load(low_ptr + row)
    high = tl.load(high_ptr + row)
    lowbits = low.to(tl.int32, bitcast=True)
    highbits = tl.minimum(high, 1.0).to(tl.int32, bitcast=True) + 1
    step_bits = tl.maximum((highbits - lowbits + FINE - 1) // FINE, 1)
    count = tl.zeros((FINE,), dtype=tl.int32)
    for step in range(STEPS):
        place = begin + step * BLOCK + tl.arange(0, BLOCK)
        p = tl.load(p_ptr + row * n + place, mask=place < n, other=-1.0)
        inside = (p >= low) & (p < high)
        at = (p.to(tl.int32, bitcast=True) - lowbits) // step_bits
        at = tl.where(inside, tl.minimum(tl.maximum(at, 0), FINE - 1), FINE - 1)
        h = tl.histogram(at, FINE)
        outside = tl.sum((~inside).to(tl.int32), 0)
        count += tl.where(tl.arange(0, FINE) == FINE - 1, h - outside, h)
    bins = tl.arange(0, FINE)
    tl.atomic_add(fine_ptr + row * FINE + bins, count, mask=count > 0)


@triton.jit
def narrow_bracket(
    fine_ptr,
    count_ptr,
    sums_ptr,
    edge_ptr,
    low_ptr,
    high_ptr,
    bins,
    around,
    room,
    POWERS: tl.constexpr,
    BINS: tl.constexpr,
    FINE: tl.constexpr,
    JACCARD: tl.constexpr,
):
    row = tl.program_id(0)
    low = tl.load(low_ptr + row)
    high = tl.load(high_ptr + row)
    bin = tl.arange(0, BINS)
    inside = bin < bins
    count = tl.load(count_ptr + row * bins + bin, mask=inside, other=0).to(tl.float64)
    elow = tl.load(edge_ptr + bin, mask=inside, other=0.0)
    ehigh = tl.load(edge_ptr + bin + 1, mask=inside, other=0.0)
    middle = tl.where(bin < bins - 1, (elow + ehigh) / 2.0, elow)
    above = inside & (elow >= high.to(tl.float64))
    k0 = tl.sum(tl.where(above, count, 0.0), 0)
    m0 = tl.sum(tl.where(above, count * middle, 0.0), 0)
    lowbits = low.to(tl.int32, bitcast=True)
    highbits = tl.minimum(high, 1.0).to(tl.int32, bitcast=True) + 1
    step_bits = tl.maximum((highbits - lowbits + FINE - 1) // FINE, 1)
    f = tl.arange(0, FINE)
    c = tl.load(fine_ptr + row * FINE + f).to(tl.float64)
    total = tl.sum(c, 0)
    if total > room / 2:
        value = (lowbits + f * step_bits).to(tl.float32, bitcast=True).to(tl.float64)
        mean = tl.load(sums_ptr + row * POWERS)
        k = k0 + tl.cumsum(c, 0, reverse=True)
        mass = m0 + tl.cumsum(c * value, 0, reverse=True)
        below = k + mean - mass if JACCARD else (k + mean) / 2.0
        rough = tl.where(below > 0.0, mass / below, -1.0)
        top = tl.max(rough, 0)
        best = tl.min(tl.where(rough == top, f, FINE), 0)
        first = tl.maximum(best - around, 0)
        last = best + around + 1
        tl.store(
            low_ptr + row, (lowbits + first * step_bits).to(tl.float32, bitcast=True)
        )
        if last < FINE:
            tl.store(
                high_ptr + row,
                (lowbits + last * step_bits).to(tl.float32, bitcast=True),
            )


@triton.jit
def bracket_rows(
    p_ptr,
    low_ptr,
    high_ptr,
    items_ptr,
    width_ptr,
    first_ptr,
    sums_ptr,
    n,
    room,
    POWERS: tl.constexpr,
    BLOCK: tl.constexpr,
    STEPS: tl.constexpr,
):
    """Pixels in [low, high) of every row, and count and powers of those above."""
    row = tl.program_id(1).to(tl.int64)
    begin = tl.program_id(0) * BLOCK * STEPS
    low = tl.load(low_ptr + row)
    high = tl.load(high_ptr + row)
    power = tl.arange(0, POWERS)
    sums = tl.zeros((POWERS,), dtype=tl.float64)
    first = tl.full((), 0, tl.int32)
    for step in range(STEPS):
        place = begin + step * BLOCK + tl.arange(0, BLOCK)
        p = tl.load(p_ptr + row * n + place, mask=place < n, other=-1.0)
        above = p >= high
        inside = (p >= low) & (p < high)
        first += tl.sum(above.to(tl.int32), 0)
        taken = tl.sum(inside.to(tl.int32), 0)
        if taken > 0:
            start = tl.atomic_add(width_ptr + row, taken)
            to = start + tl.cumsum(inside.to(tl.int32), 0) - 1
            tl.store(items_ptr + row * room + to, p, mask=inside & (to < room))
        x = tl.where(above, p, 0.0).to(tl.float64)
        y = x
        for j in tl.static_range(POWERS):
            sums += tl.where(power == j, tl.sum(y, 0), 0.0)
            y = y * x
    tl.atomic_add(first_ptr + row, first)
    tl.atomic_add(sums_ptr + row * POWERS + power, sums)


@triton.jit
def assign_pixels(
    p_ptr, label_ptr, level_ptr, owner_ptr, mask_ptr, n, classes, BLOCK: tl.constexpr
):
    """Give a pixel to the class with the largest p/level among those that claim it."""
    image = tl.program_id(1).to(tl.int64)
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < n
    top = tl.full((BLOCK,), -1.0, tl.float32)
    owner = tl.full((BLOCK,), -1, tl.int32)
    for c in range(classes):
        row = image * classes + c
        p = tl.load(p_ptr + row * n + place, mask=inside, other=0.0)
        label = tl.load(label_ptr + row * n + place, mask=inside, other=0)
        claim = tl.where(label != 0, tl.div_rn(p, tl.load(level_ptr + row)), -1.0)
        owner = tl.where(claim > top, c, owner)
        top = tl.maximum(claim, top)
    tl.store(owner_ptr + image * n + place, owner.to(tl.int64), mask=inside)
    for c in range(classes):
        row = image * classes + c
        tl.store(mask_ptr + row * n + place, (owner == c).to(tl.int8), mask=inside)


@triton.jit
def sum_powers(
    p_ptr,
    label_ptr,
    count_ptr,
    total_ptr,
    chosen_ptr,
    n,
    POWERS: tl.constexpr,
    BLOCK: tl.constexpr,
    STEPS: tl.constexpr,
):
    """Sums of powers of all pixels and of the labelled ones, and their count."""
    row = tl.program_id(1).to(tl.int64)
    begin = tl.program_id(0) * BLOCK * STEPS
    power = tl.arange(0, POWERS)
    total = tl.zeros((POWERS,), dtype=tl.float64)
    chosen = tl.zeros((POWERS,), dtype=tl.float64)
    count = tl.full((), 0, tl.int64)
    for step in range(STEPS):
        place = begin + step * BLOCK + tl.arange(0, BLOCK)
        p = tl.load(p_ptr + row * n + place, mask=place < n, other=0.0)
        label = tl.load(label_ptr + row * n + place, mask=place < n, other=0) != 0
        count += tl.sum(label.to(tl.int64), 0)
        x = p.to(tl.float64)
        y = x
        for j in tl.static_range(POWERS):
            total += tl.where(power == j, tl.sum(y, 0), 0.0)
            chosen += tl.where(power == j, tl.sum(tl.where(label, y, 0.0), 0), 0.0)
            y = y * x
    tl.atomic_add(count_ptr + row, count)
    tl.atomic_add(total_ptr + row * POWERS + power, total)
    tl.atomic_add(chosen_ptr + row * POWERS + power, chosen)


def assign_fused(p: Tensor, labels: Tensor, level: Tensor) -> tuple[Tensor, Tensor]:
    """As `_masks.assign`."""
    images, classes, n = p.shape
    owner = torch.empty((images, n), dtype=torch.int64, device=p.device)
    masks = torch.empty_like(labels)
    assign_pixels[(triton.cdiv(n, 1024), images)](
        p,
        labels.view(torch.int8),
        level.contiguous(),
        owner,
        masks.view(torch.int8),
        n,
        classes,
        BLOCK=1024,
    )
    return owner, masks


def sums_fused(p: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """As `_pixels.masked_sums`."""
    rows, n = p.shape
    count = torch.zeros(rows, dtype=torch.int64, device=p.device)
    sums = torch.zeros((2, rows, POWERS), dtype=torch.float64, device=p.device)
    blocks = {"POWERS": POWERS, "BLOCK": BLOCK, "STEPS": STEPS}
    sum_powers[(triton.cdiv(n, BLOCK * STEPS), rows)](
        p, chosen.view(torch.int8), count, *sums, n, **blocks
    )
    return count, sums[0], sums[1]


@lru_cache(maxsize=8)
def bin_edges(device: Any) -> Tensor:
    """Lower edges of the bins of the bits of p, and infinity."""
    bits = torch.arange(FEW_BINS, dtype=torch.int32) + LOWEST
    edges = (bits << SHIFT).view(torch.float32).double()
    edges[0] = 0.0
    return torch.cat([edges, edges.new_full((1,), math.inf)]).to(device)


def settle_fused(p: Tensor, form: RatioForm) -> tuple[Tensor, Tensor, Tensor]:
    """Best count, its value and the cut-off of rows; -1 where this way is not enough.

    No number leaves the device, so the calls can be captured in a CUDA graph.
    """
    rows, n = p.shape
    room = min(max(n // ROOM_SHARE, LEAST_ROOM), n)
    counts = torch.zeros(rows * (FEW_BINS + 2), dtype=torch.int32, device=p.device)
    count, width, first = counts.split([rows * FEW_BINS, rows, rows])
    sums = torch.zeros((2, rows, POWERS), dtype=torch.float64, device=p.device)
    ends = torch.empty((2, rows), dtype=torch.float32, device=p.device)
    items = torch.zeros((rows, room), dtype=torch.float32, device=p.device)
    found = empty_found(p)
    programs = triton.cdiv(n, BLOCK * STEPS), rows
    blocks = {"POWERS": POWERS, "BLOCK": BLOCK, "STEPS": STEPS}
    scan_rows[programs](
        p, count, sums[0], n, LOWEST, FEW_BINS - 1, SHIFT=SHIFT, BINS=BINS, **blocks
    )
    jaccard = kind_of(form) == 1
    choose_bracket[(rows,)](
        count,
        sums[0],
        bin_edges(p.device),
        *ends,
        FEW_BINS,
        AROUND,
        POWERS=POWERS,
        BINS=BINS,
        JACCARD=jaccard,
    )
    fine = torch.zeros((rows, 1024), dtype=torch.int32, device=p.device)
    scan_bracket[programs](p, *ends, fine, n, BLOCK=BLOCK, STEPS=STEPS, FINE=1024)
    narrow_bracket[(rows,)](
        fine,
        count,
        sums[0],
        bin_edges(p.device),
        *ends,
        FEW_BINS,
        6,
        room,
        POWERS=POWERS,
        BINS=BINS,
        FINE=1024,
        JACCARD=jaccard,
    )
    bracket_rows[programs](p, *ends, items, width, first, sums[1], n, room, **blocks)
    table = window_table(form, n, p.device)
    n_nodes = table.shape[1]
    settle_sorted[(rows,)](
        torch.sort(items, 1, descending=True).values,
        table,
        width,
        first,
        sums[1],
        sums[0],
        *found,
        room,
        room,
        n,
        n_nodes,
        0.0,
        *form.d[1:],
        *pruning(form, n),
        MANY_PIXELS,
        0.0,
        WINDOW=128,
        SCAN=1024,
        POWERS=POWERS,
        NODES=triton.next_power_of_2(n_nodes),
        JACCARD=jaccard,
        BRACKET=True,
        HEAD=False,
    )
    return found
