"""The best number of positives without curves: metrics affine in tp, and Jaccard."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from argmetric._expected._affine import Factor, shared_factors
from argmetric._expected._curves import choose_backend, compiled, numpy_twins
from argmetric._expected._edges import edge_values, prob_none_or_all_positive
from argmetric._input.segments import Segments
from argmetric._input.types import Floats, Integers
from argmetric.metrics import AffineFactors, AffineForm, Metric, RatioForm


class CountRange(NamedTuple):
    """Per segment: the allowed k, what is a tie, and a k whose value is asked for."""

    low: Integers
    high: Integers
    floor: Floats
    extra: Integers

    def take(self, chosen: Integers) -> CountRange:
        low, high, floor, extra = self
        return CountRange(low[chosen], high[chosen], floor[chosen], extra[chosen])


@dataclass(frozen=True)
class Terms:
    """Factors of the values within; for F_β k = n and T = n are within, too."""

    factors: AffineFactors
    with_all: bool


def terms_of(metric: Metric) -> Terms | None:
    """Factors of a metric that is affine in tp; None of any other."""
    form = metric.form
    if isinstance(form, AffineForm) and form.factors is not None:
        return Terms(form.factors, with_all=False)
    if not isinstance(form, RatioForm):
        return None
    c1, (d0, d1, d2, d3) = form.c[1], form.d
    if not (form.counts_hits_only and c1 > 0 and min(d0, d2, d3) >= 0 < d2 and d1 == 0):
        return None
    factors = AffineFactors(
        hits_k=lambda k, n: np.full_like(k, c1),
        hits_t=lambda t, n: np.ones_like(t),
        rest_k=lambda k, n: np.zeros_like(k),
        rest_t=lambda t, n: np.zeros_like(t),
        floor=lambda k, n: d0 * n + d2 * k,
        rate=lambda k, n: np.full_like(k, d3),
    )
    return Terms(factors, with_all=True)


def of_misses(metric: Metric) -> RatioForm | None:
    """The form c·tp / (d·n + e·(k + misses)) of a metric; None of any other."""
    form = metric.form
    if not (isinstance(form, RatioForm) and form.counts_hits_only and form.c[1] > 0):
        return None
    d0, d1, d2, d3 = form.d
    return form if d0 >= 0 and d2 == d3 == -d1 and d2 > 0 else None


def is_searchable(metric: Metric, segments: Segments, alike: int = 1) -> bool:
    """Whether a kernel may look for the best k of segments, or of `alike` such."""
    terms = terms_of(metric)
    in_numpy = alike == 1 and choose_backend(segments) is numpy_twins()
    if not metric.greater_is_better or in_numpy:
        return False
    if terms is None:
        return of_misses(metric) is not None
    n = segments.sizes.max(keepdims=True).astype(np.float64)
    edges = values_at_edges(metric, n)[: 1 if terms.with_all else 2]
    same = (np.isnan(edges) == np.isnan(edges[:, :1])).all()
    worth_nothing = not np.nan_to_num(edges).any()
    return bool(same) and worth_nothing and is_straight(terms.factors, n)


def is_straight(factors: AffineFactors, n: Floats) -> bool:
    """Whether the terms of E_k are quotients of affine functions of k, or apart."""
    if factors.floor is None or factors.rate is None:
        return True
    k = np.concatenate([[1.0], (1.0 + n) / 2, n])

    def bend(function: Factor, weights: Floats) -> float:
        values = function(k, n) * np.ones(3)
        return abs(float(values @ weights)) / max(float(np.abs(values).max()), 1e-300)

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


def miss_answers(
    segments: Segments,
    metric: Metric,
    form: RatioForm,
    asked: CountRange,
) -> Floats:
    """Rows: best k, its value, the value at `extra`, and whether they were found."""
    backend, n = compiled(), segments.sizes.astype(np.float64)
    chances = prob_none_or_all_positive(segments, backend)
    out = np.ones((4, n.size))
    backend.best_of_misses(
        segments.p,
        segments.q,
        segments.indptr,
        form.d[0] * n,
        form.d[2],
        form.c[1],
        edge_values(metric, np.zeros_like(n), n, chances),
        *asked,
        out,
    )
    return out


def affine_answers(
    segments: Segments,
    metric: Metric,
    asked: CountRange,
) -> Floats:
    """Rows: best k, its value, the value at `extra`, and whether they were found."""
    terms, backend = terms_of(metric), compiled()
    assert terms is not None
    n, m = segments.sizes.astype(np.float64), segments.lengths
    chances = prob_none_or_all_positive(segments, backend)
    ends = [edge_values(metric, k, n, chances) for k in (np.zeros_like(n), n)]
    mass = chance_of_value(metric, n, chances)
    out = np.zeros((4, n.size))
    backend.best_of_affine(
        segments.p,
        segments.q,
        segments.indptr,
        *shared_factors(segments, terms.factors, with_all=terms.with_all),
        np.minimum(m, segments.sizes if terms.with_all else segments.sizes - 1),
        np.stack(ends),
        np.where(mass > 0.0, mass, 1.0),
        *asked,
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
