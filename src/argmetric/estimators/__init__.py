"""The scikit-learn skin: any classifier, decided for the metric it is judged by."""

from argmetric.estimators._classifier import MetricClassifier
from argmetric.estimators._scorer import OptimalScorer, optimal_scorer

__all__ = ["MetricClassifier", "OptimalScorer", "optimal_scorer"]
