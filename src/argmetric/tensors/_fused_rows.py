"""Kernels of a GPU that find the best count of rows of up to 1,024 labels.

Keys are scores in descending order. A program takes some rows and keeps everything in
registers; the threads of a warp share a row. Rows are padded to a power of two, so that
a thread has neighbouring items: sums along a row then pass through fewer threads.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _product(a, b):
    return a * b


@triton.jit
def _reciprocal(x):
    """1/x: a reciprocal in float32, and a step that cubes its error."""
    y = (1.0 / x.to(tl.float32)).to(tl.float64)
    e = 1.0 - x * y
    return y + y * (e + e * e)


@triton.jit
def _chances(key, LOGITS: tl.constexpr):
    """P and q = 1 - p of keys."""
    if LOGITS:
        small = tl.exp(-tl.abs(key))
        large = 1.0 / (1.0 + small)
        p = tl.where(key >= 0, large, small * large)
        q = tl.where(key >= 0, small * large, large)
    else:
        p = key
        q = 1.0 - key
    return p, q


@triton.jit
def _cut_between(upper, lower):
    """As `_decide.cut_between`."""
    middle = lower / 2.0 + upper / 2.0
    rounded = middle.to(tl.float32).to(tl.float64)
    finite = (upper < float("inf")) & (lower > float("-inf"))
    fits = finite & (lower < rounded) & (rounded <= upper)
    cut = tl.where(fits, middle, upper)
    return tl.where(upper == lower, float("nan"), cut)


@triton.jit
def _nodes_needed(s, low, step, mean, limit):
    """How many nodes add more than rounding: e^-lost bounds E[e^(-s·D)]."""
    lost = s * low + tl.maximum(mean - 1.0, 0.0) * (1.0 - tl.exp(-s * step))
    return tl.sum((lost < limit).to(tl.int32), 0)


@triton.jit
def _settle(
    curve,
    nothing,
    slack,
    key,
    col,
    row,
    rows,
    m,
    best_ptr,
    value_ptr,
    cut_ptr,
    N: tl.constexpr,
):
    """Store the least count within the slack of the best value, and its cut-off."""
    top = tl.maximum(tl.max(curve, 1), nothing)
    bar = top - tl.maximum(1e-12 * tl.abs(top), slack)
    tied = tl.where(curve >= bar[:, None], col + 1, N + 1)
    best = tl.where(nothing >= bar, 0, tl.min(tied, 1))
    chosen = best[:, None]
    here, next = col + 1 == chosen, col == chosen
    value = tl.where(best == 0, nothing, tl.sum(tl.where(here, curve, 0.0), 1))
    upper = tl.sum(tl.where(here, key, 0.0), 1)
    lower = tl.sum(tl.where(next, key, 0.0), 1)
    upper = tl.where(best == 0, float("inf"), upper)
    lower = tl.where(best == m, float("-inf"), lower)
    tl.store(best_ptr + row, best.to(tl.int64), mask=row < rows)
    tl.store(value_ptr + row, value, mask=row < rows)
    tl.store(cut_ptr + row, _cut_between(upper, lower), mask=row < rows)


@triton.jit
def sort_rows(
    x_ptr,
    key_ptr,
    rows,
    m,
    pad,
    ROWS: tl.constexpr,
    N: tl.constexpr,
):
    """Sort rows in descending order, and fill them up to N items."""
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None]
    col = tl.arange(0, N)[None, :]
    inside = (row < rows) & (col < m)
    key = tl.load(x_ptr + row * m + col, mask=inside, other=pad)
    key = tl.sort(key, descending=True)
    tl.store(key_ptr + row * N + col, key, mask=row < rows)


@triton.jit
def decide_rows(
    key_ptr,
    table_ptr,
    s_ptr,
    hit_ptr,
    miss_ptr,
    decay_ptr,
    best_ptr,
    value_ptr,
    cut_ptr,
    rows,
    m,
    n_nodes,
    zero,
    low,
    step,
    limit,
    ROWS: tl.constexpr,
    N: tl.constexpr,
    NODES: tl.constexpr,
    KIND: tl.constexpr,
    LOGITS: tl.constexpr,
):
    """Best counts by the sums of `_curves.ratio_curve`.

    Three kinds of denominators: F-beta (d1 = 0), Jaccard (d1 + d3 = 0) and the rest.
    """
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    item = tl.arange(0, N)
    line = row[:, None]
    col = item[None, :]
    key = tl.load(key_ptr + line * N + col, mask=line < rows, other=0.0)
    key = key.to(tl.float64)
    p, q = _chances(key, LOGITS)
    node = tl.arange(0, NODES)
    s = tl.load(s_ptr + node, mask=node < n_nodes, other=float("inf"))
    mean = tl.min(tl.where(row < rows, tl.sum(p, 1), m), 0)
    count = _nodes_needed(s, low, step, mean, limit)
    curve = p * 0.0
    for j in range(count):
        weight = tl.load(table_ptr + j * N + item)[None, :]
        u1 = tl.load(hit_ptr + j)
        u3 = tl.load(miss_ptr + j)
        if KIND == 0:
            phi = q + p * u1
            whole = (tl.reduce(phi, 1, _product) * u1)[:, None]
            hits = tl.cumsum(p * _reciprocal(phi), 1)
            curve += whole * weight * hits
        elif KIND == 1:
            phi = q + p * u3
            after = tl.associative_scan(phi, 1, _product, reverse=True)
            curve += weight * after * _reciprocal(phi)
        else:
            # Each factor with its own e^(-s·d2), as u1 may be above 1
            decay = tl.load(decay_ptr + j)
            phi = q * decay + p * (u1 * decay)
            before = tl.associative_scan(phi, 1, _product)
            # Below 1e-30 the product is rounding, and 1/φ is no float32
            hits = tl.cumsum(p * (u1 * decay) * _reciprocal(tl.maximum(phi, 1e-30)), 1)
            phi = q + p * u3
            after = tl.associative_scan(phi, 1, _product, reverse=True)
            curve += weight * before * (after / tl.maximum(phi, 1e-300)) * hits
    if KIND == 1:
        curve = curve * tl.cumsum(p, 1)
    curve = tl.where(col < m, curve, float("-inf"))
    nothing = zero * tl.reduce(q, 1, _product)
    slack = nothing * 0.0
    _settle(
        curve,
        nothing,
        slack,
        key,
        col,
        row,
        rows,
        m,
        best_ptr,
        value_ptr,
        cut_ptr,
        N,
    )


@triton.jit
def weigh_rows(
    key_ptr,
    nodes_ptr,
    table_ptr,
    edge_ptr,
    best_ptr,
    value_ptr,
    cut_ptr,
    rows,
    m,
    n_nodes,
    limit,
    ROWS: tl.constexpr,
    N: tl.constexpr,
    NODES: tl.constexpr,
    HITS: tl.constexpr,
    REJECTIONS: tl.constexpr,
    LOGITS: tl.constexpr,
):
    """Best counts of metrics in which every item has a weight of its own.

    Hits weigh a_i = p_i·E[f(1 + T without i)], rejections b_i the same of the misses.
    The value of k items is H(k)·Σ_{i≤k} a_i + R(k)·Σ_{i>k} b_i and what the table adds
    at T = 0 and T = n.
    """
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    item = tl.arange(0, N)
    line = row[:, None]
    col = item[None, :]
    key = tl.load(key_ptr + line * N + col, mask=line < rows, other=0.0)
    key = key.to(tl.float64)
    p, q = _chances(key, LOGITS)
    # As misses, what is behind the end is a certain 0
    miss = tl.where(col < m, q, 0.0)
    other = tl.where(col < m, p, 1.0)
    total = tl.sum(p, 1)
    node = tl.arange(0, NODES)
    s = tl.load(nodes_ptr + node, mask=node < n_nodes, other=float("inf"))
    a = p * 0.0
    b = p * 0.0
    if HITS:
        mean = tl.min(tl.where(row < rows, total, m), 0)
        for j in range(_nodes_needed(s, 1.0, 1.0, mean, limit)):
            w = tl.load(nodes_ptr + n_nodes + j)
            u = tl.load(nodes_ptr + 2 * n_nodes + j)
            phi = q + p * u
            whole = (tl.reduce(phi, 1, _product) * (w * u))[:, None]
            a += whole * p * _reciprocal(phi)
    if REJECTIONS:
        mean = tl.min(tl.where(row < rows, m - total, m), 0)
        for j in range(_nodes_needed(s, 1.0, 1.0, mean, limit)):
            w = tl.load(nodes_ptr + n_nodes + j)
            u = tl.load(nodes_ptr + 2 * n_nodes + j)
            phi = other + miss * u
            whole = tl.reduce(phi, 1, _product)[:, None]
            b += whole * (w * u) * miss * _reciprocal(phi)
    none = tl.reduce(q, 1, _product)
    every = tl.reduce(other, 1, _product)
    of_hits = tl.load(table_ptr + item)[None, :]
    of_rejections = tl.load(table_ptr + N + item)[None, :]
    at_none = tl.load(table_ptr + 2 * N + item)[None, :]
    at_every = tl.load(table_ptr + 3 * N + item)[None, :]
    offset = tl.load(edge_ptr + 3)
    curve = offset + of_hits * tl.cumsum(a, 1)
    curve += of_rejections * (tl.cumsum(b, 1, reverse=True) - b)
    curve += none[:, None] * at_none
    curve += every[:, None] * at_every
    within = 1.0 - none - every
    nothing = none * tl.load(edge_ptr) + within * tl.load(edge_ptr + 1)
    nothing += every * tl.load(edge_ptr + 2)
    curve = tl.where(col < m, curve, float("-inf"))
    certain = tl.minimum(tl.minimum(total, m - total), 1.0)
    slack = tl.load(edge_ptr + 4) * tl.maximum(certain, 0.0)
    _settle(
        curve,
        nothing,
        slack,
        key,
        col,
        row,
        rows,
        m,
        best_ptr,
        value_ptr,
        cut_ptr,
        N,
    )


@triton.jit
def rough_ratio(hits, k, mean, second, d1, d2, d3):
    """As `_pixels.rough_value`, but for a factor."""
    one = tl.where(mean > 0.0, 1.0 - second / tl.maximum(mean, 1e-300), 1.0)
    return hits / (d1 * (hits + one) + d2 * k + d3 * (mean + one))


@triton.jit
def settle_sorted(
    key_ptr,
    table_ptr,
    width_ptr,
    first_ptr,
    before_ptr,
    total_ptr,
    best_ptr,
    value_ptr,
    cut_ptr,
    stride,
    m,
    n,
    n_nodes,
    zero,
    d1,
    d2,
    d3,
    low,
    step,
    limit,
    many,
    WINDOW: tl.constexpr,
    AHEAD: tl.constexpr,
    SCAN: tl.constexpr,
    POWERS: tl.constexpr,
    NODES: tl.constexpr,
    JACCARD: tl.constexpr,
    BRACKET: tl.constexpr,
):
    """As `_pixels.best_counts` for F-beta and Jaccard.

    With BRACKET the keys are those of a part of the row: `first` items with sums
    `before` are above, and `total` has the sums of all n.
    """
    row = tl.program_id(0).to(tl.int64)
    power = tl.arange(0, 16)
    real = power < POWERS
    scan = tl.arange(0, SCAN)
    key_ptr += row * stride
    mean = tl.full((), 0.0, tl.float64)
    second = tl.full((), 0.0, tl.float64)
    head = tl.full((), 0.0, tl.float64)
    width = tl.full((), 0, tl.int32) + m
    first = tl.full((), 0, tl.int32)
    if BRACKET:
        width = tl.load(width_ptr + row)
        first = tl.load(first_ptr + row)
        above = tl.load(before_ptr + row * POWERS + power, mask=real, other=0.0)
        total = tl.load(total_ptr + row * POWERS + power, mask=real, other=0.0)
        mean += tl.sum(tl.where(power == 0, total, 0.0), 0)
        second += tl.sum(tl.where(power == 1, total, 0.0), 0)
        head += tl.sum(tl.where(power == 0, above, 0.0), 0)
    else:
        for begin in range(0, m, SCAN):
            at = begin + scan
            p = tl.load(key_ptr + at, mask=at < m, other=0.0).to(tl.float64)
            mean += tl.sum(p, 0)
            second += tl.sum(p * p, 0)
    order = (power + 1).to(tl.float64)
    if BRACKET:
        # Without a window where the class is probably absent
        none = tl.exp(-tl.sum(total / order, 0))
        faint = tl.sum(tl.where(power == POWERS - 1, total, 0.0), 0) <= 1e-13
        absent = faint & (zero * none >= 1.0 - none)
        tl.store(best_ptr + row, tl.where(absent, 0, -1).to(tl.int64))
        tl.store(value_ptr + row, zero * none)
        tl.store(cut_ptr + row, tl.full((), float("inf"), tl.float64))
        # The largest item behind the bracket is there as well
        width = tl.where(absent, m + 1, width + (first + width < n).to(tl.int32))
    if width <= m:
        # The best ratio of expected counts, block by block
        top = tl.full((), -1.0, tl.float64)
        near = 0
        hits = head
        for begin in range(0, width, SCAN):
            at = begin + scan
            p = tl.load(key_ptr + at, mask=at < width, other=0.0).to(tl.float64)
            mass = hits + tl.cumsum(p, 0)
            rough = rough_ratio(mass, first + at + 1, mean, second, d1, d2, d3)
            rough = tl.where(at < width, rough, -1.0)
            high = tl.max(rough, 0)
            place = tl.min(tl.where(rough == high, at, m), 0)
            near = tl.where(high > top, place, near)
            top = tl.maximum(top, high)
            hits += tl.sum(p, 0)
        start = tl.maximum(tl.minimum(near + 1 - AHEAD, width - WINDOW), 0)
        # Sums of powers before and behind the window
        before = tl.zeros((16,), dtype=tl.float64)
        after = tl.zeros((16,), dtype=tl.float64)
        inside = tl.zeros((16,), dtype=tl.float64)
        for begin in range(0, width, SCAN):
            at = begin + scan
            p = tl.load(key_ptr + at, mask=at < width, other=0.0).to(tl.float64)
            x = tl.where(at < start, p, 0.0)
            z = tl.where(at >= start + WINDOW, p, 0.0)
            y = p
            for j in tl.static_range(POWERS):
                before += tl.where(power == j, tl.sum(x, 0), 0.0)
                after += tl.where(power == j, tl.sum(z, 0), 0.0)
                if BRACKET:
                    inside += tl.where(power == j, tl.sum(y, 0), 0.0)
                    y = y * p
                x = x * p
                z = z * p
        if BRACKET:
            after = tl.maximum(after + total - above - inside, 0.0)
            before += above
        at = start + tl.arange(0, WINDOW)
        key = tl.load(key_ptr + at, mask=at < width, other=0.0).to(tl.float64)
        q = 1.0 - key
        node = tl.arange(0, NODES)
        s = tl.load(table_ptr + node, mask=node < n_nodes, other=float("inf"))
        curve = tl.zeros((WINDOW,), dtype=tl.float64)
        slip = tl.zeros((WINDOW,), dtype=tl.float64)
        outside = after if JACCARD else before + after
        last = tl.sum(tl.where(power == POWERS - 1, outside, 0.0), 0) / POWERS
        for j in range(_nodes_needed(s, low, step, mean, limit)):
            decay = tl.load(table_ptr + n_nodes + j)
            w = tl.load(table_ptr + 2 * n_nodes + j)
            u = tl.load(table_ptr + 3 * n_nodes + j)
            a = tl.load(table_ptr + 4 * n_nodes + j)
            powers = tl.exp(order * tl.log(a))
            left = last * tl.sum(tl.where(power == POWERS - 1, powers, 0.0), 0)
            phi = q + key * u
            weight = w * tl.exp(-decay * (first + at + 1))
            logs = -tl.sum(powers * outside / order, 0)
            if JACCARD:
                behind = tl.associative_scan(phi, 0, _product, reverse=True)
                term = weight * tl.exp(logs) * behind * _reciprocal(phi)
            else:
                whole = tl.exp(logs) * tl.reduce(phi, 0, _product) * u
                share = tl.sum(powers * before, 0) / a
                term = weight * whole * (share + tl.cumsum(key * _reciprocal(phi), 0))
            curve += term
            slip += term * left
        hits = tl.sum(tl.where(power == 0, before, 0.0), 0) + tl.cumsum(key, 0)
        if JACCARD:
            curve = curve * hits
            slip = slip * hits
        curve = tl.where(at < width, curve, -1.0)
        # The series is an upper bound of the chance of no positives
        outside = before + after
        unsure = tl.sum(tl.where(power == POWERS - 1, outside, 0.0), 0) > 1e-13
        none = tl.reduce(q, 0, _product) * tl.exp(-tl.sum(outside / order, 0))
        nothing = zero * none
        top = tl.maximum(tl.max(curve, 0), nothing)
        bar = top - 1e-12 * top
        place = tl.arange(0, WINDOW)
        most = tl.max(curve, 0)
        found = tl.min(tl.where(curve >= most - 1e-12 * most, place, WINDOW), 0)
        here = tl.where(nothing >= bar, -1, found)
        end = tl.minimum(start + WINDOW, width)
        whole = first + end == n
        inner = ((found > 0) | (first + start == 0)) & (
            (start + found < end - 1) | whole
        )
        slipped = tl.sum(tl.where(place == found, slip, 0.0), 0)
        inner &= slipped <= 1e-12 * top
        # As `_pixels.ends`
        k = (first + end).to(tl.float64)
        mass = tl.max(hits, 0)
        spread = tl.maximum(d3, tl.abs(d1 + d3))
        excess = spread * spread * mean / (d2 * k * (d2 * k + d3 * mean + d1 * mass))
        rough = rough_ratio(mass, k, mean, second, d1, d2, d3) * (1.0 + excess)
        inner &= (mean >= many) | whole | (rough * (d1 + d2 + d3) <= top)
        inner |= nothing >= 1.0 - none
        inner &= (here >= 0) | (unsure == 0)
        value = tl.sum(tl.where(place == found, curve, 0.0), 0)
        upper = tl.sum(tl.where(place == found, key, 0.0), 0)
        lower = tl.load(
            key_ptr + start + here + 1, mask=start + here + 1 < width, other=0.0
        ).to(tl.float64)
        upper = tl.where(here < 0, float("inf"), upper)
        lower = tl.where(start + here + 1 < width, lower, float("-inf"))
        best = tl.where(here < 0, 0, first + start + found + 1)
        tl.store(best_ptr + row, tl.where(inner, best, -1).to(tl.int64))
        tl.store(value_ptr + row, tl.where(here < 0, nothing, value))
        tl.store(cut_ptr + row, _cut_between(upper, lower))
