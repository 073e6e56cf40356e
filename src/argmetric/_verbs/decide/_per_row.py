"""So many labels in every row of a matrix, for the best expected mean over labels.

Papers call this "budgeted at k". `min_positives` and `max_positives` are about columns
here. `_few_rows` and `_row_search` choose the labels; the expected metric of every
column is then summed exactly.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from argmetric._expected import Pairs, Plan, SegmentSums
from argmetric._expected.plan import is_exact_per_row
from argmetric._ground.arguments import check_count, shown
from argmetric._ground.types import Floats, Integers
from argmetric._ground.validation import is_sparse
from argmetric._verbs.decide._few_rows import improve_few
from argmetric._verbs.decide._one import block_ranges, decide_groups, grouped_decision
from argmetric._verbs.decide._question import Question, error_note
from argmetric._verbs.decide._result import Decision
from argmetric._verbs.decide._row_search import Entries, RowSearch, is_searched
from argmetric.metrics import Metric

# An answer is not summed if its metric at expected counts lies below by so many times
# the error that this metric is known to have, and by so much.
SAFE_ERRORS, SAFE_LEAD = 10.0, 1e-3
SAME = 1e-12  # differences of expected scores that are rounding
BY_WEIGHT = Plan("the largest gains of every row", "rows do not depend on each other")
EXACTLY = Plan("ascent in the expected score", "few rows")
BY_POINTS = Plan("ascent over rows; the best of several", "many rows")


def check_per_row(per_row: object, budget: object, question: Question) -> int:
    """Return the number of labels per row; refuse options that do not go with it."""
    layout, limits = question.layout, question.limits
    if layout.average != "macro":
        of = (
            f"not {layout.average!r}" if len(layout.shape) == 2 else "and p is a vector"
        )
        raise ValueError(
            f"per_row={shown(per_row)} goes with a matrix and "
            f"average='macro', {of}. For 'samples' pass min_positives and "
            "max_positives, which bound the labels of each row; for 'micro' the most "
            "probable labels of each row are the best ones"
        )
    if budget is not None or not (limits.none and limits.no_floor):
        raise ValueError(
            "per_row does not go with budget, min_positives, max_positives, "
            "min_precision or min_recall, which are about columns"
        )
    if math.isnan(question.metric.zero_division):
        raise ValueError("per_row needs zero_division=0 or 1, not nan")
    metric = question.metric
    if not is_searched(metric):
        raise ValueError(
            f"per_row is not made for {metric.name}: it knows F-beta, Jaccard, "
            "Tversky, precision, recall, specificity, accuracy, balanced accuracy, "
            "Youden, MCC and G-mean"
        )
    count, width = check_count(per_row, "per_row"), layout.shape[1]
    if count > width:
        raise ValueError(f"per_row={count} is more than the {width} labels of a row")
    return count


def read_entries(question: Question) -> tuple[Entries, Integers | None]:
    """Return the entries row by row, and their positions in a sparse layout."""
    layout, given = question.layout, question.asked["p"]
    count, width = layout.shape
    if not is_sparse(given):
        plain = isinstance(given, np.ndarray) and given.dtype == np.float64
        if not plain or question.logits or question.raw is not None:
            given = question.probabilities(layout.scores)[0].reshape(width, count).T
        p, every = np.ascontiguousarray(given).ravel(), np.empty(0, dtype=np.int64)
        return Entries(p, np.arange(count + 1) * width, every), None
    # Labels that are the places of the entries tell where each of them lies
    places = layout.restore(np.arange(1, layout.scores.size + 1)).tocsr()
    places.sort_indices()
    order = places.data.astype(np.int64) - 1
    starts, columns = (x.astype(np.int64) for x in (places.indptr, places.indices))
    return Entries(layout.scores[order], starts, columns), order


def choose_labels(
    question: Question, rows: Entries, order: Integers | None, count: int
) -> tuple[Integers, tuple[Integers, Floats, Floats], Plan]:
    """Return indices of chosen entries, expected values of columns, and the plan."""
    layout, metric = question.layout, question.metric
    n, width = layout.shape
    columns = question.probabilities(layout.scores)[0], layout.indptr
    search = RowSearch(rows, columns, metric, count)

    def evaluate(places: Integers) -> tuple[Integers, tuple[Integers, Floats, Floats]]:
        own = places % width * n + places // width if order is None else order[places]
        return places, _expected_values(question, np.sort(own))

    picked = search.best_by_weight()
    if picked is not None:
        return *evaluate(rows.places(picked)), BY_WEIGHT
    plain = search.best_at_expected_counts()
    if is_exact_per_row(n, width):
        return *evaluate(_chosen_of_few(rows, metric, count, plain, width)), EXACTLY
    # The metric at expected counts errs about as much for one answer as for another
    best, top = evaluate(rows.places(plain)), search.largest(np.ones(width))
    value = search.value_at_expected_counts(plain)
    lead = value - search.value_at_expected_counts(top)
    answers = [search.best_at_points(plain)]
    if lead < SAFE_ERRORS * abs(value - float(best[1][1].mean())) + SAFE_LEAD:
        answers.append(top)
    for picked in answers:
        if picked is not None:
            other = evaluate(rows.places(picked))
            if other[1][1].mean() > best[1][1].mean() + SAME:
                best = other
    return *best, BY_POINTS


def _chosen_of_few(
    rows: Entries, metric: Metric, count: int, plain: Integers, width: int
) -> Integers:
    """Return the indices of the chosen entries, improved on a dense matrix."""
    n = rows.starts.size - 1
    row = np.repeat(np.arange(n), np.diff(rows.starts))
    column = rows.columns if rows.columns.size else np.arange(rows.p.size) % width
    p, allowed, first = np.zeros((n, width)), *np.zeros((2, n, width), dtype=bool)
    p[row, column], allowed[row, column] = rows.p, True
    places = rows.places(plain)
    first[row[places], column[places]] = True
    labels = improve_few(p, allowed, metric, count, [first])
    return np.flatnonzero(labels[row, column])


def decide_rows(question: Question, count: int, n_threads: int) -> Decision:
    """Decide exactly `count` labels in every row."""
    (rows, order), (n, width) = read_entries(question), question.layout.shape
    places, found, plan = choose_labels(question, rows, order, count)
    labels: Integers = np.zeros(rows.p.size, dtype=np.int64)
    labels[places if order is None else order[places]] = 1
    if order is None:
        labels = labels.reshape(n, width).T  # as the layout has it
    notes = error_note(float(found[-1].mean()))
    few = np.flatnonzero(np.diff(rows.starts) < count)
    if few.size:
        has = rows.starts[few[0] + 1] - rows.starts[few[0]]
        note = (
            f"{few.size:,} of {n:,} rows store fewer than {count} values, as row "
            f"{few[0]} with {has}: all of these are chosen, and no absent cell"
        )
        notes = [note, *notes]
    free = cache(lambda: decide_groups(question, n_threads))
    return grouped_decision(
        question,
        labels,
        found,
        notes,
        _cut_half=lambda: free().cut_half,
        _best_cut=lambda: free().best_cut,
        _curve_of=lambda g: free()._curve_of(g),
        _cuts=lambda: free()._cuts(),
        _plan=lambda: plan,
        gap=0.0 if plan is BY_WEIGHT else math.nan,
    )


def _expected_values(
    question: Question, places: Integers
) -> tuple[Integers, Floats, Floats]:
    """Return number, exact expected metric and error of each column's labels."""
    from argmetric._verbs.kernels import per_row as kernels

    layout = question.layout
    ends = np.searchsorted(places, layout.indptr)
    k = np.diff(ends)
    expected, errors = np.zeros((2, k.size))
    for first, last in block_ranges(layout.indptr):
        start, part = layout.indptr[first], slice(first, last)
        bounds = layout.indptr[first : last + 1] - start
        scores = np.empty(bounds[-1])
        kernels.chosen_first(
            layout.scores, layout.indptr, places, ends, first, last, scores
        )
        segments = question.segments(scores, bounds, layout.sizes[part])
        sums = SegmentSums.of(segments, question.metric)
        pairs = Pairs(np.arange(last - first), k[part], segments.starts + k[part])
        expected[part], dropped, change = sums.probed_values(pairs)
        errors[part] = dropped + change
    return k, expected, errors
