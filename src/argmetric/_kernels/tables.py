"""Small segments: every metric by its table of values, summed over both laws.

The table of size m holds value(a, k, a+r) at [k, a, r]: a hits and r misses. It
serves all segments of that size, eight side by side.
"""

from __future__ import annotations

import numpy as np

from argmetric._kernels._jit import kernel

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
def add_hits(law, joint, slope, a, b, p, total):
    """Add an item to joint; total = Σ_t slope[t]·joint[t] afterwards.

    The law without the item solves law[t] = b·out[t] + a·out[t-1] from its first entry,
    stably for a ≤ b. With a = p the arrays run upwards and joint begins at
    T = 1; with a = q they run downwards from T = m.
    """
    c0 = c1 = c2 = c3 = c4 = c5 = c6 = c7 = 0.0
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    a0, a1, a2, a3, a4, a5, a6, a7 = a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]
    p0, p1, p2, p3, p4, p5, p6, p7 = p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]
    i0, i1, i2, i3 = 1.0 / b[0], 1.0 / b[1], 1.0 / b[2], 1.0 / b[3]
    i4, i5, i6, i7 = 1.0 / b[4], 1.0 / b[5], 1.0 / b[6], 1.0 / b[7]
    for t in range(law.shape[0] - 1):
        c0 = (law[t, 0] - a0 * c0) * i0
        c1 = (law[t, 1] - a1 * c1) * i1
        c2 = (law[t, 2] - a2 * c2) * i2
        c3 = (law[t, 3] - a3 * c3) * i3
        c4 = (law[t, 4] - a4 * c4) * i4
        c5 = (law[t, 5] - a5 * c5) * i5
        c6 = (law[t, 6] - a6 * c6) * i6
        c7 = (law[t, 7] - a7 * c7) * i7
        j0, j1 = joint[t, 0] + p0 * c0, joint[t, 1] + p1 * c1
        j2, j3 = joint[t, 2] + p2 * c2, joint[t, 3] + p3 * c3
        j4, j5 = joint[t, 4] + p4 * c4, joint[t, 5] + p5 * c5
        j6, j7 = joint[t, 6] + p6 * c6, joint[t, 7] + p7 * c7
        joint[t, 0], joint[t, 1], joint[t, 2], joint[t, 3] = j0, j1, j2, j3
        joint[t, 4], joint[t, 5], joint[t, 6], joint[t, 7] = j4, j5, j6, j7
        factor = slope[t]
        s0 += factor * j0
        s1 += factor * j1
        s2 += factor * j2
        s3 += factor * j3
        s4 += factor * j4
        s5 += factor * j5
        s6 += factor * j6
        s7 += factor * j7
    total[0], total[1], total[2], total[3] = s0, s1, s2, s3
    total[4], total[5], total[6], total[7] = s4, s5, s6, s7


@kernel
def add_mixed_hits(law, joint, slope, p, q, total):
    """The same where the lanes disagree on the direction: one by one."""
    m = law.shape[0] - 1
    for j in range(LANES):
        up = p[j] <= 0.5
        a, inverse = (p[j], 1.0 / q[j]) if up else (q[j], 1.0 / p[j])
        carry, total[j] = 0.0, 0.0
        for step in range(m):
            t = step + 1 if up else m - step
            carry = (law[t - 1 if up else t, j] - a * carry) * inverse
            joint[t, j] += p[j] * carry
            total[j] += slope[t] * joint[t, j]


@kernel
def affine_curves(p, q, indptr, chosen, slope, intercept, plain, out):
    """E[slope(k, t)·tp + intercept(k, t)] for every k of segments of one size.

    joint[t] = E[tp·1(T=t)] grows item by item with the law of T without the item,
    which comes from the law of T by the stable half of the division by (q + p·z).
    Row k of the intercept is 0 where plain[k]. O(m²) per segment, eight at a time;
    quickest where neighbours have as many items above 1/2.
    """
    m = slope.shape[0] - 1
    lane_p, lane_q = np.full((m, LANES), 0.5), np.full((m, LANES), 0.5)
    law, joint = np.zeros((m + 1, LANES)), np.zeros((m + 1, LANES))
    total = np.zeros(LANES)
    for first in range(0, chosen.shape[0], LANES):
        lanes = load_lanes(p, q, indptr, chosen, first, lane_p, lane_q)
        for t in range(m + 1):
            for j in range(LANES):
                law[t, j] = 1.0 if t == 0 else 0.0
                joint[t, j] = 0.0
        for k in range(m):
            add_item(lane_p, lane_q, k, law)
        for k in range(m + 1):
            if k == 0:
                for j in range(LANES):
                    total[j] = 0.0
            else:
                lp, lq = lane_p[k - 1], lane_q[k - 1]
                n_up = 0
                for j in range(LANES):
                    n_up += lp[j] <= 0.5
                if n_up == LANES:
                    add_hits(law, joint[1:], slope[k, 1:], lp, lq, lp, total)
                elif n_up == 0:
                    add_hits(law[::-1], joint[::-1], slope[k, ::-1], lq, lp, lp, total)
                else:
                    add_mixed_hits(law, joint, slope[k], lp, lq, total)
            if not plain[k]:
                for t in range(m + 1):
                    for j in range(LANES):
                        total[j] += law[t, j] * intercept[k, t]
            for j in range(lanes):
                g = chosen[first + j]
                out[indptr[g] + g + k] = total[j]


@kernel
def table_moments(p, q, indptr, chosen, selected, table, raw):
    """raw[g] = E[table], E[table²], E[table³] for a fixed selection per segment.

    `selected` marks the predicted positives, in any order. O(m²) per segment.
    """
    m = table.shape[0] - 1
    laws = np.zeros((2, m + 1))
    for index in range(chosen.shape[0]):
        g = chosen[index]
        size = np.zeros(2, np.int64)
        laws[0, 0] = laws[1, 0] = 1.0
        for i in range(indptr[g], indptr[g + 1]):
            side = 1 if selected[i] else 0
            length = size[side]
            laws[side, length + 1] = 0.0
            for step in range(length + 1):
                a = length - step
                laws[side, a + 1] = q[i] * laws[side, a + 1] + p[i] * laws[side, a]
            laws[side, 0] *= q[i]
            size[side] = length + 1
        k = size[1]
        for power in range(3):
            raw[g, power] = 0.0
        for a in range(k + 1):
            for r in range(m - k + 1):
                value = table[k, a, r]
                weight = laws[1, a] * laws[0, r] * value
                raw[g, 0] += weight
                raw[g, 1] += weight * value
                raw[g, 2] += weight * value * value
