"""The best number of positives for tp / (base + step·(k + misses)), without its curve.

Hits and misses are independent: E_k = mu_k·f_k with mu_k = p_1 + … + p_k and f_k =
E[1 / D_k], D_k = base + step·(k + the positives among the last m-k items). One item
more adds a step to D if it is negative and nothing else:

    f_{k+1} - f_k = -q_{k+1}·E[1/D' - 1/(D'+step)],  D' = D_k without item k+1.

D' never falls as k grows, so f is convex as a function of q_1 + … + q_k: between two
counts it lies below the chord. Counts at growing distances from a plausible one tell
where the best can be; only there the sums are taken one by one.
"""

from __future__ import annotations

import numpy as np

from argmetric._expected.kernels.tolerances import TIE, TOLERANCE
from argmetric._jit import inner, kernel
from argmetric._jit.laws import PAD, add_labels, copy_law, law_room, no_labels

SLACK = 1e-15  # rounding of a bound, times the number of items
NEAR = 6  # counts around the plausible one that are always summed
WIDEST = 1 / 6  # between two sums, relative to the distance from there


@inner
def mean_inverse(law, length, floor, step):
    """Σ_a law[a] / (floor + step·a)."""
    part = law[PAD : PAD + length]
    even, odd = 0.0, 0.0
    for a in range(0, length - 1, 2):
        even += part[a] / (floor + step * a)
        odd += part[a + 1] / (floor + step * (a + 1))
    if length % 2:
        even += part[length - 1] / (floor + step * (length - 1))
    return even + odd


@inner
def count_below(k, middle, first):
    """The next lower count to be summed."""
    if k > middle + NEAR:
        return max(k - max(1, int(WIDEST * (k - middle))), middle + NEAR)
    if k > middle - NEAR:
        return max(k - 1, first)
    return max(k - max(1, int(WIDEST * (middle - k))), first)


@inner
def likely_cut(reach, low, high, base, step):
    """The count that is best if there are as many misses as expected."""
    best, top = low, -np.inf
    for k in range(low, high + 1):
        value = reach[k] / (base + step * (k + (reach[-1] - reach[k])))
        if value > top:
            best, top = k, value
    return best


@inner
def open_counts(reach, knots, used, inverse, first, final, bar, scale):
    """The first and the last count between the knots whose bound reaches the bar."""
    left, right = final + 1, first - 1
    for j in range(used - 1):
        above, below = knots[j], knots[j + 1]
        rejected = (above - reach[above]) - (below - reach[below])
        slope = (inverse[below] - inverse[above]) / max(rejected, 1e-300)
        for k in range(below + 1, above):
            part = max((above - reach[above]) - (k - reach[k]), 0.0)
            bound = min(inverse[above] + slope * part, inverse[below])
            if scale * reach[k] * bound >= bar and first <= k <= final:
                left, right = min(left, k), max(right, k)
    return left, right


@kernel
def best_of_misses(p, q, indptr, base, step, scale, ends, low, high, tie, extra, out):
    """Best k of every segment within low…high, and its value; the value at `extra`.

    Values are scale·E_k for k ≥ 1, and `ends` at k = 0. `out` has the rows: best k,
    value, and value at extra.
    """
    longest = 0
    for g in range(indptr.shape[0] - 1):
        longest = max(longest, indptr[g + 1] - indptr[g])
    width = law_room(longest / 4, longest)  # no variance is larger
    law, spare, kept = np.zeros(width), np.zeros(width), np.zeros(width)
    reach, value = np.zeros(longest + 1), np.zeros(longest + 1)
    inverse, knots = np.zeros(longest + 1), np.zeros(longest + 2, np.int64)
    for g in range(indptr.shape[0] - 1):
        items, others = p[indptr[g] : indptr[g + 1]], q[indptr[g] : indptr[g + 1]]
        m, total, partial = items.shape[0], 0.0, 0.0
        for i in range(m):
            partial += items[i]
            reach[i + 1] = total + partial
            if i % 64 == 63:
                total += partial
                partial = 0.0
        value[: m + 1] = np.nan
        value[0] = ends[g]
        first, final = max(low[g], 1), high[g]
        middle = first
        if first <= final:
            middle = likely_cut(reach[: m + 1], first, final, base[g], step)
        lowest, k = max(min(first, extra[g]), 1), max(final, extra[g])
        kept_at, kept_low, kept_length, used = m + 1, 0, 1, 0
        of_law, length = no_labels(law)
        of_law, length, _ = add_labels(
            items, others, k, m, TOLERANCE, of_law, length, law, spare
        )
        while k >= lowest:
            floor = base[g] + step * (k + of_law)
            inverse[k] = mean_inverse(law, length, floor, step)
            value[k] = scale * reach[k] * inverse[k]
            knots[used] = k
            used += 1
            if k >= middle:  # where sums one by one begin, as a rule
                kept_at, kept_low, kept_length = k, of_law, length
                copy_law(law, length, kept)
            if k == lowest:
                break
            then = count_below(k, middle, lowest)
            if then < extra[g] < k:
                then = extra[g]
            of_law, length, _ = add_labels(
                items, others, then, k, TOLERANCE, of_law, length, law, spare
            )
            k = then
        top = -np.inf
        for k in range(low[g], high[g] + 1):
            if value[k] > top:
                top = value[k]
        slack = SLACK * (m + 8) * abs(top)
        bar = top - max(TIE * abs(top), tie[g]) - slack
        left, right = open_counts(reach, knots, used, inverse, first, final, bar, scale)
        if left <= right:
            if kept_at < right:
                kept_at = m
                kept_low, kept_length = no_labels(kept)
            k = kept_at
            of_law, length = kept_low, kept_length
            while k > left:
                then = min(k - 1, right)
                of_law, length, _ = add_labels(
                    items, others, then, k, TOLERANCE, of_law, length, kept, spare
                )
                k = then
                floor = base[g] + step * (k + of_law)
                inverse[k] = mean_inverse(kept, length, floor, step)
                value[k] = scale * reach[k] * inverse[k]
                top = max(top, value[k])
        bar = top - max(TIE * abs(top), tie[g])
        best = low[g]
        for step_ in range(high[g] - low[g] + 1):
            if value[high[g] - step_] >= bar:
                best = high[g] - step_
        out[0, g], out[1, g], out[2, g] = best, value[best], value[extra[g]]
