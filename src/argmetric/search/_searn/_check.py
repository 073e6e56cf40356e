"""A conformance kit for tasks that users write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._input.arguments import check_count, check_seed
from argmetric._results.display import Field, Result, only_shown
from argmetric.search._searn._check_kit import Kit, TaskProblem
from argmetric.search._searn._iterate import Data, same_number
from argmetric.search._searn._task import Task, check_is_task, shown


@dataclass(frozen=True, repr=False)
class TaskReport(Result):
    """The result of `check_task`.

    Attributes
    ----------
    problems : tuple of TaskProblem
        The first of each kind; none if all is well.
    n_states : int
        States that were looked at.
    n_exact : int
        Decisions whose least loss was found among all outputs in reach.
    """

    problems: tuple[TaskProblem, ...]
    n_states: int
    n_exact: int

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def __bool__(self) -> bool:
        return self.ok

    def _title(self) -> str:
        none = "no problem found in " if self.ok else ""
        return (
            f"TaskReport: {none}{self.n_states} states, {self.n_exact} decisions "
            "against all outputs"
        )

    def fields(self) -> list[Field]:
        lines = ((one.check, f"{one.what} ({one.where})") for one in self.problems)
        problems = [vars(one) for one in self.problems]
        figures = self._keys("n_states", "n_exact")
        return [Field("problems", problems), *figures, *only_shown(lines)]

    def __repr__(self) -> str:
        return "\n".join([self._title(), *(f"  {one}" for one in self.problems)])


def check_task(
    task: Task,
    X: Iterable[Any],
    Y: Sequence[Any] | None = None,
    *,
    n_paths: int = 3,
    max_outputs: int = 2000,
    max_steps: int = 1000,
    random_state: int = 0,
) -> TaskReport:
    """Check your own task on a few small inputs.

    Walks at random, and by the task's own policy, through the states of each input and
    looks for: answers that change when asked again; states that are not hashable or
    that `step` changes, unless there is a `copy`; copies that share parts; actions that
    are missing or listed twice; bad features; losses and costs that are not finite; a
    reference that is illegal or not best; costs that are not those of the best way to
    go on.

    Parameters
    ----------
    task : Task
        What to check.
    X, Y : sequence
        A few inputs, and what outputs are compared with. Without Y, X holds pairs
        (x, y).
    n_paths : int, default=3
        Random paths for each input.
    max_outputs : int, default=2000
        If at most this many outputs can be reached from a state, the least loss is
        found among all of them; otherwise among random paths.
    max_steps : int, default=1000
        Number of decisions after which a path counts as endless.
    random_state : int, default=0
        Seed.

    Returns
    -------
    TaskReport
        The problems found; true if there are none.

    Examples
    --------
    >>> from argmetric.search import SequenceLabelling, check_task
    >>> class Wrong(SequenceLabelling):
    ...     def costs(self, x, y, state):
    ...         return [float(label == y[len(state)]) for label in self.labels]
    >>> check_task(Wrong("ab"), ["aa"], ["ab"])
    TaskReport: 6 states, 3 decisions against all outputs
      costs: they rise by [1, 0], losses after each action by [0, 1] when the policy
      goes on (input 0, state ())
      best: costs lead to a loss of 2 where 0 is in reach (input 0, state ())
    """
    check_is_task(task)
    n_paths = check_count(n_paths, "n_paths", high=100_000)
    max_outputs = check_count(max_outputs, "max_outputs")
    max_steps = check_count(max_steps, "max_steps", low=1)
    check_seed(random_state)
    X, Y = unzipped(X) if Y is None else same_number(X, Y)
    kit = Kit(task, max_outputs, max_steps, np.random.default_rng(random_state))
    for place, (x, y) in enumerate(zip(X, Y, strict=True)):
        kit.check_input(place, x, y, n_paths)
        if "end" in kit.problems:
            break  # the others would take as long to say the same
    return TaskReport(tuple(kit.problems.values()), kit.n_states, kit.n_exact)


def unzipped(pairs: Iterable[Any]) -> Data:
    """Inputs and what outputs are compared with, from pairs of the two."""
    if not isinstance(pairs, Iterable) or getattr(pairs, "ndim", 1) == 0:
        raise TypeError(f"X must be a sequence of pairs (x, y), not {shown(pairs)}")
    pairs = list(pairs)  # zip(X, Y) can be read once only
    for place, pair in enumerate(pairs):
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError(
                f"element {place} is {shown(pair)}, not a pair (x, y): pass pairs, or "
                "X and Y apart"
            )
    return [x for x, _ in pairs], [y for _, y in pairs]
