"""Metrics that are affine in tp: E[slope(k, T)·tp] from the law of T without one item.

E[slope(k, T)·tp] = Σ_{i≤k} p_i·E[slope(k, 1 + T_{-i})]. The weights that T_{-i} puts on
the points of T depend on i through p_i alone. For k past the middle the sum runs over
the misses instead: tp = T - fn, which keeps small values accurate.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from argmetric._expected import kernels
from argmetric._expected._hermite import (
    bernoulli_cumulants,
    cumulants_of,
    points_and_weights,
    without_one,
)
from argmetric._expected.plan import affine_quadrature_variance
from argmetric._input.segments import Segments, SizeCounts
from argmetric._input.types import Floats
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


def affine_curves(segments: Segments, form: AffineForm, out: Floats) -> None:
    """Curves over 0 < k < n of the outcomes with 0 < T < n; 0 at other k."""
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
    """Functions, and floor and rate, at every count 0 < k < n of every size.

    Elsewhere 0, and 1 for the floor. Floor and rate are empty where the form has none.
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
    """By quadrature over T, with weights that are polynomials in p_i. O(m)."""
    factors = form.factors
    assert factors is not None
    count = segments.n_segments
    sums = np.empty((NODES - 1, count))
    everything = np.arange(count), segments.lengths
    kernels.power_sums_at(segments.p, segments.q, segments.indptr, *everything, sums)
    cumulants = cumulants_of(sums)
    t, law = (x.T for x in points_and_weights(cumulants, NODES))
    n = segments.sizes[:, None].astype(np.float64)
    hits, joint = factors.hits_t(t, n), factors.hits_t(t + 1.0, n)
    # Rows of every segment: points, law, worth of a hit, and with one more; the rest.
    rows = np.stack([t, law, hits, joint, factors.rest_t(t, n)], axis=1)
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
    """Powers 0…DEGREE of the p at which weights are looked at, and their cumulants."""
    p = (np.polynomial.chebyshev.chebpts1(DEGREE + 1) + 1) / 2
    return np.vander(p, increasing=True), bernoulli_cumulants(p, 1.0 - p, NODES - 1)


def weight_polynomials(cumulants: Floats) -> Floats:
    """Coefficients (sum, degree, node) in p of the weights of a sum without an item."""
    powers, items = chebyshev_items()
    columns = without_one(cumulants, items, NODES).transpose(2, 1, 0)
    solved = np.linalg.solve(powers, columns.reshape(DEGREE + 1, -1))
    return np.ascontiguousarray(solved.reshape(columns.shape).transpose(1, 0, 2))
