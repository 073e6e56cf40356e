"""True classes of rows, drawn or all of them, counted by true class and label.

The odds of a true class a in a row given b may be multiplied by a factor: a stack of
C x C factors makes as many distributions of the rows, which are called levels.
"""

from __future__ import annotations

import numpy as np

from argmetric._ground.jit import inner, kernel
from argmetric._ground.jit.hashing import draw

# mypy: disable-error-code="no-untyped-def,no-untyped-call"


SPARE_BITS = np.uint64(11)  # 53 bits make a float from 0 to 1
UNIT = 2.0**-53
BLOCK = 256  # rows whose odds are made at once


@inner
def draw_uniform(state):
    """Return a random number from 0 to 1; state[0] is the counter."""
    return (draw(state) >> SPARE_BITS) * UNIT


@inner
def set_odds(p, i, label, factor, odds):
    """Write odds of the classes of a row; return their sum, and the last above 0."""
    total, end = 0.0, 0
    for c in range(p.shape[1]):
        odds[c] = p[i, c] * factor[c, label]
        total += odds[c]
        if odds[c] > 0.0:
            end = c
    return total, end


@kernel
def draw_tables(p, first, last, labels, factors, state, tables):
    """Add the rows of a group to every table of a level, each with a drawn class."""
    odds, total = np.empty((BLOCK, p.shape[1])), np.empty(BLOCK)
    end = np.empty(BLOCK, dtype=np.int64)
    for start in range(first, last, BLOCK):  # a table stays in cache for a block
        size = min(BLOCK, last - start)
        for level in range(tables.shape[0]):
            for i in range(size):
                total[i], end[i] = set_odds(
                    p, start + i, labels[start + i], factors[level], odds[i]
                )
            for d in range(tables.shape[1]):
                for i in range(size):
                    u = draw_uniform(state) * total[i]
                    c = 0
                    while c < end[i] and u >= odds[i, c]:
                        u -= odds[i, c]
                        c += 1
                    tables[level, d, c, labels[start + i]] += 1.0


@kernel
def add_expected(p, first, last, labels, factors, tables):
    """Add the expected counts of the rows of a group to the table of every level."""
    odds = np.empty(p.shape[1])
    for i in range(first, last):
        z = labels[i]
        for level in range(tables.shape[0]):
            total, end = set_odds(p, i, z, factors[level], odds)
            for c in range(end + 1):
                tables[level, c, z] += odds[c] / total


@kernel
def all_tables(p, first, last, labels, tables, weights):
    """Write the table and the probability of every outcome that can be."""
    C = p.shape[1]
    truth = np.zeros(last - first, dtype=np.int64)
    for i in range(truth.shape[0]):
        while p[first + i, truth[i]] == 0.0:
            truth[i] += 1
    for d in range(tables.shape[0]):
        weights[d] = 1.0
        for i in range(truth.shape[0]):
            weights[d] *= p[first + i, truth[i]]
            tables[d, truth[i], labels[first + i]] += 1.0
        i = truth.shape[0] - 1
        carry = True
        while carry and i >= 0:
            carry = False
            truth[i] += 1
            while truth[i] < C and p[first + i, truth[i]] == 0.0:
                truth[i] += 1
            if truth[i] == C:
                carry = True
                truth[i] = 0
                while p[first + i, truth[i]] == 0.0:
                    truth[i] += 1
                i -= 1


@kernel
def tables_of_both(
    p, starts, groups, one, other, n_draws, most, state, tables, probability
):
    """Write outcomes of groups, counted by true class and label of two labellings.

    A group with at most `most` outcomes has them all, with their probabilities; another
    has n_draws[g] that are drawn. Rows of `probability` end in zeros where there are
    fewer.
    """
    C = p.shape[1]
    for at in range(groups.size):
        g = groups[at]
        n = starts[g + 1] - starts[g]
        count = 1
        for _ in range(n):
            count *= C
            if count > most:
                break
        listed = count <= most
        total = count if listed else n_draws[at]
        probability[at, :total] = 1.0
        for i in range(starts[g], starts[g + 1]):
            for d in range(total):
                if listed:  # the digits of d, the last row's first
                    c = d // C ** (starts[g + 1] - 1 - i) % C
                    probability[at, d] *= p[i, c]
                else:
                    u = draw_uniform(state)
                    c = 0
                    while c < C - 1 and u >= p[i, c]:
                        u -= p[i, c]
                        c += 1
                tables[0, at, d, c, one[i]] += 1.0
                tables[1, at, d, c, other[i]] += 1.0
