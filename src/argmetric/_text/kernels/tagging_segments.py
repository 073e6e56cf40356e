"""Chunks decided whole: type and length of one after the other; learning and search.

An action is a length of 1 to M tokens and one of K types, the last of which is
"outside", with the length 1 only. Scores of actions lie in a row: that of length m and
type k at (m - 1) * K + k, so that the functions of one decision serve here too.
"""

from __future__ import annotations

import math

import numpy as np

from argmetric._jit import borrowing, kernel
from argmetric._jit.hashing import absorb, draw, mix
from argmetric._text.kernels.decisions import (
    ONE,
    SURE,
    add_row,
    best_label,
    descend,
    history_row,
    list_active,
    log_total,
    longest_of,
    softmax,
)
from argmetric._text.kernels.tagging_features import attribute_at

_S8, _S29, _S40 = np.uint64(8), np.uint64(29), np.uint64(40)
_UNIT = 1.0 / (1 << 24)
_START, _END, _WHOLE, _WITHIN, _LENGTH = 0, 1, 2, 3, 4
# Places in `plan`; tuples come without names here, as in `decisions`
_PARTS, _ENDS, _SALTS, _KINDS, _PLACES, _MASKS, _SHIFT = 0, 1, 2, 3, 4, 5, 6


@borrowing
def span_hash(text, plan, j, begin, end, s, m):
    """Hash of the parts of template j for the span s..s+m; 0 where one is absent.

    A row of parts is: column, anchor, offset.
    """
    parts = plan[_PARTS]
    h = plan[_SALTS][j]
    for p in range(plan[_ENDS][j], plan[_ENDS][j + 1]):
        column, anchor, offset = parts[p, 0], parts[p, 1], parts[p, 2]
        if anchor == _LENGTH:
            h = absorb(h, np.uint64(m))
        elif anchor == _WHOLE:
            for token in range(s, s + m):
                h = absorb(h, np.uint64(text[token, column]))
            h ^= h >> _S29  # tells a span of tokens from the tokens as parts
        else:
            there = s + offset
            if anchor != _START:  # the last token of the span, or one within it
                there += m - 1
            if anchor == _WITHIN and there < s:
                return np.uint64(0)
            code = attribute_at(text, column, there, begin, end)
            if code == 0:
                return code
            h = absorb(h, code)
    return h | ONE


@kernel
def span_features(plan, K, M):
    """Room for what `expand` finds of the spans that start at a token.

    rows[m-1, :counts[m-1]] are features of the span of length m alone,
    inner[:ends[m-1]] those of its tokens, halves[m-1] the static halves of its history
    features, base[m-1] its scores.
    """
    most = plan[_SALTS].shape[0]
    rows, counts = np.empty((M, most), np.int64), np.empty(M, np.int64)
    inner, ends = np.empty(M * most, np.int64), np.empty(M, np.int64)
    halves = np.empty((M, plan[_MASKS].shape[0]), np.uint64)
    return rows, counts, inner, ends, halves, np.empty((M, K), np.float32)


@kernel
def expand(text, plan, weights, begin, end, s, limit, scale, state, features):
    """Features and static scores of every span that starts at s; returns the longest.

    With `limit` > 0 features are dropped at random, the others scaled.
    """
    rows, counts, inner, ends, halves, base = features
    K = base.shape[1]
    longest = min(base.shape[0], end - s)
    running = np.zeros(K, np.float32)
    n_inner = 0
    for m in range(1, longest + 1):
        n = 0
        for j in range(plan[_SALTS].shape[0]):
            kind = plan[_KINDS][j]
            h = span_hash(text, plan, j, begin, end, s, m)
            if kind == 2:
                halves[m - 1, plan[_PLACES][j]] = h
                continue
            if h == 0 or (limit > 0 and (draw(state) >> _S40) < limit):
                continue
            row = np.int64(mix(h) >> plan[_SHIFT]) * K
            if kind == 1:
                inner[n_inner] = row
                n_inner += 1
                add_row(running, weights, row, K, scale)
            else:
                rows[m - 1, n] = row
                n += 1
        counts[m - 1] = n
        ends[m - 1] = n_inner
        out = base[m - 1]
        out[:] = running
        for e in range(n):
            add_row(out, weights, rows[m - 1, e], K, scale)
    return longest


@borrowing
def with_history(plan, weights, code, longest, features, found, scores):
    """Scores of all actions after a history; found[m-1] are its rows."""
    halves, base = features[4], features[5]
    K = base.shape[1]
    for m in range(longest):
        out = scores[m * K : m * K + K]
        for k in range(K):
            out[k] = base[m, k]
        for j in range(halves.shape[1]):
            found[m, j] = -1
            if halves[m, j] != 0:
                mask = plan[_MASKS][j]
                row = history_row(halves[m, j], code, mask, plan[_SHIFT]) * K
                found[m, j] = row
                add_row(out, weights, row, K, np.float32(1.0))


@kernel
def usable_actions(K, M):
    """Which actions there are: "outside", the last type, has the length 1 only."""
    allowed = np.ones(M * K, np.bool_)
    for m in range(1, M):
        allowed[m * K + K - 1] = False
    return allowed


@borrowing
def step_down(learned, features, found, longest, gradient, active, step, scale, when):
    """One step for all features of the spans that start at a token."""
    rows, counts, inner, ends, _, _ = features
    K = active.shape[0]
    for m in range(longest):
        own = gradient[m * K : m * K + K]
        chosen = active[: list_active(own, K, active)]
        for e in range(counts[m]):
            descend(learned, rows[m, e], scale, own, chosen, step, when)
        for j in range(found.shape[1]):
            if found[m, j] >= 0:
                one = np.float32(1.0)
                descend(learned, found[m, j], one, own, chosen, step, when)
    # A feature of a token belongs to every span that reaches it
    for i in range((longest - 1) * K - 1, -1, -1):
        gradient[i] += gradient[i + K]
    for m in range(longest):
        own = gradient[m * K : m * K + K]
        chosen = active[: list_active(own, K, active)]
        for e in range(ends[m - 1] if m > 0 else 0, ends[m]):
            descend(learned, inner[e], scale, own, chosen, step, when)


@kernel
def train(text, sentences, plan, settings, gold, order, learned, when, state, K, M):
    """Learn from sentences; returns wrong decisions, decisions and the time.

    settings: step, dropout, share of roll-in decisions that the reference policy takes,
    and growth of the averaging time with each token. gold[i] = length * K + type of the
    gold chunk that starts at token i, -1 where none starts. The reference policy takes
    that chunk, or "outside" where there is none or it is too long.
    """
    step, dropout, gold_share, averaging = settings
    weights = learned[0]
    features, allowed = span_features(plan, K, M), usable_actions(K, M)
    scores = np.empty(M * K, np.float32)
    found = np.empty((M, plan[_MASKS].shape[0]), np.int64)
    gradient, active = np.empty(M * K), np.empty(K, np.int64)
    limit = np.uint64(dropout / _UNIT)
    scale = np.float32(1.0 / (1.0 - dropout))
    wrong, decisions = 0, 0
    for i in range(order.shape[0]):
        begin, end = sentences[order[i]], sentences[order[i] + 1]
        code = np.uint64(0)
        s = begin
        while s < end:
            longest = expand(
                text, plan, weights, begin, end, s, limit, scale, state, features
            )
            with_history(plan, weights, code, longest, features, found, scores)
            taken = best_label(scores, allowed, longest * K)
            goal = K - 1
            if gold[s] >= 0 and gold[s] // K <= M:
                goal = gold[s] - K
            wrong += taken != goal
            decisions += 1
            norm = log_total(scores, allowed, longest * K)
            if 1.0 - math.exp(np.float64(scores[goal]) - norm) >= SURE:
                softmax(scores, allowed, longest * K, norm, gradient)
                gradient[goal] -= 1.0
                step_down(
                    learned, features, found, longest, gradient, active, step, scale,
                    when,
                )  # fmt: skip
            if gold_share > 0.0:
                chance = np.float64(draw(state) >> _S40) * _UNIT
                if chance < gold_share:
                    taken = goal
            code = (code << _S8) | np.uint64(taken % K + 1)
            s += taken // K + 1
            when += averaging * (taken // K + 1)
    return wrong, decisions, when


@kernel
def search(text, sentences, plan, weights, K, M, width, labels, totals):
    """Chunk every sentence: labels[i] = length * K + type where a chunk starts, or -1.

    Greedy with width 1. Otherwise every token keeps the `width` best ways to reach it,
    by the sum of log probabilities; totals[sentence] is that of the best.
    """
    features, allowed = span_features(plan, K, M), usable_actions(K, M)
    scores = np.empty(M * K, np.float32)
    found = np.empty((M, plan[_MASKS].shape[0]), np.int64)
    room = longest_of(sentences) + 1, width
    reach = np.empty(room, np.float64)
    codes = np.empty(room, np.uint64)
    backs, steps = np.empty(room, np.int64), np.empty(room, np.int64)
    filled = np.empty(room[0], np.int64)
    state, none = np.zeros(1, np.uint64), np.uint64(0)
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
            one = np.float32(1.0)
            longest = expand(
                text, plan, weights, begin, end, s, none, one, state, features
            )
            for h in range(filled[here]):
                code = codes[here, h]
                with_history(plan, weights, code, longest, features, found, scores)
                norm = log_total(scores, allowed, longest * K)
                best = best_label(scores, allowed, longest * K)
                for action in range(longest * K):
                    if not allowed[action] or (width == 1 and action != best):
                        continue
                    total = reach[here, h] + (np.float64(scores[action]) - norm)
                    there = here + action // K + 1
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
                    codes[there, r] = (code << _S8) | np.uint64(action % K + 1)
                    backs[there, r] = h
                    steps[there, r] = K + action
        totals[i] = reach[end - begin, 0]
        place, h = end - begin, 0
        while place > 0:
            taken = steps[place, h]
            h = backs[place, h]
            place -= taken // K
            labels[begin + place] = taken
