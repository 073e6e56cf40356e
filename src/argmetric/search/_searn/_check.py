"""Check tasks that users write."""

from __future__ import annotations

import copy
import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from argmetric._ground.arguments import check_count, check_seed
from argmetric._ground.display import Field, Result, only_shown
from argmetric._ground.types import Floats
from argmetric.search._searn._decisions import Situation, describe
from argmetric.search._searn._iterate import Data, same_number
from argmetric.search._searn._task import (
    Action,
    Output,
    State,
    Task,
    check_is_task,
    quote,
)

_SMALL = 1e-9  # losses and costs that differ by less are equal


@dataclass(frozen=True)
class TaskProblem:
    """Something wrong with a task."""

    check: str  # which check failed
    where: str  # input and state
    what: str  # what is wrong, and what to do

    def __str__(self) -> str:
        return f"{self.check}: {self.what} ({self.where})"


@dataclass(frozen=True, repr=False)
class TaskReport(Result):
    """Result of `check_task`.

    Parameters
    ----------
    problems : tuple of TaskProblem
        The first of each kind; none if all is well.
    n_states : int
        States that were looked at.
    n_exact : int
        Decisions whose least loss was found among all outputs in reach.

    Examples
    --------
    >>> from argmetric.search import SequenceLabelling, check_task
    >>> check_task(SequenceLabelling("ab"), ["aa"], ["ab"])
    TaskReport: no problem found in 6 states, 3 decisions against all outputs
    """

    problems: tuple[TaskProblem, ...]
    n_states: int
    n_exact: int

    @property
    def ok(self) -> bool:
        """Return whether there is no problem."""
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
        """Return the fields of the result, in the order of its summary.

        Returns
        -------
        list of Field
            A key, a value and a text for each.
        """
        lines = ((one.check, f"{one.what} ({one.where})") for one in self.problems)
        problems = [vars(one) for one in self.problems]
        figures = self._keys("n_states", "n_exact")
        return [Field("problems", problems), *figures, *only_shown(lines)]

    def _columns(self) -> dict[str, Any]:
        names = TaskProblem.__dataclass_fields__
        return {x: [getattr(one, x) for one in self.problems] for x in names}

    def __repr__(self) -> str:
        return "\n".join([self._title(), *(f"  {one}" for one in self.problems)])


def check_task(
    task: Task,
    X: Iterable[Any],
    Y: Sequence[Output] | None = None,
    *,
    n_paths: int = 3,
    max_outputs: int = 2000,
    max_steps: int = 1000,
    random_state: int = 0,
) -> TaskReport:
    """Check your own task on a few small inputs.

    Walk at random, and by the task's own policy, through the states of each input and
    look for: results that change when repeated; states that are not hashable or
    that `step` changes, unless there is a `copy`; copies that share parts; actions that
    are missing or listed twice; bad features; losses and costs that are not finite; a
    reference that is illegal or not best; costs that are not those of the best way to
    go on.

    Parameters
    ----------
    task : Task
        Task to check.
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
    X, Y = unzip_pairs(X) if Y is None else same_number(cast("Sequence[Any]", X), Y)
    kit = _Kit(task, max_outputs, max_steps, np.random.default_rng(random_state))
    for place, (x, y) in enumerate(zip(X, Y, strict=True)):
        kit.check_input(place, x, y, n_paths)
        if "end" in kit.problems:
            break  # the others would take as long to say the same
    return TaskReport(tuple(kit.problems.values()), kit.n_states, kit.n_exact)


def unzip_pairs(pairs: Iterable[Any]) -> Data:
    """Split pairs into inputs and their labels."""
    if not isinstance(pairs, Iterable) or getattr(pairs, "ndim", 1) == 0:
        raise TypeError(f"X must be a sequence of pairs (x, y), not {quote(pairs)}")
    pairs = list(pairs)  # zip(X, Y) can be read once only
    for place, pair in enumerate(pairs):
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError(
                f"element {place} is {quote(pair)}, not a pair (x, y): pass pairs, or "
                "X and Y apart"
            )
    return [x for x, _ in pairs], [y for _, y in pairs]


def same(one: Any, other: Any, *, inside: bool = False) -> bool:
    """Return whether two values are equal, also for arrays and nan.

    Objects whose class defines no equality are equal, unless `inside` compares their
    attributes.
    """
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other))
    if one is other or type(one) is not type(other):
        return one is other or bool(one == other)
    if isinstance(one, dict):
        one, other = list(one.items()), list(other.items())
    try:
        if isinstance(one, list | tuple | deque):
            pairs = zip(one, other, strict=False)
            return len(one) == len(other) and all(
                same(a, b, inside=inside) for a, b in pairs
            )
        if all("__eq__" not in vars(kind) for kind in type(one).__mro__[:-1]):
            # Attributes, those in slots among them
            parts = (value.__reduce_ex__(2)[2] for value in (one, other))
            return not inside or same(*parts, inside=True)
        return bool(one == other) or bool(one != one and other != other)
    except (RecursionError, TypeError, ValueError, IndexError):
        return True  # it holds itself, or cannot be compared


class _BrokenError(Exception):
    """Signal that a path cannot be checked any further."""


@dataclass
class _Kit:
    """Run the checks and collect the problems."""

    task: Task
    max_outputs: int
    max_steps: int
    rng: np.random.Generator
    problems: dict[str, TaskProblem] = field(default_factory=dict)
    n_states: int = 0
    n_exact: int = 0
    where: str = ""

    @property
    def in_place(self) -> bool:
        return self.task._in_place()

    def note(self, check: str, what: str) -> None:
        """Store the first problem of a kind."""
        self.problems.setdefault(check, TaskProblem(check, self.where, what))

    def stop_path(self, check: str, what: str) -> _BrokenError:
        """Store a problem and stop checking this path."""
        self.note(check, what)
        return _BrokenError()

    def call(self, name: str, *arguments: object) -> Any:
        """Call a method twice and return its result; arguments must stay unchanged.

        If a task copies states, a step is taken from a copy, which it may change.
        """
        before = copy.deepcopy(arguments)
        method, copies = getattr(self.task, name), self.in_place and name == "step"

        def ask() -> Any:
            if not copies:
                return method(*arguments)
            return method(arguments[0], self.task.copy(arguments[1]), arguments[2])

        try:
            answer, again = ask(), ask()
        except Exception as error:
            what = f"{name}() raises {type(error).__name__}: {error}"
            raise self.stop_path(name, what) from error
        inside = self.in_place or name == "step"
        if not same(answer, again, inside=inside):
            self.note(
                "determinism",
                f"{name}() gives {quote(answer)} and, asked again, {quote(again)}",
            )
        rest = 2 if copies else 1  # whether a copy shares parts is seen at last
        if not same(before[:1], arguments[:1]) or not same(
            before[rest:], arguments[rest:], inside=inside
        ):
            way_out = "make new ones"
            if name == "step" and not self.in_place:
                way_out += ", or write copy(state), with which it may change the state"
            self.note("purity", f"{name}() changes its arguments: {way_out}")
        return answer

    def check_input(self, place: int, x: object, y: object, n_paths: int) -> None:
        """Run all checks on one input."""
        self.where = f"input {place}"
        seen: set[Any] = set()
        try:
            start = self.call("start", x)
            self.usable(start)
            if self.in_place and start is self.task.start(x):
                self.note(
                    "start",
                    "start() gives a state that steps have changed: make a new one "
                    "each time",
                )
            for _ in range(n_paths):
                self.path(place, x, y, self.task.copy(start), seen)
        except _BrokenError:
            pass

    def usable(self, state: object) -> None:
        """Check that a state exists, and is hashable unless it can be copied."""
        if self.in_place and state is None:
            raise self.stop_path("state", "the state is None: does step() return it?")
        try:
            self.in_place or hash(state)
        except TypeError:
            what = f"state {quote(state)} is not hashable: use tuples, or write copy()"
            raise self.stop_path("state", what) from None

    def path(
        self, place: int, x: object, y: object, state: object, seen: set[Any]
    ) -> None:
        """Follow a random path, with all checks at each new state."""
        for _ in range(self.max_steps + 1):
            self.where = f"input {place}, state {quote(state)}"
            legal = self.legal(x, state)
            new = self.in_place or state not in seen
            self.n_states += new
            if not legal:
                if new:
                    self.final_loss(x, y, state)
                return
            if self.in_place:
                before, twin = copy.deepcopy(state), self.task.copy(state)
                if not same(state, twin, inside=True):
                    what = f"copy() gives {quote(twin)} of {quote(state)}"
                    raise self.stop_path("copy", what)
            else:
                seen.add(state)
            children = []
            for action in legal:
                children.append(self.call("step", x, state, action))
                self.usable(children[-1])
            if new:
                self.features(x, state, legal)
                self.policy(x, y, state, legal, children)
            if self.in_place and not same(before, state, inside=True):
                self.note(
                    "copy",
                    "copy() shares parts with the state: a step from the copy changes "
                    "it; copy what step() changes",
                )
            state = children[int(self.rng.integers(len(legal)))]
        raise self.endless()

    def legal(self, x: object, state: object) -> tuple[Any, ...]:
        """Return the actions of a state, none if it is final."""
        final = self.call("final", x, state)
        legal = () if final else tuple(self.call("actions", x, state))
        if not final and not legal:
            self.note("actions", "the state is not final and has no actions")
        try:
            if len(set(legal)) < len(legal):
                self.note("actions", f"an action is listed twice: {quote(legal)}")
        except TypeError:
            what = f"actions are not hashable: {quote(legal)}"
            raise self.stop_path("actions", what) from None
        if any(action is None for action in legal):
            self.note("actions", "an action is None, which stands for no action")
        return legal

    def final_loss(self, x: object, y: object, state: object) -> float:
        loss = float(self.call("loss", y, self.call("output", x, state)))
        if not math.isfinite(loss):
            raise self.stop_path("loss", f"the loss is {loss}")
        return loss

    def features(self, x: object, state: object, legal: tuple[Action, ...]) -> None:
        """Check that features do not change, and can be learned from."""
        self.call("features", x, state)
        for action in legal:
            self.call("action_features", x, state, action)
        try:
            describe(self.task, [Situation(-1, x, None, state, legal)])
        except (TypeError, ValueError) as error:
            self.note("features", str(error).replace(" at input -1,", " in"))

    def policy(
        self,
        x: object,
        y: object,
        state: object,
        legal: tuple[Action, ...],
        children: list[State],
    ) -> None:
        """Compare costs and reference with losses at the ends of paths."""
        costs = self.call("costs", x, y, state)
        reference = self.call("reference", x, y, state)
        if reference is not None and reference not in legal:
            self.note(
                "reference",
                f"reference() gives {quote(reference)}; legal are {quote(legal)}",
            )
            return
        rises = None if costs is None else self.rises(costs, legal)
        if rises is None and costs is not None:
            return
        if reference is not None:
            best = legal.index(reference)
        elif rises is not None:
            best = int(rises.argmin())
        else:
            return
        if rises is not None and rises[best] > _SMALL:
            self.note(
                "reference",
                f"reference() gives {quote(reference)}, which by costs() is "
                f"{rises[best]:g} above the best",
            )
        ends = [self.follow(x, y, self.task.copy(child)) for child in children]
        if rises is not None:
            losses = np.array(ends) - min(ends)
            if np.abs(losses - rises).max() > _SMALL:
                self.note(
                    "costs",
                    f"they rise by {_numbers(rises)}, losses after each action by "
                    f"{_numbers(losses)} when the policy goes on",
                )
        least = min(self.losses(x, y, state))
        if least < ends[best] - _SMALL:
            who = "costs lead" if reference is None else "reference() leads"
            what = f"{who} to a loss of {ends[best]:g} where {least:g} is in reach"
            self.note("best", what)

    def rises(self, costs: object, legal: tuple[Action, ...]) -> Floats | None:
        """Return costs minus the least one, or None if they are invalid."""
        found = np.asarray(costs, dtype=np.float64)
        if found.shape != (len(legal),):
            what = f"{found.size} costs for {len(legal)} actions: one for each"
            self.note("costs", what)
            return None
        wrong = np.flatnonzero(~np.isfinite(found))
        if wrong.size:
            action = quote(legal[wrong[0]])
            self.note("finite", f"the cost of action {action} is {found[wrong[0]]}")
            return None
        above: Floats = found - found.min()
        return above

    def follow(
        self, x: object, y: object, state: object, *, at_random: bool = False
    ) -> float:
        """Return the loss after following the task's reference; changes the state."""
        for _ in range(self.max_steps + 1):
            legal = self.legal(x, state)
            if not legal:
                return self.final_loss(x, y, state)
            action = None if at_random else self.task.reference(x, y, state)
            if at_random:
                action = legal[int(self.rng.integers(len(legal)))]
            elif action is None:
                costs = self.task.costs(x, y, state)
                if costs is None or len(costs) != len(legal):
                    what = "some states have them and others do not"
                    raise self.stop_path("costs", what)
                action = legal[int(np.argmin(costs))]
            state = self.task.step(x, state, action)
        raise self.endless()

    def endless(self) -> _BrokenError:
        """Store and return the problem of a path that does not end."""
        return self.stop_path(
            "end",
            f"no final state after {self.max_steps} steps: does step() come back to a "
            "state it left, or actions() never run out? If paths are longer, pass "
            "max_steps",
        )

    def losses(self, x: object, y: object, state: object) -> list[float]:
        """Return the losses of all outputs in reach.

        Of random paths if there are too many.
        """
        losses: list[float] = []
        stack, n_visited = [state], 0
        while stack:
            one = stack.pop()
            legal = self.task.actions(x, one) if not self.task.final(x, one) else ()
            n_visited += 1
            if not legal:
                losses.append(float(self.task.loss(y, self.task.output(x, one))))
            copy_of, step = self.task.copy, self.task.step
            stack += [step(x, copy_of(one), action) for action in legal]
            if len(losses) > self.max_outputs or n_visited > 4 * self.max_outputs:
                ways = [self.task.copy(state) for _ in range(20)]
                return [self.follow(x, y, one, at_random=True) for one in ways]
        self.n_exact += 1
        return losses


def _numbers(values: Floats) -> str:
    shown_values = ", ".join(f"{value:.4g}" for value in values[:8])
    return f"[{shown_values}{', ...' if len(values) > 8 else ''}]"
