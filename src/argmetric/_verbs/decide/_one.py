"""Decision on one vector, and on many segments in blocks."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from argmetric._expected import (
    MOST_COUNTS,
    Array,
    BestCount,
    Items,
    Plan,
    choose_plan,
    error_of,
    is_long,
    is_short,
    kernels,
    short_curve,
)
from argmetric._ground.groups import Segments
from argmetric._ground.limits import UNLIMITED, Limits, refuse_more_than_all
from argmetric._ground.types import Floats, Integers
from argmetric._verbs.decide._question import (
    OFTEN_EMPTY,
    Question,
    allowed_range,
    choose,
    choose_of_few,
    convention_note,
    cut_between,
    error_note,
    raw_threshold,
    refuse_empty_range,
    scores_at,
    threshold_between,
)
from argmetric._verbs.decide._result import Cut, Decision, forecast_labels
from argmetric.metrics import (
    Metric,
    leaves_out_none,
    require_ranking,
    size_facts,
)


class CountResult(NamedTuple):
    """Best count, P(no positive), and functions that return scores, curve and plan.

    `key()` returns the scores in descending order, `curve()` the values for all k.
    """

    choice: BestCount
    p_none: float
    key: Callable[[], Floats]
    curve: Callable[[], Floats]
    plan: Callable[[], Plan]


def decide_one(question: Question) -> Decision:
    """Decide one vector by the fastest way that applies, and build the result."""
    found = (
        decide_short(question)
        or decide_by_histogram(question)
        or decide_sorted(question)
    )
    layout, count = question.layout, found.choice
    if question.whole_ties and count.upper == count.lower:
        count = best_whole_count(question, found)
    threshold = cut_between(count.upper, count.lower)

    def best_cut() -> Cut:
        if threshold is not None and question.limits.none:
            return Cut(threshold, count.best, count.expected)
        floor = float(question.tie_floor(sorted_segment(question)[1])[0])
        return best_single_cut(question, found.key(), found.curve(), floor)

    notes = []
    labels = np.zeros(layout.scores.size, dtype=np.int64)
    tied = mark_best(question, 0, slice(None), count, labels)
    raw = threshold
    if question.raw is not None:
        raw = raw_threshold(question.raw, labels)
    if threshold is None:
        first = "the first in order" if layout.rows is None else "by p as given"
        on = "" if raw is None else question.scale  # raw scores have a single cut
        notes.append(tie_note(tied.size, count.lower, first, on))
    notes += whole_tie_note(count.lost, question.metric)
    none = found.p_none
    notes += convention_note(question, none, float(none >= OFTEN_EMPTY))
    notes += error_note(count.error)
    return _decision(
        question,
        labels,
        (count.best, count.expected, count.error),
        notes,
        threshold=threshold,
        threshold_raw=raw,
        _cut_half=cut_at_half(question, count.n_half, count.at_half),
        _best_cut=best_cut,
        _curve_of=lambda g: found.curve(),
        _cuts=lambda: (found.key(), found.curve()),
        _plan=found.plan,
    )


def _decision(
    question: Question,
    labels: Integers,
    found: tuple[int, float, float],
    notes: list[str],
    **more: Any,
) -> Decision:
    """Return the decision of a number of positives, expected metric and error."""
    layout, (count, expected, error) = question.layout, found
    return Decision(
        labels=layout.restore(labels),
        n_positives=count,
        scale=question.scale,
        expected=expected,
        error=error,
        metric=question.metric,
        n=int(layout.sizes.sum()),
        average=layout.average,
        group_ids=layout.ids,
        notes=tuple(notes),
        _asked=question.asked,
        **more,
    )


def mark_best(
    question: Question,
    group: int,
    at: slice | Integers,
    count: BestCount,
    labels: Integers,
) -> Integers:
    """Mark the best rows of a group; rows that share the score at the cut, if any."""
    layout = question.layout
    scores = layout.scores[at]
    threshold = cut_between(count.upper, count.lower)
    if threshold is not None:
        labels[at] = scores >= threshold
        return labels[:0]
    above = scores > count.lower
    labels[at] = above
    rows = layout.segment_rows(group, group + 1)
    tied: Integers = rows[layout.scores[rows] == count.lower]
    labels[tied[: count.best - int(above.sum())]] = 1
    return tied


def cut_at_half(question: Question, n_half: int, expected: float) -> Callable[[], Cut]:
    """Return the cut at 1/2 of raw scores; a user's calibrator may not ascend."""
    found = question.asked["calibrator"]
    if found is None or found._rises:
        return lambda: Cut(question.half, n_half, expected)

    def of_function() -> Cut:
        labels = question.layout.restore(question.from_half.astype(np.int64))
        score_forecast = forecast_labels(question.asked, labels, question.metric)
        return Cut(question.half, n_half, score_forecast.mean)

    return of_function


def tie_note(count: int, score: float, first: str, scale: str = "") -> str:
    """Return a note that a tie is split, so that no threshold gives the labels."""
    on = f" on {scale}" if scale else ""
    return (
        f"{count:,} items share the score {score:.6g} at the cut and some of them are "
        f"chosen, {first}: no threshold{on} gives these labels"
    )


def whole_tie_note(lost: float, metric: Metric) -> list[str]:
    """Return a note on what keeping ties whole costs; empty if nothing."""
    if lost <= 0.0:
        return []
    return [
        "rows with equal scores get equal labels: to split a tie would improve the "
        f"expected {metric.name} by {lost:.2g}"
    ]


def best_whole_count(question: Question, found: CountResult) -> BestCount:
    """Return the best count that splits no tie; refuse limits that allow none."""
    key, curve, layout = found.key(), found.curve(), question.layout
    segments = question.segments(key, layout.indptr, layout.sizes)
    low, high = (int(k[0]) for k in allowed_range(question, segments))
    whole = np.concatenate([[True], key[1:] != key[:-1], [True]])
    if not whole[low : high + 1].any():
        raise ValueError(
            f"rows with equal scores get equal labels, and no cut between {low} and "
            f"{high} positives leaves them together: widen the limits"
        )
    floor = float(question.tie_floor(segments)[0])
    k = choose(question, curve, low, high, floor, allowed=whole)
    lost = question.sign * (found.choice.expected - float(curve[k]))
    upper, lower = scores_at(key, k)
    whole_count = found.choice._replace(best=k, expected=float(curve[k]))
    return whole_count._replace(upper=upper, lower=lower, lost=lost)


def sorted_segment(question: Question) -> tuple[Floats, Segments]:
    """Return the scores in descending order, and their segment."""
    layout = question.layout
    key = np.sort(layout.scores)[::-1].copy()
    return key, question.segments(key, layout.indptr, layout.sizes)


def decide_sorted(question: Question) -> CountResult:
    """Decide by the curve over the sorted scores, or by a search that needs none."""
    key, segments = sorted_segment(question)
    low, high = allowed_range(question, segments)
    refuse_empty_range(question, low, high, segments, 0)
    if question.raw is None:
        at_half = np.searchsorted(-key, [-question.half], side="right")
    else:
        at_half = np.array([np.count_nonzero(question.from_half)])
    choice, curve_of = question.choose(segments, low, high, at_half)
    k = int(choice.best[0])
    count = BestCount(
        k,
        float(choice.expected[0]),
        float(choice.errors[0]),
        int(at_half[0]),
        float(choice.at_extra[0]),
        *scores_at(key, k),
    )
    route = partial(choose_plan, segments, question.metric, question.method, 1)
    return CountResult(count, p_none(segments), lambda: key, curve_of, route)


def decide_short(question: Question) -> CountResult | None:
    """Decide a short vector without what long ones need: services ask for many."""
    layout, limits = question.layout, question.limits
    scores, metric = layout.scores, question.metric
    if question.method != "auto" or not is_short(scores.size):
        return None
    if limits.min_precision > 0 or limits.min_recall > 0 or limits.least > scores.size:
        return None
    ascending = scores.copy()
    ascending.sort()
    key = ascending[::-1]
    p, q = question.probabilities(key)
    n = question.n
    high = highest_count(metric, limits, p.size, lambda: int(np.count_nonzero(p)))
    curve = short_curve(question.tables, p, q, n)
    floor = size_facts(metric, n).floor
    if floor > 0.0 and not leaves_out_none(metric):
        mean = float(p.sum())
        floor *= min(max(min(mean, n - mean), 0.0), 1.0)
    values, in_order = curve.tolist(), ascending.tolist()
    k = choose_of_few(question, values, limits.least, high, floor)
    if question.raw is None:
        n_half = len(in_order) - bisect_left(in_order, question.half)
    else:
        n_half = int(np.count_nonzero(question.from_half))
    count = BestCount(
        k, values[k], error_of(values), n_half, values[n_half], *scores_at(key, k)
    )
    none = math.prod(q.tolist())
    segments = Segments(p, q, layout.indptr, layout.sizes)
    route = partial(choose_plan, segments, metric, question.method, 1)
    return CountResult(count, none, lambda: key, lambda: curve, route)


def highest_count(
    metric: Metric, limits: Limits, size: int, n_possible: Callable[[], int]
) -> int:
    """Return the largest allowed k where no floor is set."""
    high = size
    if limits.most != UNLIMITED:
        high = min(int(limits.most_of(size)), size)
    if math.isnan(metric.zero_division):
        # Predicting a certain negative only to leave 0/0 is no decision.
        high = min(high, max(n_possible(), limits.least))
    return high


def decide_items(
    items: Items, metric: Metric, limits: Limits, *, most: int, whole: bool = False
) -> BestCount | None:
    """Return the best count of a vector on disk; None beyond `most` items.

    With `whole`, of those that split no tie.
    """
    if metric.form is None:
        return None
    require_ranking(metric, np.array([items.size]))
    refuse_more_than_all(limits, items.size)
    return best_of_items(items, metric, limits, most, whole)


def best_of_items(
    items: Items,
    metric: Metric,
    limits: Limits,
    most: int = MOST_COUNTS,
    whole: bool = False,
) -> BestCount | None:
    """Return the best count of a long vector by a histogram, or None."""
    if limits.min_precision > 0 or limits.min_recall > 0:
        return None
    high = highest_count(metric, limits, items.size, items.n_possible)
    from argmetric._expected import choose_in_long

    floor = size_facts(metric, items.size).floor
    bounds = limits.least, high
    return choose_in_long(
        items, metric, *bounds, floor=floor, max_candidates=most, whole=whole
    )


def count_by_histogram(question: Question, group: int) -> BestCount | None:
    """Return the best count of a long group without a sort, or None."""
    layout, raw = question.layout, question.raw
    plain = question.method == "auto" and not question.logits and not layout.sparse
    at = layout.segment(group, group + 1)
    scores = layout.scores[at]
    if not plain or not is_long(scores.size):
        return None
    items = Array(scores, None if raw is None else raw[at])
    return best_of_items(items, question.metric, question.limits)


def decide_by_histogram(question: Question) -> CountResult | None:
    """Decide a long vector from a histogram of its scores, without a sort."""
    layout, count = question.layout, count_by_histogram(question, 0)
    if count is None:
        return None

    @cache
    def in_order() -> tuple[Floats, Segments]:
        return sorted_segment(question)

    curve = cache(lambda: question.curves(in_order()[1])[0])
    route = histogram_plan(layout.scores.size)
    return CountResult(count, 0.0, lambda: in_order()[0], curve, lambda: route)


def histogram_plan(rows: int) -> Plan:
    return Plan("histogram of the scores, without a sort", f"{rows:,} rows")


def best_single_cut(
    question: Question, key: Floats, curve: Floats, floor: float
) -> Cut:
    """Return the best cut between distinct scores, or of none or all rows."""
    whole = np.concatenate([[True], key[1:] != key[:-1], [True]])
    best = choose(question, curve, 0, key.size, floor, allowed=whole)
    cut = threshold_between(key, best)
    assert cut is not None  # no tie is split at such a k
    return Cut(cut, best, float(curve[best]))


def p_none(segments: Segments) -> float:
    """Return P(no positive) of one segment."""
    p, q = segments.p, segments.q
    with np.errstate(divide="ignore"):
        logs = np.where(p < 0.5, np.log1p(-np.minimum(p, 0.5)), np.log(q))
    return float(np.exp(logs.sum()))


BLOCK = 1 << 18  # rows worked on at a time: they stay in the cache


def block_ranges(indptr: Integers) -> Iterator[tuple[int, int]]:
    """Return ranges of segments of about BLOCK rows, for any number of threads.

    A long segment has a range of its own.
    """
    count = indptr.size - 1
    long = np.append(np.flatnonzero(is_long(np.diff(indptr))), count)
    first = 0
    while first < count:
        last = int(np.searchsorted(indptr, indptr[first] + BLOCK, side="right")) - 1
        alone = int(long[np.searchsorted(long, first)])
        last = min(max(last, first + 1), max(alone, first + 1), count)
        yield first, last
        first = last


def sort_rows(
    scores: Floats, rows: Integers, indptr: Integers
) -> tuple[Floats, Integers]:
    """Return descending scores of every segment and their rows, ties by position."""
    from argmetric._expected.kernels.segments import RUN

    key, order = np.empty(rows.size), np.empty(rows.size, dtype=np.int64)
    scores = scores.view()
    scores.flags.writeable = False  # as frames hand them out: one compiled version
    kernels.sort_short(scores, rows, indptr, key, order)
    longest = int(np.diff(indptr).max(initial=0))
    if longest > RUN:
        values, counts = np.empty(longest), np.empty((4, 256), dtype=np.int64)
        words = np.empty((2, longest), dtype=np.int64)
        room = values, values.view(np.int64), *words, counts
        kernels.sort_long(scores, rows, indptr, *room, key, order)
    return key, order


def sorted_block(
    question: Question, first: int, last: int
) -> tuple[Segments, Floats, Integers]:
    """Return segments first … last-1 descending, with scores and positions."""
    layout = question.layout
    rows = layout.segment_rows(first, last)
    offsets = layout.indptr[first : last + 1] - layout.indptr[first]
    key, order = sort_rows(layout.scores, rows, offsets)
    return question.segments(key, offsets, layout.sizes[first:last]), key, order


def decide_groups(question: Question, n_threads: int) -> Decision:
    """Decide every segment of the layout on its own, in blocks and threads."""
    layout = question.layout
    count = layout.indptr.size - 1
    labels = np.zeros(layout.scores.size, dtype=np.int64)
    best, n_half = np.zeros((2, count), dtype=np.int64)
    expected, at_half, none, errors = np.zeros((4, count))
    from_half = None if question.raw is None else question.from_half

    def work(block: tuple[int, int]) -> None:
        """Decide a block of segments, and write their labels and expected scores."""
        first, last = block
        count = count_by_histogram(question, first) if last - first == 1 else None
        if count is not None:
            at = question.layout.segment(first, last)
            mark_best(question, first, at, count, labels)
            best[first], expected[first], errors[first] = count[:3]
            n_half[first], at_half[first] = count[3:5]
            return
        segments, key, order = sorted_block(question, first, last)
        low, high = allowed_range(question, segments)
        refuse_empty_range(question, low, high, segments, first)
        part = slice(first, last)
        bounds = segments.indptr, question.half
        kernels.count_and_p_none(key, segments.q, *bounds, n_half[part], none[part])
        if from_half is not None:
            reached = np.concatenate([[0], np.cumsum(from_half[order])])
            n_half[part] = np.diff(reached[segments.indptr])
        choice, _ = question.choose(segments, low, high, n_half[part])
        kernels.mark(order, segments.indptr, choice.best, labels)
        best[part], expected[part] = choice.best, choice.expected
        at_half[part], errors[part] = choice.at_extra, choice.errors

    ranges = list(block_ranges(layout.indptr))
    if n_threads == 1 or len(ranges) == 1:
        for block in ranges:
            work(block)
    else:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(work, ranges))
    often = float((none >= OFTEN_EMPTY).mean())
    notes = convention_note(question, float(none.mean()), often)
    return grouped_decision(
        question,
        labels,
        (best, expected, errors),
        notes + error_note(float(errors.mean())),
        _cut_half=cut_at_half(question, int(n_half.sum()), mean_defined(at_half)),
        _best_cut=lambda: best_single_cut(question, *_single_cuts(question), 0.0),
        _curve_of=lambda g: question.curves(sorted_block(question, g, g + 1)[0])[0],
        _cuts=lambda: _single_cuts(question),
        _plan=lambda: _group_routes(question),
    )


def grouped_decision(
    question: Question,
    labels: Integers,
    found: tuple[Integers, Floats, Floats],
    notes: list[str],
    **more: Any,
) -> Decision:
    """Return the decision on several segments: counts, expected metrics, errors."""
    best, expected, errors = found
    totals = int(best.sum()), mean_defined(expected), float(errors.mean())
    more |= {"group_n_positives": best, "group_expected": expected}
    return _decision(question, labels, totals, notes, **more)


def mean_defined(values: Floats) -> float:
    """Return the mean over the segments in which the metric can be defined."""
    values = values[~np.isnan(values)]
    return float(values.mean()) if values.size else math.nan


def _group_routes(question: Question) -> Plan:
    """Return the routes of the shortest and of the longest group."""
    lengths = np.diff(question.layout.indptr)
    ends = [int(lengths.argmin()), int(lengths.argmax())]

    def route(group: int) -> Plan:
        if count_by_histogram(question, group) is not None:
            return histogram_plan(lengths[group])
        segments = sorted_block(question, group, group + 1)[0]
        return choose_plan(segments, question.metric, question.method, lengths.size)

    first, last = map(route, ends)
    if lengths[ends[0]] == lengths[ends[1]]:
        return first
    name = first.name
    if last.name != name:
        name += f"; the longest by {last.name}"
    return Plan(name, first.why.replace(" rows", f" to {lengths[ends[1]]:,} rows"))


def _single_cuts(question: Question) -> tuple[Floats, Floats]:
    """Return descending scores of all rows, and the mean metric of the first k."""
    layout = question.layout
    scores = np.empty(layout.scores.size)
    steps, shares = np.empty(scores.size), np.empty(scores.size)
    start_value = start_share = 0.0
    for first, last in block_ranges(layout.indptr):
        segments, key, _ = sorted_block(question, first, last)
        curves, _ = question.curves(segments)
        defined = ~np.isnan(curves)
        values = np.where(defined, curves, 0.0)
        head = segments.starts
        start_value += float(values[head].sum())
        start_share += float(defined[head].sum())
        inner = np.ones(curves.size - 1, dtype=bool)
        inner[head[1:] - 1] = False
        part = slice(layout.indptr[first], layout.indptr[last])
        scores[part] = key
        steps[part] = np.diff(values)[inner]
        shares[part] = np.diff(defined.astype(np.float64))[inner]
    order = np.argsort(-scores, kind="stable")
    scores = scores[order]
    total = start_value + np.concatenate([[0.0], np.cumsum(steps[order])])
    share = start_share + np.concatenate([[0.0], np.cumsum(shares[order])])
    mean = np.divide(total, share, out=np.full(total.size, math.nan), where=share > 0.5)
    return scores, mean
