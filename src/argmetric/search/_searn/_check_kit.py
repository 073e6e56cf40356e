"""The checks of `check_task`."""

from __future__ import annotations

import copy
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric.search._searn._decisions import hash_name, read_features
from argmetric.search._searn._task import Task, shown

_SMALL = 1e-9  # losses and costs that differ by less are equal
_SHARES = (
    "copy() shares parts with the state: a step from the copy changes it; copy what "
    "step() changes"
)


def same(one: Any, other: Any, *, inside: bool = False) -> bool:
    """Equality that also holds for arrays and nan.

    Objects whose class does not say what equality means are equal, unless `inside` asks
    for their attributes to be compared.
    """
    try:
        return _same(one, other, inside)
    except RecursionError:  # an object that holds itself
        return True


def _same(one: Any, other: Any, inside: bool) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        keys = one.keys() == other.keys()
        return keys and all(_same(one[k], other[k], inside) for k in one)
    if isinstance(one, list | tuple | deque) and type(one) is type(other):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_same(a, b, inside) for a, b in pairs)
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other))
    if one is other:
        return True
    if type(one) is type(other) and not _comparable(one):
        return not inside or _same(_parts(one), _parts(other), inside)
    try:
        return bool(one == other) or bool(one != one and other != other)
    except (TypeError, ValueError):
        return True


def _comparable(value: Any) -> bool:
    """Whether its class says what equality means."""
    return any("__eq__" in vars(kind) for kind in type(value).__mro__[:-1])


def _parts(value: Any) -> dict[str, Any]:
    """The attributes of an object, those in slots among them."""
    found = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name):
                found[name] = getattr(value, name)
    return found


@dataclass(frozen=True)
class TaskProblem:
    """Something wrong with a task.

    Attributes
    ----------
    check : str
        Which check failed.
    where : str
        Input and state.
    what : str
        What is wrong, and what to do.
    """

    check: str
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.check}: {self.what} ({self.where})"


class _BrokenError(Exception):
    """Nothing more can be said about this path."""


class Kit:
    """The checks, and what they have found."""

    def __init__(
        self, task: Task, max_outputs: int, max_steps: int, rng: np.random.Generator
    ) -> None:
        self.task = task
        self.in_place = task._in_place()
        self.max_outputs = max_outputs
        self.max_steps = max_steps
        self.rng = rng
        self.problems: dict[str, TaskProblem] = {}
        self.n_states = 0
        self.n_exact = 0
        self.where = ""

    def note(self, check: str, what: str) -> None:
        """Keep the first problem of a kind."""
        self.problems.setdefault(check, TaskProblem(check, self.where, what))

    def call(self, name: str, *arguments: Any) -> Any:
        """The answer of a method, asked twice; arguments must stay as they are.

        Where a task copies states, a step is taken from a copy, which it may change.
        """
        before = copy.deepcopy(arguments)
        copies = self.in_place and name == "step"
        try:
            answer, again = (self.ask(name, arguments, copies) for _ in range(2))
        except Exception as error:
            self.note(name, f"{name}() raises {type(error).__name__}: {error}")
            raise _BrokenError from error
        inside = self.in_place or name == "step"
        if not same(answer, again, inside=inside):
            self.note(
                "determinism",
                f"{name}() gives {shown(answer)} and, asked again, {shown(again)}",
            )
        if copies and not same(before[1], arguments[1], inside=True):
            self.note("copy", _SHARES)
        elif not same(before[:1], arguments[:1]) or not same(
            before[1:], arguments[1:], inside=inside
        ):
            way_out = "make new ones"
            if name == "step" and not self.in_place:
                way_out += ", or write copy(state), with which it may change the state"
            self.note("purity", f"{name}() changes its arguments: {way_out}")
        return answer

    def ask(self, name: str, arguments: tuple[Any, ...], copies: bool) -> Any:
        function: Callable[..., Any] = getattr(self.task, name)
        if copies:
            x, state, action = arguments
            return function(x, self.task.copy(state), action)
        return function(*arguments)

    def check_input(self, place: int, x: Any, y: Any, n_paths: int) -> None:
        """All checks on one input."""
        self.where = f"input {place}"
        seen: set[Any] = set()
        try:
            start = self.call("start", x)
            self.usable(start)
            for _ in range(n_paths):
                self.path(place, x, y, self.task.copy(start), seen)
            if self.in_place:
                self.fresh_start(x, y, start)
        except _BrokenError:
            pass

    def fresh_start(self, x: Any, y: Any, start: Any) -> None:
        """Whether the first state is a new one each time."""
        before = copy.deepcopy(start)
        self.random_loss(x, y, self.task.start(x))
        if not same(before, self.task.start(x), inside=True):
            self.note(
                "start",
                "start() gives a state that steps have changed: make a new one each "
                "time",
            )

    def usable(self, state: Any) -> None:
        """States are there, and can be hashed unless they can be copied."""
        if self.in_place:
            if state is None:
                self.note("state", "the state is None: does step() return it?")
                raise _BrokenError
            return
        try:
            hash(state)
        except TypeError:
            self.note(
                "state",
                f"state {shown(state)} is not hashable: use tuples, or write copy()",
            )
            raise _BrokenError from None

    def path(self, place: int, x: Any, y: Any, state: Any, seen: set[Any]) -> None:
        """A random path, with all checks at each new state."""
        for _ in range(self.max_steps + 1):
            self.where = f"input {place}, state {shown(state)}"
            legal = self.legal(x, state)
            new = self.in_place or state not in seen
            if not self.in_place:
                seen.add(state)
            self.n_states += new
            if not legal:
                if new:
                    self.final_loss(x, y, state)
                return
            if self.in_place:
                self.equal_copy(state)
            children = []
            for action in legal:
                children.append(self.call("step", x, state, action))
                self.usable(children[-1])
            if new:
                self.features(x, state, legal)
                self.policy(x, y, state, legal, children)
            if self.in_place:
                self.apart(x, y, state)
            state = children[int(self.rng.integers(len(legal)))]
        raise self.endless()

    def equal_copy(self, state: Any) -> None:
        """Whether a copy is the same state."""
        twin = self.task.copy(state)
        if not same(state, twin, inside=True):
            self.note("copy", f"copy() gives {shown(twin)} of {shown(state)}")
            raise _BrokenError

    def apart(self, x: Any, y: Any, state: Any) -> None:
        """Whether a whole path from a copy leaves the state as it is."""
        before = copy.deepcopy(state)
        self.random_loss(x, y, self.task.copy(state))
        if not same(before, state, inside=True):
            self.note("copy", _SHARES)

    def legal(self, x: Any, state: Any) -> tuple[Any, ...]:
        """Actions of a state, none if it is final."""
        final = self.call("final", x, state)
        legal = () if final else tuple(self.call("actions", x, state))
        if not final and not legal:
            self.note("actions", "the state is not final and has no actions")
        try:
            if len(set(legal)) < len(legal):
                self.note("actions", f"an action is listed twice: {shown(legal)}")
        except TypeError:
            self.note("actions", f"actions are not hashable: {shown(legal)}")
            raise _BrokenError from None
        if any(action is None for action in legal):
            self.note("actions", "an action is None, which stands for no action")
        return legal

    def final_loss(self, x: Any, y: Any, state: Any) -> float:
        loss = float(self.call("loss", y, self.call("output", x, state)))
        if not math.isfinite(loss):
            self.note("loss", f"the loss is {loss}")
            raise _BrokenError
        return loss

    def features(self, x: Any, state: Any, legal: tuple[Any, ...]) -> None:
        own = self.call("features", x, state)
        others = [self.call("action_features", x, state, action) for action in legal]
        found = [features for features in (own, *others) if features is not None]
        if not found:
            self.note(
                "features",
                "there are none: define features() or action_features()",
            )
        for features in found:
            try:
                for name, _ in read_features(features):
                    hash_name(name)
            except (TypeError, ValueError) as error:
                self.note("features", str(error))

    def policy(
        self, x: Any, y: Any, state: Any, legal: tuple[Any, ...], children: list[Any]
    ) -> None:
        """Costs and reference against losses at the ends of paths."""
        costs = self.call("costs", x, y, state)
        reference = self.call("reference", x, y, state)
        if reference is not None and reference not in legal:
            self.note(
                "reference",
                f"reference() gives {shown(reference)}; legal are {shown(legal)}",
            )
            return
        if costs is None and reference is None:
            return
        rises = None if costs is None else self.rises(costs, legal)
        if costs is not None and rises is None:
            return
        if reference is not None and rises is not None:
            extra = rises[legal.index(reference)]
            if extra > _SMALL:
                self.note(
                    "reference",
                    f"reference() gives {shown(reference)}, which by costs() is "
                    f"{extra:g} above the best",
                )
        if rises is not None:
            best = int(np.argmin(rises))
        if reference is not None:
            best = legal.index(reference)
        ends = [self.follow(x, y, self.task.copy(child)) for child in children]
        if rises is not None:
            losses = np.array(ends) - min(ends)
            if np.abs(losses - rises).max() > _SMALL:
                self.note(
                    "costs",
                    f"they rise by {_numbers(rises)}, losses after each action by "
                    f"{_numbers(losses)} when the policy goes on",
                )
        self.optimal(x, y, state, ends[best], costs is None or reference is not None)

    def rises(self, costs: Any, legal: tuple[Any, ...]) -> Any:
        """Costs above the least, None if they are no numbers for the actions."""
        found = np.asarray(costs, dtype=np.float64)
        if found.shape != (len(legal),):
            self.note(
                "costs", f"{found.size} costs for {len(legal)} actions: one for each"
            )
            return None
        wrong = np.flatnonzero(~np.isfinite(found))
        if wrong.size:
            action = shown(legal[wrong[0]])
            self.note("finite", f"the cost of action {action} is {found[wrong[0]]}")
            return None
        return found - found.min()

    def follow(self, x: Any, y: Any, state: Any) -> float:
        """Loss at the end of the task's own policy; the state is used up."""
        for _ in range(self.max_steps + 1):
            legal = self.legal(x, state)
            if not legal:
                return self.final_loss(x, y, state)
            action = self.task.reference(x, y, state)
            if action is None:
                costs = self.task.costs(x, y, state)
                if costs is None or len(costs) != len(legal):
                    self.note("costs", "some states have them and others do not")
                    raise _BrokenError
                action = legal[int(np.argmin(costs))]
            state = self.task.step(x, state, action)
        raise self.endless()

    def endless(self) -> _BrokenError:
        """Note that a path does not end."""
        self.note(
            "end",
            f"no final state after {self.max_steps} steps: does step() come back to a "
            "state it left, or actions() never run out? If paths are longer, pass "
            "max_steps",
        )
        return _BrokenError()

    def optimal(self, x: Any, y: Any, state: Any, reached: float, named: bool) -> None:
        """Whether anything better is in reach."""
        losses = self.all_losses(x, y, state)
        if losses is None:
            losses = [self.random_loss(x, y, self.task.copy(state)) for _ in range(20)]
        else:
            self.n_exact += 1
        if min(losses) < reached - _SMALL:
            who = "reference()" if named else "costs"
            verb = "leads" if named else "lead"
            self.note(
                "best",
                f"{who} {verb} to a loss of {reached:g} where {min(losses):g} is in "
                "reach",
            )

    def random_loss(self, x: Any, y: Any, state: Any) -> float:
        """Loss at the end of a random path; the state is used up."""
        for _ in range(self.max_steps + 1):
            legal = self.legal(x, state)
            if not legal:
                return self.final_loss(x, y, state)
            action = legal[int(self.rng.integers(len(legal)))]
            state = self.task.step(x, state, action)
        raise self.endless()

    def all_losses(self, x: Any, y: Any, state: Any) -> list[float] | None:
        """Losses of all outputs in reach, None if there are too many."""
        losses: list[float] = []
        stack = [state]
        n_visited = 0
        while stack:
            one = stack.pop()
            legal = self.task.actions(x, one) if not self.task.final(x, one) else ()
            n_visited += 1
            if not legal:
                losses.append(float(self.task.loss(y, self.task.output(x, one))))
            copy_of, step = self.task.copy, self.task.step
            stack += [step(x, copy_of(one), action) for action in legal]
            if len(losses) > self.max_outputs or n_visited > 4 * self.max_outputs:
                return None
        return losses


def _numbers(values: Any) -> str:
    shown_values = ", ".join(f"{value:.4g}" for value in values[:8])
    return f"[{shown_values}{', ...' if len(values) > 8 else ''}]"
