"""SEARN on sequences, compiled: walks, costs, roll-outs and beams.

A sequence is a run of tokens. A decision at a token takes an action: its label, or a
chunk from here on (`weight_tables` numbers them). The features of a token are the same
on every path; those of the last columns depend on it. A history is a number in base
C + 1, C columns, whose digits are the last columns plus 1, 0 before the first.

`scheme`: the form, the longest chunk, which actions may follow the last column (one row
where all may), and the rows of weights of each history. `text`: where sequences start,
and the first row of features of each token. `policies`: features, and the weights of
every policy. `draws`: whether the first policy is the initial one, cumulated weights of
policies, keys of sequences, and the number of folds with the fold of each sequence.

The loss is the number of wrong labels, or 1 - F1 of chunks (CHUNKS). Word by word
labels are O, B-X, I-X, B-Y, I-Y, ... and `state` holds: right closed chunks, opened
chunks, start and type of the open chunk (-1: none). Chunk by chunk (SPANS) none is left
open. Otherwise it holds only the number of wrong labels. WHOLE: the loss is 1 as soon
as anything is wrong. `gold`: right labels; type and stop of right chunks by their
first token; right chunks in reach from each token on; all of its sequence.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from argmetric._ground.jit import borrowing, kernel
from argmetric._ground.jit.hashing import GOLDEN, mix
from argmetric.search.kernels.weight_tables import (
    action_of,
    fill_action_scores,
    fill_static,
)

CHUNKS, WHOLE, SPANS = 1, 2, 4
_S11 = np.uint64(11)


@borrowing
def scatter(key):
    """Return the splitmix64 of `_policy.scatter`."""
    return mix(key + GOLDEN)


@borrowing
def reset(state):
    """Set the state before the first decision."""
    state[0] = state[1] = 0
    state[2] = state[3] = -1


@borrowing
def advance(form, gold, token, column, size, state):
    """Update the counts of hits and chunks in `state` for an action at a token."""
    labels, kinds, stops, _, _ = gold
    if form & SPANS:
        if column > 0:
            state[0] += kinds[token] == column - 1 and stops[token] == token + size
            state[1] += 1
        return
    if not form & CHUNKS:
        state[0] += column != labels[token]
        return
    kind = (column - 1) // 2 if column > 0 else -1
    begins = column > 0 and column % 2 == 1
    if kind >= 0 and not begins and state[2] >= 0 and kind == state[3]:
        return
    start = state[2]
    if start >= 0 and kinds[start] == state[3] and stops[start] == token:
        state[0] += 1
    state[1] += begins
    state[2] = token if begins else -1
    state[3] = kind if begins else -1


@borrowing
def loss_in_reach(form, gold, token, stop, state):
    """Return the least loss in reach once `token` is the next one to decide."""
    _, kinds, stops, future, n_gold = gold
    if not form & CHUNKS:
        return float(min(state[0], 1)) if form & WHOLE else float(state[0])
    start = state[2]
    alive = start >= 0 and kinds[start] == state[3] and stops[start] >= token
    later = future[token] if token < stop else 0  # gold chunks that start from here on
    hits = state[0] + alive + later
    both = n_gold[stop - 1] + state[1] + later
    if form & WHOLE:
        return 1.0 if 2 * hits < both else 0.0
    return 1.0 - 2.0 * hits / both if both else 0.0


@borrowing
def fill_costs(scheme, gold, token, stop, n_sizes, history, state, after, costs):
    """Set the least loss that can still be reached after each action.

    Returns the cheapest action. Illegal actions cost infinity. Where the loss is the
    number of wrong labels, mistakes made before this token are not counted. `state` is
    described above; `after` is scratch for a copy of it.
    """
    form, _, allowed, _ = scheme
    legal = allowed[history % allowed.shape[0]]
    best = 0  # the first action is always legal
    for number in range(costs.shape[0]):
        costs[number] = np.inf
        if legal[number]:
            column, size = action_of(number, n_sizes)
            for k in range(4):
                after[k] = state[k]
            advance(form, gold, token, column, size, after)
            costs[number] = loss_in_reach(form, gold, token + size, stop, after)
            if form == 0:
                costs[number] -= state[0]  # mistakes made before this token
            if costs[number] < costs[best]:
                best = number
    return best


@borrowing
def after_column(scheme, history, column, n_columns):
    """Return the history with one more column."""
    return (history * (n_columns + 1) + column + 1) % scheme[3].shape[0]


@borrowing
def drawn_policy(draws, sequence, key, depth):
    """Return the table of the random policy at a depth, -1 for the initial one."""
    has_initial, edges, _, n_folds, folds = draws
    bits = scatter(key ^ scatter(np.uint64(depth)))
    value = float(bits >> _S11) * 2.0**-53
    policy = 0
    while not value < edges[policy]:
        policy += 1
    if has_initial and policy == 0:
        return -1
    return (policy - has_initial) * n_folds + folds[sequence]


@borrowing
def fill_path_scores(scheme, text, policies, begin, now, who, history, room, scores):
    """Set scores of actions, -inf for illegal ones; return the best action.

    Sums of features are worked out once a sequence, which begins at `begin`.
    """
    _, _, allowed, rows = scheme
    features, weights = policies
    cache, fresh = room
    firsts = text[1]
    static = cache[who, now - begin, : firsts[now + 1] - firsts[now]]
    if not fresh[who, now - begin]:
        fresh[who, now - begin] = True
        fill_static(features, firsts[now], weights[who], static)
    fill_action_scores(static, weights[who], rows[history], scores)
    legal = allowed[history % allowed.shape[0]]
    best = 0
    for number in range(scores.shape[0]):
        if not legal[number]:
            scores[number] = -np.inf
        elif scores[number] > scores[best]:
            best = number
    return best


@kernel
def make_room(scheme, text, policies):
    """Return scratch space for the longest sequence, and for scores of actions."""
    starts, n_lengths = text[0], scheme[1]
    longest = 1
    for i in range(starts.shape[0] - 1):
        longest = max(longest, starts[i + 1] - starts[i])
    n, _, n_columns = policies[1].shape
    cache = np.empty((n, longest, n_lengths, n_columns))
    scores = np.empty(1 + (n_columns - 1) * n_lengths)
    return (cache, np.zeros((n, longest), np.bool_)), scores


@kernel
def walk(scheme, text, gold, policies, draws, known, out):
    """Run a policy from the left; record actions, costs if `known`, and losses.

    `out` is by token: action, history, depth (-1: no decision) and state before; costs
    from `places` on. The losses are by sequence.
    """
    starts, firsts = text
    form = scheme[0]
    chosen, histories, depths, states, places, costs, losses = out
    n_columns = policies[1].shape[2]
    room, scores = make_room(scheme, text, policies)
    state, after = np.empty((2, 4), np.int64)
    for i in range(starts.shape[0] - 1):
        now, stop = starts[i], starts[i + 1]
        room[1][:] = False
        reset(state)
        history, depth = 0, 0
        while now < stop:
            n_sizes = firsts[now + 1] - firsts[now]
            n = 1 + (n_columns - 1) * n_sizes
            histories[now], depths[now] = history, depth
            states[now] = state
            number = 0
            if known:
                own = costs[places[now] : places[now] + n]
                number = fill_costs(
                    scheme, gold, now, stop, n_sizes, history, state, after, own
                )
            who = drawn_policy(draws, i, draws[2][i], depth)
            if who >= 0:
                number = fill_path_scores(
                    scheme, text, policies, starts[i], now, who, history, room,
                    scores[:n],
                )  # fmt: skip
            chosen[now] = number
            column, size = action_of(number, n_sizes)
            if known:
                advance(form, gold, now, column, size, state)
            history = after_column(scheme, history, column, n_columns)
            now += size
            depth += 1
        if known and stop > starts[i]:
            losses[i] = loss_in_reach(form, gold, stop, stop, state)


@kernel
def roll_out(scheme, text, gold, policies, draws, how, path, costs):
    """Replace costs by mean losses of paths under the mixture, after each action.

    `how`: seed, number of paths, whether draws are tied (the same for all actions of a
    sequence), and whether a path draws its policy once. `path`: tokens and numbers of
    decisions, the sequences of tokens, and what the walk met there.
    """
    starts, firsts = text
    form, _, allowed, _ = scheme
    seed, n_paths, tied, once = how
    tokens, numbers, owners, histories, depths, states, places = path
    n_columns = policies[1].shape[2]
    room, scores = make_room(scheme, text, policies)
    state, after = np.empty((2, 4), np.int64)
    base = scatter(np.uint64(seed))
    last = -1
    for decision in range(tokens.shape[0]):
        here, number = tokens[decision], numbers[decision]
        i = owners[here]
        first, stop = starts[i], starts[i + 1]
        if i != last:
            room[1][:] = False
            last = i
        here_sizes = firsts[here + 1] - firsts[here]
        rank = 0
        for action in range(1 + (n_columns - 1) * here_sizes):
            if not allowed[histories[here] % allowed.shape[0], action]:
                continue
            rank += 1
            total = 0.0
            for p in range(n_paths):
                parts = (number, rank, p)
                if tied:
                    parts = (i, 0, 0)
                key = base
                for part in parts:
                    key = scatter(key ^ scatter(np.uint64(part)))
                state[:] = states[here]
                now, depth, history = here, depths[here], histories[here]
                chosen, n_sizes = action, here_sizes
                while True:
                    column, size = action_of(chosen, n_sizes)
                    advance(form, gold, now, column, size, state)
                    history = after_column(scheme, history, column, n_columns)
                    now += size
                    depth += 1
                    if now >= stop:
                        break
                    n_sizes = firsts[now + 1] - firsts[now]
                    own = scores[: 1 + (n_columns - 1) * n_sizes]
                    who = drawn_policy(draws, i, key, 0 if once else depth)
                    if who < 0:
                        chosen = fill_costs(
                            scheme, gold, now, stop, n_sizes, history, state, after, own
                        )
                    else:
                        chosen = fill_path_scores(
                            scheme, text, policies, first, now, who, history, room, own
                        )
                total += loss_in_reach(form, gold, stop, stop, state)
            costs[places[here] + action] = total / n_paths


@borrowing
def enter(total, member, totals, members, n):
    """Insert a member into a beam in order, after equal ones; return the new size."""
    place = n
    while place > 0 and totals[place - 1] < total:
        place -= 1
    if place == totals.shape[0]:
        return n
    n = min(n + 1, totals.shape[0])
    for j in range(n - 1, place, -1):
        totals[j] = totals[j - 1]
        for k in range(4):
            members[j, k] = members[j - 1, k]
    totals[place] = total
    for k in range(4):
        members[place, k] = member[k]
    return n


@kernel
def search_beams(scheme, text, policies, draws, width, logs, out):
    """Find the actions of the best path; with `logs`, sum log probabilities.

    Members of a beam have taken equally many decisions, or are finished. A member: its
    next token, history, parent, and the action that led to it.
    """
    (starts, firsts), keys = text, draws[2]
    n_columns = policies[1].shape[2]
    room, scores = make_room(scheme, text, policies)
    totals, new_totals = np.empty((2, width))
    members = np.zeros((room[0].shape[1] + 2, width, 4), np.int64)
    for i in range(starts.shape[0] - 1):
        stop = starts[i + 1]
        room[1][:] = False
        totals[0] = 0.0
        members[0, 0] = 0
        members[0, 0, 0] = starts[i]
        n, depth = 1, 0
        going = stop > starts[i]
        while going:
            n_new = 0
            grown = members[depth + 1]
            for j in range(n):
                if members[depth, j, 0] == stop:
                    member = (stop, 0, j, 0)
                    n_new = enter(totals[j], member, new_totals, grown, n_new)
            who = drawn_policy(draws, i, keys[i], depth)
            for j in range(n):
                now, history = members[depth, j, 0], members[depth, j, 1]
                if now == stop:
                    continue
                n_sizes = firsts[now + 1] - firsts[now]
                own = scores[: 1 + (n_columns - 1) * n_sizes]
                best = fill_path_scores(
                    scheme, text, policies, starts[i], now, who, history, room, own
                )
                norm = 0.0
                if logs:
                    for number in range(own.shape[0]):
                        norm += math.exp(own[number] - own[best])
                    norm = own[best] + math.log(norm)
                for number in range(own.shape[0]):
                    total = totals[j] + own[number] - norm
                    full = n_new == width and total <= new_totals[width - 1]
                    if full or own[number] == -np.inf:
                        continue
                    column, size = action_of(number, n_sizes)
                    after = after_column(scheme, history, column, n_columns)
                    member = (now + size, after, j, number)
                    n_new = enter(total, member, new_totals, grown, n_new)
            n = n_new
            depth += 1
            totals[:n] = new_totals[:n]
            going = members[depth, :n, 0].min() < stop
        j = 0
        for back in range(depth, 0, -1):
            number, j = members[back, j, 3], members[back, j, 2]
            begin = members[back - 1, j, 0]
            if begin < stop:
                out[begin] = number
