"""Learn a model and the best threshold for a metric in one pass over a stream.

Names resolve at their first use, so that the rules load neither scikit-learn nor river.

Experimental: names and parameters may change in any release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argmetric._ground.lazy import lazy_names

if TYPE_CHECKING:
    from argmetric.stream._classifier import OnlineClassifier as OnlineClassifier
    from argmetric.stream._history import ProgressiveScore as ProgressiveScore
    from argmetric.stream._history import StreamDisplay as StreamDisplay
    from argmetric.stream._history import StreamHistory as StreamHistory
    from argmetric.stream._history import StreamMoment as StreamMoment
    from argmetric.stream._history import alarms_in as alarms_in
    from argmetric.stream._history import recent_counts as recent_counts
    from argmetric.stream._learners import Learner as Learner
    from argmetric.stream._learners import LearnerName as LearnerName
    from argmetric.stream._model import StreamModel as StreamModel
    from argmetric.stream._omma import OMMARule as OMMARule
    from argmetric.stream._rule_base import RuleRun as RuleRun
    from argmetric.stream._rule_base import ThresholdRule as ThresholdRule
    from argmetric.stream._rules import FixedRule as FixedRule
    from argmetric.stream._rules import FOFORule as FOFORule
    from argmetric.stream._rules import HistogramRule as HistogramRule
    from argmetric.stream._rules import NewtonRule as NewtonRule
    from argmetric.stream._rules import OFORule as OFORule
    from argmetric.stream._rules import RuleName as RuleName
    from argmetric.stream._rules import SFORule as SFORule
    from argmetric.stream._rules import get_rule as get_rule
    from argmetric.stream._wrapper import OnlineThreshold as OnlineThreshold
    from argmetric.stream._wrapper import RiverClassifier as RiverClassifier

if not TYPE_CHECKING:  # a misspelt name is an error for type checkers
    __getattr__, __dir__, __all__ = lazy_names(
        __name__,
        {
            "_classifier": ("OnlineClassifier",),
            "_history": ("ProgressiveScore", "StreamDisplay"),
            "_omma": ("OMMARule",),
            "_wrapper": ("OnlineThreshold", "RiverClassifier"),
            "_rule_base": ("RuleRun", "ThresholdRule"),
            "_rules": (
                "FOFORule",
                "FixedRule",
                "HistogramRule",
                "NewtonRule",
                "OFORule",
                "SFORule",
                "get_rule",
            ),
        },
        for_other_rooms={
            "_history": ("StreamMoment", "StreamHistory", "alarms_in", "recent_counts"),
            "_learners": ("Learner", "LearnerName"),
            "_model": ("StreamModel",),
            "_rules": ("RuleName",),
        },
    )
