"""What a metric is worth where it is 0/0: at T = 0 and T = n, or k = 0 and k = n."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from argmetric._expected import kernels
from argmetric._ground.segments import Segments
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric.metrics import AffineForm, Form, ItemForm, Metric, RatioForm

PLACES_AT_ONCE = (
    1 << 14
)  # places of curves that are settled at a time: they stay in the cache
UNSEEN = 1e-40  # chances below it, relative to the largest value, are left out


def prob_none_or_all_positive(segments: Segments) -> tuple[Floats, ...]:
    """P(T = 0), P(T = n), P(T > 0), P(T < n), P(0 < T < n) of segments, accurately."""
    logs = np.empty((segments.n_segments, 2))
    kernels.edge_logs(segments.p, segments.q, segments.indptr, logs)
    full = segments.sizes == segments.lengths
    log_none, log_all = logs[:, 0], np.where(full, logs[:, 1], -math.inf)
    none, every = np.exp(log_none), np.exp(log_all)
    some, not_every = -np.expm1(log_none), -np.expm1(log_all)
    inside = np.where(every > none, not_every - none, some - every)
    return none, every, some, not_every, np.maximum(inside, 0.0)


def settle_edges(
    segments: Segments,
    metric: Metric,
    form: Form,
    out: Floats,
    chances: tuple[Floats, ...],
) -> None:
    """Add what the metric is worth at T = 0 and T = n, and at k = 0 (and k = n)."""
    none, every, *_ = chances
    chance = np.maximum(none, every)
    if isinstance(form, RatioForm):
        d0, _, d2, _ = form.d
        if not form.counts_hits_only:
            return  # no denominator vanishes: the sums have these outcomes
        if min(d0, d2) >= 0.0 < d0 + d2:  # without positives 0, but for k = 0
            chance = np.zeros_like(chance)
    first = segments.starts
    seen = chance > UNSEEN * np.maximum.reduceat(np.abs(out), first)
    if seen.any():
        edges = EdgeTerms.of(segments, metric, form)
        for begin in range(0, out.size, PLACES_AT_ONCE):
            part = slice(begin, min(begin + PLACES_AT_ONCE, out.size))
            if seen[segments.segments_at(part)].any():
                settle_part(segments, edges, out, chances, part)
    sizes = segments.sizes.astype(np.float64)
    places, k, n = first, np.zeros_like(sizes), sizes
    if isinstance(form, AffineForm):  # and all of them are predicted
        full = segments.sizes == segments.lengths
        places = np.append(places, (first + segments.lengths)[full])
        k, n = np.append(k, sizes[full]), np.append(n, sizes[full])
        chances = tuple(np.append(one, one[full]) for one in chances)
    out[places] = edge_values(metric, k, n, chances)


@dataclass(frozen=True)
class EdgeTerms:
    """What T = 0 and T = n add, and whether they are defined, by (k, n), or by size."""

    metric: Metric
    form: Form
    shared: tuple[Floats, Floats, Booleans, Booleans] | None
    starts: Integers  # of every segment in the shared ones

    @classmethod
    def of(cls, segments: Segments, metric: Metric, form: Form) -> EdgeTerms:
        counts = segments.counts_by_size()
        terms = cls(metric, form, None, counts.places)
        if 2 * counts.size > segments.p.size:
            return terms
        return replace(terms, shared=terms.at(*counts.at(slice(0, counts.size))))

    def at(self, k: Floats, n: Floats) -> tuple[Floats, Floats, Booleans, Booleans]:
        none, every = self.metric.value(0, k, 0, n), self.metric.value(k, k, n, n)
        regular_none, regular_all = regular_at_edges(self.form, self.metric, k, n)
        return (
            np.nan_to_num(none) - regular_none,
            np.nan_to_num(every) - regular_all,
            np.isnan(none),
            np.isnan(every),
        )


def settle_part(
    segments: Segments,
    edges: EdgeTerms,
    out: Floats,
    chances: tuple[Floats, ...],
    part: slice,
) -> None:
    """Add to some places of the curves what T = 0 and T = n are worth."""
    g, k = segments.counts_at(part)
    if edges.shared is None:
        terms = edges.at(k, segments.sizes[g].astype(np.float64))
    else:
        place = edges.starts[g] + k.astype(np.int64)
        terms = tuple(one[place] for one in edges.shared)  # type: ignore[assignment]
    add_none, add_all, no_none, no_all = terms
    none, every, some, not_every, inside = chances
    curve = out[part]
    curve += none[g] * add_none
    curve += every[g] * add_all
    if math.isnan(edges.metric.zero_division):
        mass = np.where(no_none, some[g], 1.0)
        mass = np.where(no_all, np.where(no_none, inside[g], not_every[g]), mass)
        np.divide(curve, mass, out=curve, where=mass > 0)
        curve[mass <= 0] = math.nan


def regular_at_edges(
    form: Form, metric: Metric, k: Floats, n: Floats
) -> tuple[Floats, Floats]:
    """What the drivers counted at T = 0 and at T = n."""
    zero = np.zeros_like(k)
    if isinstance(form, ItemForm):
        scale = n**-form.exponent
        rejections = form.rejections(k, n) * (n - k) if form.rejections else zero
        hits = form.hits(k, n) * k if form.hits else zero
        return form.offset + scale * rejections, form.offset + scale * hits
    if isinstance(form, RatioForm):
        at_all = np.nan_to_num(metric.value(k, k, n, n))
        at_none = np.nan_to_num(metric.value(0, k, 0, n))
        return (zero if form.counts_hits_only else at_none), at_all
    return zero, zero


def edge_values(
    metric: Metric, k: Floats, n: Floats, chances: tuple[Floats, ...]
) -> Floats:
    """E[value | defined] at k = 0 or k = n, constant in T for 0 < T < n."""
    none, every, _, _, inside = chances
    zero, one = np.zeros_like(k), np.ones_like(k)
    tp, t = np.stack([zero, np.minimum(k, 1.0), k]), np.stack([zero, one, n])
    values = metric.value(tp, k, t, n)
    weights = np.stack([none, inside, every])
    weights = np.where(np.isnan(values), 0.0, weights)
    mass = weights.sum(axis=0)
    total = (weights * np.nan_to_num(values)).sum(axis=0)
    result = np.full(k.size, math.nan)
    np.divide(total, mass, out=result, where=mass > 0)
    return result
