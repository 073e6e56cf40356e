"""So many labels in every row of a matrix, for a mean over labels.

Papers call this "budgeted at k". `min_positives` and `max_positives` are about columns
here.

Of label j with 0/1 predictions y and probabilities p: tp = Σ y·p, k = Σ y and t = Σ p
over the rows. The objective is the mean over labels of the metric at these expected
counts. Block-coordinate ascent (Schultheis et al. 2023): row by row the labels of the
largest gains are taken, value with the row less value without, all other rows as they
are, until no row changes. It starts with the labels of the largest p/t, the best for
recall: on 300 x 50 matrices one ascent led from there to higher values than from the
most probable labels, random ones or none (0.4073, 0.4069, 0.4069, 0.4030).

After one pass every row keeps its likely entries only, and the ascent goes on among
these. There it is also begun again, some rows having other entries, which leads to
higher values (iterated local search). Last come passes over all entries. What is found
is a local optimum of the objective, and its best value where the gains of a row do not
depend on other rows (recall, accuracy). Its expected metric is then summed exactly.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from argmetric._expected import Pairs, Plan, SegmentSums
from argmetric._ground.arguments import check_count, shown
from argmetric._ground.types import Floats, Integers
from argmetric._ground.validation import is_sparse
from argmetric._verbs.decide._one import block_ranges, decide_groups, grouped_decision
from argmetric._verbs.decide._question import Question, error_note
from argmetric._verbs.decide._result import Decision
from argmetric.metrics import MCC, BalancedAccuracy, Metric, RatesForm, Recall

if TYPE_CHECKING:
    from argmetric._verbs.kernels.per_row import Labels

MOST_PASSES = 100
SPARE = 10  # likely entries of a row beside those that it has
ROUNDS, FEWER = 24.0, 4.5  # of beginning again, and how many fewer for ten times n
# Shares of the rows that get other entries, by turns. On 60 matrices of 1,000 rows
# these were never more than 5e-6 below the best of seven choices; 2 % alone was in one
# case, 5, 2 and 1 % by turns in three.
MOVED = (0.02, 0.02, 0.3)
ROUNDING = 1e-13  # a smaller rise of the mean is none
RECALL = (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)  # tp over t


def check_per_row(per_row: Any, budget: Any, question: Question) -> int:
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
    count, width = check_count(per_row, "per_row"), layout.shape[1]
    if count > width:
        raise ValueError(f"per_row={count} is more than the {width} labels of a row")
    return count


def counted_labels(metric: Metric, n: int, t: Floats) -> Labels:
    """The metric as the kernels take it, and labels that no row has yet."""
    from argmetric._verbs.kernels import per_row as kernels

    ratio = RECALL if isinstance(metric, Recall) else None
    ratio = ratio or getattr(metric, "coefficients", None)
    linear, c, d = True, (0.0,) * 4, (0.0,) * 4
    if ratio is not None and metric.greater_is_better:
        form, (c, d) = kernels.RATIO, ratio
        linear = d[1] == 0.0
    elif isinstance(metric, MCC):
        form = kernels.CORRELATION
    elif isinstance(metric, BalancedAccuracy):
        form = kernels.ARITHMETIC
    elif metric.form == RatesForm("geometric"):
        form, linear = kernels.GEOMETRIC, False
    else:
        raise ValueError(
            f"per_row is not made for {metric.name}: it knows F-beta, "
            "Jaccard, Tversky, precision, recall, accuracy, balanced accuracy, MCC and "
            "G-mean"
        )
    counts = np.zeros((5, t.size))
    return kernels.Labels(
        linear, form, c, d, metric.zero_division, float(n), t, *counts
    )


class Entries(NamedTuple):
    """Probabilities row by row."""

    p: Floats
    starts: Integers
    columns: Integers  # labels of the entries; empty: all of them, in order

    @property
    def widest(self) -> int:
        return int(np.diff(self.starts).max())

    def places(self, picked: Integers) -> Integers:
        """Where the picked entries of all rows lie."""
        there = np.arange(picked.shape[1]) < np.diff(self.starts)[:, None]
        return (self.starts[:-1, None] + picked)[there]


def read_entries(question: Question) -> tuple[Entries, Integers | None]:
    """The entries row by row, and where they lie in the layout of a sparse matrix."""
    layout, given = question.layout, question.asked["p"]
    count, width = layout.shape
    if not is_sparse(given):
        plain = isinstance(given, np.ndarray) and given.dtype == np.float64
        if not plain or question.logits or question.raw is not None:
            given = question.chances(layout.scores)[0].reshape(width, count).T
        p, every = np.ascontiguousarray(given).ravel(), np.empty(0, dtype=np.int64)
        return Entries(p, np.arange(count + 1) * width, every), None
    # Labels that are the places of the entries tell where each of them lies
    places = layout.restore(np.arange(1, layout.scores.size + 1)).tocsr()
    places.sort_indices()
    order = places.data.astype(np.int64) - 1
    starts, columns = (x.astype(np.int64) for x in (places.indptr, places.indices))
    return Entries(layout.scores[order], starts, columns), order


def ascend(
    rows: Entries, picked: Integers, labels: Labels, most: int = MOST_PASSES
) -> int:
    """Improve all rows until none changes; how many passes that took."""
    from argmetric._verbs.kernels import per_row as kernels

    gains, passes, changed = np.empty(rows.widest), 0, 1
    kernels.count_labels(*rows, picked, labels)
    while changed and passes < most:
        changed = kernels.improve_rows(*rows, picked, labels, gains)
        kernels.count_labels(*rows, picked, labels)
        passes += 1
    return passes


def choose_entries(
    rows: Entries, metric: Metric, labels: Labels, count: int
) -> tuple[Integers, int]:
    """The chosen entries of every row, and the number of passes over all entries."""
    from argmetric._verbs.kernels import per_row as kernels

    n, sizes, gains = rows.starts.size - 1, np.diff(rows.starts), np.empty(rows.widest)
    picked, kept = (
        np.zeros((n, min(size, rows.widest)), dtype=np.int64)
        for size in (count, count + SPARE)
    )
    np.divide(1.0, labels.t, out=labels.slope, where=labels.t > 0.0)
    start = labels._replace(linear=True)
    kernels.likely_entries(*rows, picked[:, :0], start, gains, picked)
    ascend(rows, picked, labels, 1)
    if labels.additive:
        return picked, 1 + ascend(rows, picked, labels)
    kernels.likely_entries(*rows, picked, labels, gains, kept)
    places, present = rows.places(kept), np.minimum(sizes, kept.shape[1])
    columns = rows.columns[places] if rows.columns.size else places % labels.t.size
    few = Entries(rows.p[places], np.append(0, np.cumsum(present)), columns)

    def value_of(trial: Integers) -> float:
        ascend(few, trial, labels)
        return float(metric.value(labels.tp, labels.k, labels.t, labels.n).mean())

    best, rng = value_of(picked), np.random.default_rng(0)
    absent = np.arange(kept.shape[1]) >= present[:, None]
    for turn in range(max(2, round(ROUNDS - FEWER * math.log10(n)))):
        moved = rng.random(n) < max(MOVED[turn % len(MOVED)], 1.0 / n)
        keys = rng.random((int(moved.sum()), kept.shape[1])) + absent[moved]
        trial = picked.copy()
        trial[moved] = np.argsort(keys, axis=1)[:, : picked.shape[1]]
        value = value_of(trial)
        if value > best + ROUNDING:
            best, picked = value, trial
    picked = np.take_along_axis(kept, picked, axis=1)
    return picked, 1 + ascend(rows, picked, labels)


def decide_rows(question: Question, count: int, n_threads: int) -> Decision:
    """Exactly `count` labels in every row."""
    layout, metric = question.layout, question.metric
    (rows, order), (n, width) = read_entries(question), layout.shape
    if order is None:
        t = rows.p.reshape(n, width).sum(axis=0)
    else:
        t = np.bincount(rows.columns, rows.p, width)
    counts = counted_labels(metric, n, np.minimum(t, n))  # ones may be rounded up
    picked, passes = choose_entries(rows, metric, counts, count)
    places = rows.places(picked)
    labels: Integers = np.zeros(rows.p.size, dtype=np.int64)
    if order is None:
        labels[places] = 1
        labels = labels.reshape(n, width).T  # as the layout has it
        places = places % width * n + places // width
    else:
        places = order[places]
        labels[places] = 1
    found = _expected(question, np.sort(places))
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
    plan = Plan("block-coordinate ascent over rows", f"{passes} passes")
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
        gap=math.nan,
    )


def _expected(question: Question, places: Integers) -> tuple[Integers, Floats, Floats]:
    """Number, exact expected metric and its error of the labels of every column."""
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
