"""Decisions in many segments: blocks of rows, threads outside of the kernels."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from argmetric._expected import Plan, kernels, plan_of
from argmetric._ground.segments import Segments
from argmetric._ground.types import Floats, Integers
from argmetric._verbs.decide._one import best_single_cut, cut_at_half
from argmetric._verbs.decide._question import (
    OFTEN_EMPTY,
    Question,
    allowed_range,
    convention_note,
    error_note,
    refuse_empty_range,
)
from argmetric._verbs.decide._result import Decision

BLOCK = 1 << 18  # rows worked on at a time: they stay in the cache


def block_ranges(indptr: Integers) -> Iterator[tuple[int, int]]:
    """Ranges of segments of about BLOCK rows, whatever the number of threads."""
    first, count = 0, indptr.size - 1
    while first < count:
        last = int(np.searchsorted(indptr, indptr[first] + BLOCK, side="right")) - 1
        last = min(max(last, first + 1), count)
        yield first, last
        first = last


def sort_rows(
    scores: Floats, rows: Integers, indptr: Integers
) -> tuple[Floats, Integers]:
    """Scores of every segment in descending order and their rows, ties by position."""
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
    """Segments first…last-1 in descending order, with their scores and positions."""
    layout = question.layout
    rows = layout.segment_rows(first, last)
    offsets = layout.indptr[first : last + 1] - layout.indptr[first]
    key, order = sort_rows(layout.scores, rows, offsets)
    return question.segments(key, offsets, layout.sizes[first:last]), key, order


def decide_groups(question: Question, n_threads: int) -> Decision:
    layout = question.layout
    count = layout.indptr.size - 1
    labels = np.zeros(layout.scores.size, dtype=np.int64)
    best, n_half = np.zeros((2, count), dtype=np.int64)
    expected, at_half, none, errors = np.zeros((4, count))
    from_half = None if question.raw is None else question.from_half

    def work(block: tuple[int, int]) -> None:
        first, last = block
        segments, key, order = sorted_block(question, first, last)
        low, high = allowed_range(question, segments)
        refuse_empty_range(question, low, high, segments, first)
        part = slice(first, last)
        bounds = segments.indptr, question.half
        kernels.count_and_chance(key, segments.q, *bounds, n_half[part], none[part])
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
    error, often = float(errors.mean()), float((none >= OFTEN_EMPTY).mean())
    notes = convention_note(question, float(none.mean()), often) + error_note(error)
    return Decision(
        labels=layout.restore(labels),
        n_positives=int(best.sum()),
        threshold=None,
        threshold_raw=None,
        scale=question.scale,
        expected=mean_defined(expected),
        error=error,
        metric=question.metric,
        n=int(layout.sizes.sum()),
        average=layout.average,
        group_ids=layout.ids,
        group_n_positives=best,
        group_expected=expected,
        notes=tuple(notes),
        _cut_half=cut_at_half(question, int(n_half.sum()), mean_defined(at_half)),
        _best_cut=lambda: best_single_cut(question, *_single_cuts(question), 0.0),
        _curve_of=lambda g: question.curves(sorted_block(question, g, g + 1)[0])[0],
        _cuts=lambda: _single_cuts(question),
        _plan=lambda: _planned(question),
        _asked=question.asked,
    )


def mean_defined(values: Floats) -> float:
    """Mean over the segments in which the metric can be defined."""
    values = values[~np.isnan(values)]
    return float(values.mean()) if values.size else math.nan


def _planned(question: Question) -> Plan:
    """The routes of the shortest and of the longest group."""
    lengths = np.diff(question.layout.indptr)
    ends = [int(lengths.argmin()), int(lengths.argmax())]
    first, last = (
        plan_of(
            sorted_block(question, g, g + 1)[0],
            question.metric,
            question.method,
            lengths.size,
        )
        for g in ends
    )
    if lengths[ends[0]] == lengths[ends[1]]:
        return first
    name = first.name
    if last.name != name:
        name += f"; the longest by {last.name}"
    return Plan(name, first.why.replace(" rows", f" to {lengths[ends[1]]:,} rows"))


def _single_cuts(question: Question) -> tuple[Floats, Floats]:
    """Scores of all rows, descending, and the mean metric of the first k of them."""
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
