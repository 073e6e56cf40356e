"""Are my probabilities reliable? The check, in units of lost score."""

from argmetric._calibration_check._bins import ReliabilityBins
from argmetric._calibration_check._check import calibration_check
from argmetric._calibration_check._plot import CalibrationCostDisplay
from argmetric._calibration_check._result import CalibrationCheck, reworded
from argmetric._calibration_check._routes import Route, RouteName

__all__ = [
    "CalibrationCheck",
    "CalibrationCostDisplay",
    "ReliabilityBins",
    "Route",
    "RouteName",
    "calibration_check",
    "reworded",
]
