"""The model that parameters of a classifier ask for, and what a saved state says."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from argmetric._ground.arguments import check_choice, check_count, check_seed, shown
from argmetric._ground.saving import parsed
from argmetric.metrics import get_metric
from argmetric.stream._learners import LEARNERS, OWN_DECISION, Learner
from argmetric.stream._model import StreamModel
from argmetric.stream._rules import get_rule

if TYPE_CHECKING:
    from argmetric.stream._classifier import OnlineClassifier


def new_model(asked: OnlineClassifier, n_features: int) -> StreamModel:
    """A model that has seen nothing, after all parameters are checked."""
    metric = get_metric(asked.metric)
    check_seed(asked.random_state, high=2**32 - 1)
    check_choice(asked.learner, "learner", LEARNERS)
    seed, rule = 0, None
    if asked.learner == "omcsl":
        from sklearn.utils import check_random_state

        seed = int(check_random_state(asked.random_state).randint(2**31 - 1))
    options = (asked.step, asked.average, asked.memory, asked.fit_intercept)
    learner, detector = Learner(asked.learner, *options, seed), asked.detector
    if asked.learner not in OWN_DECISION:
        rule = get_rule(asked.rule)
    elif asked.rule != "histogram" and asked.rule is not None:
        raise ValueError(
            f"{asked.learner} carries its own decision: leave `rule` alone"
        )
    elif detector is not None:
        raise ValueError(f"{asked.learner} cannot start anew: leave `detector` alone")
    check_count(asked.waiting, "waiting", low=1)
    check_choice(asked.expired, "expired", ("drop", "negative"))
    if detector is not None and not hasattr(detector, "drift_detected"):
        raise TypeError(
            "detector must have update and drift_detected, as those of river have, "
            f"and {shown(detector)} has not"
        )
    return StreamModel(metric, learner, rule, n_features, copy.deepcopy(detector))


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


_NEEDED = {"rule", "model", "weights", "history", "classes", "numbers", "texts"}


@dataclass(frozen=True)
class StateHeader:
    """Classes, names and counts of a classifier."""

    configuration: str  # what has to agree with the classifier that takes the state
    classes: npt.NDArray[Any]  # negative and positive
    n_features: int  # columns known so far
    counts: tuple[int, int, int]  # rows expired, labels that came late, drifts
    column_names: list[str] | None  # of the frame that was learned from
    vocabulary: list[Any]  # names taken up one by one, or of the frame: last columns

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        known = [_plain_name(name) for name in self.vocabulary]
        texts = [self.configuration, json.dumps(self.column_names), json.dumps(known)]
        return {
            "classes": self.classes.copy(),
            "numbers": np.array([self.n_features, *self.counts], dtype=np.int64),
            "texts": np.array(texts),
        }

    @classmethod
    def from_arrays(cls, state: Mapping[str, npt.NDArray[Any]], own: str) -> Self:
        """The inverse of `to_arrays`, for a classifier of its `own` configuration.

        A state that lacks arrays, or of other parameters, is refused.
        """
        if not isinstance(state, Mapping):
            raise TypeError(f"state must be a dict of arrays, not {shown(state)}")
        missing = _NEEDED - set(state)
        if missing:
            raise ValueError(f"the state lacks {', '.join(sorted(missing))}")
        with undamaged():
            configuration, names, known = (str(text) for text in state["texts"])
            n_features, expired, late, drifts = (int(one) for one in state["numbers"])
            classes, counts = np.array(state["classes"]), (expired, late, drifts)
            named = parsed(names), parsed(known)
        if configuration != own:
            raise ValueError(
                "the state is that of a model with other parameters: "
                f"{configuration} rather than {own}"
            )
        return cls(configuration, classes, n_features, counts, *named)


@contextlib.contextmanager
def undamaged() -> Iterator[None]:
    """Whatever fails within, because of arrays that were not saved so, as one error."""
    try:
        yield
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as why:
        raise ValueError(f"the state is damaged: {why}") from None


def _plain_name(name: Any) -> Any:
    """A feature's name as JSON can hold it."""
    name = name.item() if isinstance(name, np.generic) else name
    if name is None or isinstance(name, str | int | float):
        return name
    raise TypeError(
        f"the feature {name!r} cannot be saved: names have to be text or numbers"
    )
