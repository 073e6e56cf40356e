"""Exactly so many labels in every row of a small matrix, by exact expectations.

Column j has the labelled rows S, k = |S|. With the distributions of its hits a and of
its misses r, which are independent, V_j(S) = Σ_a Σ_r hits[a]·misses[r]·value[k, a, r].
The mean of V_j over the columns climbs. Row i with probability p joins S with

    V(S+i) = Σ_r misses₋ᵢ[r]·(p·c1[r] + q·c0[r]),
    c_y[r] = Σ_a hits[a]·value[k+1, a+y, r]

and leaves it alike, so that a gain takes O(n) and a move O(n²) steps. The distribution
without row i is the quotient of the whole one by q + p·z, by the stable half of the
division.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from argmetric._ground.jit import inner, kernel
from argmetric._ground.types import Booleans, Floats, Integers

ROUNDING = 1e-11  # a smaller rise is none: so large that no circle is endless
MOST_PASSES = 100
PATIENCE = 3  # splits of a pair of columns that are tried without success
RARE = 1e-20  # outcomes whose part of a sum is lost in rounding


class Columns(NamedTuple):
    """A matrix of n rows and m labels, its labels, and the state of its columns."""

    p: Floats  # (m, n)
    allowed: Booleans  # (m, n); absent cells of a sparse matrix are not
    labels: Booleans  # (m, n)
    value: Floats  # (n+1, n+1, n+1): metric at k, hits and misses
    k: Integers  # (m,)
    hits: Floats  # (m, n+1), distribution
    misses: Floats  # (m, n+1)
    now: Floats  # (m,): V_j
    join: Floats  # (m, 2, n+1): c_y over misses, y = 0, 1
    leave: Floats  # (m, 2, n+1): the same over hits
    fresh: Booleans  # (m,): whether the column has changed since its pairs were shared


@inner
def add_label(distribution, size, p):
    """Add one label to the distribution of the positives among `size`."""
    for a in range(size + 1, 0, -1):
        distribution[a] = distribution[a] * (1.0 - p) + distribution[a - 1] * p
    distribution[0] *= 1.0 - p


@inner
def worth_without(distribution, size, p, worth):
    """Return Σ_a d[a]·(p·worth[1, a] + q·worth[0, a]), d without a label of `size`."""
    q, last, total = 1.0 - p, 0.0, 0.0
    if p <= 0.5:
        for a in range(size):
            last = max((distribution[a] - p * last) / q, 0.0)
            total += last * (p * worth[1, a] + q * worth[0, a])
    else:
        for a in range(size - 1, -1, -1):
            last = max((distribution[a + 1] - q * last) / p, 0.0)
            total += last * (p * worth[1, a] + q * worth[0, a])
    return total


@inner
def count_column(s, j):
    """Set k, the distributions and V_j from the labels: steps would gather errors."""
    k, hits, misses, total = 0, s.hits[j], s.misses[j], 0.0
    hits[:] = 0.0
    misses[:] = 0.0
    hits[0] = misses[0] = 1.0
    for i in range(s.p.shape[1]):
        if s.labels[j, i]:
            add_label(hits, k, s.p[j, i])
            k += 1
        else:
            add_label(misses, i - k, s.p[j, i])
    for a in range(k + 1):
        if hits[a] > RARE:
            inside, value = 0.0, s.value[k, a]
            for r in range(s.p.shape[1] - k + 1):
                inside += misses[r] * value[r]
            total += hits[a] * inside
    s.k[j], s.now[j] = k, total


@inner
def set_column(s, j):
    """Set the state of column j, and what joining and leaving rows are worth."""
    count_column(s, j)
    k, rest = s.k[j], s.p.shape[1] - s.k[j]
    hits, misses = s.hits[j], s.misses[j]
    for y in range(2):
        join, leave = s.join[j, y], s.leave[j, y]
        join[:rest] = 0.0
        for a in range(k + 1 if rest else 0):
            if hits[a] > RARE:
                value = s.value[k + 1, a + y]
                for r in range(rest):
                    join[r] += hits[a] * value[r]
        for a in range(k):
            total, value = 0.0, s.value[k - 1, a]
            for r in range(rest + 1):
                total += misses[r] * value[r + y]
            leave[a] = total


@inner
def gain(s, j, i):
    """Return V_j with row i less V_j without, the other rows as they are."""
    k, p = s.k[j], s.p[j, i]
    if s.labels[j, i]:
        return s.now[j] - worth_without(s.hits[j], k, p, s.leave[j])
    rest = s.p.shape[1] - k
    return worth_without(s.misses[j], rest, p, s.join[j]) - s.now[j]


@inner
def improve_few_rows(s, gains):
    """Give every row its best labels, one after the other, until none changes."""
    m, n = s.p.shape
    for _ in range(MOST_PASSES):
        changed = False
        for i in range(n):
            for j in range(m):
                if s.allowed[j, i]:
                    gains[j] = gain(s, j, i)
            while True:
                low, high, least, most = -1, -1, math.inf, -math.inf
                for j in range(m):
                    if s.labels[j, i]:
                        if gains[j] <= least:
                            low, least = j, gains[j]
                    elif s.allowed[j, i] and gains[j] > most:
                        high, most = j, gains[j]
                if low < 0 or high < 0 or not most > least + ROUNDING:
                    break
                for j in (low, high):
                    s.labels[j, i], s.fresh[j] = j == high, True
                    set_column(s, j)
                changed = True
        if not changed:
            break


@inner
def hit_worth(s, j):
    """Return the value of a hit minus that of a miss, at this k."""
    k, rest = s.k[j], s.p.shape[1] - s.k[j]
    total = 0.0
    for a in range(k):
        if s.hits[j, a] > RARE:
            inside = 0.0
            for r in range(rest):
                difference = s.value[k, a + 1, r] - s.value[k, a, r + 1]
                inside += s.misses[j, r] * difference
            total += s.hits[j, a] * inside
    return total


@inner
def sort_rows(rows, size, keys):
    """Sort the first rows by their keys, which change little from split to split."""
    for place in range(1, size):
        i, at = rows[place], place
        while at > 0 and keys[rows[at - 1]] > keys[i]:
            rows[at] = rows[at - 1]
            at -= 1
        rows[at] = i


@inner
def share_pair(s, a, b, rows, best, keys):
    """Share anew the rows with exactly one of two labels; return if it is better.

    One more row goes to a, and one more, as long as that may help, then one fewer.
    Those go first for which w_a·p_a - w_b·p_b is largest, w being the worth of a hit
    after the split before.
    """
    size, now = 0, 0
    for i in range(s.p.shape[1]):
        if s.labels[a, i] != s.labels[b, i] and s.allowed[a, i] and s.allowed[b, i]:
            rows[size], best[i] = i, s.labels[a, i]
            size += 1
            now += best[i]
    if size < 2:
        return False
    start = top = s.now[a] + s.now[b] + ROUNDING
    worth_a, worth_b = hit_worth(s, a), hit_worth(s, b)
    for way in (1, -1):
        split, patience = now if way > 0 else now - 1, PATIENCE
        while 0 <= split <= size and patience > 0:
            for i in rows[:size]:
                keys[i] = worth_b * s.p[b, i] - worth_a * s.p[a, i]
            sort_rows(rows, size, keys)
            for place in range(size):
                first = place < split
                s.labels[a, rows[place]], s.labels[b, rows[place]] = first, not first
            count_column(s, a)
            count_column(s, b)
            worth_a, worth_b = hit_worth(s, a), hit_worth(s, b)
            split, patience = split + way, patience - 1
            if s.now[a] + s.now[b] > top:
                top, patience = s.now[a] + s.now[b], PATIENCE
                for i in rows[:size]:
                    best[i] = s.labels[a, i]
    for i in rows[:size]:
        s.labels[a, i], s.labels[b, i] = best[i], not best[i]
    set_column(s, a)
    set_column(s, b)
    return top > start


@kernel
def climb_few(s, pairs):
    """Improve the labels by rows, and by pairs of columns, as long as that helps."""
    m, n = s.p.shape
    rows, best = np.empty(n, np.int64), np.empty(n, np.bool_)
    gains, keys, stale = np.zeros(m), np.empty(n), np.zeros(m, np.bool_)
    for j in range(m):
        set_column(s, j)
    s.fresh[:] = better = True
    while better:
        improve_few_rows(s, gains)
        better = False
        for j in range(m):
            stale[j], s.fresh[j] = not s.fresh[j], False
        for a in range(m if pairs else 0):
            for b in range(a):
                known = stale[a] and stale[b] and not (s.fresh[a] or s.fresh[b])
                if not known and share_pair(s, a, b, rows, best, keys):
                    s.fresh[a] = s.fresh[b] = better = True
