"""Short segments: every metric by its table of values, F-measures by quadratic sums.

The table of size m holds value(a, k, a+r) at [k, a, r]: a hits and r misses. It serves
all segments of that size. Segments lie side by side in eight lanes; shorter ones are
filled up with certain negatives, which change neither the hits nor the positives.
"""

from __future__ import annotations

import numpy as np

from argmetric._ground.jit import inner, kernel, kernel_without_fma
from argmetric._ground.jit.lanes import alike, eight, put

LANES = 8


@kernel
def table_curves(p, q, indptr, chosen, table, out):
    """Write E[table] for every k of the chosen segments of one size. O(m³/6)."""
    m = table.shape[0] - 1
    width = LANES * (m + 1)
    lane_p, lane_q = np.empty(LANES * m), np.empty(LANES * m)
    back_p, back_q = np.empty(LANES * m), np.empty(LANES * m)
    hits, misses = np.empty(width * (m + 1)), np.empty(width * (m + 1))
    totals = np.empty(LANES)
    live = np.zeros((m + 1, m + 1), np.bool_)  # without hits most tables are 0
    for k in range(m + 1):
        for a in range(k + 1):
            for r in range(m - k + 1):
                live[k, a] |= table[k, a, r] != 0.0
    for first in range(0, chosen.shape[0], LANES):
        some = chosen[first : min(first + LANES, chosen.shape[0])]
        fill_lanes(p, q, indptr, some, lane_p, lane_q)
        for i in range(m):
            put(back_p, LANES * i, eight(lane_p, LANES * (m - 1 - i)))
            put(back_q, LANES * i, eight(lane_q, LANES * (m - 1 - i)))
        lane_pmfs(lane_p, lane_q, m, hits)
        lane_pmfs(back_p, back_q, m, misses)
        for k in range(m + 1):
            total = alike(eight(hits, 0), 0.0)
            for a in range(k + 1):
                if live[k, a]:
                    part = alike(total, 0.0)
                    for r in range(m - k + 1):
                        pmf = eight(misses, (m - k) * width + LANES * r)
                        part = part + table[k, a, r] * pmf
                    total = total + eight(hits, k * width + LANES * a) * part
            put(totals, 0, total)
            for j in range(some.shape[0]):
                out[indptr[some[j]] + some[j] + k] = totals[j]


@kernel
def harmonic_curves(p, q, indptr, chosen, jk, jt, scale, empty, out):
    """Write E[scale·tp / (jk·k + jt·t)] for every k of the chosen segments.

    The shortest comes first.

    Natarajan's Algorithm 2: s[i] = E[scale / (i + jt·misses)], whose index i is
    jk·k + jt·hits; from k to k-1 an item joins the misses. `empty` is the value at
    k = t = 0. O((jk+jt)·m²), sums of positive terms throughout.
    """
    if chosen.shape[0] == 0:
        return
    last = chosen[-1]
    most = indptr[last + 1] - indptr[last]
    lane_p, lane_q = np.empty(LANES * most), np.empty(LANES * most)
    pmfs = np.empty(LANES * (most + 1) * (most + 1))
    s = np.empty(LANES * ((jk + jt) * most + jt + 1))
    totals = np.empty(LANES * (most + 1))
    inverse = np.empty((jk + jt) * most + 1)
    for i in range(1, inverse.shape[0]):
        inverse[i] = scale / i
    for begin in range(0, chosen.shape[0], LANES):
        end = min(begin + LANES, chosen.shape[0])
        m = fill_lanes(p, q, indptr, chosen[begin:end], lane_p, lane_q)
        width = LANES * (m + 1)
        lane_pmfs(lane_p, lane_q, m, pmfs)
        one = alike(eight(pmfs, 0), 1.0)
        for i in range(1, (jk + jt) * m + 1):
            put(s, LANES * i, one * inverse[i])
        put(totals, 0, empty * eight(pmfs, m * width))
        for step in range(m):
            k = m - step
            total = 0.0 * one
            for a in range(1, k + 1):
                pmf = eight(pmfs, k * width + LANES * a)
                total = total + float(a) * pmf * eight(s, LANES * (jk * k + jt * a))
            put(totals, LANES * k, total)
            hit, miss = eight(lane_p, LANES * (k - 1)), eight(lane_q, LANES * (k - 1))
            for i in range(1, (jk + jt) * (k - 1) + 1):
                later = eight(s, LANES * (i + jt))
                put(s, LANES * i, miss * eight(s, LANES * i) + hit * later)
        for j in range(end - begin):
            g = chosen[begin + j]
            for k in range(indptr[g + 1] - indptr[g] + 1):
                out[indptr[g] + g + k] = totals[LANES * k + j]


@inner
def fill_lanes(p, q, indptr, chosen, lane_p, lane_q):
    """Write items of segments side by side; return the length of the last, longest."""
    last = chosen[-1]
    m = indptr[last + 1] - indptr[last]
    for j in range(LANES):
        length = 0
        if j < chosen.shape[0]:
            start = indptr[chosen[j]]
            length = indptr[chosen[j] + 1] - start
            for i in range(length):
                lane_p[LANES * i + j] = p[start + i]
                lane_q[LANES * i + j] = q[start + i]
        for i in range(length, m):
            lane_p[LANES * i + j], lane_q[LANES * i + j] = 0.0, 1.0
    return m


@inner
def lane_pmfs(p, q, m, pmfs):
    """Set pmfs[k, a, lane] = P(a positives among the first k items), flat."""
    width = LANES * (m + 1)
    for j in range(LANES):
        pmfs[j] = 1.0
    for k in range(m):
        hit, miss = eight(p, LANES * k), eight(q, LANES * k)
        old, new = k * width, (k + 1) * width
        left = eight(pmfs, old)
        put(pmfs, new, miss * left)
        for a in range(1, k + 1):
            here = eight(pmfs, old + LANES * a)
            put(pmfs, new + LANES * a, miss * here + hit * left)
            left = here
        put(pmfs, new + LANES * (k + 1), hit * left)


@inner
def add_both_pmfs(p, q, first, last, selected, pmfs):
    """Write PMFs of positives among unselected and selected rows; return k."""
    unselected = hits = 0
    pmfs[0, 0] = pmfs[1, 0] = 1.0
    for i in range(first, last):
        side = 1 if selected[i] else 0
        length = hits if side else unselected
        pmfs[side, length + 1] = 0.0
        for step in range(length + 1):
            a = length - step
            pmfs[side, a + 1] = q[i] * pmfs[side, a + 1] + p[i] * pmfs[side, a]
        pmfs[side, 0] *= q[i]
        if side:
            hits += 1
        else:
            unselected += 1
    return hits


@kernel
def table_moments(p, q, indptr, chosen, selected, table, raw):
    """Set raw[g] = E[table], E[table²], E[table³] for fixed predictions.

    `selected` marks the predicted positives, in any order. O(m²) per segment.
    """
    m = table.shape[0] - 1
    pmfs = np.zeros((2, m + 1))
    for index in range(chosen.shape[0]):
        g = chosen[index]
        k = add_both_pmfs(p, q, indptr[g], indptr[g + 1], selected, pmfs)
        for power in range(3):
            raw[g, power] = 0.0
        for a in range(k + 1):
            for r in range(m - k + 1):
                value = table[k, a, r]
                weight = pmfs[1, a] * pmfs[0, r] * value
                raw[g, 0] += weight
                raw[g, 1] += weight * value
                raw[g, 2] += weight * value * value


@kernel_without_fma
def both_pmfs(p, q):
    """Return PMFs of positives among the first k items and the others, as numpy's."""
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
