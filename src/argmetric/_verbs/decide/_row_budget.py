"""So many labels in every row of a matrix, for a mean over labels.

That is a budget of labels, which papers call "budgeted at k", so `budget` has it:
`min_positives` and `max_positives` are about columns here.

Of label j with 0/1 predictions y and probabilities p: tp = Σ y·p, k = Σ y and t = Σ p
over the rows. The objective is the mean over labels of the metric at these expected
counts. Block-coordinate ascent (Schultheis et al. 2023): row by row the labels of the
largest gains are taken, value with the row less value without, all other rows as they
are, until a pass over the rows adds next to nothing. It starts with the labels of the
largest p/t, the best for recall: on 300 x 50 matrices that led to higher values than
the most probable labels, random ones or none did (0.4073, 0.4069, 0.4069, 0.4030). What
is found is a local optimum; its expected metric is then summed exactly.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from argmetric._expected import Pairs, Plan, SegmentSums
from argmetric._ground.arguments import check_count, shown
from argmetric._ground.types import Floats, Integers
from argmetric._ground.validation import is_sparse
from argmetric._verbs.decide._one import block_ranges, decide_groups, mean_defined
from argmetric._verbs.decide._question import Question, error_note
from argmetric._verbs.decide._result import Decision
from argmetric.metrics import MCC, BalancedAccuracy, Metric, RatesForm, Recall

LEAST_GAIN = 1e-7  # of a pass, in the mean over labels: later ones add less
MOST_PASSES = 100
NONE = (0.0, 0.0, 0.0, 0.0)
RECALL = (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)  # tp over t


def check_row_budget(budget: Any, question: Question) -> int:
    layout, limits = question.layout, question.limits
    if len(layout.shape) != 2:
        raise TypeError(
            "budget must be a pair (cost, most) where p is a vector; a number of "
            f"labels a row, as {shown(budget)}, goes with a matrix and average='macro'"
        )
    if layout.average != "macro":
        raise ValueError(
            f"budget={shown(budget)} labels a row goes with average='macro', not "
            f"{layout.average!r}. For 'samples' pass min_positives and max_positives, "
            "which bound the labels of each row; for 'micro' the most probable labels "
            "of each row are the best ones"
        )
    if not (limits.none and limits.no_floor):
        raise ValueError(
            "budget=k labels a row does not go with min_positives, max_positives, "
            "min_precision or min_recall, which are about columns"
        )
    if math.isnan(question.metric.zero_division):
        raise ValueError("budget needs zero_division=0 or 1, not nan")
    count, width = check_count(budget, "budget"), layout.shape[1]
    if count > width:
        raise ValueError(
            f"budget={count} labels a row is more than there are: row 0, as every row, "
            f"has {width}"
        )
    return count


class CountedMetric(NamedTuple):
    """A metric as the kernels take it."""

    linear: bool  # in tp, at fixed k and t
    form: int
    c: tuple[float, ...]
    d: tuple[float, ...]
    zero: float


def counted_metric(metric: Metric) -> CountedMetric:
    from argmetric._verbs.kernels import row_budget as kernels

    zero = metric.zero_division
    ratio = RECALL if isinstance(metric, Recall) else None
    ratio = ratio or getattr(metric, "coefficients", None)
    if ratio is not None and metric.greater_is_better:
        c, d = ratio
        return CountedMetric(d[1] == 0.0, kernels.RATIO, c, d, zero)
    if isinstance(metric, MCC):
        return CountedMetric(True, kernels.CORRELATION, NONE, NONE, zero)
    if isinstance(metric, BalancedAccuracy):
        return CountedMetric(True, kernels.ARITHMETIC, NONE, NONE, zero)
    if metric.form == RatesForm("geometric"):
        return CountedMetric(False, kernels.GEOMETRIC, NONE, NONE, zero)
    raise ValueError(
        f"budget=k labels a row is not made for {metric.name}: it knows F-beta, "
        "Jaccard, Tversky, precision, recall, accuracy, balanced accuracy, MCC and "
        "G-mean"
    )


class Entries(NamedTuple):
    """Probabilities row by row."""

    p: Floats
    starts: Integers
    columns: Integers | None  # labels of the entries; None: all of them, in order
    order: Integers | None  # where the entries lie in the layout; None: transposed

    @classmethod
    def of(cls, question: Question) -> Entries:
        layout = question.layout
        given, (count, width) = question.asked["p"], layout.shape
        p = question.chances(layout.scores)[0]
        if not is_sparse(given):
            plain = isinstance(given, np.ndarray) and given.dtype == np.float64
            if not plain or question.logits or question.raw is not None:
                given = p.reshape(width, count).T
            turned = np.ascontiguousarray(given).ravel()
            return cls(turned, np.arange(count + 1) * width, None, None)
        # Labels that are the places of the entries tell where each of them lies
        places = layout.restore(np.arange(1, p.size + 1)).tocsr()
        places.sort_indices()
        order = places.data.astype(np.int64) - 1
        starts, columns = (
            np.asarray(x, dtype=np.int64) for x in (places.indptr, places.indices)
        )
        return cls(p[order], starts, columns, order)


def ascend(rows: Entries, metric: Metric, n_labels: int, count: int) -> tuple[Any, int]:
    """The chosen entries of every row, and how many passes that took."""
    from argmetric._verbs.kernels import row_budget as kernels

    n = rows.starts.size - 1
    widest = int(np.diff(rows.starts).max())
    picked = np.zeros((n, min(count, widest)), dtype=np.int64)
    tp, k, slope, offset = np.zeros((4, n_labels))
    t = np.zeros(n_labels)
    kernels.add_chances(rows.p, rows.starts, rows.columns, t)
    np.minimum(t, n, out=t)  # a sum of ones may be rounded up
    state = (*counted_metric(metric), t, float(n), tp, k, slope, offset)
    entries = rows.p, rows.starts, rows.columns, count
    gains, before = np.empty(widest), -math.inf
    np.divide(1.0, t, out=slope, where=t > 0.0)
    for passes in range(MOST_PASSES + 1):
        kernels.improve_rows(*entries, passes > 0, *state, gains, picked)
        kernels.count_labels(*entries, picked, tp, k)
        kernels.set_labels(*state)
        now = float(metric.value(tp, k, t, float(n)).mean())
        if now - before < LEAST_GAIN:
            break
        before = now
    return picked, passes


def decide_rows(question: Question, count: int, n_threads: int) -> Decision:
    """Exactly `count` labels in every row."""
    from argmetric._verbs.kernels import row_budget as kernels

    layout, metric = question.layout, question.metric
    rows = Entries.of(question)
    picked, passes = ascend(rows, metric, layout.shape[1], count)
    labels = np.zeros(layout.scores.size, dtype=np.int64)
    kernels.mark_picked(rows.starts, count, picked, rows.order, labels)
    best, expected, errors = _expected(question, labels)
    few = np.flatnonzero(np.diff(rows.starts) < count)
    notes = error_note(error := float(errors.mean()))
    if few.size:
        has = rows.starts[few[0] + 1] - rows.starts[few[0]]
        notes = [
            f"{few.size:,} of {layout.shape[0]:,} rows store fewer than {count} "
            f"values, as row {few[0]} with {has}: all of these are chosen, and no "
            "absent cell",
            *notes,
        ]
    free = cache(lambda: decide_groups(question, n_threads))
    plan = Plan("block-coordinate ascent over rows", f"{passes} passes")
    return Decision(
        labels=layout.restore(labels),
        n_positives=int(best.sum()),
        threshold=None,
        threshold_raw=None,
        scale=question.scale,
        expected=mean_defined(expected),
        error=error,
        metric=metric,
        n=int(layout.sizes.sum()),
        average=layout.average,
        group_ids=layout.ids,
        group_n_positives=best,
        group_expected=expected,
        notes=tuple(notes),
        _cut_half=lambda: free().cut_half,
        _best_cut=lambda: free().best_cut,
        _curve_of=lambda g: free()._curve_of(g),
        _cuts=lambda: free()._cuts(),
        _plan=lambda: plan,
        _asked=question.asked,
        gap=math.nan,
    )


def _expected(question: Question, labels: Integers) -> tuple[Integers, Floats, Floats]:
    """Number, exact expected metric and its error of the labels of every column."""
    from argmetric._verbs.kernels import row_budget as kernels

    layout = question.layout
    count = layout.indptr.size - 1
    k = np.zeros(count, dtype=np.int64)
    expected, errors = np.zeros((2, count))
    for first, last in block_ranges(layout.indptr):
        start, stop = layout.indptr[first], layout.indptr[last]
        offsets = layout.indptr[first : last + 1] - start
        scores = np.empty(stop - start)
        chosen = labels[start:stop]
        part = slice(first, last)
        kernels.chosen_first(
            layout.scores[start:stop], offsets, chosen, scores, k[part]
        )
        segments = question.segments(scores, offsets, layout.sizes[part])
        sums = SegmentSums.of(segments, question.metric)
        pairs = Pairs(np.arange(last - first), k[part], segments.starts + k[part])
        expected[part], dropped, change = sums.probed_values(pairs)
        errors[part] = dropped + change
    return k, expected, errors
