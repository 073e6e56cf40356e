"""decide: which labels to hand in."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._decide._curves import compiled, expected_curves
from argmetric._decide._result import Cut, Decision
from argmetric._decide._tables import Tables
from argmetric._layout import Average, Layout, lay_out
from argmetric._segments import Floats, Integers, Method, Segments
from argmetric._validation import check_choice, check_fraction
from argmetric.metrics import Metric, MetricLike, Recall, get_metric

CHUNK = 1 << 18  # rows worked on at a time: they stay in the cache
TIE = 1e-12  # values this close, relatively, are ties: the smaller k wins
OFTEN_EMPTY = 0.05  # chance of no positive from which the 0/0 convention matters


@dataclass(frozen=True)
class Limits:
    """What the number of predicted positives of a segment has to obey."""

    least: int
    most: int
    min_precision: float
    min_recall: float

    @property
    def none(self) -> bool:
        return (self.least, self.min_precision, self.min_recall) == (0, 0.0, 0.0)


@dataclass(frozen=True)
class Task:
    """One call of `decide`: its data, its metric and its limits."""

    layout: Layout
    metric: Metric
    method: Method
    limits: Limits
    logits: bool
    tables: Tables

    @property
    def sign(self) -> float:
        return 1.0 if self.metric.greater_is_better else -1.0

    @property
    def half(self) -> float:
        """A probability of one half, on the scale of the scores."""
        return 0.0 if self.logits else 0.5

    def segments(self, key: Floats, indptr: Integers, sizes: Integers) -> Segments:
        """Segments of scores that descend within each of them."""
        if self.logits:
            return Segments(expit(key), expit(-key), indptr, sizes)
        return Segments(key, 1.0 - key, indptr, sizes)

    def tie_floor(self, segments: Segments) -> Floats:
        """Differences of every segment that are rounding; see `Metric.tie_floor`.

        Where hardly any label is uncertain, hardly anything cancels.
        """
        floor = self.metric.tie_floor(segments.sizes)
        if floor.any():
            ends = np.concatenate([[0.0], np.cumsum(segments.p)])[segments.indptr]
            mean = np.diff(ends)
            floor = floor * np.clip(np.minimum(mean, segments.sizes - mean), 0.0, 1.0)
        return floor

    def curves(self, segments: Segments) -> tuple[Floats, Floats]:
        curves, errors = expected_curves(
            segments, self.metric, method=self.method, tables=self.tables
        )
        if np.isinf(curves).any():
            raise ValueError(
                f"{self.metric.name} is infinite on some counts: see check_metric"
            )
        return curves, errors


def expit(x: Floats) -> Floats:
    """1/(1+e^-x) without overflow: exact to a rounding error at both ends."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1.0 + small)


def decide(
    p: Any,
    metric: MetricLike = "f1",
    *,
    groups: Any = None,
    average: Average | None = None,
    zero_division: float | None = None,
    min_positives: int = 0,
    max_positives: int | None = None,
    min_precision: float | None = None,
    min_recall: float | None = None,
    logits: bool = False,
    method: Method = "auto",
    check: bool = True,
    n_jobs: int | None = None,
) -> Decision:
    """Choose the labels with the highest expected metric.

    The labels are taken to be independent with the given probabilities. The expected
    metric is computed exactly for every number k of predicted positives, none
    included, and the best k is taken; ties go to the smaller one.

    Parameters
    ----------
    p : array-like
        Probability of the positive class: one per row (list, array, series), or a
        matrix (array, frame, sparse) with one column per label. An absent cell of a
        sparse matrix is p = 0 and is never chosen.
    metric : str, Metric or callable, default="f1"
        A name, an instance, or a function of (tp, k, t, n): true positives, predicted
        positives, actual positives, size.
    groups : array-like, optional
        Group of each row (order, query, document), of any kind and in any order.
    average : {"groups", "pooled", "samples", "macro", "micro"}, optional
        With groups: the mean over groups, or all rows pooled. For a matrix: the mean
        over rows, the mean over columns, or all cells together.
    zero_division : {0.0, 1.0, nan}, optional
        Value of 0/0, by default the metric's own, 0.0. With nan such outcomes are left
        out: the expectation is over the outcomes in which the metric is defined.
    min_positives, max_positives : int, optional
        Bounds on the number of predicted positives, in each segment.
    min_precision, min_recall : float, optional
        Floors under expected precision (an empty prediction passes) and under expected
        recall given that there is a positive, in each segment.
    logits : bool, default=False
        Whether `p` holds log-odds instead of probabilities.
    method : {"auto", "windows", "reference"}, default="auto"
        The near-linear algorithms; windowed sums with a rigorous error bound; or the
        published quadratic and cubic algorithms, for study.
    check : bool, default=True
        Refuse a metric for which the best decision need not be a top-k set.
    n_jobs : int, optional
        Threads for groups: None is 1, -1 all cores. Results do not depend on it.

    Returns
    -------
    Decision

    Examples
    --------
    >>> import argmetric as am
    >>> d = am.decide([0.9, 0.45, 0.4, 0.1])
    >>> d.labels
    array([1, 1, 1, 0])
    >>> round(d.expected, 3)
    0.69

    Per group, where the right answer may be "none":

    >>> d = am.decide([0.9, 0.4, 0.1, 0.1], groups=["a", "a", "b", "b"],
    ...               average="groups", zero_division=1.0)
    >>> d.labels
    array([1, 0, 0, 0])
    """
    metric = get_metric(metric, zero_division=zero_division)
    check_choice(method, "method", ("auto", "windows", "reference"))
    limits = _check_limits(min_positives, max_positives, min_precision, min_recall)
    layout = lay_out(p, groups=groups, average=average, logits=logits)
    if check:
        _require_ranking(metric, int(layout.sizes.max()))
        if layout.sparse:
            _require_no_zeros_chosen(metric, int(layout.sizes.max()))
    task = Task(layout, metric, method, limits, logits, Tables(metric))
    if layout.single:
        return _decide_one(task)
    return _decide_groups(task, _n_threads(n_jobs))


def _n_threads(n_jobs: int | None) -> int:
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise ValueError("n_jobs must be a positive number, or negative, not 0")
    cores = os.cpu_count() or 1
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def _check_limits(
    least: int, most: int | None, min_precision: float | None, min_recall: float | None
) -> Limits:
    for name, count in (("min_positives", least), ("max_positives", most)):
        if count is not None and (count != int(count) or count < 0):
            raise ValueError(f"{name} must be a whole number ≥ 0, not {count!r}")
    if most is not None and most < least:
        raise ValueError(f"max_positives={most} is below min_positives={least}")
    return Limits(
        int(least),
        np.iinfo(np.int64).max if most is None else int(most),
        check_fraction(min_precision, "min_precision"),
        check_fraction(min_recall, "min_recall"),
    )


def _require_ranking(metric: Metric, n: int) -> None:
    principle = metric.ranking_principle(n)
    if not principle:
        raise ValueError(
            f"the best decision for {metric.name} need not be a top-k set: "
            f"{principle.detail}. Pass check=False to take the best top-k set anyway"
        )


def _require_no_zeros_chosen(metric: Metric, n: int) -> None:
    """One more certain negative must not raise the value once all hits are in."""
    size = min(n, 40)
    t, k = (a.ravel() for a in np.mgrid[: size + 1, :size])
    t, k = t[t <= k], k[t <= k]
    sign = 1.0 if metric.greater_is_better else -1.0
    gain = sign * (metric.value(t, k + 1, t, size) - metric.value(t, k, t, size))
    if (np.nan_to_num(gain) > 1e-12).any() and (
        k[np.nan_to_num(gain) > 1e-12] > 0
    ).any():
        raise ValueError(
            f"{metric.name} can gain from predicting certain negatives: pass a dense "
            "matrix instead of a sparse one"
        )


def bounds(task: Task, segments: Segments) -> tuple[Integers, Integers]:
    """Smallest and largest k of every segment that the limits allow."""
    limits, count = task.limits, segments.n_segments
    low = np.zeros(count, dtype=np.int64)
    high = np.minimum(segments.lengths, limits.most)
    if limits.none:
        return low, high
    recall = np.zeros(0)
    if limits.min_recall > 0:
        recall, _ = expected_curves(segments, Recall(zero_division=math.nan))
        recall = np.nan_to_num(recall, nan=1.0)  # without positives nothing is missed
    compiled().bounded_counts(
        segments.p,
        recall,
        segments.indptr,
        limits.least,
        limits.most,
        limits.min_precision,
        limits.min_recall,
        low,
        high,
    )
    return low, high


def _refuse_empty_range(
    task: Task, low: Integers, high: Integers, segments: Segments, first: int
) -> None:
    """Say what the limits leave, where they leave nothing."""
    wrong = np.flatnonzero((low > high) | (task.limits.least > segments.lengths))
    if not wrong.size:
        return
    g = int(wrong[0])
    ids = task.layout.ids
    where = "" if ids is None else f" in group {ids.tolist()[first + g]!r}"
    if task.limits.least > segments.lengths[g]:
        raise ValueError(
            f"min_positives={task.limits.least} is more than the "
            f"{segments.lengths[g]} items{where}"
        )
    mean = np.cumsum(segments.one(g).p)
    k = max(int(low[g]), 1)
    raise ValueError(
        f"no number of positives meets all limits{where}: the floor under recall or "
        f"min_positives needs {low[g]} positives or more (expected precision "
        f"{mean[k - 1] / k:.4g} there), the floor under precision or max_positives "
        f"allows {high[g]} at most"
    )


def _choose(
    task: Task, values: Floats, low: int, high: int, floor: float, allowed: Any = None
) -> int:
    """Best k of one curve within its range; ties go to the smaller k."""
    part = task.sign * values[low : high + 1]
    part = np.where(np.isnan(part), -np.inf, part)
    if allowed is not None:
        part = np.where(allowed[low : high + 1], part, -np.inf)
    top = float(part.max())
    return low + int(np.argmax(part >= top - max(TIE * abs(top), floor)))


def threshold_between(key: Floats, k: int) -> float | None:
    """A cut with exactly k scores at or above it; None where a tie is split."""
    if k == 0:
        return math.inf
    if k == key.size:
        return float(key[-1])
    upper, lower = float(key[k - 1]), float(key[k])
    if upper == lower:
        return None
    # Half-way survives rounding to fewer digits, as in a file of 32-bit numbers.
    middle = lower / 2 + upper / 2
    return middle if lower < middle <= upper else upper


def _decide_one(task: Task) -> Decision:
    layout = task.layout
    scores = layout.scores
    key = np.sort(scores)[::-1].copy()
    segments = task.segments(key, layout.indptr, layout.sizes)
    low, high = bounds(task, segments)
    _refuse_empty_range(task, low, high, segments, 0)
    curve, errors = task.curves(segments)
    floor = float(task.tie_floor(segments)[0])
    k = _choose(task, curve, int(low[0]), int(high[0]), floor)
    # Cuts between distinct scores, and the empty and the full prediction.
    whole = np.concatenate([[True], key[1:] != key[:-1], [True]])
    best = _choose(task, curve, 0, key.size, floor, whole)
    at_half = int(np.searchsorted(-key, -task.half, side="right"))
    threshold = threshold_between(key, k)
    labels = np.zeros(scores.size, dtype=np.int64)
    if threshold is not None:
        labels[scores >= threshold] = 1
    else:
        labels[scores > key[k]] = 1
        tied = np.flatnonzero(scores == key[k])
        labels[tied[: k - int(labels.sum())]] = 1
    notes = []
    if threshold is None:
        tied_count = int((key == key[k]).sum())
        notes.append(
            f"{tied_count:,} items share the score {key[k]:.6g} at the cut and some of "
            "them are chosen, the first in order: no threshold gives these labels"
        )
    notes += _convention_note(task, np.array([_chance_of_none(segments)]))
    notes += _error_note(float(errors[0]))
    cut = threshold_between(key, best)
    assert cut is not None  # no tie is split at such a k
    best_cut = Cut(cut, best, float(curve[best]))
    return Decision(
        labels=layout.restore(labels),
        n_positives=k,
        threshold=threshold,
        expected=float(curve[k]),
        curve=curve,
        error=float(errors[0]),
        metric=task.metric,
        n=int(layout.sizes[0]),
        average=layout.average,
        group_ids=None,
        group_n_positives=None,
        group_expected=None,
        cut_half=Cut(task.half, at_half, float(curve[at_half])),
        notes=tuple(notes),
        _best_cut=lambda: best_cut,
        _curve_of=lambda g: curve,
    )


def _chance_of_none(segments: Segments) -> float:
    """P(no positive) of one segment."""
    p, q = segments.p, segments.q
    with np.errstate(divide="ignore"):
        logs = np.where(p < 0.5, np.log1p(-np.minimum(p, 0.5)), np.log(q))
    return float(np.exp(logs.sum()))


def _error_note(error: float) -> list[str]:
    if error <= 1e-9:
        return []
    return [f"the expected values carry a numerical error of about {error:.1g}"]


def _convention_note(task: Task, none: Floats) -> list[str]:
    """Whether the value of 0/0 matters on these data."""
    metric, n = task.metric, float(task.layout.sizes.max())
    k = np.array([0.0, 1.0])
    values = [metric.with_zero_division(zero).value(0, k, 0, n) for zero in (0.0, 1.0)]
    often = float((none >= OFTEN_EMPTY).mean())
    if np.array_equal(values[0], values[1]) or often == 0.0:
        return []
    zero = metric.zero_division
    if task.layout.single:
        subject = f"there is no positive at all with probability {none[0]:.2f}"
    else:
        subject = (
            f"{often:.0%} of the groups have no positive with probability 0.05 or more "
            f"({none.mean():.0%} of all groups are expected to have none)"
        )
    effect = (
        "such outcomes are left out"
        if math.isnan(zero)
        else f"predicting nothing then scores {values[int(zero)][0]:g}"
    )
    return [f"{subject}; with zero_division={zero:g} {effect}"]


@dataclass
class Totals:
    """Per segment: what the pass over the chunks leaves behind."""

    best: Integers
    expected: Floats
    at_half: Floats
    n_half: Integers
    none: Floats
    error: Floats

    @classmethod
    def empty(cls, count: int) -> Totals:
        whole = [np.zeros(count, dtype=np.int64) for _ in range(2)]
        real = [np.zeros(count) for _ in range(4)]
        return cls(whole[0], real[0], real[1], whole[1], real[2], real[3])


def chunks(indptr: Integers) -> Iterator[tuple[int, int]]:
    """Ranges of segments of about CHUNK rows, whatever the number of threads."""
    first, count = 0, indptr.size - 1
    while first < count:
        last = int(np.searchsorted(indptr, indptr[first] + CHUNK, side="right")) - 1
        last = min(max(last, first + 1), count)
        yield first, last
        first = last


def sorted_chunk(
    task: Task, first: int, last: int
) -> tuple[Segments, Floats, Integers]:
    """Segments first…last-1 in descending order, with their scores and positions."""
    layout = task.layout
    rows = layout.segment_rows(first, last)
    bounds_ = layout.indptr[first : last + 1] - layout.indptr[first]
    key, order = np.empty(rows.size), np.empty(rows.size, dtype=np.int64)
    compiled().sort_segments(layout.scores, rows, bounds_, key, order)
    return task.segments(key, bounds_, layout.sizes[first:last]), key, order


def _decide_groups(task: Task, n_threads: int) -> Decision:
    layout, kernels = task.layout, compiled()
    count = layout.indptr.size - 1
    labels = np.zeros(layout.scores.size, dtype=np.int64)
    totals = Totals.empty(count)

    def work(span: tuple[int, int]) -> None:
        first, last = span
        segments, key, order = sorted_chunk(task, first, last)
        low, high = bounds(task, segments)
        _refuse_empty_range(task, low, high, segments, first)
        curves, errors = task.curves(segments)
        best, n_half = np.zeros((2, last - first), dtype=np.int64)
        floor = task.tie_floor(segments)
        kernels.choose(curves, segments.indptr, low, high, task.sign, floor, best)
        kernels.mark(order, segments.indptr, best, labels)
        kernels.count_at_least(key, segments.indptr, task.half, n_half)
        start = segments.indptr[:-1] + np.arange(last - first)
        kernels.chance_of_none(segments.q, segments.indptr, totals.none[first:last])
        part = slice(first, last)
        totals.best[part], totals.n_half[part] = best, n_half
        totals.expected[part] = curves[start + best]
        totals.at_half[part] = curves[start + n_half]
        totals.error[part] = errors

    spans = list(chunks(layout.indptr))
    if n_threads == 1 or len(spans) == 1:
        for span in spans:
            work(span)
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(work, spans))
    error = float(totals.error.mean())
    notes = _convention_note(task, totals.none) + _error_note(error)
    half = Cut(task.half, int(totals.n_half.sum()), _mean(totals.at_half))
    return Decision(
        labels=layout.restore(labels),
        n_positives=int(totals.best.sum()),
        threshold=None,
        expected=_mean(totals.expected),
        curve=None,
        error=error,
        metric=task.metric,
        n=int(layout.sizes.sum()),
        average=layout.average,
        group_ids=layout.ids,
        group_n_positives=totals.best,
        group_expected=totals.expected,
        cut_half=half,
        notes=tuple(notes),
        _best_cut=lambda: _best_single_cut(task),
        _curve_of=_curve_of(task),
    )


def _mean(values: Floats) -> float:
    """Mean over the segments in which the metric can be defined."""
    values = values[~np.isnan(values)]
    return float(values.mean()) if values.size else math.nan


def _curve_of(task: Task) -> Callable[[int], Floats]:
    def curve_of(g: int) -> Floats:
        return task.curves(sorted_chunk(task, g, g + 1)[0])[0]

    return curve_of


def _best_single_cut(task: Task) -> Cut:
    """Best cut on all rows at once: one sort, and the steps of all curves added up."""
    layout = task.layout
    scores = np.empty(layout.scores.size)
    steps, shares = np.empty(scores.size), np.empty(scores.size)
    start_value = start_share = 0.0
    for first, last in chunks(layout.indptr):
        segments, key, _ = sorted_chunk(task, first, last)
        curves, _ = task.curves(segments)
        defined = ~np.isnan(curves)
        values = np.where(defined, curves, 0.0)
        head = segments.indptr[:-1] + np.arange(last - first)
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
    whole = np.concatenate([[True], scores[1:] != scores[:-1], [True]])
    k = _choose(task, mean, 0, scores.size, 0.0, whole)
    threshold = threshold_between(scores, k)
    assert threshold is not None
    return Cut(threshold, k, float(mean[k]))


def evaluate(
    y_true: Any,
    y_pred: Any,
    metric: MetricLike = "f1",
    *,
    groups: Any = None,
    average: Average | None = None,
    zero_division: float | None = None,
) -> float:
    """Realised score of labels against the truth, averaged as in `decide`.

    Parameters
    ----------
    y_true, y_pred : array-like of {0, 1}
        Labels, as a vector or a matrix.
    metric : str, Metric or callable, default="f1"
        What to compute.
    groups : array-like, optional
        Group of each row.
    average : {"groups", "pooled", "samples", "macro", "micro"}, optional
        How segments are combined. Groups alone mean "groups".
    zero_division : {0.0, 1.0, nan}, optional
        Value of 0/0; with nan such segments are left out of the mean.

    Examples
    --------
    >>> import argmetric as am
    >>> round(am.evaluate([1, 1, 0, 0], [1, 0, 0, 0]), 4)
    0.6667
    """
    metric = get_metric(metric, zero_division=zero_division)
    if groups is not None and average is None:
        average = "groups"
    from argmetric._validation import check_labels, is_sparse

    if is_sparse(y_true):
        y_true = y_true.toarray()
    layout = lay_out(y_true, groups=groups, average=average)
    true = check_labels(y_true, "y_true", layout.shape)
    pred = check_labels(y_pred, "y_pred", layout.shape)
    order = layout.segment_rows(0, layout.indptr.size - 1)
    hit, predicted, actual = (
        np.add.reduceat(layout.select(a)[order].astype(np.float64), layout.indptr[:-1])
        for a in (true & pred, pred, true)
    )
    return _mean(np.atleast_1d(metric.value(hit, predicted, actual, layout.sizes)))
