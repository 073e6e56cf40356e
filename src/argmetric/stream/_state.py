"""Save the state of a classifier as plain arrays, and load it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from argmetric._ground.arguments import shown
from argmetric._ground.saving import parse_json
from argmetric._ground.types import AnyArray
from argmetric.metrics import get_metric, ordinal_kappa
from argmetric.stream._input import Vocabulary
from argmetric.stream._learners import OWN_DECISION
from argmetric.stream._omma import OMMARule
from argmetric.stream._rules import get_rule
from argmetric.stream._several import Answers, TwoAnswers, build_model

if TYPE_CHECKING:
    from argmetric.stream._classifier import OnlineClassifier


_NEEDED = {"rule", "model", "weights", "history", "classes", "numbers", "texts"}


def save_state(owner: OnlineClassifier) -> dict[str, AnyArray]:
    """Return the whole state of a classifier as arrays."""
    model, names = owner._model, getattr(owner, "feature_names_in_", None)
    counts = model.n_expired, model.n_late, model.n_drifts
    columns = None if names is None else list(map(str, names))
    known = [_plain_name(name) for name in owner._vocabulary.numbers]
    texts = [settings(owner), json.dumps(columns), json.dumps(known)]
    header = {
        "classes": owner.classes_.copy(),
        "numbers": np.array([owner.n_features_in_, *counts], dtype=np.int64),
        "texts": np.array(texts),
    }
    return model.to_arrays() | header | model.waiting.to_arrays()


def load_state(owner: OnlineClassifier, state: Mapping[str, AnyArray]) -> None:
    """Restore a classifier from `save_state`; it stays unchanged if that fails.

    A state that lacks arrays, or has other parameters, is refused.
    """
    if not isinstance(state, Mapping):
        raise TypeError(f"state must be a dict of arrays, not {shown(state)}")
    missing = _NEEDED - set(state)
    if missing:
        raise ValueError(f"the state lacks {', '.join(sorted(missing))}")
    own = settings(owner)
    with checked_arrays():
        configuration, *texts = (str(text) for text in state["texts"])
        names, known = map(parse_json, texts)
        width, expired, late, drifts = (int(one) for one in state["numbers"])
        classes, several = np.array(state["classes"]), "counts" in state
        labelled = several and bool(state["labelled"])
    if configuration != own:
        raise ValueError(
            "the state is that of a model with other parameters: "
            f"{configuration} rather than {own}"
        )
    answers: TwoAnswers | Answers
    if several:
        answers = Answers(owner, classes, labelled=labelled)
    else:
        answers = TwoAnswers(owner, classes)
    model = build_model(owner, answers, 0)
    with checked_arrays():
        model.take_arrays(state, width)
        numbers = {name: width - len(known) + i for i, name in enumerate(known)}
    model.n_expired, model.n_late, model.n_drifts = expired, late, drifts
    owner._model, owner._answers = model, answers
    owner._vocabulary = Vocabulary(width - len(known), numbers)
    owner.classes_, owner.n_features_in_ = classes, width
    owner.__dict__.pop("feature_names_in_", None)
    if names is not None:
        owner.feature_names_in_ = np.array(names, dtype=object)


def settings(owner: OnlineClassifier) -> str:
    """Return the parameters that a state and its classifier must share, as JSON."""
    own = owner.learner in OWN_DECISION
    rule = owner.rule if isinstance(owner.rule, OMMARule) else get_rule(owner.rule)
    ordinal = ordinal_kappa(owner.metric)  # has no form for two classes
    return json.dumps(
        [
            repr(owner.metric if ordinal else get_metric(owner.metric)),
            None if own else rule.to_dict(),
            owner.learner,
            owner.step,
            owner.average,
            owner.memory,
            owner.fit_intercept,
            owner.hash_bits,
            owner.waiting,
            owner.expired,
            None if owner.pos_label is None else str(owner.pos_label),
        ]
    )


@contextlib.contextmanager
def checked_arrays() -> Iterator[None]:
    """Turn errors from arrays that `save_state` did not write into one message."""
    try:
        yield
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as why:
        raise ValueError(f"the state is damaged: {why}") from None


def _plain_name(name: Any) -> Any:
    """Return a feature name as JSON can hold it."""
    name = name.item() if isinstance(name, np.generic) else name
    if name is None or isinstance(name, str | int | float):
        return name
    raise TypeError(
        f"the feature {name!r} cannot be saved: names have to be text or numbers"
    )
