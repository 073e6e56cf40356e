"""Metrics that are affine in tp: E[slope(k, T)·tp] from the law of T without one item.

E[slope(k, T)·tp] = Σ_{i≤k} p_i·E[slope(k, 1 + T_{-i})]. The weights that T_{-i} puts on
the points of T depend on i through p_i alone. For k past the middle the sum runs over
the misses instead: tp = T - fn, which keeps small values accurate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from argmetric._expected._hermite import MAX_NODES, points_and_weights, without_one
from argmetric._segments import Segments
from argmetric._types import Floats, Integers
from argmetric.metrics import AffineFactors, AffineForm

Factor = Callable[[Floats, Floats], Floats]

SWITCH = 100.0  # variance of T from which eight points err by less than 1e-13
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
    smooth = moments[:, 1] >= SWITCH
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


@dataclass(frozen=True)
class SharedCounts:
    """Counts 0…m of every size that occurs, behind each other.

    Segments of one size share the factors of k and of t; those of segment g begin at
    `places[g]`.
    """

    places: Integers
    counts: Floats
    sizes: Floats
    inner: Integers  # where the factors are defined

    @classmethod
    def of(cls, segments: Segments, *, with_all: bool = False) -> SharedCounts:
        """Factors are defined for 0 < count < n, or for n too."""
        distinct = segments.distinct_sizes
        which = np.searchsorted(distinct, segments.sizes)
        rows = np.zeros(distinct.size, dtype=np.int64)
        np.maximum.at(rows, which, segments.lengths + 1)
        first = np.cumsum(rows) - rows
        counts = np.arange(rows.sum()) - np.repeat(first, rows)
        sizes = np.repeat(distinct, rows)
        inner = np.flatnonzero((counts > 0) & (counts < sizes + with_all))
        real = counts.astype(np.float64), sizes.astype(np.float64)
        return cls(first[which], *real, inner)

    def laid_out(self, function: Factor, outside: float = 0.0) -> Floats:
        """A factor at every inner count."""
        flat = np.full(self.counts.size, outside)
        flat[self.inner] = function(self.counts[self.inner], self.sizes[self.inner])
        return flat

    def divisors(self, factors: AffineFactors) -> tuple[Floats, Floats]:
        """Floor and rate for every k, empty where the form has none."""
        if factors.floor is None or factors.rate is None:
            return np.zeros(0), np.zeros(0)
        floor = self.laid_out(factors.floor, outside=1.0)
        return floor, self.laid_out(factors.rate)


def shared_factors(
    segments: Segments, factors: AffineFactors, *, with_all: bool = False
) -> tuple[Integers | Floats, ...]:
    """Places of the segments, and the factors for k and for t; else 0."""
    counts = SharedCounts.of(segments, with_all=with_all)
    four = (factors.hits_k, factors.hits_t, factors.rest_k, factors.rest_t)
    flat = (counts.laid_out(one) for one in four)
    return (counts.places, *flat, *counts.divisors(factors))


def smooth_curves(
    segments: Segments, form: AffineForm, out: Floats, backend: ModuleType
) -> None:
    """By quadrature over T, with weights that are polynomials in p_i. O(m)."""
    factors = form.factors
    assert factors is not None
    count = segments.n_segments
    cumulants = np.empty((MAX_NODES - 1, count))
    everything = np.arange(count), segments.lengths
    backend.cumulants_at(
        segments.p, segments.q, segments.indptr, *everything, cumulants
    )
    t, law = (x.T for x in points_and_weights(cumulants, MAX_NODES))
    n = segments.sizes[:, None].astype(np.float64)
    hits, joint = factors.hits_t(t, n), factors.hits_t(t + 1.0, n)
    # Rows of every segment: points, law, worth of a hit, and with one more; the rest.
    rows = np.stack([t, law, hits, joint, factors.rest_t(t, n)], axis=1)
    shared = SharedCounts.of(segments)
    backend.smooth_curves(
        segments.p,
        segments.indptr,
        weight_polynomials(cumulants),
        rows,
        shared.places,
        shared.laid_out(factors.hits_k),
        shared.laid_out(factors.rest_k),
        *shared.divisors(factors),
        out,
    )


def weight_polynomials(cumulants: Floats) -> Floats:
    """Coefficients (sum, degree, node) in p of the weights of a sum without an item."""
    chebyshev = np.polynomial.chebyshev.chebpts1(DEGREE + 1)
    p = (chebyshev + 1) / 2
    values = without_one(cumulants, p, MAX_NODES)
    columns = values.transpose(2, 1, 0)
    solved = np.linalg.solve(np.vander(p, increasing=True), columns.reshape(p.size, -1))
    return np.ascontiguousarray(solved.reshape(columns.shape).transpose(1, 0, 2))
