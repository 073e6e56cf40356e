"""Are my probabilities reliable? The check, in units of lost score."""

from argmetric._calibration_check._bins import ReliabilityBins
from argmetric._calibration_check._check import calibration_check
from argmetric._calibration_check._class_result import (
    ClassCalibrationCheck,
    ClassReliability,
)
from argmetric._calibration_check._result import (
    CalibrationCheck,
    CalibrationCostDisplay,
)
from argmetric._calibration_check._routes import Route, RouteName
from argmetric._calibration_check._verdicts import marked, reworded

__all__ = [
    "CalibrationCheck",
    "CalibrationCostDisplay",
    "ClassCalibrationCheck",
    "ClassReliability",
    "ReliabilityBins",
    "Route",
    "RouteName",
    "calibration_check",
    "marked",
    "reworded",
]
