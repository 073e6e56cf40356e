"""Dependency trees as such: the best projective one, and what is wrong with one.

Nodes of a sentence of n words are 0 (ROOT) and 1 to n. Sentences lie end to end, each
with its ROOT: node v of sentence s is row starts[s] + v. Scores of arcs are a matrix
for each sentence: that of head → node is scores[matrices[s] + (n + 1) · head + node].
"""

from __future__ import annotations

import numpy as np

from argmetric._ground.jit import kernel
from argmetric.search.kernels.decisions import longest_of


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
