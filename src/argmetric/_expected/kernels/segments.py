"""Bookkeeping of flat segments: sorting, moments, the choice of k, the labels."""

from __future__ import annotations

import math

import numpy as np

from argmetric._expected.kernels.tolerances import TIE
from argmetric._ground.jit import inner, kernel
from argmetric._ground.jit.lanes import above, alike, eight, put

LANES = 8  # segments side by side
RUN = 64  # so many items are sorted by comparing all pairs
MOST_MOVES = 8  # of an item, on the mean, past which insertion is given up
PLACE = 0xFFFFFFFF  # lower half of a word: the place of an item in its segment
DESCENDING = 0x7FFFFFFFFFFFFFFF  # bits that turn the order of positive numbers
NEVER = -760.0  # a logarithm whose exponential is 0


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


@inner
def sort_words(words, spare, counts):
    """Sort by the upper half, stably; whether the result is in `spare`."""
    length, moved = words.shape[0], False
    counts[:] = 0
    for i in range(length):
        word = words[i]
        for d in range(4):
            counts[d, (word >> (32 + 8 * d)) & 255] += 1
    for d in range(4):
        starts, shift = counts[d], 32 + 8 * d
        if starts[(words[0] >> shift) & 255] == length:
            continue  # all have this byte
        total = 0
        for byte in range(256):
            total, starts[byte] = total + starts[byte], total
        for i in range(length):
            byte = (words[i] >> shift) & 255
            spare[starts[byte]] = words[i]
            starts[byte] += 1
        words, spare = spare, words
        moved = not moved
    return moved


@kernel
def pack(bits, turn, places, out):
    """Write half of the bits, turned if positive, above the place: largest first."""
    for i in range(places.shape[0]):
        place = places[i] & PLACE
        word = bits[place]
        word = word if word < 0 else word ^ DESCENDING
        out[i] = ((word << turn) & ~PLACE) | place


@inner
def put_in_order(values, words, rows, most_moves, key, order):
    """Sort scores and rows by words with the upper half of a score.

    Return False if rows are too far from their place.

    Scores that differ in the lower half only are put right by insertion.
    """
    moves = 0
    for i in range(words.shape[0]):
        place = words[i] & PLACE
        value = values[place]
        j = i
        while j > 0 and key[j - 1] < value:
            key[j], order[j] = key[j - 1], order[j - 1]
            j -= 1
        key[j], order[j] = value, rows[place]
        moves += i - j
        if moves > most_moves:
            return False
    return True


@kernel
def sort_short(score, rows, indptr, key, order):
    """Sort every segment of at most RUN rows by descending score, ties by position.

    `rows` lists the row numbers of the segments, one segment behind the other;
    `key` and `order` receive the scores and the row numbers.
    """
    lanes, count = 0, indptr.shape[0] - 1
    firsts, lasts = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    for g in range(count):
        if indptr[g + 1] - indptr[g] <= RUN:
            firsts[lanes], lasts[lanes] = indptr[g], indptr[g + 1]
            lanes += 1
        if lanes == LANES or g == count - 1:
            sort_runs(score, rows, firsts, lasts, lanes, key, order)
            lanes = 0


@kernel
def sort_long(score, rows, indptr, values, bits, words, spare, counts, key, order):
    """Sort every segment of more than RUN rows by descending score.

    Rows are sorted by the upper 32 bits of their scores, then inserted in order.
    Where that takes too many moves, they are sorted by all 64 bits.

    values, bits, words, spare : array of shape (longest segment,)
        Scratch; `bits` are those of `values`.
    """
    for g in range(indptr.shape[0] - 1):
        start, length = indptr[g], indptr[g + 1] - indptr[g]
        if length <= RUN:
            continue
        for i in range(length):
            values[i] = score[rows[start + i]] + 0.0  # no -0.0, which has other bits
            words[i] = i
        source, target = words[:length], spare[:length]
        own = rows[start : start + length]
        own_key, own_order = key[start : start + length], order[start : start + length]
        for halves in (1, 2):
            for half in range(2 - halves, 2):
                pack(bits, 32 * (1 - half), source, target)
                if not sort_words(target, source, counts):
                    source, target = target, source
            most = MOST_MOVES * length
            if put_in_order(values, source, own, most, own_key, own_order):
                break


@kernel
def segment_moments(p, q, indptr, out):
    """Write Σp and Σpq of each segment."""
    for g in range(indptr.shape[0] - 1):
        mean, variance = 0.0, 0.0
        first = indptr[g]
        while first < indptr[g + 1]:  # two-level sums: no drift on equal items
            last = min(first + 64, indptr[g + 1])
            mean_, variance_ = 0.0, 0.0
            for i in range(first, last):
                mean_ += p[i]
                variance_ += p[i] * q[i]
            mean += mean_
            variance += variance_
            first = last
        out[g, 0], out[g, 1] = mean, variance


@kernel
def edge_logs(p, q, indptr, out):
    """Write log P(no positive) and log P(no negative) of each segment.

    They are -inf where that is impossible.
    """
    for g in range(indptr.shape[0] - 1):
        part = slice(indptr[g], indptr[g + 1])
        out[g, 0], out[g, 1] = (
            log_of_none(p[part], q[part]),
            log_of_none(q[part], p[part]),
        )


@inner
def log_of_none(p, q):
    """Return Σ log q, to the last digits also where q is almost 1."""
    total = 0.0
    for first in range(0, p.shape[0], 64):
        small, product = 0.0, 1.0
        for i in range(first, min(first + 64, p.shape[0])):
            if p[i] < 0.0625:  # log(1-p) = -p - p²/2 - p³/3 …
                term = 1.0 / 14
                for d in range(13, 0, -1):
                    term = term * p[i] + 1.0 / d
                small -= term * p[i]
            elif p[i] < 0.5:
                product *= q[i]
            else:
                small += math.log(q[i]) if q[i] > 0.0 else -np.inf
        total += small + math.log(product)
        if total < NEVER:
            return -np.inf
    return total


@kernel
def prefix_means(p, indptr, out):
    """Write running sums of p within each segment, starting with 0."""
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
    """Write the range of k of each segment under budgets and floors.

    Floors are for precision and recall.

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
    """Write the best k of every segment within its range; ties take the smaller.

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
def count_and_p_none(key, q, indptr, cut, count, none):
    """Write the items with key ≥ cut of each segment, and P(no positive).

    Keys descend.
    """
    for g in range(indptr.shape[0] - 1):
        k, product = 0, 1.0
        for i in range(indptr[g], indptr[g + 1]):
            k += key[i] >= cut
            product = product * q[i] if product >= 1e-300 else 0.0
        count[g], none[g] = k, product


@kernel
def bin_sums(p, low, scale, sums):
    """Add up the place f of every p within its bin, b, which begins at low + b/scale.

    f is from -1/2 to 1/2, and exact for bins of a width that is a power of two. Sums
    are of whole numbers, so that they depend neither on the order of the items nor on
    how these are divided: how many there are, f in units of 2^-22, what that leaves
    of f in units of 2^-53, and f² and f³ in units of 2^-32. What lies outside of the
    bins is left out. No sum of fewer than 2^32 items overflows.
    """
    width = float(sums.shape[0])
    for i in range(p.shape[0]):
        place = (p[i] - low) * scale
        if 0.0 <= place < width:
            b = int(place)
            f = place - b - 0.5
            units = int(f * 9007199254740992.0)
            square = f * f
            sums[b, 0] += 1
            sums[b, 1] += units >> 31
            sums[b, 2] += units & 0x7FFFFFFF
            sums[b, 3] += int(square * 4294967296.0 + 0.5)
            sums[b, 4] += int(square * f * 4294967296.0)


@kernel
def take_range(p, low, high, out):
    """Write all p with low ≤ p < high in input order; `out` has one place more."""
    count = 0
    for i in range(p.shape[0]):
        x = p[i]
        out[count] = x
        count += (x >= low) & (x < high)
        if count == out.shape[0]:
            break
