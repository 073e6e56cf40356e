"""Long rows and masks on a GPU: histograms of all items, a bracket, a window in it.

The histogram of the bits of p, in float32, brackets the best cut-off by values at
expected counts. Where many items lie in the bracket, it gets a histogram of its own,
and so on. The items of the last bracket are sorted; where very many are equal, one
stands for all. The twin of the kernels is `_pixels`.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from argmetric.metrics import Metric
from argmetric.tensors._arrays import Tensor, require_torch
from argmetric.tensors._fused_curve import (
    _larger,
    kind_of,
    rough_value,
    window_table,
)
from argmetric.tensors._fused_window import run_window
from argmetric.tensors._pixels import AHEAD, MANY_PIXELS, POWERS

torch = require_torch("the fused kernel")
SHORTEST = 1 << 14  # shorter rows are sorted
WIDER = 1900  # items on both sides of the best, where ties of 1e-12 are wide
ROOM = 4096  # places for the entries of the last bracket of a row, and its neighbours
BLOCK = 2048  # items of a step
STEPS = 8  # steps of a program
BINS = 1024, 4096, 4096  # of each histogram; the last one of the first is for padding
SHIFT = 18  # 32 bins an octave, from 2^-31 to 1
LOWEST = (127 - 31) << 23
# Equal items need a third histogram. It takes 0.15 ms, which images of 512² do not have
TWICE = 1 << 17, 1 << 18
FAINT = 1e-5  # the fourth power of such items is rounding


@triton.jit
def _bits(p):
    """The bits of p in float32, which are in the order of p."""
    return p.to(tl.float32).to(tl.int32, bitcast=True)


@triton.jit
def scan_rows(
    p_ptr,
    state_ptr,
    bin_ptr,
    seen_ptr,
    sums_ptr,
    n,
    LOWEST: tl.constexpr,
    SHIFT: tl.constexpr,
    FAINT: tl.constexpr,
    POWERS: tl.constexpr,
    BLOCK: tl.constexpr,
    STEPS: tl.constexpr,
    BINS: tl.constexpr,
    LEVEL: tl.constexpr,
    LAST: tl.constexpr,
    KIND: tl.constexpr,
):
    """Items of every bin of a bracket. At level 0 sums of powers of all p, and of 1 - p
    for MCC and kappa; else the number of items above the bracket, and their sum.
    """
    row = tl.program_id(1).to(tl.int64)
    begin = tl.program_id(0) * BLOCK * STEPS
    power = tl.arange(0, 2 * POWERS)
    sums = tl.zeros((2 * POWERS,), dtype=tl.float64)
    bin_ptr += row * BINS
    if LEVEL == 0:
        count = tl.zeros((BINS,), dtype=tl.int32)
        for step in range(STEPS):
            place = begin + step * BLOCK + tl.arange(0, BLOCK)
            inside = place < n
            p = tl.load(p_ptr + row * n + place, mask=inside, other=0.0)
            at = tl.minimum(tl.maximum((_bits(p) - LOWEST) >> SHIFT, 0), BINS - 2)
            x = p.to(tl.float64)
            y = x
            for j in tl.static_range(3):
                sums += tl.where(power == j, tl.sum(y, 0), 0.0)
                y = y * x
            if tl.max(p, 0) > FAINT:
                for j in tl.static_range(3, POWERS):
                    sums += tl.where(power == j, tl.sum(y, 0), 0.0)
                    y = y * x
            if KIND >= 3:
                x = tl.where(inside, 1.0 - x, 0.0)
                y = x
                for j in tl.static_range(POWERS, 2 * POWERS):
                    sums += tl.where(power == j, tl.sum(y, 0), 0.0)
                    y = y * x
            count += tl.histogram(tl.where(inside, at, BINS - 1), BINS)
        bins = tl.arange(0, BINS)
        keep = (bins < BINS - 1) & (count > 0)
        tl.atomic_add(bin_ptr + bins, count, mask=keep, sem="relaxed")
    else:
        low = tl.load(state_ptr + 4 * row)
        high = tl.load(state_ptr + 4 * row + 1)
        shift = tl.load(state_ptr + 4 * row + 2)
        if shift >= 0:
            size = tl.zeros((BLOCK,), dtype=tl.int32)
            mass = tl.zeros((BLOCK,), dtype=tl.float64)
            for step in range(STEPS):
                place = begin + step * BLOCK + tl.arange(0, BLOCK)
                p = tl.load(p_ptr + row * n + place, mask=place < n, other=-1.0)
                bits = _bits(p)
                above = bits >= high
                size += above.to(tl.int32)
                mass += tl.where(above, p, 0.0).to(tl.float64)
                inside = (bits >= low) & (bits < high)
                at = tl.minimum((bits - low) >> shift, BINS - 1)
                tl.atomic_add(bin_ptr + at, 1, mask=inside, sem="relaxed")
                if LAST:
                    tl.store(seen_ptr + row * BINS + at, p, mask=inside)
            sums += tl.where(power == 0, tl.sum(size, 0).to(tl.float64), 0.0)
            sums += tl.where(power == 1, tl.sum(mass, 0), 0.0)
    sums_ptr += row * 2 * POWERS + power
    tl.atomic_add(sums_ptr, sums, mask=sums > 0.0, sem="relaxed")


@triton.jit
def choose_bracket(
    state_ptr,
    bin_ptr,
    seen_ptr,
    item_ptr,
    each_ptr,
    count_ptr,
    above_ptr,
    total_ptr,
    table_ptr,
    size,
    AHEAD: tl.constexpr,
    ROOM: tl.constexpr,
    LOWEST: tl.constexpr,
    SHIFT: tl.constexpr,
    POWERS: tl.constexpr,
    BINS: tl.constexpr,
    LEVEL: tl.constexpr,
    LAST: tl.constexpr,
    KIND: tl.constexpr,
    DOUBLE: tl.constexpr,
):
    """The bins around the best value at expected counts, with items on both sides.

    A state is the bits of the lower and upper end, how many of them a bin of the next
    histogram has, as a shift (-1 where no other is needed), and where that begins. In
    the end a bin with many items is one entry, with a count, for those that are equal.
    """
    row = tl.program_id(0).to(tl.int64)
    low = tl.full((), LOWEST, tl.int32)
    high = tl.full((), 0x7F800000, tl.int32)
    shift = tl.full((), SHIFT, tl.int32)
    ahead = tl.full((), 0.0, tl.float64)
    hits = tl.full((), 0.0, tl.float64)
    n = tl.full((), 0.0, tl.float64) + size
    state_ptr += 4 * row
    count_ptr += 4 * row
    total_ptr += row * 2 * POWERS
    if LEVEL > 0:
        low = tl.load(state_ptr)
        high = tl.load(state_ptr + 1)
        shift = tl.load(state_ptr + 2)
        ahead = tl.load(above_ptr + row * 2 * POWERS)
        hits = tl.load(above_ptr + row * 2 * POWERS + 1)
    if shift >= 0:
        bin = tl.arange(0, BINS)
        count = tl.load(bin_ptr + row * BINS + bin).to(tl.float64)
        edge = (low + (bin << shift)).to(tl.float32, bitcast=True)
        next = (low + ((bin + 1) << shift)).to(tl.float32, bitcast=True)
        if LEVEL == 0:
            edge = tl.where(bin == 0, 0.0, edge)
        middle = tl.minimum(edge.to(tl.float64) / 2.0 + next.to(tl.float64) / 2.0, 1.0)
        if LEVEL > 0:
            middle = tl.where(shift == 0, edge.to(tl.float64), middle)
        middle = tl.where(count > 0.0, middle, 0.0)
        mean = tl.load(total_ptr)
        second = tl.load(total_ptr + 1)
        k = ahead + tl.cumsum(count, 0, reverse=True)
        mass = hits + tl.cumsum(count * middle, 0, reverse=True)
        chosen = k
        if KIND == 3 and LEVEL == 0:
            # Near k = n from below, where the rounding of bins would be all there is
            missed = tl.cumsum(count * middle, 0) - count * middle
            mass = tl.where(2.0 * k > n, mean - missed, mass)
        if KIND >= 3:
            flip = mean > 0.5 * n
            # The cut is above the last bin that is taken
            chosen = tl.where(flip, n - k + count, k)
            rest = mean - mass + count * middle
            mass = tl.where(flip, chosen - rest, mass)
            mean = tl.where(flip, tl.load(total_ptr + POWERS), mean)
            second = tl.where(flip, tl.load(total_ptr + POWERS + 1), second)
        law = (table_ptr, n, mean, second)
        rough = rough_value(mass, chosen, law, KIND)
        rough = tl.where(count > 0.0, rough, float("-inf"))
        top = tl.max(rough, 0)
        best = tl.min(tl.where(rough == top, bin, BINS), 0)
        lowest = tl.min(tl.where(count > 0.0, bin, BINS), 0)
        highest = tl.max(tl.where(count > 0.0, bin, 0), 0)
        if KIND == 2:
            single = rough_value(tl.max(middle, 0), 1.0, law, KIND)
            best = tl.where((ahead == 0.0) & (single > top), highest, best)
        of_best = tl.sum(tl.where(bin == best, k, 0.0), 0)
        above = of_best - tl.sum(tl.where(bin == best, count, 0.0), 0)
        if LAST:
            # Items of a very full bin are nearly always equal
            alone = (count <= ROOM // 8) & ((shift > 0) | DOUBLE)
            most = ROOM // 2 - ROOM // 8 + 128
            entries = tl.where(alone, count, (count > 0.0).to(tl.float64))
            place = tl.cumsum(entries, 0, reverse=True)
            at_best = tl.sum(tl.where(bin == best, place, 0.0), 0)
            first = tl.min(tl.where(place <= at_best + most, bin, BINS), 0)
            last = tl.max(tl.where(place >= at_best - most, bin, 0), 0) + 1
        else:
            first = tl.max(tl.where(k >= of_best + AHEAD, bin, 0), 0)
            last = tl.min(tl.where(k <= above - AHEAD, bin, BINS), 0)
        if KIND == 3 and LEVEL == 0:
            # Bins are known to a percent
            first = tl.minimum(
                first, tl.min(tl.where(rough >= 0.98 * top, bin, BINS), 0)
            )
            last = tl.maximum(
                last, tl.max(tl.where(rough >= 0.98 * top, bin, 0), 0) + 1
            )
        first = tl.maximum(tl.minimum(tl.maximum(first, lowest), best - 2), 0)
        last = tl.maximum(tl.minimum(last, highest + 1), best + 3)
        if KIND == 3:
            # Another maximum outside is nearly as good
            doubt = 0.02 if LEVEL == 0 else tl.exp2((shift - 22).to(tl.float64))
            good = top * (1.0 - tl.minimum(tl.maximum(2.0 / mean, doubt), 1.0))
            early = tl.where(bin <= first, rough, float("-inf"))
            late = tl.where(bin >= last - 1, rough, float("-inf"))
            most = tl.associative_scan(early, 0, _larger)
            falls = (bin <= first) & (most >= good) & (rough < most * (1.0 - 1e-9))
            most = tl.associative_scan(late, 0, _larger, reverse=True)
            falls |= (bin >= last - 1) & (most >= good) & (rough < most * (1.0 - 1e-9))
            rival = tl.max((falls & (count > 0.0)).to(tl.int32), 0)
            tl.atomic_max(count_ptr + 3, rival, sem="relaxed")
        within = (bin >= first) & (bin < last)
        over = tl.sum(tl.where(within, count, 0.0), 0) > ROOM - 2
        tl.store(state_ptr + 3, low)
        if last < BINS - (1 if LEVEL == 0 else 0):
            high = tl.minimum(low + (last << shift), high)
        low = low + (first << shift)
        if LEVEL == 0:
            low = tl.where(first == 0, 0, low)
        span = tl.minimum(high, 0x3F800001) - low
        finer = shift
        if LAST:
            full = within & (tl.where(over, count, 0.0) > 0.0)
            place = tl.cumsum(full.to(tl.int32), 0) - 1
            seen = tl.load(seen_ptr + row * BINS + bin, mask=full, other=0.0)
            tl.store(item_ptr + row * ROOM + place, seen, mask=full)
            tl.store(each_ptr + row * ROOM + place, count.to(tl.int32), mask=full)
            tl.store(bin_ptr + row * BINS + bin, place, mask=full)
            tl.store(count_ptr, tl.sum(full.to(tl.int32), 0))
        else:
            finer = 0
            for _ in tl.static_range(24):
                finer += ((span >> finer) >= 4095).to(tl.int32)
        tl.store(state_ptr, low)
        tl.store(state_ptr + 1, high)
        tl.store(state_ptr + 2, tl.where(over, finer, -1))
    if LAST:
        tl.store(item_ptr + row * ROOM + ROOM - 2, float("inf"))


@triton.jit
def bracket_rows(
    p_ptr,
    state_ptr,
    bin_ptr,
    seen_ptr,
    item_ptr,
    each_ptr,
    count_ptr,
    sums_ptr,
    total_ptr,
    n,
    ROOM: tl.constexpr,
    POWERS: tl.constexpr,
    BLOCK: tl.constexpr,
    STEPS: tl.constexpr,
    BINS: tl.constexpr,
    KIND: tl.constexpr,
    DOUBLE: tl.constexpr,
):
    """Items in a bracket of every row; count and powers of those before it.

    An item that is not the entry of its bin gets one of its own. The last places are
    for the smallest item above the bracket and the largest below.
    """
    row = tl.program_id(1).to(tl.int64)
    begin = tl.program_id(0) * BLOCK * STEPS
    low = tl.load(state_ptr + 4 * row)
    high = tl.load(state_ptr + 4 * row + 1)
    shift = tl.load(state_ptr + 4 * row + 2)
    base = tl.load(state_ptr + 4 * row + 3)
    power = tl.arange(0, POWERS)
    sums = tl.zeros((POWERS,), dtype=tl.float64)
    flip = tl.full((), 0, tl.int1)
    if KIND >= 3:
        flip = tl.load(total_ptr + row * 2 * POWERS) > 0.5 * n
    first = tl.full((), 0, tl.int32)
    below = tl.full((), 0.0, p_ptr.dtype.element_ty)
    above = tl.full((), float("inf"), p_ptr.dtype.element_ty)
    item_ptr += row * ROOM
    each_ptr += row * ROOM
    count_ptr += 4 * row
    for step in range(STEPS):
        place = begin + step * BLOCK + tl.arange(0, BLOCK)
        p = tl.load(p_ptr + row * n + place, mask=place < n, other=-1.0)
        bits = _bits(p)
        over = bits >= high
        under = (place < n) & (bits < low)
        inside = (bits >= low) & (bits < high)
        if shift >= 0:
            at = row * BINS + tl.minimum((bits - base) >> shift, BINS - 1)
            inside &= p != tl.load(seen_ptr + at, mask=inside, other=0.0)
            entry = tl.load(bin_ptr + at, mask=inside, other=0)
            tl.atomic_add(each_ptr + entry, -1, mask=inside, sem="relaxed")
        below = tl.maximum(below, tl.max(tl.where(under, p, 0.0), 0))
        above = tl.minimum(above, tl.min(tl.where(over, p, float("inf")), 0))
        first += tl.sum(over.to(tl.int32), 0)
        taken = tl.sum(inside.to(tl.int32), 0)
        if taken > 0:
            start = tl.atomic_add(count_ptr, taken, sem="relaxed")
            to = start + tl.cumsum(inside.to(tl.int32), 0) - 1
            tl.store(item_ptr + to, p, mask=inside & (to < ROOM - 2))
        before = over
        if KIND >= 3:
            before = tl.where(flip, under, over)
        if tl.max(before.to(tl.int32), 0) > 0:
            x = p.to(tl.float64)
            x = tl.where(before, tl.where(flip, 1.0 - x, x), 0.0)
            y = x
            for j in tl.static_range(POWERS):
                sums += tl.where(power == j, tl.sum(y, 0), 0.0)
                y = y * x
    of_bits = tl.int64 if DOUBLE else tl.int32
    last_ptr = (item_ptr + ROOM - 1).to(tl.pointer_type(of_bits))
    tl.atomic_max(last_ptr, below.to(of_bits, bitcast=True), sem="relaxed")
    tl.atomic_min(last_ptr - 1, above.to(of_bits, bitcast=True), sem="relaxed")
    if first > 0:
        tl.atomic_add(count_ptr + 1, first, sem="relaxed")
    sums_ptr += row * POWERS + power
    tl.atomic_add(sums_ptr, sums, mask=sums > 0.0, sem="relaxed")


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


def settle_fused(
    p: Tensor, metric: Metric, logits: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """As `_pixels.settle_sorted_rows`, from probabilities.

    No number leaves the device, so the calls can be captured in a CUDA graph.
    """
    p = p.contiguous()
    rows, n = p.shape
    if n <= SHORTEST:
        keys = torch.sort(p, 1, descending=True).values
        return run_window(keys, n, metric, 2, POWERS, MANY_PIXELS)
    twice = TWICE[0] < n <= TWICE[1]
    sizes, kind = BINS[:2] if twice else BINS, kind_of(metric)
    double = p.dtype == torch.float64

    def zeros(dtype: Any, *sizes: int) -> list[Tensor]:
        """Zeros in one piece of memory: so many numbers for each row."""
        whole = torch.zeros(rows * sum(sizes), dtype=dtype, device=p.device)
        return list(whole.split([rows * size for size in sizes]))

    *bins, state, count = zeros(torch.int32, *sizes, 4, 4)
    *sums, above = zeros(torch.float64, *[2 * POWERS] * len(sizes), POWERS)
    seen = torch.empty((rows, BINS[-1]), dtype=p.dtype, device=p.device)
    items = torch.full((rows, ROOM), -1.0, dtype=p.dtype, device=p.device)
    each = torch.ones((rows, ROOM), dtype=torch.int32, device=p.device)
    table, _ = window_table(metric, n, p.device)
    programs = triton.cdiv(n, BLOCK * STEPS), rows
    common = {"POWERS": POWERS, "KIND": kind}
    blocks = {"BLOCK": BLOCK, "STEPS": STEPS, **common}
    rest = {"AHEAD": AHEAD if kind < 3 else WIDER, "ROOM": ROOM, "DOUBLE": double}
    entries = seen, items, each, count
    for level, size in enumerate(sizes):
        here = {"LOWEST": LOWEST, "SHIFT": SHIFT, "LEVEL": level, "BINS": size}
        here["LAST"] = level == len(sizes) - 1
        scan = state, bins[level], seen, sums[level]
        scan_rows[programs](p, *scan, n, FAINT=FAINT, **here, **blocks)
        known = state, bins[level], *entries, sums[level], sums[0]
        warps = {"num_warps": size // 256}
        choose_bracket[(rows,)](*known, table, n, **rest, **here, **common, **warps)
    known = state, bins[-1], *entries, above, sums[0]
    of_bins = {"ROOM": ROOM, "BINS": sizes[-1], "DOUBLE": double}
    bracket_rows[programs](p, *known, n, **of_bins, **blocks)
    keys, order = torch.sort(items, 1, descending=True)
    ends = each.gather(1, order).cumsum(1, dtype=torch.int32)
    return run_window(
        keys, n, metric, 4, POWERS, MANY_PIXELS, ends, count, above, sums[0]
    )
