"""What the houses of this street share: words, limits, and what a row is judged by."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from argmetric.metrics import Metric, MetricLike, get_metric

Costs = Literal["zero_one", "regret"]
RollIn = Literal["mixed", "gold", "own", "none"]

MOST_EPOCHS = 100_000  # more passes are a slip of the pen


def gold_share(roll_in: RollIn, epoch: int) -> float:
    """Probability that the history of a training decision is the initial policy's.

    "mixed" is SEARN with a mixture that leaves the initial policy step by step: all
    of its decisions, half, then none.
    """
    if roll_in == "mixed":
        return (1.0, 0.5, 0.0)[min(epoch, 2)]
    return 0.0 if roll_in == "own" else 1.0


def row_metric(metric: MetricLike) -> Metric:
    """What a row is judged by: 0/0 counts as 1 unless the metric says otherwise."""
    found = get_metric(metric)
    if isinstance(metric, str):
        found = found.with_zero_division(1.0)
    if np.isnan(found.zero_division):
        raise ValueError("a loss cannot be nan: pass zero_division=0 or 1")
    return found


def row_losses(metric: Metric, tp: Any, k: Any, t: Any, n_labels: int) -> Any:
    """1 - metric, or the metric itself if less is better."""
    values = metric.value(tp, k, t, n_labels)
    return 1.0 - values if metric.greater_is_better else values
