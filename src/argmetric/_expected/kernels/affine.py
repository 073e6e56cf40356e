"""Metrics that are affine in tp, exactly, from the PMF of T on its window.

value = (hits_k·hits_t·tp + rest_k·rest_t) / (floor_k + rate_k·t), so that

    E_k = Σ_t (hits_k·hits_t·J_k(t) + rest_k·rest_t·P(T=t)) / (floor_k + rate_k·t),

J_k(t) = E[tp; T=t] = Σ_{i≤k} p_i·P(T without i = t-1). The PMF without an item is the
quotient of the PMF of T and (q + p·z), by the stable half of the division. For k past
the middle tp = T - fn: small values stay accurate. Curves are flat; the factors of the
counts 0…m of segment g begin at places[g], which segments of one size share.
"""

from __future__ import annotations

import numpy as np

from argmetric._expected.kernels.tolerances import TOLERANCE
from argmetric._ground.jit import inner, kernel
from argmetric._ground.jit.lanes import alike, eight, put, running
from argmetric._ground.jit.pmfs import PAD, add_labels, no_labels, pmf_capacity

LANES = 8  # items side by side
# Rows of the lanes, in one flat array: their distances are known to the compiler.
PROBABILITY, SCALE, RATIO, TOTAL, JOINT = 0, 8, 16, 24, 32
HITS, REST, FLOOR, RATE, ROWS = 40, 48, 56, 64, 72


@inner
def load_block(p, q, first, step, count, lanes):
    """Load items on the same side of 1/2; return how many, and whether p ≤ 1/2."""
    rising = p[first] <= 0.5
    used = 0
    for j in range(LANES):
        lanes[PROBABILITY + j] = lanes[SCALE + j] = lanes[RATIO + j] = 0.0
    while used < count and (p[first + step * used] <= 0.5) == rising:
        i = first + step * used
        lanes[PROBABILITY + used] = p[i]
        large, small = (q[i], p[i]) if rising else (p[i], q[i])
        lanes[SCALE + used], lanes[RATIO + used] = 1.0 / large, small / large
        used += 1
    return used, rising


@inner
def item_weights(pmf, worth, rising, lanes):
    """Set TOTAL of lane j to p_j·Σ_t worth[t]·P(T without j = t-1)."""
    length = pmf.shape[0]
    scale, ratio = eight(lanes, SCALE), eight(lanes, RATIO)
    carry, total = alike(scale, 0.0), alike(scale, 0.0)
    for step in range(1, length):
        t = step if rising else length - step
        carry = scale * (pmf[t - 1] if rising else pmf[t]) - ratio * carry
        total = total + worth[t] * carry
    put(lanes, TOTAL, total * eight(lanes, PROBABILITY))


@inner
def block_sums(pmf, low, hits_t, rest_t, sums, missed, rising, lanes):
    """Set TOTAL of lane j to E_k at its k, carrying joint sums of T and hits."""
    length = pmf.shape[0]
    sign = -1.0 if missed else 1.0
    probability = eight(lanes, PROBABILITY)
    scale, ratio = eight(lanes, SCALE), eight(lanes, RATIO)
    hits_k, rest_k = eight(lanes, HITS), eight(lanes, REST)
    floor, rate = eight(lanes, FLOOR), eight(lanes, RATE)
    carry, total = alike(scale, 0.0), alike(scale, 0.0)
    for step in range(1, length):
        t = step if rising else length - step
        carry = scale * (pmf[t - 1] if rising else pmf[t]) - ratio * carry
        joint = running(probability * carry) + sums[t]
        put(lanes, JOINT, joint)
        sums[t] = lanes[JOINT + LANES - 1]
        count = float(low + t)
        whole = hits_t[t] * pmf[t] * count if missed else 0.0
        above = hits_k * (joint * (sign * hits_t[t]) + whole)
        above = above + rest_k * (rest_t[t] * pmf[t])
        total = total + above / (floor + rate * count)
    put(lanes, TOTAL, total)


@inner
def load_factors(counts, hits_k, rest_k, floor, rate, lanes):
    """Load the factors of the k of every lane."""
    for j in range(LANES):
        place = counts[j]
        lanes[HITS + j], lanes[REST + j] = hits_k[place], rest_k[place]
        lanes[FLOOR + j], lanes[RATE + j] = floor[place], rate[place]


@kernel
def affine_curves(
    p, q, indptr, places, hits_k, hits_t, rest_k, rest_t, floor, rate, out
):
    """Write E_k for every k ≥ 1 of every segment, 0 at k = 0. O(m·W).

    Without `rate` the denominator is 1, and the sums over t are one for all k.
    """
    apart = rate.shape[0] == 0
    lanes, counts = np.zeros(ROWS), np.empty(LANES, np.int64)
    for g in range(indptr.shape[0] - 1):
        start, stop = indptr[g], indptr[g + 1]
        m, offset, place = stop - start, start + g, places[g]
        items, others = p[start:stop], q[start:stop]
        mean, variance = 0.0, 0.0
        for i in range(m):
            mean += items[i]
            variance += items[i] * others[i]
        out[offset] = 0.0
        width = pmf_capacity(variance, m)
        pmfs = np.zeros((2, width))
        tolerance = TOLERANCE * min(1.0, mean)
        low, length = no_labels(pmfs[0])
        low, length, _ = add_labels(
            items, others, 0, m, tolerance, low, length, pmfs[0], pmfs[1]
        )
        begin = PAD
        if low > 0:  # without an item T can be one lower
            low, length, begin = low - 1, length + 1, PAD - 1
        pmf = pmfs[0, begin : begin + length]
        worth = hits_t[place + low : place + low + length]
        other = rest_t[place + low : place + low + length]
        sums = np.zeros(length)
        expected, constant = 0.0, 0.0
        for t in range(length):
            expected += pmf[t] * worth[t] * (low + t)
            constant += pmf[t] * other[t]
        # First the hits of the first k, then from the end the misses behind them.
        middle = min(m // 2 + 1, m)
        for missed in (False, True):
            weight = 0.0
            for t in range(length):
                sums[t] = 0.0
            first, left, turn = (
                (m - 1, m - 1 - middle, -1) if missed else (0, middle, 1)
            )
            while left > 0:
                count, rising = load_block(
                    items, others, first, turn, min(LANES, left), lanes
                )
                if apart:
                    item_weights(pmf, worth, rising, lanes)
                else:
                    for j in range(LANES):
                        k = first + turn * j + (0 if missed else 1)
                        counts[j] = place + min(max(k, 0), m)
                    load_factors(counts, hits_k, rest_k, floor, rate, lanes)
                    block_sums(pmf, low, worth, other, sums, missed, rising, lanes)
                for j in range(count):
                    k = first + turn * j + (0 if missed else 1)
                    out[offset + k] = lanes[TOTAL + j]
                    if apart:
                        weight += lanes[TOTAL + j]
                        hits = expected - weight if missed else weight
                        out[offset + k] = (
                            hits_k[place + k] * hits + rest_k[place + k] * constant
                        )
                first += turn * count
                left -= count
        if m > middle:  # all are predicted: tp = T
            k, at = offset + m, place + m
            out[k] = hits_k[at] * expected + rest_k[at] * constant
            if not apart:
                out[k] = 0.0
                for t in range(length):
                    above = hits_k[at] * worth[t] * (low + t) + rest_k[at] * other[t]
                    out[k] += pmf[t] * above / (floor[at] + rate[at] * (low + t))


@kernel
def smooth_curves(p, indptr, powers, rows, places, hits_k, rest_k, floor, rate, out):
    """Write E_k for every k ≥ 1 of every segment, by quadrature over T. O(m).

    powers[g] has the coefficients (degree, node) in p of the weights of T without an
    item; the rows of segment g are the points t, their weights, hits_t, hits_t at t+1,
    and rest_t. With nodes t_j, their weights v_j and w_ij = Σ_d powers[g, d, j]·p_i^d,

        E_k = Σ_j rest_k·rest_t(t_j)·v_j / (floor_k + rate_k·t_j)
            + hits_k·Σ_{i≤k} p_i·Σ_j hits_t(u_j)·w_ij / (floor_k + rate_k·u_j),
        u_j = t_j + 1.

    Without `rate` the denominator is 1, as in `affine_curves`.
    """
    apart = rate.shape[0] == 0
    terms, nodes = powers.shape[1], powers.shape[2]
    total, partial, worth = np.zeros(terms), np.zeros(terms), np.zeros(terms)
    joint = np.zeros(nodes)
    for g in range(indptr.shape[0] - 1):
        start, m = indptr[g], indptr[g + 1] - indptr[g]
        offset, place, weights = start + g, places[g], powers[g]
        t, pmf, hits_t = rows[g, 0], rows[g, 1], rows[g, 2]
        joint_t, rest_t = rows[g, 3], rows[g, 4]
        everything, constant = 0.0, 0.0
        for j in range(nodes):
            everything += pmf[j] * hits_t[j] * t[j]
            constant += pmf[j] * rest_t[j]
        for d in range(terms):
            worth[d] = 0.0
            for j in range(nodes):
                worth[d] += joint_t[j] * weights[d, j]
        out[offset] = 0.0
        # First the hits of the first k, then from the end the misses behind them.
        middle = max(m // 2, 1)
        for missed in (False, True):
            total[:], partial[:] = 0.0, 0.0
            for step in range(m - 1 - middle if missed else middle):
                i = m - 1 - step if missed else step
                x = p[start + i]
                term = x
                for d in range(terms):
                    partial[d] += term
                    term *= x
                if step % 64 == 63:
                    total += partial
                    partial[:] = 0.0
                count = i if missed else i + 1
                k, at = offset + count, place + count
                if apart:
                    hits = 0.0
                    for d in range(terms):
                        hits += worth[d] * (total[d] + partial[d])
                    hits = everything - hits if missed else hits
                    out[k] = hits_k[at] * hits + rest_k[at] * constant
                    continue
                joint[:] = 0.0
                for d in range(terms):
                    power = total[d] + partial[d]
                    for j in range(nodes):
                        joint[j] += weights[d, j] * power
                hit, whole = hits_k[at], hits_k[at] if missed else 0.0
                sign = -hit if missed else hit
                for j in range(nodes):
                    below = floor[at] + rate[at] * t[j]
                    rest = rest_k[at] * rest_t[j] + whole * hits_t[j] * t[j]
                    joint[j] = np.divide(pmf[j] * rest, below) + np.divide(
                        sign * joint_t[j] * joint[j], below + rate[at]
                    )
                out[k] = joint.sum()
        k, at = offset + m, place + m  # all are predicted: tp = T
        if apart:
            out[k] = hits_k[at] * everything + rest_k[at] * constant
        else:
            out[k] = 0.0
            for j in range(nodes):
                above = hits_k[at] * hits_t[j] * t[j] + rest_k[at] * rest_t[j]
                out[k] += pmf[j] * above / (floor[at] + rate[at] * t[j])
