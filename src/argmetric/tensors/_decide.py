"""decide for tensors: labels on the device of the probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from argmetric._ground.arguments import as_flags
from argmetric._ground.display import metric_title
from argmetric._ground.limits import check_limits, refuse_more_than_all
from argmetric._ground.types import ArrayLike
from argmetric.metrics import Metric, MetricLike, get_metric, require_ranking
from argmetric.tensors._arrays import (
    Checks,
    Tensor,
    namespace,
    read_tensor,
    run_with_checks,
    to_host,
    work_dtype,
)
from argmetric.tensors._best_rows import choose, decide_rows, mark, quick_ways
from argmetric.tensors._segments import SegmentedTensor


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
        Metric that was maximised.
    average : str or None
        How rows, labels or groups are combined.

    Examples
    --------
    >>> import torch
    >>> import argmetric as am
    >>> am.decide(torch.tensor([0.9, 0.6, 0.2])).labels.tolist()
    [True, True, False]
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
    """Return the mean over the values that are not nan."""
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
        accuracy, Fowlkes-Mallows, MCC and kappa are computed on the device; any other
        that `argmetric.decide` takes is computed on the CPU.
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
        The labels, and what they are expected to score.

    Examples
    --------
    >>> import torch
    >>> from argmetric.tensors import decide
    >>> p = torch.tensor([[0.9, 0.6, 0.2], [0.3, 0.2, 0.1]])
    >>> decide(p, "jaccard", average="samples").n_positives.tolist()
    [2, 1]
    """
    metric = get_metric(metric, zero_division=zero_division)
    (logits,) = as_flags(logits=logits)
    limits = check_limits(min_positives, max_positives, min_precision, min_recall)
    later: Checks = []
    p = read_tensor(p, "p", logits=logits, later=later)
    xp = namespace(p)
    work = work_dtype(xp, dtype, p)
    segments = SegmentedTensor(p, average, groups, "p")
    sizes = segments.distinct
    require_ranking(metric, sizes)
    refuse_more_than_all(limits, int(sizes[0]))
    plain = limits.none and segments.group_ids is None and dtype == "float64"
    plain &= not math.isnan(metric.zero_division)
    quick = quick_ways(p, segments.length, metric, logits) if plain else []
    nothing = -math.inf if logits else 0.0

    def run(p: Tensor) -> TensorDecision:
        """Decide all segments, part by part, within the memory of the device."""
        labels, values = [], []
        for part in segments.parts(segments.count if quick else None):
            given = segments.take(p, part, nothing)
            if quick:
                best, value, cut, found = decide_rows(given, metric, logits, quick)
            else:
                best, value, cut = choose(
                    given, part, metric, limits, logits=logits, work=work
                )
                found = mark(xp, given, best, cut)
                if part.cells is not None:
                    found = found & part.inside(xp)
            labels.append((part, found))
            values.append((part, (best, value, cut)))
        best, expected, cut = segments.gather(values)
        found, ids = segments.restore(labels), segments.group_ids
        return TensorDecision(found, expected, best, cut, ids, metric, average)

    decision = run_with_checks(run, p, later)
    if math.isnan(metric.zero_division) and bool(
        # If no row can be positive, "none" is right, whatever its value
        xp.any(p > nothing) & xp.all(xp.isnan(decision.expected))
    ):
        raise ValueError(
            f"{metric.name} is undefined for every number of positives that is allowed "
            "here; zero_division=0 or 1 gives it a value"
        )
    return decision
