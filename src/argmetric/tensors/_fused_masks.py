"""Two passes over the pixels of masks on a GPU: a histogram, and a bracket.

They give what `histogram_and_sums` and `bracket_of` of `_masks` give.
"""

from __future__ import annotations

import triton
import triton.language as tl

from argmetric.tensors._arrays import Tensor, require_torch

torch = require_torch("the fused kernel")
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


def fused_histogram(
    p: Tensor, bins: int, lowest: int, shift: int, powers: int
) -> tuple[Tensor, Tensor]:
    """Pixels of every bin of the bits of p, and sums of powers."""
    rows, n = p.shape
    count = torch.zeros((rows, bins), dtype=torch.int32, device=p.device)
    sums = torch.zeros((rows, powers), dtype=torch.float64, device=p.device)
    scan_rows[(triton.cdiv(n, BLOCK * STEPS), rows)](
        p,
        count,
        sums,
        n,
        lowest,
        bins - 1,
        SHIFT=shift,
        POWERS=powers,
        BLOCK=BLOCK,
        STEPS=STEPS,
        BINS=BINS,
    )
    return count, sums


def fused_bracket(
    p: Tensor, low: Tensor, high: Tensor, room: int, powers: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Pixels in [low, high) in any order, their number, and those above."""
    rows, n = p.shape
    items = torch.zeros((rows, room), dtype=p.dtype, device=p.device)
    width = torch.zeros(rows, dtype=torch.int32, device=p.device)
    first = torch.zeros_like(width)
    sums = torch.zeros((rows, powers), dtype=torch.float64, device=p.device)
    bracket_rows[(triton.cdiv(n, BLOCK * STEPS), rows)](
        p,
        low.contiguous(),
        high.contiguous(),
        items,
        width,
        first,
        sums,
        n,
        room,
        POWERS=powers,
        BLOCK=BLOCK,
        STEPS=STEPS,
    )
    return items, width.long(), first.long(), sums
