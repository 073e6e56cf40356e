"""Stable names: they change or go only after a deprecation."""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


STABLE = {
    "argmetric": _names("""
        ActualScore CalibrationCheck Calibrator Comparison Decision Difference Forecast
        Guarantee MetricClassifier Monitoring MultiLabelRule NotCertifiedError Rule
        calibrate calibration_check compare decide evaluate forecast get_metric
        metric_names monitor tune
    """),
    "argmetric.classes": _names("""
        ActualClassScore ClassCalibrationCheck ClassDecision ClassForecast
        ClassMonitoring ClassPeriod MultiClassRule calibrate check decide evaluate
        forecast monitor tune
    """),
    # Metrics have both names: argmetric.MCC and argmetric.metrics.MCC
    "argmetric.metrics": _names("""
        Accuracy BalancedAccuracy CustomMetric FBeta FowlkesMallows GMean HMean Jaccard
        Kappa Lift LinearFractional MCC Markedness Metric Precision QMean Recall
        Specificity SquaredCountError Tversky Utility Youden get_metric metric_names
    """),
}
_MISSED = ("decide", "evaluate", "forecast", "tune")
# Options and attributes of stable names that are not promised themselves
EXPERIMENTAL = frozenset(
    {
        "argmetric.Guarantee classes",
        "argmetric.Guarantee low",
        "argmetric.Guarantee.classes",
        "argmetric.Guarantee.low",
        "argmetric.MetricClassifier ask",
        "argmetric.MetricClassifier review",
        *(f"argmetric.{verb} missed" for verb in _MISSED),
        *(f"argmetric {verb} --{x}" for verb in _MISSED for x in ("amount", "missed")),
        *(f"argmetric {verb} --cost-fp" for verb in _MISSED[:3]),
        "argmetric.classes.tune ask",
        "argmetric.classes.tune confidence",
        "argmetric.classes.tune min_precision",
        "argmetric.classes.tune review",
        "argmetric.tune ask",
        "argmetric.tune normal",
        "argmetric.tune parity",
        "argmetric.tune review",
        "argmetric tune --gap",
        "argmetric tune --normal",
        "argmetric tune --parity",
        "argmetric tune --review",
    }
)
COMMANDS = _names("calibrate compare decide evaluate forecast monitor tune")


def is_stable(module: str, name: str) -> bool:
    """Return whether a public name of a module is stable; the others are experimental.

    Parameters
    ----------
    module : str
        "argmetric" or a public subpackage, such as "argmetric.classes".
    name : str
        A name of its `__all__`.
    """
    is_metric = module == "argmetric" and name in STABLE["argmetric.metrics"]
    return is_metric or name in STABLE.get(module, ())
