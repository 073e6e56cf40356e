"""Bookkeeping of flat segments: sorting, moments, the choice of k, the labels."""

from __future__ import annotations

import math

import numpy as np

from argmetric._kernels._jit import kernel
from argmetric._kernels._lanes import above, alike, eight, put

LANES = 8  # segments side by side
RUN = 64  # so many items are sorted by comparing all pairs
TIE = 1e-12  # values this close, relatively, are ties: the smaller k wins


@kernel
def merge_runs(key, order, first, middle, last, spare_key, spare_order):
    """Merge two descending runs; equal keys keep their order."""
    for i in range(first, middle):
        spare_key[i - first] = key[i]
        spare_order[i - first] = order[i]
    length = middle - first
    a, b, i = 0, middle, first
    while a < length:
        if b < last and key[b] > spare_key[a]:
            key[i], order[i] = key[b], order[b]
            b += 1
        else:
            key[i], order[i] = spare_key[a], spare_order[a]
            a += 1
        i += 1


@kernel
def sort_runs(score, rows, firsts, lasts, lanes, key, order):
    """Sort runs of at most RUN rows, LANES at a time side by side.

    A value's place in its run is how many go before it: all pairs are compared, which
    takes no branch. Of equal ones the first goes first.
    """
    values, places = np.empty(RUN * LANES), np.empty(RUN * LANES)
    longest = 0
    for j in range(lanes):
        longest = max(longest, lasts[j] - firsts[j])
    for j in range(LANES):
        length = lasts[j] - firsts[j] if j < lanes else 0
        for i in range(length):
            values[LANES * i + j] = score[rows[firsts[j] + i]]
        for i in range(length, longest):
            values[LANES * i + j] = -np.inf
    for i in range(longest):
        value = eight(values, LANES * i)
        place = alike(value, float(i))
        for j in range(i):
            first = above(value, eight(values, LANES * j))
            place = place - first
            put(places, LANES * j, eight(places, LANES * j) + first)
        put(places, LANES * i, place)
    for j in range(lanes):
        for i in range(lasts[j] - firsts[j]):
            place = firsts[j] + int(places[LANES * i + j])
            key[place], order[place] = values[LANES * i + j], rows[firsts[j] + i]


@kernel
def sort_segments(score, rows, indptr, key, order):
    """Sort every segment by descending score, ties by position.

    `rows` lists the row numbers of the segments, one segment behind the other;
    `key` and `order` receive the scores and the row numbers.
    """
    longest = lanes = 0
    firsts, lasts = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    for g in range(indptr.shape[0] - 1):
        longest = max(longest, indptr[g + 1] - indptr[g])
        for first in range(indptr[g], indptr[g + 1], RUN):
            firsts[lanes], lasts[lanes] = first, min(first + RUN, indptr[g + 1])
            lanes += 1
            if lanes == LANES:
                sort_runs(score, rows, firsts, lasts, lanes, key, order)
                lanes = 0
    sort_runs(score, rows, firsts, lasts, lanes, key, order)
    if longest <= RUN:
        return
    spare_key = np.empty(longest)
    spare_order = np.empty(longest, np.int64)
    for g in range(indptr.shape[0] - 1):
        start, stop = indptr[g], indptr[g + 1]
        width = RUN
        while width < stop - start:
            for first in range(start, stop - width, 2 * width):
                last = min(first + 2 * width, stop)
                merge_runs(
                    key, order, first, first + width, last, spare_key, spare_order
                )
            width *= 2


@kernel
def group_rows(code, counts, rows):
    """Rows of every group behind each other, in input order (a counting sort).

    `counts` holds the first slot of each group and is used up.
    """
    for i in range(code.shape[0]):
        g = code[i]
        rows[counts[g]] = i
        counts[g] += 1


@kernel
def bin_rows(code, bits, starts, rows, codes):
    """Rows and codes by the leading bits of the code, in input order.

    `starts` holds the first slot of each bin and is used up.
    """
    for i in range(code.shape[0]):
        g = code[i]
        slot = starts[g >> bits]
        starts[g >> bits] = slot + 1
        rows[slot], codes[slot] = i, g


@kernel
def group_binned_rows(binned, codes, counts, rows):
    """`group_rows` of rows that `bin_rows` left, with their codes."""
    for i in range(codes.shape[0]):
        g = codes[i]
        rows[counts[g]] = binned[i]
        counts[g] += 1


@kernel
def segment_moments(p, q, indptr, out):
    """Per segment: Σp, Σpq, log P(no positive), log P(no negative)."""
    for g in range(indptr.shape[0] - 1):
        mean, variance, none, every = 0.0, 0.0, 0.0, 0.0
        first = indptr[g]
        while first < indptr[g + 1]:  # two-level sums: no drift on equal items
            last = min(first + 64, indptr[g + 1])
            mean_, variance_, none_, every_ = 0.0, 0.0, 0.0, 0.0
            for i in range(first, last):
                pi, qi = p[i], q[i]
                mean_ += pi
                variance_ += pi * qi
                none_ += math.log1p(-pi) if pi < 0.5 else log_or_minus_infinity(qi)
                every_ += math.log1p(-qi) if qi < 0.5 else log_or_minus_infinity(pi)
            mean += mean_
            variance += variance_
            none += none_
            every += every_
            first = last
        out[g, 0], out[g, 1], out[g, 2], out[g, 3] = mean, variance, none, every


@kernel
def chance_of_none(q, indptr, out):
    """P(no positive) of every segment."""
    for g in range(indptr.shape[0] - 1):
        product = 1.0
        for i in range(indptr[g], indptr[g + 1]):
            product *= q[i]
        out[g] = product


@kernel
def log_or_minus_infinity(x):
    """Logarithm of x ≥ 0."""
    return math.log(x) if x > 0.0 else -np.inf


@kernel
def prefix_means(p, indptr, out):
    """Running sums of p within each segment, starting with 0."""
    for g in range(indptr.shape[0] - 1):
        offset = indptr[g] + g
        total, partial = 0.0, 0.0
        out[offset] = 0.0
        for i in range(indptr[g], indptr[g + 1]):
            partial += p[i]
            out[offset + i - indptr[g] + 1] = total + partial
            if (i - indptr[g]) % 64 == 63:
                total += partial
                partial = 0.0


@kernel
def bounded_counts(
    p, recall, indptr, least, most, min_precision, min_recall, low, high
):
    """Range of k in every segment: budgets, and floors under precision and recall.

    Expected precision falls and expected recall rises with k, so each floor is one
    bound. `recall` is read only if min_recall > 0. An empty range has low > high.
    """
    for g in range(indptr.shape[0] - 1):
        start, m = indptr[g], indptr[g + 1] - indptr[g]
        low[g], high[g] = min(least, m), min(most, m)
        if min_precision > 0.0:
            total = 0.0
            k = 0
            while k < high[g]:
                total += p[start + k]
                if total < (min_precision - 1e-12) * (k + 1):
                    break
                k += 1
            high[g] = k
        if min_recall > 0.0:
            k = 0
            while k < m and recall[start + g + k] < min_recall - 1e-12:
                k += 1
            low[g] = max(low[g], k)


@kernel
def choose(curve, indptr, low, high, sign, floor, best):
    """Best k of every segment within its range; ties go to the smaller k.

    Values within 1e-12, relatively, or within the floor of the best are ties.
    """
    for g in range(indptr.shape[0] - 1):
        offset = indptr[g] + g
        top = -np.inf
        for k in range(low[g], high[g] + 1):
            value = sign * curve[offset + k]
            if value > top:
                top = value
        bar = top - max(TIE * abs(top), floor[g])
        best[g] = low[g]
        for k in range(low[g], high[g] + 1):
            if sign * curve[offset + k] >= bar:
                best[g] = k
                break


@kernel
def mark(order, indptr, best, labels):
    """Set the labels of the best items of every segment to 1."""
    for g in range(indptr.shape[0] - 1):
        for i in range(indptr[g], indptr[g] + best[g]):
            labels[order[i]] = 1


@kernel
def count_at_least(key, indptr, cut, out):
    """Number of items of every segment with key ≥ cut, key descending."""
    for g in range(indptr.shape[0] - 1):
        k = 0
        while k < indptr[g + 1] - indptr[g] and key[indptr[g] + k] >= cut:
            k += 1
        out[g] = k
