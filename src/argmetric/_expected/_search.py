"""The best number of positives, without a curve where the metric's form allows it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from argmetric._expected import kernels
from argmetric._expected._curves import (
    expected_curves,
    harmonic_steps,
    usable_form,
)
from argmetric._expected._edges import prob_none_or_all_positive
from argmetric._expected._tables import Tables, refuse_infinite, sharing_sizes
from argmetric._expected.kernels.tolerances import KINDS
from argmetric._expected.plan import Plan, is_smooth, plan, table_rows
from argmetric._input.segments import Method, Segments
from argmetric._input.types import Booleans, Floats, Integers
from argmetric.metrics import Metric, RatesForm


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
class Choice:
    """Per segment: the best k, its value, the value at another k, and the error."""

    best: Integers
    expected: Floats
    at_extra: Floats
    errors: Floats


def has_search(metric: Metric, method: Method, segments: Segments) -> bool:
    """Whether some segment needs no curve for its best k."""
    return method == "auto" and bool(searched(metric, segments).any())


def searched(metric: Metric, segments: Segments) -> Booleans:
    """Segments whose best k is looked for; the others are short, or need curves."""
    if is_smooth(metric):
        long = segments.lengths > table_rows(None)
        for shared in sharing_sizes(segments):
            long[shared] = False
        return long
    if isinstance(metric.form, RatesForm):
        return segments.lengths > table_rows(metric.form)
    return np.zeros(segments.n_segments, dtype=bool)


def plan_of(segment: Segments, metric: Metric, method: Method, groups: int) -> Plan:
    """The route of one segment, which is the only one or stands for many groups."""
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
    """Best k of every segment within its range; ties go to the smaller k.

    Values within 1e-12, relatively, or within the floor of the best are ties.
    """
    count = segments.n_segments
    real = [np.zeros(count) for _ in range(3)]
    choice = Choice(np.zeros(count, dtype=np.int64), *real)

    def put(chosen: Integers, part: Choice) -> None:
        for name in ("best", "expected", "at_extra", "errors"):
            getattr(choice, name)[chosen] = getattr(part, name)

    long = searched(metric, segments)
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
    segments: Segments,
    metric: Metric,
    wanted: Booleans,
    asked: CountRange,
) -> tuple[Choice, Booleans]:
    """Choices of the segments that were settled, and which those are.

    The others are not wanted, never defined, or were given up.
    """
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
    share = mass[settled]
    errors = part.lengths[out[3] > 0] * 2.0**-52
    return (
        Choice(best.astype(np.int64), value / share, at_extra / share, errors),
        settled,
    )


def search_values(
    segments: Segments,
    metric: Metric,
    wanted: Booleans,
    asked: CountRange,
) -> tuple[Choice, Booleans]:
    """Choices for a metric of which nothing is known but its values.

    And which segments were settled; the others need their curves.
    """
    from argmetric._expected._screen import search_any

    chosen = np.flatnonzero(wanted)
    part = segments.take(chosen)
    some = asked.take(chosen)
    curves, errors, found = search_any(part, metric, *some)
    settled = np.zeros(segments.n_segments, dtype=bool)
    settled[chosen] = found
    choice = choose_on_curves(part, metric, curves, errors, some)
    return Choice(
        choice.best[found],
        choice.expected[found],
        choice.at_extra[found],
        choice.errors[found],
    ), settled


def choose_on_curves(
    segments: Segments,
    metric: Metric,
    curves: Floats,
    errors: Floats,
    asked: CountRange,
) -> Choice:
    """Best counts from the curves of all segments."""
    best = np.zeros(segments.n_segments, dtype=np.int64)
    sign = 1.0 if metric.greater_is_better else -1.0
    low, high, floor, extra = asked
    kernels.choose(curves, segments.indptr, low, high, sign, floor, best)
    start = segments.indptr[:-1] + np.arange(segments.n_segments)
    return Choice(best, curves[start + best], curves[start + extra], errors)
