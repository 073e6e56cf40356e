"""Sequences labelled one decision after the other: learning."""

from __future__ import annotations

import numpy as np

from argmetric._jit import borrowing, kernel
from argmetric._jit.hashing import draw
from argmetric._text.kernels.decisions import (
    ALLOWED,
    HALVES,
    INDICES,
    INDPTR,
    N_LABELS,
    ONE,
    OUTSIDE,
    SENTENCES,
    STARTS,
    SURE,
    VALUE,
    VALUES,
    add_row,
    best_label,
    descend,
    history_rows,
    last_label,
    list_active,
    log_total,
    next_code,
    softmax,
)

_S16, _S40 = np.uint64(16), np.uint64(40)
_LOW16 = np.uint64(0xFFFF)
_UNIT = 1.0 / (1 << 24)


@borrowing
def keep_features(rows, position, dropout, state, kept, values):
    """The static features that stay, and their values; returns how many."""
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
    """Gradient of the logistic loss in the scores; returns how many entries count."""
    softmax(scores, allowed, K, log_total(scores, allowed, K), gradient)
    if 1.0 - gradient[target] < SURE:
        return 0
    gradient[target] -= 1.0
    return list_active(gradient, K, active)


@borrowing
def all_features(rows, scheme, dropout, position, stream, code, state, kept, values):
    """Rows and values of the features of a decision; returns how many."""
    n = keep_features(rows, position, dropout, state, kept, values)
    more = history_rows(rows, scheme, position, stream, code, kept[n:])
    for e in range(n, n + more):
        values[e] = scheme[VALUE]
    return n + more


@kernel
def train(rows, scheme, settings, gold, order, learned, when, state):
    """Learn from the sentences in `order`; returns the wrong decisions and the time.

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
