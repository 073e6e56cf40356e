"""Small segments: every metric by its table of values, summed over both laws.

The table of size m holds value(a, k, a+r) at [k, a, r]: a hits and r misses. It
serves all segments of that size, eight side by side.
"""

from __future__ import annotations

import numpy as np

from argmetric._jit import kernel, unfused

LANES = 8


@kernel
def suffix_laws(p, q, laws):
    """laws[k, r, lane] = P(r positives among the items after the first k)."""
    m = p.shape[0]
    for j in range(LANES):
        laws[m, 0, j] = 1.0
    for step in range(m):
        k = m - 1 - step
        for j in range(LANES):
            laws[k, 0, j] = q[k, j] * laws[k + 1, 0, j]
            laws[k, m - k, j] = p[k, j] * laws[k + 1, m - k - 1, j]
        for r in range(1, m - k):
            for j in range(LANES):
                laws[k, r, j] = (
                    q[k, j] * laws[k + 1, r, j] + p[k, j] * laws[k + 1, r - 1, j]
                )


@kernel
def add_item(p, q, k, hits):
    """From the law of the hits among k items to that among k+1."""
    for j in range(LANES):
        hits[k + 1, j] = p[k, j] * hits[k, j]
    for step in range(k):
        a = k - step
        for j in range(LANES):
            hits[a, j] = q[k, j] * hits[a, j] + p[k, j] * hits[a - 1, j]
    for j in range(LANES):
        hits[0, j] *= q[k, j]


@kernel
def table_curves(p, q, indptr, chosen, table, out):
    """E[table] for every k of the chosen segments, which all have the table's size.

    O(m³/6) per segment. The eight sums are scalars because numba keeps those, and
    not small arrays, in registers: it halves the time.
    """
    m = table.shape[0] - 1
    lane_p, lane_q = np.zeros((m, LANES)), np.zeros((m, LANES))
    laws = np.zeros((m + 1, m + 1, LANES))
    hits = np.zeros((m + 1, LANES))
    total = np.zeros(LANES)
    live = np.zeros((m + 1, m + 1), np.bool_)  # without hits most tables are 0
    for k in range(m + 1):
        for a in range(k + 1):
            for r in range(m - k + 1):
                live[k, a] |= table[k, a, r] != 0.0
    for first in range(0, chosen.shape[0], LANES):
        lanes = load_lanes(p, q, indptr, chosen, first, lane_p, lane_q)
        suffix_laws(lane_p, lane_q, laws)
        for j in range(LANES):
            hits[0, j] = 1.0
        for k in range(m + 1):
            for j in range(LANES):
                total[j] = 0.0
            for a in range(k + 1):
                if not live[k, a]:
                    continue
                s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
                for r in range(m - k + 1):
                    value = table[k, a, r]
                    s0 += value * laws[k, r, 0]
                    s1 += value * laws[k, r, 1]
                    s2 += value * laws[k, r, 2]
                    s3 += value * laws[k, r, 3]
                    s4 += value * laws[k, r, 4]
                    s5 += value * laws[k, r, 5]
                    s6 += value * laws[k, r, 6]
                    s7 += value * laws[k, r, 7]
                total[0] += hits[a, 0] * s0
                total[1] += hits[a, 1] * s1
                total[2] += hits[a, 2] * s2
                total[3] += hits[a, 3] * s3
                total[4] += hits[a, 4] * s4
                total[5] += hits[a, 5] * s5
                total[6] += hits[a, 6] * s6
                total[7] += hits[a, 7] * s7
            for j in range(lanes):
                g = chosen[first + j]
                out[indptr[g] + g + k] = total[j]
            if k < m:
                add_item(lane_p, lane_q, k, hits)


@kernel
def load_lanes(p, q, indptr, chosen, first, lane_p, lane_q):
    """Items of segments side by side; returns how many segments there are."""
    lanes = min(lane_p.shape[1], chosen.shape[0] - first)
    for j in range(lanes):
        start = indptr[chosen[first + j]]
        for i in range(lane_p.shape[0]):
            lane_p[i, j] = p[start + i]
            lane_q[i, j] = q[start + i]
    return lanes


@kernel
def add_both_laws(p, q, first, last, selected, laws):
    """Laws of the positives among the rows that are not selected, and those that are.

    Rows first…last-1 in any order; the number of selected ones is returned.
    """
    unselected = hits = 0
    laws[0, 0] = laws[1, 0] = 1.0
    for i in range(first, last):
        side = 1 if selected[i] else 0
        length = hits if side else unselected
        laws[side, length + 1] = 0.0
        for step in range(length + 1):
            a = length - step
            laws[side, a + 1] = q[i] * laws[side, a + 1] + p[i] * laws[side, a]
        laws[side, 0] *= q[i]
        if side:
            hits += 1
        else:
            unselected += 1
    return hits


@kernel
def table_moments(p, q, indptr, chosen, selected, table, raw):
    """raw[g] = E[table], E[table²], E[table³] for a fixed selection per segment.

    `selected` marks the predicted positives, in any order. O(m²) per segment.
    """
    m = table.shape[0] - 1
    laws = np.zeros((2, m + 1))
    for index in range(chosen.shape[0]):
        g = chosen[index]
        k = add_both_laws(p, q, indptr[g], indptr[g + 1], selected, laws)
        for power in range(3):
            raw[g, power] = 0.0
        for a in range(k + 1):
            for r in range(m - k + 1):
                value = table[k, a, r]
                weight = laws[1, a] * laws[0, r] * value
                raw[g, 0] += weight
                raw[g, 1] += weight * value
                raw[g, 2] += weight * value * value


@kernel
def table_laws(p, q, indptr, chosen, selected, cell, rest, weight, mass, moment):
    """Add the law of every chosen segment to mass[g], at the columns `cell`.

    moment[g] gains the mean of `rest` there; both times weight[g].
    """
    m = cell.shape[0] - 1
    laws = np.zeros((2, m + 1))
    for index in range(chosen.shape[0]):
        g = chosen[index]
        k = add_both_laws(p, q, indptr[g], indptr[g + 1], selected, laws)
        for a in range(k + 1):
            hit = weight[g] * laws[1, a]
            for r in range(m - k + 1):
                chance = hit * laws[0, r]
                column = cell[k, a, r]
                mass[g, column] += chance
                moment[g, column] += chance * rest[k, a, r]


@unfused
def both_laws(p, q):
    """Laws of the positives among the first k items, and among the others, by rows.

    To the bit those of `reference.both_laws`: which of the two is at hand decides
    nothing but the time that it takes.
    """
    m = p.shape[0]
    hits, misses = np.zeros((m + 1, m + 1)), np.zeros((m + 1, m + 1))
    hits[0, 0] = misses[m, 0] = 1.0
    for i in range(m):
        hits[i + 1, 0] = hits[i, 0] * q[i]
        for a in range(1, i + 2):
            hits[i + 1, a] = hits[i, a] * q[i] + hits[i, a - 1] * p[i]
        k = m - 1 - i
        misses[k, 0] = misses[k + 1, 0] * q[k]
        for a in range(1, i + 2):
            misses[k, a] = misses[k + 1, a] * q[k] + misses[k + 1, a - 1] * p[k]
    return hits, misses
