"""What was learned: fitted attributes, and the state as plain arrays."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from argmetric._types import Floats
from argmetric.metrics import get_metric
from argmetric.stream._core import StreamCore
from argmetric.stream._features import Vocabulary
from argmetric.stream._learners import OWN_DECISION, ModelState
from argmetric.stream._rules import get_rule
from argmetric.stream._waiting import WaitingRows


class Saved(StreamCore):
    """Fitted attributes, `get_state` and `set_state`."""

    @property
    def threshold_(self) -> float:
        """Threshold on probabilities that the next row will meet."""
        self._need_state("threshold_")
        kernels, model = self._learner.kernels, self._state.model
        if self.learner == "stamp":
            return float(1.0 - kernels.cost(model, model[kernels.LEVEL]))
        if self.learner == "omcsl":
            level = (kernels.omcsl_pick(model, True) + 0.5) / kernels.LEARNERS
            return float(1.0 - kernels.cost(model, level))
        return self._rule.threshold_of(self._rule_state)

    @property
    def coef_(self) -> Floats:
        """Weights of the log-odds, of shape (1, n_features)."""
        self._need_state("coef_")
        return self._coefficients()[None, 1:]

    @property
    def intercept_(self) -> Floats:
        """Constant of the log-odds, of shape (1,)."""
        self._need_state("intercept_")
        return self._coefficients()[:1]

    def _coefficients(self) -> Floats:
        width = 2**self.hash_bits if self.hash_bits else self.n_features_in_
        return self._learner.coefficients(self._state, width)

    @property
    def n_seen_(self) -> int:
        """Rows learned from."""
        self._need_state("n_seen_")
        return int(self._state.model[self._learner.kernels.STEPS])

    @property
    def score_(self) -> float:
        """The metric of all predictions made before their labels were seen."""
        self._need_state("score_")
        first = self._learner.kernels.HITS
        return float(self._metric.value(*self._state.model[first : first + 4]))

    @property
    def history_(self) -> dict[str, Floats]:
        """Counts, score and threshold at up to 512 evenly spaced moments."""
        self._need_state("history_")
        return self._state.recorded(self._metric)

    def _need_state(self, name: str) -> None:
        if not self._started():
            raise AttributeError(f"{name} is known after the first row: call fit")

    def get_state(self) -> dict[str, npt.NDArray[Any]]:
        """Everything learned, as plain arrays (for `numpy.savez`).

        A model with the same parameters that is given them by `set_state` goes on
        exactly as this one would.
        """
        check_is_fitted(self)
        numbers = [self.n_features_in_, self.n_expired_, self.n_late_, self.n_drifts_]
        names = getattr(self, "feature_names_in_", None)
        known = [_plain_name(name) for name in self._vocabulary.numbers]
        texts = [
            self._configuration(),
            json.dumps(None if names is None else list(map(str, names))),
            json.dumps(known),
        ]
        return {
            "rule": self._rule_state.copy(),
            "model": self._state.model.copy(),
            "weights": self._state.weights.copy(),
            "history": self._state.history.copy(),
            "classes": self.classes_.copy(),
            "numbers": np.array(numbers, dtype=np.int64),
            "texts": np.array(texts),
            **self._waiting.to_arrays(),
        }

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Go on from what `get_state` gave; the parameters must be the same."""
        needed = {"rule", "model", "weights", "history", "classes", "numbers", "texts"}
        missing = needed - set(state)
        if missing:
            raise ValueError(f"the state lacks {', '.join(sorted(missing))}")
        configuration, names, known = (str(text) for text in state["texts"])
        if configuration != self._configuration():
            raise ValueError(
                "the state is that of a model with other parameters: "
                f"{configuration} rather than {self._configuration()}"
            )
        numbers = [int(number) for number in state["numbers"]]
        self.classes_ = np.array(state["classes"])
        self.n_features_in_ = numbers[0]
        self.__dict__.pop("feature_names_in_", None)
        if json.loads(names) is not None:
            self.feature_names_in_ = np.array(json.loads(names), dtype=object)
        self._start(0)
        _, self.n_expired_, self.n_late_, self.n_drifts_ = numbers
        self._check_shapes(state, numbers[0])
        self._rule_state = np.array(state["rule"], dtype=np.float64)
        arrays = (state[name] for name in ("model", "weights", "history"))
        self._state = ModelState(*(np.array(a, dtype=np.float64) for a in arrays))
        columns = numbers[0] - len(json.loads(known))
        self._vocabulary = Vocabulary(
            columns, {name: columns + i for i, name in enumerate(json.loads(known))}
        )
        self._waiting = WaitingRows.from_arrays(state)
        return self

    def _check_shapes(self, state: Mapping[str, npt.NDArray[Any]], width: int) -> None:
        """Refuse arrays that compiled code would read beyond their ends."""
        empty = {"rule": self._rule_state, "model": self._state.model}
        empty["history"] = self._state.history
        right = all(np.shape(state[name]) == one.shape for name, one in empty.items())
        given, axis = np.shape(state["weights"]), int(not self._learner.features_first)
        needed = self._state.weights.shape
        if not (
            right
            and len(given) == 2
            and given[1 - axis] == needed[1 - axis]
            and given[axis] > width
        ):
            raise ValueError(
                "arrays of the state have other shapes: is it damaged, or of another "
                "version of argmetric?"
            )

    def _configuration(self) -> str:
        """What has to agree between a state and the model that takes it."""
        rule = None if self.learner in OWN_DECISION else get_rule(self.rule).to_dict()
        options = (self.step, self.average, self.memory, self.fit_intercept)
        return json.dumps(
            [
                repr(get_metric(self.metric)),
                rule,
                self.learner,
                *options,
                self.hash_bits,
                self.waiting,
                self.expired,
                None if self.pos_label is None else str(self.pos_label),
            ]
        )


def _plain_name(name: Any) -> Any:
    """A feature's name as JSON can hold it."""
    name = name.item() if isinstance(name, np.generic) else name
    if name is None or isinstance(name, str | int | float):
        return name
    raise TypeError(
        f"the feature {name!r} cannot be saved: names have to be text or numbers"
    )
