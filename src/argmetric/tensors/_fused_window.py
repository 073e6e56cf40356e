"""A kernel of a GPU that finds the best count of a row from a window of its items.

The twin is `_pixels.best_counts`. The table of a metric has a row of its numbers, and a
row for each node: s, w, u of a hit and of a miss, and powers of 1 - u of both.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import triton
import triton.language as tl

from argmetric._expected.kernels.nodes import TOLERANCE, exponential_sum, two_sided_sum
from argmetric.metrics import MCC, Metric, RatioForm
from argmetric.tensors._arrays import Tensor, require_torch
from argmetric.tensors._fused_curve import (
    _curve,
    _has_rival,
    _kept,
    _pick,
    _rough_best,
    _sums_around,
    rough_value,
)
from argmetric.tensors._fused_rows import (
    _cut_between,
    _product,
)

torch = require_torch("the fused kernel")
FARTHEST = 90.0  # e^(-s(n-t)) with s·n above it is rounding where t is below n/2
COLUMNS = 48


def kind_of(metric: Metric) -> int:
    """0: a denominator without tp; 1: one of k and misses; 2: another; MCC; kappa."""
    form = metric.form
    if not isinstance(form, RatioForm):
        return 3 if isinstance(metric, MCC) else 4
    _, d1, _, d3 = form.d
    return 0 if d1 == 0 else 1 if d1 + d3 == 0 else 2


def pruning(form: RatioForm, n: int) -> tuple[float, float, float]:
    """D ≥ low + step·(T - 1) with a hit: nodes with s·low + (E[T]-1)·(1-e^(-s·step))
    above the limit add less than rounding.
    """
    _, d1, d2, d3 = form.d
    step = d3 if d1 == 0 else min(1.0, d1 + d2 + d3, d3)
    low = d2 + d3 if d1 == 0 else step
    limit = -math.log(TOLERANCE) + math.log((d1 + d2 + d3 + d2 + d3) * n / low) + 1.0
    return low, step, limit


@lru_cache(maxsize=64)
def window_table(metric: Metric, n: int, device: Any) -> tuple[Tensor, int]:
    """Numbers and nodes of a metric for rows of n items, and the nodes of e^(-s·t).

    The others are those of e^(-s(n-t)) = e^(-s·n)·e^(s·t).
    """
    form, zero = metric.form, float(metric.value(0, 0, 0, n))
    if isinstance(form, RatioForm):
        _, d1, d2, d3 = form.d
        s, w = exponential_sum(1.0, *map(float, form.denominator_range(n, n)))
        w, rates, count = w * form.c[1], (d1 + d3, d3), s.size
        ahead = d2 if d1 == 0 else 0.0  # what a positive adds to low
        numbers = [d1, d2, d3, *pruning(form, n), zero, 0.0, ahead]
    else:
        rule = isinstance(metric, MCC)
        s, w = two_sided_sum(n) if rule else exponential_sum(1.0, 2.0, float(n) * n + n)
        near, count, rates = s * n < FARTHEST, s.size, (1.0, 1.0)
        s, w = np.append(s, -s[near]), np.append(w, (w * np.exp(-s * n))[near])
        limit = -math.log(TOLERANCE) + 3.0 * math.log(n) + 1.0
        floor = float(metric.tie_floor(n))
        numbers = [0.0, 0.0, 0.0, 1.0, 1.0, limit, zero, floor, 0.0]
    table = np.zeros((1 + s.size, COLUMNS))
    table[0, : len(numbers)] = numbers
    table[1:, 0], table[1:, 1] = s, w
    powers = np.arange(1, 17)
    for i, rate in enumerate(rates):
        table[1:, 2 + i] = np.exp(-s * rate)
        a = np.maximum(-np.expm1(-s * rate), -1e15)  # below it a node has no weight
        table[1:, 16 + 16 * i : 32 + 16 * i] = a[:, None] ** powers
    return torch.from_numpy(table).to(device), count


@triton.jit
def settle_window(
    key_ptr,
    table_ptr,
    count_ptr,
    value_ptr,
    above_ptr,
    total_ptr,
    found_ptr,
    stride,
    m,
    size,
    rows,
    n_nodes,
    n_rare,
    many,
    WINDOW: tl.constexpr,
    AHEAD: tl.constexpr,
    SCAN: tl.constexpr,
    POWERS: tl.constexpr,
    NODES: tl.constexpr,
    KIND: tl.constexpr,
    BRACKET: tl.constexpr,
):
    """As `_pixels.best_counts`: best count, value and cut-off; -1 where it refuses.

    Keys are all scores in order. With BRACKET they are a part: the score above it,
    `width` scores, of which one may stand for several copies, and the score below;
    `first` items are above, with sums `above`, and `total` has the sums of all. Where
    most items are positive, MCC and kappa exchange the classes and the order.
    """
    row = tl.program_id(0).to(tl.int64)
    power = tl.arange(0, 16)
    real = power < POWERS
    order = (power + 1).to(tl.float64)
    n = tl.full((), 0.0, tl.float64) + size
    key_ptr += row * stride
    zero = tl.load(table_ptr + 6)
    width = tl.full((), 0, tl.int32) + m
    first = tl.full((), 0, tl.int32)
    copies = tl.full((), 1, tl.int32)
    same = tl.full((), -1.0, tl.float64)
    flip = tl.full((), 0, tl.int1)
    fits = tl.full((), 1, tl.int1)
    above = tl.zeros((16,), dtype=tl.float64)
    total = tl.zeros((16,), dtype=tl.float64)
    if BRACKET:
        key_ptr += 1
        width = tl.load(count_ptr + 4 * row)
        fits = (width <= m - 3) & (tl.load(count_ptr + 4 * row + 3) == 0)
        same = tl.load(value_ptr + row)
        width += (same >= 0.0).to(tl.int32)
        copies = tl.maximum(tl.load(count_ptr + 4 * row + 2), 1)
        first = tl.load(count_ptr + 4 * row + 1)
        total_ptr += row * 2 * POWERS
        if KIND >= 3:
            flip = tl.load(total_ptr) > 0.5 * n
            total_ptr += tl.where(flip, POWERS, 0)
            first = tl.where(flip, size - first - width - copies + 1, first)
        total = tl.load(total_ptr + power, mask=real, other=0.0)
        above = tl.load(above_ptr + row * POWERS + power, mask=real, other=0.0)
    else:
        # Σp, Σp², and those of 1 - p
        for begin in range(0, m, SCAN):
            at = begin + tl.arange(0, SCAN)
            p = tl.load(key_ptr + at, mask=at < m, other=0.0).to(tl.float64)
            total += tl.where(power == 0, tl.sum(p, 0), 0.0)
            total += tl.where(power == 1, tl.sum(p * p, 0), 0.0)
            if KIND >= 3:
                p = tl.where(at < m, 1.0 - p, 0.0)
                total += tl.where(power == 2, tl.sum(p, 0), 0.0)
                total += tl.where(power == 3, tl.sum(p * p, 0), 0.0)
        if KIND >= 3:
            flip = _pick(total, 0, power) > 0.5 * n
    of_rare = tl.where(flip, 0 if BRACKET else 2, 0)
    mean = _pick(total, of_rare, power)
    second = _pick(total, of_rare + 1, power)
    length = width + copies - 1
    if BRACKET:
        # Without a window where the class is probably absent
        none = tl.exp(-tl.sum(total / order, 0))
        faint = _pick(total, POWERS - 1, power) <= 1e-13
        absent = faint & (zero * none >= 1.0 - none) & (flip == 0)
        fits &= absent == 0
        tl.store(found_ptr + row, tl.where(absent, 0.0, -1.0))
        tl.store(found_ptr + rows + row, zero * none)
        tl.store(found_ptr + 2 * rows + row, float("inf"))
    if fits:
        head = _pick(above, 0, power)
        top, near, split = _rough_best(
            key_ptr,
            table_ptr,
            first,
            head,
            width,
            copies,
            same,
            flip,
            n,
            mean,
            second,
            SCAN,
            KIND,
        )
        beside = width
        if BRACKET:  # the item behind it is there as well
            behind = (first + length < size).to(tl.int32)
            beside += behind
            length += behind
        start = tl.maximum(tl.minimum(near + 1 - AHEAD, length - WINDOW), 0)
        rival = tl.full((), 0, tl.int32)
        if KIND == 3:
            rival = _has_rival(
                key_ptr,
                table_ptr,
                top,
                near,
                start,
                first,
                head,
                width,
                flip,
                n,
                mean,
                second,
                SCAN,
                WINDOW,
            )
            # Ends of long runs of equal items compete, which a bracket does not have
            rival += (copies > 1).to(tl.int32)
        begins = tl.load(key_ptr + tl.where(flip, width - 1, 0)).to(tl.float64)
        ends = tl.load(key_ptr + _kept(length - 1, split, copies, width, flip))
        equal = (first == 0) & (length == size) & (begins == ends.to(tl.float64))
        certain = tl.maximum(tl.minimum(tl.minimum(mean, n - mean), 1.0), 0.0)
        floor = tl.load(table_ptr + 7) * certain
        place = tl.arange(0, WINDOW)
        going = tl.full((), 1, tl.int32)
        turns = tl.full((), 0, tl.int32)
        fresh = tl.full((), 1, tl.int32)
        okay = tl.full((), 1, tl.int1)
        nowhere = tl.full((), 0, tl.int1)
        low = tl.full((), 0, tl.int32)
        high = tl.full((), 0, tl.int32)
        chosen = tl.full((), 0, tl.int32)
        value = tl.full((), 0.0, tl.float64)
        level = tl.full((), 0.0, tl.float64)
        slack = tl.full((), 0.0, tl.float64)
        while going == 1:
            before, after, inside = _sums_around(
                key_ptr,
                start,
                beside,
                split,
                copies,
                width,
                flip,
                power,
                SCAN,
                WINDOW,
                POWERS,
            )
            if BRACKET:
                after = tl.maximum(after + total - above - inside, 0.0)
                before += above
            at = start + place
            valid = at < length
            kept = _kept(at, split, copies, width, flip)
            key = tl.load(key_ptr + kept, mask=valid, other=0.0).to(tl.float64)
            x = tl.where(valid, tl.where(flip, 1.0 - key, key), 0.0)
            q = tl.where(valid, tl.where(flip, key, 1.0 - key), 1.0)
            end = tl.minimum(start + WINDOW, length)
            start_k = (first + start).to(tl.float64)
            end_k = (first + end).to(tl.float64)
            k = (first + at + 1).to(tl.float64)
            curve, slip = _curve(
                table_ptr,
                x,
                q,
                k,
                start_k,
                end_k,
                before,
                after,
                mean,
                n,
                n_nodes,
                n_rare,
                power,
                WINDOW,
                POWERS,
                NODES,
                KIND,
            )
            if KIND >= 3:
                curve = tl.where(k == n, 0.0, curve)
            curve = tl.where(valid, curve, float("-inf"))
            # The series is an upper bound of the chance of no positives
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
                ended = first + end == size
                at_near = ((near >= start) & (near < end)).to(tl.int32)
                last_tied = tl.where(flip, right, summit)
                inner = ended | (start + last_tied < end - 1)
                inner &= (summit > 0) | (first + start == 0)
                # Rounding moves a flat peak
                rise = most - tl.sum(tl.where(at == near, curve, 0.0), 0)
                inner |= (rise <= 0.01 * slack) & (flip == 0) & (at_near == 1)
                if KIND < 3:
                    # As `_pixels.ends`
                    d1 = tl.load(table_ptr)
                    d2 = tl.load(table_ptr + 1)
                    d3 = tl.load(table_ptr + 2)
                    mass = _pick(before, 0, power) + tl.sum(x, 0)
                    # Var(D) is at most that of misses and of hits
                    of_hits = (d1 + d3) * (d1 + d3)
                    of_misses = d3 * d3
                    spread = of_misses * tl.maximum(mean - mass, 0.0) + of_hits * mass
                    spread = tl.where(of_hits > of_misses, of_hits * mean, spread)
                    below = d2 * end_k + d3 * mean + d1 * mass
                    excess = 1.0 + spread / (d2 * end_k * below)
                    rough = rough_value(mass, end_k, n, mean, second, table_ptr, KIND)
                    rough *= excess * (d1 + d2 + d3)
                    inner &= ended | (mean >= many) | (rough <= top)
                inner &= exact & (rival == 0)
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
            to_right = (start + summit == end - 1) & (end < length)
            move &= (okay == 0) & (to_left | to_right)
            going = (more | move).to(tl.int32)
            turns += 1
            # Along the slope of the window, or half-way
            height = tl.sum(tl.where(place == 0, curve, 0.0), 0)
            slope = tl.sum(tl.where(place == WINDOW // 4, curve, 0.0), 0) - height
            back = (height - level) / tl.maximum(slope, 1e-300) * (WINDOW // 4)
            back = tl.minimum(tl.maximum(back, 0.0), 1e9).to(tl.int32) + WINDOW // 2
            ahead = tl.minimum(tl.maximum(start - back, low), high - 1)
            ahead = tl.where(lost, (low + high) // 2, ahead)
            ahead = tl.where(high - low < WINDOW, low, ahead)
            left_one = tl.maximum(start - WINDOW + 32, 0)
            right_one = tl.minimum(start + WINDOW - 32, length - WINDOW)
            next_one = tl.where(to_left, left_one, right_one)
            start = tl.where(move, next_one, ahead)
            fresh = move.to(tl.int32)
            low = tl.where(move, 0, low)
        okay &= nowhere | (flip == 1) | (chosen > 0) | (first == 0)
        last = chosen + 1 >= length
        here_ptr = key_ptr + _kept(chosen, split, copies, width, flip)
        if KIND == 3 and BRACKET:
            # Runs of equal items at the cut have ends that may be better
            far = tl.minimum(chosen + 65, length - 1)
            one = tl.load(
                key_ptr + _kept(tl.minimum(chosen + 1, far), split, copies, width, flip)
            )
            other = tl.load(key_ptr + _kept(far, split, copies, width, flip))
            okay &= (one != other) | (far <= chosen + 1) | nowhere
            far = tl.maximum(chosen - 64, 0)
            other = tl.load(key_ptr + _kept(far, split, copies, width, flip))
            okay &= (tl.load(here_ptr) != other) | (far >= chosen) | nowhere
        next_ptr = key_ptr + _kept(chosen + 1, split, copies, width, flip)
        chosen_key = tl.load(here_ptr).to(tl.float64)
        next_key = tl.load(next_ptr, mask=last == 0, other=0.0).to(tl.float64)
        upper = tl.where(flip, next_key, chosen_key)
        lower = tl.where(flip, chosen_key, next_key)
        upper = tl.where(nowhere | (last & flip), float("inf"), upper)
        lower = tl.where(last & (flip == 0), float("-inf"), lower)
        best = first + chosen + 1
        best = tl.where(nowhere, 0, tl.where(flip, size - best, best))
        tl.store(found_ptr + row, tl.where(okay, best, -1).to(tl.float64))
        tl.store(found_ptr + rows + row, value)
        tl.store(found_ptr + 2 * rows + row, _cut_between(upper, lower))


def run_window(
    keys: Tensor,
    n: int,
    metric: Metric,
    warps: int,
    powers: int,
    many: float,
    *bracket: Any,
) -> tuple[Tensor, Tensor, Tensor]:
    """Best counts, values and cut-offs of rows in order, or of parts of longer ones."""
    rows, m = keys.shape[0], keys.shape[1] if bracket else n
    table, rare = window_table(metric, n, keys.device)
    found = torch.empty((3, rows), dtype=torch.float64, device=keys.device)
    nodes = table.shape[0] - 1
    settle_window[(rows,)](
        keys,
        table,
        *(bracket or (keys,) * 4),
        found,
        keys.stride(0),
        m,
        n,
        rows,
        nodes,
        rare,
        many,
        WINDOW=min(128 * warps, 256),
        AHEAD=min(96 * warps, 192),
        SCAN=1024 if bracket else 128 * warps,
        POWERS=powers,
        NODES=triton.next_power_of_2(rare),
        KIND=kind_of(metric),
        BRACKET=bool(bracket),
        num_warps=warps,
    )
    best, value, cut = found
    return best.long(), value, cut
