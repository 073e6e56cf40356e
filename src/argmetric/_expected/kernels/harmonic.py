"""Small segments: F-measures with a simple beta, by sums quadratic in the size.

Eight segments side by side, filled up with certain negatives to one size: these change
neither the hits nor the positives.
"""

from __future__ import annotations

import numpy as np

from argmetric._jit import kernel
from argmetric._jit.lanes import alike, eight, put

LANES = 8


@kernel
def harmonic_curves(p, q, indptr, chosen, jk, jt, scale, empty, out):
    """E[scale·tp / (jk·k + jt·t)] for every k of the chosen segments, shortest first.

    Natarajan's Algorithm 2: s[i] = E[scale / (i + jt·misses)], whose index i is
    jk·k + jt·hits; from k to k-1 an item joins the misses. `empty` is the value at
    k = t = 0. O((jk+jt)·m²), sums of positive terms throughout.
    """
    if chosen.shape[0] == 0:
        return
    last = chosen[-1]
    most = indptr[last + 1] - indptr[last]
    lane_p, lane_q = np.empty(LANES * most), np.empty(LANES * most)
    laws = np.empty(LANES * (most + 1) * (most + 1))
    s = np.empty(LANES * ((jk + jt) * most + jt + 1))
    totals = np.empty(LANES * (most + 1))
    inverse = np.empty((jk + jt) * most + 1)
    for i in range(1, inverse.shape[0]):
        inverse[i] = scale / i
    for begin in range(0, chosen.shape[0], LANES):
        end = min(begin + LANES, chosen.shape[0])
        m = fill_lanes(p, q, indptr, chosen[begin:end], lane_p, lane_q)
        width = LANES * (m + 1)
        lane_laws(lane_p, lane_q, m, laws)
        one = alike(eight(laws, 0), 1.0)
        for i in range(1, (jk + jt) * m + 1):
            put(s, LANES * i, one * inverse[i])
        put(totals, 0, empty * eight(laws, m * width))
        for step in range(m):
            k = m - step
            total = 0.0 * one
            for a in range(1, k + 1):
                law = eight(laws, k * width + LANES * a)
                total = total + float(a) * law * eight(s, LANES * (jk * k + jt * a))
            put(totals, LANES * k, total)
            hit, miss = eight(lane_p, LANES * (k - 1)), eight(lane_q, LANES * (k - 1))
            for i in range(1, (jk + jt) * (k - 1) + 1):
                later = eight(s, LANES * (i + jt))
                put(s, LANES * i, miss * eight(s, LANES * i) + hit * later)
        for j in range(end - begin):
            g = chosen[begin + j]
            for k in range(indptr[g + 1] - indptr[g] + 1):
                out[indptr[g] + g + k] = totals[LANES * k + j]


@kernel
def fill_lanes(p, q, indptr, chosen, lane_p, lane_q):
    """Items of segments side by side; returns how many the longest, the last, has."""
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


@kernel
def lane_laws(p, q, m, laws):
    """laws[k, a, lane] = P(a positives among the first k items), flat."""
    width = LANES * (m + 1)
    for j in range(LANES):
        laws[j] = 1.0
    for k in range(m):
        hit, miss = eight(p, LANES * k), eight(q, LANES * k)
        old, new = k * width, (k + 1) * width
        left = eight(laws, old)
        put(laws, new, miss * left)
        for a in range(1, k + 1):
            here = eight(laws, old + LANES * a)
            put(laws, new + LANES * a, miss * here + hit * left)
            left = here
        put(laws, new + LANES * (k + 1), hit * left)
