"""Exact expectations of one class's ratio, and the climb on them.

T true rows of a class are a sum of independent labels. With b_tp = 0,
E[a·tp/(b_k·k + b_t·T)] is a·Σ p_i over the rows i given c, each times the integral
∫₀¹ s^(b_k·k + b_t - 1) Π_{j≠i} (1 - p_j(1-s^b_t)) ds. Jaccard's tp/(k + fn), where tp
and fn are of different rows, has h·∫₀¹ s^(k-1) Π (1 - p_j(1-s)) ds over the rows j that
are not given c. With s = e^(-x/D), D near the mean of the denominator, 8 nodes of Gauss
and Laguerre give the integrals to 1e-7.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from argmetric._ground.jit import inner, kernel
from argmetric._ground.jit.pmfs import PAD, add_labels, no_labels, pmf_capacity
from argmetric._ground.types import Floats
from argmetric.classes.kernels.climb import LEAST_GAIN, MOST_SWEEPS, class_sums

# mypy: disable-error-code="no-untyped-def,no-untyped-call"


class Nodes(NamedTuple):
    """Integrands of all classes at the quadrature nodes x, with weights w (n_nodes,).

    The expected value is Σ_q now·r, or h·Σ_q now for Jaccard.

    s, step, now, r : ndarray of shape (n_classes, n_nodes)
        s^b_t; the factor that one more row brings; the weights, the product over rows
        and the power of k; and Σ p/(1-p(1-s)) over the rows of the class.
    """

    jaccard: bool
    a: float
    b_k: float
    b_t: float
    x: Floats
    w: Floats
    s: Floats
    step: Floats
    now: Floats
    r: Floats


@kernel
def empty_nodes(C, jaccard, a, b_k, b_t, x, w):
    """Return nodes of C classes, to be written by `set_nodes`."""
    shape = C, x.shape[0]
    s, step, now, r = np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape)
    return Nodes(jaccard, a, b_k, b_t, x, w, s, step, now, r)


@inner
def set_nodes(p, first, last, labels, nodes, h, k, mu):
    """Write the nodes of every class for its present rows."""
    jaccard, a, b_k, b_t = nodes.jaccard, nodes.a, nodes.b_k, nodes.b_t
    x, w, s, step, now, r = nodes.x, nodes.w, nodes.s, nodes.step, nodes.now, nodes.r
    C, Q = p.shape[1], x.shape[0]
    for c in range(C):
        rows = max(k[c], 1.0)
        scale = rows + mu[c] - h[c] if jaccard else b_k * rows + b_t * (1.0 + mu[c])
        scale = max(scale, 1e-3)
        power = k[c] if jaccard else k[c] * b_k + b_t
        for q in range(Q):
            s[c, q] = math.exp(-x[q] * (1.0 if jaccard else b_t) / scale)
            step[c, q] = math.exp(-x[q] * (1.0 if jaccard else b_k) / scale)
            now[c, q] = w[q] * a / scale * math.exp(-x[q] * power / scale)
            r[c, q] = 0.0
    for i in range(first, last):
        z = labels[i]
        for q in range(Q):
            r[z, q] += p[i, z] / (1.0 - p[i, z] * (1.0 - s[z, q]))
        for c in range(C):
            if not (c == z and jaccard):
                for q in range(Q):
                    now[c, q] *= 1.0 - p[i, c] * (1.0 - s[c, q])


@inner
def value_now(nodes, c, h):
    """Return the expected value of class c."""
    total = 0.0
    for q in range(nodes.x.shape[0]):
        total += nodes.now[c, q] * (h if nodes.jaccard else nodes.r[c, q])
    return total


@inner
def value_with_one(nodes, c, p, h):
    """Return the expected value of class c after a row of probability p has come."""
    s, step, now, r, total = nodes.s, nodes.step, nodes.now, nodes.r, 0.0
    for q in range(now.shape[1]):
        factor = 1.0 - p * (1.0 - s[c, q])
        if nodes.jaccard:
            total += now[c, q] * step[c, q] / factor * (h + p)
        else:
            total += now[c, q] * step[c, q] * (r[c, q] + p / factor)
    return total


@inner
def value_without_one(nodes, c, p, h):
    """Return the expected value of class c after a row of probability p has gone."""
    s, step, now, r, total = nodes.s, nodes.step, nodes.now, nodes.r, 0.0
    for q in range(now.shape[1]):
        factor = 1.0 - p * (1.0 - s[c, q])
        if nodes.jaccard:
            total += now[c, q] / step[c, q] * factor * (h - p)
        else:
            total += now[c, q] / step[c, q] * (r[c, q] - p / factor)
    return total


@kernel
def climb_exact(
    p, starts, labels, jaccard, a, b_k, b_t, mu, weight, empty, most, floor, x, w, h, k
):
    """Improve labels in place while the sum of weight times expected value rises."""
    C, Q, value = p.shape[1], x.shape[0], np.empty(p.shape[1])
    nodes = empty_nodes(C, jaccard, a, b_k, b_t, x, w)
    s, step, now, r = nodes.s, nodes.step, nodes.now, nodes.r
    for g in range(starts.shape[0] - 1):
        first, last = starts[g], starts[g + 1]
        for _ in range(MOST_SWEEPS):
            class_sums(p, first, last, labels, h[g], k[g])
            set_nodes(p, first, last, labels, nodes, h[g], k[g], mu[g])
            for c in range(C):
                value[c] = empty[g, c]
                if k[g, c] > 0.0:
                    value[c] = weight[g, c] * value_now(nodes, c, h[g, c])
            moved = 0
            for i in range(first, last):
                z = labels[i]
                if h[g, z] - p[i, z] < floor[g, z]:
                    continue
                left = empty[g, z]
                if k[g, z] > 1.0:
                    left = value_without_one(nodes, z, p[i, z], h[g, z])
                    left *= weight[g, z]
                best, most_gain, best_value = z, value[z] - left + LEAST_GAIN, 0.0
                for c in range(C):
                    if c == z or k[g, c] >= most[g, c]:
                        continue
                    found = value_with_one(nodes, c, p[i, c], h[g, c])
                    found *= weight[g, c]
                    if found - value[c] > most_gain:
                        best, most_gain, best_value = c, found - value[c], found
                if best == z:
                    continue
                for q in range(Q):
                    out = 1.0 - p[i, z] * (1.0 - s[z, q])
                    come = 1.0 - p[i, best] * (1.0 - s[best, q])
                    r[z, q] -= p[i, z] / out
                    r[best, q] += p[i, best] / come
                    now[z, q] /= step[z, q]
                    now[best, q] *= step[best, q]
                    if jaccard:
                        now[z, q] *= out
                        now[best, q] /= come
                h[g, z], k[g, z] = max(h[g, z] - p[i, z], 0.0), k[g, z] - 1.0
                h[g, best] += p[i, best]
                k[g, best] += 1.0
                labels[i] = best
                value[z], value[best] = left, best_value
                moved += 1
            if moved == 0:
                break


@kernel
def exact_values(p, starts, labels, jaccard, a, b_k, b_t, mu, x, w, h, k, value):
    """Write the expected value of every class that has rows; the rest stay."""
    nodes = empty_nodes(p.shape[1], jaccard, a, b_k, b_t, x, w)
    for g in range(starts.shape[0] - 1):
        set_nodes(p, starts[g], starts[g + 1], labels, nodes, h[g], k[g], mu[g])
        for c in range(p.shape[1]):
            if k[g, c] > 0.0:
                value[g, c] = value_now(nodes, c, h[g, c])


@kernel
def weights_at(p, k, a, b_k, b_t, mu, x, w, out):
    """Write a·p_i·E[1/(b_k·k + b_t·(1 + T_-i))] of every row, T_-i the others."""
    Q = x.shape[0]
    scale = b_k * k + b_t * (1.0 + mu)
    away, now = np.empty(Q), np.empty(Q)
    for q in range(Q):
        away[q] = 1.0 - math.exp(-x[q] * b_t / scale)
        now[q] = w[q] * a / scale * math.exp(-x[q] * (b_k * k + b_t) / scale)
    for i in range(p.shape[0]):
        for q in range(Q):
            now[q] *= 1.0 - p[i] * away[q]
    for i in range(p.shape[0]):
        total = 0.0
        for q in range(Q):
            total += now[q] / (1.0 - p[i] * away[q])
        out[i] = p[i] * total


TOLERANCE = 1e-18  # probabilities of a count below it are trimmed
NEVER = 1e-17  # probability of an absence that is as good as none
MOST_ABSENT = 12  # classes that may be absent: there are 2^12 sets of them


@kernel
def count_distribution(one, none, pmf, spare):
    """Write probabilities of the number of rows that are right, from PAD on.

    Return the first count and how many there are.
    """
    low, length = no_labels(pmf)
    low, length, _ = add_labels(
        one, none, 0, one.shape[0], TOLERANCE, low, length, pmf, spare
    )
    return low, length


@inner
def class_values(
    p, rest, first, last, labels, c, a, b_tp, b_k, b_t, one, none, hits, misses, spare
):
    """Return E[v_c] and E[v_c·t_c], t_c the true rows, with p divided by `rest`."""
    k = 0
    for i in range(first, last):
        k += labels[i] == c
    own, other = 0, k
    for i in range(first, last):
        q = p[i, c] / rest[i - first]
        if labels[i] == c:
            one[own], none[own] = q, 1.0 - q
            own += 1
        else:
            one[other], none[other] = q, 1.0 - q
            other += 1
    low, length = no_labels(hits)
    low, length, _ = add_labels(one, none, 0, k, TOLERANCE, low, length, hits, spare)
    under, size = no_labels(misses)
    under, size, _ = add_labels(
        one, none, k, last - first, TOLERANCE, under, size, misses, spare
    )
    value, weighted = 0.0, 0.0
    for x in range(max(low, 1), low + length):
        inside, outside = 0.0, 0.0
        for y in range(under, under + size):
            part = misses[PAD + y - under] / (b_tp * x + b_k * k + b_t * (x + y))
            inside += part
            outside += part * (x + y)
        value += hits[PAD + x - low] * a * x * inside
        weighted += hits[PAD + x - low] * a * x * outside
    return value, weighted


@inner
def steps_of(p, first, last, sets):
    """Return about how many products the exact expectation of a group takes."""
    steps = 0.0
    for c in range(p.shape[1]):
        variance = 0.0
        for i in range(first, last):
            variance += p[i, c] * (1.0 - p[i, c])
        room = pmf_capacity(variance, last - first)
        steps += room * (last - first + room)
    return steps * sets


@inner
def probability_without(p, first, last, absent, chosen, rest):
    """Return the probability that no row is of the classes in a set.

    `rest` gets that of each row. Bit j of `chosen` says whether the class absent[j] is
    in the set.
    """
    probability = 1.0
    for i in range(first, last):
        left, j = 0.0, 0
        for c in range(p.shape[1]):
            if j < absent.shape[0] and absent[j] == c:
                j += 1
                if (chosen >> (j - 1)) & 1:
                    continue
            left += p[i, c]
        rest[i - first] = min(left, 1.0)
        probability *= rest[i - first]
    return probability


@kernel
def ratio_means(
    p, starts, labels, a, b_tp, b_k, b_t, by_support, worth, most_steps, mean, value,
    known,
):  # fmt: skip
    """Write the expected mean of every group and expected values of its classes.

    An absent class counts `worth`, nan if it is left out. A group that takes more than
    `most_steps` is not `known`, and keeps what it had.
    """
    C, longest = p.shape[1], 0
    for g in range(starts.shape[0] - 1):
        longest = max(longest, starts[g + 1] - starts[g])
    room = pmf_capacity(0.25 * longest, longest)
    hits, misses, spare = np.empty(room), np.empty(room), np.empty(room)
    one, none, rest = np.empty(longest), np.empty(longest), np.empty(longest)
    missing = np.empty(C)  # probability that the class is absent
    for g in range(starts.shape[0] - 1):
        first, last = starts[g], starts[g + 1]
        missing[:] = 1.0
        for i in range(first, last):
            for c in range(C):
                missing[c] *= 1.0 - p[i, c]
        if b_k > 0.0:  # a class that is given to a row is there
            for i in range(first, last):
                missing[labels[i]] = 0.0
        leaves_out = math.isnan(worth) and not by_support
        absent = np.flatnonzero(missing > (NEVER if leaves_out else 2.0))
        known[g] = (
            absent.shape[0] <= MOST_ABSENT
            and steps_of(p, first, last, 1 << absent.shape[0]) <= most_steps
        )
        if not known[g]:
            continue
        mean[g] = 0.0
        for chosen in range(1 << absent.shape[0]):
            probability = 1.0
            rest[:] = 1.0
            if chosen:
                probability = probability_without(p, first, last, absent, chosen, rest)
            if probability <= NEVER:
                continue
            factor, b = 1.0 / C, 0
            for j in range(absent.shape[0]):
                if (chosen >> j) & 1:
                    b += 1
                    factor *= b / (C - b)
            j = 0
            for c in range(C):
                if j < absent.shape[0] and absent[j] == c:
                    j += 1
                    if (chosen >> (j - 1)) & 1:
                        continue
                found, weighted = class_values(
                    p, rest, first, last, labels, c, a, b_tp, b_k, b_t, one, none,
                    hits, misses, spare,
                )  # fmt: skip
                if by_support:
                    mean[g] += weighted / (last - first)
                else:
                    mean[g] += probability * factor * found
                if not chosen:
                    value[g, c] = found
        if not (leaves_out or by_support):
            for c in range(C):
                value[g, c] += worth * missing[c]
                mean[g] += worth * missing[c] / C
