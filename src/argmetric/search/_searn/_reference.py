"""Initial policy: from costs, from a reference action, or by search."""

from __future__ import annotations

import math
from collections.abc import Iterable
from operator import itemgetter
from typing import Any

import numpy as np

from argmetric._ground.types import Floats, Integers
from argmetric.search._searn._decisions import Situation, SituationCache
from argmetric.search._searn._task import (
    Task,
    find_action,
    moves,
    name_input,
    quote,
)


class InitialPolicy:
    """Policy that knows the right output, with the costs of actions (Definition 2).

    If the task gives costs, the first cheapest action is taken; if it gives a reference
    action, that one, and costs are losses at the end of following it. If neither, a
    beam search of this width that is steered by `task.estimate` looks for the least
    loss (section 3.4.2).

    What is found is kept under the number of the input (`Situation.place`): one object
    serves one list of inputs. A negative number keeps nothing, nor do tasks whose steps
    change states: the same object is another state later.
    """

    def __init__(self, task: Task, width: int = 10) -> None:
        self.task = task
        self.width = width
        self._in_place = task._in_place()
        self._values: dict[int, dict[Any, float]] = {}
        self._costs: dict[tuple[int, Any], list[float]] = {}

    def choose(
        self,
        situations: list[Situation],
        draws: Floats,
        known: SituationCache | None = None,
    ) -> Integers:
        """Return the number of the best action of each situation."""
        if known is not None and known.costs is not None:
            found = map(self.best, situations, known.costs)
        else:
            found = map(self.best, situations)
        return np.fromiter(found, np.int64, len(situations))

    def best(self, situation: Situation, costs: list[float] | None = None) -> int:
        """Return the number of the best action, the first in a tie."""
        place, x, y, state, actions, *_ = situation
        action = self.task.reference(x, y, state)
        if action is not None:
            return find_action(actions, action, place, state)
        if costs is None:
            costs = self.costs(situation)
        return costs.index(min(costs))

    def costs(self, situation: Situation) -> list[float]:
        """Return the cost of each action if all later ones are best."""
        if self._in_place or situation.place < 0:
            return self._new_costs(situation)
        key = situation.place, situation.state
        if key not in self._costs:  # roll-outs meet the same states again
            self._costs[key] = self._new_costs(situation)
        return self._costs[key]

    def _new_costs(self, situation: Situation) -> list[float]:
        """Return the loss that each action leads to: by task, reference or search."""
        place, x, y, state, actions, *_ = situation
        given = self.task.costs(x, y, state)
        if given is not None:
            return check_costs(given, situation)
        copy, step = self.task.copy, self.task.step
        children = [step(x, copy(state), action) for action in actions]
        follows = self.task.reference(x, y, state) is not None
        if not follows:
            ends = [self._search_loss(place, x, y, child) for child in children]
        else:  # losses at the end of following the reference
            kept = self._values_at(place)
            ends = [self.reach(place, x, y, child, kept) for child in children]
        return check_costs(ends, situation)

    def forget(self) -> None:
        self._values.clear()
        self._costs.clear()

    def reach(
        self, place: int, x: object, y: object, state: object, known: dict[Any, float]
    ) -> float:
        """Return the loss at the end of the policy's path; the state is used up.

        Results are added to `known` if states can be stored.
        """
        path = []
        for _ in range(self.task.most_steps(x) + 1):
            value = None if self._in_place else known.get(state)
            if value is not None:
                break
            if not self._in_place:
                path.append(state)
            legal = moves(self.task, x, state)
            if not legal:
                value = final_loss(self.task, place, x, y, state)
                break
            best = self.best(Situation(place, x, y, state, legal))
            state = self.task.step(x, state, legal[best])
        else:
            raise ValueError(endless(self.task, place, x, state))
        known.update(dict.fromkeys(path, value))
        return value

    def _search_loss(self, place: int, x: object, y: object, state: object) -> float:
        """Return the least loss by beam search."""
        if self._in_place:
            return least_loss(self.task, place, x, y, state, width=self.width)
        known = self._values_at(place)
        if state not in known:
            known[state] = least_loss(self.task, place, x, y, state, width=self.width)
        return known[state]

    def _values_at(self, place: int) -> dict[Any, float]:
        return {} if place < 0 else self._values.setdefault(place, {})


def least_loss(
    task: Task, place: int, x: object, y: object, state: object, *, width: int
) -> float:
    """Return the least loss by beam search from a state.

    Ties in the order of actions.
    """
    least = math.inf
    beam = [state]
    hashed = not task._in_place()
    for _ in range(task.most_steps(x) + 1):
        children: dict[Any, tuple[float, Any]] = {}
        for one in beam:
            legal = moves(task, x, one)
            if not legal:
                least = min(least, final_loss(task, place, x, y, one))
            for action in legal:
                child = task.step(x, task.copy(one), action)
                key = child if hashed else len(children)
                if key not in children:
                    children[key] = task.estimate(x, y, child), child
        if not children:
            return least
        ranked = sorted(children.values(), key=itemgetter(0))
        beam = [child for _, child in ranked[:width]]
    raise ValueError(endless(task, place, x, beam[0]))


def final_loss(task: Task, place: int, x: object, y: object, state: object) -> float:
    """Return the loss of a final state.

    Refuse one that is not finite, with its input.
    """
    loss = float(task.loss(y, task.output(x, state)))
    if not math.isfinite(loss):
        raise ValueError(
            f"the loss of {name_input(place)} at state {quote(state)} is {loss}"
        )
    return loss


def endless(task: Task, place: int, x: object, state: object) -> str:
    """Return the error for a search that does not end."""
    return (
        f"{name_input(place)} is not finished after {task.most_steps(x)} decisions, at "
        f"state {quote(state)}: does step() come back to a state it left, or actions() "
        "never run out? If outputs take more decisions, let most_steps(x) of "
        f"{type(task).__name__} return how many"
    )


def check_costs(costs: Iterable[Any], situation: Situation) -> list[float]:
    """Return costs as floats; refuse a wrong number of them and non-finite ones."""
    found = [float(cost) for cost in costs]
    n = len(situation.actions)
    if len(found) == n and math.isfinite(sum(found)):
        return found
    where = f"of {name_input(situation.place)} in state {quote(situation.state)}"
    if len(found) != n:
        raise ValueError(
            f"{len(found)} costs {where}: one for each of {n} actions is needed"
        )
    for action, cost in zip(situation.actions, found, strict=True):
        if not math.isfinite(cost):
            raise ValueError(f"the cost {where} of action {quote(action)} is {cost}")
    return found  # only their sum is too large
