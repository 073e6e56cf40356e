"""Models trained for the metric: smooth counts, exact expectations, boosting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argmetric._lazy import lazy_names

if TYPE_CHECKING:
    from argmetric.train._boosting import MetricObjective as MetricObjective
    from argmetric.train._boosting import metric_objective as metric_objective
    from argmetric.train._logistic import (
        MetricLogisticRegression as MetricLogisticRegression,
    )
    from argmetric.train._rows import TrainingRows as TrainingRows
    from argmetric.train._rows import read_labels as read_labels
    from argmetric.train._surface import MetricSurfaceDisplay as MetricSurfaceDisplay

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "_boosting": ("MetricObjective", "metric_objective"),
        "_logistic": ("MetricLogisticRegression",),
        "_surface": ("MetricSurfaceDisplay",),
    },
    for_other_rooms={
        "_rows": ("TrainingRows", "read_labels"),
    },
)
