"""Orders of decisions: from the right, or as the policy chooses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from argmetric.search._searn._decisions import read_features
from argmetric.search._searn._task import Features, Target, Task, check_is_task, shown
from argmetric.search._searn._tasks import (
    TokenFeatures,
    check_callable,
    check_labels,
    check_tokens,
    distinct_labels,
    same_length,
    token_features,
)


def _reversed(sequence: Any) -> Any:
    return sequence[::-1]


class RightToLeft(Task):
    """A task on sequences, read from the right.

    Parameters
    ----------
    task : Task
        A task whose inputs are sequences. It sees them reversed.
    mirror : callable, optional
        Makes labels of the reversed sequence from labels, and back. By default the
        task's own `mirrored` (chunks: B-X marks their end) or else the reversed labels.

    Examples
    --------
    >>> from argmetric.search import RightToLeft, WordChunking
    >>> task = RightToLeft(WordChunking(["NP"]))
    >>> task.mirror(["B-NP", "I-NP", "O"])
    ('O', 'B-NP', 'I-NP')
    """

    def __init__(
        self, task: Task, *, mirror: Callable[[Any], Any] | None = None
    ) -> None:
        check_is_task(task)
        check_callable(mirror, "mirror")
        self.task = task
        self.target = task.target
        own: Callable[[Any], Any] = getattr(task, "mirrored", _reversed)
        self.mirror = own if mirror is None else mirror

    def start(self, x: Any) -> Any:
        """As in the task."""
        return self.task.start(x[::-1])

    def actions(self, x: Any, state: Any) -> Sequence[Any]:
        """As in the task."""
        return self.task.actions(x[::-1], state)

    def step(self, x: Any, state: Any, action: Any) -> Any:
        """As in the task."""
        return self.task.step(x[::-1], state, action)

    def copy(self, state: Any) -> Any:
        """As in the task."""
        return self.task.copy(state)

    def _in_place(self) -> bool:
        return self.task._in_place()

    def features(self, x: Any, state: Any) -> Features | None:
        """As in the task."""
        return self.task.features(x[::-1], state)

    def action_features(self, x: Any, state: Any, action: Any) -> Features | None:
        """As in the task."""
        return self.task.action_features(x[::-1], state, action)

    def output(self, x: Any, state: Any) -> Any:
        """The output, turned round."""
        return self.mirror(self.task.output(x[::-1], state))

    def loss(self, y: Any, output: Any) -> float:
        """As in the task."""
        return self.task.loss(y, output)

    def final(self, x: Any, state: Any) -> bool:
        """As in the task."""
        return self.task.final(x[::-1], state)

    def costs(self, x: Any, y: Any, state: Any) -> Sequence[float] | None:
        """As in the task."""
        return self.task.costs(x[::-1], self.mirror(y), state)

    def reference(self, x: Any, y: Any, state: Any) -> Any | None:
        """As in the task."""
        return self.task.reference(x[::-1], self.mirror(y), state)

    def most_steps(self, x: Any) -> int:
        """As in the task."""
        return self.task.most_steps(x[::-1])

    def score(self, Y: Sequence[Any], outputs: Sequence[Any]) -> float:
        """As in the task."""
        return self.task.score(Y, outputs)


class LearnedOrder(Task):
    """Labels of a sequence, in the order that the policy chooses.

    An action is a position that has no label yet, and its label. Every right label is
    a best action. There are n times as many actions as labels in each of n steps: for
    short sequences.

    A policy is to begin where it is sure, so it has to know how sure it is of every
    position: give `LinearLearner` the target "reward", which is the default learner's
    here. The target "cheapest", the perceptron and the SVM are content with one right
    label at a time and hardly learn the labels of difficult positions.

    Parameters
    ----------
    labels : sequence
        All labels.
    features : callable, optional
        `features(x, i)` of token i; by default `token_features`. The labels of the
        neighbors, where they are known, are added.

    Examples
    --------
    >>> from argmetric.search import LearnedOrder, Searn
    >>> task = LearnedOrder("cv")
    >>> searn = Searn(task, beta=1.0, iterations=1)
    >>> searn.fit(["banana", "onion"], ["cvcvcv", "vcvvc"]).predict(["onion"])
    [('v', 'c', 'v', 'v', 'c')]
    """

    target: Target = "reward"

    def __init__(
        self, labels: Sequence[Any], *, features: TokenFeatures | None = None
    ) -> None:
        check_callable(features, "features")
        self.labels = distinct_labels(labels)
        self._token_features = features or token_features

    def start(self, x: Any) -> Any:
        """No label anywhere."""
        return ((),) * check_tokens(x)

    def actions(self, x: Any, state: Any) -> Sequence[Any]:
        """Every label at every position without one."""
        free = [i for i, label in enumerate(state) if not label]
        return [(i, label) for i in free for label in self.labels]

    def step(self, x: Any, state: Any, action: Any) -> Any:
        """One position labelled; a label stands in a tuple of its own."""
        i, label = action
        return (*state[:i], (label,), *state[i + 1 :])

    def action_features(self, x: Any, state: Any, action: Any) -> Features:
        """Features of the token and labels of its neighbors, joined with the label."""
        i, label = action
        left = state[i - 1] if i > 0 else ("end",)
        right = state[i + 1] if i + 1 < len(state) else ("end",)
        names: list[tuple[Any, float]] = [
            (("left", left), 1.0),
            (("right", right), 1.0),
        ]
        names += [(("both", left, right), 1.0), ("bias", 1.0)]
        names += read_features(self._token_features(x, i))
        return [((name, label), value) for name, value in names]

    def output(self, x: Any, state: Any) -> Any:
        """The labels, None where there is none."""
        return tuple(label[0] if label else None for label in state)

    def loss(self, y: Any, output: Any) -> float:
        """Number of wrong labels."""
        return float(sum(a != b for a, b in zip(y, output, strict=True)))

    def costs(self, x: Any, y: Any, state: Any) -> Sequence[float]:
        """1 for wrong labels, wherever they stand."""
        same_length(x, y)
        unknown = set(y) - set(self.labels)
        if unknown:
            raise ValueError(
                f"label {shown(min(unknown, key=repr))} is not among "
                f"{shown(self.labels)}"
            )
        return [float(label != y[i]) for i, label in self.actions(x, state)]

    def score(self, Y: Sequence[Any], outputs: Sequence[Any]) -> float:
        """Accuracy over all tokens."""
        n = sum(map(check_labels, Y))
        wrong = sum(self.loss(y, o) for y, o in zip(Y, outputs, strict=True))
        return 1.0 - wrong / n if n else 1.0
