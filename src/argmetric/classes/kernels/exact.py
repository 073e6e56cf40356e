"""Exact expectations of one class's ratio, and the climb on them.

T true rows of a class are a sum of independent labels. With b_tp = 0,
E[a·tp/(b_k·k + b_t·T)] is a·Σ p_i over the rows i given c, each times the integral
∫₀¹ s^(b_k·k + b_t - 1) Π_{j≠i} (1 - p_j(1-s^b_t)) ds. Jaccard's tp/(k + fn), where tp
and fn are of different rows, has h·∫₀¹ s^(k-1) Π (1 - p_j(1-s)) ds over the rows j that
are not given c. With s = e^(-x/D), D near the mean of the denominator, 8 nodes of Gauss
and Laguerre give the integrals to 1e-7.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from argmetric._ground.jit import inner, kernel
from argmetric.classes.kernels.climb import LEAST_GAIN, MOST_SWEEPS, class_sums


@inner
def set_nodes(
    p, first, last, labels, jaccard, a, b_k, b_t, h, k, mu, x, w, s, step, now, r
):
    """Nodes of every class for its present rows.

    `s` gets s^b_t and `step` the factor that one more row brings. The expected value is
    Σ_q now·r, or h·Σ_q now for Jaccard: `now` has the weights, the product over rows
    and the power of k, and `r` has Σ p/(1-p(1-s)) over the rows of the class.
    """
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
def value_now(c, h, jaccard, now, r):
    """Expected value of class c."""
    total = 0.0
    for q in range(now.shape[1]):
        total += now[c, q] * (h if jaccard else r[c, q])
    return total


@inner
def value_with_one(c, p, h, jaccard, s, step, now, r):
    """Expected value of class c after a row of probability p has come."""
    total = 0.0
    for q in range(now.shape[1]):
        factor = 1.0 - p * (1.0 - s[c, q])
        if jaccard:
            total += now[c, q] * step[c, q] / factor * (h + p)
        else:
            total += now[c, q] * step[c, q] * (r[c, q] + p / factor)
    return total


@inner
def value_without_one(c, p, h, jaccard, s, step, now, r):
    """Expected value of class c after a row of probability p has gone."""
    total = 0.0
    for q in range(now.shape[1]):
        factor = 1.0 - p * (1.0 - s[c, q])
        if jaccard:
            total += now[c, q] / step[c, q] * factor * (h - p)
        else:
            total += now[c, q] / step[c, q] * (r[c, q] - p / factor)
    return total


@kernel
def climb_exact(
    p, starts, labels, jaccard, a, b_k, b_t, mu, weight, empty, most, floor, x, w, h, k
):
    """Improve labels in place while the sum of weight times expected value rises."""
    C, Q = p.shape[1], x.shape[0]
    s, step = np.empty((C, Q)), np.empty((C, Q))
    now, r, value = np.empty((C, Q)), np.empty((C, Q)), np.empty(C)
    for g in range(starts.shape[0] - 1):
        first, last = starts[g], starts[g + 1]
        for _ in range(MOST_SWEEPS):
            class_sums(p, first, last, labels, h[g], k[g])
            set_nodes(
                p, first, last, labels, jaccard, a, b_k, b_t, h[g], k[g], mu[g], x, w,
                s, step, now, r,
            )  # fmt: skip
            for c in range(C):
                value[c] = empty[g, c]
                if k[g, c] > 0.0:
                    value[c] = weight[g, c] * value_now(c, h[g, c], jaccard, now, r)
            moved = 0
            for i in range(first, last):
                z = labels[i]
                if h[g, z] - p[i, z] < floor[g, z]:
                    continue
                left = empty[g, z]
                if k[g, z] > 1.0:
                    left = weight[g, z] * value_without_one(
                        z, p[i, z], h[g, z], jaccard, s, step, now, r
                    )
                best, most_gain, best_value = z, value[z] - left + LEAST_GAIN, 0.0
                for c in range(C):
                    if c == z or k[g, c] >= most[g, c]:
                        continue
                    found = weight[g, c] * value_with_one(
                        c, p[i, c], h[g, c], jaccard, s, step, now, r
                    )
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
    """Expected value of every class that has rows; the rest stay as given."""
    C, Q = p.shape[1], x.shape[0]
    s, step = np.empty((C, Q)), np.empty((C, Q))
    now, r = np.empty((C, Q)), np.empty((C, Q))
    for g in range(starts.shape[0] - 1):
        set_nodes(
            p, starts[g], starts[g + 1], labels, jaccard, a, b_k, b_t, h[g], k[g],
            mu[g], x, w, s, step, now, r,
        )  # fmt: skip
        for c in range(C):
            if k[g, c] > 0.0:
                value[g, c] = value_now(c, h[g, c], jaccard, now, r)
