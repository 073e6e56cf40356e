"""Best number of positives, without a curve where the metric's form allows it.

For any smooth metric a rough curve comes first: three points carry the first five
moments of a PMF, so that nine values tell E_k roughly. How roughly is measured: at some
k the sum is also taken over the whole PMFs. A k is left out only where its rough value
stays below the best exact one by more than a multiple of the largest error seen; every
other k is summed exactly.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from argmetric._expected import kernels
from argmetric._expected._curves import expected_curves, harmonic_steps, usable_form
from argmetric._expected._sums import ROUGH, SAFETY, Pairs, SegmentSums
from argmetric._expected._tables import (
    Tables,
    prob_none_or_all_positive,
    refuse_infinite,
    sharing_sizes,
)
from argmetric._expected.kernels.tolerances import KINDS, TIE
from argmetric._expected.plan import Plan, is_smooth, plan, table_rows
from argmetric._ground.groups import Method, Segments
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric.metrics import Metric, RatesForm

PROBES = 1  # counts of a segment at which the error is evaluated, besides the ends
FEWEST = 12  # of all segments
PLACES = 4097  # whose rough values are made at a time: all of one small vector
RULES = 9 + 4  # cells of three points on either side, and of two
NEIGHBOURS = 1  # counts on either side of the best that are always evaluated
SPREAD = (math.sqrt(5) - 1) / 2  # of the probes over the groups
MAX_OPEN_SHARE = 0.5  # share of the counts past which the whole curve is quicker


class CountRange(NamedTuple):
    """Allowed k of each segment, the width of a tie, and a k whose value is needed."""

    low: Integers
    high: Integers
    floor: Floats
    extra: Integers

    def take(self, chosen: Integers) -> CountRange:
        low, high, floor, extra = self
        return CountRange(low[chosen], high[chosen], floor[chosen], extra[chosen])


class Choice(NamedTuple):
    """Per segment: the best k, its value, the value at another k, and the error."""

    best: Integers
    expected: Floats
    at_extra: Floats
    errors: Floats

    def take(self, some: Booleans) -> Choice:
        best, expected, at_extra, errors = self
        return Choice(best[some], expected[some], at_extra[some], errors[some])


def has_search(metric: Metric, method: Method, segments: Segments) -> bool:
    """Return whether the best k of some segment is found without its whole curve."""
    return method == "auto" and bool(is_searched(metric, segments).any())


def is_searched(metric: Metric, segments: Segments) -> Booleans:
    """Return which segments are searched; others are short, or need whole curves."""
    if is_smooth(metric):
        long = segments.lengths > table_rows(None)
        for shared in sharing_sizes(segments):
            long[shared] = False
        return long
    if isinstance(metric.form, RatesForm):
        return segments.lengths > table_rows(metric.form)
    return np.zeros(segments.n_segments, dtype=bool)


def choose_plan(segment: Segments, metric: Metric, method: Method, groups: int) -> Plan:
    """Return the route of a segment, which may stand for all `groups`."""
    form = usable_form(metric, segment)
    return plan(
        metric,
        form,
        segment.p.size,
        float(segment.p @ segment.q),
        groups=groups,
        harmonic=form is not None and harmonic_steps(metric) is not None,
        method=method,
    )


def choose_counts(
    segments: Segments,
    metric: Metric,
    asked: CountRange,
    *,
    tables: Tables | None = None,
) -> Choice:
    """Return the best k of every segment within its range.

    Of ties, within 1e-12, it is the smallest.
    """
    count = segments.n_segments
    real = [np.zeros(count) for _ in range(3)]
    choice = Choice(np.zeros(count, dtype=np.int64), *real)

    def put(chosen: Integers, part: Choice) -> None:
        for whole, some in zip(choice, part, strict=True):
            whole[chosen] = some

    long = is_searched(metric, segments)
    search = search_values if is_smooth(metric) else search_rates
    settled = np.zeros(count, dtype=bool)
    if long.any():
        found, settled = search(segments, metric, long, asked)
        put(np.flatnonzero(settled), found)
    for chosen in (np.flatnonzero(~long), np.flatnonzero(long & ~settled)):
        if chosen.size:
            part = segments.take(chosen)
            curves, errors = expected_curves(part, metric, tables=tables)
            refuse_infinite(curves, metric)
            found = choose_on_curves(part, metric, curves, errors, asked.take(chosen))
            put(chosen, found)
    return choice


def search_rates(
    segments: Segments, metric: Metric, wanted: Booleans, asked: CountRange
) -> tuple[Choice, Booleans]:
    """Return the best k by the search for rates, and which segments it decided."""
    form = metric.form
    assert isinstance(form, RatesForm)
    mass = np.ones(segments.n_segments)
    if math.isnan(metric.zero_division):
        mass = prob_none_or_all_positive(segments)[-1]
    chosen = np.flatnonzero(wanted & (mass > 0.0))
    part = segments.take(chosen)
    out = np.zeros((4, chosen.size))
    kernels.best_of_rates(
        *(part.p, part.q, part.indptr, part.sizes),
        KINDS[form.mean],
        metric.zero_division,
        *asked.take(chosen),
        out,
    )
    settled = np.zeros(segments.n_segments, dtype=bool)
    settled[chosen] = out[3] > 0  # sums that were taken
    best, value, at_extra = out[:3, out[3] > 0]
    value, at_extra = value / mass[settled], at_extra / mass[settled]
    errors = part.lengths[out[3] > 0] * 2.0**-52
    return Choice(best.astype(np.int64), value, at_extra, errors), settled


def search_values(
    segments: Segments, metric: Metric, wanted: Booleans, asked: CountRange
) -> tuple[Choice, Booleans]:
    """Return the choices for a metric known by values, and which are decided."""
    chosen = np.flatnonzero(wanted)
    part, some = segments.take(chosen), asked.take(chosen)
    search = ScreenedSearch(SegmentSums.of(part, metric), some)
    search.run()
    if math.isnan(metric.zero_division):
        # The outcomes that count may be rare: their PMFs need more than is kept here.
        search.settled &= search.sums.few >= 1.0
    errors = search.size * (search.dropped + part.lengths * 2.0**-53) + search.estimate
    choice = choose_on_curves(part, metric, search.sign * search.exact, errors, some)
    settled = np.zeros(segments.n_segments, dtype=bool)
    settled[chosen] = search.settled
    return choice.take(search.settled), settled


def choose_on_curves(
    segments: Segments,
    metric: Metric,
    curves: Floats,
    errors: Floats,
    asked: CountRange,
) -> Choice:
    """Return the best counts from the curves of all segments."""
    best = np.zeros(segments.n_segments, dtype=np.int64)
    sign = 1.0 if metric.greater_is_better else -1.0
    low, high, floor, extra = asked
    kernels.choose(curves, segments.indptr, low, high, sign, floor, best)
    at_best, at_extra = (curves[segments.starts + k] for k in (best, extra))
    return Choice(best, at_best, at_extra, errors)


def rough_values(sums: SegmentSums) -> tuple[Floats, Floats]:
    """Return E_k from three points on either side, and from two; nan: undefined."""
    segments = sums.segments
    out, other = segments.empty_curves(), segments.empty_curves()
    room = min(PLACES, out.size)
    at, totals = np.zeros(2, dtype=np.int64), np.zeros((3, 5))
    counts, points = np.empty((3, room)), np.empty((2, 5, room))
    weights, first = np.empty_like(points), 0
    cells = np.empty((2, RULES * room))
    while first < out.size:
        arguments = segments.p, segments.q, segments.indptr, at, totals, counts
        used = kernels.rough_pmfs(*arguments, points, weights)
        tp, t = (x[: RULES * used].reshape(RULES, used) for x in cells)
        kernels.rough_outcomes(points, tp, t)
        n = segments.sizes[counts[0, :used].astype(np.int64)].astype(np.float64)
        values = sums.metric.value(tp, counts[1, :used], t, n)
        place = slice(first, first + used)
        values = np.ascontiguousarray(values)
        kernels.rough_sums(values, weights, out[place], other[place])
        first += used
    return out, other


class ScreenedSearch:
    """Rough values of E_k for all k, replaced by exact ones where k may be the best.

    Values of metrics that are minimised have their sign changed.
    """

    def __init__(self, sums: SegmentSums, asked: CountRange) -> None:
        """Compute rough values of all k, and how far off each may be."""
        self.sums = sums
        self.low, self.high, self.floor, self.extra = low, high, *_ = asked
        segments = sums.segments
        count = segments.n_segments
        self.sign = 1.0 if sums.metric.greater_is_better else -1.0
        rough, other = rough_values(sums)
        self.rough = self.sign * rough
        # Estimated error of the rough value at each k, as a rule too large
        self.doubt = np.abs(rough - other)
        self.exact = np.full(self.rough.size, math.nan)
        self.starts = segments.starts
        self.owner = np.repeat(np.arange(count), segments.lengths + 1)
        k = np.arange(self.rough.size) - self.starts[self.owner]
        self.open = (k >= low[self.owner]) & (k <= high[self.owner])
        self.settled = np.ones(count, dtype=bool)
        self.top = np.full(count, -math.inf)
        # Largest error of the rough values, of the quadrature, and mass left out.
        self.gap, self.estimate, self.dropped = np.zeros((3, count))
        self.size = np.ones(count)

    def run(self) -> None:
        """Evaluate first positions, then all that can still be the best."""
        self.see(self.first_places())
        lengths = self.sums.segments.lengths
        while True:
            bar = self.top - np.maximum(TIE * np.abs(self.top), self.floor)
            reach = np.where(np.isfinite(bar), bar - SAFETY * self.gap, -math.inf)
            wanted = ~(self.rough + self.doubt < reach[self.owner])
            wanted[self.around(self.best(self.exact))] = True
            wanted &= self.open
            count = np.add.reduceat(wanted, self.starts, dtype=np.int64)
            self.settled &= count <= MAX_OPEN_SHARE * lengths
            wanted &= self.settled[self.owner]
            if not wanted.any():
                break
            self.see(np.flatnonzero(wanted))
        self.settled &= (self.estimate <= ROUGH * self.size) & np.isfinite(self.top)

    def first_places(self) -> Integers:
        """Return the ends, `extra`, the best by rough values, and a spread."""
        count = self.low.size
        n_probes = max(PROBES, math.ceil(FEWEST / count))
        turns = np.arange(1, count + 1)[:, None] * SPREAD
        share = (turns + np.arange(n_probes) / n_probes) % 1.0
        width = (self.high - self.low)[:, None]
        some = self.low[:, None] + (share * width).astype(np.int64)
        ends = np.stack([self.low, self.high, self.extra], axis=1)
        known = self.starts[:, None] + np.concatenate([ends, some], axis=1)
        best = self.around(self.best(self.rough))
        return np.unique(np.concatenate([known, best], axis=1))

    def around(self, k: Integers) -> Integers:
        """Return positions of counts k and of their neighbours, a row per segment."""
        near = k[:, None] + np.arange(-NEIGHBOURS, NEIGHBOURS + 1)
        last = self.sums.segments.lengths[:, None]
        return np.asarray(self.starts[:, None] + np.clip(near, 0, last))

    def best(self, values: Floats) -> Integers:
        """Return the best k of each segment among those with a value."""
        best = np.zeros(self.low.size, dtype=np.int64)
        indptr = self.sums.segments.indptr
        kernels.choose(values, indptr, self.low, self.high, 1.0, self.floor, best)
        return best

    def see(self, place: Integers) -> None:
        """Compute E_k at some positions from whole PMFs, and the errors found there."""
        pairs = Pairs.at(self.sums.segments, place)
        values, dropped, change = self.sums.probed_values(pairs)
        values *= self.sign
        group, inside = pairs.group, self.open[place]
        np.fmax.at(self.gap, group, np.abs(values - self.rough[place]))
        np.fmax.at(self.size, group, np.abs(values))
        np.maximum.at(self.dropped, group, dropped)
        np.fmax.at(self.estimate, group, SAFETY * change)
        np.fmax.at(self.top, group[inside], values[inside])
        self.exact[place], self.open[place] = values, False
