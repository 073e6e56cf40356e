"""Are my probabilities fit to decide with? The check, in units of lost score."""

from argmetric._reliability._bins import ReliabilityBins
from argmetric._reliability._check import calibration_check
from argmetric._reliability._plot import CalibrationCostDisplay
from argmetric._reliability._result import CalibrationCheck
from argmetric._reliability._routes import Route, RouteName
from argmetric._reliability._verdict import reworded

__all__ = [
    "CalibrationCheck",
    "CalibrationCostDisplay",
    "ReliabilityBins",
    "Route",
    "RouteName",
    "calibration_check",
    "reworded",
]
