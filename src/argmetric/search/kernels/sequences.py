"""SEARN on sequences, compiled: walks, costs, roll-outs, beams, and weights in a table.

A sequence is a run of tokens; a decision gives one token its label. Its score is the
sum of one row of weights (a column for each label) for each feature: those of the token
are known beforehand, those of the last labels depend on the path. A history is a number
in base L + 1 whose digits are the last labels plus 1, 0 before the first.

The loss is the number of wrong labels, or 1 - F1 of chunks, labels being O, B-X, I-X,
B-Y, I-Y, ... In that case `state` holds: right closed chunks, opened chunks, start and
type of the open chunk (-1: none). Otherwise only the number of wrong labels. `form` is
CHUNKS or 0, plus WHOLE where the loss is 1 as soon as anything is wrong.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from argmetric._ground.jit import kernel
from argmetric._ground.jit.hashing import GOLDEN, mix
from argmetric.search.kernels.cost_sensitive import PERCEPTRON, fill_slopes

NEGLIGIBLE = 1e-3  # slopes; weights of actions whose slope is smaller stay
CHUNKS, WHOLE = 1, 2
_S11 = np.uint64(11)


@kernel
def scatter(key):
    """The splitmix64 of `_policy.scatter`."""
    return mix(key + GOLDEN)


@kernel
def reset(state):
    """The state before the first label."""
    state[0] = state[1] = 0
    state[2] = state[3] = -1


@kernel
def advance(form, gold, token, label, state):
    """Read one label more; `gold`: labels, type and stop of chunks by their start."""
    labels, kinds, stops, _, _ = gold
    if not form & CHUNKS:
        state[0] += label != labels[token]
        return
    kind = (label - 1) // 2 if label > 0 else -1
    begins = label > 0 and label % 2 == 1
    if kind >= 0 and not begins and state[2] >= 0 and kind == state[3]:
        return
    start = state[2]
    if start >= 0 and kinds[start] == state[3] and stops[start] == token:
        state[0] += 1
    state[1] += begins
    state[2] = token if begins else -1
    state[3] = kind if begins else -1


@kernel
def loss_in_reach(form, gold, token, stop, state):
    """Least loss in reach once `token` is the next one to label."""
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


@kernel
def legal(form, history, n_labels, label):
    """Whether a label may follow: I-X only after B-X and I-X."""
    if not form & CHUNKS or label == 0 or label % 2 == 1:
        return True
    last = history % (n_labels + 1) - 1
    return last == label or last == label - 1


@kernel
def fill_costs(form, gold, token, stop, history, state, after, costs):
    """Fill `costs` with the least loss in reach after each label; return the cheapest.

    Infinite where illegal; numbers of wrong labels less those made so far. `after` is
    scratch.
    """
    best = -1
    for label in range(costs.shape[0]):
        costs[label] = np.inf
        if legal(form, history, costs.shape[0], label):
            after[:] = state
            advance(form, gold, token, label, after)
            costs[label] = loss_in_reach(form, gold, token + 1, stop, after)
            if form == 0:
                costs[label] -= state[0]  # wrong labels before are no one's fault here
            if best < 0 or costs[label] < costs[best]:
                best = label
    return best


@kernel
def fill_path_scores(form, static, weights, rows, history, scores):
    """Scores of labels: of the token, plus those of the last labels; the best one."""
    scores[:] = static
    for place in range(rows.shape[1]):
        row = rows[history, place]
        if row >= 0:
            for label in range(scores.shape[0]):
                scores[label] += weights[row, label]
    best = -1
    for label in range(scores.shape[0]):
        if not legal(form, history, scores.shape[0], label):
            scores[label] = -np.inf
        elif best < 0 or scores[label] > scores[best]:
            best = label
    return best


@kernel
def after_label(history, label, n_labels, n_histories):
    """The history with one label more."""
    return (history * (n_labels + 1) + label + 1) % n_histories


@kernel
def walk(form, starts, gold, drawn, static, weights, rows, known, out):
    """Labels of a policy from the left, the histories met, costs if `known`, losses.

    `drawn` is the policy of each token, -1 for the initial one; `static` has the scores
    of that policy for the token.
    """
    labels, histories, costs, losses = out
    n_labels = static.shape[1]
    n_histories = rows.shape[0]
    scores = np.empty(n_labels)
    regrets = np.empty(n_labels)
    state, after = np.empty(4, np.int64), np.empty(4, np.int64)
    for i in range(starts.shape[0] - 1):
        first, stop = starts[i], starts[i + 1]
        history = 0
        reset(state)
        for token in range(first, stop):
            histories[token] = history
            label = -1
            if known:
                label = fill_costs(
                    form, gold, token, stop, history, state, after, regrets
                )
                costs[token] = regrets
            who = drawn[token]
            if who >= 0:
                label = fill_path_scores(
                    form, static[token], weights[who], rows, history, scores
                )
            labels[token] = label
            if known:
                advance(form, gold, token, label, state)
            history = after_label(history, label, n_labels, n_histories)
        if known and stop > first:
            losses[i] = loss_in_reach(form, gold, stop, stop, state)


@kernel
def drawn_policy(edges, key, depth):
    """The policy that is drawn at a depth; `edges` are cumulated weights."""
    bits = scatter(key ^ scatter(np.uint64(depth)))
    value = float(bits >> _S11) * 2.0**-53
    for policy in range(edges.shape[0]):
        if value < edges[policy]:
            return policy
    return edges.shape[0] - 1


@kernel
def roll_out(form, starts, gold, path, policies, how, order, costs):
    """Replace costs by mean losses of paths under the mixture, after each label.

    `path`: labels and histories of the roll-in. `policies`: static scores of each and
    their weights of histories; the first is the initial one if `has_initial`. Draws are
    tied (one path, the same draws for all labels of a sequence) or not; a path may draw
    `once` for all of its decisions. The policies of a sequence are those of its fold.
    """
    labels, histories, owners = path
    has_initial, edges, static, weights, rows, n_folds, folds = policies
    seed, n_paths, tied, once = how
    n_labels, n_histories = costs.shape[1], rows.shape[0]
    scores, spare = np.empty(n_labels), np.empty(n_labels)
    state, now, after = np.empty((3, 4), np.int64)
    prefix = np.empty((costs.shape[0], 4), np.int64)
    for i in range(starts.shape[0] - 1):
        reset(state)
        for token in range(starts[i], starts[i + 1]):
            prefix[token] = state
            advance(form, gold, token, labels[token], state)
    base = scatter(np.uint64(seed))
    for number in range(order.shape[0]):
        first_token = order[number]
        i = owners[first_token]
        first, stop = starts[i], starts[i + 1]
        rank = 0
        for label in range(n_labels):
            if not legal(form, histories[first_token], n_labels, label):
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
                now[:] = prefix[first_token]
                chosen, history = label, histories[first_token]
                for token in range(first_token, stop):
                    if token > first_token:
                        depth = 0 if once else token - first
                        who = drawn_policy(edges, key, depth)
                        if has_initial and who == 0:
                            chosen = fill_costs(
                                form, gold, token, stop, history, now, after, spare
                            )
                        else:
                            who = (who - has_initial) * n_folds + folds[i]
                            chosen = fill_path_scores(
                                form, static[who, token], weights[who], rows, history,
                                scores,
                            )  # fmt: skip
                    advance(form, gold, token, chosen, now)
                    history = after_label(history, chosen, n_labels, n_histories)
                total += loss_in_reach(form, gold, stop, stop, now)
            costs[first_token, label] = total / n_paths


@kernel
def search_beams(form, starts, drawn, static, weights, rows, width, logs, out):
    """Labels of the best path of each sequence; `logs`: sum logs of probabilities."""
    n_labels, n_histories = static.shape[1], rows.shape[0]
    longest = 1
    for i in range(starts.shape[0] - 1):
        longest = max(longest, starts[i + 1] - starts[i])
    scores = np.empty(n_labels)
    totals, new_totals = np.empty((2, width))
    histories, new_histories = np.empty((2, width), np.int64)
    parents, chosen = np.empty((2, longest, width), np.int64)
    for i in range(starts.shape[0] - 1):
        n = 1
        totals[0] = 0.0
        histories[0] = 0
        for token in range(starts[i], starts[i + 1]):
            depth = token - starts[i]
            n_new = 0
            for member in range(n):
                history = histories[member]
                best = fill_path_scores(
                    form, static[token], weights[drawn[token]], rows, history, scores
                )
                norm = 0.0
                if logs:
                    for label in range(n_labels):
                        norm += math.exp(scores[label] - scores[best])
                    norm = scores[best] + math.log(norm)
                for label in range(n_labels):
                    if scores[label] == -np.inf:
                        continue
                    total = totals[member] + scores[label] - norm
                    place = n_new
                    while place > 0 and new_totals[place - 1] < total:
                        place -= 1
                    if place == width:
                        continue
                    n_new = min(n_new + 1, width)
                    for j in range(n_new - 1, place, -1):
                        new_totals[j] = new_totals[j - 1]
                        new_histories[j] = new_histories[j - 1]
                        parents[depth, j] = parents[depth, j - 1]
                        chosen[depth, j] = chosen[depth, j - 1]
                    new_totals[place] = total
                    new_histories[place] = after_label(
                        history, label, n_labels, n_histories
                    )
                    parents[depth, place] = member
                    chosen[depth, place] = label
            n = n_new
            totals[:n] = new_totals[:n]
            histories[:n] = new_histories[:n]
        member = 0
        for token in range(starts[i + 1] - 1, starts[i] - 1, -1):
            depth = token - starts[i]
            out[token] = chosen[depth, member]
            member = parents[depth, member]


@kernel
def score_rows(features, which, extra, weights, out):
    """Scores of all labels: rows of weights of features and extra ones, summed up."""
    indptr, indices, values = features
    out[:] = 0.0
    for decision in range(which.shape[0]):
        token = which[decision]
        scores = out[decision]
        for f in range(indptr[token], indptr[token + 1]):
            row, value = indices[f], values[f]
            if row >= 0:
                for label in range(scores.shape[0]):
                    scores[label] += value * weights[row, label]
        for place in range(extra.shape[1]):
            row = extra[decision, place]
            if row >= 0:
                for label in range(scores.shape[0]):
                    scores[label] += weights[row, label]


@kernel
def change_row(step, value, slopes, columns, kind, clock, row, tables):
    """One step of AdaGrad, or of the perceptron, for the weights of one feature."""
    weights, squares, lags = tables
    for j in range(columns.shape[0]):
        label = columns[j]
        gradient = value * slopes[j]
        change = -gradient
        if kind != PERCEPTRON:
            squares[row, label] += gradient * gradient
            change = -step * gradient / math.sqrt(squares[row, label])
        weights[row, label] += change
        lags[row, label] += clock * change


@kernel
def learn_rows(features, which, extra, regrets, order, options, state):
    """One pass over the decisions; regrets are infinite where a label is illegal.

    `state`: weights, squares, lags and the clock, as in `cost_sensitive.learn`.
    """
    indptr, indices, values = features
    kind, target, step, scale = options
    weights, squares, lags, clock = state
    tables = weights, squares, lags
    n_labels = weights.shape[1]
    scores = np.zeros((1, n_labels))
    few_costs, few_scores, slopes = np.empty((3, n_labels))
    columns = np.empty(n_labels, np.int64)
    for decision in order:
        token = which[decision]
        one = slice(decision, decision + 1)
        score_rows(features, which[one], extra[one], weights, scores)
        n = 0
        for label in range(n_labels):
            if regrets[decision, label] < np.inf:
                columns[n] = label
                few_costs[n] = regrets[decision, label]
                few_scores[n] = scores[0, label]
                n += 1
        if fill_slopes(kind, target, few_costs[:n], scale, few_scores[:n], slopes[:n]):
            m = 0
            for j in range(n):
                if abs(slopes[j]) >= NEGLIGIBLE:
                    slopes[m] = slopes[j]
                    columns[m] = columns[j]
                    m += 1
            now, changed = clock[0], columns[:m]
            for f in range(indptr[token], indptr[token + 1] if m else 0):
                row, value = indices[f], values[f]
                if row >= 0:
                    change_row(step, value, slopes, changed, kind, now, row, tables)
            for place in range(extra.shape[1] if m else 0):
                row = extra[decision, place]
                if row >= 0:
                    change_row(step, 1.0, slopes, changed, kind, now, row, tables)
        clock[0] += 1.0
