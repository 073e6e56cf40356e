"""Complete vines: words of sentences of which each is kept only with its head.

A node is a word, or a whole sentence, in the order of the texts; the tokens of node v
are tokens[places[v] : places[v + 1]]. Grams and their values are those of `summaries`,
but pairs have a table with a row and a column for each token.
"""

from __future__ import annotations

import numpy as np

from argmetric._ground.jit import borrowing, kernel
from argmetric._ground.jit.hashing import mix
from argmetric.search.kernels.summaries import change_gram

_EQUAL = 1e-12  # values that differ by less are equal: sums are taken in any order


@borrowing
def gram_of(left, right, pairs):
    """Return the gram of two neighbouring tokens, -1 for none or an end of the text."""
    return pairs[left, right] if left >= 0 and right >= 0 else -1


@borrowing
def change_node(node, sign, edges, text, pairs, counts, steps, gains):
    """Add (sign 1) or remove (-1) the tokens of a node between its neighbours."""
    places, tokens = text
    last, behind = edges
    gram = gram_of(last, behind, pairs)
    if gram >= 0:
        change_gram(gram, -sign, counts, steps, gains)
    for i in range(places[node], places[node + 1]):
        change_gram(tokens[i], sign, counts, steps, gains)
        gram = gram_of(last, tokens[i], pairs)
        if gram >= 0:
            change_gram(gram, sign, counts, steps, gains)
        last = tokens[i]
    gram = gram_of(last, behind, pairs)
    if gram >= 0:
        change_gram(gram, sign, counts, steps, gains)


@borrowing
def gain_node(node, edges, text, pairs, counts, steps, gains):
    """Return what `change_node` would add, without a change."""
    places, tokens = text
    first = places[node]
    if places[node + 1] == first + 1:
        token = tokens[first]
        parted = gram_of(edges[0], edges[1], pairs)
        left = gram_of(edges[0], token, pairs)
        right = gram_of(token, edges[1], pairs)
        is_plain = left < 0 or left != right
        is_plain &= parted < 0 or (parted != left and parted != right)
        if is_plain:
            for k in range(2):
                if parted >= 0 and counts[parted] <= steps.shape[2]:
                    gains[k] -= steps[k, parted, counts[parted] - 1]
                for gram in (token, left, right):
                    if gram >= 0 and counts[gram] < steps.shape[2]:
                        gains[k] += steps[k, gram, counts[gram]]
            return
    change_node(node, 1, edges, text, pairs, counts, steps, gains)
    scratch = gains[0], gains[1]
    change_node(node, -1, edges, text, pairs, counts, steps, gains)
    gains[0], gains[1] = scratch


@borrowing
def is_better(value, more, other_value, other_more):
    """Return whether a value 0 is larger than another, or in a tie the value 1."""
    if value > other_value + _EQUAL:
        return True
    return value >= other_value - _EQUAL and more > other_more + _EQUAL


@borrowing
def widen(old, n_old, node, tree, kept, new):
    """Write the nodes that can be added once `node` is in, in order; return how many.

    old: those before that, in order, and what they add to both values, not a number
    where that is not known. node: one of them, or -1 where there were none.
    """
    parents, is_useful, starts, children = tree
    (before, old_gains), (wide, gains) = old, new
    first, stop = 0, len(is_useful)
    if node >= 0:
        first, stop = starts[node], starts[node + 1]
    n, at = 0, 0
    for i in range(first, stop + 1):
        v = len(is_useful)
        if i < stop:
            v = children[i] if node >= 0 else i
        while at < n_old and before[at] < v:
            if before[at] != node:
                wide[n] = before[at]
                gains[n, 0], gains[n, 1] = old_gains[at, 0], old_gains[at, 1]
                n += 1
            at += 1
        is_open = i < stop and is_useful[v] and not kept[v]
        if node < 0 and is_open:
            is_open = parents[v] < 0 or kept[parents[v]]
        if is_open:
            wide[n] = v
            gains[n, 0] = np.nan
            n += 1
    return n


@borrowing
def forget(new, n, line, n_line, node, edges, text, is_near):
    """Forget what nodes add if `node` between its edges may have changed it.

    These are nodes beside it, those with one of the three tokens, and those that part
    two of them. The last token stands for all that no reference has: it makes no pair.
    `is_near` has a 0 for each token, before and after.
    """
    places, tokens = text
    wide, gains = new
    for i in range(places[node], places[node + 1]):
        is_near[tokens[i]] = 1
    for token in edges:
        if token >= 0:
            is_near[token] = 1
    is_near[-1] = 0
    k, last = 0, -1
    behind = tokens[places[line[0]]]
    is_old = line[0] == node
    for i in range(n):
        v = wide[i]
        moved = False
        while k < n_line and line[k] < v:
            last = tokens[places[line[k] + 1] - 1]
            k += 1
            behind = tokens[places[line[k]]] if k < n_line else -1
            moved = True
        if moved:
            is_old = line[k - 1] == node or (k < n_line and line[k] == node)
            if not is_old and behind >= 0:
                is_old = is_near[last] and is_near[behind]
        old = is_old
        for j in range(places[v], places[v + 1]):
            old = old or is_near[tokens[j]]
        if old:
            gains[i, 0] = np.nan
    for i in range(places[node], places[node + 1]):
        is_near[tokens[i]] = 0
    for token in edges:
        if token >= 0:
            is_near[token] = 0


@kernel
def complete(tree, text, pairs, steps, costs, kept, room, beam, path):
    """Find nodes that add the most to value 0 of a summary, by beam search.

    tree: the parent of each node, whether it is useful, and its children:
    children[starts[v] : starts[v + 1]], in order. Tokens are grams 0, 1, ...;
    pairs[a, b] is the gram of a followed by b, or -1; steps[k, gram, j] is what
    occurrence j + 1 of a gram adds to value k.

    Nodes that are not useful are left out. Summaries of a beam have as many nodes; of
    two with equal values, the one with more of value 1 is better, and then the one
    found first. `path` is filled with the nodes to add, in turn. Returns the gain and
    the length of the path.
    """
    places, tokens = text
    n, n_grams = len(kept), steps.shape[1]
    most = 0
    for v in range(n):
        most += tree[1][v] and not kept[v]
    wide = np.empty((2, beam, n), dtype=np.int32)  # nodes that can be added, in order
    adds = np.empty((2, beam, n, 2))  # what each of them adds to both values
    n_wide = np.zeros((2, beam), dtype=np.int64)
    told = np.empty((2, beam, n), dtype=np.int32)  # nodes that are in and have tokens
    n_told = np.zeros((2, beam), dtype=np.int64)
    counts = np.zeros((2, beam, n_grams), dtype=np.int64)
    values = np.zeros((2, beam, 2))
    rooms = np.empty((2, beam))
    codes = np.zeros((2, beam), dtype=np.uint64)
    from_state = np.empty((most + 1, beam), dtype=np.int64)
    from_node = np.empty((most + 1, beam), dtype=np.int64)
    top_values = np.empty((beam, 2))
    top_state = np.empty(beam, dtype=np.int64)
    top_node = np.empty(beam, dtype=np.int64)
    top_code = np.empty(beam, dtype=np.uint64)
    gains, unused = np.zeros(2), np.zeros(2)
    is_near = np.zeros(len(pairs), dtype=np.bool_)
    last = -1
    first = wide[0, 0], adds[0, 0]
    n_wide[0, 0] = widen(first, 0, -1, tree, kept, first)
    for v in range(n):
        if kept[v] and places[v + 1] > places[v]:
            change_node(v, 1, (last, -1), text, pairs, counts[0, 0], steps, unused)
            told[0, 0, n_told[0, 0]] = v
            n_told[0, 0] += 1
            last = tokens[places[v + 1] - 1]
    rooms[0, 0] = room
    living, here = 1, 0
    best, best_depth, best_state = 0.0, 0, 0
    for depth in range(1, most + 1):
        size = 0
        for b in range(living):
            line, own = told[here, b], counts[here, b]
            n_line, left = n_told[here, b], rooms[here, b]
            value, more = values[here, b, 0], values[here, b, 1]
            k, last = 0, -1
            behind = tokens[places[line[0]]] if n_line > 0 else -1
            for at in range(n_wide[here, b]):
                v = wide[here, b, at]
                if costs[v] > left:
                    continue
                add, add_more = adds[here, b, at, 0], adds[here, b, at, 1]
                if np.isnan(add):
                    while k < n_line and line[k] < v:
                        last = tokens[places[line[k] + 1] - 1]
                        k += 1
                        behind = tokens[places[line[k]]] if k < n_line else -1
                    gains[:] = 0.0
                    if places[v + 1] > places[v]:
                        gain_node(v, (last, behind), text, pairs, own, steps, gains)
                    add, add_more = gains[0], gains[1]
                    adds[here, b, at, 0], adds[here, b, at, 1] = add, add_more
                add, add_more = value + add, more + add_more
                place = size
                while place > 0 and is_better(
                    add, add_more, top_values[place - 1, 0], top_values[place - 1, 1]
                ):
                    place -= 1
                if place == beam:
                    continue
                code = codes[here, b] + mix(np.uint64(v) + np.uint64(1))
                known = False
                for other in range(size):
                    known |= top_code[other] == code
                if known:
                    continue
                size = min(size + 1, beam)
                for other in range(size - 1, place, -1):
                    top_values[other] = top_values[other - 1]
                    top_state[other] = top_state[other - 1]
                    top_node[other] = top_node[other - 1]
                    top_code[other] = top_code[other - 1]
                top_values[place, 0], top_values[place, 1] = add, add_more
                top_state[place], top_node[place] = b, v
                top_code[place] = code
        if size == 0:
            break
        there = 1 - here
        for b in range(size):
            old, v = top_state[b], top_node[b]
            start = wide[here, old], adds[here, old]
            new = wide[there, b], adds[there, b]
            n_wide[there, b] = widen(start, n_wide[here, old], v, tree, kept, new)
            counts[there, b] = counts[here, old]
            values[there, b] = top_values[b]
            rooms[there, b] = rooms[here, old] - costs[v]
            codes[there, b] = top_code[b]
            from_state[depth, b], from_node[depth, b] = old, v
            m, last, behind, has_tokens = 0, -1, -1, places[v + 1] > places[v]
            waiting = has_tokens
            for i in range(n_told[here, old]):
                other = told[here, old, i]
                if waiting and other > v:
                    behind = tokens[places[other]]
                    told[there, b, m] = v
                    m += 1
                    waiting = False
                elif waiting:
                    last = tokens[places[other + 1] - 1]
                told[there, b, m] = other
                m += 1
            if waiting:
                told[there, b, m] = v
                m += 1
            n_told[there, b] = m
            if has_tokens:
                edges = last, behind
                own = counts[there, b]
                change_node(v, 1, edges, text, pairs, own, steps, unused)
                line, n_new = told[there, b], n_wide[there, b]
                forget(new, n_new, line, m, v, edges, text, is_near)
            if top_values[b, 0] > best + _EQUAL:
                best, best_depth, best_state = top_values[b, 0], depth, b
        living, here = size, there
    for depth in range(best_depth, 0, -1):
        path[depth - 1] = from_node[depth, best_state]
        best_state = from_state[depth, best_state]
    return best, best_depth


@borrowing
def recall_of(kept, text, pairs, steps, counts):
    """Return value 0 of the nodes that are kept."""
    places, tokens = text
    counts[:] = 0
    total, last = 0.0, -1
    for v in range(len(kept)):
        if kept[v]:
            for i in range(places[v], places[v + 1]):
                for gram in (tokens[i], gram_of(last, tokens[i], pairs)):
                    if gram >= 0:
                        if counts[gram] < steps.shape[2]:
                            total += steps[0, gram, counts[gram]]
                        counts[gram] += 1
                last = tokens[i]
    return total


@kernel
def complete_each(
    tree, text, pairs, steps, costs, kept, room, beam, path, actions, plan, out
):
    """Set the best completion that is known after each of some nodes, in rising order.

    plan: nodes that can be added in turn; it is replaced by the best way to go on if
    that is better. After a node, there is what a beam finds, and the plan, as far as
    it fits. Returns the length of the plan.

    A node that is not useful takes room, and parts two neighbours. Two of them between
    which no token stands that is kept or useful lead to the same completion, and so do
    all that have no token: it is computed once.
    """
    places, is_useful = text[0], tree[1]
    here, without_tokens = np.nan, np.nan  # the last completions of such nodes
    before, n_plan = 0, len(plan)
    known = kept.copy()
    counts = np.zeros(steps.shape[1], dtype=np.int64)
    start = recall_of(known, text, pairs, steps, counts)
    known[plan] = 1
    best = recall_of(known, text, pairs, steps, counts) - start
    ways = np.empty(len(kept), dtype=np.int64)
    ways[:n_plan] = plan
    for i in range(len(actions)):
        action = actions[i]
        for v in range(before, action):
            if (is_useful[v] or kept[v]) and places[v + 1] > places[v]:
                here = np.nan
        if i > 0 and costs[action] != costs[actions[i - 1]]:
            here, without_tokens = np.nan, np.nan
        before = action
        kept[action] = 1
        own = recall_of(kept, text, pairs, steps, counts) - start
        found = here if places[action + 1] > places[action] else without_tokens
        if is_useful[action] or np.isnan(found):
            left = room - costs[action]
            found, n = complete(
                tree, text, pairs, steps, costs, kept, left, beam, path
            )  # fmt: skip
            if own + found > best + _EQUAL:
                best, n_plan = own + found, n + 1
                ways[0], ways[1:n_plan] = action, path[:n]
        kept[action] = 0
        out[i] = own + found
        if is_useful[action]:
            continue
        if places[action + 1] > places[action]:
            here = found
        else:
            without_tokens = found
    for i in range(len(actions)):
        known[:] = kept
        known[actions[i]] = 1
        left = room - costs[actions[i]]
        for v in ways[:n_plan]:
            above = tree[0][v]
            if not known[v] and costs[v] <= left and (above < 0 or known[above]):
                known[v] = 1
                left -= costs[v]
        own = recall_of(known, text, pairs, steps, counts) - start
        out[i] = max(out[i], own)
    path[:n_plan] = ways[:n_plan]
    return n_plan
