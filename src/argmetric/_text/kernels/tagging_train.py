"""Sequences labelled one decision after the other: learning.

A decision adds up rows of weights: those of its static features, and those of its
history features, which are hashed here from the code of the last labels. The code
holds label + 1 in `bits` bits each, the last decision lowest; zero is "before the
sentence". The first seven functions stand in `tagging` too: a kernel file holds
all that it calls.
"""

from __future__ import annotations

import math

import numpy as np

from argmetric._jit import kernel

_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ONE = np.uint64(1)
_S16 = np.uint64(16)
_S27 = np.uint64(27)
_S30 = np.uint64(30)
_S31 = np.uint64(31)
_S40 = np.uint64(40)
_LOW16 = np.uint64(0xFFFF)
_UNIT = 1.0 / (1 << 24)
_SURE = 0.01  # a decision this sure of its target teaches nothing
_SMALL = 0.002  # nor does a gradient this small
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
_ROLES = 5
_KINDS = 6
_BITS = 7
_STATE_MASK = 8
_SHIFT = 9
_BASE = 10
_VALUE = 11
# Places in `settings`
_SET_LEARNER = 0
_SET_STEP = 1
_SET_DROPOUT = 2
_SET_GOLD_SHARE = 3
_SET_REGRET = 4
_SET_AVERAGING = 5


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
def draw(state):
    """Next 64 random bits."""
    state[0] += _GOLDEN
    return mix(state[0])


@kernel
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
    K = scheme[_N_LABELS][stream]
    token = (position - begin) // scheme[_N_LABELS].shape[0]
    opened = tracker[2]
    alive = opened >= 0 and ends[opened] > 0
    kinds = scheme[_KINDS][stream]
    closes = 1 if alive and ends[opened] == token else 0
    future = tracker[3] - tracker[4] - (1 if ends[token] > 0 else 0)
    best = -1.0
    for k in range(K):
        if not allowed[k]:
            continue
        role = scheme[_ROLES][stream, k]
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


@kernel
def follow(scheme, stream, label, gold, where, ends, tracker):
    """Take a label into the counts that regrets need."""
    begin, position = where
    token = (position - begin) // scheme[_N_LABELS].shape[0]
    role = scheme[_ROLES][stream, label]
    kinds = scheme[_KINDS][stream]
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


@kernel
def gold_ends(scheme, stream, gold, begin, end, ends):
    """ends[i] = end of the gold chunk that starts at token i, or -1; returns count."""
    count = 0
    start = -1
    n_streams = scheme[_N_LABELS].shape[0]
    for position in range(begin + stream, end, n_streams):
        token = (position - begin) // n_streams
        ends[token] = -1
        role = scheme[_ROLES][stream, gold[position]]
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


@kernel
def softmax(scores, allowed, K, out):
    """Probabilities of the allowed labels."""
    norm = log_total(scores, allowed, K)
    for k in range(K):
        out[k] = 0.0
        if allowed[k]:
            gap = np.float64(scores[k]) - norm
            if gap > _FAR:
                out[k] = math.exp(gap)


@kernel
def keep_features(rows, position, dropout, state, kept, values):
    """The static features that stay, and their values; returns how many."""
    weighted = rows[_VALUES].shape[0] > 0
    limit = np.uint64(dropout * 65536.0)
    scale = np.float32(1.0 / (1.0 - dropout))
    n = 0
    bits = _ONE
    left = 0
    for e in range(rows[_INDPTR][position], rows[_INDPTR][position + 1]):
        if limit > 0:
            if left == 0:
                bits = draw(state)
                left = 4
            take = (bits & _LOW16) >= limit
            bits >>= _S16
            left -= 1
            if not take:
                continue
        kept[n] = rows[_INDICES][e]
        values[n] = scale * (rows[_VALUES][e] if weighted else np.float32(1.0))
        n += 1
    return n


@kernel
def descend(weights, squares, sums, start, value, gradient, active, step, when):
    """One step down the gradient for a row.

    AdaGrad, or plain where `squares` is empty. `sums` gathers the changes times their
    time, for the average.
    """
    adaptive = squares.shape[0] > 0
    for k in active:
        slope = gradient[k] * value
        change = -step * slope
        if adaptive:
            squares[start + k] += slope * slope
            change /= math.sqrt(squares[start + k])
        weights[start + k] += np.float32(change)
        if when > 0.0:
            sums[start + k] += np.float32(change * when)


@kernel
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
        softmax(scores, allowed, K, gradient)
        sure = 0.0
        for k in range(K):
            if k == target or (priced and allowed[k] and regret[k] == 0.0):
                sure += gradient[k]
        if 1.0 - sure < _SURE:
            return 0
        for k in range(K):
            if k == target or (priced and allowed[k] and regret[k] == 0.0):
                gradient[k] -= gradient[k] / sure if sure > 1e-12 else 1.0
        n = 0
        for k in range(K):
            if abs(gradient[k]) >= _SMALL:
                active[n] = k
                n += 1
        return n
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


@kernel
def reference_action(scheme, stream, label, allowed):
    """The gold label, or, for "in X" after something else, "outside"; -1 for none."""
    if label >= 0 and allowed[label]:
        return label
    for k in range(scheme[_N_LABELS][stream]):
        if scheme[_ROLES][stream, k] == 0:
            return k
    return -1


@kernel
def all_features(rows, scheme, dropout, position, stream, code, state, kept, values):
    """Rows and values of the features of a decision; returns how many."""
    n = keep_features(rows, position, dropout, state, kept, values)
    more = history_rows(rows, scheme, position, stream, code, kept[n:])
    for e in range(n, n + more):
        values[e] = scheme[_VALUE]
    return n + more


@kernel
def train(rows, scheme, settings, gold, order, weights, squares, sums, when, state):
    """Learn from the sentences in `order`; returns the wrong decisions and the time.

    Each decision is scored with its roll-in history, the weights take a step, and the
    history goes on with the reference action (with probability gold_share) or with the
    policy's own choice from before the step.
    """
    step, dropout = settings[_SET_STEP], settings[_SET_DROPOUT]
    gold_share, priced = settings[_SET_GOLD_SHARE], settings[_SET_REGRET] > 0.0
    n_streams = scheme[_N_LABELS].shape[0]
    most = scheme[_ALLOWED].shape[2]
    longest, widest = 1, 1
    for i in range(order.shape[0]):
        begin, end = rows[_SENTENCES][order[i]], rows[_SENTENCES][order[i] + 1]
        longest = max(longest, end - begin)
        for position in range(begin, end):
            widest = max(widest, rows[_INDPTR][position + 1] - rows[_INDPTR][position])
    scores = np.empty(most, np.float32)
    gradient = np.empty(most, np.float64)
    regret = np.zeros(most, np.float64)
    active = np.empty(most, np.int64)
    kept = np.empty(widest + rows[_HALVES].shape[1], np.int64)
    values = np.empty(kept.shape[0], np.float32)
    ends = np.empty(longest, np.int64)
    tracker = np.zeros(5, np.int64)
    wrong = 0
    for i in range(order.shape[0]):
        begin, end = rows[_SENTENCES][order[i]], rows[_SENTENCES][order[i] + 1]
        code = np.uint64(0)
        for stream in range(n_streams):
            if priced and scheme[_ROLES][stream, 0] >= 0:
                tracker[:] = 0
                tracker[2] = -1
                tracker[3] = gold_ends(scheme, stream, gold, begin, end, ends)
        for position in range(begin, end):
            stream = (position - begin) % n_streams
            K = scheme[_N_LABELS][stream]
            start = scheme[_STARTS][stream]
            spans = scheme[_ROLES][stream, 0] >= 0
            n = all_features(
                rows, scheme, dropout, position, stream, code, state, kept, values
            )
            scores[:K] = 0.0
            for e in range(n):
                add_row(scores, weights, start + kept[e] * K, K, values[e])
            allowed = scheme[_ALLOWED][stream, last_label(scheme, code, n_streams)]
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
                    place = start + kept[e] * K
                    slope = values[e]
                    descend(
                        weights,
                        squares,
                        sums,
                        place,
                        slope,
                        gradient,
                        chosen,
                        step,
                        when,
                    )
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
