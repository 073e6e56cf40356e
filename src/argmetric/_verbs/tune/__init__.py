"""Which threshold, given labelled rows?"""

from argmetric._verbs.tune import _files as files
from argmetric._verbs.tune._binary import (
    FEW_ROWS,
    Group,
    Settings,
    best_threshold,
    can_hold_the_best,
    tune_cuts,
    within_range,
)
from argmetric._verbs.tune._export import (
    LEAST_EXPONENT,
    STEP,
    ClassLogits,
    PortableRule,
)
from argmetric._verbs.tune._matrix import MultiLabelRule
from argmetric._verbs.tune._plot import LabelledDisplay, ThresholdDisplay
from argmetric._verbs.tune._rule import Rule
from argmetric._verbs.tune._saved_rule import SavedRule
from argmetric._verbs.tune._scan import (
    Cuts,
    RuleLimits,
    check_tune_limits,
    count_cuts,
    curve_of,
    means,
    sort_rows,
)
from argmetric._verbs.tune._tune import (
    LOGITS,
    Cost,
    check_p,
    check_row_weight,
    check_settings,
    mapped_scores,
    one_metric,
    refuse_same_names,
    tune,
)
from argmetric._verbs.tune._uncertainty import (
    N_DRAWS,
    Choice,
    mean_worth,
    new_tables,
    quantiles,
)

__all__ = [
    "FEW_ROWS",
    "LEAST_EXPONENT",
    "LOGITS",
    "N_DRAWS",
    "STEP",
    "Choice",
    "ClassLogits",
    "Cost",
    "Cuts",
    "Group",
    "LabelledDisplay",
    "MultiLabelRule",
    "PortableRule",
    "Rule",
    "RuleLimits",
    "SavedRule",
    "Settings",
    "ThresholdDisplay",
    "best_threshold",
    "can_hold_the_best",
    "check_p",
    "check_row_weight",
    "check_settings",
    "check_tune_limits",
    "count_cuts",
    "curve_of",
    "files",
    "mapped_scores",
    "mean_worth",
    "means",
    "new_tables",
    "one_metric",
    "quantiles",
    "refuse_same_names",
    "sort_rows",
    "tune",
    "tune_cuts",
    "within_range",
]
