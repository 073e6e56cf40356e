"""Which threshold, given labelled rows?"""

from argmetric._tune._binary import (
    Group,
    Settings,
    best_threshold,
    can_hold_the_best,
    tune_cuts,
)
from argmetric._tune._checks import Cost, one_metric
from argmetric._tune._limits import RuleLimits, check_tune_limits
from argmetric._tune._matrix import MultiLabelRule, tuned_class_labels
from argmetric._tune._multiclass import MultiClassRule
from argmetric._tune._plot import LabelledDisplay, ThresholdDisplay
from argmetric._tune._rule import Rule
from argmetric._tune._scan import Cuts, count_cuts, curve_of, sort_rows
from argmetric._tune._tune import check_settings, tune
from argmetric._tune._uncertainty import Choice

__all__ = [
    "Choice",
    "Cost",
    "Cuts",
    "Group",
    "LabelledDisplay",
    "MultiClassRule",
    "MultiLabelRule",
    "Rule",
    "RuleLimits",
    "Settings",
    "ThresholdDisplay",
    "best_threshold",
    "can_hold_the_best",
    "check_settings",
    "check_tune_limits",
    "count_cuts",
    "curve_of",
    "one_metric",
    "sort_rows",
    "tune",
    "tune_cuts",
    "tuned_class_labels",
]
