"""Best count of every row: under limits, or by the fastest algorithm without them.

Rows on a GPU are decided by kernels, rows of torch on a CPU as arrays are. `choose`
takes any rows, from the values of all counts.
"""

from __future__ import annotations

import math
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from argmetric._expected import (
    MOST_COUNTS,
    TIE,
    Array,
    CountRange,
    Tables,
    choose_counts,
    choose_in_long,
    is_long,
)
from argmetric._ground.groups import Segments
from argmetric._ground.limits import Limits, check_limits
from argmetric._ground.types import Floats
from argmetric.metrics import Metric, Recall, leaves_out_none
from argmetric.tensors._arrays import (
    BestCounts,
    Namespace,
    Tensor,
    TorchNamespace,
    as_single,
    both_p,
    capturing,
    cut_between,
    descending,
    namespace,
    torch,
)
from argmetric.tensors._curves import (
    PaddedRows,
    expected_curves,
    running_sum,
    usable_form,
)
from argmetric.tensors._segments import CELLS_AT_ONCE, Part

CELLS_ON_HOST = 1 << 18  # sorted at a time: they stay in the cache


def allowed_counts(
    rows: PaddedRows, metric: Metric, limits: Limits
) -> tuple[Tensor, Tensor]:
    """Return the smallest and largest allowed k of every row, as columns."""
    xp, p = rows.xp, rows.p
    low = xp.zeros_like(p[:, :1]) + float(limits.least)
    most = np.minimum(rows.distinct, limits.most_of(rows.distinct))
    high = xp.zeros_like(low) + rows.lift(most[:, None])
    if math.isnan(metric.zero_division):
        # Predicting a certain negative only to leave 0/0 is no decision.
        likely = xp.sum(xp.astype(p > 0.0, p.dtype), axis=-1, keepdims=True)
        likely = xp.where(likely < limits.least, float(limits.least), likely)
        high = xp.where(high < likely, high, likely)
    if limits.min_precision:
        fine = running_sum(xp, p) >= (limits.min_precision - 1e-12) * rows.k[:, 1:]
        count = _leading(xp, fine, p.dtype)
        high = xp.where(high < count, high, count)
    if limits.min_recall:
        recall = expected_curves(rows, Recall(zero_division=math.nan))
        few = (recall < limits.min_recall - 1e-12) & (recall == recall)
        count = _leading(xp, few, p.dtype)
        low = xp.where(low > count, low, count)
    if (limits.min_precision or limits.min_recall) and bool(xp.any(low > high)):
        raise ValueError(
            "no number of positives meets all limits in some rows: min_recall or "
            "min_positives needs more than min_precision or max_positives allows"
        )
    return low, high


def _leading(xp: Namespace, flags: Tensor, dtype: object) -> Tensor:
    """Return the number of leading true flags of each row, (n_rows, 1)."""
    wrong = xp.cumulative_sum(xp.astype(~flags, xp.int64), axis=-1)
    return xp.sum(xp.astype(wrong == 0, dtype), axis=-1, keepdims=True)


def choose(
    given: Tensor,
    part: Part,
    metric: Metric,
    limits: Limits,
    *,
    logits: bool,
    work: object,
) -> BestCounts:
    """Return the best count of every row, its expected value, and the cut.

    Parameters
    ----------
    given : tensor of shape (n_rows, length)
        Scores of a part, padded.
    logits : bool
        Whether scores are log-odds.
    work : dtype
        In which sums are taken.
    """
    xp = namespace(given)
    keys = xp.astype(descending(xp, given), work)
    rows = PaddedRows(xp, *both_p(xp, keys, logits), part.sizes)
    curve = expected_curves(rows, metric)
    low, high = allowed_counts(rows, metric, limits)
    signed = curve if metric.greater_is_better else -curve
    allowed = (rows.k >= low) & (rows.k <= high) & (curve == curve)
    signed = xp.where(allowed, signed, -math.inf)
    top = xp.max(signed, axis=-1, keepdims=True)
    floors = metric.tie_floor(rows.distinct)
    slack = TIE * xp.abs(top)
    if floors.any():
        floor = rows.lift(floors[:, None])
        if not leaves_out_none(metric):
            mean = xp.sum(rows.p, axis=-1, keepdims=True)
            rest = rows.n - mean
            floor = floor * xp.clip(xp.where(mean < rest, mean, rest), 0.0, 1.0)
        slack = xp.where(slack > floor, slack, floor)
    # Where the metric is never defined nothing is allowed: the least count is taken
    tied = xp.astype((signed >= top - slack) & allowed, xp.int8)
    best = xp.argmax(tied, axis=-1, keepdims=True)
    found = xp.max(tied, axis=-1, keepdims=True) > 0
    best = xp.where(found, best, xp.astype(low, best.dtype))
    expected = xp.take_along_axis(curve, best, axis=-1)[:, 0]
    # A cut with exactly so many scores at or above it
    upper = xp.take_along_axis(keys, xp.clip(best - 1, 0, None), axis=-1)
    following = xp.clip(best, None, part.length - 1)
    lower = xp.take_along_axis(keys, following, axis=-1)
    lower = xp.where(xp.astype(best, keys.dtype) < rows.n, lower, -math.inf)
    cut = cut_between(xp, xp.where(best > 0, upper, math.inf), lower)
    return best[:, 0], expected, cut[:, 0]


def mark(xp: Namespace, given: Tensor, best: Tensor, cut: Tensor) -> Tensor:
    """Return labels of rows: all above a cut, and the first of a split tie."""
    best, cut = best[:, None], cut[:, None]
    labels = xp.astype(given, cut.dtype) >= cut
    split = xp.isnan(cut)
    if bool(xp.any(split)):
        keys = descending(xp, given)
        level = xp.take_along_axis(keys, xp.clip(best - 1, 0, None), axis=-1)
        above, equal = given > level, given == level
        rank = running_sum(xp, xp.astype(equal, xp.int64))
        room = best - xp.sum(xp.astype(above, xp.int64), axis=-1, keepdims=True)
        labels = xp.where(split, above | (equal & (rank <= room)), labels)
    return labels


@cache
def has_triton() -> bool:
    return find_spec("triton") is not None


def quick_ways(p: Tensor, length: int, metric: Metric, logits: bool) -> list[Any]:
    """Return faster ways than `choose` for rows of a length, fastest first.

    The next way takes the rows that one refuses; their count is -1.
    """
    if not isinstance(namespace(p), TorchNamespace):
        return []
    if usable_form(metric, (float(length),)) is None:
        return [decide_on_host]
    if p.is_cuda and has_triton():
        from argmetric.tensors._fused import kernels_for

        return kernels_for(length, metric, logits)
    return [decide_on_host] if p.device.type == "cpu" else []


def decide_rows(
    p: Tensor, metric: Metric, logits: bool = False, ways: list[Any] | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return best counts of torch rows, expected scores, cuts and labels.

    No number is read before the labels are queued.
    """
    if ways is None:
        ways = quick_ways(p, p.shape[1], metric, logits)
    first, *others = *ways, decide_by_whole_curves
    found = best, value, cut = first(p, metric, logits)
    labels = p >= (as_single(cut) if p.dtype == torch.float32 else cut)[:, None]
    if capturing(p):
        return best, torch.where(best < 0, math.nan, value), cut, labels
    again = (best < 0) | torch.isnan(cut)
    if bool(again.any()):  # rows that were refused, and ties
        for way in others:
            left = torch.nonzero(best < 0)[:, 0]
            if left.numel():
                some = way(p[left], metric, logits)
                for target, values in zip(found, some, strict=True):
                    target[left] = values
        labels[again] = mark(namespace(p), p[again], best[again], cut[again])
    return best, value, cut, labels


def decide_by_whole_curves(p: Tensor, metric: Metric, logits: bool) -> BestCounts:
    """Return best counts from the whole curve E[metric](k) of every row, in blocks.

    The slowest way, and the one that takes every row that the others refuse.

    p : tensor of shape (n_rows, n_labels)
    """
    n_labels, results = p.shape[1], []
    unlimited = check_limits(0, None, None, None)
    for rows in p.split(max(CELLS_AT_ONCE // n_labels, 1)):
        sizes = np.broadcast_to(n_labels, rows.shape[0])
        part = Part(slice(0), sizes, None, n_labels)
        how: Any = {"logits": logits, "work": torch.float64}
        results.append(choose(rows, part, metric, unlimited, **how))
    best, value, cut = map(torch.cat, zip(*results, strict=True))
    return best, value, cut


def decide_on_host(p: Tensor, metric: Metric, logits: bool) -> BestCounts:
    """Decide rows as arrays on the host: long ones by histograms, others sorted."""
    rows, n = p.shape
    best, ends, value = np.zeros(rows, np.int64), np.zeros((2, rows)), np.zeros(rows)
    scores, left = p.cpu().numpy(), np.arange(rows)
    if is_long(n) and not logits:
        floor = float(metric.tie_floor(n))
        for i, row in enumerate(scores):
            items = Array(row.astype(np.float64))
            count = choose_in_long(
                items, metric, 0, n, floor=floor, max_candidates=MOST_COUNTS
            )
            if count is not None:
                left[i] = -1
                best[i], value[i] = count.best, count.expected
                ends[:, i] = count.upper, count.lower
        left = left[left >= 0]
    tables, step = Tables(metric), max(CELLS_ON_HOST // n, 1)
    for first in range(0, left.size, step):
        some = left[first : first + step]
        keys = np.sort(scores[some], axis=1)[:, ::-1].astype(np.float64)
        best[some], value[some] = count_sorted(keys, metric, logits, tables)
        edges = np.pad(keys, ((0, 0), (1, 1)), constant_values=(np.inf, -np.inf))
        for one, at in zip(ends, (best[some], best[some] + 1), strict=True):
            one[some] = np.take_along_axis(edges, at[:, None], axis=1)[:, 0]
    found = map(torch.from_numpy, (best, value, *ends))
    best, value, upper, lower = (x.to(p.device) for x in found)
    return best, value, cut_between(namespace(p), upper, lower)


def count_sorted(
    keys: Floats, metric: Metric, logits: bool, tables: Tables
) -> tuple[Any, Any]:
    """Return the best counts of sorted rows on the host, and their values."""
    rows, n = keys.shape
    p, q = (x.reshape(-1) for x in both_p(np, keys, logits))
    sizes, none = np.full(rows, n), np.zeros(rows, np.int64)
    mean = p.reshape(rows, n).sum(axis=1)
    certain = np.clip(np.minimum(mean, n - mean), 0.0, 1.0)
    asked = CountRange(none, sizes, metric.tie_floor(sizes) * certain, none)
    segments = Segments(p, q, np.arange(rows + 1) * n, sizes)
    choice = choose_counts(segments, metric, asked, tables=tables)
    return choice.best, choice.expected
