"""Follow a stream: model and threshold learned in one pass, for the metric.

Names resolve at their first use, so that the rules load neither scikit-learn nor river.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from argmetric.stream._classifier import OnlineClassifier as OnlineClassifier
    from argmetric.stream._progressive import ProgressiveScore as ProgressiveScore
    from argmetric.stream._river import RiverClassifier as RiverClassifier
    from argmetric.stream._rules import FixedRule as FixedRule
    from argmetric.stream._rules import FOFORule as FOFORule
    from argmetric.stream._rules import HistogramRule as HistogramRule
    from argmetric.stream._rules import NewtonRule as NewtonRule
    from argmetric.stream._rules import OFORule as OFORule
    from argmetric.stream._rules import RuleRun as RuleRun
    from argmetric.stream._rules import ThresholdRule as ThresholdRule
    from argmetric.stream._rules import get_rule as get_rule
    from argmetric.stream._wrapper import OnlineThreshold as OnlineThreshold

_MODULES = {
    "_classifier": ("OnlineClassifier",),
    "_progressive": ("ProgressiveScore",),
    "_river": ("RiverClassifier",),
    "_rules": (
        "FOFORule",
        "FixedRule",
        "HistogramRule",
        "NewtonRule",
        "OFORule",
        "RuleRun",
        "ThresholdRule",
        "get_rule",
    ),
    "_wrapper": ("OnlineThreshold",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}
__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'argmetric.stream' has no attribute {name!r}")
    module = importlib.import_module(f"argmetric.stream.{_MODULE_OF[name]}")
    attribute = getattr(module, name)
    globals()[name] = attribute
    return attribute


def __dir__() -> list[str]:
    return __all__
