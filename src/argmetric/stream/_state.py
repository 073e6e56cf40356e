"""All that a classifier has learned, as plain arrays, and back again."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from argmetric._ground.arguments import shown
from argmetric._ground.saving import parsed
from argmetric.metrics import get_metric
from argmetric.stream._input import Vocabulary
from argmetric.stream._learners import OWN_DECISION
from argmetric.stream._omma import OMMARule
from argmetric.stream._rules import get_rule
from argmetric.stream._several import Answers, TwoAnswers, model_for

if TYPE_CHECKING:
    from argmetric.stream._classifier import OnlineClassifier


def state_of(asked: OnlineClassifier) -> dict[str, npt.NDArray[Any]]:
    """Everything that a classifier has learned."""
    model, names = asked._model, getattr(asked, "feature_names_in_", None)
    header = StateHeader(
        configuration_of(asked),
        asked.classes_,
        asked.n_features_in_,
        (model.n_expired, model.n_late, model.n_drifts),
        None if names is None else list(map(str, names)),
        list(asked._vocabulary.numbers),
    )
    return model.to_arrays() | header.to_arrays() | model.waiting.to_arrays()


def take_state(asked: OnlineClassifier, state: Mapping[str, npt.NDArray[Any]]) -> None:
    """Let a classifier go on from `state_of`; it stays as it is if that fails."""
    header = StateHeader.from_arrays(state, configuration_of(asked))
    answers: TwoAnswers | Answers
    if "counts" in state:
        with undamaged():
            labelled = bool(state["labelled"])
        answers = Answers(asked, header.classes, labelled=labelled)
    else:
        answers = TwoAnswers(asked, header.classes)
    model = model_for(asked, answers, 0)
    with undamaged():
        model.take_arrays(state, header.n_features)
    model.n_expired, model.n_late, model.n_drifts = header.counts
    columns = header.n_features - len(header.vocabulary)
    numbers = {name: columns + i for i, name in enumerate(header.vocabulary)}
    asked._model, asked._vocabulary = model, Vocabulary(columns, numbers)
    asked._answers = answers
    asked.classes_, asked.n_features_in_ = header.classes, header.n_features
    asked.__dict__.pop("feature_names_in_", None)
    if header.column_names is not None:
        asked.feature_names_in_ = np.array(header.column_names, dtype=object)


def configuration_of(asked: OnlineClassifier) -> str:
    """What has to agree between a state and the classifier that takes it."""
    own = asked.learner in OWN_DECISION
    rule = asked.rule if isinstance(asked.rule, OMMARule) else get_rule(asked.rule)
    quadratic = asked.metric == "quadratic_kappa"  # has no form for two classes
    return json.dumps(
        [
            repr(asked.metric if quadratic else get_metric(asked.metric)),
            None if own else rule.to_dict(),
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
