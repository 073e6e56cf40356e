"""Metrics that are affine in tp: E[slope(k, T)·tp] from the law of T without one item.

E[slope(k, T)·tp] = Σ_{i≤k} p_i·E[slope(k, 1 + T_{-i})]. The weights that T_{-i} puts on
the points of T depend on i through p_i alone. For k past the middle the sum runs over
the misses instead: tp = T - fn, which keeps small values accurate.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np

from argmetric._expected._hermite import cumulants_of, points_and_weights, without_one
from argmetric._expected.plan import by_affine_quadrature
from argmetric._input.segments import Segments, SizeCounts
from argmetric._input.types import Floats, Integers
from argmetric.metrics import AffineFactors, AffineForm

Factor = Callable[[Floats, Floats], Floats]

NODES = 16  # of a law that `plan` finds wide enough
COUNTS_AT_ONCE = 8192  # counts whose factors are made at a time
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
) -> Floats:
    """E[slope·tp + intercept] from the law on `t` and the joint sums on `joint_t`."""
    column = k[:, None]
    part: Floats = (form.slope(column, joint_t[None, :], n) * joint).sum(axis=1)
    whole = np.einsum("kt,t->k", form.intercept(column, t[None, :], n), law)
    return np.asarray(whole + part)


def affine_curves(
    segments: Segments, form: AffineForm, out: Floats, backend: ModuleType
) -> None:
    """Curves over 0 < k < n of the outcomes with 0 < T < n; 0 at other k."""
    moments = np.empty((segments.n_segments, 2))
    backend.segment_moments(segments.p, segments.q, segments.indptr, moments)
    smooth = by_affine_quadrature(moments[:, 1])
    for chosen in (np.flatnonzero(smooth), np.flatnonzero(~smooth)):
        if chosen.size:
            part = segments.take(chosen)
            curves = part.empty_curves()
            if smooth[chosen[0]]:
                smooth_curves(part, form, curves, backend)
            else:
                assert form.factors is not None
                factors = shared_factors(part, form.factors)
                backend.affine_curves(part.p, part.q, part.indptr, *factors, curves)
            segments.put(chosen, curves, out)


def laid_out(
    counts: SizeCounts,
    function: Factor,
    outside: float = 0.0,
) -> Floats:
    """A factor at every count 0 < k < n of every size."""
    flat = np.full(counts.size, outside)
    for first in range(0, counts.size, COUNTS_AT_ONCE):
        part = slice(first, min(first + COUNTS_AT_ONCE, counts.size))
        k, n = counts.at(part)
        inner = (k > 0) & (k < n)
        flat[part][inner] = function(k[inner], n[inner])
    return flat


def divisors(counts: SizeCounts, factors: AffineFactors) -> tuple[Floats, Floats]:
    """Floor and rate for every k, empty where the form has none."""
    if factors.floor is None or factors.rate is None:
        return np.zeros(0), np.zeros(0)
    floor = laid_out(counts, factors.floor, outside=1.0)
    return floor, laid_out(counts, factors.rate)


def shared_factors(
    segments: Segments, factors: AffineFactors
) -> tuple[Integers | Floats, ...]:
    """Places of the segments, and the factors for k and for t; else 0."""
    counts = segments.counts_by_size()
    four = (factors.hits_k, factors.hits_t, factors.rest_k, factors.rest_t)
    flat = (laid_out(counts, one) for one in four)
    return (counts.places, *flat, *divisors(counts, factors))


def smooth_curves(
    segments: Segments, form: AffineForm, out: Floats, backend: ModuleType
) -> None:
    """By quadrature over T, with weights that are polynomials in p_i. O(m)."""
    factors = form.factors
    assert factors is not None
    count = segments.n_segments
    sums = np.empty((NODES - 1, count))
    everything = np.arange(count), segments.lengths
    backend.power_sums_at(segments.p, segments.q, segments.indptr, *everything, sums)
    cumulants = cumulants_of(sums)
    t, law = (x.T for x in points_and_weights(cumulants, NODES))
    n = segments.sizes[:, None].astype(np.float64)
    hits, joint = factors.hits_t(t, n), factors.hits_t(t + 1.0, n)
    # Rows of every segment: points, law, worth of a hit, and with one more; the rest.
    rows = np.stack([t, law, hits, joint, factors.rest_t(t, n)], axis=1)
    counts = segments.counts_by_size()
    backend.smooth_curves(
        segments.p,
        segments.indptr,
        weight_polynomials(cumulants),
        rows,
        counts.places,
        laid_out(counts, factors.hits_k),
        laid_out(counts, factors.rest_k),
        *divisors(counts, factors),
        out,
    )


def weight_polynomials(cumulants: Floats) -> Floats:
    """Coefficients (sum, degree, node) in p of the weights of a sum without an item."""
    chebyshev = np.polynomial.chebyshev.chebpts1(DEGREE + 1)
    p = (chebyshev + 1) / 2
    values = without_one(cumulants, p, NODES)
    columns = values.transpose(2, 1, 0)
    solved = np.linalg.solve(np.vander(p, increasing=True), columns.reshape(p.size, -1))
    return np.ascontiguousarray(solved.reshape(columns.shape).transpose(1, 0, 2))
