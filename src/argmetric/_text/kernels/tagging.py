"""Sequences labelled one decision after the other: search.

A decision adds up rows of weights: those of its static features, and those of its
history features, which are hashed here from the code of the last labels. The code
holds label + 1 in `bits` bits each, the last decision lowest; zero is "before the
sentence". All but `add_history` of the first eight functions stand in `tagging_train`
too: a kernel file holds all that it calls.
"""

from __future__ import annotations

import math

import numpy as np

from argmetric._jit import kernel

_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ONE = np.uint64(1)
_S27 = np.uint64(27)
_S30 = np.uint64(30)
_S31 = np.uint64(31)
_FAR = -30.0  # e to this power is nothing beside one
# The tuples of tagging_layout come without names here: with them, numba's disk
# cache would refer to their classes, and break where these change.
# Places in `rows`
_INDPTR = 0
_INDICES = 1
_VALUES = 2
_HALVES = 3
_SENTENCES = 4
# Places in `scheme`
_N_LABELS = 0
_STARTS = 1
_HISTORY = 2
_MASKS = 3
_ALLOWED = 4
_BITS = 7
_STATE_MASK = 8
_SHIFT = 9
_BASE = 10
_VALUE = 11


@kernel
def mix(h):
    """Scatter 64 bits (the finisher of splitmix64)."""
    h = (h ^ (h >> _S30)) * _FIRST
    h = (h ^ (h >> _S27)) * _SECOND
    return h ^ (h >> _S31)


@kernel
def add_row(scores, weights, start, n_labels, value):
    """Add value · weights[start:start + n_labels] to scores."""
    row = weights[start : start + n_labels]
    for k in range(n_labels):
        scores[k] += value * row[k]


@kernel
def history_rows(rows, scheme, position, stream, code, found):
    """Row numbers of the history features of a decision; returns how many."""
    first = scheme[_HISTORY][stream]
    n = 0
    for j in range(scheme[_HISTORY][stream + 1] - first):
        half = rows[_HALVES][position, j]
        if half != 0:
            h = mix(half ^ ((code & scheme[_MASKS][first + j]) * _GOLDEN))
            found[n] = scheme[_BASE] + np.int64(h >> scheme[_SHIFT])
            n += 1
    return n


@kernel
def last_label(scheme, code, n_streams):
    """1 + the last label of the stream whose turn it is, 0 where there is none."""
    here = (_ONE << scheme[_BITS]) - _ONE
    return np.int64((code >> (scheme[_BITS] * np.uint64(n_streams - 1))) & here)


@kernel
def next_code(scheme, code, label):
    return ((code << scheme[_BITS]) | np.uint64(label + 1)) & scheme[_STATE_MASK]


@kernel
def add_history(rows, scheme, weights, position, stream, code, found, scores):
    """Add the scores of the history features of one decision."""
    K = scheme[_N_LABELS][stream]
    n = history_rows(rows, scheme, position, stream, code, found)
    for j in range(n):
        start = scheme[_STARTS][stream] + found[j] * K
        add_row(scores, weights, start, K, scheme[_VALUE])
    return n


@kernel
def best_label(scores, allowed, K):
    """The first of the highest allowed scores."""
    best = -1
    for k in range(K):
        if allowed[k] and (best < 0 or scores[k] > scores[best]):
            best = k
    return best


@kernel
def log_total(scores, allowed, K):
    """The logarithm of Σ exp(score) over the allowed labels."""
    top = np.float64(scores[best_label(scores, allowed, K)])
    total = 0.0
    for k in range(K):
        if allowed[k]:
            gap = np.float64(scores[k]) - top
            if gap > _FAR:
                total += math.exp(gap)
    return top + math.log(total)


@kernel
def static_scores(rows, scheme, weights, scores):
    """Scores of the static features of every decision: scores[position, :n_labels]."""
    n_streams = scheme[_N_LABELS].shape[0]
    weighted = rows[_VALUES].shape[0] > 0
    for s in range(rows[_SENTENCES].shape[0] - 1):
        begin, end = rows[_SENTENCES][s], rows[_SENTENCES][s + 1]
        for position in range(begin, end):
            stream = (position - begin) % n_streams
            K = scheme[_N_LABELS][stream]
            out = scores[position]
            out[:] = 0.0
            for e in range(rows[_INDPTR][position], rows[_INDPTR][position + 1]):
                value = rows[_VALUES][e] if weighted else np.float32(1.0)
                start = scheme[_STARTS][stream] + rows[_INDICES][e] * K
                add_row(out, weights, start, K, value)


@kernel
def greedy(rows, scheme, weights, static, labels):
    """Label every sentence, each decision the best one at its place.

    `static` holds the scores of `static_scores` for all decisions and is used up.
    """
    n_streams = scheme[_N_LABELS].shape[0]
    found = np.empty(rows[_HALVES].shape[1], np.int64)
    for s in range(rows[_SENTENCES].shape[0] - 1):
        begin, end = rows[_SENTENCES][s], rows[_SENTENCES][s + 1]
        code = np.uint64(0)
        for position in range(begin, end):
            stream = (position - begin) % n_streams
            scores = static[position]
            add_history(rows, scheme, weights, position, stream, code, found, scores)
            allowed = scheme[_ALLOWED][stream, last_label(scheme, code, n_streams)]
            label = best_label(scores, allowed, scheme[_N_LABELS][stream])
            labels[position] = label
            code = next_code(scheme, code, label)


@kernel
def same_history(codes, h):
    """The first hypothesis with the same code as hypothesis h."""
    for g in range(h):
        if codes[g] == codes[h]:
            return g
    return h


@kernel
def place(totals, raws, parents, choices, n, width, total, raw, parent, choice):
    """Keep a candidate among the best `width`, sorted; returns how many are kept.

    Sorted by total, then raw score, then order of arrival: where the total rounds two
    labels of one parent to the same number, the raw score still tells them apart, so
    that a beam of width one is the greedy search.
    """
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


@kernel
def beam(rows, scheme, weights, static, width, log_scale, labels, totals):
    """The `width` best label sequences of every sentence that a beam finds.

    labels[r, position] is the r-th best, totals[sentence, r] its score, the sum of log
    probabilities (log_scale) or of raw scores; -inf where there are fewer.
    """
    n_streams = scheme[_N_LABELS].shape[0]
    most = static.shape[1]
    longest = 1
    for s in range(rows[_SENTENCES].shape[0] - 1):
        longest = max(longest, rows[_SENTENCES][s + 1] - rows[_SENTENCES][s])
    back = np.empty((longest, width), np.int64)
    chosen = np.empty((longest, width), np.int64)
    codes = np.empty(width, np.uint64)
    spare = np.empty(width, np.uint64)
    now = np.empty(width, np.float64)
    new = np.empty(width, np.float64)
    raws = np.empty(width, np.float64)
    scores = np.empty((width, most), np.float32)
    norms = np.empty(width, np.float64)
    found = np.empty(rows[_HALVES].shape[1], np.int64)
    for s in range(rows[_SENTENCES].shape[0] - 1):
        begin, end = rows[_SENTENCES][s], rows[_SENTENCES][s + 1]
        n = 1
        codes[0] = 0
        now[0] = 0.0
        for position in range(begin, end):
            stream = (position - begin) % n_streams
            K = scheme[_N_LABELS][stream]
            kept = 0
            for h in range(n):
                twin = same_history(codes, h)
                allowed = scheme[_ALLOWED][
                    stream, last_label(scheme, codes[h], n_streams)
                ]
                if twin < h:
                    scores[h, :K] = scores[twin, :K]
                    norms[h] = norms[twin]
                else:
                    scores[h, :K] = static[position, :K]
                    add_history(
                        rows,
                        scheme,
                        weights,
                        position,
                        stream,
                        codes[h],
                        found,
                        scores[h],
                    )
                    norms[h] = 0.0
                    if log_scale:
                        norms[h] = log_total(scores[h], allowed, K)
                for k in range(K):
                    if allowed[k]:
                        raw = np.float64(scores[h, k])
                        kept = place(
                            new,
                            raws,
                            back[position - begin],
                            chosen[position - begin],
                            kept,
                            width,
                            now[h] + (raw - norms[h]),
                            raw,
                            h,
                            k,
                        )
            n = kept
            for h in range(n):
                parent = back[position - begin, h]
                spare[h] = next_code(scheme, codes[parent], chosen[position - begin, h])
                now[h] = new[h]
            for h in range(n):
                codes[h] = spare[h]
        for r in range(totals.shape[1]):
            totals[s, r] = now[r] if r < n else -np.inf
            h = min(r, n - 1)
            for step in range(end - begin):
                place_ = end - begin - 1 - step
                labels[r, begin + place_] = chosen[place_, h]
                h = back[place_, h]


@kernel
def forced(rows, scheme, weights, static, candidates, known, totals):
    """Log probabilities of given label sequences.

    candidates[r, position] is the r-th candidate of the sentence there; totals[s, r]
    is filled in where known[s, r] is 0. A candidate that has a history in common with
    an earlier one copies its scores.
    """
    n_streams = scheme[_N_LABELS].shape[0]
    width = candidates.shape[0]
    codes = np.empty(width, np.uint64)
    scores = np.empty((width, static.shape[1]), np.float32)
    norms = np.empty(width, np.float64)
    which = np.empty(width, np.int64)
    found = np.empty(rows[_HALVES].shape[1], np.int64)
    for s in range(rows[_SENTENCES].shape[0] - 1):
        begin, end = rows[_SENTENCES][s], rows[_SENTENCES][s + 1]
        n = 0
        for r in range(width):
            if known[s, r] == 0:
                which[n] = r
                totals[s, r] = 0.0
                codes[n] = 0
                n += 1
        if n == 0:
            continue
        for position in range(begin, end):
            stream = (position - begin) % n_streams
            K = scheme[_N_LABELS][stream]
            for h in range(n):
                twin = same_history(codes, h)
                allowed = scheme[_ALLOWED][
                    stream, last_label(scheme, codes[h], n_streams)
                ]
                if twin < h:
                    scores[h, :K] = scores[twin, :K]
                    norms[h] = norms[twin]
                else:
                    scores[h, :K] = static[position, :K]
                    add_history(
                        rows,
                        scheme,
                        weights,
                        position,
                        stream,
                        codes[h],
                        found,
                        scores[h],
                    )
                    norms[h] = log_total(scores[h], allowed, K)
                label = candidates[which[h], position]
                if allowed[label]:
                    gain = np.float64(scores[h, label]) - norms[h]
                    totals[s, which[h]] += gain
                else:
                    totals[s, which[h]] = -np.inf
            for h in range(n):
                codes[h] = next_code(scheme, codes[h], candidates[which[h], position])
