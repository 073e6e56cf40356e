"""decide for tensors: labels on the device of the probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from argmetric._expected import TIE
from argmetric._ground.arguments import (
    as_flags,
    check_count,
    check_fraction,
    count_or_share,
)
from argmetric._ground.display import metric_title
from argmetric._ground.types import ArrayLike
from argmetric.metrics import (
    MCC,
    Kappa,
    Metric,
    MetricLike,
    RatioForm,
    Recall,
    get_metric,
    require_defined,
)
from argmetric.tensors._arrays import (
    Checks,
    Tensor,
    TorchNamespace,
    chances,
    descending,
    namespace,
    read_tensor,
    to_host,
    when_checked,
    work_dtype,
)
from argmetric.tensors._curves import Padded, expected_curves, running_sum, usable_form
from argmetric.tensors._segments import Part, SegmentedTensor

LONGEST_SORTED = 1024  # longer rows are decided from a window of their items


@dataclass(frozen=True, repr=False, eq=False)
class TensorDecision:
    """Labels with the highest expected metric, as tensors on the device of `p`.

    Attributes
    ----------
    labels : tensor of bool
        The labels, in the shape of `p`.
    expected : tensor
        Expected metric of every row, label or group; one number for a single batch.
    n_positives : tensor of int
        Predicted positives of each of them.
    threshold : tensor
        A cut-off for each of them on the scale of `p`: infinite where nothing is
        predicted, nan where items of equal score get different labels.
    group_ids : tensor or None
        The groups in the order of the other results.
    metric : Metric
        What was maximised.
    average : str or None
        How rows, labels or groups are combined.
    """

    labels: Tensor
    expected: Tensor
    n_positives: Tensor
    threshold: Tensor
    group_ids: Tensor | None
    metric: Metric
    average: str | None

    @property
    def mean_expected(self) -> Tensor:
        """Mean of `expected` where it is defined, on the device."""
        return mean_defined(self.expected)

    def __repr__(self) -> str:
        by = f", average={self.average!r}" if self.average else ""
        shape = "×".join(map(str, self.labels.shape))
        chosen = int(np.sum(to_host(self.n_positives)))
        return (
            f"TensorDecision(expected {metric_title(self.metric.name)} "
            f"{float(self.mean_expected):.3f}{by}: {chosen:,} positives among {shape} "
            f"labels on {self.labels.device})"
        )


def mean_defined(values: Tensor) -> Tensor:
    """Mean over the values that are no nan."""
    xp = namespace(values)
    flat = xp.reshape(values, (-1,))
    defined = ~xp.isnan(flat)
    total = xp.sum(xp.where(defined, flat, 0.0), axis=0)
    return total / xp.sum(xp.astype(defined, flat.dtype), axis=0)


def decide(
    p: Tensor,
    metric: MetricLike = "f1",
    *,
    groups: ArrayLike | None = None,
    average: str | None = None,
    zero_division: float | None = None,
    min_positives: int = 0,
    max_positives: int | str | None = None,
    min_precision: float | None = None,
    min_recall: float | None = None,
    logits: bool = False,
    dtype: str = "float64",
) -> TensorDecision:
    """Choose the labels with the highest expected metric, on the tensor's device.

    `argmetric.decide` calls it for tensors; the labels are the same as for an array.

    Parameters
    ----------
    p : tensor
        Probabilities, or log-odds with ``logits=True``: a vector, or a matrix of rows
        and labels. float16, bfloat16, float32 or float64.
    metric : str or Metric, default="f1"
        F-beta, Jaccard, Tversky, precision, recall, specificity, accuracy, balanced
        accuracy, Fowlkes-Mallows, MCC, kappa, or another with a closed form.
    groups, average, zero_division, logits
        As for `argmetric.decide`.
    min_positives, max_positives, min_precision, min_recall
        As for `argmetric.decide`, in each segment.
    dtype : {"float64", "float32"}, default="float64"
        Precision of the sums. In float32 a few rows get another count of positives of
        nearly the same value.

    Returns
    -------
    TensorDecision
    """
    metric = get_metric(metric, zero_division=zero_division)
    (logits,) = as_flags(logits=logits)
    limits = TensorLimits(min_positives, max_positives, min_precision, min_recall)
    later: Checks = []
    p = read_tensor(p, "p", logits=logits, later=later)
    xp = namespace(p)
    work = work_dtype(xp, dtype, p)
    segments = SegmentedTensor(p, average, groups, "p")
    sizes = segments.distinct
    largest = int(sizes[-1])
    require_defined(metric, largest)
    usable_form(metric, tuple(sizes.astype(np.float64).tolist()))
    principle = metric.ranking_principle(largest)
    if not principle:
        raise ValueError(
            f"the best decision for {metric.name} need not be a top-k set: "
            f"{principle.detail}"
        )
    if limits.least > sizes[0]:
        raise ValueError(
            f"min_positives={limits.least} is more than the {sizes[0]} items"
        )
    way = quick_way(p, metric, limits, segments) if dtype == "float64" else ""
    nothing = -math.inf if logits else 0.0

    def run(p: Tensor) -> TensorDecision:
        labels, values = [], []
        for part in segments.parts(segments.count if way == "kernel" else None):
            given = segments.take(p, part, nothing)
            if way == "window":
                from argmetric.tensors._pixels import decide_pixels

                *some, found = decide_pixels(given.contiguous(), metric, logits)
                chosen = some[0], some[1], some[2]
            elif way == "kernel":
                chosen, found = choose_fused(given, part, metric, logits)
            else:
                chosen = choose(given, part, metric, limits, logits, work)
                found = mark(xp, given, chosen, part)
            labels.append((part, found))
            values.append((part, chosen))
        best, expected, cut = segments.gather(values)
        found = segments.restore(labels)
        ids = segments.group_ids
        return TensorDecision(found, expected, best, cut, ids, metric, average)

    decision = when_checked(run, p, later)
    if math.isnan(metric.zero_division) and bool(
        # Without any chance of a positive "none" is right, whatever it is worth
        xp.any(p > nothing) & xp.all(xp.isnan(decision.expected))
    ):
        raise ValueError(
            f"{metric.name} is undefined for every number of positives that is allowed "
            "here; zero_division=0 or 1 gives it a value"
        )
    return decision


@dataclass
class TensorLimits:
    """What the number of predicted positives of a segment has to obey."""

    least: int
    most: int | str | None
    min_precision: float | None
    min_recall: float | None

    def __post_init__(self) -> None:
        self.least = check_count(self.least, "min_positives")
        self.min_precision = check_fraction(self.min_precision, "min_precision")
        self.min_recall = check_fraction(self.min_recall, "min_recall")
        if self.most is None:
            return
        count = count_or_share(self.most, "max_positives", 0)  # refuses what is none
        if not isinstance(self.most, str):
            self.most = count
            if count < self.least:
                raise ValueError(
                    f"max_positives={count} is below min_positives={self.least}"
                )

    @property
    def none(self) -> bool:
        return self == TensorLimits(0, None, 0.0, 0.0)

    def range_of(self, rows: Padded, metric: Metric) -> tuple[Tensor, Tensor]:
        """Smallest and largest allowed k of every row, as columns."""
        xp, p = rows.xp, rows.p
        low = xp.zeros_like(p[:, :1]) + float(self.least)
        most = rows.distinct
        if self.most is not None:
            most = count_or_share(self.most, "max_positives", rows.distinct)
        high = xp.zeros_like(low) + rows.lift(np.minimum(rows.distinct, most)[:, None])
        if math.isnan(metric.zero_division):
            # Predicting a certain negative only to leave 0/0 is no decision.
            likely = xp.sum(xp.astype(p > 0.0, p.dtype), axis=-1, keepdims=True)
            likely = xp.where(likely < self.least, float(self.least), likely)
            high = xp.where(high < likely, high, likely)
        if self.min_precision:
            fine = running_sum(xp, p) >= (self.min_precision - 1e-12) * rows.k[:, 1:]
            count = _leading(xp, fine, p.dtype)
            high = xp.where(high < count, high, count)
        if self.min_recall:
            recall = expected_curves(rows, Recall(zero_division=math.nan))
            few = (recall < self.min_recall - 1e-12) & (recall == recall)
            count = _leading(xp, few, p.dtype)
            low = xp.where(low > count, low, count)
        if (self.min_precision or self.min_recall) and bool(xp.any(low > high)):
            raise ValueError(
                "no number of positives meets all limits in some rows: min_recall or "
                "min_positives needs more than min_precision or max_positives allows"
            )
        return low, high


def _leading(xp: Any, flags: Tensor, dtype: Any) -> Tensor:
    """How many flags are true before the first that is not, as a column."""
    wrong = xp.cumulative_sum(xp.astype(~flags, xp.int64), axis=-1)
    return xp.sum(xp.astype(wrong == 0, dtype), axis=-1, keepdims=True)


def choose(
    given: Tensor,
    part: Part,
    metric: Metric,
    limits: TensorLimits,
    logits: bool,
    work: Any,
) -> tuple[Tensor, Tensor, Tensor]:
    """Best count of every row, its expected value, and the cut-off."""
    xp = namespace(given)
    keys = xp.astype(descending(xp, given), work)
    rows = Padded(xp, *chances(xp, keys, logits), part.sizes)
    curve = expected_curves(rows, metric)
    low, high = limits.range_of(rows, metric)
    signed = curve if metric.greater_is_better else -curve
    allowed = (rows.k >= low) & (rows.k <= high) & (curve == curve)
    signed = xp.where(allowed, signed, -math.inf)
    top = xp.max(signed, axis=-1, keepdims=True)
    floors = metric.tie_floor(rows.distinct)
    slack = TIE * xp.abs(top)
    if floors.any():
        mean = xp.sum(rows.p, axis=-1, keepdims=True)
        rest = rows.n - mean
        certain = xp.clip(xp.where(mean < rest, mean, rest), 0.0, 1.0)
        floor = rows.lift(floors[:, None]) * certain
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


@cache
def has_triton() -> bool:
    return find_spec("triton") is not None


def quick_way(
    p: Tensor, metric: Metric, limits: TensorLimits, segments: SegmentedTensor
) -> str:
    """Whether a "window" of the items of long rows is enough, or a "kernel" serves."""
    plain = limits.none and not math.isnan(metric.zero_division)
    if not plain or segments.group_ids is not None:
        return ""
    known = isinstance(metric, MCC | Kappa) or counts_hits(metric.form)
    if known and segments.length > LONGEST_SORTED:
        return "window" if isinstance(namespace(p), TorchNamespace) else ""
    if not getattr(p, "is_cuda", False) or not has_triton():
        return ""
    from argmetric.tensors._fused import MOST_LABELS, can_fuse

    return "kernel" if segments.length <= MOST_LABELS and can_fuse(metric) else ""


def counts_hits(form: Any) -> bool:
    """Whether a form is tp by a sum of counts, which is 0 for k = t = 0 alone."""
    if not isinstance(form, RatioForm):
        return False
    d0, _, d2, d3 = form.d
    return form.counts_hits_only and form.c[1] > 0 and d0 == 0 and min(d2, d3) > 0


def choose_fused(
    given: Tensor, part: Part, metric: Metric, logits: bool
) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor]:
    """As `choose` and `mark`, by kernels on a GPU."""
    from argmetric.tensors._fused import decide_fused

    found, labels = decide_fused(given, metric, logits)
    again = (found[0] < 0) | (found[2] != found[2])
    if bool(again.any()):  # rows to be taken whole, and ties
        left = found[0] < 0
        if bool(left.any()):
            some, _ = decide_fused(given[left], metric, logits, whole=True)
            for target, values in zip(found, some, strict=True):
                target[left] = values
        tied = found[0][again], found[1][again], found[2][again]
        labels[again] = mark(namespace(given), given[again], tied, part)
    return found, labels


def cut_between(xp: Any, upper: Tensor, lower: Tensor) -> Tensor:
    """A cut below one score and above the next; nan where they are equal.

    Half-way, if that survives rounding to float32.
    """
    finite = xp.isfinite(upper) & xp.isfinite(lower)
    middle = xp.where(finite, lower / 2.0 + upper / 2.0, upper)
    rounded = xp.astype(xp.astype(middle, xp.float32), middle.dtype)
    fits = finite & (lower < rounded) & (rounded <= upper)
    return xp.where(upper == lower, math.nan, xp.where(fits, middle, upper))


def mark(
    xp: Any, given: Tensor, chosen: tuple[Tensor, Tensor, Tensor], part: Part
) -> Tensor:
    """Labels of rows: all above a cut-off, and of a split tie the first in order."""
    best, _, cut = (one[:, None] for one in chosen)
    labels = xp.astype(given, cut.dtype) >= cut
    split = xp.isnan(cut)
    if bool(xp.any(split)):
        keys = descending(xp, given)
        level = xp.take_along_axis(keys, xp.clip(best - 1, 0, None), axis=-1)
        above, equal = given > level, given == level
        rank = xp.cumulative_sum(xp.astype(equal, xp.int64), axis=-1)
        room = best - xp.sum(xp.astype(above, xp.int64), axis=-1, keepdims=True)
        labels = xp.where(split, above | (equal & (rank <= room)), labels)
    return labels if part.cells is None else labels & part.inside(xp)
