"""Chunks decided whole: type and length at once.

At a token s, an action is a type with a length m of at most M, or "outside" with the
length 1, the last column of the scores. The score of (m, type) adds up rows of weights:
those of the features of the span s..s+m, those of the tokens and pairs within it, which
grow with m, and history features of the last types, hashed here.
"""

from __future__ import annotations

import math

import numpy as np

from argmetric._jit import kernel

_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ONE = np.uint64(1)
_S8 = np.uint64(8)
_S27 = np.uint64(27)
_S29 = np.uint64(29)
_S30 = np.uint64(30)
_S31 = np.uint64(31)
_S40 = np.uint64(40)
_EDGE = np.uint64(1 << 40)
_UNIT = 1.0 / (1 << 24)
_SURE = 0.01
_SMALL = 0.002
_FAR = -30.0
_START, _END, _WHOLE, _WITHIN, _LENGTH = 0, 1, 2, 3, 4
# The tuples of tagging_layout come without names here: with them, numba's disk
# cache would refer to their classes, and break where these change.
# Places in `plan`
_PARTS = 0
_ENDS = 1
_SALTS = 2
_KINDS = 3
_PLACES = 4
_MASKS = 5
_SHIFT = 6


@kernel
def mix(h):
    """Scatter 64 bits (the finisher of splitmix64)."""
    h = (h ^ (h >> _S30)) * _FIRST
    h = (h ^ (h >> _S27)) * _SECOND
    return h ^ (h >> _S31)


@kernel
def draw(state):
    """Next 64 random bits."""
    state[0] += _GOLDEN
    return mix(state[0])


@kernel
def attribute_at(attributes, column, there, begin, end):
    """Code of an attribute; places outside the sentence count by their distance."""
    if there < begin:
        return _EDGE + np.uint64(begin - there)
    if there >= end:
        return _EDGE + _EDGE + np.uint64(there - end)
    return np.uint64(attributes[there, column])


@kernel
def span_hash(attributes, parts, first, last, salt, begin, end, s, m):
    """Hash of the parts of a template for the span s..s+m; 0 where one is absent.

    A row of parts is: column, anchor, offset.
    """
    h = salt
    for p in range(first, last):
        column, anchor, offset = parts[p, 0], parts[p, 1], parts[p, 2]
        if anchor == _LENGTH:
            h = (h ^ np.uint64(m)) * _GOLDEN
        elif anchor == _WHOLE:
            for token in range(s, s + m):
                h = (h ^ np.uint64(attributes[token, column])) * _GOLDEN
                h ^= h >> _S29
        else:
            there = s + offset
            if anchor != _START:  # the last token of the span, or one within it
                there += m - 1
            if anchor == _WITHIN and there < s:
                return np.uint64(0)
            code = attribute_at(attributes, column, there, begin, end)
            if code == 0:
                return code
            h = (h ^ code) * _GOLDEN
        h ^= h >> _S29
    return h | _ONE


@kernel
def expand(
    text,
    plan,
    weights,
    K,
    begin,
    end,
    s,
    limit,
    scale,
    state,
    rows,
    counts,
    inner,
    ends,
    halves,
    base,
):
    """Features and static scores of every span that starts at s; returns the longest.

    rows[m-1, :counts[m-1]] are features of the span alone, inner[:ends[m-1]] those of
    its tokens, halves[m-1] the static halves of its history features, base[m-1] its
    scores. With `limit` > 0 features are dropped at random, the others scaled.
    """
    longest = min(base.shape[0], end - s)
    running = np.zeros(K, np.float32)
    n_inner = 0
    for m in range(1, longest + 1):
        n = 0
        for j in range(plan[_SALTS].shape[0]):
            kind = plan[_KINDS][j]
            h = span_hash(
                text,
                plan[_PARTS],
                plan[_ENDS][j],
                plan[_ENDS][j + 1],
                plan[_SALTS][j],
                begin,
                end,
                s,
                m,
            )
            if kind == 2:
                halves[m - 1, plan[_PLACES][j]] = h
                continue
            if h == 0 or (limit > 0 and (draw(state) >> _S40) < limit):
                continue
            row = np.int64(mix(h) >> plan[_SHIFT]) * K
            if kind == 1:
                inner[n_inner] = row
                n_inner += 1
                for k in range(K):
                    running[k] += scale * weights[row + k]
            else:
                rows[m - 1, n] = row
                n += 1
        counts[m - 1] = n
        ends[m - 1] = n_inner
        out = base[m - 1]
        for k in range(K):
            out[k] = running[k]
        for e in range(n):
            there = weights[rows[m - 1, e] : rows[m - 1, e] + K]
            for k in range(K):
                out[k] += scale * there[k]
    return longest


@kernel
def with_history(plan, weights, K, code, longest, halves, base, found, scores):
    """Scores of all actions after a history; found[m-1] are its rows."""
    n = halves.shape[1]
    for m in range(longest):
        for k in range(K):
            scores[m, k] = base[m, k]
        for j in range(n):
            found[m, j] = -1
            if halves[m, j] != 0:
                h = mix(halves[m, j] ^ ((code & plan[_MASKS][j]) * _GOLDEN))
                row = np.int64(h >> plan[_SHIFT]) * K
                found[m, j] = row
                there = weights[row : row + K]
                for k in range(K):
                    scores[m, k] += there[k]


@kernel
def usable(m, k, K):
    """Outside, the last column, has the length 1 only."""
    return k < K - 1 or m == 0


@kernel
def best_action(scores, longest, K):
    """Length and type of the highest score, the shortest first."""
    length, label = 1, 0
    for m in range(longest):
        for k in range(K):
            if usable(m, k, K) and scores[m, k] > scores[length - 1, label]:
                length, label = m + 1, k
    return length, label


@kernel
def log_total(scores, longest, K):
    """The logarithm of Σ exp(score) over all actions."""
    length, label = best_action(scores, longest, K)
    top = np.float64(scores[length - 1, label])
    total = 0.0
    for m in range(longest):
        for k in range(K):
            if usable(m, k, K):
                gap = np.float64(scores[m, k]) - top
                if gap > _FAR:
                    total += math.exp(gap)
    return top + math.log(total)


@kernel
def descend(weights, squares, sums, row, value, gradient, step, when):
    """One step of AdaGrad for a row, where the gradient counts."""
    for k in range(gradient.shape[0]):
        slope = gradient[k] * value
        if abs(gradient[k]) >= _SMALL:
            squares[row + k] += slope * slope
            change = -step * slope / math.sqrt(squares[row + k])
            weights[row + k] += np.float32(change)
            if when > 0.0:
                sums[row + k] += np.float32(change * when)


@kernel
def train(
    text,
    sentences,
    plan,
    gold,
    order,
    step,
    dropout,
    gold_share,
    averaging,
    weights,
    squares,
    sums,
    when,
    state,
    K,
    M,
):
    """Learn from sentences; returns wrong decisions, decisions and the time.

    gold[i] = length * K + type of the gold chunk that starts at token i, -1 where none
    starts. The reference policy takes that chunk, or "outside" where there is none or
    it is too long.
    """
    most = plan[_SALTS].shape[0]
    n_history = plan[_MASKS].shape[0]
    rows = np.empty((M, most), np.int64)
    counts = np.empty(M, np.int64)
    inner = np.empty(M * most, np.int64)
    ends = np.empty(M, np.int64)
    halves = np.empty((M, n_history), np.uint64)
    base = np.empty((M, K), np.float32)
    scores = np.empty((M, K), np.float32)
    found = np.empty((M, n_history), np.int64)
    gradient = np.empty((M, K), np.float64)
    limit = np.uint64(dropout / _UNIT)
    scale = np.float32(1.0 / (1.0 - dropout))
    wrong, decisions = 0, 0
    for i in range(order.shape[0]):
        begin, end = sentences[order[i]], sentences[order[i] + 1]
        code = np.uint64(0)
        s = begin
        while s < end:
            longest = expand(
                text,
                plan,
                weights,
                K,
                begin,
                end,
                s,
                limit,
                scale,
                state,
                rows,
                counts,
                inner,
                ends,
                halves,
                base,
            )
            with_history(plan, weights, K, code, longest, halves, base, found, scores)
            length, label = best_action(scores, longest, K)
            goal_length, goal = 1, K - 1
            if gold[s] >= 0 and gold[s] // K <= M:
                goal_length, goal = gold[s] // K, gold[s] % K
            wrong += length != goal_length or label != goal
            decisions += 1
            norm = log_total(scores, longest, K)
            sure = math.exp(np.float64(scores[goal_length - 1, goal]) - norm)
            if 1.0 - sure >= _SURE:
                for m in range(longest):
                    for k in range(K):
                        gradient[m, k] = 0.0
                        if usable(m, k, K):
                            gap = np.float64(scores[m, k]) - norm
                            gradient[m, k] = math.exp(gap) if gap > _FAR else 0.0
                gradient[goal_length - 1, goal] -= 1.0
                for m in range(longest):
                    for e in range(counts[m]):
                        descend(
                            weights,
                            squares,
                            sums,
                            rows[m, e],
                            scale,
                            gradient[m],
                            step,
                            when,
                        )
                    for j in range(n_history):
                        if found[m, j] >= 0:
                            descend(
                                weights,
                                squares,
                                sums,
                                found[m, j],
                                np.float32(1.0),
                                gradient[m],
                                step,
                                when,
                            )
                # A feature of a token belongs to every span that reaches it
                for back in range(longest - 1):
                    m = longest - 2 - back
                    for k in range(K):
                        gradient[m, k] += gradient[m + 1, k]
                for m in range(longest):
                    for e in range(ends[m - 1] if m > 0 else 0, ends[m]):
                        descend(
                            weights,
                            squares,
                            sums,
                            inner[e],
                            scale,
                            gradient[m],
                            step,
                            when,
                        )
            if gold_share > 0.0:
                chance = np.float64(draw(state) >> _S40) * _UNIT
                if chance < gold_share:
                    length, label = goal_length, goal
            code = (code << _S8) | np.uint64(label + 1)
            s += length
            when += averaging * length
    return wrong, decisions, when


@kernel
def search(text, sentences, plan, weights, K, M, width, state, labels, totals):
    """Chunk every sentence: labels[i] = length * K + type where a chunk starts, or -1.

    Greedy with width 1. Otherwise every token keeps the `width` best ways to reach it,
    by the sum of log probabilities; totals[sentence] is that of the best.
    """
    most = plan[_SALTS].shape[0]
    n_history = plan[_MASKS].shape[0]
    longest_sentence = 1
    for i in range(sentences.shape[0] - 1):
        longest_sentence = max(longest_sentence, sentences[i + 1] - sentences[i])
    rows = np.empty((M, most), np.int64)
    counts = np.empty(M, np.int64)
    inner = np.empty(M * most, np.int64)
    ends = np.empty(M, np.int64)
    halves = np.empty((M, n_history), np.uint64)
    base = np.empty((M, K), np.float32)
    scores = np.empty((M, K), np.float32)
    found = np.empty((M, n_history), np.int64)
    reach = np.empty((longest_sentence + 1, width), np.float64)
    codes = np.empty((longest_sentence + 1, width), np.uint64)
    backs = np.empty((longest_sentence + 1, width), np.int64)
    steps = np.empty((longest_sentence + 1, width), np.int64)
    filled = np.empty(longest_sentence + 1, np.int64)
    one = np.float32(1.0)
    none = np.uint64(0)
    for i in range(sentences.shape[0] - 1):
        begin, end = sentences[i], sentences[i + 1]
        for s in range(begin, end):
            labels[s] = -1
        filled[: end - begin + 1] = 0
        filled[0] = 1
        reach[0, 0] = 0.0
        codes[0, 0] = 0
        for s in range(begin, end):
            here = s - begin
            if filled[here] == 0:
                continue
            longest = expand(
                text,
                plan,
                weights,
                K,
                begin,
                end,
                s,
                none,
                one,
                state,
                rows,
                counts,
                inner,
                ends,
                halves,
                base,
            )
            for h in range(filled[here]):
                with_history(
                    plan,
                    weights,
                    K,
                    codes[here, h],
                    longest,
                    halves,
                    base,
                    found,
                    scores,
                )
                norm = log_total(scores, longest, K)
                length, label = best_action(scores, longest, K)
                for m in range(longest):
                    for k in range(K):
                        if not usable(m, k, K):
                            continue
                        if width == 1 and (m + 1 != length or k != label):
                            continue
                        total = reach[here, h] + (np.float64(scores[m, k]) - norm)
                        there = here + m + 1
                        r = filled[there]
                        if r == width:
                            if total <= reach[there, r - 1]:
                                continue
                            r -= 1
                        else:
                            filled[there] += 1
                        while r > 0 and total > reach[there, r - 1]:
                            reach[there, r] = reach[there, r - 1]
                            codes[there, r] = codes[there, r - 1]
                            backs[there, r] = backs[there, r - 1]
                            steps[there, r] = steps[there, r - 1]
                            r -= 1
                        reach[there, r] = total
                        codes[there, r] = (codes[here, h] << _S8) | np.uint64(k + 1)
                        backs[there, r] = h
                        steps[there, r] = (m + 1) * K + k
        totals[i] = reach[end - begin, 0]
        place, h = end - begin, 0
        while place > 0:
            taken = steps[place, h]
            h = backs[place, h]
            place -= taken // K
            labels[begin + place] = taken
