"""What the parameters of the online classifier mean: the model that they ask for."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING

from argmetric._input.arguments import check_choice, check_count, check_seed, shown
from argmetric.metrics import get_metric
from argmetric.stream._learners import LEARNERS, OWN_DECISION, Learner
from argmetric.stream._model import StreamModel
from argmetric.stream._rules import ThresholdRule, get_rule

if TYPE_CHECKING:
    from argmetric.stream._classifier import OnlineClassifier


def new_model(asked: OnlineClassifier, n_features: int) -> StreamModel:
    """A model that has seen nothing, after all parameters are checked."""
    metric = get_metric(asked.metric)
    learner = _learner_of(asked)
    rule = _rule_of(asked)
    check_count(asked.waiting, "waiting", low=1)
    check_choice(asked.expired, "expired", ("drop", "negative"))
    detector = asked.detector
    if detector is not None and not hasattr(detector, "drift_detected"):
        raise TypeError(
            "detector must have update and drift_detected, as those of river have, "
            f"and {shown(detector)} has not"
        )
    return StreamModel(metric, learner, rule, n_features, copy.deepcopy(detector))


def _learner_of(asked: OnlineClassifier) -> Learner:
    seed = 0
    check_seed(asked.random_state, high=2**32 - 1)
    check_choice(asked.learner, "learner", LEARNERS)
    if asked.learner == "omcsl":
        from sklearn.utils import check_random_state

        seed = int(check_random_state(asked.random_state).randint(2**31 - 1))
    options = (asked.step, asked.average, asked.memory, asked.fit_intercept)
    return Learner(asked.learner, *options, seed)


def _rule_of(asked: OnlineClassifier) -> ThresholdRule | None:
    if asked.learner not in OWN_DECISION:
        return get_rule(asked.rule)
    if asked.rule != "histogram" and asked.rule is not None:
        raise ValueError(
            f"{asked.learner} carries its own decision: leave `rule` alone"
        )
    if asked.detector is not None:
        raise ValueError(f"{asked.learner} cannot start anew: leave `detector` alone")
    return None


def configuration_of(asked: OnlineClassifier) -> str:
    """What has to agree between a state and the classifier that takes it."""
    own = asked.learner in OWN_DECISION
    return json.dumps(
        [
            repr(get_metric(asked.metric)),
            None if own else get_rule(asked.rule).to_dict(),
            asked.learner,
            asked.step,
            asked.average,
            asked.memory,
            asked.fit_intercept,
            asked.hash_bits,
            asked.waiting,
            asked.expired,
            None if asked.pos_label is None else str(asked.pos_label),
        ]
    )
