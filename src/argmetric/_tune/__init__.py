"""Which threshold, given labelled rows?"""

from argmetric._tune._core import tune
from argmetric._tune._multiclass_rule import MultiClassRule
from argmetric._tune._multilabel_rule import MultiLabelRule
from argmetric._tune._rule import Rule

__all__ = ["MultiClassRule", "MultiLabelRule", "Rule", "tune"]
