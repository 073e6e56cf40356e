"""Classifiers tuned for a metric, and models trained for it.

Experimental: names and parameters may change in any release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argmetric._ground.lazy import lazy_names

if TYPE_CHECKING:
    from argmetric.train._boosting import MetricObjective as MetricObjective
    from argmetric.train._boosting import metric_objective as metric_objective
    from argmetric.train._classifier import MetricClassifier as MetricClassifier
    from argmetric.train._frank_wolfe import (
        FrankWolfeClassifier as FrankWolfeClassifier,
    )
    from argmetric.train._logistic import (
        MetricLogisticRegression as MetricLogisticRegression,
    )
    from argmetric.train._objectives import MetricSurfaceDisplay as MetricSurfaceDisplay
    from argmetric.train._scorer import OptimalScorer as OptimalScorer
    from argmetric.train._scorer import optimal_scorer as optimal_scorer

if not TYPE_CHECKING:  # a misspelt name is an error for type checkers
    __getattr__, __dir__, __all__ = lazy_names(
        __name__,
        {
            "_boosting": ("MetricObjective", "metric_objective"),
            "_classifier": ("MetricClassifier",),
            "_frank_wolfe": ("FrankWolfeClassifier",),
            "_logistic": ("MetricLogisticRegression",),
            "_scorer": ("optimal_scorer",),
            "_objectives": ("MetricSurfaceDisplay",),
        },
        for_other_rooms={"_scorer": ("OptimalScorer",)},
    )
