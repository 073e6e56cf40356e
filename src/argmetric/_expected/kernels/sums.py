"""Sums of any metric over pairs of laws: its cells, and what they add up to.

The cells of a pair of laws are those hits and misses whose joint chance is worth a
value. Pairs of whole laws with the same k and n share a key: its cells are those of any
of them, so that the metric is asked once for each. A row of a key holds the cells with
one number of hits: their first column, the column behind the last, and where they lie.

Laws are points and weights in two rows. Columns of `spans` are the start and the length
of a pair's hits, and the same of its misses; columns of `asked` are k, n and the
tolerance, which is negative where a law is a quadrature: such a pair is alone in its
key.
"""

from __future__ import annotations

import math

from argmetric._ground.jit import borrowing, inner

ABOVE_ALL_KEYS = 2**62


@inner
def key_box(key, order, ends, spans, hits, misses):
    """Least and most hits, and misses, that the pairs of a key can have."""
    low, high, miss_low, miss_high = ABOVE_ALL_KEYS, 0, ABOVE_ALL_KEYS, 0
    for member in range(ends[key], ends[key + 1]):
        i = order[member]
        first, miss_first = int(hits[0, spans[i, 0]]), int(misses[0, spans[i, 2]])
        low, miss_low = min(low, first), min(miss_low, miss_first)
        high = max(high, first + spans[i, 1])
        miss_high = max(miss_high, miss_first + spans[i, 3])
    return low, high, miss_low, miss_high


@borrowing
def widest_key(order, ends, spans, hits, misses):
    """Most rows, and most cells, that a key can have."""
    rows, cells = 0, 0
    for key in range(ends.shape[0] - 1):
        low, high, left, right = key_box(key, order, ends, spans, hits, misses)
        rows, cells = max(rows, high - low), max(cells, (high - low) * (right - left))
    return rows, cells


@inner
def widen_rows(hits, misses, tolerance, offset, rows):
    """Widen the rows of a key by the cells of one pair of whole laws.

    Whole laws rise and fall: the ends of a row are near those of the row before.
    """
    begin, stop, size = 0, 0, misses.shape[0]
    for a in range(hits.shape[0]):
        weight = hits[a]
        if begin == stop:
            begin, stop = 0, size
        while begin > 0 and weight * misses[begin - 1] >= tolerance:
            begin -= 1
        while begin < stop and weight * misses[begin] < tolerance:
            begin += 1
        while stop < size and weight * misses[stop] >= tolerance:
            stop += 1
        while begin < stop and weight * misses[stop - 1] < tolerance:
            stop -= 1
        if begin < stop:
            rows[a, 0] = min(rows[a, 0], begin + offset)
            rows[a, 1] = max(rows[a, 1], stop + offset)


@borrowing
def fill_cells(key, limit, order, ends, spans, asked, hits, misses, bases, rows, cells):
    """Cells of the keys from `key` on, until there are `limit` of them or of rows.

    Pairs order[ends[key]…ends[key+1]] share a key. `bases` gets its first row, hits
    and misses; `cells` the counts tp, k, t and n. Returns the key to go on with, and
    the number of cells.
    """
    used, last_row = 0, 0
    tp, many_k, t, many_n = cells[0], cells[1], cells[2], cells[3]
    while key < ends.shape[0] - 1 and used < limit and last_row < limit:
        one = order[ends[key]]
        low, high, left, _ = key_box(key, order, ends, spans, hits, misses)
        bases[key, 0], bases[key, 1], bases[key, 2] = last_row, low, left
        whole = asked[one, 2] >= 0.0
        size = high - low
        own = rows[last_row : last_row + size]
        last_row += size
        for a in range(size):
            own[a, 0], own[a, 1] = (ABOVE_ALL_KEYS, 0) if whole else (0, spans[one, 3])
        if whole:
            for member in range(ends[key], ends[key + 1]):
                i = order[member]
                first, width = int(hits[0, spans[i, 0]]) - low, spans[i, 1]
                widen_rows(
                    hits[1, spans[i, 0] : spans[i, 0] + width],
                    misses[1, spans[i, 2] : spans[i, 2] + spans[i, 3]],
                    asked[i, 2],
                    int(misses[0, spans[i, 2]]) - left,
                    own[first : first + width],
                )
        begin = used
        for a in range(size):
            first, width = own[a, 0], own[a, 1] - own[a, 0]
            own[a, 2] = used
            if width <= 0:
                own[a, 0] = own[a, 1] = 0
                continue
            row_tp, row_t = tp[used : used + width], t[used : used + width]
            if whole:
                hit = float(low + a)
                positives = hit + (left + first)
                for r in range(row_t.shape[0]):
                    row_tp[r] = hit
                    row_t[r] = positives + r
            else:
                hit = hits[0, spans[one, 0] + a]
                for r in range(row_t.shape[0]):
                    row_tp[r] = hit
                    row_t[r] = hit + misses[0, spans[one, 2] + r]
            used += width
        many_k[begin:used] = asked[one, 0]
        many_n[begin:used] = asked[one, 1]
        key += 1
    return key, used


@borrowing
def mean_defined(hits, misses, shift, rows, values):
    """E[value | value is a number] of one pair of laws, nan where it never is."""
    total, mass = 0.0, 0.0
    for a in range(hits.shape[0]):
        begin = max(rows[a, 0] - shift, 0)
        stop = min(rows[a, 1] - shift, misses.shape[0])
        for r in range(begin, stop):
            value = values[rows[a, 2] + r + shift - rows[a, 0]]
            if not math.isnan(value):
                chance = hits[a] * misses[r]
                total += chance * value
                mass += chance
    return total / mass if mass > 1e-300 else math.nan


@borrowing
def sum_cells(
    key, last, order, ends, spans, hits, misses, bases, rows, values, work, out
):
    """out[0] = E[value | defined] of every pair of keys key…last-1, nan where never.

    out[1] is the mass of the cells that are not in the rows of the key. `work` has
    three rows of one more than the longest law. Returns whether all values were finite.
    """
    finite = True
    sums, below, above = work[0], work[1], work[2]
    for now in range(key, last):
        for member in range(ends[now], ends[now + 1]):
            i = order[member]
            size = spans[i, 3]
            own_hits = hits[1, spans[i, 0] : spans[i, 0] + spans[i, 1]]
            own_misses = misses[1, spans[i, 2] : spans[i, 2] + size]
            first = bases[now, 0] + int(hits[0, spans[i, 0]]) - bases[now, 1]
            shift = int(misses[0, spans[i, 2]]) - bases[now, 2]
            below[0] = above[size] = 0.0
            for r in range(size):
                sums[r] = 0.0
                below[r + 1] = below[r] + abs(own_misses[r])
            for step in range(size):
                r = size - 1 - step
                above[r] = above[r + 1] + abs(own_misses[r])
            lost = 0.0
            for a in range(own_hits.shape[0]):
                weight, row = own_hits[a], first + a
                begin = max(rows[row, 0] - shift, 0)
                stop = min(rows[row, 1] - shift, size)
                if begin >= stop:
                    lost += abs(weight) * below[size]
                    continue
                lost += abs(weight) * (below[begin] + above[stop])
                place = rows[row, 2] + begin + shift - rows[row, 0]
                part, own = sums[begin:stop], values[place : place + stop - begin]
                for r in range(part.shape[0]):
                    part[r] += weight * own[r]
            total = 0.0
            for r in range(size):
                total += own_misses[r] * sums[r]
            if not math.isfinite(total):
                finite = False
                own_rows = rows[first : first + own_hits.shape[0]]
                total = mean_defined(own_hits, own_misses, shift, own_rows, values)
            out[0, i], out[1, i] = total, lost
    return finite
