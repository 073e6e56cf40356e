"""Which labels should I hand in?"""

from argmetric._decide._calibrated import calibration_note, recalibrated
from argmetric._decide._decide import decide
from argmetric._decide._evaluate import evaluate
from argmetric._decide._question import TIE, check_limits, threshold_between
from argmetric._decide._result import Cut, Decision

__all__ = [
    "TIE",
    "Cut",
    "Decision",
    "calibration_note",
    "check_limits",
    "decide",
    "evaluate",
    "recalibrated",
    "threshold_between",
]
