"""Pass over the rows of a linear model: smooth counts, likelihood, margins.

A row has the margin z = x·θ + θ₀ and g = 1/(1+e^(-γz)). One pass reads each row once
and leaves, for the positives (first) and the negatives (second),

    smooth counts   sums[c] = Σ w·g            slopes[c] = Σ w·g(1-g)·(x, 1)
    likelihood      sums[c] = -Σ w·log p(y)    slopes[c] = Σ w·(g-y)·(x, 1)

so the gradient of any function of the counts follows from four numbers. Rows are taken
in tiles that stay in the fastest cache between the product and the sum; within a
tile several rows at a time, because a sum that must keep its order runs at the
latency of one addition.
"""

from __future__ import annotations

import math

import numpy as np

from argmetric._ground.jit import kernel

TILE = 64  # rows
TILE_CELLS = 4096  # cells of a tile: 32 kB


@kernel
def link(z, first, last, positive, weight, gamma, likelihood, sums, factor):
    """Add the sums over rows first…last with margins z.

    Set factor[r] to the row's slope.

    `z` and `factor` have one entry per row of the tile; `positive` and `weight` one per
    row of the matrix; `sums` has shape (2,).
    """
    hits, others = 0.0, 0.0
    for r in range(last - first):
        x, w = gamma * z[r], weight[first + r]
        small = math.exp(-abs(x))
        part = 1.0 / (1.0 + small)  # g of |x|: both tails keep their digits
        g = part if x >= 0.0 else small * part
        if likelihood:
            value = w * (math.log1p(small) + max(-x if positive[first + r] else x, 0.0))
            rest = small * part if x >= 0.0 else part
            factor[r] = -w * rest if positive[first + r] else w * g
        else:
            value = w * g
            factor[r] = w * small * part * part
        hits += value if positive[first + r] else 0.0
        others += 0.0 if positive[first + r] else value
    sums[0] += hits
    sums[1] += others


@kernel
def tile_margins(X, first, last, theta, intercept, z):
    """Set z[r] = x_(first+r)·θ + θ₀, four rows side by side."""
    count, k = last - first, X.shape[1]
    whole = count - count % 4
    for r in range(0, whole, 4):
        x0, x1 = X[first + r], X[first + r + 1]
        x2, x3 = X[first + r + 2], X[first + r + 3]
        z0, z1, z2, z3 = intercept, intercept, intercept, intercept
        for j in range(k):
            z0 += x0[j] * theta[j]
            z1 += x1[j] * theta[j]
            z2 += x2[j] * theta[j]
            z3 += x3[j] * theta[j]
        z[r], z[r + 1], z[r + 2], z[r + 3] = z0, z1, z2, z3
    for r in range(whole, count):
        x0 = X[first + r]
        z0 = intercept
        for j in range(k):
            z0 += x0[j] * theta[j]
        z[r] = z0


@kernel
def add_rows(X, first, rows, count, factor, total):
    """Add Σ factor·(x, 1) over the listed rows of a tile to `total`."""
    k = X.shape[1]
    whole = count - count % 4
    for r in range(0, whole, 4):
        x0, x1 = X[first + rows[r]], X[first + rows[r + 1]]
        x2, x3 = X[first + rows[r + 2]], X[first + rows[r + 3]]
        f0, f1 = factor[rows[r]], factor[rows[r + 1]]
        f2, f3 = factor[rows[r + 2]], factor[rows[r + 3]]
        for j in range(k):
            total[j] += (f0 * x0[j] + f1 * x1[j]) + (f2 * x2[j] + f3 * x3[j])
        total[k] += (f0 + f1) + (f2 + f3)
    for r in range(whole, count):
        x0, f0 = X[first + rows[r]], factor[rows[r]]
        for j in range(k):
            total[j] += f0 * x0[j]
        total[k] += f0


@kernel
def tile_rows(k):
    """Return the number of rows of a tile: as many as stay in the fastest cache."""
    return min(TILE, max(8, TILE_CELLS // (k + 1)))


@kernel
def dense_pass(
    X, start, stop, positive, weight, theta, intercept, gamma, likelihood, sums, slopes
):
    """Add the sums (2,) and slopes (2, k + 1) of rows start…stop."""
    step = tile_rows(X.shape[1])
    z, factor = np.empty(step), np.empty(step)
    rows = np.empty((2, step), dtype=np.intp)
    for first in range(start, stop, step):
        last = min(first + step, stop)
        tile_margins(X, first, last, theta, intercept, z)
        link(z, first, last, positive, weight, gamma, likelihood, sums, factor)
        hits, others = 0, 0
        for r in range(last - first):
            if positive[first + r]:
                rows[0, hits] = r
                hits += 1
            else:
                rows[1, others] = r
                others += 1
        add_rows(X, first, rows[0], hits, factor, slopes[0])
        add_rows(X, first, rows[1], others, factor, slopes[1])


@kernel
def dense_margins(X, start, stop, theta, intercept, z):
    """Set z[i] = x_i·θ + θ₀ for rows start…stop."""
    step = tile_rows(X.shape[1])
    for first in range(start, stop, step):
        last = min(first + step, stop)
        tile_margins(X, first, last, theta, intercept, z[first:last])


@kernel
def dense_combine(X, start, stop, factor, total):
    """Add Σ factor_i·(x_i, 1) over rows start…stop to `total`."""
    step = tile_rows(X.shape[1])
    rows = np.arange(step)
    for first in range(start, stop, step):
        last = min(first + step, stop)
        add_rows(X, first, rows, last - first, factor[first:last], total)


@kernel
def sparse_margin(data, indices, low, high, theta, intercept):
    """Return x·θ + θ₀ of one stored row."""
    total = intercept
    for place in range(np.uint64(low), np.uint64(high)):  # unsigned: never from the end
        total += data[place] * theta[np.uint64(indices[place])]
    return total


@kernel
def sparse_pass(
    data, indices, indptr, start, stop, positive, weight, theta, intercept, gamma,
    likelihood, sums, slopes,
):  # fmt: skip
    """Do `dense_pass` for a CSR matrix."""
    k = theta.shape[0]
    z, factor = np.empty(TILE), np.empty(TILE)
    for first in range(start, stop, TILE):
        last = min(first + TILE, stop)
        for i in range(first, last):
            low, high = indptr[i], indptr[i + 1]
            z[i - first] = sparse_margin(data, indices, low, high, theta, intercept)
        link(z, first, last, positive, weight, gamma, likelihood, sums, factor)
        for i in range(first, last):
            f = factor[i - first]
            side = np.uint64(0) if positive[i] else np.uint64(1)
            for place in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                slopes[side, np.uint64(indices[place])] += f * data[place]
            slopes[side, k] += f


@kernel
def sparse_margins(data, indices, indptr, start, stop, theta, intercept, z):
    """Do `dense_margins` for a CSR matrix."""
    for i in range(start, stop):
        low, high = indptr[i], indptr[i + 1]
        z[i] = sparse_margin(data, indices, low, high, theta, intercept)


@kernel
def sparse_combine(data, indices, indptr, start, stop, factor, total):
    """Do `dense_combine` for a CSR matrix."""
    k = total.shape[0] - 1
    for i in range(start, stop):
        for place in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            total[np.uint64(indices[place])] += factor[i] * data[place]
        total[k] += factor[i]


# Rows between two logarithms. phi is kept above FLOOR, which is too small to matter
# even if one item has 10^12 times the weight of others; no product of BLOCK underflows.
BLOCK = 8
FLOOR = 1e-36


@kernel
def logistic_pairs(margin, start, stop, gamma, p, q):
    """Set p = 1/(1+e^(-γz)) and q = 1-p, each with all its digits."""
    for i in range(start, stop):
        x = gamma * margin[i]
        small = math.exp(-abs(x))
        part = 1.0 / (1.0 + small)
        p[i] = part if x >= 0.0 else small * part
        q[i] = small * part if x >= 0.0 else part


@kernel
def fill_drops(s, c, drop):
    """Set drop[j] = 1 - u = 1 - e^(-s_j·c) at every node."""
    for j in range(s.shape[0]):
        drop[j] = -math.expm1(-s[j] * c)


@kernel
def expected_sums(p, q, positive, weight, code, drops, start, stop, s, levels, hits):
    """Add Σ log phi_i(s_j) to levels[j], and Σ_{y=1} c_i·r_i(s_j) to hits[j].

    `drops` has shape (n_distinct_weights, n_nodes) and holds 1-u; `code` is the row of
    each item in it. Both are empty if there are too many distinct weights.
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
    """Set out[i] = Σ_q H_q/phi_i·[y·c·u - (1-u)·(V_q - y·c·r)]."""
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
