"""Tasks built from tasks: right to left, in a learned order, or two in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from argmetric._ground.arguments import check_count, check_items, check_number
from argmetric.search._searn._decisions import Situation, read_features
from argmetric.search._searn._reference import InitialPolicy
from argmetric.search._searn._task import (
    Action,
    Features,
    Input,
    Named,
    Output,
    State,
    Target,
    Task,
    check_is_task,
    moves,
    quote,
)
from argmetric.search._searn._tasks import (
    TokenFeatures,
    check_callable,
    check_labels,
    check_tokens,
    distinct_labels,
    same_length,
    token_features,
)
from argmetric.search.learning import complete_docstrings


@complete_docstrings
class RightToLeft(Task):
    """Run a task on sequences from the right.

    Parameters
    ----------
    task : Task
        A task whose inputs can be reversed.
    mirror : callable, optional
        Reverses an output; by default `task.mirrored`, or `y[::-1]` without one.

    Examples
    --------
    >>> from argmetric.search import RightToLeft, Searn, SequenceLabelling
    >>> searn = Searn(RightToLeft(SequenceLabelling("cv")), beta=1.0, iterations=1)
    >>> searn.fit(["banana", "onion"], ["cvcvcv", "vcvvc"]).predict(["onion"])
    [('v', 'c', 'v', 'v', 'c')]
    """

    def __init__(
        self, task: Task, *, mirror: Callable[[Any], Any] | None = None
    ) -> None:
        check_is_task(task)
        check_callable(mirror, "mirror")
        self.task = task
        self.target = task.target
        own: Callable[[Any], Any] = getattr(task, "mirrored", lambda y: y[::-1])
        self.mirror = own if mirror is None else mirror

    def start(self, x: Input) -> State:
        """Return the first state of the task on the reversed input."""
        return self.task.start(x[::-1])

    def actions(self, x: Input, state: State) -> Sequence[Action]:
        """Return the actions of the task on the reversed input."""
        return self.task.actions(x[::-1], state)

    def step(self, x: Input, state: State, action: Action) -> State:
        """Take one step of the task on the reversed input."""
        return self.task.step(x[::-1], state, action)

    def copy(self, state: object) -> State:
        """Return a copy of the state, made by the task."""
        return self.task.copy(state)

    def _in_place(self) -> bool:
        return self.task._in_place()

    def features(self, x: Input, state: State) -> Features | None:
        """Return the features of the task on the reversed input."""
        return self.task.features(x[::-1], state)

    def action_features(
        self, x: Input, state: State, action: Action
    ) -> Features | None:
        """Return the features of an action on the reversed input."""
        return self.task.action_features(x[::-1], state, action)

    def output(self, x: Input, state: State) -> Output:
        """Return the output, reversed."""
        return self.mirror(self.task.output(x[::-1], state))

    def loss(self, y: object, output: object) -> float:
        """Return the loss of an output, as the task has it."""
        return self.task.loss(y, output)

    def final(self, x: Input, state: State) -> bool:
        """Return whether the task is done with the reversed input."""
        return self.task.final(x[::-1], state)

    def costs(self, x: Input, y: Output, state: State) -> Sequence[float] | None:
        """Return the costs of actions on the reversed input and output."""
        return self.task.costs(x[::-1], self.mirror(y), state)

    def reference(self, x: Input, y: Output, state: State) -> Action | None:
        """Return the best action of the task on the reversed input and output."""
        return self.task.reference(x[::-1], self.mirror(y), state)

    def most_steps(self, x: Input) -> int:
        """Return the most steps of the task on the reversed input."""
        return self.task.most_steps(x[::-1])

    def score(self, Y: Sequence[Output], outputs: Sequence[Output]) -> float:
        """Return the score of outputs, as the task has it."""
        return self.task.score(Y, outputs)


@complete_docstrings
class LearnedOrder(Task):
    """Labels of a sequence, in the order that the policy chooses.

    An action is a position that has no label yet, and its label. Every right label is
    a best action. There are n times as many actions as labels in each of n steps: for
    short sequences.

    A policy should begin where it is sure, so it must learn how sure it is of every
    position. Use a `LinearLearner` with the target "reward", the default here. The
    target "cheapest", the perceptron and the SVM need only one right label at a time
    and hardly learn the labels of difficult positions.

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

    def start(self, x: object) -> State:
        """Return a state without labels."""
        return ((),) * check_tokens(x)

    def actions(self, x: Input, state: State) -> Sequence[Action]:
        """Return every label at every position without one."""
        free = [i for i, label in enumerate(state) if not label]
        return [(i, label) for i in free for label in self.labels]

    def step(self, x: Input, state: State, action: Action) -> State:
        """Label one position; a label is stored in a tuple of its own."""
        i, label = action
        return (*state[:i], (label,), *state[i + 1 :])

    def action_features(self, x: Input, state: State, action: Action) -> Features:
        """Return features of the token and its labelled neighbours, by label."""
        i, label = action
        left = state[i - 1] if i > 0 else ("end",)
        right = state[i + 1] if i + 1 < len(state) else ("end",)
        names: Named = [
            (("left", left), 1.0),
            (("right", right), 1.0),
        ]
        names += [(("both", left, right), 1.0), ("bias", 1.0)]
        names += read_features(self._token_features(x, i))
        return [((name, label), value) for name, value in names]

    def output(self, x: Input, state: State) -> Output:
        """Return the labels, None where there is none."""
        return tuple(label[0] if label else None for label in state)

    def loss(self, y: Output, output: Output) -> float:
        """Return the number of wrong labels."""
        return float(sum(a != b for a, b in zip(y, output, strict=True)))

    def costs(self, x: Input, y: Output, state: State) -> Sequence[float]:
        """Return 1 for wrong labels, at any position."""
        same_length(x, y)
        unknown = set(y) - set(self.labels)
        if unknown:
            raise ValueError(
                f"label {quote(min(unknown, key=repr))} is not among "
                f"{quote(self.labels)}"
            )
        return [float(label != y[i]) for i, label in self.actions(x, state)]

    def score(self, Y: Sequence[Output], outputs: Sequence[Output]) -> float:
        """Return the accuracy over all tokens."""
        n = sum(map(check_labels, Y))
        wrong = sum(self.loss(y, o) for y, o in zip(Y, outputs, strict=True))
        return 1.0 - wrong / n if n else 1.0


@complete_docstrings
class JointTask(Task):
    """Two tasks on the same input, decided in turn.

    An example is tagging and chunking: the first tag, the first chunk label, the second
    tag, and so on. The losses add up, and so do exact costs: a decision of one task
    changes nothing of what the other can reach. y and outputs are pairs.

    Parameters
    ----------
    first, second : Task
        The tasks. Features of each are joined by the last two decisions of the other.
    weights : pair of float, default=(1.0, 1.0)
        Factors of the two losses in their sum.
    search_width : int, default=10
        Width of the search for costs where a task gives none.

    Examples
    --------
    >>> from argmetric.search import JointTask, Searn, SequenceLabelling, WordChunking
    >>> task = JointTask(SequenceLabelling("DNV"), WordChunking(["NP"]))
    >>> X = [["the", "cat", "sleeps"], ["a", "dog", "barks"]]
    >>> Y = [("DNV", ["B-NP", "I-NP", "O"])] * 2
    >>> searn = Searn(task, beta=1.0, iterations=2).fit(X, Y)
    >>> searn.predict([["the", "dog", "sleeps"]])
    [(('D', 'N', 'V'), ('B-NP', 'I-NP', 'O'))]
    """

    def __init__(
        self,
        first: Task,
        second: Task,
        *,
        weights: tuple[float, float] = (1.0, 1.0),
        search_width: int = 10,
    ) -> None:
        check_is_task(first, "first")
        check_is_task(second, "second")
        search_width = check_count(search_width, "search_width", low=1)
        self.tasks = (first, second)
        factors = check_items(weights, "weights", "a pair of numbers")
        if len(factors) != 2:
            raise ValueError(f"weights must be a pair of numbers, not {len(factors)}")
        self.weights = tuple(check_number(x, "weights", low=0.0) for x in factors)
        self._initial = tuple(InitialPolicy(task, search_width) for task in self.tasks)

    def start(self, x: object) -> State:
        """Return both starts, the last decisions of each, and their numbers."""
        return tuple(task.start(x) for task in self.tasks), ((), ()), 0

    def turn(self, x: Input, state: State) -> tuple[int, tuple[Any, ...]]:
        """Return the number of the task in turn, and its actions.

        Parameters
        ----------
        x : object
            An input.
        state : tuple
            A state of both tasks.

        Returns
        -------
        tuple of (int, tuple)
            0 or 1 for the first or second task, and its legal actions.
        """
        states, _, n = state
        for tier in (n % 2, 1 - n % 2):
            legal = moves(self.tasks[tier], x, states[tier])
            if legal:
                return tier, legal
        return 0, ()

    def actions(self, x: object, state: object) -> Sequence[Action]:
        """Return the actions of the task whose turn it is, with its number."""
        tier, legal = self.turn(x, state)
        return [(tier, action) for action in legal]

    def step(self, x: Input, state: State, action: Action) -> State:
        """Take one decision of one task."""
        states, last, n = state
        tier, move = action
        states, last = list(states), list(last)
        states[tier] = self.tasks[tier].step(x, states[tier], move)
        last[tier] = (*last[tier][-1:], move)
        return tuple(states), tuple(last), n + 1

    def copy(self, state: State) -> State:
        """Return copies of both states."""
        states, last, n = state
        pairs = zip(self.tasks, states, strict=True)
        return tuple(task.copy(one) for task, one in pairs), last, n

    def _in_place(self) -> bool:
        return any(task._in_place() for task in self.tasks)

    def features(self, x: Input, state: State) -> Features | None:
        """Return the features of the task in turn, and last decisions of the other."""
        states, last, _ = state
        tier, _ = self.turn(x, state)
        found = self.tasks[tier].features(x, states[tier])
        if found is None:
            return None
        named = [((tier, name), value) for name, value in read_features(found)]
        return named + [((tier, *one), 1.0) for one in self._crossing(last, tier)]

    def action_features(
        self, x: Input, state: State, action: Action
    ) -> Features | None:
        """Return the features of an action, crossed with the other task's last ones."""
        states, last, _ = state
        tier, move = action
        found = self.tasks[tier].action_features(x, states[tier], move)
        if found is None:
            return None
        named = [((tier, name), value) for name, value in read_features(found)]
        crossing = self._crossing(last, tier)
        return named + [((tier, move, *one), 1.0) for one in crossing]

    @staticmethod
    def _crossing(last: Any, tier: int) -> list[tuple[Any, ...]]:
        """Return names that combine decisions of both tasks."""
        own, other = last[tier], last[1 - tier]
        return [
            ("crossing", other[-1:]),
            ("crossing", other),
            ("crossing", other[-1:], "own", own[-1:]),
        ]

    def output(self, x: Input, state: State) -> Output:
        """Return both outputs."""
        pairs = zip(self.tasks, state[0], strict=True)
        return tuple(task.output(x, one) for task, one in pairs)

    def loss(self, y: Output, output: Output) -> float:
        """Return the weighted sum of both losses."""
        parts = zip(self.weights, self.tasks, y, output, strict=True)
        return float(sum(w * task.loss(a, b) for w, task, a, b in parts))

    def most_steps(self, x: object) -> int:
        """Return the sum of the limits of both tasks."""
        return sum(task.most_steps(x) for task in self.tasks)

    def costs(self, x: Input, y: Output, state: State) -> Sequence[float]:
        """Return the costs of the task whose turn it is; the other's do not change."""
        tier, legal = self.turn(x, state)
        one = Situation(-1, x, y[tier], state[0][tier], legal)
        return list(np.multiply(self.weights[tier], self._initial[tier].costs(one)))
