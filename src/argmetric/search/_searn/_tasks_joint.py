"""Two tasks on the same input, decided in turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from argmetric._input.arguments import check_count, check_items, check_number
from argmetric.search._searn._decisions import read_features
from argmetric.search._searn._reference import InitialPolicy
from argmetric.search._searn._task import Features, Task, check_is_task, moves


def _weights(given: Any) -> tuple[float, float]:
    weights = check_items(given, "weights", "a pair of numbers")
    if len(weights) != 2:
        raise ValueError(f"weights must be a pair of numbers, not {len(weights)}")
    first, second = (check_number(one, "weights", low=0.0) for one in weights)
    return first, second


class JointTask(Task):
    """Two tasks on the same input: one decision of the first, one of the second, ...

    An example is tagging and chunking: the first tag, the first chunk label, the second
    tag, and so on. The losses add up, and so do exact costs: a decision of one task
    changes nothing of what the other can reach. y and outputs are pairs.

    Parameters
    ----------
    first, second : Task
        The tasks. Features of each are joined by the last two decisions of the other.
    weights : pair of float, default=(1.0, 1.0)
        What the losses are multiplied by before they are added.
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
        self.weights = _weights(weights)
        self._initial = tuple(InitialPolicy(task, search_width) for task in self.tasks)

    def start(self, x: Any) -> Any:
        """Both starts, the last decisions of each, and how many there were."""
        return tuple(task.start(x) for task in self.tasks), ((), ()), 0

    def turn(self, x: Any, state: Any) -> tuple[int, tuple[Any, ...]]:
        """Whose turn it is, and its actions; the other's when it is finished."""
        states, _, n = state
        for tier in (n % 2, 1 - n % 2):
            legal = moves(self.tasks[tier], x, states[tier])
            if legal:
                return tier, legal
        return 0, ()

    def actions(self, x: Any, state: Any) -> Sequence[Any]:
        """Actions of the task whose turn it is, with its number."""
        tier, legal = self.turn(x, state)
        return [(tier, action) for action in legal]

    def step(self, x: Any, state: Any, action: Any) -> Any:
        """One decision of one task."""
        states, last, n = state
        tier, move = action
        states, last = list(states), list(last)
        states[tier] = self.tasks[tier].step(x, states[tier], move)
        last[tier] = (*last[tier][-1:], move)
        return tuple(states), tuple(last), n + 1

    def copy(self, state: Any) -> Any:
        """Copies of both states."""
        states, last, n = state
        pairs = zip(self.tasks, states, strict=True)
        return tuple(task.copy(one) for task, one in pairs), last, n

    def _in_place(self) -> bool:
        return any(task._in_place() for task in self.tasks)

    def features(self, x: Any, state: Any) -> Features | None:
        """Those of the task, and the last decisions of the other."""
        states, last, _ = state
        tier, _ = self.turn(x, state)
        found = self.tasks[tier].features(x, states[tier])
        if found is None:
            return None
        named = [((tier, name), value) for name, value in read_features(found)]
        return named + [((tier, *one), 1.0) for one in self._crossing(last, tier)]

    def action_features(self, x: Any, state: Any, action: Any) -> Features | None:
        """Those of the task, and its action with the last decisions of the other."""
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
        """Tag and chunk of one time, of two, and both with the own last decision."""
        own, other = last[tier], last[1 - tier]
        return [
            ("crossing", other[-1:]),
            ("crossing", other),
            ("crossing", other[-1:], "own", own[-1:]),
        ]

    def output(self, x: Any, state: Any) -> Any:
        """Both outputs."""
        pairs = zip(self.tasks, state[0], strict=True)
        return tuple(task.output(x, one) for task, one in pairs)

    def loss(self, y: Any, output: Any) -> float:
        """Weighted sum of both losses."""
        parts = zip(self.weights, self.tasks, y, output, strict=True)
        return float(sum(w * task.loss(a, b) for w, task, a, b in parts))

    def most_steps(self, x: Any) -> int:
        """Those of both tasks."""
        return sum(task.most_steps(x) for task in self.tasks)

    def costs(self, x: Any, y: Any, state: Any) -> Sequence[float]:
        """Costs of the task whose turn it is; the other's stay as they are."""
        from argmetric.search._searn._decisions import Situation

        tier, legal = self.turn(x, state)
        one = Situation(-1, x, y[tier], state[0][tier], legal)
        return list(np.multiply(self.weights[tier], self._initial[tier].costs(one)))
