"""Best masks on a GPU: histograms of all pixels, a bracket, and a window in it.

The histogram of the bits of p brackets the best cut-off by ratios of expected counts.
Where many pixels lie in the bracket, it gets a histogram of its own, and so on. The
pixels of the last bracket are sorted. The twin of the kernels is `_pixels`.
"""

from __future__ import annotations

import triton
import triton.language as tl

from argmetric.metrics import Metric, RatioForm
from argmetric.tensors._arrays import Tensor, require_torch
from argmetric.tensors._fused import (
    empty_found,
    kind_of,
    pruning,
    settle_window,
    window_table,
)
from argmetric.tensors._fused_rows import rough_ratio, settle_sorted
from argmetric.tensors._pixels import AHEAD, MANY_PIXELS, POWERS, WINDOW

torch = require_torch("the fused kernel")
SHORTEST = 1 << 14  # shorter rows are sorted
ROOM = 4096  # pixels of a row in its last bracket
BLOCK = 2048  # pixels of a step
STEPS = 8  # steps of a program
BINS = 1024  # the last is for pixels that are not counted
SHIFT = 18  # 32 bins an octave, from 2^-31 to 1
LOWEST = (127 - 31) << 23
FAINT = 1e-5  # the fourth power of such pixels is rounding
TWICE = 1 << 18  # longer rows may need a third histogram


@triton.jit
def scan_rows(
    p_ptr,
    state_ptr,
    count_ptr,
    sums_ptr,
    n,
    LOWEST: tl.constexpr,
    SHIFT: tl.constexpr,
    FAINT: tl.constexpr,
    POWERS: tl.constexpr,
    BLOCK: tl.constexpr,
    STEPS: tl.constexpr,
    BINS: tl.constexpr,
    FIRST: tl.constexpr,
):
    """Pixels of every bin of a bracket. Sums of powers of all pixels with FIRST, else
    the number of those above the bracket, and their sum.
    """
    row = tl.program_id(1).to(tl.int64)
    low = LOWEST
    high = 0
    shift = SHIFT
    if not FIRST:
        low = tl.load(state_ptr + 3 * row)
        high = tl.load(state_ptr + 3 * row + 1)
        shift = tl.load(state_ptr + 3 * row + 2)
    if shift >= 0:
        begin = tl.program_id(0) * BLOCK * STEPS
        count = tl.zeros((BINS,), dtype=tl.int32)
        power = tl.arange(0, POWERS)
        sums = tl.zeros((POWERS,), dtype=tl.float64)
        for step in range(STEPS):
            place = begin + step * BLOCK + tl.arange(0, BLOCK)
            inside = place < n
            p = tl.load(p_ptr + row * n + place, mask=inside, other=0.0)
            bits = p.to(tl.int32, bitcast=True)
            if FIRST:
                at = tl.minimum(tl.maximum((bits - low) >> shift, 0), BINS - 2)
                x = p.to(tl.float64)
                y = x
                for j in tl.static_range(3):
                    sums += tl.where(power == j, tl.sum(y, 0), 0.0)
                    y = y * x
                if tl.max(p, 0) > FAINT:
                    for j in tl.static_range(3, POWERS):
                        sums += tl.where(power == j, tl.sum(y, 0), 0.0)
                        y = y * x
            else:
                above = inside & (bits >= high)
                inside &= (bits >= low) & (bits < high)
                at = tl.minimum((bits - low) >> shift, BINS - 2)
                size = tl.sum(above.to(tl.int32), 0)
                if size > 0:
                    mass = tl.sum(tl.where(above, p, 0.0).to(tl.float64), 0)
                    sums += tl.where(power == 0, size.to(tl.float64), 0.0)
                    sums += tl.where(power == 1, mass, 0.0)
            count += tl.histogram(tl.where(inside, at, BINS - 1), BINS)
        bins = tl.arange(0, BINS)
        keep = (bins < BINS - 1) & (count > 0)
        tl.atomic_add(count_ptr + row * BINS + bins, count, mask=keep)
        tl.atomic_add(sums_ptr + row * POWERS + power, sums, mask=sums > 0.0)


@triton.jit
def choose_bracket(
    state_ptr,
    count_ptr,
    above_ptr,
    total_ptr,
    d1,
    d2,
    d3,
    AROUND: tl.constexpr,
    AHEAD: tl.constexpr,
    BEHIND: tl.constexpr,
    ROOM: tl.constexpr,
    LOWEST: tl.constexpr,
    SHIFT: tl.constexpr,
    POWERS: tl.constexpr,
    BINS: tl.constexpr,
    FIRST: tl.constexpr,
):
    """The bins around the best ratio of expected counts, with pixels on both sides.

    A state is the bits of the lower and upper end, and how many of them a bin of the
    next histogram has, as a shift: -1 where no other is needed.
    """
    row = tl.program_id(0).to(tl.int64)
    low = LOWEST
    high = 0x7F800000
    shift = SHIFT
    ahead = tl.full((), 0.0, tl.float64)
    hits = tl.full((), 0.0, tl.float64)
    if not FIRST:
        low = tl.load(state_ptr + 3 * row)
        high = tl.load(state_ptr + 3 * row + 1)
        shift = tl.load(state_ptr + 3 * row + 2)
        ahead = tl.load(above_ptr + row * POWERS)
        hits = tl.load(above_ptr + row * POWERS + 1)
    if shift >= 0:
        bin = tl.arange(0, BINS)
        count = tl.load(count_ptr + row * BINS + bin).to(tl.float64)
        edge = (low + (bin << shift)).to(tl.float32, bitcast=True)
        next = (low + ((bin + 1) << shift)).to(tl.float32, bitcast=True)
        if FIRST:
            edge = tl.where(bin == 0, 0.0, edge)
        middle = tl.minimum(edge.to(tl.float64) / 2.0 + next.to(tl.float64) / 2.0, 1.0)
        middle = tl.where(count > 0.0, middle, 0.0)
        mean = tl.load(total_ptr + row * POWERS)
        second = tl.load(total_ptr + row * POWERS + 1)
        k = ahead + tl.cumsum(count, 0, reverse=True)
        mass = hits + tl.cumsum(count * middle, 0, reverse=True)
        rough = rough_ratio(mass, k, mean, second, d1, d2, d3)
        rough = tl.where(count > 0.0, rough, -1.0)
        best = tl.min(tl.where(rough == tl.max(rough, 0), bin, BINS), 0)
        of_best = tl.sum(tl.where(bin == best, k, 0.0), 0)
        above = of_best - tl.sum(tl.where(bin == best, count, 0.0), 0)
        # Pixels on both sides, unless they are many of nearly the same value
        first = tl.max(tl.where(k >= of_best + BEHIND, bin, 0), 0)
        few = tl.min(tl.where(k <= of_best + ROOM // 4, bin, BINS), 0)
        first = tl.maximum(tl.minimum(tl.maximum(first, few), best - AROUND), 0)
        last = tl.min(tl.where(k <= above - AHEAD, bin, BINS), 0)
        few = tl.max(tl.where(k >= above - ROOM // 4, bin, 0), 0)
        last = tl.maximum(tl.minimum(last, few), best + AROUND + 1)
        size = tl.sum(tl.where((bin >= first) & (bin < last), count, 0.0), 0)
        if last < BINS - 1:
            high = tl.minimum(low + (last << shift), high)
        low = low + (first << shift)
        if FIRST:
            low = tl.where(first == 0, 0, low)
        span = tl.minimum(high, 0x3F800001) - low
        finer = 0
        for _ in tl.static_range(24):
            finer += ((span >> finer) >= BINS - 1).to(tl.int32)
        tl.store(state_ptr + 3 * row, low)
        tl.store(state_ptr + 3 * row + 1, high)
        tl.store(state_ptr + 3 * row + 2, tl.where(size > ROOM, finer, -1))


@triton.jit
def bracket_rows(
    p_ptr,
    state_ptr,
    items_ptr,
    width_ptr,
    first_ptr,
    sums_ptr,
    n,
    ROOM: tl.constexpr,
    POWERS: tl.constexpr,
    BLOCK: tl.constexpr,
    STEPS: tl.constexpr,
):
    """Pixels in a bracket of every row, and count and powers of those above.

    The last place is for the largest pixel below the bracket.
    """
    row = tl.program_id(1).to(tl.int64)
    begin = tl.program_id(0) * BLOCK * STEPS
    low = tl.load(state_ptr + 3 * row).to(tl.float32, bitcast=True)
    high = tl.load(state_ptr + 3 * row + 1).to(tl.float32, bitcast=True)
    power = tl.arange(0, POWERS)
    sums = tl.zeros((POWERS,), dtype=tl.float64)
    first = tl.full((), 0, tl.int32)
    below = tl.zeros((BLOCK,), dtype=tl.float32)
    for step in range(STEPS):
        place = begin + step * BLOCK + tl.arange(0, BLOCK)
        p = tl.load(p_ptr + row * n + place, mask=place < n, other=-1.0)
        above = p >= high
        inside = (p >= low) & (p < high)
        below = tl.maximum(below, tl.where(p < low, p, 0.0))
        size = tl.sum(above.to(tl.int32), 0)
        taken = tl.sum(inside.to(tl.int32), 0)
        if taken > 0:
            start = tl.atomic_add(width_ptr + row, taken)
            to = start + tl.cumsum(inside.to(tl.int32), 0) - 1
            tl.store(items_ptr + row * ROOM + to, p, mask=inside & (to < ROOM - 1))
        if size > 0:
            x = tl.where(above, p, 0.0).to(tl.float64)
            y = x
            for j in tl.static_range(POWERS):
                sums += tl.where(power == j, tl.sum(y, 0), 0.0)
                y = y * x
        first += size
    near = tl.max(below, 0)
    if near > 0.0:
        last_ptr = items_ptr.to(tl.pointer_type(tl.int32)) + row * ROOM + ROOM - 1
        tl.atomic_max(last_ptr, near.to(tl.int32, bitcast=True))
    if first > 0:
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


def fits_kernel(p: Tensor, metric: Metric) -> bool:
    """Whether `settle_fused` knows the metric and the type, and pays."""
    form = metric.form
    known = isinstance(form, RatioForm) and kind_of(form) < 2
    return known and (p.dtype == torch.float32 or p.shape[1] <= SHORTEST)


def settle_fused(
    p: Tensor, metric: Metric, logits: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """As `_pixels.settle_sorted_rows`.

    No number leaves the device, so the calls can be captured in a CUDA graph.
    """
    form, p = metric.form, p.contiguous()
    assert isinstance(form, RatioForm)
    rows, n = p.shape
    if n <= SHORTEST:
        keys = torch.sort(p, 1, descending=True).values
        return settle_window(keys, n, form, metric.zero_division, num_warps=2)
    levels = 2 if n <= TWICE else 3
    ints = torch.zeros(rows * (levels * BINS + 2), dtype=torch.int32, device=p.device)
    *counts, width, first = ints.split([rows * BINS] * levels + [rows, rows])
    sums = torch.zeros(
        (levels + 1, rows * POWERS), dtype=torch.float64, device=p.device
    )
    state = torch.empty((rows, 3), dtype=torch.int32, device=p.device)
    items = torch.zeros((rows, ROOM), dtype=torch.float32, device=p.device)
    found = empty_found(p)
    programs = triton.cdiv(n, BLOCK * STEPS), rows
    bits = {"LOWEST": LOWEST, "SHIFT": SHIFT, "BINS": BINS, "POWERS": POWERS}
    blocks = {"BLOCK": BLOCK, "STEPS": STEPS}
    for level, count in enumerate(counts):
        here = {**bits, "FIRST": level == 0}
        scan_rows[programs](
            p, state, count, sums[level], n, FAINT=FAINT, **here, **blocks
        )
        choose_bracket[(rows,)](
            state,
            count,
            sums[level],
            sums[0],
            *form.d[1:],
            AROUND=2 if level == 0 else 6,
            AHEAD=AHEAD,
            BEHIND=WINDOW - AHEAD,
            ROOM=ROOM,
            **here,
        )
    above = sums[levels]
    bracket_rows[programs](
        p, state, items, width, first, above, n, ROOM=ROOM, POWERS=POWERS, **blocks
    )
    table = window_table(form, n, p.device)
    n_nodes = table.shape[1]
    settle_sorted[(rows,)](
        torch.sort(items, 1, descending=True).values,
        table,
        width,
        first,
        above,
        sums[0],
        *found,
        ROOM,
        ROOM,
        n,
        n_nodes,
        metric.zero_division,
        *form.d[1:],
        *pruning(form, n),
        MANY_PIXELS,
        WINDOW=WINDOW,
        AHEAD=AHEAD,
        SCAN=1024,
        POWERS=POWERS,
        NODES=triton.next_power_of_2(n_nodes),
        JACCARD=kind_of(form) == 1,
        BRACKET=True,
    )
    return found
