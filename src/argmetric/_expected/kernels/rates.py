"""Best number of positives for a mean of two rates, without the whole curve.

F(a, b, t) is the mean of the rates a/t and 1 - b/(n-t) for a hits, b false alarms and t
positives: concave in either rate, and one rate is worth the more the higher the other
(F_xy ≥ 0). With k items predicted, a hit or a false alarm more is then worth at most
what the first one is: for k' > k

    E_k' ≤ E_k + Σ_{k<i≤k'} h_i,  h_i = E[y_i·(F(a+1, b, t) - F(a, b, t))]
                                        - E[(1-y_i)·(F(a, b, t) - F(a, b+1, t))],

and likewise for k' < k with the last hit and the last false alarm. h falls with p_i, so
that few terms tell where the best k can be; only there E_k is summed.
"""

from __future__ import annotations

import math

import numpy as np

from argmetric._expected.kernels.tolerances import TIE, TOLERANCE
from argmetric._ground.jit import inner, kernel
from argmetric._ground.jit.pmfs import (
    PAD,
    add_labels,
    copy_pmf,
    no_labels,
    pmf_capacity,
)

SLACK = 1e-13  # rounding of a bound
NEIGHBOURS = 6  # items on either side of the first k whose PMFs are one step away
MAX_SUMS = 48  # of one segment; past them its whole curve is quicker


@inner
def mean_of_rates(kind, x, y):
    """Return the geometric (0), harmonic (1) or quadratic-error (2) mean of rates.

    Kind 2 is 1 less the quadratic mean of the errors 1-x and 1-y.
    """
    if kind == 0:
        return math.sqrt(x * y)
    if kind == 1:
        return 2.0 * x * y / max(x + y, 1e-300)
    return 1.0 - math.sqrt(((1.0 - x) * (1.0 - x) + (1.0 - y) * (1.0 - y)) * 0.5)


@inner
def edge_values(kind, zero, n, k):
    """Return values at t = 0 and at t = n for this k; 0 where they are left out."""
    if math.isnan(zero):
        return 0.0, 0.0
    at_none = mean_of_rates(kind, zero, (n - k) / n)
    return at_none, mean_of_rates(kind, k / n, zero)


@inner
def fill_rates(first, n, inverse_t, inverse_u):
    """Write 1/t and 1/(n-t) from t = first on."""
    for s in range(inverse_t.shape[0]):
        t = first + s
        inverse_t[s] = 1.0 / max(t, 1.0)
        inverse_u[s] = 1.0 / max(n - t, 1.0)


@inner
def inner_range(a, low, length, n):
    """Return first and last + 1 of the misses r with 0 < t = a + r < n."""
    first = 1 if a + low == 0 else 0
    last = length - 1 if a + low + length - 1 >= n else length
    return first, last


@inner
def expected_value(kind, zero, n, k, hits, hit_low, misses, miss_low, work):
    """Return the sum over both PMFs, not divided by P(defined)."""
    length = misses.shape[0]
    inverse_t = work[0, : hits.shape[0] + length]
    inverse_u = work[1, : hits.shape[0] + length]
    total = work[2, :length]
    fill_rates(float(hit_low + miss_low), float(n), inverse_t, inverse_u)
    for r in range(length):
        total[r] = 0.0
    free = float(n - k - miss_low)
    for s in range(hits.shape[0]):
        a, probability = float(hit_low + s), hits[s]
        first, last = inner_range(hit_low + s, miss_low, length, n)
        inv_t, inv_u = inverse_t[s + first : s + last], inverse_u[s + first : s + last]
        part, rest = total[first:last], free - first
        for r in range(part.shape[0]):
            part[r] += probability * mean_of_rates(
                kind, a * inv_t[r], max(rest - r, 0.0) * inv_u[r]
            )
    value = 0.0
    for r in range(length):
        value += misses[r] * total[r]
    at_none, at_all = edge_values(kind, zero, float(n), float(k))
    if hit_low + miss_low == 0:
        value += hits[0] * misses[0] * at_none
    if hit_low + hits.shape[0] + miss_low + length - 2 == n:
        value += hits[-1] * misses[-1] * at_all
    return value


@inner
def fill_more(kind, zero, n, k, hits, hit_low, misses, miss_low, work, gain, loss):
    """Write gain of one more hit and loss of one more false alarm, by misses.

    They are means over the hits.
    """
    length = misses.shape[0]
    inverse_t = work[0, : hits.shape[0] + length]
    inverse_u = work[1, : hits.shape[0] + length]
    fill_rates(float(hit_low + miss_low), float(n), inverse_t, inverse_u)
    for r in range(length):
        gain[r] = loss[r] = 0.0
    free = float(n - k - miss_low)
    for s in range(hits.shape[0]):
        a, probability = float(hit_low + s), hits[s]
        first, last = inner_range(hit_low + s, miss_low, length, n)
        inv_t, inv_u = inverse_t[s + first : s + last], inverse_u[s + first : s + last]
        more, less, rest = gain[first:last], loss[first:last], free - first
        for r in range(more.shape[0]):
            x, y = a * inv_t[r], max(rest - r, 0.0) * inv_u[r]
            value = mean_of_rates(kind, x, y)
            more[r] += probability * (mean_of_rates(kind, x + inv_t[r], y) - value)
            worse = max(y - inv_u[r], 0.0)
            less[r] += probability * (value - mean_of_rates(kind, x, worse))
    at_none, at_all = edge_values(kind, zero, float(n), float(k))
    next_none, next_all = edge_values(kind, zero, float(n), float(k + 1))
    if hit_low + miss_low == 0:
        loss[0] += hits[0] * (at_none - next_none)
    if hit_low + hits.shape[0] + miss_low + length - 2 == n:
        gain[length - 1] += hits[-1] * (next_all - at_all)


@inner
def fill_fewer(kind, zero, n, k, hits, hit_low, misses, miss_low, work, gain, loss):
    """Write gain of the last hit and loss of the last false alarm, by hits.

    They are means over the misses.
    """
    length = hits.shape[0]
    inverse_t = work[0, : length + misses.shape[0]]
    inverse_u = work[1, : length + misses.shape[0]]
    fill_rates(float(hit_low + miss_low), float(n), inverse_t, inverse_u)
    for a in range(length):
        gain[a] = loss[a] = 0.0
    for s in range(misses.shape[0]):
        r, probability = miss_low + s, misses[s]
        first, last = inner_range(r, hit_low, length, n)
        inv_t, inv_u = inverse_t[s + first : s + last], inverse_u[s + first : s + last]
        more, less = gain[first:last], loss[first:last]
        rejected, base = max(float(n - k - r), 0.0), float(hit_low + first)
        for a in range(more.shape[0]):
            x, y = (base + a) * inv_t[a], rejected * inv_u[a]
            value = mean_of_rates(kind, x, y)
            worse = max(x - inv_t[a], 0.0)
            more[a] += probability * (value - mean_of_rates(kind, worse, y))
            less[a] += probability * (mean_of_rates(kind, x, y + inv_u[a]) - value)
    at_none, at_all = edge_values(kind, zero, float(n), float(k))
    next_none, next_all = edge_values(kind, zero, float(n), float(k - 1))
    if hit_low + miss_low == 0:
        loss[0] += misses[0] * (next_none - at_none)
    if hit_low + length + miss_low + misses.shape[0] - 2 == n:
        gain[length - 1] += misses[-1] * (at_all - next_all)


@inner
def both_worths(pmf, low, p, q, gain, loss):
    """Return E[y·gain] and E[(1-y)·loss] of one item, by the PMF without it."""
    length = pmf.shape[0]
    worth, cost, carry = 0.0, 0.0, 0.0
    if p <= 0.5:
        scale, ratio = 1.0 / q, p / q
        for t in range(length):
            worth += p * carry * gain[t]
            carry = scale * pmf[t] - ratio * carry
            cost += q * carry * loss[t]
    else:
        scale, ratio = 1.0 / p, q / p
        for step in range(length):
            t = length - 1 - step
            cost += q * carry * loss[t]
            carry = scale * pmf[t] - ratio * carry
            worth += p * carry * gain[t]
    return worth, cost


@inner
def plausible_count(p, start, stop, n, kind, low, high):
    """Return the k that is best for the rates of expected counts, as a start."""
    mean = 0.0
    for i in range(start, stop):
        mean += p[i]
    best, top, hits = low, -1.0, 0.0
    for k in range(high + 1):
        if k >= low:
            x = hits / mean if mean > 0.0 else 0.0
            y = 1.0 - (k - hits) / (n - mean) if n > mean else 0.0
            value = mean_of_rates(kind, min(x, 1.0), min(max(y, 0.0), 1.0))
            if value > top:
                best, top = k, value
        if k < high:
            hits += p[start + k]
    return best


@inner
def extend(p, q, first, last, tolerance, box, pmf, spare):
    """Add labels first…last-1 to a PMF; `box` has its low and its length."""
    box[0], box[1], _ = add_labels(
        p, q, first, last, tolerance, box[0], box[1], pmf, spare
    )


@inner
def begin(p, q, first, last, tolerance, box, pmf, spare):
    """Write the PMF of the labels first … last - 1."""
    box[0], box[1] = no_labels(pmf)
    extend(p, q, first, last, tolerance, box, pmf, spare)


@kernel
def best_of_rates(p, q, indptr, sizes, kind, zero, low, high, floor, extra, out):
    """Write the best k of every segment within low … high and its value.

    And the value at `extra`.

    `out` has the rows: best k, value, value at extra, number of sums; where these
    became too many the last is 0 and the others are not to be used. Values are sums
    over the outcomes that are defined, not divided by their probability.
    """
    for g in range(indptr.shape[0] - 1):
        start, stop, n = indptr[g], indptr[g + 1], sizes[g]
        m = stop - start
        items, others = p[start:stop], q[start:stop]
        mean, rest, variance = 0.0, float(n - m), 0.0
        for i in range(m):
            mean += items[i]
            rest += others[i]
            variance += items[i] * others[i]
        tolerance = TOLERANCE * min(1.0, mean, rest)
        width = pmf_capacity(variance, m)
        pmfs, boxes = np.zeros((5, width)), np.zeros((4, 2), np.int64)
        work = np.empty((3, 2 * width))
        slopes = np.empty((4, width))
        value = np.full(m + 1, np.nan)
        bound = np.full(m + 1, np.inf)
        middle = plausible_count(items, 0, m, n, kind, low[g], high[g])
        # PMFs of the hits of the first `left` and of the misses from `right` on.
        near_left, near_right = max(middle - NEIGHBOURS, 0), min(middle + NEIGHBOURS, m)
        left, right = min(near_left, extra[g]), max(near_right, extra[g])
        labels, spare = (items, others), pmfs[4]
        hit, miss, hit_now, miss_now = pmfs[0], pmfs[1], pmfs[2], pmfs[3]
        hit_box, miss_box, now, rest_now = boxes[0], boxes[1], boxes[2], boxes[3]
        begin(*labels, 0, left, tolerance, hit_box, hit, spare)
        begin(*labels, right, m, tolerance, miss_box, miss, spare)
        first, last = low[g], high[g]
        top, best, sums, k, wide, asked = -np.inf, low[g], 0, extra[g], False, True
        at_extra = 0.0
        while True:
            if k < left or k > right:
                left, right = max(k - NEIGHBOURS, 0), min(k + NEIGHBOURS, m)
                begin(*labels, 0, left, tolerance, hit_box, hit, spare)
                begin(*labels, right, m, tolerance, miss_box, miss, spare)
            now[0], now[1] = hit_box[0], hit_box[1]
            rest_now[0], rest_now[1] = miss_box[0], miss_box[1]
            copy_pmf(hit, hit_box[1], hit_now)
            copy_pmf(miss, miss_box[1], miss_now)
            extend(*labels, left, k, tolerance, now, hit_now, spare)
            extend(*labels, k, right, tolerance, rest_now, miss_now, spare)
            hits = hit_now[PAD : PAD + now[1]]
            misses = miss_now[PAD : PAD + rest_now[1]]
            sides = hits, now[0], misses, rest_now[0]
            value[k] = expected_value(kind, zero, n, k, *sides, work)
            sums += 1
            if asked:
                # The first sum was at `extra`; now to where the best may be.
                at_extra, asked = value[k], False
                if k < near_left:
                    extend(*labels, left, near_left, tolerance, hit_box, hit, spare)
                    left = near_left
                if k > near_right:
                    extend(*labels, near_right, right, tolerance, miss_box, miss, spare)
                    right = near_right
                if low[g] <= k <= high[g]:
                    top, best = value[k], k
                if k != middle:
                    k, wide = middle, True
                    continue
                wide = True
            if value[k] > top or (value[k] == top and k < best):
                top, best = value[k], k
            if wide:
                gain, loss = slopes[0], slopes[1]
                if k < last:
                    fill_more(kind, zero, n, k, *sides, work, gain, loss)
                    last = bounds_above(
                        items, others, k, last, top, misses, gain, loss, value, bound
                    )
                if k > first:
                    fill_fewer(kind, zero, n, k, *sides, work, gain, loss)
                    bar = top - max(TIE * abs(top), floor[g]) - SLACK * abs(top)
                    first = bounds_below(
                        items, others, k, first, bar, hits, gain, loss, value, bound
                    )
            bar = top - max(TIE * abs(top), floor[g]) - SLACK * abs(top)
            k, open_ = next_count(value, bound, first, last, best, top, bar)
            if open_ == 0:
                break
            if sums == MAX_SUMS:
                sums = 0
                break
            wide = open_ > 2
        bar = top - max(TIE * abs(top), floor[g])
        for k in range(first, best + 1):
            if value[k] >= bar:
                best = k
                break
        out[0, g], out[1, g], out[2, g], out[3, g] = best, value[best], at_extra, sums


@inner
def bounds_above(p, q, k, last, top, pmf, gain, loss, value, bound):
    """Write bounds of E above k; return the last count that can be the best."""
    level, i, run = value[k], k, 1
    while i < last:
        worth, cost = both_worths(pmf, 0, p[i], q[i], gain, loss)
        rise = worth - cost
        for j in range(i + 1, min(i + run, last) + 1):
            level += rise
            bound[j] = min(bound[j], level)
        i += run
        if rise <= 0.0 and level <= top + SLACK * abs(top):
            return min(i, last)
        if i - k > 8:
            run = max(1, (i - k) // 8)
    return last


@inner
def bounds_below(p, q, k, first, bar, pmf, gain, loss, value, bound):
    """Write bounds of E below k; return the last count that can reach the bar."""
    level, i, run = value[k], k, 1
    while i > first:
        worth, cost = both_worths(pmf, 0, p[i - 1], q[i - 1], gain, loss)
        rise = cost - worth
        for j in range(i - 1, max(i - run, first) - 1, -1):
            level += rise
            bound[j] = min(bound[j], level)
        i -= run
        if rise <= 0.0 and level < bar:
            return max(i, first)
        if k - i > 8:
            run = max(1, (k - i) // 8)
    return first


@inner
def next_count(value, bound, first, last, best, top, bar):
    """Return the count with the highest bound that can be best; and how many can."""
    found, count, highest = best, 0, -np.inf
    for k in range(first, last + 1):
        if math.isnan(value[k]):
            limit = bar if k < best else top + SLACK * abs(top)
            if bound[k] > limit or (k < best and bound[k] == limit):
                count += 1
                if bound[k] > highest:
                    found, highest = k, bound[k]
    return found, count
