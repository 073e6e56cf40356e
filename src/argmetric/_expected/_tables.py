"""Short segments: tables of the metric's values, one per size."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from argmetric._expected import kernels
from argmetric._expected.plan import (
    SHARED_TABLE_ROWS,
    SHARING,
    kernel_if_loaded,
    table_rows,
)
from argmetric._ground.groups import Segments
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric.metrics import AffineForm, Form, ItemForm, Metric, RatioForm, is_lasting

BLOCK = 8  # counts whose cells stand in one array
MAX_STEPS = 6  # jk + jt of the quadratic sums: F1, F2 and F0.5


class TableBlock(NamedTuple):
    """Values at [k - first, a, r] of the counts k in `part`, a ≤ k and r ≤ m - k."""

    part: slice
    values: Floats
    defined: Floats | None


class Tables:
    """Values of one metric on all cells of a size, made when first needed."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self._kept: dict[tuple[int, int], tuple[Floats, Floats | None]] = {}

    def blocks(self, m: int, n: int) -> tuple[TableBlock, ...]:
        """Return the table of one short vector in blocks of counts."""
        made = remembered_blocks if is_lasting(self.metric) else make_blocks
        return made(self.metric, m, n)

    def of(self, m: int, n: int) -> tuple[Floats, Floats | None]:
        """Return value(a, k, a+r, n) at [k, a, r], and where it is defined.

        Undefined values are 0; None if all are defined.
        """
        if m <= table_rows(self.metric.form) and is_lasting(self.metric):
            return remembered_table(self.metric, m, n)
        if (m, n) not in self._kept:
            self._kept[m, n] = make_table(self.metric, m, n)
        return self._kept[m, n]


def make_table(metric: Metric, m: int, n: int) -> tuple[Floats, Floats | None]:
    (_, table, defined), *_ = make_blocks(metric, m, n, m + 1)
    return table, defined


def make_blocks(
    metric: Metric, m: int, n: int, counts: int = BLOCK
) -> tuple[TableBlock, ...]:
    """Return the values of all possible counts, `counts` of k in a block."""
    blocks = []
    for first in range(0, m + 1, counts):
        last = min(first + counts, m + 1)
        k, a, r = np.ogrid[first:last, :last, : m - first + 1]
        cells = np.nonzero((a <= k) & (r <= m - k))
        values = metric.value(cells[1], first + cells[0], cells[1] + cells[2], n)
        refuse_infinite(values, metric)
        table = np.zeros((last - first, last, m - first + 1))
        table[cells] = np.nan_to_num(values, nan=0.0)
        defined = None
        if np.isnan(values).any():
            defined = np.zeros_like(table)
            defined[cells] = ~np.isnan(values)
        blocks.append(TableBlock(slice(first, last), table, defined))
    return tuple(blocks)


def refuse_infinite(values: Floats, metric: Metric) -> None:
    if np.isinf(values).any():
        raise ValueError(f"{metric.name} is infinite on some counts: see check_metric")


# A service asks for the same sizes again and again: at most 18 MB are kept of groups,
# and 33 MB of single vectors.
remembered_table = lru_cache(maxsize=64)(make_table)
remembered_blocks = lru_cache(maxsize=64)(make_blocks)


def by_size(segments: Segments, longest: int) -> Iterator[tuple[int, int, Integers]]:
    """Yield (m, n, segments of that size) for all sizes m up to `longest`."""
    lengths = segments.lengths
    chosen = np.flatnonzero(lengths <= longest)
    if not chosen.size:
        return
    keys = np.stack([segments.sizes[chosen], lengths[chosen]])
    order = (
        np.lexsort(keys)
        if (keys[0] != keys[1]).any()
        else np.argsort(keys[1].astype(np.uint16), kind="stable")
    )
    chosen, keys = chosen[order], keys[:, order]
    ends = np.flatnonzero(np.diff(keys, axis=1).any(axis=0)) + 1
    for group in np.split(np.arange(chosen.size), ends):
        n, m = keys[:, group[0]]
        yield int(m), int(n), chosen[group]


def sharing_sizes(segments: Segments) -> Iterator[Integers]:
    """Yield segments of one size that are enough to share a larger table."""
    for m, _, chosen in by_size(segments, SHARED_TABLE_ROWS):
        if m > table_rows(None) and chosen.size * SHARING >= m * m:
            yield chosen


def table_curves(
    segments: Segments,
    tables: Tables,
    longest: int,
    out: Floats,
    only: Integers | None = None,
) -> None:
    """Write E[value | defined] of segments up to `longest`, or of those in `only`."""
    mass = None
    sizes = by_size(segments, longest)
    if only is not None:
        g = only[0]
        sizes = iter([(int(segments.lengths[g]), int(segments.sizes[g]), only)])
    for m, n, chosen in sizes:
        table, defined = tables.of(m, n)
        arguments = (segments.p, segments.q, segments.indptr, chosen)
        kernels.table_curves(*arguments, table, out)
        if defined is not None:
            if mass is None:
                mass = np.ones_like(out)
            kernels.table_curves(*arguments, defined, mass)
    if mass is not None:
        divide_defined(out, mass)


def short_curve(tables: Tables, p: Floats, q: Floats, n: int) -> Floats:
    """Return E[value | defined] for every k of one short descending vector."""
    both = kernel_if_loaded("tables", "both_pmfs") or both_pmfs
    hits, misses = both(p, q)
    curve, mass, whole = np.empty(p.size + 1), np.ones(p.size + 1), True
    for part, table, defined in tables.blocks(p.size, n):
        rows = hits[part, None, : table.shape[1]]
        columns = misses[part, : table.shape[2], None]
        curve[part] = (rows @ (table @ columns))[:, 0, 0]
        if defined is not None:
            mass[part], whole = (rows @ (defined @ columns))[:, 0, 0], False
    if not whole:
        divide_defined(curve, mass)
    return curve


def both_pmfs(p: Floats, q: Floats) -> tuple[Floats, Floats]:
    """Return PMFs of the positives among the first k items, and the others, by k."""
    m = p.size
    room = _rooms.of(m)
    room.p_of_1[:, 0], room.p_of_1[:, 1] = p[:, None], p[::-1, None]
    room.p_of_0[:, 0], room.p_of_0[:, 1] = q[:, None], q[::-1, None]
    multiply, add, hit, missed = np.multiply, np.add, *room.terms
    for same, one_less, p_of_0, p_of_1, new in room.steps:
        multiply(same, p_of_0, missed)
        multiply(one_less, p_of_1, hit)
        add(missed, hit, new)
    rows = room.rows.copy()
    return rows[:, 1 : m + 2], rows[::-1, m + 2 :]


class _Room:
    """Arrays for the PMFs of m items, cut once into the parts that a step works on."""

    def __init__(self, m: int) -> None:
        # A zero, the PMF of the first k, and that of the last k
        self.rows = np.zeros((m + 1, 2 * m + 3))
        self.rows[0, 1] = self.rows[0, m + 2] = 1.0
        self.p_of_0, self.p_of_1 = np.empty((2, m, 2, m + 1))
        self.terms = np.empty((2, 2 * m + 2))
        self.steps = tuple(
            zip(
                self.rows[:-1, 1:],
                self.rows[:-1, :-1],
                self.p_of_0.reshape(m, 2 * m + 2),
                self.p_of_1.reshape(m, 2 * m + 2),
                self.rows[1:, 1:],
                strict=True,
            )
        )


class _Rooms(threading.local):
    """Rooms of a thread for short vectors: at most 0.2 MB each."""

    def __init__(self) -> None:
        self.kept: dict[int, _Room] = {}

    def of(self, m: int) -> _Room:
        if m not in self.kept:
            self.kept[m] = _Room(m)
        return self.kept[m]


_rooms = _Rooms()


def divide_defined(out: Floats, mass: Floats) -> None:
    """Divide E[value; defined] by P(defined), in place."""
    undefined = mass <= 0.0
    mass[undefined] = 1.0
    np.divide(out, mass, out=out, where=mass != 1.0)
    out[undefined] = math.nan


def small_fraction(form: RatioForm) -> tuple[int, int] | None:
    """Return small (jk, jt) with the denominator ∝ jk·k + jt·t, or None."""
    d0, d1, d2, d3 = form.d
    if not (form.counts_hits_only and d0 == d1 == 0 and d2 > 0 and d3 > 0):
        return None
    fraction = Fraction(d3 / d2).limit_denominator(MAX_STEPS)
    if fraction.numerator + fraction.denominator > MAX_STEPS:
        return None
    exact = fraction.denominator * d3 == fraction.numerator * d2
    return (fraction.denominator, fraction.numerator) if exact else None


def harmonic_curves(
    segments: Segments,
    metric: Metric,
    form: RatioForm,
    steps: tuple[int, int],
    *,
    longest: int,
    out: Floats,
) -> None:
    """Write E[c1·tp / (d2·k + d3·t)] of short segments, in O(m²).

    Parameters
    ----------
    steps : tuple (jk, jt)
        Whole numbers with d2·k + d3·t ∝ jk·k + jt·t.
    longest : int
        Segments with more rows are left out.
    out : ndarray
        Flat curves of all segments.
    """
    scale = form.c[1] * steps[0] / form.d[2]
    empty = float(metric.value(0, 0, 0, 1))
    chosen = np.flatnonzero(segments.lengths <= longest)
    short = segments.lengths[chosen].astype(np.uint16)
    chosen = chosen[np.argsort(short, kind="stable")]
    kernels.harmonic_curves(
        segments.p, segments.q, segments.indptr, chosen, *steps, scale, empty, out
    )


PLACES_AT_ONCE = (
    1 << 14
)  # places of curves that are settled at a time: they stay in the cache
UNSEEN = 1e-40  # probabilities below it, relative to the largest value, are left out


def prob_none_or_all_positive(segments: Segments) -> tuple[Floats, ...]:
    """Return P(T=0), P(T=n), P(T>0), P(T<n) and P(0<T<n) of segments, accurately."""
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
    probabilities: tuple[Floats, ...],
) -> None:
    """Add the value of the metric at T = 0 and T = n to curves, and at k = 0 and n."""
    none, every, *_ = probabilities
    probability = np.maximum(none, every)
    if isinstance(form, RatioForm):
        d0, _, d2, _ = form.d
        if not form.counts_hits_only:
            return  # no denominator vanishes: the sums have these outcomes
        if min(d0, d2) >= 0.0 < d0 + d2:  # without positives 0, but for k = 0
            probability = np.zeros_like(probability)
    first = segments.starts
    seen = probability > UNSEEN * np.maximum.reduceat(np.abs(out), first)
    if seen.any():
        edges = EdgeTerms.of(segments, metric, form)
        for begin in range(0, out.size, PLACES_AT_ONCE):
            part = slice(begin, min(begin + PLACES_AT_ONCE, out.size))
            if seen[segments.segments_at(part)].any():
                settle_part(segments, edges, out, probabilities, part)
    sizes = segments.sizes.astype(np.float64)
    places, k, n = first, np.zeros_like(sizes), sizes
    if isinstance(form, AffineForm):  # and all of them are predicted
        full = segments.sizes == segments.lengths
        places = np.append(places, (first + segments.lengths)[full])
        k, n = np.append(k, sizes[full]), np.append(n, sizes[full])
        probabilities = tuple(np.append(one, one[full]) for one in probabilities)
    out[places] = edge_values(metric, k, n, probabilities)


@dataclass(frozen=True)
class EdgeTerms:
    """Corrections of the regular form at T = 0 and T = n, where the metric is defined.

    They depend on (k, n); `shared` holds them for each size n once.
    """

    metric: Metric
    form: Form
    shared: tuple[Floats, Floats, Booleans, Booleans] | None
    starts: Integers  # of every segment in the shared ones

    @classmethod
    def of(cls, segments: Segments, metric: Metric, form: Form) -> EdgeTerms:
        """Return the terms of segments, computed once per size if that saves work."""
        counts = segments.counts_by_size()
        terms = cls(metric, form, None, counts.places)
        if 2 * counts.size > segments.p.size:
            return terms
        return replace(terms, shared=terms.at(*counts.at(slice(0, counts.size))))

    def at(self, k: Floats, n: Floats) -> tuple[Floats, Floats, Booleans, Booleans]:
        """Return corrections at T = 0 and T = n, and where the metric is undefined."""
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
    probabilities: tuple[Floats, ...],
    part: slice,
) -> None:
    """Add the value of the metric at T = 0 and T = n to some entries of the curves."""
    g, k = segments.counts_at(part)
    if edges.shared is None:
        terms = edges.at(k, segments.sizes[g].astype(np.float64))
    else:
        place = edges.starts[g] + k.astype(np.int64)
        terms = tuple(one[place] for one in edges.shared)  # type: ignore[assignment]
    add_none, add_all, no_none, no_all = terms
    none, every, some, not_every, inside = probabilities
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
    """Return the values of the metric's form at T = 0 and at T = n."""
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
    metric: Metric, k: Floats, n: Floats, probabilities: tuple[Floats, ...]
) -> Floats:
    """Return E[value | defined] at k = 0 or n, where it is constant for 0 < T < n."""
    none, every, _, _, inside = probabilities
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
