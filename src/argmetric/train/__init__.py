"""Models trained for the metric: smooth counts, exact expectations, boosting."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from argmetric.train._boosting import MetricObjective as MetricObjective
    from argmetric.train._boosting import metric_objective as metric_objective
    from argmetric.train._logistic import (
        MetricLogisticRegression as MetricLogisticRegression,
    )
    from argmetric.train._surface import MetricSurfaceDisplay as MetricSurfaceDisplay

_FILE_OF = {
    "MetricLogisticRegression": "_logistic",  # the only one that loads scikit-learn
    "MetricObjective": "_boosting",
    "MetricSurfaceDisplay": "_surface",
    "metric_objective": "_boosting",
}
__all__ = sorted(_FILE_OF)


def __getattr__(name: str) -> Any:
    if name not in _FILE_OF:
        raise AttributeError(f"module 'argmetric.train' has no attribute {name!r}")
    module = importlib.import_module(f"argmetric.train.{_FILE_OF[name]}")
    attribute = getattr(module, name)
    globals()[name] = attribute
    return attribute


def __dir__() -> list[str]:
    return __all__
