"""Quadrature for sums of many independent labels, from their cumulants.

With N fixed Gauss-Hermite nodes x and weights w, the sum S with mean μ and standard
deviation σ is replaced by the points μ + σ·x with weights w·Σ_{l<N} g_l·He_l(x), where
g_l = E[He_l((S-μ)/σ)]/l! follows from the cumulants. That is exact for
polynomials below degree N. Orders and nodes run along the first axis, sums along the
second.

Metrics that are affine in tp: E[slope(k, T)·tp] = Σ_{i≤k} p_i·E[slope(k, 1 + T_{-i})].
The weights that T_{-i} puts on the points of T depend on i through p_i alone. For k
past the middle the sum runs over the misses, tp = T - fn: small values stay accurate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from argmetric._expected import kernels
from argmetric._expected.plan import affine_quadrature_variance
from argmetric._ground.groups import Segments, SizeCounts
from argmetric._ground.types import Floats
from argmetric.metrics import AffineFactors, AffineForm

MAX_NODES = 8
NODES = 16  # of a PMF that `plan` finds wide enough
COUNTS_AT_ONCE = 8192  # counts whose factors are made at a time
ALONE = 1 << 17  # products of numbers that BLAS leaves to one thread
# E[weight] is a polynomial in p whose coefficients fall like deviation^-degree; this
# degree reaches rounding error at the switch, where the deviation is 10 (kappa's: 7.7;
# the degree 11 changes no error of its there, nor at 7).
DEGREE = 9

Factor = Callable[[Floats, Floats], Floats]


def label_powers(p: Floats, q: Floats, orders: int) -> Floats:
    """Return rows p, v, v·d, v², v²·d, … of labels, v = p·q and d = q - p."""
    rows, v = np.empty((orders, p.size)), p * q
    rows[0], rows[1], rows[2:3] = p, v, v * (q - p)
    for j in range(3, orders):
        np.multiply(rows[j - 2], v, out=rows[j])
    return rows


def bernoulli_cumulants(p: Floats, q: Floats, n_cumulants: int = 7) -> Floats:
    """Return cumulants 1, 2, … of single labels, one row each."""
    return cumulants_of(label_powers(p, q, n_cumulants))


def cumulants_of(sums: Floats) -> Floats:
    """Return cumulants of sums of labels from sums of `label_powers`, by columns."""
    out = sums.copy()
    for r, row in enumerate(cumulant_matrix(sums.shape[0])[3:].tolist(), start=3):
        out[r] *= row[r]
        for column in range(r - 2, 0, -2):
            out[r] += row[column] * sums[column]
    return out


@cache
def cumulant_matrix(orders: int) -> Floats:
    """Return the matrix from p, v, v·d, v², … to cumulants; v = p·q, d = q - p.

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
    """Return nodes, and the matrix that maps g_0 … g_{N-1} to the weights."""
    from numpy.polynomial.hermite_e import hermegauss, hermevander

    nodes, weights = hermegauss(n_nodes)
    matrix = (weights / weights.sum())[:, None] * hermevander(nodes, n_nodes - 1)
    return nodes, np.ascontiguousarray(matrix)


def hermite_moments(reduced: Floats, n_nodes: int, lowest: int) -> Floats:
    """Return g_0 … g_{N-1} from reduced cumulants of order `lowest` and above.

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
    """Return quadrature points and weights (n_nodes, n_sums) from cumulants."""
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
    """Return weights (node, sum, item) of sums without one item.

    The nodes are those of the whole sums.

    Without item i the cumulant of order r is κ_r - κ_r(i), over σ^r where σ² is the
    variance of the whole sum. Its nodes have mean and variance of the whole sum, so
    that of orders 1 and 2 only -κ_r(i) is left.
    """
    orders, count = cumulants.shape
    deviation = np.sqrt(cumulants[1])[:, None]
    rest = np.repeat(-items[:, None, :], count, axis=1)
    rest[2:] += cumulants[2:, :, None]
    rest /= deviation ** np.arange(1.0, orders + 1.0)[:, None, None]
    moments = hermite_moments(rest.reshape(orders, -1), n_nodes, 1)
    return (hermite_nodes(n_nodes)[1] @ moments).reshape(n_nodes, count, -1)


def product(a: Floats, b: Floats) -> Floats:
    """Return a @ b in blocks of columns so small that BLAS starts no threads."""
    columns = max(ALONE // a.size, 1)
    if b.shape[1] <= columns:
        return a @ b
    out = np.empty((a.shape[0], b.shape[1]))
    for first in range(0, b.shape[1], columns):
        part = slice(first, first + columns)
        np.matmul(a, b[:, part], out=out[:, part])
    return out


def combine(
    form: AffineForm,
    n: float,
    k: Floats,
    t: Floats,
    pmf: Floats,
    *,
    joint: Floats,
    joint_t: Floats,
) -> Floats:
    """Return E[slope·tp + intercept] from the PMF on `t` and sums on `joint_t`.

    Parameters
    ----------
    n : float
        Number of rows.
    k : ndarray of shape (n_counts,)
        Predicted positives.
    t, pmf : ndarray of shape (n_points,)
        Numbers of positives and their probabilities.
    joint : ndarray of shape (n_counts, n_joint_points)
        E[tp; T = t] at the points `joint_t`, of shape (n_joint_points,).
    """
    column = k[:, None]
    part: Floats = (form.slope(column, joint_t[None, :], n) * joint).sum(axis=1)
    whole = np.einsum("kt,t->k", form.intercept(column, t[None, :], n), pmf)
    return np.asarray(whole + part)


def affine_curves(segments: Segments, form: AffineForm, out: Floats) -> None:
    """Write the part of E_k with 0 < T < n for 0 < k < n, and 0 at other k."""
    moments = np.empty((segments.n_segments, 2))
    kernels.segment_moments(segments.p, segments.q, segments.indptr, moments)
    smooth = moments[:, 1] >= affine_quadrature_variance(form)
    for chosen in (np.flatnonzero(smooth), np.flatnonzero(~smooth)):
        if chosen.size:
            part = segments.take(chosen)
            curves = part.empty_curves()
            if smooth[chosen[0]]:
                smooth_curves(part, form, curves)
            else:
                assert form.factors is not None
                of, counts = form.factors, part.counts_by_size()
                four = of.hits_k, of.hits_t, of.rest_k, of.rest_t
                places = part.p, part.q, part.indptr, counts.places
                kernels.affine_curves(*places, *laid_out(counts, of, *four), curves)
            segments.put(chosen, curves, out)


def laid_out(
    counts: SizeCounts, factors: AffineFactors, *functions: Factor
) -> tuple[Floats, ...]:
    """Return functions, floor and rate at 0 < k < n of every size.

    Elsewhere they are 0, and the floor is 1.
    """
    divides = factors.floor is not None and factors.rate is not None
    if factors.floor is not None and factors.rate is not None:
        functions = (*functions, factors.floor, factors.rate)
    flat = np.zeros((len(functions), counts.size))
    if divides:
        flat[-2] = 1.0
    for first in range(0, counts.size, COUNTS_AT_ONCE):
        part = slice(first, min(first + COUNTS_AT_ONCE, counts.size))
        k, n = counts.at(part)
        inner = (k > 0) & (k < n)
        k, n = k[inner], n[inner]
        for row, function in zip(flat, functions, strict=True):
            row[part][inner] = function(k, n)
    return (*flat,) if divides else (*flat, np.zeros(0), np.zeros(0))


def smooth_curves(segments: Segments, form: AffineForm, out: Floats) -> None:
    """Write curves by quadrature over T, with weights polynomial in p_i. O(m)."""
    factors = form.factors
    assert factors is not None
    count = segments.n_segments
    sums = np.empty((NODES - 1, count))
    everything = np.arange(count), segments.lengths
    kernels.power_sums_at(segments.p, segments.q, segments.indptr, *everything, sums)
    cumulants = cumulants_of(sums)
    t, pmf = (x.T for x in points_and_weights(cumulants, NODES))
    n = segments.sizes[:, None].astype(np.float64)
    hits, joint = factors.hits_t(t, n), factors.hits_t(t + 1.0, n)
    # Rows of every segment: points, PMF, worth of a hit, and with one more; the rest.
    rows = np.stack([t, pmf, hits, joint, factors.rest_t(t, n)], axis=1)
    counts = segments.counts_by_size()
    kernels.smooth_curves(
        segments.p,
        segments.indptr,
        weight_polynomials(cumulants),
        rows,
        counts.places,
        *laid_out(counts, factors, factors.hits_k, factors.rest_k),
        out,
    )


@cache
def chebyshev_items() -> tuple[Floats, Floats]:
    """Return powers 0 … DEGREE of the sampled p, and their cumulants."""
    p = (np.polynomial.chebyshev.chebpts1(DEGREE + 1) + 1) / 2
    return np.vander(p, increasing=True), bernoulli_cumulants(p, 1.0 - p, NODES - 1)


def weight_polynomials(cumulants: Floats) -> Floats:
    """Return coefficients (sum, degree, node) in p of leave-one-out weights."""
    powers, items = chebyshev_items()
    columns = without_one(cumulants, items, NODES).transpose(2, 1, 0)
    solved = np.linalg.solve(powers, columns.reshape(DEGREE + 1, -1))
    return np.ascontiguousarray(solved.reshape(columns.shape).transpose(1, 0, 2))
