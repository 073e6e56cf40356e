"""Linear chains: forward-backward, Viterbi and the probabilities of spans.

Sentences lie behind each other: `unary` (tokens, labels) with `indptr`; `pairs[w]`
scores a label and its successor, and `pair_of[t]` says which table leads from token
t - 1 to token t. All scores are logarithms.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from argmetric._ground.jit import kernel

# Terms that underflow are below 1e-308: a sum above this has lost nothing of them
SAFE = 1e-280


@kernel
def largest(values):
    top = -np.inf
    for value in values:
        top = max(top, value)
    return top


@kernel
def log_sum(values):
    """Return the logarithm of Σ exp(values), -inf for none."""
    top = largest(values)
    if top == -np.inf:
        return top
    total = 0.0
    for value in values:
        total += math.exp(value - top)
    return top + math.log(total)


@kernel
def step(scores, table, odds, shift, forwards, spare, out):
    """Set out[y] = log Σ_x exp(scores[x] + table[x, y]); the transpose backwards.

    One exponential for each label: `odds` is exp(table - shift). Where that underflows
    the sum is made in logarithms.
    """
    n_labels = scores.shape[0]
    top = largest(scores)
    if top == -np.inf:
        out[:] = -np.inf
        return
    weight = spare[0]
    for x in range(n_labels):
        weight[x] = math.exp(scores[x] - top)
    for y in range(n_labels):
        total = 0.0
        for x in range(n_labels):
            total += weight[x] * (odds[x, y] if forwards else odds[y, x])
        if total > SAFE:
            out[y] = top + shift + math.log(total)
        else:
            terms = spare[1]
            for x in range(n_labels):
                terms[x] = scores[x] + (table[x, y] if forwards else table[y, x])
            out[y] = log_sum(terms)


@kernel
def exponentials(pairs, odds, shift):
    """Set odds = exp(pairs - shift), with shift the largest score of each table."""
    for w in range(pairs.shape[0]):
        top = -np.inf
        for x in range(pairs.shape[1]):
            top = max(top, largest(pairs[w, x]))
        shift[w] = top if top > -np.inf else 0.0
        for x in range(pairs.shape[1]):
            for y in range(pairs.shape[2]):
                odds[w, x, y] = math.exp(pairs[w, x, y] - shift[w])


@kernel
def forward_backward(unary, pair_of, pairs, indptr, log_z, forward, backward):
    """Compute log messages and the log partition of every sentence.

    forward[t, y] sums over the labels up to t, backward[t, y] over those after t.
    """
    n_labels = unary.shape[1]
    odds = np.empty(pairs.shape)
    shift = np.empty(pairs.shape[0])
    exponentials(pairs, odds, shift)
    spare = np.empty((2, n_labels))
    scores = np.empty(n_labels)
    for g in range(indptr.shape[0] - 1):
        start, stop = indptr[g], indptr[g + 1]
        if start == stop:
            log_z[g] = 0.0
            continue
        forward[start] = unary[start]
        for t in range(start + 1, stop):
            w = pair_of[t]
            step(forward[t - 1], pairs[w], odds[w], shift[w], True, spare, forward[t])
            for y in range(n_labels):
                forward[t, y] += unary[t, y]
        log_z[g] = log_sum(forward[stop - 1])
        backward[stop - 1] = 0.0
        for t in range(stop - 1, start, -1):
            w = pair_of[t]
            for y in range(n_labels):
                scores[y] = unary[t, y] + backward[t, y]
            step(scores, pairs[w], odds[w], shift[w], False, spare, backward[t - 1])


@kernel
def label_marginals(indptr, log_z, forward, backward, out):
    """Set out = P(y_t = y), normalised against rounding in long sums."""
    for g in range(indptr.shape[0] - 1):
        for t in range(indptr[g], indptr[g + 1]):
            total = 0.0
            for y in range(out.shape[1]):
                out[t, y] = math.exp(forward[t, y] + backward[t, y] - log_z[g])
                total += out[t, y]
            for y in range(out.shape[1]):
                out[t, y] /= total


@kernel
def pair_marginals(unary, pair_of, pairs, indptr, log_z, forward, backward, out):
    """Set out[t] = P(y_{t-1} = x, y_t = y); rows of first tokens are 0."""
    n_labels = unary.shape[1]
    for g in range(indptr.shape[0] - 1):
        for t in range(indptr[g], indptr[g + 1]):
            for x in range(n_labels):
                for y in range(n_labels):
                    out[t, x, y] = 0.0
                    if t > indptr[g]:
                        out[t, x, y] = math.exp(
                            forward[t - 1, x]
                            + pairs[pair_of[t], x, y]
                            + unary[t, y]
                            + backward[t, y]
                            - log_z[g]
                        )


@kernel
def viterbi(unary, pair_of, pairs, indptr, labels, scores):
    """Find the most probable labels of every sentence and their score."""
    n_labels = unary.shape[1]
    back = np.empty(unary.shape, np.int32)
    best = np.empty(n_labels)
    previous = np.empty(n_labels)
    for g in range(indptr.shape[0] - 1):
        start, stop = indptr[g], indptr[g + 1]
        scores[g] = 0.0
        if start == stop:
            continue
        for y in range(n_labels):  # numba takes seconds to compile a copy of a slice
            best[y] = unary[start, y]
        for t in range(start + 1, stop):
            for y in range(n_labels):
                previous[y] = best[y]
            table = pairs[pair_of[t]]
            for y in range(n_labels):
                top, where = -np.inf, 0
                for x in range(n_labels):
                    value = previous[x] + table[x, y]
                    if value > top:
                        top, where = value, x
                best[y] = top + unary[t, y]
                back[t, y] = where
        top, where = -np.inf, 0
        for y in range(n_labels):
            if best[y] > top:
                top, where = best[y], y
        scores[g] = top
        for t in range(stop - 1, start - 1, -1):
            labels[t] = where
            where = back[t, where]


@kernel
def link_probs(unary, pair_of, pairs, indptr, backward, sources, targets, prob, other):
    """Compute P(y_{t+1} = target | y_t = source) and its complement, for listed links.

    Past the last token it is 0. A label of -1 does not exist. The complement is
    summed itself, not 1 - prob.
    """
    n_labels = unary.shape[1]
    terms = np.empty(n_labels)
    for g in range(indptr.shape[0] - 1):
        start, stop = indptr[g], indptr[g + 1]
        for t in range(start, stop):
            for link in range(sources.shape[0]):
                source, target = sources[link], targets[link]
                prob[t, link], other[t, link] = 0.0, 1.0
                if t == stop - 1 or source < 0 or backward[t, source] == -np.inf:
                    continue
                table = pairs[pair_of[t + 1]]
                for y in range(n_labels):
                    terms[y] = table[source, y] + unary[t + 1, y] + backward[t + 1, y]
                top = largest(terms)
                hit, rest = 0.0, 0.0
                for y in range(n_labels):
                    value = math.exp(terms[y] - top)
                    if y == target:
                        hit = value
                    else:
                        rest += value
                prob[t, link] = hit / (hit + rest)
                other[t, link] = rest / (hit + rest)


@kernel
def reaches(marginals, indptr, roles, prob, least, most, reach):
    """Set the maximum length of spans that are followed in each sentence.

    It is the length of the sentence, or the largest, at least 1, that takes no more
    than `most` steps. Spans are followed as long as they may be listed.
    """
    n_kinds = roles.shape[0]
    longest = 0
    for g in range(indptr.shape[0] - 1):
        longest = max(longest, indptr[g + 1] - indptr[g])
    heads = np.empty(longest * n_kinds, np.int64)
    going = np.empty(longest * n_kinds)
    for g in range(indptr.shape[0] - 1):
        n = indptr[g + 1] - indptr[g]
        reach[g] = n
        if n * (n + 1) // 2 * n_kinds <= most:
            continue
        alive = 0
        for t in range(indptr[g], indptr[g + 1]):
            for kind in range(n_kinds):
                if roles[kind, 0] >= 0:
                    heads[alive] = t * n_kinds + kind
                    going[alive] = marginals[t, roles[kind, 0]]
                    alive += 1
        steps, length = 0, 0
        while alive > 0:
            left = 0
            for i in range(alive):
                t, kind = heads[i] // n_kinds, heads[i] % n_kinds
                if going[i] > 0.0 and going[i] >= least and t + length < indptr[g + 1]:
                    link = 4 * kind + (0 if length == 0 else 1)
                    heads[left] = heads[i]
                    going[left] = going[i] * prob[t + length, link]
                    left += 1
            alive, steps = left, steps + left
            if steps > most and length > 0:
                reach[g] = length
                break
            length += 1


@kernel
def emit(place, room, start, stop, kind, p, spans, probs):
    """Write a span at a place if there is room; return the next place."""
    if place < room:
        spans[place, 0], spans[place, 1], spans[place, 2] = start, stop, kind
        probs[place] = p
    return place + 1


@kernel
def list_spans(
    marginals,
    indptr,
    roles,
    closed,
    prob,
    other,
    least,
    reach,
    spans,
    probs,
    span_indptr,
    unlisted,
):
    """List spans of probability `least` or more, by sentence, start, type and end.

    Those of a sentence are followed over `reach` tokens; unlisted[0] is the largest
    probability that a longer one may have.

    roles[kind] are the labels (begin, inside, end, single) of a type. When not
    `closed` (IOB2) a span ends where no inside follows; otherwise (BIOES) with its end
    label. Links of a type: begin-inside, inside-inside, begin-end, inside-end. Counts
    without writing where `spans` has no room, and returns the number.
    """
    place = 0
    room = spans.shape[0]
    span_indptr[0] = 0
    for g in range(indptr.shape[0] - 1):
        for start in range(indptr[g], indptr[g + 1]):
            for kind in range(roles.shape[0]):
                single = roles[kind, 3]
                if single >= 0 and marginals[start, single] >= least:
                    p = marginals[start, single]
                    if p > 0.0:
                        place = emit(
                            place, room, start, start + 1, kind, p, spans, probs
                        )
                if roles[kind, 0] < 0:
                    continue
                going = marginals[start, roles[kind, 0]]
                stop = start + 1
                while going > 0.0 and going >= least and stop <= indptr[g + 1]:
                    if stop - start > reach[g]:
                        unlisted[0] = max(unlisted[0], going)
                        break
                    link = 4 * kind + (0 if stop == start + 1 else 1)
                    if closed:
                        p, end = going * prob[stop - 1, link + 2], stop + 1
                    else:
                        p, end = going * other[stop - 1, link], stop
                    if p > 0.0 and p >= least:
                        place = emit(place, room, start, end, kind, p, spans, probs)
                    going *= prob[stop - 1, link]
                    stop += 1
        span_indptr[g + 1] = place
    return place


@kernel
def span_probs(marginals, roles, closed, prob, other, spans, out):
    """Compute the probabilities of the listed spans."""
    for s in range(spans.shape[0]):
        start, stop, kind = spans[s, 0], spans[s, 1], spans[s, 2]
        if closed and stop == start + 1:
            out[s] = marginals[start, roles[kind, 3]]
            continue
        p = marginals[start, roles[kind, 0]]
        last = stop - 2 if closed else stop - 1
        for t in range(start, last):
            p *= prob[t, 4 * kind + (0 if t == start else 1)]
        link = 4 * kind + (0 if last == start else 1)
        out[s] = p * (prob[last, link + 2] if closed else other[last, link])


@kernel
def expected_spans(marginals, indptr, roles, closed, prob, out):
    """Compute E[number of spans] of every sentence and type, without listing them."""
    for g in range(indptr.shape[0] - 1):
        for kind in range(roles.shape[0]):
            begin, single = roles[kind, 0], roles[kind, 3]
            total, inside = 0.0, 0.0
            for t in range(indptr[g], indptr[g + 1]):
                p = marginals[t, begin] if begin >= 0 else 0.0
                if not closed:
                    total += p
                    continue
                if single >= 0:
                    total += marginals[t, single]
                link = 4 * kind
                total += p * prob[t, link + 2] + inside * prob[t, link + 3]
                inside = p * prob[t, link] + inside * prob[t, link + 1]
            out[g, kind] = total


@kernel
def state_scores(attributes, values, token_indptr, weight_indptr, labels, weights, out):
    """Add Σ value·weight over the attributes of every token; -1 is unknown."""
    for t in range(token_indptr.shape[0] - 1):
        for i in range(token_indptr[t], token_indptr[t + 1]):
            a = attributes[i]
            if a < 0:
                continue
            for j in range(weight_indptr[a], weight_indptr[a + 1]):
                out[t, labels[j]] += values[i] * weights[j]
