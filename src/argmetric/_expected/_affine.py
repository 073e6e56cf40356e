"""Metrics that are affine in tp: E[slope(k, T)·tp] from the law of T without one item.

E[slope(k, T)·tp] = Σ_{i≤k} p_i·E[slope(k, 1 + T_{-i})]. The weights that T_{-i} puts on
the points of T depend on i through p_i alone. For k past the middle the sum runs over
the misses instead: tp = T - fn, which keeps small values accurate.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np

from argmetric._expected._hermite import (
    MAX_NODES,
    bernoulli_cumulants,
    points_and_weights,
    without_one,
)
from argmetric._segments import Segments
from argmetric._types import Floats
from argmetric.metrics import AffineForm

SWITCH = 100.0  # variance of T from which eight points err by less than 1e-13
ROWS = 4096
ALONE = 1 << 17  # products of numbers that BLAS leaves to one thread
# E[weight] is a polynomial in p whose coefficients fall like deviation^-degree; this
# degree reaches rounding error at the switch, where the deviation is 10.
DEGREE = 9


def product(a: Floats, b: Floats) -> Floats:
    """The product of a small matrix and a wide one, in parts for one thread of BLAS.

    More of them would wait for each other longer than they work.
    """
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
    law: Floats,
    joint: Floats,
    joint_t: Floats,
    *,
    missed: bool,
) -> Floats:
    """E[slope·tp + intercept] from the law on `t` and the joint sums on `joint_t`."""
    column = k[:, None]
    part: Floats = (form.slope(column, joint_t[None, :], n) * joint).sum(axis=1)
    whole = form.intercept(column, t[None, :], n)
    result: Floats
    if missed:
        result = (whole + form.slope(column, t[None, :], n) * t) @ law - part
    else:
        result = whole @ law + part
    return result


def affine_curves(
    segments: Segments, form: AffineForm, out: Floats, backend: ModuleType
) -> None:
    """Curves over 0 < k < n of the outcomes with 0 < T < n; 0 at other k."""
    moments = np.empty((segments.n_segments, 4))
    backend.segment_moments(segments.p, segments.q, segments.indptr, moments)
    smooth = moments[:, 1] >= SWITCH
    for g in np.flatnonzero(smooth).tolist():
        out[segments.place(g)] = smooth_curve(segments.one(g), form)
    rest = np.flatnonzero(~smooth)
    if rest.size:
        part = segments.take(rest)
        curves = part.empty_curves()
        factors = flat_factors(part, form)
        backend.affine_curves(part.p, part.q, part.indptr, *factors, curves)
        segments.put(rest, curves, out)


def flat_factors(segments: Segments, form: AffineForm) -> tuple[Floats, ...]:
    """The factors of the form for k and for t = 0…m of every segment, as curves lie.

    0 at 0 and n; floor and rate are empty where the form has none.
    """
    factors = form.factors
    assert factors is not None
    size = segments.p.size + segments.n_segments

    def laid(function: Callable[[Floats, Floats], Floats], outside: float) -> Floats:
        flat = np.full(size, outside)
        for first in range(0, size, 2 * ROWS):
            part = slice(first, min(first + 2 * ROWS, size))
            g, count = segments.counts_at(part)
            n = segments.sizes[g].astype(np.float64)
            inside = (count > 0) & (count < n)
            flat[part][inside] = function(count[inside], n[inside])
        return flat

    four = (factors.hits_k, factors.hits_t, factors.rest_k, factors.rest_t)
    result = [laid(function, 0.0) for function in four]
    if factors.floor is None or factors.rate is None:
        return (*result, np.zeros(0), np.zeros(0))
    return (*result, laid(factors.floor, 1.0), laid(factors.rate, 0.0))


def all_hit(form: AffineForm, segment: Segments, t: Floats, law: Floats) -> float:
    """Value at k = m, where tp = T; 0 if that is the last k of all."""
    m, n = segment.p.size, float(segment.sizes[0])
    if m == n:
        return 0.0
    k = np.full(1, float(m))
    values: Floats = form.intercept(k, t, n) + form.slope(k, t, n) * t
    return float(values @ law)


def smooth_curve(segment: Segments, form: AffineForm) -> Floats:
    """Quadrature over T with weights that are polynomials in p_i. O(m)."""
    p, q, n = segment.p, segment.q, float(segment.sizes[0])
    m = p.size
    cumulants = np.zeros(MAX_NODES - 1)
    for first in range(0, m, ROWS):
        part = slice(first, first + ROWS)
        cumulants += bernoulli_cumulants(p[part], q[part]).sum(axis=1)
    points, weights = points_and_weights(cumulants[:, None], MAX_NODES)
    t, law = points[:, 0], weights[:, 0]
    powers = weight_polynomials(cumulants)
    curve = np.zeros(m + 1)
    middle = max(m // 2, 1)

    def walk(items: slice, first_k: int, step: int, *, missed: bool) -> None:
        """Rows in the order of the items, carrying the sums of powers along."""
        carried = np.zeros(powers.shape[0])
        order_p = p[items]
        for first in range(0, order_p.size, ROWS):
            block = order_p[first : first + ROWS]
            sums = np.empty((powers.shape[0], block.size))
            term = block
            for degree in range(powers.shape[0]):
                np.cumsum(term, out=sums[degree])
                sums[degree] += carried[degree]
                carried[degree] += term.sum()
                term = term * block
            k = first_k + step * np.arange(first, first + block.size)
            joint = product(powers.T, sums).T
            inside = (k > 0) & (k < m)
            curve[k[inside]] = combine(
                form,
                n,
                k[inside].astype(np.float64),
                t,
                law,
                joint[inside],
                t + 1.0,
                missed=missed,
            )

    walk(slice(0, middle), 1, 1, missed=False)
    walk(slice(None, middle, -1), m - 1, -1, missed=True)
    curve[m] = all_hit(form, segment, t, law)
    return curve


def weight_polynomials(cumulants: Floats) -> Floats:
    """Coefficients (degree, node) in p of the weights of T without an item."""
    chebyshev = np.polynomial.chebyshev.chebpts1(DEGREE + 1)
    p = (chebyshev + 1) / 2
    values = without_one(cumulants, p, MAX_NODES)
    coefficients = np.linalg.solve(np.vander(p, increasing=True), values.T)
    return np.asarray(coefficients)
