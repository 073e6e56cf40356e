"""Long rows and masks on a GPU: histograms of all items, a bracket, a window in it.

The histogram of the bits of p, in float32, brackets the best cut-off by values at
expected counts. Where many items lie in the bracket, it gets a histogram of its own,
and so on. The items of the last bracket are sorted; where very many are equal, one
stands for all.
"""

from __future__ import annotations

import triton
import triton.language as tl

from argmetric.metrics import Metric
from argmetric.tensors._arrays import Tensor, require_torch
from argmetric.tensors._fused_curve import _powers, kind_of, rough_value, window_table
from argmetric.tensors._fused_window import run_window

torch = require_torch("the fused kernel")
SHORTEST = 1 << 14  # shorter rows are sorted
BINS = 1024, 4096, 4096  # of each histogram; the last one of the first is for padding
MANY_PIXELS = 150.0  # expected positives from which 8!/mean^8 is below rounding
POWERS = tl.constexpr(8)
AHEAD = tl.constexpr(192)  # items on both sides of the best,
WIDER = tl.constexpr(1900)  # or so many where ties of 1e-12 are wide
ROOM = tl.constexpr(4096)  # entries of the last bracket of a row, and its neighbours
BLOCK = tl.constexpr(2048)  # items of a step
CROWDED = tl.constexpr(128)  # items of a step in one bin from which all are counted
STEPS = tl.constexpr(8)  # steps of a program
STATE = tl.constexpr(8)  # six numbers of a bracket, and two that align what follows
SHIFT = tl.constexpr(18)  # 32 bins an octave, from 2^-31 to 1
LOWEST = tl.constexpr((127 - 31) << 23)
FAINT = tl.constexpr(1e-5)  # the fourth power of such items is rounding


@triton.jit
def _bits(p):
    """Return the bits of p in float32, which are in the order of p."""
    return p.to(tl.float32).to(tl.int32, bitcast=True)


@triton.jit
def _bin(state_ptr, bits, low, shift, BINS: tl.constexpr):
    """Return the bins of items in a histogram that leaves out a gap."""
    gap = tl.load(state_ptr + 5)
    past = tl.where(bits >= tl.load(state_ptr + 4), gap, 0)
    return tl.minimum((bits - low - past) >> shift, BINS - 1)


@triton.jit
def _two_bins(at, inside, BINS: tl.constexpr):
    """Return the lowest and highest bin of items as one number, and their counts.

    The number is -1 where a third bin has items. Items of one bin wait for each other
    where they are added one by one, and those of a sure mask have one or two.
    """
    high = tl.max(tl.where(inside, at, 0), 0)
    low = tl.min(tl.where(inside, at, high), 0)
    of_high = tl.sum((inside & (at == high)).to(tl.int32), 0)
    of_low = tl.sum((inside & (at == low) & (low < high)).to(tl.int32), 0)
    third = tl.sum(inside.to(tl.int32), 0) > of_high + of_low
    return tl.where(third, -1, low + BINS * high), of_low, of_high


@triton.jit
def _larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def _add_powers(to_ptr, sums, COUNT: tl.constexpr):
    """Add sums of powers to the sums of a row, atomically."""
    power = tl.arange(0, 16)
    tl.atomic_add(
        to_ptr + power, sums, mask=(power < COUNT) & (sums > 0.0), sem="relaxed"
    )


@triton.jit
def scan_rows(
    p_ptr,
    state_ptr,
    bin_ptr,
    seen_ptr,
    sums_ptr,
    n,
    BINS: tl.constexpr,
    LEVEL: tl.constexpr,
    LAST: tl.constexpr,
    KIND: tl.constexpr,
):
    """Write the items of every bin of a bracket.

    At level 0 also sums of powers of all p, and of 1 - p for MCC and kappa; else the
    number of items above the bracket, and their sum.
    """
    row = tl.program_id(1).to(tl.int64)
    begin = tl.program_id(0) * BLOCK * STEPS
    sums = tl.zeros((16,), dtype=tl.float64)
    bin_ptr += row * BINS
    if LEVEL == 0:
        bins = tl.arange(0, BINS)
        count = tl.zeros((BINS,), dtype=tl.int32)
        for step in range(STEPS):
            place = begin + step * BLOCK + tl.arange(0, BLOCK)
            inside = place < n
            p = tl.load(p_ptr + row * n + place, mask=inside, other=0.0)
            at = tl.minimum(tl.maximum((_bits(p) - LOWEST) >> SHIFT, 0), BINS - 2)
            x = p.to(tl.float64)
            sums += _powers(x, x, 0, 3)
            if tl.max(p, 0) > FAINT:
                sums += _powers(x * x * x * x, x, 3, POWERS)
            if KIND >= 3:
                x = tl.where(inside, 1.0 - x, 0.0)
                sums += _powers(x, x, POWERS, 2 * POWERS)
            of_two, count_low, count_high = _two_bins(at, inside, BINS)
            if of_two >= 0:
                count += tl.where(bins == of_two % BINS, count_low, 0)
                count += tl.where(bins == of_two // BINS, count_high, 0)
            else:
                count += tl.histogram(tl.where(inside, at, BINS - 1), BINS)
        keep = (bins < BINS - 1) & (count > 0)
        tl.atomic_add(bin_ptr + bins, count, mask=keep, sem="relaxed")
    else:
        state_ptr += STATE * row
        low = tl.load(state_ptr)
        high = tl.load(state_ptr + 1)
        shift = tl.load(state_ptr + 2)
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
                at = _bin(state_ptr, bits, low, shift, BINS)
                of_two, count_low, count_high = _two_bins(at, inside, BINS)
                if of_two >= 0:
                    to_ptr = bin_ptr + of_two % BINS
                    tl.atomic_add(to_ptr, count_low, mask=count_low > 0, sem="relaxed")
                    to_ptr = bin_ptr + of_two // BINS
                    tl.atomic_add(
                        to_ptr, count_high, mask=count_high > 0, sem="relaxed"
                    )
                elif count_high > CROWDED:
                    many = tl.sum(inside.to(tl.int32), 0)
                    count = tl.histogram(tl.where(inside, at, BINS - 1), BINS)
                    bins = tl.arange(0, BINS)
                    count -= tl.where(bins == BINS - 1, BLOCK - many, 0)
                    to_ptr = bin_ptr + bins
                    tl.atomic_add(to_ptr, count, mask=count > 0, sem="relaxed")
                else:
                    tl.atomic_add(bin_ptr + at, 1, mask=inside, sem="relaxed")
                if LAST:
                    tl.store(seen_ptr + row * BINS + at, p, mask=inside)
            sums += _powers(size.to(tl.float64), 0.0, 0, 1) + _powers(mass, 0.0, 1, 2)
    _add_powers(sums_ptr + row * 2 * POWERS, sums, 2 * POWERS)


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
    BINS: tl.constexpr,
    LEVEL: tl.constexpr,
    LAST: tl.constexpr,
    KIND: tl.constexpr,
):
    """Choose the bins around the best value at expected counts, and their sides.

    A state is the bits of the lower and upper end, how many of them a bin of the next
    histogram has, as a shift (-1 where no other is needed), where that begins, and the
    end and length of a gap beside the best in which there is no item: else two groups
    that are far apart would share the bins. In the end a bin with many items is one
    entry, with a count, for those that are equal.
    """
    row = tl.program_id(0).to(tl.int64)
    low = tl.full((), LOWEST, tl.int32)
    high = tl.full((), 0x7F800000, tl.int32)
    shift = tl.full((), SHIFT, tl.int32)
    ahead = tl.full((), 0.0, tl.float64)
    hits = tl.full((), 0.0, tl.float64)
    n = tl.full((), 0.0, tl.float64) + size
    gap = tl.full((), 0, tl.int32)
    gap_end = tl.full((), 0, tl.int32)
    state_ptr += STATE * row
    count_ptr += 4 * row
    total_ptr += row * 2 * POWERS
    if LEVEL > 0:
        low = tl.load(state_ptr)
        high = tl.load(state_ptr + 1)
        shift = tl.load(state_ptr + 2)
        gap_end = tl.load(state_ptr + 4)
        gap = tl.load(state_ptr + 5)
        ahead = tl.load(above_ptr + row * 2 * POWERS)
        hits = tl.load(above_ptr + row * 2 * POWERS + 1)
    if shift >= 0:
        bin = tl.arange(0, BINS)
        count = tl.load(bin_ptr + row * BINS + bin).to(tl.float64)
        # Bins begin and end at the gap, whose place was a place of larger ones
        gap_at = gap_end - gap - low
        start = bin << shift
        edge = low + start + tl.where(start >= gap_at, gap, 0)
        next = low + start + (1 << shift) + tl.where(start >= gap_at, gap, 0)
        edge = edge.to(tl.float32, bitcast=True)
        next = next.to(tl.float32, bitcast=True)
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
        counts = (table_ptr, n, mean, second)
        rough = rough_value(mass, chosen, counts, KIND)
        rough = tl.where(count > 0.0, rough, float("-inf"))
        top = tl.max(rough, 0)
        best = tl.min(tl.where(rough == top, bin, BINS), 0)
        lowest = tl.min(tl.where(count > 0.0, bin, BINS), 0)
        highest = tl.max(tl.where(count > 0.0, bin, 0), 0)
        if KIND == 2:
            single = rough_value(tl.max(middle, 0), 1.0, counts, KIND)
            best = tl.where((ahead == 0.0) & (single > top), highest, best)
        of_best = tl.sum(tl.where(bin == best, k, 0.0), 0)
        above = of_best - tl.sum(tl.where(bin == best, count, 0.0), 0)
        ahead_of: tl.constexpr = AHEAD if KIND < 3 or LAST else WIDER
        first = tl.max(tl.where(k >= of_best + ahead_of, bin, 0), 0)
        last = tl.min(tl.where(k <= above - ahead_of, bin, BINS), 0)
        if LAST:
            # As many as there is room for, even if no items of a bin are equal
            most = ROOM // 2 - ROOM // 8 + 128
            entries = count
            if seen_ptr.dtype.element_ty == tl.float32:
                entries = tl.where(shift == 0, (count > 0.0).to(tl.float64), count)
            place = tl.cumsum(entries, 0, reverse=True)
            at_best = tl.sum(tl.where(bin == best, place, 0.0), 0)
            fits = (place <= at_best + most) & (place - entries >= at_best - most)
            first = tl.minimum(first, tl.min(tl.where(fits, bin, BINS), 0))
            last = tl.maximum(last, tl.max(tl.where(fits, bin, 0), 0) + 1)
        if KIND == 3 and LEVEL == 0:
            # Bins are known to a percent
            good = rough >= 0.98 * top
            first = tl.minimum(first, tl.min(tl.where(good, bin, BINS), 0))
            last = tl.maximum(last, tl.max(tl.where(good, bin, 0), 0) + 1)
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
            stop = last << shift
            high = tl.minimum(low + stop + tl.where(stop > gap_at, gap, 0), high)
        low_end = low + (first << shift)
        low_end += tl.where((first << shift) >= gap_at, gap, 0)
        if not LAST:
            # The longer one of the empty runs on both sides of the best
            filled = within & (count > 0.0)
            before = tl.max(tl.where(filled & (bin < best), bin, -1), 0)
            behind = tl.min(tl.where(filled & (bin > best), bin, BINS), 0)
            under = tl.where(before < 0, 0, best - 1 - before)
            over_it = tl.where(behind == BINS, 0, behind - 1 - best)
            begin = tl.where(under >= over_it, before + 1, best + 1) << shift
            run = tl.maximum(under, over_it) << shift
            joins = (begin <= gap_at) & (gap_at <= begin + run)
            run += tl.where(joins, gap, 0)
            run_end = low + begin + run
            run_end += tl.where((joins == 0) & (begin > gap_at), gap, 0)
            gap_end = tl.where(run >= gap, run_end, gap_end)
            gap = tl.maximum(run, gap)
        low = low_end
        if LEVEL == 0:
            low = tl.where(first == 0, 0, low)
        if not LAST:
            gap = tl.where((low <= gap_end - gap) & (gap_end <= high), gap, 0)
            tl.store(state_ptr + 4, gap_end)
            tl.store(state_ptr + 5, gap)
        span = tl.minimum(high, 0x3F800001) - low - gap
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
    BINS: tl.constexpr,
    KIND: tl.constexpr,
):
    """Write the items in a bracket of every row; count and powers of those before.

    An item that is not the entry of its bin gets one of its own. The last places are
    for the smallest item above the bracket and the largest below.
    """
    row = tl.program_id(1).to(tl.int64)
    begin = tl.program_id(0) * BLOCK * STEPS
    state_ptr += STATE * row
    low = tl.load(state_ptr)
    high = tl.load(state_ptr + 1)
    shift = tl.load(state_ptr + 2)
    base = tl.load(state_ptr + 3)
    sums = tl.zeros((16,), dtype=tl.float64)
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
            at = row * BINS + _bin(state_ptr, bits, base, shift, BINS)
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
            sums += _powers(x, x, 0, POWERS)
    of_bits = tl.int64 if p_ptr.dtype.element_ty == tl.float64 else tl.int32
    last_ptr = (item_ptr + ROOM - 1).to(tl.pointer_type(of_bits))
    tl.atomic_max(last_ptr, below.to(of_bits, bitcast=True), sem="relaxed")
    tl.atomic_min(last_ptr - 1, above.to(of_bits, bitcast=True), sem="relaxed")
    if first > 0:
        tl.atomic_add(count_ptr + 1, first, sem="relaxed")
    _add_powers(sums_ptr + row * POWERS, sums, POWERS)


@triton.jit
def sum_powers(x_ptr, sums_ptr, n):
    """Write the sums of the powers of rows."""
    row = tl.program_id(1).to(tl.int64)
    begin = tl.program_id(0) * BLOCK * STEPS
    sums = tl.zeros((16,), dtype=tl.float64)
    for step in range(STEPS):
        place = begin + step * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + place, mask=place < n, other=0.0).to(tl.float64)
        sums += _powers(x, x, 0, POWERS)
    _add_powers(sums_ptr + row * POWERS, sums, POWERS)


def sums_fused(x: Tensor) -> Tensor:
    """Return `_pixels.power_sums`, by a kernel."""
    sums = x.new_zeros((len(x), POWERS.value), dtype=torch.float64)
    sum_powers[programs(x)](x.contiguous(), sums, x.shape[1])
    return sums


def programs(p: Tensor) -> tuple[int, int]:
    rows, n = p.shape
    return triton.cdiv(n, BLOCK.value * STEPS.value), rows


def settle_fused(p: Tensor, metric: Metric) -> tuple[Tensor, Tensor, Tensor]:
    """Return the best count of rows of probabilities, its expected score and cut.

    The count is -1 where a window is not enough; the cut-off is nan where a tie is
    split. No number leaves the device, so the calls can be captured in a CUDA graph.
    """
    p = p.contiguous()
    rows, n = p.shape
    powers, room = POWERS.value, ROOM.value
    if n <= SHORTEST:
        keys = torch.sort(p, 1, descending=True).values
        return run_window(keys, n, metric, 2, powers, MANY_PIXELS)

    def zeros(dtype: object, *sizes: int) -> list[Tensor]:
        """Return zeros in one block of memory, for each row."""
        whole = torch.zeros(rows * sum(sizes), dtype=dtype, device=p.device)
        return list(whole.split([rows * size for size in sizes]))

    *bins, state, count = zeros(torch.int32, *BINS, STATE.value, 4)
    *sums, above = zeros(torch.float64, *[2 * powers] * len(BINS), powers)
    seen = torch.empty((rows, BINS[-1]), dtype=p.dtype, device=p.device)
    items = torch.full((rows, room), -1.0, dtype=p.dtype, device=p.device)
    each = torch.ones((rows, room), dtype=torch.int32, device=p.device)
    table = window_table(metric, n, p.device)
    of_kind = {"KIND": kind_of(metric)}
    for level, size in enumerate(BINS):
        here = {"BINS": size, "LEVEL": level, "LAST": level == len(BINS) - 1}
        known = state, bins[level], seen, items, each, count
        scan_rows[programs(p)](p, *known[:3], sums[level], n, **here, **of_kind)
        ahead = sums[level], sums[0], table, n
        choose_bracket[(rows,)](
            *known, *ahead, **here, **of_kind, num_warps=size // 256
        )
    bracket_rows[programs(p)](p, *known, above, sums[0], n, BINS=BINS[-1], **of_kind)
    keys, order = torch.sort(items, 1, descending=True)
    ends = each.gather(1, order).cumsum(1, dtype=torch.int32)
    bracket = ends, count, above, sums[0]
    return run_window(keys, n, metric, 4, powers, MANY_PIXELS, *bracket)
