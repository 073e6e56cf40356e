"""The best number of positives for a metric that is affine in tp, without its curve.

With the terms of `affine` and c_i(t) = P(y_i = 1, T = t) = p_i·P(T without i = t-1),

    E_k = Σ_t (hits_k·hits_t·J_k(t) + rest_k·rest_t·P(T=t)) / (floor_k + rate_k·t),

J_k = c_1 + … + c_k. Whatever T is, of two items the one with the higher p is the
likelier positive: c_i(t) falls with i at every t. From a count k on, J is therefore at
most what one item gives,

    J_k'(t) ≤ J_k(t) + (k'-k)·c_{k+1}(t) for k' > k, and
    J_k'(t) ≤ J_k(t) - (k-k')·c_k(t) for k' < k.

Along a run of counts the bound is affine in k, and so are rest_k, floor_k and rate_k,
while hits_k is one number: each term of E_k is at most a quotient of two affine
functions of k, which is monotone, and the larger of its two ends bounds it. Without
`rate` the sums over t are two numbers, and every k is bounded by itself. Runs lead away
from a plausible count; those of one item give E_k itself. Only where a bound reaches
the best value the counts are taken one by one.
"""

from __future__ import annotations

import math

import numpy as np

from argmetric._kernels._jit import kernel
from argmetric._kernels._lanes import (
    after,
    alike,
    eight,
    larger,
    last_lane,
    put,
    running,
)

LANES = 8  # runs side by side
CHANCE, SCALE, RATIO, TOTAL, BOUND = 0, 8, 16, 24, 32
HITS, REST, FLOOR, RATE, ROWS = 40, 48, 56, 64, 72
PAD = 2
TOLERANCE = 1e-18  # entries of a law below it, relative to the mean, are trimmed
TIE = 1e-12  # values this close, relatively, are ties: the smaller k wins
SLACK = 1e-15  # rounding of a bound, times the number of items
WIDEST = 1 / 3  # a run, relative to its distance from the counts that may be best
TRIES = 8  # blocks of runs that were too wide; past them the curve is quicker


@kernel
def add_items(p, q, first, last, tolerance, low, length, law, spare):
    """Add items first…last-1 to a law, two at a time; returns its low and length."""
    start, source, target = PAD, law, spare
    i = first
    while i < last:
        step = min(2, last - i)
        if step == 2:
            none, both = q[i] * q[i + 1], p[i] * p[i + 1]
            one = q[i] * p[i + 1] + p[i] * q[i + 1]
        else:
            none, one, both = q[i], p[i], 0.0
        i += step
        old = source[start - PAD : start + length + step]
        new = target[PAD : PAD + length + step]
        for a in range(new.shape[0]):
            new[a] = none * old[a + 2] + one * old[a + 1] + both * old[a]
        length += step
        start = PAD
        while length > 1 and target[start + length - 1] <= tolerance:
            length -= 1
        while length > 1 and target[start] <= tolerance:
            start += 1
            length -= 1
            low += 1
        target[start - 1] = target[start - 2] = 0.0
        target[start + length] = target[start + length + 1] = 0.0
        source, target = target, source
    if first < last:
        for a in range(length):
            law[PAD + a] = source[start + a]
        law[0] = law[1] = law[PAD + length] = law[PAD + length + 1] = 0.0
    return low, length


@kernel
def law_of(p, q, first, last, tolerance, law, spare):
    """The law of items first…last-1 from PAD on; returns its low and length."""
    law[:5] = 0.0
    law[PAD] = 1.0
    return add_items(p, q, first, last, tolerance, 0, 1, law, spare)


@kernel
def joint_law(p, q, k, tolerance, laws, law, joint):
    """P(T=t) and E[tp; T=t] from index 1 on; their lowest t, and their length.

    By the laws of the hits of the first k items and of the misses behind them.
    """
    hit_low, hit_length = law_of(p, q, 0, k, tolerance, laws[0], laws[1])
    miss_low, miss_length = law_of(p, q, k, p.shape[0], tolerance, laws[2], laws[1])
    misses = laws[2, PAD : PAD + miss_length]
    length = hit_length + miss_length - 1
    law[: length + 1] = 0.0
    joint[: length + 1] = 0.0
    for a in range(hit_length):
        chance = laws[0, PAD + a]
        hits = chance * (hit_low + a)
        whole, part = law[a + 1 : a + 1 + miss_length], joint[a + 1 :]
        for r in range(miss_length):
            whole[r] += chance * misses[r]
            part[r] += hits * misses[r]
    return hit_low + miss_low, length


@kernel
def trimmed(law, length, tolerance):
    """First index and length of what is left of a law that begins at index 1.

    With room below, for T without an item can be one lower.
    """
    begin = 1
    while length > 1 and law[begin + length - 1] <= tolerance:
        length -= 1
    while length > 1 and law[begin] <= tolerance:
        begin += 1
        length -= 1
    law[begin - 1] = 0.0
    return begin, length


@kernel
def sum_of_terms(k, low, law, joint, hits_k, hits_t, rest_k, rest_t, floor, rate):
    """E_k, of law and joint sums from t = low on."""
    total = 0.0
    if rate.shape[0] == 0:
        constant = 0.0
        for t in range(law.shape[0]):
            total += hits_t[low + t] * joint[t]
            constant += rest_t[low + t] * law[t]
        return hits_k[k] * total + rest_k[k] * constant
    for t in range(law.shape[0]):
        above = hits_k[k] * (hits_t[low + t] * joint[t])
        above += rest_k[k] * (rest_t[low + t] * law[t])
        total += above / (floor[k] + rate[k] * (low + t))
    return total


@kernel
def likely_count(reach, low, high, t, hits_k, hits_t, rest_k, rest_t, floor, rate):
    """The count that is best if T is t: where to begin. `reach` has expected hits."""
    share = hits_t[t] * t / max(reach[-1], 1e-300)
    best, top = low, -np.inf
    for k in range(low, high + 1):
        value = hits_k[k] * (share * reach[k]) + rest_k[k] * rest_t[t]
        if rate.shape[0] > 0:
            value /= floor[k] + rate[k] * t
        if value > top:
            best, top = k, value
    return best


@kernel
def load_runs(p, q, k, turn, edge, share, end, ends, lanes):
    """Runs from k on, of items on one side of one half; how many, and which side.

    `ends` has the counts on which they end; the law without an item is
    scale·law - ratio·(its neighbour).
    """
    item = k if turn > 0 else k - 1
    rising = p[item] <= 0.5
    used = 0
    for j in range(LANES):
        lanes[CHANCE + j] = lanes[SCALE + j] = lanes[RATIO + j] = 0.0
    while used < LANES and k != end and (p[item] <= 0.5) == rising:
        run = min(max(1, int(share * abs(k - edge))), abs(end - k))
        large, small = (q[item], p[item]) if rising else (p[item], q[item])
        lanes[CHANCE + used] = turn * run * p[item]
        lanes[SCALE + used], lanes[RATIO + used] = 1.0 / large, small / large
        k += turn * run
        ends[used] = k
        item += turn * run
        used += 1
    for j in range(used, LANES):
        ends[j] = k
    return used, rising


@kernel
def run_terms(law, low, hits_t, rest_t, sums, ends_before, rising, lanes, now):
    """TOTAL of lane j: E at the end of its run; BOUND: a bound along the run.

    Before the first run: the joint sums, and the terms of E. `now` gets both rows as
    they are behind the last.
    """
    scale, ratio = eight(lanes, SCALE), eight(lanes, RATIO)
    chance, hits, rest = eight(lanes, CHANCE), eight(lanes, HITS), eight(lanes, REST)
    floor, rate = eight(lanes, FLOOR), eight(lanes, RATE)
    carry = total = bound = alike(scale, 0.0)
    length = law.shape[0]
    for step in range(1, length):
        t = step if rising else length - step
        x = law[t - 1] if rising else law[t]
        carry = scale * x - ratio * carry
        joint = running(chance * carry) + sums[t]
        above = hits * (hits_t[t] * joint) + rest * (rest_t[t] * law[t])
        term = above / (floor + rate * float(low + t))
        total = total + term
        bound = bound + larger(term, after(ends_before[t], term))
        now[0, t], now[1, t] = last_lane(joint), last_lane(term)
    put(lanes, TOTAL, total)
    put(lanes, BOUND, bound)


@kernel
def run_weights(law, worth, rising, lanes):
    """TOTAL of lane j: what its run adds to Σ_t worth[t]·J(t) at most."""
    scale, ratio = eight(lanes, SCALE), eight(lanes, RATIO)
    carry = total = alike(scale, 0.0)
    length = law.shape[0]
    for step in range(1, length):
        t = step if rising else length - step
        x = law[t - 1] if rising else law[t]
        carry = scale * x - ratio * carry
        total = total + carry * worth[t]
    put(lanes, TOTAL, total * eight(lanes, CHANCE))


@kernel
def spread(k, turn, used, ends, hits, first, most, constant, hits_k, rest_k, lanes):
    """TOTAL and BOUND of runs from what they add to the hits; hits behind the last.

    No item adds more to them than the first, and with `most` all positives are hits.
    """
    for j in range(used):
        step = turn * lanes[TOTAL + j] / abs(ends[j] - k)
        bound = value = -np.inf
        while k != ends[j]:
            k += turn
            hits += turn * step
            value = hits_k[k] * min(hits, k * first, most) + rest_k[k] * constant
            bound = max(bound, value)
        lanes[TOTAL + j], lanes[BOUND + j] = value, bound
    return hits


@kernel
def search_both_ways(
    p,
    q,
    middle,
    first,
    final,
    low,
    law,
    joint,
    factors,
    scale,
    top,
    tie,
    slack,
    value,
    rows,
    ends,
    lanes,
):
    """Values at all counts that may be the best of first…final, from a middle one.

    Returns the first and the last of them, the best value, and how many blocks of
    runs were too wide: past TRIES nothing is certain.
    """
    hits_k, hits_t, rest_k, rest_t, floor, rate = factors
    apart, length = rate.shape[0] == 0, law.shape[0]
    worth, other = hits_t[low:], rest_t[low:]
    value[middle] = scale * sum_of_terms(middle, low, law, joint, *factors)
    top = max(top, value[middle])
    hits, most, constant = 0.0, 0.0, 0.0
    for t in range(length):
        hits += worth[t] * joint[t]
        most += worth[t] * law[t] * (low + t)
        constant += other[t] * law[t]
    _, rising = load_runs(p[:1], q[:1], 0, 1, 0, 0.0, 1, ends, lanes)
    run_weights(law, worth, rising, lanes)
    largest = lanes[TOTAL]
    tries, reached = 0, np.array([middle, middle])
    for turn in (1, -1):
        stop = final if turn > 0 else first
        k, edge, share, exact = middle, middle, 0.0, True
        so_far, here = hits, 0
        if not apart:
            for t in range(length):
                above = hits_k[k] * (worth[t] * joint[t])
                above += rest_k[k] * (other[t] * law[t])
                rows[0, 0, t] = joint[t]
                rows[0, 1, t] = above / (floor[k] + rate[k] * (low + t))
        while k != stop and tries <= TRIES:
            bar = top - max(TIE * abs(top), tie) - slack
            used, rising = load_runs(p, q, k, turn, edge, share, stop, ends, lanes)
            then = so_far
            if apart:
                run_weights(law, worth, rising, lanes)
                then = spread(
                    k,
                    turn,
                    used,
                    ends,
                    so_far,
                    largest,
                    most,
                    constant,
                    hits_k,
                    rest_k,
                    lanes,
                )
            else:
                for j in range(LANES):
                    lanes[HITS + j] = hits_k[ends[j]]
                    lanes[REST + j] = rest_k[ends[j]]
                    lanes[FLOOR + j] = floor[ends[j]]
                    lanes[RATE + j] = rate[ends[j]]
                old = rows[here]
                run_terms(
                    law,
                    low,
                    worth,
                    other,
                    old[0],
                    old[1],
                    rising,
                    lanes,
                    rows[1 - here],
                )
            single, open_ = True, False
            for j in range(used):
                single = single and abs(ends[j] - (k if j == 0 else ends[j - 1])) == 1
                bound = scale * lanes[(TOTAL if single else BOUND) + j]
                if exact and single:
                    value[ends[j]] = bound
                    reached[0 if turn < 0 else 1] = ends[j]
                    if bound >= bar:
                        edge = ends[j]
                    if bound > top:
                        top = bound
                        bar = top - max(TIE * abs(top), tie) - slack
                elif bound >= bar:
                    open_ = True
            if open_:
                tries += TRIES + 1 if share * abs(k - edge) < 2.0 and not exact else 1
                share *= 0.5
                continue
            exact = exact and single
            k, so_far, here = ends[used - 1], then, 1 - here
            if share == 0.0 and edge != k:
                share = WIDEST
    return reached[0], reached[1], top, tries


@kernel
def best_of_affine(
    p,
    q,
    indptr,
    places,
    hits_k,
    hits_t,
    rest_k,
    rest_t,
    floor,
    rate,
    inner,
    ends,
    mass,
    most,
    low,
    high,
    tie,
    extra,
    out,
):
    """Best k of every segment within low…high, and its value; the value at `extra`.

    The factors of segment g begin at places[g]; they give the values at 1…inner[g],
    which are divided by mass[g]. The rows of `ends` are the values at k = 0 and at a
    last k = inner+1. `out` has the rows: best k, value, value at extra, and whether
    these were found: not where the variance of T is above `most`, or where a count
    far from the others might be the best.
    """
    longest = 0
    for g in range(indptr.shape[0] - 1):
        longest = max(longest, indptr[g + 1] - indptr[g])
    width = min(longest + 1, int(10.0 * math.sqrt(longest)) + 64) + 2 * PAD + 2
    laws, whole = np.zeros((3, width)), np.zeros((2, 2 * width))
    rows = np.zeros((2, 2, 2 * width))
    lanes, counts = np.zeros(ROWS), np.zeros(LANES, np.int64)
    reach, value = np.zeros(longest + 1), np.zeros(longest + 1)
    for g in range(indptr.shape[0] - 1):
        items, others = p[indptr[g] : indptr[g + 1]], q[indptr[g] : indptr[g + 1]]
        m, end = items.shape[0], places[g] + indptr[g + 1] - indptr[g] + 1
        factors = (
            hits_k[places[g] : end],
            hits_t[places[g] : end],
            rest_k[places[g] : end],
            rest_t[places[g] : end],
            floor[places[g] : end],
            rate[places[g] : end],
        )
        mean, rest, variance = 0.0, 0.0, 0.0
        for i in range(m):
            mean += items[i]
            rest += others[i]
            variance += items[i] * others[i]
            reach[i + 1] = mean
        out[3, g] = 0.0
        if variance > most:
            continue
        tolerance = TOLERANCE * min(1.0, mean)
        law, joint = whole[0], whole[1]
        found_extra = ends[0 if extra[g] == 0 else 1, g]
        if 0 < extra[g] <= inner[g]:
            base, length = joint_law(
                items, others, extra[g], tolerance, laws, law, joint
            )
            found_extra = sum_of_terms(
                extra[g], base, law[1 : length + 1], joint[1:], *factors
            )
            found_extra /= mass[g]
        out[2, g] = found_extra
        top = -np.inf
        if low[g] == 0 and ends[0, g] > top:
            top = ends[0, g]
        if high[g] > inner[g] and ends[1, g] > top:
            top = ends[1, g]
        first, final = max(low[g], 1), min(high[g], inner[g])
        left, right, tries = first, final, 0
        if first <= final:
            t = min(max(int(mean + 0.5), 1), inner[g])
            middle = likely_count(reach[: m + 1], first, final, t, *factors)
            base, length = joint_law(items, others, middle, tolerance, laws, law, joint)
            begin, length = trimmed(law, length, tolerance)
            base += begin - 1
            if base > 0:
                base, begin, length = base - 1, begin - 1, length + 1
                joint[begin] = 0.0
            law, joint = law[begin : begin + length], joint[begin : begin + length]
            few = min(1.0, mean, rest) if inner[g] < m else min(1.0, mean)
            slack = SLACK * (m + 8) * few / mass[g]
            left, right, top, tries = search_both_ways(
                items,
                others,
                middle,
                first,
                final,
                base,
                law,
                joint,
                factors,
                1.0 / mass[g],
                top,
                tie[g],
                slack,
                value,
                rows,
                counts,
                lanes,
            )
        bar = top - max(TIE * abs(top), tie[g])
        best, found = low[g], ends[0 if low[g] == 0 else 1, g]
        if high[g] > inner[g] and ends[1, g] >= bar:
            best, found = inner[g] + 1, ends[1, g]
        for step in range(right - left + 1):
            if value[right - step] >= bar:
                best, found = right - step, value[right - step]
        if low[g] == 0 and ends[0, g] >= bar:
            best, found = 0, ends[0, g]
        out[0, g], out[1, g], out[3, g] = best, found, tries <= TRIES
