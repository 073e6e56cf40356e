"""A kernel of a GPU that finds the best count of a row from a window of its items.

A row is all its scores in order, or a bracket: the score above it, entries in order,
each for one item or for several equal ones, and the score below. Where most items are
positive, MCC and kappa exchange the classes and the order.

The items of a window are taken one by one. The others enter by the sums of their
powers, log(1 - a·p) = -Σ a^j·p^j/j and p/(1 - a·p) = Σ a^(j-1)·p^j with a = 1 - e^(-s)
at every node s. The last term of the logarithm bounds what is left out.
"""

from __future__ import annotations

import triton
import triton.language as tl

from argmetric.metrics import Metric
from argmetric.tensors._arrays import Tensor, require_torch
from argmetric.tensors._fused_curve import (
    _best_place,
    _curve,
    _entries,
    _items,
    _pick,
    _place,
    _powers,
    kind_of,
    rough_value,
    window_table,
)
from argmetric.tensors._fused_rows import _cut_between, _product

torch = require_torch("the fused kernel")


@triton.jit
def _sums_around(
    row,
    start,
    beside,
    SCAN: tl.constexpr,
    WINDOW: tl.constexpr,
    POWERS: tl.constexpr,
    BRACKET: tl.constexpr,
):
    """Return sums of powers of the items before a window, behind it, and of all."""
    before = tl.zeros((16,), dtype=tl.float64)
    after = tl.zeros((16,), dtype=tl.float64)
    inside = tl.zeros((16,), dtype=tl.float64)
    seen = tl.full((), 0, tl.int32)
    for begin in range(0, beside, SCAN):
        x, _, each = _entries(row, begin + tl.arange(0, SCAN), beside, BRACKET)
        end = seen + tl.cumsum(each, 0)
        seen += tl.sum(each, 0)
        ahead = tl.minimum(tl.maximum(start - end + each, 0), each)
        behind = tl.minimum(tl.maximum(end - start - WINDOW, 0), each)
        before += _powers(x * ahead, x, 0, POWERS)
        after += _powers(x * behind, x, 0, POWERS)
        inside += _powers(x * each, x, 0, POWERS)
    return before, after, inside


@triton.jit
def _first_sums(key_ptr, m, SCAN: tl.constexpr, KIND: tl.constexpr):
    """Return Σp and Σp² of a sorted row, and Σ(1-p) and Σ(1-p)²."""
    total = tl.zeros((16,), dtype=tl.float64)
    for begin in range(0, m, SCAN):
        at = begin + tl.arange(0, SCAN)
        p = tl.load(key_ptr + at, mask=at < m, other=0.0).to(tl.float64)
        total += _powers(p, p, 0, 2)
        if KIND >= 3:
            p = tl.where(at < m, 1.0 - p, 0.0)
            total += _powers(p, p, 2, 4)
    return total


@triton.jit
def _window(
    row,
    counts,
    known,
    start,
    WINDOW: tl.constexpr,
    SCAN: tl.constexpr,
    POWERS: tl.constexpr,
    NODES: tl.constexpr,
    KIND: tl.constexpr,
    BRACKET: tl.constexpr,
):
    """Return values of a window and the remainder; its items, sums of the others."""
    first, beside, end, above, total = known
    before, after, inside = _sums_around(
        row, start, beside, SCAN, WINDOW, POWERS, BRACKET
    )
    if BRACKET:
        after = tl.maximum(after + total - above - inside, 0.0)
        before += above
    at = start + tl.arange(0, WINDOW)
    valid = at < end
    x, q = _items(row, _place(row, at, BRACKET), valid)
    k = (first + at + 1).to(tl.float64)
    stop = tl.minimum(start + WINDOW, end)
    ends = ((first + start).to(tl.float64), (first + stop).to(tl.float64))
    parts = (before, after, ends)
    curve, slip, weights = _curve(counts, x, q, k, parts, WINDOW, POWERS, NODES, KIND)
    if KIND >= 3:
        curve = tl.where(k == counts[1], 0.0, curve)
    curve = tl.where(valid, curve, float("-inf"))
    return curve, slip, x, q, before, after, weights


@triton.jit
def _falls_behind(counts, hits, k, top, KIND: tl.constexpr):
    """Return whether the metric only falls behind a window.

    E[1/D] is at most 1 + Var(D)/(min(D)·E[D]) times 1/E[D], and the value at expected
    counts falls behind the window, as it has its best place there.
    """
    table_ptr, _, mean, _ = counts
    d1 = tl.load(table_ptr)
    d2 = tl.load(table_ptr + 1)
    d3 = tl.load(table_ptr + 2)
    # Var(D) is at most that of misses and of hits
    of_hits = (d1 + d3) * (d1 + d3)
    of_misses = d3 * d3
    spread = of_misses * tl.maximum(mean - hits, 0.0) + of_hits * hits
    spread = tl.where(of_hits > of_misses, of_hits * mean, spread)
    below = d2 * k + d3 * mean + d1 * hits
    excess = 1.0 + spread / (d2 * k * below)
    rough = rough_value(hits, k, counts, KIND)
    return rough * excess * (d1 + d2 + d3) <= top


@triton.jit
def _next_tied(curve, level, start, low, high, lost, WINDOW: tl.constexpr):
    """Return where ties may begin: along the parabola of a window, or half-way."""
    place = tl.arange(0, WINDOW)
    step: tl.constexpr = WINDOW // 4
    height = tl.sum(tl.where(place == 0, curve, 0.0), 0)
    middle = tl.sum(tl.where(place == step, curve, 0.0), 0)
    slope = middle - height
    bend = slope + middle - tl.sum(tl.where(place == 2 * step, curve, 0.0), 0)
    fall = tl.maximum(height - level, 0.0)
    root = tl.sqrt(slope * slope + 2.0 * tl.maximum(bend, 0.0) * fall)
    back = 2.0 * fall / tl.maximum(slope + root, 1e-300) * step
    back = tl.minimum(tl.maximum(back, 0.0), 1e9).to(tl.int32) + WINDOW // 2
    ahead = tl.minimum(tl.maximum(start - back, low), high - 1)
    ahead = tl.where(lost, (low + high) // 2, ahead)
    return tl.where(high - low < WINDOW, low, ahead)


@triton.jit
def _store_found(
    row, answer, found_ptr, line, rows, first, end, size, BRACKET: tl.constexpr
):
    """Write best count, value and cut of a row; -1 if the window is not enough."""
    okay, nowhere, chosen, value = answer
    key_ptr, _, _, _, flip = row
    last = chosen + 1 >= end
    upper = tl.load(key_ptr + _place(row, chosen, BRACKET)).to(tl.float64)
    next_ptr = key_ptr + _place(row, tl.minimum(chosen + 1, end - 1), BRACKET)
    lower = tl.load(next_ptr).to(tl.float64)
    larger = tl.where(flip, lower, upper)
    smaller = tl.where(flip, upper, lower)
    larger = tl.where(nowhere | (last & flip), float("inf"), larger)
    smaller = tl.where(last & (flip == 0), float("-inf"), smaller)
    best = first + chosen + 1
    best = tl.where(nowhere, 0, tl.where(flip, size - best, best))
    tl.store(found_ptr + line, tl.where(okay, best, -1).to(tl.float64))
    tl.store(found_ptr + rows + line, value)
    tl.store(found_ptr + 2 * rows + line, _cut_between(larger, smaller))


@triton.jit
def settle_window(
    key_ptr,
    table_ptr,
    end_ptr,
    count_ptr,
    above_ptr,
    total_ptr,
    found_ptr,
    stride,
    m,
    size,
    rows,
    many,
    WINDOW: tl.constexpr,
    SCAN: tl.constexpr,
    POWERS: tl.constexpr,
    NODES: tl.constexpr,
    KIND: tl.constexpr,
    BRACKET: tl.constexpr,
):
    """Write best count, value and cut; -1 if a window is not enough.

    A bracket has the last item of each entry, its counts (entries, items above it, and
    whether another maximum lies outside), and sums of those above and of all.
    """
    line = tl.program_id(0).to(tl.int64)
    power = tl.arange(0, 16)
    real = power < POWERS
    order = (power + 1).to(tl.float64)
    n = tl.full((), 0.0, tl.float64) + size
    key_ptr += line * stride
    zero = tl.load(table_ptr + 6)
    width = tl.full((), 0, tl.int32) + m
    length = width
    first = tl.full((), 0, tl.int32)
    flip = tl.full((), 0, tl.int1)
    fits = tl.full((), 1, tl.int1)
    above = tl.zeros((16,), dtype=tl.float64)
    of_rare = tl.full((), 0, tl.int32)
    if BRACKET:
        key_ptr += 1
        end_ptr += line * stride + 1
        width = tl.load(count_ptr + 4 * line)
        fits = (width <= m - 2) & (tl.load(count_ptr + 4 * line + 3) == 0)
        width = tl.minimum(width, m - 2)
        length = tl.load(end_ptr + width - 1) - 1
        first = tl.load(count_ptr + 4 * line + 1)
        total_ptr += line * 2 * POWERS
        if KIND >= 3:
            flip = tl.load(total_ptr) > 0.5 * n
            total_ptr += tl.where(flip, POWERS, 0)
            first = tl.where(flip, size - first - length, first)
        total = tl.load(total_ptr + power, mask=real, other=0.0)
        above = tl.load(above_ptr + line * POWERS + power, mask=real, other=0.0)
    else:
        total = _first_sums(key_ptr, m, SCAN, KIND)
        if KIND >= 3:
            flip = _pick(total, 0, power) > 0.5 * n
            of_rare = tl.where(flip, 2, 0)
    mean = _pick(total, of_rare, power)
    row = (key_ptr, end_ptr, width, length, flip)
    counts = (table_ptr, n, mean, _pick(total, of_rare + 1, power))
    if BRACKET:
        # Without a window where the class is probably absent
        none = tl.exp(-tl.sum(total / order, 0))
        faint = _pick(total, POWERS - 1, power) <= 1e-13
        absent = faint & (zero * none >= 1.0 - none) & (flip == 0)
        fits &= absent == 0
        tl.store(found_ptr + line, tl.where(absent, 0.0, -1.0))
        tl.store(found_ptr + rows + line, zero * none)
        tl.store(found_ptr + 2 * rows + line, float("inf"))
    if fits:
        behind = (first + length < size).to(tl.int32)
        beside = width + behind  # the item behind it is there as well
        end = length + behind
        known = (first, beside, end, above, total)
        guide = counts
        head = _pick(above, 0, power)
        leads = tl.zeros((NODES,), dtype=tl.float64)
        if KIND == 3:
            # The first window has the largest items, and leaves out the least
            leads, head, whole = _window(
                row, counts, known, 0, WINDOW, SCAN, POWERS, NODES, KIND, BRACKET
            )[6]
            guide = (table_ptr, n, whole, mean)
        near = _best_place(row, guide, first, head, leads, SCAN, NODES, KIND, BRACKET)
        start = tl.maximum(tl.minimum(near + 1 - WINDOW * 3 // 4, end - WINDOW), 0)
        begins = tl.load(key_ptr + tl.where(flip, width - 1, 0)).to(tl.float64)
        last_one = tl.load(key_ptr + tl.where(flip, 0, width - 1)).to(tl.float64)
        equal = (length == size) & (begins == last_one)
        certain = tl.maximum(tl.minimum(tl.minimum(mean, n - mean), 1.0), 0.0)
        floor = tl.load(table_ptr + 7) * certain
        place = tl.arange(0, WINDOW)
        okay = tl.full((), 1, tl.int1)
        nowhere = tl.full((), 0, tl.int1)
        nil = tl.full((), 0, tl.int32)
        turns, low, high, chosen = nil, nil, nil, nil
        going, fresh = nil + 1, nil + 1
        value, top, level, slack = mean * 0.0, mean * 0.0, mean * 0.0, mean * 0.0
        while going == 1:
            curve, slip, x, q, before, after, _ = _window(
                row, counts, known, start, WINDOW, SCAN, POWERS, NODES, KIND, BRACKET
            )
            at = start + place
            stop = tl.minimum(start + WINDOW, end)
            # The series is an upper bound of the probability of no positives
            outside = before + after
            unsure = _pick(outside, POWERS - 1, power) > 1e-13
            none = tl.reduce(q, 0, _product) * tl.exp(-tl.sum(outside / order, 0))
            nothing = zero * none
            most = tl.max(curve, 0)
            if fresh == 1:
                top = tl.maximum(most, nothing)
                slack = tl.maximum(1e-12 * tl.abs(top), floor)
                level = most - slack
            summit = tl.min(tl.where(curve == most, place, WINDOW), 0)
            left = tl.min(tl.where(curve >= level, place, WINDOW), 0)
            right = tl.max(tl.where(curve >= level, place, -1), 0)
            here = tl.where(flip, right, left)
            exact = tl.sum(tl.where(place == here, slip, 0.0), 0) <= slack
            if fresh == 1:
                # An end of a window is no best place, unless it is one of the row
                ended = first + stop == size
                at_near = (near >= start) & (near < stop)
                last_tied = tl.where(flip, right, summit)
                inner = ended | (start + last_tied < stop - 1)
                inner &= (summit > 0) | (first + start == 0)
                # Rounding moves a flat peak
                rise = most - tl.sum(tl.where(at == near, curve, 0.0), 0)
                inner |= (rise <= 0.01 * slack) & (flip == 0) & at_near
                if KIND < 3:
                    mass = _pick(before, 0, power) + tl.sum(x, 0)
                    last_k = (first + stop).to(tl.float64)
                    less = _falls_behind(counts, mass, last_k, top, KIND)
                    inner &= ended | (mean >= many) | less
                inner &= exact
                inner |= equal
                of_edge = tl.where(flip, 0.0, nothing)
                nowhere = of_edge >= top - slack
                okay = inner
                okay |= (nothing >= 1.0 - none) & (flip == 0)
                okay &= (unsure == 0) | (nothing < top - slack) | (nothing == 0.0)
                okay &= nowhere | (most >= top - slack)
                value = of_edge
            else:
                okay &= (exact | (left == WINDOW)) & (most <= top + slack)
            # Ties may begin before the window: behind `low`, and `high` is one of them
            lost = left == WINDOW
            low = tl.where(lost, start + WINDOW, low)
            high = tl.where(lost, high, start + left)
            chosen = tl.where(lost, chosen, start + here)
            new = tl.sum(tl.where(place == here, curve, 0.0), 0)
            value = tl.where(lost | nowhere, value, new)
            more = okay & (flip == 0) & (nowhere == 0) & (high > low)
            more &= lost | ((left == 0) & (start > 0))
            # A peak at an end of the first window: another window
            move = (fresh == 1) & (turns < 8) & (nowhere == 0)
            to_left = (summit == 0) & (start > 0)
            to_right = (start + summit == stop - 1) & (stop < end)
            move &= (okay == 0) & (to_left | to_right)
            going = (more | move).to(tl.int32)
            turns += 1
            left_one = tl.maximum(start - WINDOW + 32, 0)
            right_one = tl.minimum(start + WINDOW - 32, end - WINDOW)
            next_one = tl.where(to_left, left_one, right_one)
            tied = _next_tied(curve, level, start, low, high, lost, WINDOW)
            start = tl.where(move, next_one, tied)
            fresh = move.to(tl.int32)
            low = tl.where(move, 0, low)
        okay &= nowhere | (flip == 1) | (chosen > 0) | (first == 0)
        answer = (okay, nowhere, chosen, value)
        _store_found(row, answer, found_ptr, line, rows, first, end, size, BRACKET)


def run_window(
    keys: Tensor,
    n: int,
    metric: Metric,
    warps: int,
    powers: int,
    many: float,
    *bracket: object,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return best counts, values and cuts of sorted rows, or of parts of long ones."""
    rows, m = keys.shape[0], keys.shape[1] if bracket else n
    table, kind = window_table(metric, n, keys.device), kind_of(metric)
    found = torch.empty((3, rows), dtype=torch.float64, device=keys.device)
    settle_window[(rows,)](
        keys,
        table,
        *(bracket or (keys,) * 4),
        found,
        keys.stride(0),
        m,
        n,
        rows,
        many,
        WINDOW=min(128 * warps, 256),
        SCAN=(256 if bracket or kind == 3 else 128) * warps,
        POWERS=powers,
        NODES=triton.next_power_of_2(table.shape[0] - 1),
        KIND=kind,
        BRACKET=bool(bracket),
        num_warps=warps,
    )
    best, value, cut = found
    return best.long(), value, cut
