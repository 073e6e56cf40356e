"""Dependency trees built by arc-hybrid transitions: learning and search.

Nodes of a sentence of n words are 0 (ROOT) and 1 to n. A state is a matrix with one
column for each node: the stack, the heads, four kinds of children, and in the last row
the place of the stack's top and the first node of the buffer. SHIFT moves the first
node of the buffer to the stack; LEFT takes the top off the stack, its head is the first
of the buffer; RIGHT takes it off too, its head is the one below. ROOT starts on the
stack, and RIGHT onto ROOT waits for an empty buffer: there is one root.

Sentences lie end to end, each with its ROOT: node v of sentence s is row starts[s] + v.
"""

from __future__ import annotations

import math

import numpy as np

from argmetric._ground.jit import borrowing, kernel
from argmetric._ground.jit.hashing import absorb, draw, mix
from argmetric.search.kernels.decisions import (
    LEAST_DOUBT,
    best_label,
    longest_of,
    place,
)

_S11, _S16 = np.uint64(11), np.uint64(16)
_LOW16 = np.uint64(0xFFFF)
_UNIT = 1.0 / (1 << 53)
_ABSENT = np.uint64(1)  # the code of a node that there is not
SHIFT, LEFT, RIGHT = 0, 1, 2
# Rows of a state; children are the first and second from the left, then from the right
_STACK, _HEADS, _CHILDREN, _PLACES, STATE_ROWS = 0, 1, 2, 6, 7
# Places in `text`
_CODES, _STARTS = 0, 1
# Places in `scheme`: of a node that templates read its kind (stack, buffer, or child 0
# to 3 of another) and which it is (how deep, how far, or of which node); of a value
# that templates read its node and its attribute
_KINDS, _WHICH, _NODES, _COLUMNS, _PARTS, _BOUNDS, _SALTS, _SHIFT = range(8)


@borrowing
def begin_tree(state, n):
    """The first state of a sentence of n words."""
    state[:, : n + 1] = -1
    state[_STACK, 0] = 0
    state[_PLACES, 0] = 0
    state[_PLACES, 1] = 1


@borrowing
def legal_steps(state, n, allowed):
    """Mark the actions that may follow."""
    top, first = state[_PLACES, 0], state[_PLACES, 1]
    allowed[SHIFT] = first <= n
    allowed[LEFT] = first <= n and top > 0
    allowed[RIGHT] = top > 1 or (top == 1 and first > n)


@borrowing
def take_step(state, action):
    """Change a state by an action; returns the node that got its head, or 0."""
    top, first = state[_PLACES, 0], state[_PLACES, 1]
    if action == SHIFT:
        state[_STACK, top + 1] = first
        state[_PLACES, 0] = top + 1
        state[_PLACES, 1] = first + 1
        return 0
    node = state[_STACK, top]
    head, side = first, _CHILDREN
    if action == RIGHT:
        head, side = state[_STACK, top - 1], _CHILDREN + 2
    state[_HEADS, node] = head
    state[side + 1, head] = state[side, head]
    state[side, head] = node
    state[_PLACES, 0] = top - 1
    return node


@borrowing
def step_costs(state, n, heads, costs):
    """Arcs of the right tree that each action puts out of reach.

    `heads` are those of the right tree, by node. Costs of actions that are not legal
    mean nothing. (Goldberg and Nivre 2013; the trees in reach have all arcs that are
    each in reach.)
    """
    top, first = state[_PLACES, 0], state[_PLACES, 1]
    node = state[_STACK, top]
    costs[:] = 0
    if first <= n:
        # What the first of the buffer can no longer have once it is on the stack
        for depth in range(1, top + 1):
            costs[SHIFT] += heads[state[_STACK, depth]] == first
        for depth in range(top):
            costs[SHIFT] += heads[first] == state[_STACK, depth]
    if top > 0:
        later = 0
        for other in range(first, n + 1):
            later += heads[other] == node
        head = heads[node]
        costs[LEFT] = later + (head > first or head == state[_STACK, top - 1])
        costs[RIGHT] = later + (head >= first)


@kernel
def feature_rows(scheme):
    """Room for `template_rows`: nodes, values and rows of the features of a state."""
    nodes = np.empty(scheme[_KINDS].shape[0], np.int64)
    values = np.empty(scheme[_NODES].shape[0], np.uint64)
    return nodes, values, np.empty(scheme[_SALTS].shape[0], np.int64)


@borrowing
def template_rows(text, scheme, begin, state, n, features):
    """Row numbers of the features of a state."""
    nodes, values, rows = features
    top, first = state[_PLACES, 0], state[_PLACES, 1]
    for j in range(nodes.shape[0]):
        kind, which = scheme[_KINDS][j], scheme[_WHICH][j]
        node = -1
        if kind == 0:
            if which <= top:
                node = state[_STACK, top - which]
        elif kind == 1:
            if first + which <= n:
                node = first + which
        elif nodes[which] >= 0:
            node = state[kind, nodes[which]]  # kinds from 2 on are rows of children
        nodes[j] = node
    for j in range(values.shape[0]):
        node = nodes[scheme[_NODES][j]]
        values[j] = _ABSENT
        if node >= 0:
            values[j] = text[_CODES][begin + node, scheme[_COLUMNS][j]]
    for j in range(rows.shape[0]):
        h = scheme[_SALTS][j]
        for part in range(scheme[_BOUNDS][j], scheme[_BOUNDS][j + 1]):
            h = absorb(h, values[scheme[_PARTS][part]])
        rows[j] = np.int64(mix(h) >> scheme[_SHIFT])


@borrowing
def add_up(weights, rows, n_rows, scale, scores):
    """Scores of the three actions: scale · Σ weights of the rows."""
    a, b, c = 0.0, 0.0, 0.0
    for j in range(n_rows):
        start = 3 * rows[j]
        a += weights[start]
        b += weights[start + 1]
        c += weights[start + 2]
    scores[0] = scale * a
    scores[1] = scale * b
    scores[2] = scale * c


@borrowing
def step_chances(scores, allowed, chances):
    """Probabilities of the allowed actions; returns the logarithm of their norm."""
    top = scores[best_label(scores, allowed, 3)]
    total = 0.0
    for k in range(3):
        chances[k] = math.exp(scores[k] - top) if allowed[k] else 0.0
        total += chances[k]
    for k in range(3):
        chances[k] /= total
    return top + math.log(total)


@borrowing
def drop_rows(rows, dropout, seed):
    """Move the rows that stay to the front; returns how many."""
    limit = np.uint64(dropout * 65536.0)
    if limit == 0:
        return rows.shape[0]
    n = 0
    bits = seed[0]
    for j in range(rows.shape[0]):
        if j % 4 == 0:
            bits = draw(seed)
        if (bits & _LOW16) >= limit:
            rows[n] = rows[j]
            n += 1
        bits >>= _S16
    return n


@borrowing
def mark_targets(costs, allowed, targets):
    """Mark the legal actions of least cost."""
    least = -1
    for k in range(3):
        if allowed[k] and (least < 0 or costs[k] < least):
            least = costs[k]
    for k in range(3):
        targets[k] = allowed[k] and costs[k] == least


@borrowing
def descend_rows(learned, rows, n_rows, slopes, step, when):
    """One step of AdaGrad down the slopes of the three actions, for some rows.

    w -= step · g / √(Σ g²). The sums gather the changes times their time, for the
    average. Each root is of a sum not yet rounded to 32 bits, unlike in `descend`.
    """
    weights, squares, sums = learned
    for j in range(n_rows):
        for k in range(3):
            if slopes[k] != 0.0:
                place = 3 * rows[j] + k
                square = np.float64(squares[place]) + slopes[k] * slopes[k]
                change = -step * slopes[k] / math.sqrt(square)
                squares[place] = square
                weights[place] += np.float32(change)
                if when > 0.0:
                    sums[place] += np.float32(change * when)


@kernel
def learn_trees(text, scheme, settings, gold, order, learned, when, seed):
    """Learn from the sentences of `order`, one state after the other.

    A state teaches that an action of least cost is to be taken. The next state is the
    reference policy's (its best such action, by score) or the policy's own, drawn for
    every state. settings: step, dropout, probability of the reference policy, and
    growth of the averaging time with each state.

    Returns
    -------
    wrong, when
        Decisions that were not of least cost, and the time for averages.
    """
    starts = text[_STARTS]
    longest = 1
    for s in order:
        longest = max(longest, starts[s + 1] - starts[s])
    state = np.empty((STATE_ROWS, longest + 2), np.int64)
    features = feature_rows(scheme)
    rows = features[2]
    scores, chances, slopes = np.empty(3), np.empty(3), np.empty(3)
    costs = np.empty(3, np.int64)
    allowed, targets = np.empty(3, np.bool_), np.empty(3, np.bool_)
    step, dropout, reference_share, averaging = settings
    weights = learned[0]
    scale = 1.0 / (1.0 - dropout)
    wrong = 0
    for s in order:
        begin = starts[s]
        n = starts[s + 1] - begin - 1
        begin_tree(state, n)
        draw(seed)  # decides nothing; what a seed teaches stays as it was
        for _ in range(2 * n):
            legal_steps(state, n, allowed)
            step_costs(state, n, gold[begin : begin + n + 1], costs)
            mark_targets(costs, allowed, targets)
            template_rows(text, scheme, begin, state, n, features)
            kept = drop_rows(rows, dropout, seed)
            add_up(weights, rows, kept, scale, scores)
            own = best_label(scores, allowed, 3)
            wrong += not targets[own]
            reference = best_label(scores, targets, 3)
            step_chances(scores, allowed, chances)
            right = 0.0
            for k in range(3):
                if targets[k]:
                    right += chances[k]
            when += averaging
            if 1.0 - right >= LEAST_DOUBT:
                for k in range(3):
                    slopes[k] = chances[k]
                    if targets[k]:
                        # Of a target that is all but impossible, the limit
                        share = 1.0 if k == reference else 0.0
                        if right > 1e-12:
                            share = chances[k] / right
                        slopes[k] -= share
                    slopes[k] *= scale
                descend_rows(learned, rows, kept, slopes, step, when)
            follows = (draw(seed) >> _S11) * _UNIT < reference_share
            take_step(state, reference if follows else own)
    return wrong, when


@kernel
def parse_greedily(text, scheme, weights, heads):
    """Parse every sentence, each action the best one in its state.

    heads[row] is the head of a node (-1 of ROOT).
    """
    starts = text[_STARTS]
    longest = longest_of(starts)
    state = np.empty((STATE_ROWS, longest + 2), np.int64)
    features = feature_rows(scheme)
    rows = features[2]
    scores = np.empty(3)
    allowed = np.empty(3, np.bool_)
    for s in range(starts.shape[0] - 1):
        begin = starts[s]
        n = starts[s + 1] - begin - 1
        begin_tree(state, n)
        for _ in range(2 * n):
            legal_steps(state, n, allowed)
            template_rows(text, scheme, begin, state, n, features)
            add_up(weights, rows, rows.shape[0], 1.0, scores)
            take_step(state, best_label(scores, allowed, 3))
        for node in range(n + 1):
            heads[begin + node] = state[_HEADS, node]


@kernel
def parse_beams(text, scheme, weights, width, mirrored, heads, votes, matrices):
    """Parse every sentence by a beam of states; scores are log probabilities.

    heads[row] is the head of a node in the best tree. Every tree left in the beam votes
    for its arcs with its share of the beam's probability, times that of the step that
    made the arc: votes[matrices[s] + (n + 1) · head + node] grow. Where the sentences
    are `mirrored`, votes are for the nodes as they were before.
    """
    starts = text[_STARTS]
    longest = longest_of(starts)
    states = np.empty((2, width, STATE_ROWS, longest + 2), np.int64)
    made = np.zeros((2, width, longest + 2))  # chances of the steps that made arcs
    now, new, raws = np.empty(width), np.empty(width), np.empty(width)
    parents, choices = np.empty(width, np.int64), np.empty(width, np.int64)
    best = new, raws, parents, choices
    features = feature_rows(scheme)
    rows = features[2]
    scores, chances = np.empty(3), np.empty((width, 3))
    allowed = np.empty(3, np.bool_)
    for s in range(starts.shape[0] - 1):
        begin = starts[s]
        n = starts[s + 1] - begin - 1
        here, kept = 0, 1
        begin_tree(states[0, 0], n)
        now[0] = 0.0
        for _ in range(2 * n):
            alive, kept = kept, 0
            for h in range(alive):
                state = states[here, h]
                legal_steps(state, n, allowed)
                template_rows(text, scheme, begin, state, n, features)
                add_up(weights, rows, rows.shape[0], 1.0, scores)
                norm = step_chances(scores, allowed, chances[h])
                for k in range(3):
                    if allowed[k]:
                        total = now[h] + (scores[k] - norm)
                        kept = place(best, kept, width, total, scores[k], h, k)
            for h in range(kept):
                state = states[1 - here, h]
                state[:, : n + 1] = states[here, parents[h], :, : n + 1]
                made[1 - here, h, : n + 1] = made[here, parents[h], : n + 1]
                node = take_step(state, choices[h])
                made[1 - here, h, node] = chances[parents[h], choices[h]]
                now[h] = new[h]
            here = 1 - here
        for node in range(n + 1):
            heads[begin + node] = states[here, 0, _HEADS, node]
        if votes.shape[0] > 0:
            norm = 0.0
            for h in range(kept):
                norm += math.exp(now[h] - now[0])
            for h in range(kept):
                share = math.exp(now[h] - now[0]) / norm
                for node in range(1, n + 1):
                    head, child = states[here, h, _HEADS, node], node
                    if mirrored:
                        child = n + 1 - node
                        head = n + 1 - head if head > 0 else 0
                    cell = matrices[s] + (n + 1) * head + child
                    votes[cell] += share * made[here, h, node]


@kernel
def fill_chart(scores, n, whole, open_, split, joint):
    """The best trees over all spans of words, by Eisner's algorithm.

    whole[d, i, j] is the best half tree over the words i to j, its head j for d = 0
    and i for d = 1; open_[d, i, j] the best that the arc between i and j closes. split
    and joint tell where each was put together.
    """
    for i in range(1, n + 1):
        whole[0, i, i] = 0.0
        whole[1, i, i] = 0.0
    for width in range(1, n):
        for i in range(1, n + 1 - width):
            j = i + width
            best, at = -np.inf, i
            for m in range(i, j):
                found = whole[1, i, m] + whole[0, m + 1, j]
                if found > best:
                    best, at = found, m
            joint[i, j] = at
            open_[0, i, j] = best + scores[j, i]
            open_[1, i, j] = best + scores[i, j]
            best, at = -np.inf, i
            for m in range(i, j):
                found = whole[0, i, m] + open_[0, m, j]
                if found > best:
                    best, at = found, m
            whole[0, i, j], split[0, i, j] = best, at
            best, at = -np.inf, j
            for m in range(i + 1, j + 1):
                found = open_[1, i, m] + whole[1, m, j]
                if found > best:
                    best, at = found, m
            whole[1, i, j], split[1, i, j] = best, at


@kernel
def read_chart(root, n, split, joint, agenda, heads):
    """Heads of the best tree with this root."""
    heads[0], heads[root] = -1, 0
    agenda[0, 0], agenda[0, 1], agenda[0, 2] = 0, 1, root
    agenda[1, 0], agenda[1, 1], agenda[1, 2] = 1, root, n
    waiting = 2
    while waiting > 0:
        waiting -= 1
        side, i, j = agenda[waiting, 0], agenda[waiting, 1], agenda[waiting, 2]
        if i == j:
            continue
        m = split[side, i, j]
        if side == 0:
            heads[m] = j
            agenda[waiting, 0], agenda[waiting, 1], agenda[waiting, 2] = 0, i, m
            low, high = m, j
        else:
            heads[m] = i
            agenda[waiting, 0], agenda[waiting, 1], agenda[waiting, 2] = 1, m, j
            low, high = i, m
        at = joint[low, high]
        waiting += 1
        agenda[waiting, 0], agenda[waiting, 1], agenda[waiting, 2] = 1, low, at
        waiting += 1
        agenda[waiting, 0], agenda[waiting, 1], agenda[waiting, 2] = 0, at + 1, high
        waiting += 1


@kernel
def best_trees(starts, scores, matrices, heads):
    """The projective trees with one root whose arcs have the highest sum of scores."""
    longest = longest_of(starts)
    whole = np.empty((2, longest, longest))
    open_ = np.empty((2, longest, longest))
    split = np.empty((2, longest, longest), np.int64)
    joint = np.empty((longest, longest), np.int64)
    agenda = np.empty((2 * longest + 2, 3), np.int64)
    for s in range(starts.shape[0] - 1):
        begin = starts[s]
        n = starts[s + 1] - begin - 1
        heads[begin] = -1
        if n == 0:
            continue
        own = scores[matrices[s] : matrices[s] + (n + 1) * (n + 1)]
        arcs = own.reshape(n + 1, n + 1)
        fill_chart(arcs, n, whole, open_, split, joint)
        best, root = -np.inf, 1
        for r in range(1, n + 1):
            found = arcs[0, r] + whole[0, 1, r] + whole[1, r, n]
            if found > best:
                best, root = found, r
        read_chart(root, n, split, joint, agenda, heads[begin : begin + n + 1])


@kernel
def nearness(starts, heads, matrices, scores):
    """Scores of arcs whose best projective tree keeps as many arcs as can be kept.

    1 for an arc of the tree; for one from an ancestor farther up less, the nearer the
    more, and all of these together less than one arc.
    """
    scores[:] = 0.0
    for s in range(starts.shape[0] - 1):
        begin = starts[s]
        n = starts[s + 1] - begin - 1
        for v in range(1, n + 1):
            value = 1.0
            node = v
            while node > 0:
                node = heads[begin + node]
                scores[matrices[s] + (n + 1) * node + v] = value
                value = 0.25 / n if value == 1.0 else value / 2.0
