"""Decide among labels by hashed features: scores, probabilities, steps, beams.

A decision adds up rows of weights: those of its static features, and those of its
history features, which are hashed here from the code of the last labels. The code
holds label + 1 in `bits` bits each, the last decision lowest; zero is "before the
sentence".
"""

from __future__ import annotations

import math

import numpy as np

from argmetric._ground.jit import borrowing
from argmetric._ground.jit.hashing import GOLDEN, mix

ONE = np.uint64(1)
LEAST_DOUBT = 0.01  # 1 - p(target) below which a decision teaches nothing
_SMALL = 0.002  # nor does a gradient this small
_FAR = -30.0  # e to this power is nothing beside one
# The tuples of tagging_layout come without names here: with them, numba's disk
# cache would refer to their classes, and break where these change.
# Places in `rows`
INDPTR, INDICES, VALUES, HALVES, SENTENCES = 0, 1, 2, 3, 4
# Places in `scheme`
N_LABELS, STARTS, HISTORY, MASKS, ALLOWED, OUTSIDE = 0, 1, 2, 3, 4, 5
BITS, STATE_MASK, SHIFT, BASE, VALUE = 6, 7, 8, 9, 10


@borrowing
def add_row(scores, weights, start, n_labels, value):
    """Add value · weights[start:start + n_labels] to scores."""
    row = weights[start : start + n_labels]
    for k in range(n_labels):
        scores[k] += value * row[k]


@borrowing
def history_row(half, code, mask, shift):
    """Return the row of weights of a history feature, by hashing the labels it sees."""
    return np.int64(mix(half ^ ((code & mask) * GOLDEN)) >> shift)


@borrowing
def history_rows(rows, scheme, position, stream, code, found):
    """Set the rows of the history features of a decision; return their number."""
    first = scheme[HISTORY][stream]
    n = 0
    for j in range(scheme[HISTORY][stream + 1] - first):
        half = rows[HALVES][position, j]
        if half != 0:
            row = history_row(half, code, scheme[MASKS][first + j], scheme[SHIFT])
            found[n] = scheme[BASE] + row
            n += 1
    return n


@borrowing
def last_label(scheme, code, n_streams):
    """Return 1 + the last label of the current stream, 0 if there is no label."""
    here = (ONE << scheme[BITS]) - ONE
    return np.int64((code >> (scheme[BITS] * np.uint64(n_streams - 1))) & here)


@borrowing
def next_code(scheme, code, label):
    """Return the code of the history with one more label."""
    return ((code << scheme[BITS]) | np.uint64(label + 1)) & scheme[STATE_MASK]


@borrowing
def best_label(scores, allowed, K):
    """Return the first of the highest allowed scores."""
    best = -1
    for k in range(K):
        if allowed[k] and (best < 0 or scores[k] > scores[best]):
            best = k
    return best


@borrowing
def log_total(scores, allowed, K):
    """Return log Σ exp(score) over the allowed labels."""
    top = np.float64(scores[best_label(scores, allowed, K)])
    total = 0.0
    for k in range(K):
        if allowed[k]:
            gap = np.float64(scores[k]) - top
            if gap > _FAR:
                total += math.exp(gap)
    return top + math.log(total)


@borrowing
def softmax(scores, allowed, K, norm, out):
    """Set probabilities exp(score - norm) of the allowed labels; see `log_total`."""
    for k in range(K):
        out[k] = 0.0
        if allowed[k]:
            gap = np.float64(scores[k]) - norm
            if gap > _FAR:
                out[k] = math.exp(gap)


@borrowing
def list_active(gradient, K, active):
    """List labels with a gradient that matters; return their number."""
    n = 0
    for k in range(K):
        if abs(gradient[k]) >= _SMALL:
            active[n] = k
            n += 1
    return n


@borrowing
def descend(learned, start, value, gradient, active, step, when):
    """Take a step down the gradient for the active labels of a row of weights.

    AdaGrad: w -= step · g / √(Σ g²). The sums gather the changes times their time, for
    the average.
    """
    weights, squares, sums = learned
    for k in active:
        slope = gradient[k] * value
        squares[start + k] += slope * slope
        change = -step * slope / math.sqrt(squares[start + k])
        weights[start + k] += np.float32(change)
        if when > 0.0:
            sums[start + k] += np.float32(change * when)


@borrowing
def place(beam, n, width, total, raw, parent, choice):
    """Insert a candidate among the best `width`, sorted; return their number.

    Sorted by total, then raw score, then order of arrival: where the total rounds two
    labels of one parent to the same number, the raw score still tells them apart, so
    that a beam of width one is the greedy search.
    """
    totals, raws, parents, choices = beam
    if n == width:
        last = n - 1
        if total < totals[last] or (total == totals[last] and raw <= raws[last]):
            return n
    else:
        last = n
        n += 1
    while last > 0 and (
        total > totals[last - 1] or (total == totals[last - 1] and raw > raws[last - 1])
    ):
        totals[last] = totals[last - 1]
        raws[last] = raws[last - 1]
        parents[last] = parents[last - 1]
        choices[last] = choices[last - 1]
        last -= 1
    totals[last] = total
    raws[last] = raw
    parents[last] = parent
    choices[last] = choice
    return n


@borrowing
def longest_of(sentences):
    """Return the length of the longest sentence, at least 1."""
    longest = 1
    for s in range(sentences.shape[0] - 1):
        longest = max(longest, sentences[s + 1] - sentences[s])
    return longest
