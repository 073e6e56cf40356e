"""Expected F of a random output against gold labels, by exponential sums.

Row i is predicted positive with probability p_i. With the item weights c, gold labels
y and G = Σ c·y,

    J = (1+β²)·E[Σ c·y·ŷ / (β²·G + Σ c·ŷ)] = (1+β²)·Σ_q H_q·V_q,

u_iq = e^(-s_q·c_i), phi = 1-p + p·u, r = p·u/phi, V = Σ_{y=1} c·r and
H = w_q·e^(-s_q·β²·G)·Π phi; for one row j

    ∂J/∂p_j = (1+β²)·Σ_q H_q/phi_j·[y_j·c_j·u_j - (1-u_j)·(V_q - y_j·c_j·r_j)].
"""

from __future__ import annotations

import math

import numpy as np

from argmetric._ground.jit import kernel

# Rows between two logarithms; phi is kept above so little that it adds nothing, even
# where one item has 10^12 times the weight of others, and that no product underflows.
BLOCK = 8
FLOOR = 1e-36


@kernel
def logistic_pairs(margin, start, stop, gamma, p, q):
    """Probabilities p = 1/(1+e^(-γz)) and q = 1-p, each with all its digits."""
    for i in range(start, stop):
        x = gamma * margin[i]
        small = math.exp(-abs(x))
        part = 1.0 / (1.0 + small)
        p[i] = part if x >= 0.0 else small * part
        q[i] = small * part if x >= 0.0 else part


@kernel
def fill_drops(s, c, drop):
    """1 - u = 1 - e^(-s·c) at every node."""
    for j in range(s.shape[0]):
        drop[j] = -math.expm1(-s[j] * c)


@kernel
def expected_sums(p, q, positive, weight, code, drops, start, stop, s, levels, hits):
    """levels[j] += Σ log phi_i(s_j), hits[j] += Σ_{y=1} c_i·r_i(s_j).

    `drops` holds 1-u for the distinct weights, `code` their rows in it; where there
    are too many of them both are empty.
    """
    count, tabled = s.shape[0], drops.shape[0] > 0
    product, partial, own = np.empty(count), np.empty(count), np.empty(count)
    for first in range(start, stop, BLOCK):
        last = min(first + BLOCK, stop)
        largest = 0.0
        for i in range(first, last):
            largest = max(largest, p[i])
        # Near 1 the product of phi loses a rounding error per row: phi-1 instead.
        gentle = largest <= 0.5
        for j in range(count):
            product[j] = 0.0 if gentle else 1.0
            partial[j] = 0.0
        for i in range(first, last):
            drop = drops[code[i]] if tabled else own
            if not tabled:
                fill_drops(s, weight[i], own)
            if gentle:
                for j in range(count):
                    a = -p[i] * drop[j]
                    product[j] += a + a * product[j]
            else:
                for j in range(count):
                    product[j] *= max(q[i] + p[i] * (1.0 - drop[j]), FLOOR)
            if positive[i]:
                for j in range(count):
                    u = 1.0 - drop[j]
                    partial[j] += weight[i] * p[i] * u / max(q[i] + p[i] * u, FLOOR)
        for j in range(count):
            levels[j] += math.log1p(product[j]) if gentle else math.log(product[j])
            hits[j] += partial[j]


@kernel
def expected_slopes(
    p, q, positive, weight, code, drops, start, stop, s, heights, hits, out
):
    """out[i] = Σ_q H_q/phi_i·[y·c·u - (1-u)·(V_q - y·c·r)]."""
    count, tabled = s.shape[0], drops.shape[0] > 0
    own, terms = np.empty(count), np.empty(count)
    for i in range(start, stop):
        drop = drops[code[i]] if tabled else own
        if not tabled:
            fill_drops(s, weight[i], own)
        c = weight[i]
        if positive[i]:
            for j in range(count):
                u = 1.0 - drop[j]
                phi = max(q[i] + p[i] * u, FLOOR)
                rest = hits[j] - c * p[i] * u / phi
                terms[j] = heights[j] / phi * (c * u - drop[j] * rest)
        else:
            for j in range(count):
                phi = max(q[i] + p[i] * (1.0 - drop[j]), FLOOR)
                terms[j] = -heights[j] / phi * (drop[j] * hits[j])
        total = 0.0
        for j in range(count):
            total += terms[j]
        out[i] = total
