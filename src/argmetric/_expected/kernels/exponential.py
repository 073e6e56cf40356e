"""Exponential sums over sorted segments: F_β, Jaccard, Tversky, item weights.

A segment holds p descending with q = 1-p, phi_i(u) = q_i + p_i·u. Curves are flat:
segment g fills out[indptr[g]+g : indptr[g+1]+g+1], one value per k = 0…m.
"""

from __future__ import annotations

import math

import numpy as np

from argmetric._ground.jit import inner, kernel
from argmetric._ground.jit.lanes import alike, eight, put

LANES = 8  # nodes side by side in one pass over the items
BLOCK = 64  # items between two fresh exponentials: bounds the drift of products
PRUNE = 34.0  # -log of the tolerance, and a little
SERIES = 12  # a power series in p longer than this is slower than the products
TINY = 1e-300  # a factor that underflows ends a block, which has one item then
LOG_BLOCK = 16  # phi ≥ e^-34.5 over the nodes in use: 16 factors cannot underflow


@inner
def log_generating(p, q, start, stop, u, drop, lanes, result):
    """Set result[j] = Σ_i log phi_i(u[j]) over items start … stop, p sorted.

    drop is 1-u.

    Where p·(1-u) is small, phi-1 is multiplied up instead of phi: a product of
    numbers near 1 loses a rounding error per item, of the same sign when p repeats.
    So would 1-u of a rounded u: over 10⁷ items that is 3e-11 of the result.
    """
    largest = 0.0
    for j in range(LANES):
        result[j] = 0.0
        largest = max(largest, drop[j])
    odds, fall = eight(u, 0), eight(drop, 0)
    one, first = alike(odds, 1.0), start
    while first < stop:
        last = min(first + LOG_BLOCK, stop)
        if max(p[first], p[last - 1]) * largest <= 0.5:
            product = alike(odds, 0.0)
            for i in range(first, last):
                a = -p[i] * fall
                product = product + (a + a * product)
            put(lanes, 0, product)
            for j in range(LANES):
                result[j] += math.log1p(lanes[j])
        else:
            product = one
            for i in range(first, last):
                product = product * (p[i] * odds + q[i])
            put(lanes, 0, product)
            for j in range(LANES):
                result[j] += math.log(lanes[j])
        first = last


@inner
def series_length(largest):
    """Return terms until (p·(1-u))^r is below rounding; 0 if too many.

    `largest` is the largest p·(1-u).

    With many expected positives every node that matters has u near 1.
    """
    if largest <= 1e-18:
        return 1
    terms = int(-37.0 / math.log(largest)) + 2 if largest < 0.5 else SERIES + 1
    return terms if terms <= SERIES else 0


@kernel
def power_sums(p, start, stop, sums):
    """Set sums[r] = Σ p_i^(r+1)."""
    partial = np.empty(sums.shape[0])
    for r in range(sums.shape[0]):
        sums[r] = 0.0
    for first in range(start, stop, BLOCK):
        for r in range(sums.shape[0]):
            partial[r] = 0.0
        for i in range(first, min(first + BLOCK, stop)):
            power = 1.0
            for r in range(sums.shape[0]):
                power *= p[i]
                partial[r] += power
        for r in range(sums.shape[0]):
            sums[r] += partial[r]


@inner
def log_series(sums, drop):
    """Return Σ_i log(1 - p_i·drop) = -Σ_r sums[r]·drop^(r+1)/(r+1)."""
    value = 0.0
    for step in range(sums.shape[0]):
        r = sums.shape[0] - 1 - step
        value = drop * (sums[r] / (r + 1) + value)
    return -value


@inner
def polynomial_curve(p, start, stop, coefficients, out, place):
    """Set out[place+k] = Σ_{i≤k} Σ_r coefficients[r]·p_i^(r+1), from k = 1 on."""
    total, partial = 0.0, 0.0
    terms = coefficients.shape[0]
    for i in range(start, stop):
        value = 0.0
        for step in range(terms):
            value = p[i] * (coefficients[terms - 1 - step] + value)
        partial += value
        out[place + i - start + 1] = total + partial
        if (i - start) % BLOCK == BLOCK - 1:
            total += partial
            partial = 0.0


@inner
def nodes_end(s, first, last, mean, rate, limit):
    """Return one past the last node that matters, for a denominator D ≥ 1.

    E e^(-s·D) ≤ exp(-s - (mean-1)₊·(1-e^(-s·rate))) where each positive but one adds
    at least `rate` to D: nodes past the limit add less than the tolerance to E[1/D].
    """
    while last - first > 1:
        node = s[last - 1]
        if node - max(mean - 1.0, 0.0) * math.expm1(-node * rate) <= limit:
            break
        last -= 1
    return last


@inner
def dot(a, b):
    """Return Σ a·b over the lanes, in two chains that run side by side."""
    even, odd = a[0] * b[0], a[1] * b[1]
    for j in range(2, LANES, 2):
        even += a[j] * b[j]
        odd += a[j + 1] * b[j + 1]
    return even + odd


@inner
def lane_sum(lanes):
    """Return the sum over the lanes, pair by pair."""
    first = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
    return first + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))


@inner
def add_hits(p, q, first, last, u, decay, lanes, total, out):
    """Add Σ_q current·decay^k·(total + Σ_{i≤k} p_i/phi_i(u)) to out[k].

    Items count from `first`.

    `lanes` holds what is current, and `total` gains the sums over all items.
    """
    odds, less, current = eight(u, 0), eight(decay, 0), eight(lanes, 0)
    before = eight(total, 0)
    hits = alike(before, 0.0)
    for i in range(first, last):
        hits = hits + alike(hits, p[i]) / (p[i] * odds + q[i])
        current = current * less
        put(lanes, 0, current * (before + hits))
        out[i - first] += lane_sum(lanes)
    put(total, 0, before + hits)


@kernel
def hit_curves(p, q, indptr, rule, rules, s, w, alpha, base, dk, dt, low, high, out):
    """Write E[tp / (base + dk·k + dt·t)^α] for every k ≥ 1 of every segment.

    out_k = Σ_q w_q·e^(-s(base+dk·k))·u·G·V_k with u = e^(-s·dt), G = Π phi_i(u),
    V_k = Σ_{i≤k} p_i/phi_i(u). Segment g uses the nodes rules[rule[g]]…rules[…+1],
    made for denominators from 1 and scaled to low[g]. O(n·Q).
    """
    u, drops = np.empty(LANES), np.empty(LANES)
    scaled = np.empty(LANES)
    log_scale = np.empty(LANES)
    decay = np.empty(LANES)
    current = np.empty(LANES)
    total = np.empty(LANES)
    for g in range(indptr.shape[0] - 1):
        start, stop = indptr[g], indptr[g + 1]
        offset, unit = start + g, 1.0 / low[g]
        for k in range(stop - start + 1):
            out[offset + k] = 0.0
        mean = 0.0
        for i in range(start, stop):
            mean += p[i]
        if mean == 0.0:
            continue
        first_node, last_node = rules[rule[g]], rules[rule[g] + 1]
        limit = PRUNE + math.log(high[g] / low[g])
        last_node = nodes_end(s, first_node, last_node, mean, unit * dt, limit)
        # Of items of low p, from `tail` on, few sums of powers tell all.
        largest, tail, terms = -math.expm1(-s[last_node - 1] * unit * dt), start, 0
        while tail < stop and terms == 0:
            terms = series_length(largest * p[tail])
            tail += terms == 0
        sums = np.empty(terms)
        power_sums(p, tail, stop, sums)
        if dk == 0.0 and tail == start:
            # The weight of an item is then a polynomial in p: Σ_q W_q·p/(1-p(1-u_q)).
            coefficients = np.zeros(sums.shape[0])
            for node in range(first_node, last_node):
                drop = -math.expm1(-s[node] * unit * dt)
                level = log_series(sums, drop) - s[node] * unit * (base[g] + dt)
                weight = w[node] * unit**alpha * math.exp(level)
                for r in range(coefficients.shape[0]):
                    coefficients[r] += weight
                    weight *= drop
            polynomial_curve(p, start, stop, coefficients, out, offset)
            continue
        node = first_node
        while node < last_node:
            for j in range(LANES):
                source = min(node + j, last_node - 1)
                scaled[j] = s[source] * unit
                u[j] = math.exp(-scaled[j] * dt)
                drops[j] = -math.expm1(-scaled[j] * dt)
                decay[j] = math.exp(-scaled[j] * dk)
                total[j] = 0.0
            log_generating(p, q, start, tail, u, drops, current, log_scale)
            for j in range(LANES):
                source = min(node + j, last_node - 1)
                log_scale[j] += log_series(sums, drops[j])
                log_scale[j] += math.log(w[source] * unit**alpha)
                log_scale[j] -= scaled[j] * (base[g] + dt)
                if node + j >= last_node:
                    log_scale[j] = -np.inf
            slowest = scaled[0] * dk
            first = start
            while first < stop:
                last = min(first + BLOCK, stop)
                done = first - start
                if slowest * done > limit + PRUNE:
                    break  # e^(-s·dk·k) has fallen below the tolerance for good
                for j in range(LANES):
                    current[j] = math.exp(log_scale[j] - scaled[j] * dk * done)
                here = out[offset + done + 1 : offset + last - start + 1]
                add_hits(p, q, first, last, u, decay, current, total, here)
                first = last
            node += LANES


@inner
def add_products(p, q, first, last, u, growth, lanes, out):
    """Add Σ_lanes lanes·Π_{k<j≤last} phi_j(u)·growth to out[k - first], k descending.

    One factor is multiplied in for each item, so that nothing is divided. `lanes` is
    left with the product over all items.
    """
    odds, more, current = eight(u, 0), eight(growth, 0), eight(lanes, 0)
    for i in range(last - 1, first - 1, -1):
        current = current * ((p[i] * odds + q[i]) * more)
        put(lanes, 0, current)
        out[i - first] += lane_sum(lanes)


@inner
def add_logs(before, more, lost, after):
    """Add logarithms in each lane; the rounding error is carried along."""
    for j in range(LANES):
        term = more[j] - lost[j]
        after[j] = before[j] + term
        lost[j] = (after[j] - before[j]) - term if after[j] > -np.inf else 0.0


@inner
def block_width(steepest):
    """Return over how many items a product that changes so much cannot overflow."""
    return max(1, min(BLOCK, int(600.0 / max(steepest, 1e-300))))


@kernel
def ratio_curves(p, q, indptr, rule, rules, s, w, c, d, sizes, low, high, out):
    """Write E[(c0·n+c1·tp+c2·k+c3·t) / (d0·n+d1·tp+d2·k+d3·t)] for every k.

    out_k = Σ_q w·e^(-s(d0·n+d2·k)) · Π_{i≤k} phi_i(u1) · Π_{j>k} phi_j(u2) · [c0·n
    + c2·k + (c1+c3)·Σ_{i≤k} rho_i(u1) + c3·Σ_{j>k} rho_j(u2)], u1 = e^(-s(d1+d3)),
    u2 = e^(-s·d3), rho = p·u/phi. The logarithms are summed anew at every block;
    inside a block the product is carried, over so few items that it cannot overflow.
    Where u1 is above 1, phi(u1) = u1·(p + q/u1), and u1 goes into e^(-s·d2·k). O(n·Q).
    """
    hit, miss = d[1] + d[3], d[3]
    step = d[2] + min(hit, 0.0)
    rate = max(0.0, min(d[1] + d[2] + d[3], d[3])) if d[2] >= 0 else 0.0
    shrinking = d[2] >= 0 and d[1] + d[2] >= 0  # the terms fall as k grows
    turn = abs(d[2]) + abs(hit) + abs(miss)
    u1, v1 = np.ones(LANES), np.ones(LANES)  # phi(u1) = p·u1 + q·v1
    u2, decay = np.empty(LANES), np.empty(LANES)
    scaled, growth = np.empty(LANES), np.empty(LANES)
    drop, fall = np.empty(LANES), np.empty(LANES)  # 1 - u of misses, and of hits
    log_w, logs, lost = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    current, term = np.empty(LANES), np.empty(LANES)
    hits, earlier = np.empty(LANES), np.empty(LANES)  # of a block, and before it
    misses = np.empty((BLOCK + 1, LANES))
    for g in range(indptr.shape[0] - 1):
        start, stop = indptr[g], indptr[g + 1]
        m, n, offset, unit = stop - start, sizes[g], start + g, 1.0 / low[g]
        for k in range(m + 1):
            out[offset + k] = 0.0
        mean = 0.0
        for i in range(start, stop):
            mean += p[i]
        first_node, last_node = rules[rule[g]], rules[rule[g] + 1]
        limit = PRUNE + math.log(high[g] / low[g])
        last_node = nodes_end(s, first_node, last_node, mean, unit * rate, limit)
        # Whether the numerator is the same for all nodes, and no step back too large
        apart = hit == 0.0 and c[3] == 0.0
        apart &= s[last_node - 1] * unit * abs(d[2]) < 300.0
        width = block_width(s[last_node - 1] * unit * turn)  # the least
        blocks = (m + width - 1) // width
        log_hit = np.zeros((blocks + 1, LANES))
        log_miss = np.zeros((blocks + 1, LANES))
        rho_miss = np.zeros((blocks + 1, LANES))
        # Of a block of low p few sums of powers tell all: see `log_series`.
        powers, terms = np.empty((blocks, SERIES)), np.zeros(blocks, np.int64)
        largest = -math.expm1(-s[last_node - 1] * unit * miss)
        node, width = first_node, 0
        while node < last_node:
            steepest = s[min(node + LANES, last_node) - 1] * unit * turn
            if block_width(steepest) != width:
                width = block_width(steepest)
                blocks = (m + width - 1) // width
                log_miss[blocks], rho_miss[blocks] = 0.0, 0.0
                for b in range(blocks if miss > 0.0 else 0):
                    first = start + b * width
                    terms[b] = series_length(largest * p[first])
                    own = powers[b, : terms[b]]
                    power_sums(p, first, min(first + width, stop), own)
            for j in range(LANES):
                source = min(node + j, last_node - 1)
                scaled[j] = s[source] * unit
                if hit < 0.0:
                    v1[j] = math.exp(scaled[j] * hit)
                else:
                    u1[j] = math.exp(-scaled[j] * hit)
                u2[j] = math.exp(-scaled[j] * miss)
                drop[j] = -math.expm1(-scaled[j] * miss)
                fall[j] = -math.expm1(-scaled[j] * abs(hit))
                growth[j] = math.exp(scaled[j] * d[2])
                decay[j] = math.exp(-scaled[j] * step)
                log_w[j] = math.log(w[source] * unit) - scaled[j] * d[0] * n
                if node + j >= last_node:
                    log_w[j] = -np.inf
                hits[j], earlier[j], lost[j] = 0.0, 0.0, 0.0
            for b in range(blocks):
                first = start + b * width
                last = min(first + width, stop)
                if hit < 0.0:
                    log_generating(q, p, first, last, v1, fall, term, logs)
                elif hit > 0.0:
                    log_generating(p, q, first, last, u1, fall, term, logs)
                if hit != 0.0:
                    add_logs(log_hit[b], logs, lost, log_hit[b + 1])
            lost[:] = 0.0
            for b in range(blocks - 1, -1, -1):
                first = start + b * width
                last = min(first + width, stop)
                if terms[b] > 0:
                    own = powers[b, : terms[b]]
                    for j in range(LANES):
                        logs[j] = log_series(own, drop[j])
                elif miss != 0.0:
                    log_generating(p, q, first, last, u2, drop, term, logs)
                if miss != 0.0:
                    add_logs(log_miss[b + 1], logs, lost, log_miss[b])
                if c[3] != 0.0:
                    for j in range(LANES):
                        rho_miss[b, j] = 0.0
                    for i in range(first, last):
                        for j in range(LANES):
                            rho_miss[b, j] += (
                                p[i] * u2[j] / max(q[i] + p[i] * u2[j], TINY)
                            )
                    for j in range(LANES):
                        rho_miss[b, j] += rho_miss[b + 1, j]
            least = -(limit + PRUNE) - math.log(high[g]) if shrinking else -np.inf
            for b in range(blocks):
                first = start + b * width
                last = min(first + width, stop)
                highest = -np.inf
                for j in range(LANES):
                    level = log_w[j] + log_hit[b, j] + log_miss[b, j]
                    level -= scaled[j] * step * (first - start)
                    highest = max(highest, level)
                    current[j] = math.exp(level)
                    earlier[j] += hits[j]
                    hits[j] = 0.0
                if highest < least:
                    break
                if apart:
                    for j in range(LANES):
                        level = log_w[j] + log_miss[b + 1, j]
                        current[j] = math.exp(level - scaled[j] * d[2] * (last - start))
                    here = out[offset + first - start : offset + last - start]
                    add_products(p, q, first, last, u2, growth, current, here)
                    continue
                if c[3] != 0.0:
                    for j in range(LANES):
                        misses[last - first, j] = rho_miss[b + 1, j]
                    for i in range(last - 1, first - 1, -1):
                        row = i - first
                        for j in range(LANES):
                            rho = p[i] * u2[j] / max(q[i] + p[i] * u2[j], TINY)
                            misses[row, j] = misses[row + 1, j] + rho
                for i in range(first, last):
                    pi, qi = p[i], q[i]
                    plain = c[0] * n + c[2] * (i - start)
                    for j in range(LANES):
                        term[j] = plain + (c[1] + c[3]) * (earlier[j] + hits[j])
                    if c[3] != 0.0:
                        for j in range(LANES):
                            term[j] += c[3] * misses[i - first, j]
                    out[offset + i - start] += dot(current, term)
                    for j in range(LANES):
                        phi = max(qi * v1[j] + pi * u1[j], TINY)
                        hits[j] += pi * u1[j] / phi
                        current[j] *= decay[j] * phi / max(qi + pi * u2[j], TINY)
            for j in range(LANES):
                level = log_w[j] + log_hit[blocks, j] - scaled[j] * step * m
                current[j] = math.exp(level)
                term[j] = c[0] * n + c[2] * m + (c[1] + c[3]) * (earlier[j] + hits[j])
            out[offset + m] += lane_sum(current) if apart else dot(current, term)
            node += LANES
        if apart:
            total, partial = 0.0, 0.0
            for k in range(m + 1):
                out[offset + k] *= c[0] * n + c[2] * k + c[1] * (total + partial)
                if k < m:
                    partial += p[start + k]
                if k % BLOCK == BLOCK - 1:
                    total, partial = total + partial, 0.0
