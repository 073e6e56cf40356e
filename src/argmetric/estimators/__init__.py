"""Estimators for scikit-learn: any classifier, tuned for the metric you report."""

from argmetric.estimators._classifier import MetricClassifier
from argmetric.estimators._scorer import OptimalScorer, optimal_scorer

__all__ = ["MetricClassifier", "OptimalScorer", "optimal_scorer"]
