"""Decide for the metric you are judged by.

Probabilities in; out come the labels that maximise the expected metric, and the
score to expect. Every name resolves at its first use, so importing the package
loads numpy and nothing heavier.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argmetric._ground.lazy import load_module

if TYPE_CHECKING:
    from argmetric import classes as classes
    from argmetric import integrations as integrations
    from argmetric import metrics as metrics
    from argmetric import published as published
    from argmetric import scale as scale
    from argmetric import search as search
    from argmetric import sequence as sequence
    from argmetric import sets as sets
    from argmetric import stream as stream
    from argmetric import tensors as tensors
    from argmetric import train as train
    from argmetric._calibrate.calibrate import calibrate as calibrate
    from argmetric._calibrate.calibrator import Calibrator as Calibrator
    from argmetric._calibrate.prior import adjust_prior as adjust_prior
    from argmetric._calibrate.prior import undo_sampling as undo_sampling
    from argmetric._calibrate.prior import undo_weights as undo_weights
    from argmetric._compare import Comparison as Comparison
    from argmetric._compare import Difference as Difference
    from argmetric._compare import Review as Review
    from argmetric._compare import compare as compare
    from argmetric._compare import review_rows as review_rows
    from argmetric._forecast.display import ForecastDisplay as ForecastDisplay
    from argmetric._forecast.forecast import forecast as forecast
    from argmetric._forecast.result import Forecast as Forecast
    from argmetric._monitor import LabelledEstimate as LabelledEstimate
    from argmetric._monitor import LabellingPlan as LabellingPlan
    from argmetric._monitor import Monitoring as Monitoring
    from argmetric._monitor import ParityMonitoring as ParityMonitoring
    from argmetric._monitor import ParityPeriod as ParityPeriod
    from argmetric._monitor import ReviewMonitoring as ReviewMonitoring
    from argmetric._monitor import ReviewPeriod as ReviewPeriod
    from argmetric._monitor import monitor as monitor
    from argmetric._report import Report as Report
    from argmetric._report import report as report
    from argmetric._verbs import warmup as warmup
    from argmetric._verbs.check import CalibrationCheck as CalibrationCheck
    from argmetric._verbs.check import calibration_check as calibration_check
    from argmetric._verbs.decide import ActualScore as ActualScore
    from argmetric._verbs.decide import Decision as Decision
    from argmetric._verbs.decide import decide as decide
    from argmetric._verbs.decide import evaluate as evaluate
    from argmetric._verbs.guarantees import Guarantee as Guarantee
    from argmetric._verbs.guarantees import NotCertifiedError as NotCertifiedError
    from argmetric._verbs.plots import CalibrationCostDisplay as CalibrationCostDisplay
    from argmetric._verbs.plots import ExpectedMetricDisplay as ExpectedMetricDisplay
    from argmetric._verbs.plots import ThresholdDisplay as ThresholdDisplay
    from argmetric._verbs.tune import MultiLabelRule as MultiLabelRule
    from argmetric._verbs.tune import ParityRule as ParityRule
    from argmetric._verbs.tune import ReviewRule as ReviewRule
    from argmetric._verbs.tune import Rule as Rule
    from argmetric._verbs.tune import tune as tune
    from argmetric.metrics import MCC as MCC
    from argmetric.metrics import Accuracy as Accuracy
    from argmetric.metrics import BalancedAccuracy as BalancedAccuracy
    from argmetric.metrics import CustomMetric as CustomMetric
    from argmetric.metrics import FBeta as FBeta
    from argmetric.metrics import FowlkesMallows as FowlkesMallows
    from argmetric.metrics import GMean as GMean
    from argmetric.metrics import HMean as HMean
    from argmetric.metrics import Jaccard as Jaccard
    from argmetric.metrics import Kappa as Kappa
    from argmetric.metrics import Lift as Lift
    from argmetric.metrics import LinearFractional as LinearFractional
    from argmetric.metrics import Markedness as Markedness
    from argmetric.metrics import Metric as Metric
    from argmetric.metrics import Precision as Precision
    from argmetric.metrics import QMean as QMean
    from argmetric.metrics import RankingPrinciple as RankingPrinciple
    from argmetric.metrics import Recall as Recall
    from argmetric.metrics import Specificity as Specificity
    from argmetric.metrics import SquaredCountError as SquaredCountError
    from argmetric.metrics import Tversky as Tversky
    from argmetric.metrics import Utility as Utility
    from argmetric.metrics import Youden as Youden
    from argmetric.metrics import check_metric as check_metric
    from argmetric.metrics import get_metric as get_metric
    from argmetric.metrics import metric_names as metric_names
    from argmetric.train import MetricClassifier as MetricClassifier
    from argmetric.train import MetricLogisticRegression as MetricLogisticRegression
    from argmetric.train import MetricSurfaceDisplay as MetricSurfaceDisplay
    from argmetric.train import metric_objective as metric_objective
    from argmetric.train import optimal_scorer as optimal_scorer

__version__ = "0.1.0"

_ROOMS = {
    "argmetric._calibrate.calibrate": ("calibrate",),
    "argmetric._calibrate.calibrator": ("Calibrator",),
    "argmetric._calibrate.prior": ("adjust_prior", "undo_sampling", "undo_weights"),
    "argmetric._compare": (
        "Comparison",
        "Difference",
        "Review",
        "compare",
        "review_rows",
    ),
    "argmetric._verbs.decide": (
        "ActualScore",
        "Decision",
        "decide",
        "evaluate",
    ),
    "argmetric._forecast.display": ("ForecastDisplay",),
    "argmetric._forecast.forecast": ("forecast",),
    "argmetric._forecast.result": ("Forecast",),
    "argmetric._verbs.check": ("CalibrationCheck", "calibration_check"),
    "argmetric._verbs.guarantees": ("Guarantee", "NotCertifiedError"),
    "argmetric._monitor": (
        "LabelledEstimate",
        "LabellingPlan",
        "Monitoring",
        "ParityMonitoring",
        "ParityPeriod",
        "ReviewMonitoring",
        "ReviewPeriod",
        "monitor",
    ),
    "argmetric._report": ("Report", "report"),
    "argmetric._verbs.tune": (
        "MultiLabelRule",
        "ParityRule",
        "ReviewRule",
        "Rule",
        "tune",
    ),
    "argmetric._verbs.plots": (
        "CalibrationCostDisplay",
        "ExpectedMetricDisplay",
        "ThresholdDisplay",
    ),
    "argmetric._verbs": ("warmup",),
    "argmetric.metrics": (
        "Accuracy",
        "BalancedAccuracy",
        "CustomMetric",
        "FBeta",
        "FowlkesMallows",
        "GMean",
        "HMean",
        "Jaccard",
        "Kappa",
        "Lift",
        "LinearFractional",
        "MCC",
        "Markedness",
        "Metric",
        "Precision",
        "QMean",
        "RankingPrinciple",
        "Recall",
        "Specificity",
        "SquaredCountError",
        "Tversky",
        "Utility",
        "Youden",
        "check_metric",
        "get_metric",
        "metric_names",
    ),
    "argmetric.train": (
        "MetricClassifier",
        "MetricLogisticRegression",
        "MetricSurfaceDisplay",
        "metric_objective",
        "optimal_scorer",
    ),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}
_MODULES = (
    *("classes", "integrations", "metrics", "published", "scale", "search"),
    *("sequence", "sets", "stream"),
    "tensors",
    "train",
)
__all__ = [*sorted(_ROOM_OF), *_MODULES]


if not TYPE_CHECKING:  # a misspelt name is an error for type checkers

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return load_module(f"argmetric.{name}")
        if name not in _ROOM_OF:
            raise AttributeError(f"module 'argmetric' has no attribute {name!r}")
        attribute = getattr(load_module(_ROOM_OF[name]), name)
        globals()[name] = attribute
        return attribute


def __dir__() -> list[str]:
    return __all__
