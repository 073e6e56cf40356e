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
    KINDS,
    N_LABELS,
    ONE,
    ROLES,
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
# Places in `settings`
_SET_LEARNER, _SET_STEP, _SET_DROPOUT = 0, 1, 2
_SET_GOLD_SHARE, _SET_REGRET, _SET_AVERAGING = 3, 4, 5


@borrowing
def regrets(scheme, stream, gold, where, ends, tracker, allowed, found):
    """Regrets of the labels of a decision, in units of one chunk.

    F* = 2(hits + alive + future) / (gold + predicted + future) for the state after the
    label: hits are closed chunks equal to gold ones, alive is 1 where the open chunk
    can still become one, future counts gold chunks that start later. tracker holds
    hits, predicted, start of the open chunk or -1, gold chunks, gold starts so far.
    ends[i] is the end of the gold chunk that starts at token i, or -1; where is the
    first decision of the sentence and this one.
    """
    begin, position = where
    K = scheme[N_LABELS][stream]
    token = (position - begin) // scheme[N_LABELS].shape[0]
    opened = tracker[2]
    alive = opened >= 0 and ends[opened] > 0
    kinds = scheme[KINDS][stream]
    closes = 1 if alive and ends[opened] == token else 0
    future = tracker[3] - tracker[4] - (1 if ends[token] > 0 else 0)
    best = -1.0
    for k in range(K):
        if not allowed[k]:
            continue
        role = scheme[ROLES][stream, k]
        hits, predicted, living = tracker[0], tracker[1], 0
        if role == 2:
            living = 1 if alive and ends[opened] > token else 0
        else:
            hits += closes
            if role == 1:
                predicted += 1
                same = kinds[k] == kinds[gold[position]]
                living = 1 if ends[token] > 0 and same else 0
        below = tracker[3] + predicted + future
        found[k] = 1.0 if below == 0 else 2.0 * (hits + living + future) / below
        best = max(best, found[k])
    for k in range(K):
        if allowed[k]:
            found[k] = (best - found[k]) * max(tracker[3], 1)
            if found[k] < 1e-9:
                found[k] = 0.0


@borrowing
def follow(scheme, stream, label, gold, where, ends, tracker):
    """Take a label into the counts that regrets need."""
    begin, position = where
    token = (position - begin) // scheme[N_LABELS].shape[0]
    role = scheme[ROLES][stream, label]
    kinds = scheme[KINDS][stream]
    opened = tracker[2]
    if role != 2:
        if opened >= 0 and ends[opened] == token:
            tracker[0] += 1
        tracker[2] = -1
        if role == 1:
            tracker[1] += 1
            same = kinds[label] == kinds[gold[position]]
            # A chunk of another type can never become a gold one: it starts nowhere
            tracker[2] = token if ends[token] > 0 and same else -1
    if ends[token] > 0:
        tracker[4] += 1


@borrowing
def gold_ends(scheme, stream, gold, begin, end, ends):
    """ends[i] = end of the gold chunk that starts at token i, or -1; returns count."""
    count = 0
    start = -1
    n_streams = scheme[N_LABELS].shape[0]
    for position in range(begin + stream, end, n_streams):
        token = (position - begin) // n_streams
        ends[token] = -1
        role = scheme[ROLES][stream, gold[position]]
        if role != 2:
            if start >= 0:
                ends[start] = token
            start = -1
            if role == 1:
                start = token
                count += 1
    if start >= 0:
        ends[start] = (end - begin) // n_streams
    return count


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
def slopes(settings, scores, allowed, K, target, regret, gradient, active):
    """Gradient of the loss in the scores; returns how many of its entries count.

    regret[k] is 0 for the labels that are right; margins grow with the others.
    """
    learner = settings[_SET_LEARNER]
    priced = settings[_SET_REGRET] > 0.0
    right = target
    if priced:
        for k in range(K):
            if allowed[k] and regret[k] == 0.0 and scores[k] > scores[right]:
                right = k
    if learner == 0:
        if priced:
            for k in range(K):
                if allowed[k]:
                    scores[k] += np.float32(settings[_SET_REGRET] * regret[k])
        softmax(scores, allowed, K, log_total(scores, allowed, K), gradient)
        sure = 0.0
        for k in range(K):
            if k == target or (priced and allowed[k] and regret[k] == 0.0):
                sure += gradient[k]
        if 1.0 - sure < SURE:
            return 0
        for k in range(K):
            if k == target or (priced and allowed[k] and regret[k] == 0.0):
                gradient[k] -= gradient[k] / sure if sure > 1e-12 else 1.0
        return list_active(gradient, K, active)
    rival = -1
    most = -np.inf
    for k in range(K):
        if not allowed[k] or k == right:
            continue
        margin = 0.0
        if priced:
            if regret[k] == 0.0:
                continue
            margin = settings[_SET_REGRET] * regret[k]
        elif learner == 2:
            margin = 1.0
        reach = np.float64(scores[k]) + (margin if learner == 2 else 0.0)
        if reach > most:
            most = reach
            rival = k
    if rival < 0:
        return 0
    gap = most - np.float64(scores[right])
    # Where a tie would be decided for the rival, the perceptron learns too
    if gap < 0.0 or (gap == 0.0 and (learner == 2 or right < rival)):
        return 0
    weight = 1.0
    if learner == 1 and priced:
        weight = settings[_SET_REGRET] * regret[rival]
    gradient[rival] = weight
    gradient[right] = -weight
    active[0] = rival
    active[1] = right
    return 2


@borrowing
def reference_action(scheme, stream, label, allowed):
    """The gold label, or, for "in X" after something else, "outside"; -1 for none."""
    if label >= 0 and allowed[label]:
        return label
    for k in range(scheme[N_LABELS][stream]):
        if scheme[ROLES][stream, k] == 0:
            return k
    return -1


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

    Each decision is scored with its roll-in history, the weights take a step, and the
    history goes on with the reference action (with probability gold_share) or with the
    policy's own choice from before the step. learned: weights, squares and sums of
    `descend`. settings: the learner (0 multinomial logistic, 1 perceptron, 2 support
    vectors), step size, share of static features left out, gold_share, units of margin
    for one chunk's worth of regret (0: only the reference action is right), and growth
    of the averaging time with each decision.
    """
    weights = learned[0]
    step, dropout = settings[_SET_STEP], settings[_SET_DROPOUT]
    gold_share, priced = settings[_SET_GOLD_SHARE], settings[_SET_REGRET] > 0.0
    n_streams = scheme[N_LABELS].shape[0]
    most = scheme[ALLOWED].shape[2]
    longest, widest = 1, 1
    for i in range(order.shape[0]):
        begin, end = rows[SENTENCES][order[i]], rows[SENTENCES][order[i] + 1]
        longest = max(longest, end - begin)
        for position in range(begin, end):
            widest = max(widest, rows[INDPTR][position + 1] - rows[INDPTR][position])
    scores = np.empty(most, np.float32)
    gradient = np.empty(most, np.float64)
    regret = np.zeros(most, np.float64)
    active = np.empty(most, np.int64)
    kept = np.empty(widest + rows[HALVES].shape[1], np.int64)
    values = np.empty(kept.shape[0], np.float32)
    ends = np.empty(longest, np.int64)
    tracker = np.zeros(5, np.int64)
    wrong = 0
    for i in range(order.shape[0]):
        begin, end = rows[SENTENCES][order[i]], rows[SENTENCES][order[i] + 1]
        code = np.uint64(0)
        for stream in range(n_streams):
            if priced and scheme[ROLES][stream, 0] >= 0:
                tracker[:] = 0
                tracker[2] = -1
                tracker[3] = gold_ends(scheme, stream, gold, begin, end, ends)
        for position in range(begin, end):
            stream = (position - begin) % n_streams
            K = scheme[N_LABELS][stream]
            start = scheme[STARTS][stream]
            spans = scheme[ROLES][stream, 0] >= 0
            n = all_features(
                rows, scheme, dropout, position, stream, code, state, kept, values
            )
            scores[:K] = 0.0
            for e in range(n):
                add_row(scores, weights, start + kept[e] * K, K, values[e])
            allowed = scheme[ALLOWED][stream, last_label(scheme, code, n_streams)]
            own = best_label(scores, allowed, K)
            target = reference_action(scheme, stream, gold[position], allowed)
            wrong += own != gold[position]
            if priced and spans:
                where = begin, position
                regrets(scheme, stream, gold, where, ends, tracker, allowed, regret)
            elif priced:
                for k in range(K):
                    regret[k] = 0.0 if k == target else 1.0
            n_active = 0
            if target >= 0:
                n_active = slopes(
                    settings, scores, allowed, K, target, regret, gradient, active
                )
            if n_active > 0:
                chosen = active[:n_active]
                for e in range(n):
                    at = start + kept[e] * K
                    descend(learned, at, values[e], gradient, chosen, step, when)
            taken = own
            if (
                gold_share > 0.0
                and np.float64(draw(state) >> _S40) * _UNIT < gold_share
            ):
                taken = target if target >= 0 else own
            if priced and spans:
                follow(scheme, stream, taken, gold, (begin, position), ends, tracker)
            code = next_code(scheme, code, taken)
            when += settings[_SET_AVERAGING]
    return wrong, when
