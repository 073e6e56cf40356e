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

import numpy as np

from argmetric._expected.kernels.tolerances import TIE, TOLERANCE
from argmetric._jit import inner, kernel
from argmetric._jit.lanes import (
    after,
    alike,
    eight,
    larger,
    last_lane,
    put,
    running,
)
from argmetric._jit.laws import PAD, add_labels, copy_law, law_room, no_labels

LANES = 8  # runs side by side
CHANCE, SCALE, RATIO, TOTAL, BOUND = 0, 8, 16, 24, 32
HITS, REST, FLOOR, RATE, ROWS = 40, 48, 56, 64, 72
SLACK = 1e-15  # rounding of a bound, times the number of items
WIDEST = 1 / 3  # a run, relative to its distance from the counts that may be best
TRIES = 8  # blocks of runs that were too wide; past them the curve is quicker


@inner
def law_of(p, q, first, last, tolerance, law, spare):
    """The law of items first…last-1; returns its low and length."""
    low, length = no_labels(law)
    low, length, _ = add_labels(p, q, first, last, tolerance, low, length, law, spare)
    return low, length


@inner
def laws_of_two(p, q, left, right, tolerance, laws, lows, lengths):
    """Laws of hits and misses, rows 0 and 1 for the first `left`, 2 and 3 for `right`.

    The fifth row is spare.
    """
    m, spare = p.shape[0], laws[4]
    low, length = law_of(p, q, 0, left, tolerance, laws[0], spare)
    last_low, last_length = law_of(p, q, right, m, tolerance, laws[3], spare)
    copy_law(laws[0], length, laws[2])
    copy_law(laws[3], last_length, laws[1])
    lows[0], lengths[0] = low, length
    lows[3], lengths[3] = last_low, last_length
    lows[1], lengths[1], _ = add_labels(
        p, q, left, right, tolerance, last_low, last_length, laws[1], spare
    )
    lows[2], lengths[2], _ = add_labels(
        p, q, left, right, tolerance, low, length, laws[2], spare
    )


@inner
def join(both, lows, lengths, by_misses, law, joint):
    """P(T=t) and E[tp; T=t] from index 1 on, of hits and misses; their length.

    Where the misses are the fewer E[tp; T=t] = t·P(T=t) - E[misses; T=t].
    """
    length = lengths[0] + lengths[1] - 1
    law[: length + 1] = 0.0
    joint[: length + 1] = 0.0
    hits, misses = (both[1], both[0]) if by_misses else (both[0], both[1])
    one, other = (1, 0) if by_misses else (0, 1)
    for a in range(lengths[one]):
        chance = hits[PAD + a]
        weight = chance * (lows[one] + a)
        some = misses[PAD : PAD + lengths[other]]
        into, weighted = law[a + 1 :], joint[a + 1 :]
        for r in range(some.shape[0]):
            into[r] += chance * some[r]
            weighted[r] += weight * some[r]
    if by_misses:
        for t in range(length):
            joint[t + 1] = law[t + 1] * (lows[0] + lows[1] + t) - joint[t + 1]
    return length


@inner
def trimmed(law, length, tolerance):
    """First index and length of what is left of a law that begins at index 1."""
    begin = 1
    while length > 1 and law[begin + length - 1] <= tolerance:
        length -= 1
    while length > 1 and law[begin] <= tolerance:
        begin += 1
        length -= 1
    return begin, length


@inner
def sum_of_terms(k, low, law, joint, hits_k, hits_t, rest_k, rest_t, floor, rate):
    """E_k, of law and joint sums from t = low on."""
    total, apart = 0.0, rate.shape[0] == 0
    for t in range(law.shape[0]):
        above = hits_k[k] * (hits_t[low + t] * joint[t])
        above += rest_k[k] * (rest_t[low + t] * law[t])
        total += above if apart else above / (floor[k] + rate[k] * (low + t))
    return total


@inner
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


@inner
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


@inner
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


@inner
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


@inner
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
    total = sum_of_terms(middle, low, law, joint, *factors)
    value[middle] = scale * total
    top = max(top, value[middle])
    most, constant = 0.0, 0.0
    for t in range(length):
        most += worth[t] * law[t] * (low + t)
        constant += other[t] * law[t]
    # From E_k, in which hits and rest cancel term by term.
    hits = (total - rest_k[middle] * constant) / hits_k[middle]
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
    these were found: not where a count far from the others might be the best.
    """
    longest = 0
    for g in range(indptr.shape[0] - 1):
        longest = max(longest, indptr[g + 1] - indptr[g])
    width = law_room(longest / 4, longest)  # no variance is larger
    laws, whole = np.zeros((5, width)), np.zeros((2, 2 * width))
    rows = np.zeros((2, 2, 2 * width))
    lanes, counts = np.zeros(ROWS), np.zeros(LANES, np.int64)
    reach, value = np.zeros(longest + 1), np.zeros(longest + 1)
    lows, lengths = np.zeros(4, np.int64), np.zeros(4, np.int64)
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
        mean, rest = 0.0, 0.0
        for i in range(m):
            mean += items[i]
            rest += others[i]
            reach[i + 1] = mean
        tolerance = TOLERANCE * min(1.0, mean, mass[g])
        scale = 1.0 / mass[g]
        first, final = max(low[g], 1), min(high[g], inner[g])
        middle, other = first, extra[g]
        if first <= final:
            t = min(max(int(mean + 0.5), 1), inner[g])
            middle = likely_count(reach[: m + 1], first, final, t, *factors)
        asked = 1 <= other <= inner[g]
        if not asked:
            out[2, g] = ends[0 if other == 0 else 1, g]
            other = min(middle, m)
        left, right = min(middle, other), max(middle, other)
        laws_of_two(items, others, left, min(right, m), tolerance, laws, lows, lengths)
        row = 0 if other == left else 2
        law, joint = whole[0], whole[1]
        length = join(
            laws[row : row + 2], lows[row:], lengths[row:], 2 * other > m, law, joint
        )
        if asked:
            base, longer = lows[row] + lows[row + 1], length + 1
            found = sum_of_terms(other, base, law[1:longer], joint[1:longer], *factors)
            out[2, g] = scale * found
        top, tries = -np.inf, 0
        if low[g] == 0 and ends[0, g] > top:
            top = ends[0, g]
        if high[g] > inner[g] and ends[1, g] > top:
            top = ends[1, g]
        left, right = first, final
        if first <= final:
            if other != middle:
                row = 2 - row
                length = join(
                    laws[row : row + 2],
                    lows[row:],
                    lengths[row:],
                    2 * middle > m,
                    law,
                    joint,
                )
            begin, length = trimmed(law, length, tolerance)
            base = lows[row] + lows[row + 1] + begin - 1
            if base > 0:  # without an item T can be one lower
                base, begin, length = base - 1, begin - 1, length + 1
                law[begin] = joint[begin] = 0.0
            few = min(1.0, mean, rest) if inner[g] < m else min(1.0, mean)
            left, right, top, tries = search_both_ways(
                items,
                others,
                middle,
                first,
                final,
                base,
                law[begin : begin + length],
                joint[begin : begin + length],
                factors,
                scale,
                top,
                tie[g],
                SLACK * (m + 8) * few * scale,
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
