"""Which labels should I hand in?"""

from argmetric._decide._core import decide
from argmetric._decide._evaluate import evaluate
from argmetric._decide._result import Cut, Decision

__all__ = ["Cut", "Decision", "decide", "evaluate"]
