"""Label sequences one decision after the other: search and learning."""

from __future__ import annotations

import numpy as np

from argmetric._ground.jit import borrowing, kernel
from argmetric._ground.jit.hashing import draw
from argmetric.search.kernels.decisions import (
    ALLOWED,
    HALVES,
    INDICES,
    INDPTR,
    LEAST_DOUBT,
    N_LABELS,
    ONE,
    OUTSIDE,
    SENTENCES,
    STARTS,
    VALUE,
    VALUES,
    add_row,
    best_label,
    descend,
    history_rows,
    last_label,
    list_active,
    log_total,
    longest_of,
    next_code,
    place,
    softmax,
)


@borrowing
def add_history(rows, scheme, weights, position, stream, code, found, scores):
    """Add the scores of the history features of one decision."""
    K = scheme[N_LABELS][stream]
    n = history_rows(rows, scheme, position, stream, code, found)
    for j in range(n):
        start = scheme[STARTS][stream] + found[j] * K
        add_row(scores, weights, start, K, scheme[VALUE])
    return n


@borrowing
def static_scores(rows, scheme, weights, scores):
    """Set scores[position, :n_labels] of the static features of every decision."""
    n_streams = scheme[N_LABELS].shape[0]
    weighted = rows[VALUES].shape[0] > 0
    for s in range(rows[SENTENCES].shape[0] - 1):
        begin, end = rows[SENTENCES][s], rows[SENTENCES][s + 1]
        for position in range(begin, end):
            stream = (position - begin) % n_streams
            K = scheme[N_LABELS][stream]
            out = scores[position]
            out[:] = 0.0
            for e in range(rows[INDPTR][position], rows[INDPTR][position + 1]):
                value = rows[VALUES][e] if weighted else np.float32(1.0)
                start = scheme[STARTS][stream] + rows[INDICES][e] * K
                add_row(out, weights, start, K, value)


@kernel
def greedy(rows, scheme, weights, static, labels):
    """Label every sentence greedily, the best label at each decision.

    `static` holds the scores of `static_scores` for all decisions and is used up.
    """
    n_streams = scheme[N_LABELS].shape[0]
    found = np.empty(rows[HALVES].shape[1], np.int64)
    for s in range(rows[SENTENCES].shape[0] - 1):
        begin, end = rows[SENTENCES][s], rows[SENTENCES][s + 1]
        code = np.uint64(0)
        for position in range(begin, end):
            stream = (position - begin) % n_streams
            scores = static[position]
            add_history(rows, scheme, weights, position, stream, code, found, scores)
            allowed = scheme[ALLOWED][stream, last_label(scheme, code, n_streams)]
            label = best_label(scores, allowed, scheme[N_LABELS][stream])
            labels[position] = label
            code = next_code(scheme, code, label)


@borrowing
def score_hypothesis(
    rows, scheme, weights, static, position, stream, allowed, codes, h, log_scale,
    found, scores, norms,
):  # fmt: skip
    """Set the scores and norm of hypothesis h at a decision.

    One that has its history in common with an earlier one copies what that one has.
    """
    K = scheme[N_LABELS][stream]
    own = scores[h]
    for g in range(h):
        if codes[g] == codes[h]:
            for k in range(K):
                own[k] = scores[g, k]
            norms[h] = norms[g]
            return
    for k in range(K):
        own[k] = static[position, k]
    add_history(rows, scheme, weights, position, stream, codes[h], found, own)
    norms[h] = log_total(own, allowed, K) if log_scale else 0.0


@kernel
def beam(rows, scheme, weights, static, width, log_scale, labels, totals):
    """Find the `width` best label sequences of every sentence by a beam.

    labels[r, position] is the r-th best, totals[sentence, r] its score, the sum of log
    probabilities (log_scale) or of raw scores; -inf where there are fewer.
    """
    n_streams = scheme[N_LABELS].shape[0]
    longest = longest_of(rows[SENTENCES])
    back = np.empty((longest, width), np.int64)
    chosen = np.empty((longest, width), np.int64)
    codes, spare = np.empty(width, np.uint64), np.empty(width, np.uint64)
    now, new, raws = np.empty(width), np.empty(width), np.empty(width)
    scores, norms = np.empty((width, static.shape[1]), np.float32), np.empty(width)
    found = np.empty(rows[HALVES].shape[1], np.int64)
    for s in range(rows[SENTENCES].shape[0] - 1):
        begin, end = rows[SENTENCES][s], rows[SENTENCES][s + 1]
        n = 1
        codes[0] = 0
        now[0] = 0.0
        for position in range(begin, end):
            stream = (position - begin) % n_streams
            kept, at = 0, position - begin
            best = new, raws, back[at], chosen[at]
            for h in range(n):
                last = last_label(scheme, codes[h], n_streams)
                allowed = scheme[ALLOWED][stream, last]
                score_hypothesis(
                    rows, scheme, weights, static, position, stream, allowed, codes, h,
                    log_scale, found, scores, norms,
                )  # fmt: skip
                for k in range(scheme[N_LABELS][stream]):
                    if allowed[k]:
                        raw = np.float64(scores[h, k])
                        total = now[h] + (raw - norms[h])
                        kept = place(best, kept, width, total, raw, h, k)
            n = kept
            for h in range(n):
                spare[h] = next_code(scheme, codes[back[at, h]], chosen[at, h])
                now[h] = new[h]
            for h in range(n):
                codes[h] = spare[h]
        for r in range(totals.shape[1]):
            totals[s, r] = now[r] if r < n else -np.inf
            h = min(r, n - 1)
            for step in range(end - begin):
                at = end - begin - 1 - step
                labels[r, begin + at] = chosen[at, h]
                h = back[at, h]


@kernel
def score_forced(rows, scheme, weights, static, candidates, known, totals):
    """Set log probabilities of candidate label sequences.

    candidates[r, position] is the r-th candidate of the sentence there; totals[s, r]
    is filled in where known[s, r] is 0.
    """
    n_streams = scheme[N_LABELS].shape[0]
    width = candidates.shape[0]
    codes, which = np.empty(width, np.uint64), np.empty(width, np.int64)
    scores, norms = np.empty((width, static.shape[1]), np.float32), np.empty(width)
    found = np.empty(rows[HALVES].shape[1], np.int64)
    for s in range(rows[SENTENCES].shape[0] - 1):
        begin, end = rows[SENTENCES][s], rows[SENTENCES][s + 1]
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
            for h in range(n):
                last = last_label(scheme, codes[h], n_streams)
                allowed = scheme[ALLOWED][stream, last]
                score_hypothesis(
                    rows, scheme, weights, static, position, stream, allowed, codes, h,
                    True, found, scores, norms,
                )  # fmt: skip
                label = candidates[which[h], position]
                if allowed[label]:
                    gain = np.float64(scores[h, label]) - norms[h]
                    totals[s, which[h]] += gain
                else:
                    totals[s, which[h]] = -np.inf
            for h in range(n):
                codes[h] = next_code(scheme, codes[h], candidates[which[h], position])


_S16, _S40 = np.uint64(16), np.uint64(40)
_LOW16 = np.uint64(0xFFFF)
_UNIT = 1.0 / (1 << 24)


@borrowing
def keep_features(rows, position, dropout, state, kept, values):
    """Set the static features left by dropout, and their values.

    Return their number.
    """
    weighted = rows[VALUES].shape[0] > 0
    limit = np.uint64(dropout * 65536.0)
    scale = np.float32(1.0 / (1.0 - dropout))
    n = 0
    bits = ONE
    left = 0
    for e in range(rows[INDPTR][position], rows[INDPTR][position + 1]):
        if limit > 0:
            if left == 0:
                bits = draw(state)
                left = 4
            take = (bits & _LOW16) >= limit
            bits >>= _S16
            left -= 1
            if not take:
                continue
        kept[n] = rows[INDICES][e]
        values[n] = scale * (rows[VALUES][e] if weighted else np.float32(1.0))
        n += 1
    return n


@borrowing
def slopes(scores, allowed, K, target, gradient, active):
    """Set the gradient of the logistic loss; return how many entries count."""
    softmax(scores, allowed, K, log_total(scores, allowed, K), gradient)
    if 1.0 - gradient[target] < LEAST_DOUBT:
        return 0
    gradient[target] -= 1.0
    return list_active(gradient, K, active)


@borrowing
def all_features(rows, scheme, dropout, position, stream, code, state, kept, values):
    """Set rows and values of the features of a decision; return their number."""
    n = keep_features(rows, position, dropout, state, kept, values)
    more = history_rows(rows, scheme, position, stream, code, kept[n:])
    for e in range(n, n + more):
        values[e] = scheme[VALUE]
    return n + more


@kernel
def train(rows, scheme, settings, gold, order, learned, when, state):
    """Learn from the sentences in `order`; return the wrong decisions and the time.

    Each decision is scored with its roll-in history, the weights take a step towards
    the gold label, or, for "in X" after something else, "outside". The history goes on
    with that label (with probability gold_share) or with the policy's own choice from
    before the step. learned: weights, squares and sums of `descend`. settings: step
    size, share of static features left out, gold_share, and growth of the averaging
    time with each decision.
    """
    weights = learned[0]
    step, dropout, gold_share, averaging = settings
    n_streams = scheme[N_LABELS].shape[0]
    most = scheme[ALLOWED].shape[2]
    widest = 1
    for i in range(order.shape[0]):
        for position in range(rows[SENTENCES][order[i]], rows[SENTENCES][order[i] + 1]):
            widest = max(widest, rows[INDPTR][position + 1] - rows[INDPTR][position])
    scores = np.empty(most, np.float32)
    gradient = np.empty(most, np.float64)
    active = np.empty(most, np.int64)
    kept = np.empty(widest + rows[HALVES].shape[1], np.int64)
    values = np.empty(kept.shape[0], np.float32)
    wrong = 0
    for i in range(order.shape[0]):
        begin, end = rows[SENTENCES][order[i]], rows[SENTENCES][order[i] + 1]
        code = np.uint64(0)
        for position in range(begin, end):
            stream = (position - begin) % n_streams
            K = scheme[N_LABELS][stream]
            start = scheme[STARTS][stream]
            n = all_features(
                rows, scheme, dropout, position, stream, code, state, kept, values
            )
            scores[:K] = 0.0
            for e in range(n):
                add_row(scores, weights, start + kept[e] * K, K, values[e])
            allowed = scheme[ALLOWED][stream, last_label(scheme, code, n_streams)]
            taken = best_label(scores, allowed, K)
            wrong += taken != gold[position]
            target = gold[position]
            if target < 0 or not allowed[target]:
                target = scheme[OUTSIDE][stream]
            n_active = 0
            if target >= 0:
                n_active = slopes(scores, allowed, K, target, gradient, active)
            if n_active > 0:
                chosen = active[:n_active]
                for e in range(n):
                    at = start + kept[e] * K
                    descend(learned, at, values[e], gradient, chosen, step, when)
            if (
                gold_share > 0.0
                and np.float64(draw(state) >> _S40) * _UNIT < gold_share
                and target >= 0
            ):
                taken = target
            code = next_code(scheme, code, taken)
            when += averaging
    return wrong, when
