"""Which threshold, given labelled rows?"""

from argmetric._tune._limits import Limits, check_tune_limits
from argmetric._tune._multiclass_rule import MultiClassRule
from argmetric._tune._multilabel_rule import MultiLabelRule
from argmetric._tune._rule import Rule
from argmetric._tune._scan import count_cuts, curve_of, sort_rows
from argmetric._tune._tune import tune

__all__ = [
    "Limits",
    "MultiClassRule",
    "MultiLabelRule",
    "Rule",
    "check_tune_limits",
    "count_cuts",
    "curve_of",
    "sort_rows",
    "tune",
]
