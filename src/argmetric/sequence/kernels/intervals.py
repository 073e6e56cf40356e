"""Choose non-overlapping spans of largest weight: weighted interval scheduling.

Spans are rows (first token, past the last token, type), by sentence and start.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from argmetric._ground.jit import kernel


@kernel
def schedule(weights, spans, span_indptr, indptr, chosen):
    """Choose the non-overlapping spans of largest total weight in every sentence.

    best[i] is the largest weight from token i on; spans are listed by start, and only
    positive weights are used.
    """
    longest = 0
    for g in range(indptr.shape[0] - 1):
        longest = max(longest, indptr[g + 1] - indptr[g])
    best = np.empty(longest + 1)
    take = np.empty(longest + 1, np.int64)
    for g in range(indptr.shape[0] - 1):
        first, n = indptr[g], indptr[g + 1] - indptr[g]
        best[n] = 0.0
        s = span_indptr[g + 1] - 1
        for i in range(n - 1, -1, -1):
            best[i], take[i] = best[i + 1], -1
            while s >= span_indptr[g] and spans[s, 0] - first == i:
                value = weights[s] + best[spans[s, 1] - first]
                if value > best[i]:
                    best[i], take[i] = value, s
                s -= 1
        i = 0
        while i < n:
            if take[i] >= 0:
                chosen[take[i]] = True
                i = spans[take[i], 1] - first
            else:
                i += 1


@kernel
def schedule_exactly(weights, spans, first, stop, size, best, take, chosen):
    """Choose exactly `size` non-overlapping spans; return their weight, or -inf.

    Tokens `first` to `stop`; `best` and `take` are tables of (tokens + 1, size + 1)
    or more.
    """
    n = stop - first
    for k in range(size + 1):
        best[n, k] = 0.0 if k == 0 else -np.inf
    s = spans.shape[0] - 1
    for i in range(n - 1, -1, -1):
        for k in range(size + 1):
            best[i, k], take[i, k] = best[i + 1, k], -1
        while s >= 0 and spans[s, 0] - first == i:
            after = spans[s, 1] - first
            for k in range(1, size + 1):
                value = weights[s] + best[after, k - 1]
                if value > best[i, k]:
                    best[i, k], take[i, k] = value, s
            s -= 1
    if best[0, size] == -np.inf:
        return -np.inf
    i, k = 0, size
    while i < n:
        s = take[i, k]
        if s >= 0:
            chosen[s] = True
            i = spans[s, 1] - first
            k -= 1
        else:
            i += 1
    return best[0, size]


@kernel
def exact_sets(
    tilted,
    decay,
    spans,
    span_indptr,
    indptr,
    mean,
    b2,
    empty,
    chosen,
    out,
    place,
    power,
    most,
):
    """Find the set with the largest E[F_β] of each document, over all sizes.

    Σ_q tilted[s, q]·decay[q]^k is the value of span s in a set of size k. Sizes beyond
    k with (1+β²)μ/(k + β²μ) < best are skipped: that bounds E[F_β] of any such set by
    Jensen's inequality, since tp ≤ t. out[d] is the best value, and
    `empty[d]` that of no span at all.

    Returns after about `most` steps: True if it is done, else to be called again with
    the same arrays. place[:] are the document and the size that are done with, and
    power[q] is decay[q] to the size.
    """
    steps = 0
    while place[0] < indptr.shape[0] - 1:
        d, size = place[0], place[1]
        first, stop = indptr[d], indptr[d + 1]
        low, high = span_indptr[d], span_indptr[d + 1]
        if size == 0:
            out[d] = empty[d]
            power[:] = 1.0
        worth = np.empty(high - low)
        room = 0
        best, take = np.empty((0, 0)), np.empty((0, 0), np.int64)
        while size < min(high - low, stop - first):
            if steps >= most:
                place[1] = size
                return False
            size += 1
            steps += (high - low) * (size + decay.shape[0]) + (stop - first) * size
            if size + b2 * mean[d] > 0.0:
                bound = (1.0 + b2) * mean[d] / (size + b2 * mean[d])
                if bound < out[d]:
                    break
            for q in range(decay.shape[0]):
                power[q] *= decay[q]
            for s in range(high - low):
                total = 0.0
                for q in range(decay.shape[0]):
                    total += tilted[low + s, q] * power[q]
                worth[s] = total
            if size > room:
                room = min(2 * size, stop - first)
                best = np.empty((stop - first + 1, room + 1))
                take = np.empty((stop - first + 1, room + 1), np.int64)
            picked = np.zeros(high - low, np.bool_)
            value = schedule_exactly(
                worth, spans[low:high], first, stop, size, best, take, picked
            )
            if value == -np.inf:
                break
            if value > out[d]:
                out[d] = value
                chosen[low:high] = picked
        place[0], place[1] = d + 1, 0
    return True
