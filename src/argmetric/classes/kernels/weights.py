"""All predictions that the weight of one class can make, row by row.

Row i goes to class j where w_j exceeds ratio[i], the most that w·p has among the other
classes over p_ij. Rows in the order of their ratios leave their rival for j.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from argmetric._ground.jit import kernel


@kernel
def confuse(p, weights, true, weight, table):
    """Add every row to the table, at its true class and that of the largest w·p.

    Of equals the first wins. `weight` is empty where all rows weigh 1.
    """
    for i in range(p.shape[0]):
        best, most = 0, -1.0
        for c in range(p.shape[1]):
            value = p[i, c] * weights[c]
            if value > most:
                best, most = c, value
        table[true[i], best] += weight[i] if weight.shape[0] else 1.0


@kernel
def rivals(p, weights, j, true, weight, rival, ratio, turning, table):
    """Write each row's strongest class but j, and the weight of j that beats it.

    Rows are added to the table as they are at a weight next to 0; those that turn at a
    weight are listed in `turning`. Returns how many these are.
    """
    count = 0
    for i in range(p.shape[0]):
        best, most = 0, -1.0
        for c in range(p.shape[1]):
            value = p[i, c] * weights[c]
            if c != j and value > most:
                best, most = c, value
        own = p[i, j]
        # two zeros tie at every weight: the first class wins
        edge = np.inf if most > 0.0 or j > best else 0.0
        rival[i], ratio[i] = best, most / own if own > 0.0 else edge
        first = j if ratio[i] == 0.0 else best
        table[true[i], first] += weight[i] if weight.shape[0] else 1.0
        if 0.0 < ratio[i] < np.inf:
            turning[count] = i
            count += 1
    return count


@kernel
def take_over(turning, rival, true, weight, j, tp, k, own_tp, own_k, other_tp, other_k):
    """Write counts of class j, and of the rival, after each row has moved to j.

    `tp` and `k` hold the counts of all classes, and are changed on the way.
    """
    for place in range(turning.shape[0]):
        i = turning[place]
        r = rival[i]
        w = weight[i] if weight.shape[0] else 1.0
        k[j] += w
        k[r] -= w
        if true[i] == j:
            tp[j] += w
        if true[i] == r:
            tp[r] -= w
        own_tp[place], own_k[place] = tp[j], k[j]
        # sums of weights are rounded, and may fall below nothing
        other_tp[place], other_k[place] = max(tp[r], 0.0), max(k[r], 0.0)


@kernel
def add_changes(turning, rival, own, other, start, j, sums):
    """Write Σ_c part_c after each row that moves from its rival class to class j.

    Sums are compensated for rounding (Kahan).

    own, other : array of shape (n_parts, n_rows)
        Parts of class j and of the rival once the row has moved.
    start : array of shape (n_parts, n_classes)
        Parts of all classes before any row moves; overwritten by the last ones.
    sums : array of shape (n_parts, n_rows)
    """
    for part in range(start.shape[0]):
        last = start[part]
        total, lost = 0.0, 0.0
        for c in range(last.shape[0]):
            total += last[c]
        for place in range(turning.shape[0]):
            r = rival[turning[place]]
            for c, now in ((j, own[part, place]), (r, other[part, place])):
                change = now - last[c] - lost
                larger = total + change
                lost = (larger - total) - change
                total, last[c] = larger, now
            sums[part, place] = total
