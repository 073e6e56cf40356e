"""Which labels should I hand in?"""

from argmetric._decide._calibrated import calibration_note, recalibrated
from argmetric._decide._decide import (
    decide,
    part_of_a_whole,
    refuse_never_defined,
)
from argmetric._decide._evaluate import evaluate
from argmetric._decide._one import decide_items, tie_note
from argmetric._decide._plot import ExpectedMetricDisplay
from argmetric._decide._question import (
    TIE,
    Limits,
    check_limits,
    cut_between,
    error_note,
    threshold_between,
)
from argmetric._decide._result import Cut, Decision

__all__ = [
    "TIE",
    "Cut",
    "Decision",
    "ExpectedMetricDisplay",
    "Limits",
    "calibration_note",
    "check_limits",
    "cut_between",
    "decide",
    "decide_items",
    "error_note",
    "evaluate",
    "part_of_a_whole",
    "recalibrated",
    "refuse_never_defined",
    "threshold_between",
    "tie_note",
]
