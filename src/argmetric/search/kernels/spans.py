"""SEARN chunk at a time, compiled: walks, costs, roll-outs, beams, and learning.

A decision at a token takes a column and a size: column 0 is one word outside, column
k + 1 a chunk of type k. Its number is 0 for outside, else 1 + k n + size - 1, n sizes
being in reach. `text` says where sequences start, and the row of the chunk of one word
of each token; rows of longer chunks follow. The score of a chunk is the sum of one row
of weights (a column for each) for each of its features, and of the row of the column
before, which is 0 unless a chunk ended just here.

`gold` has the column and the stop of right chunks by their first token, the number of
right chunks in reach from each token on, and that of all in the sequence of a token.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from argmetric._ground.jit import kernel
from argmetric.search.kernels.cost_sensitive import fill_slopes
from argmetric.search.kernels.sequences import (
    NEGLIGIBLE,
    change_row,
    drawn_policy,
    scatter,
)


@kernel
def action_of(number, n_sizes):
    """Column and size of an action."""
    if number == 0:
        return 0, 1
    return (number - 1) // n_sizes + 1, (number - 1) % n_sizes + 1


@kernel
def loss_of(whole, hits, opened, n_gold):
    """1 - F1 of counts of chunks; or whether it is above 0, if `whole`."""
    both = opened + n_gold
    loss = 1.0 - 2.0 * hits / both if both else 0.0
    if whole:
        return 1.0 if loss > 0.0 else 0.0
    return loss


@kernel
def is_right(gold, now, column, size):
    """Whether an action is a right chunk."""
    kinds, stops, _, _ = gold
    return column > 0 and kinds[now] == column and stops[now] == now + size


@kernel
def fill_span_costs(whole, gold, now, stop, n_sizes, found, costs):
    """Fill `costs` with the least loss in reach after each action; the cheapest one.

    `found`: right chunks and chunks so far.
    """
    _, _, future, n_gold = gold
    best = 0
    for number in range(costs.shape[0]):
        column, size = action_of(number, n_sizes)
        later = future[now + size] if now + size < stop else 0
        hits = found[0] + is_right(gold, now, column, size) + later
        opened = found[1] + (column > 0) + later
        costs[number] = loss_of(whole, hits, opened, n_gold[now])
        if costs[number] < costs[best]:
            best = number
    return best


@kernel
def fill_static(features, row, n_sizes, weights, out):
    """Scores of the chunks of a token by their own features."""
    indptr, indices, values = features
    for size in range(n_sizes):
        scores = out[size]
        scores[:] = 0.0
        for f in range(indptr[row + size], indptr[row + size + 1]):
            where, value = indices[f], values[f]
            if where >= 0:
                for column in range(scores.shape[0]):
                    scores[column] += value * weights[where, column]


@kernel
def fill_span_scores(static, before, n_sizes, scores):
    """Scores of all actions, `before` being the row of the column before; the best."""
    best = 0
    for number in range(scores.shape[0]):
        column, size = action_of(number, n_sizes)
        scores[number] = static[size - 1, column] + before[column]
        if scores[number] > scores[best]:
            best = number
    return best


@kernel
def fill_cached(text, policies, first, now, who, cache, fresh):
    """Scores of the chunks of a token under a policy, worked out once a sequence."""
    features, weights, _ = policies
    spans = text[1]
    if not fresh[who, now - first]:
        fresh[who, now - first] = True
        n_sizes = spans[now + 1] - spans[now]
        out = cache[who, now - first]
        fill_static(features, spans[now], n_sizes, weights[who], out)
    return cache[who, now - first]


@kernel
def make_cache(text, policies, n_lengths):
    """Room for the scores of the longest sequence under all policies."""
    starts = text[0]
    longest = 1
    for i in range(starts.shape[0] - 1):
        longest = max(longest, starts[i + 1] - starts[i])
    n, _, n_columns = policies[1].shape
    cache = np.empty((n, longest, n_lengths, n_columns))
    return cache, np.zeros((n, longest), np.bool_)


@kernel
def walk_spans(whole, text, gold, policies, draws, n_lengths, known, out):
    """Chunks of a policy from the left; what it met, costs if `known`, and losses.

    `draws`: whether the first policy is the initial one, cumulated weights, keys, and
    the number of folds with the fold of each sequence. `out` is by token: action,
    column before, depth (-1: no decision), chunks so far; costs from `places` on; the
    losses are by sequence.
    """
    starts, spans = text
    has_initial, edges, keys, n_folds, folds = draws
    chosen, befores, depths, founds, places, costs, losses = out
    n_columns = policies[1].shape[2]
    cache, fresh = make_cache(text, policies, n_lengths)
    scores = np.empty(1 + (n_columns - 1) * n_lengths)
    found = np.zeros(2, np.int64)
    for i in range(starts.shape[0] - 1):
        now, stop = starts[i], starts[i + 1]
        fresh[:] = False
        found[:] = 0
        before, depth = 0, 0
        while now < stop:
            n_sizes = spans[now + 1] - spans[now]
            n = 1 + (n_columns - 1) * n_sizes
            befores[now], depths[now] = before, depth
            founds[now] = found
            number = 0
            if known:
                own = costs[places[now] : places[now] + n]
                number = fill_span_costs(whole, gold, now, stop, n_sizes, found, own)
            who = drawn_policy(edges, keys[i], depth) - has_initial
            if who >= 0:
                who = who * n_folds + folds[i]
                static = fill_cached(text, policies, starts[i], now, who, cache, fresh)
                row = policies[2][who, before]
                number = fill_span_scores(static, row, n_sizes, scores[:n])
            chosen[now] = number
            column, size = action_of(number, n_sizes)
            if known:
                found[0] += is_right(gold, now, column, size)
                found[1] += column > 0
            before = column
            now += size
            depth += 1
        if known and stop > starts[i]:
            losses[i] = loss_of(whole, found[0], found[1], gold[3][stop - 1])


@kernel
def roll_out_spans(whole, text, gold, policies, draws, n_lengths, how, path, costs):
    """Replace costs by mean losses of paths under the mixture, after each action.

    `how`: seed, number of paths, whether draws are tied, and whether a path draws its
    policy once. `path`: tokens and numbers of decisions, the sequences of tokens, and
    what the walk met there.
    """
    starts, spans = text
    has_initial, edges, _, n_folds, folds = draws
    seed, n_paths, tied, once = how
    tokens, numbers, owners, befores, depths, founds, places = path
    n_columns = policies[1].shape[2]
    cache, fresh = make_cache(text, policies, n_lengths)
    scores = np.empty(1 + (n_columns - 1) * n_lengths)
    found = np.zeros(2, np.int64)
    base = scatter(np.uint64(seed))
    last = -1
    for decision in range(tokens.shape[0]):
        here, number = tokens[decision], numbers[decision]
        i = owners[here]
        first, stop = starts[i], starts[i + 1]
        if i != last:
            fresh[:] = False
            last = i
        here_sizes = spans[here + 1] - spans[here]
        for action in range(1 + (n_columns - 1) * here_sizes):
            total = 0.0
            for p in range(n_paths):
                parts = (number, action + 1, p)
                if tied:
                    parts = (i, 0, 0)
                key = base
                for part in parts:
                    key = scatter(key ^ scatter(np.uint64(part)))
                found[:] = founds[here]
                now, depth, chosen = here, depths[here], action
                n_sizes = here_sizes
                before = befores[here]
                while True:
                    column, size = action_of(chosen, n_sizes)
                    found[0] += is_right(gold, now, column, size)
                    found[1] += column > 0
                    before = column
                    now += size
                    depth += 1
                    if now >= stop:
                        break
                    n_sizes = spans[now + 1] - spans[now]
                    own = scores[: 1 + (n_columns - 1) * n_sizes]
                    who = drawn_policy(edges, key, 0 if once else depth) - has_initial
                    if who < 0:
                        chosen = fill_span_costs(
                            whole, gold, now, stop, n_sizes, found, own
                        )
                    else:
                        who = who * n_folds + folds[i]
                        static = fill_cached(
                            text, policies, first, now, who, cache, fresh
                        )
                        row = policies[2][who, before]
                        chosen = fill_span_scores(static, row, n_sizes, own)
                total += loss_of(whole, found[0], found[1], gold[3][stop - 1])
            costs[places[here] + action] = total / n_paths


@kernel
def set_member(member, now, before, parent, begin):
    """A path: its next token, column before, parent, and the start of its last step."""
    member[0] = now
    member[1] = before
    member[2] = parent
    member[3] = begin


@kernel
def enter(total, now, before, parent, begin, totals, members, n):
    """Enter a member into a beam in order; equal ones stay behind. The new size."""
    place = n
    while place > 0 and totals[place - 1] < total:
        place -= 1
    if place == totals.shape[0]:
        return n
    n = min(n + 1, totals.shape[0])
    for j in range(n - 1, place, -1):
        totals[j] = totals[j - 1]
        members[j] = members[j - 1]
    totals[place] = total
    set_member(members[place], now, before, parent, begin)
    return n


@kernel
def search_span_beams(text, policies, draws, n_lengths, width, logs, out):
    """Columns of the best path by the first token of each chunk, and its stop.

    Members of a beam have taken equally many decisions, or are finished.
    """
    starts, spans = text
    _, edges, keys, _, _ = draws
    columns, stops = out
    n_columns = policies[1].shape[2]
    cache, fresh = make_cache(text, policies, n_lengths)
    scores = np.empty(1 + (n_columns - 1) * n_lengths)
    totals, new_totals = np.empty((2, width))
    members = np.zeros((cache.shape[1] + 2, width, 4), np.int64)
    for i in range(starts.shape[0] - 1):
        stop = starts[i + 1]
        fresh[:] = False
        totals[0] = 0.0
        set_member(members[0, 0], starts[i], 0, 0, starts[i])
        n, depth = 1, 0
        going = stop > starts[i]
        while going:
            going = False
            n_new = 0
            grown = members[depth + 1]
            for j in range(n):
                if members[depth, j, 0] == stop:
                    n_new = enter(totals[j], stop, 0, j, stop, new_totals, grown, n_new)
            for j in range(n):
                now, before = members[depth, j, 0], members[depth, j, 1]
                if now == stop:
                    continue
                who = drawn_policy(edges, keys[i], depth)
                static = fill_cached(text, policies, starts[i], now, who, cache, fresh)
                n_sizes = spans[now + 1] - spans[now]
                own = scores[: 1 + (n_columns - 1) * n_sizes]
                row = policies[2][who, before]
                best = fill_span_scores(static, row, n_sizes, own)
                norm = 0.0
                if logs:
                    for number in range(own.shape[0]):
                        norm += math.exp(own[number] - own[best])
                    norm = own[best] + math.log(norm)
                for number in range(own.shape[0]):
                    column, size = action_of(number, n_sizes)
                    total = totals[j] + own[number] - norm
                    n_new = enter(
                        total, now + size, column, j, now, new_totals, grown, n_new
                    )
            n = n_new
            depth += 1
            totals[:n] = new_totals[:n]
            for j in range(n):
                going = going or members[depth, j, 0] < stop
        j = 0
        for back in range(depth, 0, -1):
            begin = members[back, j, 3]
            if begin < stop:
                columns[begin] = members[back, j, 1]
                stops[begin] = members[back, j, 0]
            j = members[back, j, 2]


@kernel
def score_spans(text, policies, tokens, befores, indptr, n_lengths, out):
    """Scores of all actions of decisions, under the first policy."""
    features, weights, rows = policies
    spans = text[1]
    static = np.empty((n_lengths, weights.shape[2]))
    for decision in range(tokens.shape[0]):
        now = tokens[decision]
        n_sizes = spans[now + 1] - spans[now]
        fill_static(features, spans[now], n_sizes, weights[0], static)
        own = out[indptr[decision] : indptr[decision + 1]]
        fill_span_scores(static, rows[0, befores[decision]], n_sizes, own)


@kernel
def most_rows(spans, indptr):
    """Largest number of features of all chunks of a token."""
    most = 0
    for now in range(spans.shape[0] - 1):
        most = max(most, indptr[spans[now + 1]] - indptr[spans[now]])
    return most


@kernel
def add_slopes(row, value, slopes, marks, touched, gradients, n):
    """Add to the gradients of the row of a feature; the number of rows touched."""
    if marks[row] < 0:
        marks[row] = n
        touched[n] = row
        gradients[n] = 0.0
        n += 1
    gradients[marks[row]] += value * slopes
    return n


@kernel
def learn_spans(features, text, decisions, regrets, order, n_lengths, options, state):
    """One pass over the decisions; `state` as in `cost_sensitive.learn`.

    A weight that chunks of several sizes share is changed once, by their total.
    """
    indptr, indices, values = features
    spans = text[1]
    tokens, befores, action_ptr, last_rows = decisions
    kind, target, step, scale = options
    weights, squares, lags, clock = state
    tables = weights, squares, lags
    n_columns = weights.shape[1]
    static = np.empty((n_lengths, n_columns))
    all_scores, all_slopes = np.empty((2, 1 + (n_columns - 1) * n_lengths))
    own = np.empty(n_columns)
    columns = np.arange(n_columns)
    marks = np.full(weights.shape[0], -1, np.int64)
    most = most_rows(spans, indptr) + 1
    touched = np.empty(most, np.int64)
    gradients = np.empty((most, n_columns))
    for decision in order:
        now, before = tokens[decision], last_rows[befores[decision]]
        n_sizes = spans[now + 1] - spans[now]
        own_regrets = regrets[action_ptr[decision] : action_ptr[decision + 1]]
        n = own_regrets.shape[0]
        scores, slopes = all_scores[:n], all_slopes[:n]
        fill_static(features, spans[now], n_sizes, weights, static)
        fill_span_scores(static, weights[before], n_sizes, scores)
        if fill_slopes(kind, target, own_regrets, scale, scores, slopes):
            n_touched = 0
            for size in range(n_sizes):
                active = False
                for column in range(n_columns):
                    own[column] = 0.0
                    if column > 0 or size == 0:
                        number = 1 + (column - 1) * n_sizes + size if column else 0
                        if abs(slopes[number]) >= NEGLIGIBLE:
                            own[column] = slopes[number]
                            active = True
                if not active:
                    continue
                row = spans[now] + size
                for f in range(indptr[row], indptr[row + 1]):
                    if indices[f] >= 0:
                        n_touched = add_slopes(
                            indices[f], values[f], own, marks, touched, gradients,
                            n_touched,
                        )  # fmt: skip
                n_touched = add_slopes(
                    before, 1.0, own, marks, touched, gradients, n_touched
                )
            for slot in range(n_touched):
                row = touched[slot]
                marks[row] = -1
                change_row(
                    step, 1.0, gradients[slot], columns, kind, clock[0], row, tables
                )
        clock[0] += 1.0
