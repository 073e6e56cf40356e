"""Expected metric for every k of every segment, by the form of the metric.

Each driver sums the regular part of the metric; see `_edges` for what is added.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from argmetric._expected import kernels
from argmetric._expected._quadrature import affine_curves
from argmetric._expected._sums import value_curves
from argmetric._expected._tables import (
    Tables,
    harmonic_curves,
    prob_none_or_all_positive,
    settle_edges,
    sharing_sizes,
    short_curve,
    small_fraction,
    table_curves,
)
from argmetric._expected.kernels.nodes import exponential_sum
from argmetric._expected.plan import (
    QUADRATURE_VARIANCE,
    SHARED_TABLE_ROWS,
    by_item_pmf,
    is_short,
    table_rows,
)
from argmetric._ground.groups import Method, Segments
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric.metrics import (
    AffineForm,
    Form,
    ItemForm,
    MeanForm,
    Metric,
    RatesForm,
    RatioForm,
)

RELATIVE_ERROR = 1e-12  # of all algorithms but quadratures, generously


@cache
def node_table(alpha: float, n_sets: int) -> tuple[Integers, Floats, Floats]:
    """Return nodes for denominators in [1, 2^j], j = 0 … n_sets-1, as one array."""
    sets = [exponential_sum(alpha, 1.0, 2.0**j) for j in range(n_sets)]
    ends = np.cumsum([0] + [nodes.size for nodes, _ in sets])
    nodes = np.concatenate([nodes for nodes, _ in sets])
    return ends, nodes, np.concatenate([weights for _, weights in sets])


def choose_nodes(
    alpha: float, low: Floats, high: Floats
) -> tuple[Integers, Integers, Floats, Floats]:
    """Return the set of nodes of every segment, and the table of all sets."""
    chosen = np.ceil(np.log2(np.maximum(high / low, 1.0))).astype(np.int64)
    return chosen, *node_table(alpha, int(chosen.max(initial=0)) + 1)


def ratio_curves(segments: Segments, form: RatioForm, out: Floats) -> None:
    """Write curves of E[(c·counts)/(d·counts)], 0/0 = 0, by exponential sums."""
    low, high = form.denominator_range(segments.lengths, segments.sizes)
    chosen, ends, nodes, weights = choose_nodes(1.0, low, high)
    d0, d1, d2, d3 = form.d
    common = (segments.p, segments.q, segments.indptr, chosen, ends)
    if form.counts_hits_only and d1 == 0:
        base = d0 * segments.sizes.astype(np.float64)
        kernels.hit_curves(*common, nodes, weights, 1.0, base, d2, d3, low, high, out)
        out *= form.c[1]
    else:
        c, d = np.array(form.c), np.array(form.d)
        kernels.ratio_curves(
            *common, nodes, weights, c, d, segments.sizes, low, high, out
        )


def weight_sums(segments: Segments, exponent: float) -> Floats:
    """Return E[tp / t^exponent] for every k; absent entries count as positives.

    The implicit members are certain positives here: see `item_curves`. Of short groups
    by the PMF of T without one item, else by exponential sums.
    """
    out, base = segments.empty_curves(), segments.sizes - segments.lengths
    short = by_item_pmf(segments.lengths) & (base == 0) & (segments.n_segments > 1)
    for chosen in (np.flatnonzero(short), np.flatnonzero(~short)):
        if not chosen.size:
            continue
        part = segments.take(chosen)
        curves, common = part.empty_curves(), (part.p, part.q, part.indptr)
        if short[chosen[0]]:
            t = np.arange(float(part.lengths.max()) + 1.0)
            worth = np.append(0.0, t[1:] ** -exponent)
            one, nothing, absent = np.ones(t.size), np.zeros(t.size), np.zeros(0)
            places = np.zeros(chosen.size, dtype=np.int64)  # all read the same powers
            factors = one, worth, nothing, nothing, absent, absent
            kernels.affine_curves(*common, places, *factors, curves)
        else:
            more = base[chosen].astype(np.float64)
            low, high = more + 1.0, more + np.maximum(part.lengths, 1)
            rule = choose_nodes(exponent, low, high)
            kernels.hit_curves(
                *common, *rule, exponent, more, 0.0, 1.0, low, high, curves
            )
        segments.put(chosen, curves, out)
    return out


def item_curves(segments: Segments, form: ItemForm, out: Floats) -> None:
    """Write curves of E[hits·tp/t^e + rejections·tn/(n-t)^e + offset], 0/0 = 0.

    The second term is the first of the problem with p and q exchanged and the order
    reversed, in which the implicit certain negatives count as certain positives. With
    b of them it lacks b·E[1/(n-t)] = 1 - E[(n-t-b)/(n-t)], the last value of its curve.
    """
    k, n = segments.flat_counts()
    out[:] = form.offset
    if form.hits is not None:
        explicit = Segments(segments.p, segments.q, segments.indptr, segments.lengths)
        sums = weight_sums(explicit, form.exponent)
        out += form.hits(k, n) * sums
    if form.rejections is not None:
        mirrored = Segments(
            np.ascontiguousarray(segments.q[::-1]),
            np.ascontiguousarray(segments.p[::-1]),
            segments.p.size - segments.indptr[::-1],
            segments.sizes[::-1],
        )
        sums = weight_sums(mirrored, form.exponent)[::-1]
        if (segments.sizes > segments.lengths).any():
            all_rejected = sums[segments.starts]
            missing = np.where(segments.sizes > segments.lengths, 1.0 - all_rejected, 0)
            sums = sums + np.repeat(missing, segments.lengths + 1)
        out += form.rejections(k, n) * sums


def usable_form(metric: Metric, segments: Segments) -> Form | None:
    """Return the metric's form, or None if its denominator can be 0 inside."""
    form = metric.form
    if isinstance(form, RatesForm):
        return None  # the form tells of the best k, not of the curve
    if isinstance(form, AffineForm) and form.factors is None:
        return None
    if isinstance(form, RatioForm):
        sizes = segments.distinct_sizes
        lengths = segments.lengths
        if (lengths == segments.sizes).all():
            low, _ = form.denominator_range(sizes, sizes)
        else:
            low, _ = form.denominator_range(lengths, segments.sizes)
        if (low <= 0).any() or not all(map(form.positive_inside, sizes.tolist())):
            return None
    return form


def loses_digits(metric: Metric, form: Form | None, segments: Segments) -> bool:
    """Return whether outcomes with both rates defined are so rare that sums cancel."""
    if not (isinstance(form, ItemForm) and form.hits and form.rejections):
        return False
    if not math.isnan(metric.zero_division):
        return False
    none, every, *_ = prob_none_or_all_positive(segments)
    long = segments.lengths > table_rows(form)
    return bool((np.maximum(none, every)[long] > 0.9).any())


def harmonic_steps(metric: Metric) -> tuple[int, int] | None:
    """Return whole steps (jk, jt) of the denominator for quadratic sums, or None."""
    if not isinstance(metric.form, RatioForm) or math.isnan(metric.zero_division):
        return None
    return small_fraction(metric.form)


def error_of(curve: list[float]) -> float:
    """Return the error bound of one short curve."""
    return RELATIVE_ERROR * max(1.0, *map(abs, curve))  # passes over nan


def expected_curves(
    segments: Segments,
    metric: Metric,
    *,
    method: Method = "auto",
    tables: Tables | None = None,
) -> tuple[Floats, Floats]:
    """Return E[metric | defined] for every k, flat, and an error per segment.

    Examples
    --------
    >>> import numpy as np
    >>> from argmetric import FBeta
    >>> p = np.array([0.9, 0.6, 0.2])
    >>> segments = Segments(p, 1 - p, np.array([0, 3]), np.array([3]))
    >>> expected_curves(segments, FBeta(1))[0].round(4)
    array([0.    , 0.678 , 0.7844, 0.6928])
    """
    tables = tables or Tables(metric)
    alone = segments.n_segments == 1
    if method != "published" and alone and is_short(segments.p.size):
        curve = short_curve(tables, segments.p, segments.q, int(segments.sizes[0]))
        return curve, np.full(1, error_of(curve.tolist()))
    out = np.zeros(segments.p.size + segments.n_segments)
    errors = np.zeros(segments.n_segments)
    if method == "published":
        return _published_curves(segments, metric), errors
    form = usable_form(metric, segments)
    if loses_digits(metric, form, segments):
        form = None
    if isinstance(form, MeanForm):
        mean_curves(segments, metric, form, out)
        largest = np.maximum.reduceat(np.abs(np.nan_to_num(out)), segments.starts)
        return out, RELATIVE_ERROR * np.maximum(largest, 1.0)
    # Eight groups are summed side by side: one alone is quicker by exponential sums
    by_steps = form is not None and method == "auto" and not alone
    steps = harmonic_steps(metric) if by_steps else None
    limit = table_rows(form, harmonic=steps is not None)
    errors[:] = RELATIVE_ERROR  # of a metric of size 1; scaled below
    tabled = segments.lengths <= limit
    if form is None and method == "auto" and not alone:
        tabled |= _shared_table_curves(segments, metric, out)
    long = np.flatnonzero(~tabled)
    if long.size and (form is None or method == "windows"):
        switch = math.inf if method == "windows" else QUADRATURE_VARIANCE
        part = segments.take(long)
        curves, errors[long] = value_curves(part, metric, switch=switch)
        segments.put(long, curves, out)
    elif long.size:
        assert form is not None
        segments.put(long, _form_curves(segments.take(long), metric, form), out)
    if steps:
        assert isinstance(form, RatioForm)
        harmonic_curves(segments, metric, form, steps, longest=limit, out=out)
    else:
        table_curves(segments, tables, limit, out)
    if form is not None and method == "auto":
        errors *= max(1.0, float(np.nanmax(np.abs(out), initial=0.0)))
    return out, errors


def _published_curves(segments: Segments, metric: Metric) -> Floats:
    """Return the flat curves of segments by the algorithms of the papers."""
    from argmetric._expected._papers import paper_curve

    curves = np.zeros(segments.p.size + segments.n_segments)
    for g in range(segments.n_segments):
        curves[segments.place(g)] = paper_curve(segments.one(g), metric)
    return curves


def _shared_table_curves(segments: Segments, metric: Metric, out: Floats) -> Booleans:
    """Write the curves of segments that share a table; return which these are."""
    tabled = np.zeros(segments.n_segments, dtype=bool)
    for chosen in sharing_sizes(segments):
        own = Tables(metric)  # large: freed before the next one is computed
        table_curves(segments, own, SHARED_TABLE_ROWS, out, chosen)
        tabled[chosen] = True
    return tabled


def _form_curves(segments: Segments, metric: Metric, form: Form) -> Floats:
    """Return the flat curves of segments by the sums for the form of the metric."""
    curves = np.zeros(segments.p.size + segments.n_segments)
    drivers: dict[type, Any] = {
        RatioForm: ratio_curves,
        ItemForm: item_curves,
        AffineForm: affine_curves,
    }
    drivers[type(form)](segments, form, curves)
    edges = prob_none_or_all_positive(segments)
    settle_edges(segments, metric, form, curves, edges)
    return curves


def mean_curves(
    segments: Segments, metric: Metric, form: MeanForm, out: Floats
) -> None:
    """Write curves of a metric affine in tp and quadratic in t, from three means.

    Where it is affine in both, its values at no hits and no misses, at all hits and at
    all misses are weighted by the expected shares: nothing cancels.
    """
    k, n = segments.flat_counts()
    if form.cells is not None and form.scale is not None:
        for weight, mean in zip(form.cells, cell_means(segments), strict=True):
            if weight:
                out += weight * mean()
        out /= form.scale(k, n)
        return
    hits = running_sums(segments.p, segments.indptr)
    if form.curvature is None:
        none = metric.value(0.0, k, 0.0, n)
        misses = cell_means(segments)[2]()
        out[:] = none + hits / np.maximum(k, 1.0) * (metric.value(k, k, k, n) - none)
        rest = n - k
        all_missed = metric.value(0.0, k, rest, n)
        out += misses / np.maximum(rest, 1.0) * (all_missed - none)
        return
    moments = np.empty((segments.n_segments, 2))
    kernels.segment_moments(segments.p, segments.q, segments.indptr, moments)
    mean, variance = np.repeat(moments, segments.lengths + 1, axis=0).T
    out[:] = metric.value(hits, k, mean, n) + form.curvature(k, n) * variance


def running_sums(terms: Floats, indptr: Integers) -> Floats:
    """Return the sums of the first k terms of every segment, flat."""
    out = np.empty(terms.size + indptr.size - 1)
    kernels.prefix_means(terms, indptr, out)
    return out


def cell_means(segments: Segments) -> tuple[Callable[[], Floats], ...]:
    """Return functions for the expected TP, FP, FN and TN along k."""
    p, q, indptr = segments.p, segments.q, segments.indptr
    backwards = p.size - indptr[::-1]

    def before(terms: Floats) -> Floats:
        return running_sums(terms, indptr)

    def after(terms: Floats) -> Floats:
        mirrored = np.ascontiguousarray(terms[::-1])
        return running_sums(mirrored, backwards)[::-1]

    implicit = np.repeat(segments.sizes - segments.lengths, segments.lengths + 1)
    return (
        lambda: before(p),
        lambda: before(q),
        lambda: after(p),
        lambda: after(q) + implicit,
    )
