"""Quadrature for sums of many independent labels, from their cumulants.

With N fixed Gauss-Hermite nodes x and weights w, the sum S with mean μ and standard
deviation σ is replaced by the points μ + σ·x with weights w·Σ_{l<N} g_l·He_l(x), where
g_l = E[He_l((S-μ)/σ)]/l! follows from the cumulants. That is exact for
polynomials below degree N. Orders and nodes run along the first axis, sums along the
second.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from argmetric._input.types import Floats

MAX_NODES = 8


def label_powers(p: Floats, q: Floats, orders: int) -> Floats:
    """p, v, v·d, v², v²·d, … of single labels with v = p·q and d = q - p, as rows."""
    rows, v = np.empty((orders, p.size)), p * q
    rows[0], rows[1], rows[2:3] = p, v, v * (q - p)
    for j in range(3, orders):
        np.multiply(rows[j - 2], v, out=rows[j])
    return rows


def bernoulli_cumulants(p: Floats, q: Floats, n_cumulants: int = 7) -> Floats:
    """Cumulants 1, 2, … of single labels, one row each."""
    return cumulants_of(label_powers(p, q, n_cumulants))


def cumulants_of(sums: Floats) -> Floats:
    """Cumulants of sums of labels from the sums of their `label_powers`, by columns."""
    out = sums.copy()
    for r, row in enumerate(cumulant_matrix(sums.shape[0])[3:].tolist(), start=3):
        out[r] *= row[r]
        for column in range(r - 2, 0, -2):
            out[r] += row[column] * sums[column]
    return out


@cache
def cumulant_matrix(orders: int) -> Floats:
    """What takes p, v, v·d, v², v²·d, … to the cumulants; v = p·q and d = q - p.

    κ_1 = p and κ_{r+1} = v·dκ_r/dp with dv/dp = d, dd/dp = -2 and d² = 1 - 4v.
    """
    rows = np.zeros((orders, orders))
    rows[0, 0] = rows[1, 1] = 1.0
    for r in range(2, orders):
        for column, factor in enumerate(rows[r - 1, : orders - 1].tolist()):
            power = (column + 1) // 2
            if column % 2:  # v^j: v·j·v^(j-1)·d
                rows[r, column + 1] += power * factor
            elif factor:  # v^j·d: v·(j·v^(j-1)·(1 - 4v) - 2·v^j)
                rows[r, column - 1] += power * factor
                rows[r, column + 1] -= (4 * power + 2) * factor
    return rows


@cache
def hermite_nodes(n_nodes: int) -> tuple[Floats, Floats]:
    """Nodes, and the matrix that takes g_0…g_{N-1} to the weights."""
    from numpy.polynomial.hermite_e import hermegauss, hermevander

    nodes, weights = hermegauss(n_nodes)
    matrix = (weights / weights.sum())[:, None] * hermevander(nodes, n_nodes - 1)
    return nodes, np.ascontiguousarray(matrix)


def hermite_moments(reduced: Floats, n_nodes: int, lowest: int) -> Floats:
    """g_0…g_{N-1} from the reduced cumulants of order `lowest` and above.

    exp(Σ_j c_j·z^j/j!) = Σ_l g_l·z^l, so l·g_l = Σ_j j·(c_j/j!)·g_{l-j}.
    """
    g = np.zeros((n_nodes, reduced.shape[1]))
    g[0] = 1.0
    scale = [1.0 / math.factorial(j) for j in range(n_nodes - 1)]
    c = reduced[: n_nodes - 1] * np.array(scale)[:, None]
    for order in range(lowest, n_nodes):
        g[order] = c[order - 1]
        if order >= 2 * lowest:  # g_1…g_{lowest-1} are 0
            some = c[lowest - 1 : order - lowest] * g[order - lowest : lowest - 1 : -1]
            g[order] += some.sum(axis=0)
        g[order] /= order
    return g


def points_and_weights(cumulants: Floats, n_nodes: int) -> tuple[Floats, Floats]:
    """Points and weights (nodes, sums) of the sums with cumulants in the columns."""
    deviation = np.sqrt(cumulants[1])
    scale = 1.0 / deviation
    power = scale * scale
    reduced = np.zeros((n_nodes - 1, deviation.size))  # orders 1 and 2 reduce to 0
    for order in range(3, n_nodes):
        power = power * scale
        reduced[order - 1] = cumulants[order - 1] * power
    nodes, matrix = hermite_nodes(n_nodes)
    points = nodes[:, None] * deviation
    points += cumulants[0]
    return points, matrix @ hermite_moments(reduced, n_nodes, 3)


def without_one(cumulants: Floats, items: Floats, n_nodes: int) -> Floats:
    """Weights (node, sum, item) on the nodes of whole sums of those without an item.

    The cumulants of the sums stand in the columns, as do those of the items.
    """
    orders, count = cumulants.shape
    deviation = np.sqrt(cumulants[1])[:, None]
    rest = np.repeat(-items[:, None, :], count, axis=1)
    rest[2:] += cumulants[2:, :, None]
    rest /= deviation ** np.arange(1.0, orders + 1.0)[:, None, None]
    moments = hermite_moments(rest.reshape(orders, -1), n_nodes, 1)
    return (hermite_nodes(n_nodes)[1] @ moments).reshape(n_nodes, count, -1)
