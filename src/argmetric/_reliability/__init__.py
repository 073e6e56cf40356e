"""Are my probabilities fit to decide with? The check, in units of lost score."""

from argmetric._reliability._bins import ReliabilityBins
from argmetric._reliability._core import calibration_check
from argmetric._reliability._result import CalibrationCheck

__all__ = ["CalibrationCheck", "ReliabilityBins", "calibration_check"]
