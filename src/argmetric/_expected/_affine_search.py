"""The best number of positives of metrics that are affine in tp, without curves."""

from __future__ import annotations

import math

import numpy as np

from argmetric._expected._affine import Factor, shared_factors
from argmetric._expected._curves import choose_backend, compiled, numpy_twins
from argmetric._expected._edges import edge_chances, edge_values
from argmetric._segments import Segments
from argmetric._types import Floats, Integers
from argmetric.metrics import AffineFactors, AffineForm, Metric

MOST = 2000.0  # variance of T from which the whole curve by quadrature is quicker


def is_searchable(metric: Metric, segments: Segments) -> bool:
    """Whether the kernel may look for the best k."""
    form = metric.form
    if not isinstance(form, AffineForm) or form.factors is None:
        return False
    if not metric.greater_is_better or choose_backend(segments) is numpy_twins():
        return False
    n = segments.sizes.max(keepdims=True).astype(np.float64)
    edges = values_at_edges(metric, n)
    alike = (np.isnan(edges) == np.isnan(edges[:, :1])).all()
    worth_nothing = not np.nan_to_num(edges).any()
    return bool(alike) and worth_nothing and is_straight(form.factors, n)


def is_straight(factors: AffineFactors, n: Floats) -> bool:
    """Whether the terms of E_k are quotients of affine functions of k, or apart."""
    if factors.floor is None or factors.rate is None:
        return True
    k = np.concatenate([[1.0], (1.0 + n) / 2, n])

    def bend(function: Factor, weights: Floats) -> float:
        values = function(k, n) * np.ones(3)
        return abs(float(values @ weights)) / float(np.abs(values).max())

    affine, same = np.array([1.0, -2.0, 1.0]), np.array([1.0, 0.0, -1.0])
    bends = [bend(factors.hits_k, weights) for weights in (affine, same)]
    bends += [
        bend(one, affine) for one in (factors.rest_k, factors.floor, factors.rate)
    ]
    return max(bends) < 1e-12


def values_at_edges(metric: Metric, n: Floats) -> Floats:
    """Values at T = 0 and T = n for k within, nan where they are not defined."""
    k = np.array([[1.0], [2.0], [3.0]]) * n / 4
    return np.stack([metric.value(0, k, 0, n), metric.value(k, k, n, n)])


def affine_answers(
    segments: Segments,
    metric: Metric,
    low: Integers,
    high: Integers,
    floor: Floats,
    extra: Integers,
) -> Floats:
    """Rows: best k, its value, the value at `extra`, and whether they were found."""
    form, backend = metric.form, compiled()
    assert isinstance(form, AffineForm)
    n, m = segments.sizes.astype(np.float64), segments.lengths
    chances = edge_chances(segments, backend)
    ends = [edge_values(metric, k, n, chances) for k in (np.zeros_like(n), n)]
    mass = chance_of_value(metric, n, chances)
    out = np.zeros((4, n.size))
    backend.best_of_affine(
        segments.p,
        segments.q,
        segments.indptr,
        *shared_factors(segments, form),
        np.minimum(m, segments.sizes - 1),
        np.stack(ends),
        np.where(mass > 0.0, mass, 1.0),
        MOST,
        low,
        high,
        floor,
        extra,
        out,
    )
    out[3, mass <= 0.0] = 0.0
    return out


def chance_of_value(metric: Metric, n: Floats, chances: tuple[Floats, ...]) -> Floats:
    """P(the metric is defined) for every k within."""
    _, _, some, not_every, inside = chances
    if not math.isnan(metric.zero_division):
        return np.ones(n.size)
    no_none, no_all = np.isnan(values_at_edges(metric, n)[:, 0])
    mass = np.where(no_none, some, 1.0)
    return np.where(no_all, np.where(no_none, inside, not_every), mass)
