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

from argmetric._input.arguments import check_choice, check_count, check_seed, shown
from argmetric._results.saving import parsed
from argmetric.metrics import get_metric
from argmetric.stream._learners import LEARNERS, OWN_DECISION, Learner
from argmetric.stream._model import StreamModel
from argmetric.stream._rule_base import ThresholdRule
from argmetric.stream._rules import get_rule

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


_NEEDED = {"rule", "model", "weights", "history", "classes", "numbers", "texts"}


@dataclass(frozen=True)
class StateHeader:
    """Classes, names and counts of a classifier.

    Parameters
    ----------
    configuration : str
        What has to agree with the classifier that takes the state.
    classes : ndarray of shape (2,)
        Negative and positive class.
    n_features : int
        Columns known so far.
    counts : tuple of three ints
        Rows expired, labels that came late, drifts.
    column_names : list of str, optional
        Of the frame that was learned from.
    vocabulary : list
        Names taken up one row at a time, or those of the frame; the last columns.
    """

    configuration: str
    classes: npt.NDArray[Any]
    n_features: int
    counts: tuple[int, int, int]
    column_names: list[str] | None
    vocabulary: list[Any]

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Plain arrays, for `numpy.savez`."""
        known = [_plain_name(name) for name in self.vocabulary]
        texts = [self.configuration, json.dumps(self.column_names), json.dumps(known)]
        return {
            "classes": self.classes.copy(),
            "numbers": np.array([self.n_features, *self.counts], dtype=np.int64),
            "texts": np.array(texts),
        }

    @classmethod
    def from_arrays(cls, state: Mapping[str, npt.NDArray[Any]]) -> Self:
        """The inverse of `to_arrays`; a state that lacks arrays is refused."""
        if not isinstance(state, Mapping):
            raise TypeError(f"state must be a dict of arrays, not {shown(state)}")
        missing = _NEEDED - set(state)
        if missing:
            raise ValueError(f"the state lacks {', '.join(sorted(missing))}")
        with undamaged():
            return cls._read(state)

    @classmethod
    def _read(cls, state: Mapping[str, npt.NDArray[Any]]) -> Self:
        configuration, names, known = (str(text) for text in state["texts"])
        n_features, expired, late, drifts = (int(one) for one in state["numbers"])
        return cls(
            configuration,
            np.array(state["classes"]),
            n_features,
            (expired, late, drifts),
            parsed(names),
            parsed(known),
        )

    def check_configuration(self, own: str) -> None:
        """Refuse the state of a classifier with other parameters."""
        if self.configuration != own:
            raise ValueError(
                "the state is that of a model with other parameters: "
                f"{self.configuration} rather than {own}"
            )


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
