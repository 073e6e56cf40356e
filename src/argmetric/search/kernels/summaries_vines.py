"""The best way to go on with a summary that grows node by node: beam search.

Nodes lie in the order of the text. A node is a word, whose parent is its head in the
tree, or a whole sentence, without a parent. It can be added once its parent is in.
"""

from __future__ import annotations

import numpy as np

from argmetric._ground.jit import borrowing, kernel
from argmetric.search.kernels.summaries import change_gram

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_EQUAL = 1e-12  # values that differ by less are equal: sums are taken in any order


@borrowing
def gram_of(left, right, pairs):
    """The gram of two neighbouring tokens, -1 for none; -1 is an end of the text."""
    return pairs[left, right] if left >= 0 and right >= 0 else -1


@borrowing
def change_node(node, sign, edges, text, pairs, counts, steps, gains):
    """Add or remove the tokens of a node between two tokens; -1 is an end of text."""
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
    """What `change_node` would add, nothing being changed."""
    places, tokens = text
    first = places[node]
    if places[node + 1] == first + 1:
        token = tokens[first]
        parted = gram_of(edges[0], edges[1], pairs)
        left = gram_of(edges[0], token, pairs)
        right = gram_of(token, edges[1], pairs)
        if left != right and parted != left and parted != right:
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
def is_better(one, others, i):
    """Whether value 0 is greater than that of row i, or equal and value 1 greater."""
    if one[0] > others[i, 0] + _EQUAL:
        return True
    return one[0] >= others[i, 0] - _EQUAL and one[1] > others[i, 1] + _EQUAL


@kernel
def complete(parents, is_useful, text, pairs, steps, costs, kept, room, beam, path):
    """The most that can be added to value 0 of a summary, by beam search.

    Tokens are grams 0, 1, ...; pairs[a, b] is the gram of a followed by b, or -1;
    steps[k, gram, j] is what occurrence j + 1 of a gram adds to value k.

    Nodes that are not useful are left out. Summaries of a beam have as many nodes; of
    two with equal values, the one with more of value 1 is better, and then the one
    found first. `path` is filled with the nodes to add, in turn. Returns the gain and
    the length of the path.
    """
    places, tokens = text
    n, n_grams = len(parents), steps.shape[1]
    nodes = np.empty(n, dtype=np.int64)
    n_nodes, most = 0, 0
    for v in range(n):
        if is_useful[v] or kept[v]:
            nodes[n_nodes] = v
            n_nodes += 1
            most += not kept[v]
    is_in = np.zeros((2, beam, n), dtype=np.uint8)
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
    last = -1
    for v in range(n):
        is_in[0, 0, v] = kept[v]
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
            row, line, own = is_in[here, b], told[here, b], counts[here, b]
            n_line, left = n_told[here, b], rooms[here, b]
            value, more = values[here, b, 0], values[here, b, 1]
            k, last = 0, -1
            behind = tokens[places[line[0]]] if n_line > 0 else -1
            for at in range(n_nodes):
                v = nodes[at]
                if row[v]:
                    if k < n_line and line[k] == v:
                        last = tokens[places[v + 1] - 1]
                        k += 1
                        behind = tokens[places[line[k]]] if k < n_line else -1
                    continue
                if costs[v] > left or (parents[v] >= 0 and not row[parents[v]]):
                    continue
                gains[0], gains[1] = value, more
                if places[v + 1] > places[v]:
                    gain_node(v, (last, behind), text, pairs, own, steps, gains)
                place = size
                while place > 0 and is_better(gains, top_values, place - 1):
                    place -= 1
                if place == beam:
                    continue
                mixed = (np.uint64(v) + np.uint64(1)) * _SPREAD
                mixed = (mixed ^ (mixed >> np.uint64(29))) * _SPREAD
                code = codes[here, b] + (mixed ^ (mixed >> np.uint64(32)))
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
                top_values[place] = gains
                top_state[place], top_node[place] = b, v
                top_code[place] = code
        if size == 0:
            break
        there = 1 - here
        for b in range(size):
            old, v = top_state[b], top_node[b]
            is_in[there, b] = is_in[here, old]
            is_in[there, b, v] = 1
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
            if top_values[b, 0] > best + _EQUAL:
                best, best_depth, best_state = top_values[b, 0], depth, b
        living, here = size, there
    for depth in range(best_depth, 0, -1):
        path[depth - 1] = from_node[depth, best_state]
        best_state = from_state[depth, best_state]
    return best, best_depth
