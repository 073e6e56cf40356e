"""Interface of structured problems: pure functions on small states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

from argmetric._ground.arguments import shown

# Each task has its own kinds of these
Input: TypeAlias = Any
State: TypeAlias = Any
Action: TypeAlias = Any
Output: TypeAlias = Any

# A mapping from names to values, or a list of names (value 1) and (name, value) pairs.
Features = Mapping[Any, float] | Sequence[Any]
Named = list[tuple[Any, float]]  # the second kind of them
Target = Literal["cheapest", "reward"]
TARGETS: tuple[str, ...] = get_args(Target)
_MOST_SHOWN = 120
_STEPS, _STEPS_FOR_EACH = 5000, 20


class Task:
    """A structured problem, whose outputs are built decision by decision.

    Subclass it and write the methods below. All of them are pure functions: they
    change nothing and give the same answer when asked again, so that search may start
    in the middle and never repeats a step. States are small and hashable (tuples), or
    anything that `copy(state)` can copy.

    ==========================  ======================================================
    `start(x)`                  the first state
    `actions(x, state)`         the actions that are legal there; none where it is final
    `step(x, state, action)`    the next state
    `features(x, state)`        what a decision may look at; weights are learned for
                                each pair of a feature and an action
    `output(x, state)`          the output that a final state stands for
    `loss(y, output)`           how bad it is; the best output has the least
    ==========================  ======================================================

    Where they are known, one of these makes learning fast and exact; where neither is,
    the least loss is looked for by beam search with `estimate`:

    ==========================  ======================================================
    `costs(x, y, state)`        for each action in the order of `actions`: the least
                                loss that can still be reached (any constant may be
                                added, so regrets and 0/1 will do)
    `reference(x, y, state)`    the best action (no action may be None)
    ==========================  ======================================================

    Where states are large, write `copy(state)`: then `step` may change the state that
    it is given and return it, in time that does not grow with it. Whoever needs a state
    again (a beam, a roll-out) copies it first. Such states are not hashed.

    Also optional: `action_features(x, state, action)`, whose weights are shared by all
    actions (then `features` may be left out); `final(x, state)`; `estimate(x, y,
    state)`, a guess of the least loss to be reached from an unfinished state;
    `score(Y, outputs)`; `most_steps(x)`, the decisions after which a path is taken for
    endless (20 for each element of x, but no fewer than 5,000); and the attribute
    `target`, what the default learner makes of several best actions: see
    `LinearLearner`.

    Features are a mapping from names to values, or a list of names (of value 1) and
    (name, value) pairs. Names are text, integers or tuples of these (a tuple only as a
    key of a mapping or in a pair); they are hashed.

    Examples
    --------
    Which letters of a word are vowels; y is one of the letters, the right one known:

    >>> from argmetric.search import Searn, Task, check_task
    >>> class Vowels(Task):
    ...     def start(self, x):
    ...         return ""
    ...     def actions(self, x, state):
    ...         return "cv" if len(state) < len(x) else ""
    ...     def step(self, x, state, action):
    ...         return state + action
    ...     def features(self, x, state):
    ...         return [x[len(state)], f"last is {state[-1:]}"]
    ...     def output(self, x, state):
    ...         return state
    ...     def loss(self, y, output):
    ...         return sum(a != b for a, b in zip(y, output))
    ...     def costs(self, x, y, state):
    ...         return [action != y[len(state)] for action in "cv"]
    >>> words = ["banana", "order", "yes", "onion", "bread", "sky"]
    >>> kinds = ["cvcvcv", "vccvc", "cvc", "vcvvc", "ccvvc", "ccv"]
    >>> check_task(Vowels(), words, kinds).ok
    True
    >>> searn = Searn(Vowels(), beta=1.0, iterations=2).fit(words, kinds)
    >>> searn.predict(["bard", "noon"])
    ['cvcc', 'cvvc']
    """

    target: Target = "cheapest"

    def start(self, x: Input) -> State:
        """Return the first state.

        Parameters
        ----------
        x : object
            An input.

        Returns
        -------
        object
            Hashable, or such that `copy` can copy it.
        """
        raise NotImplementedError(f"{type(self).__name__} must define start(x)")

    def actions(self, x: Input, state: State) -> Sequence[Action]:
        """Return legal actions, always in the same order; none in a final state.

        Parameters
        ----------
        x : object
            An input.
        state : object
            A state that `start` or `step` returned.

        Returns
        -------
        sequence
            Hashable actions, each of them once; None is no action.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define actions(x, state)"
        )

    def step(self, x: Input, state: State, action: Action) -> State:
        """Return the state after an action.

        Parameters
        ----------
        x : object
            An input.
        state : object
            A state that `start` or `step` returned.
        action : object
            One of `actions(x, state)`.

        Returns
        -------
        object
            The next state.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define step(x, state, action)"
        )

    def copy(self, state: State) -> State:
        """Return a state that does not change when `step` changes the other.

        By default it is the state itself, since steps change nothing. With a copy of
        your own, `step` may change states and `start` returns a new one each time; all
        other methods still leave them unchanged.

        Parameters
        ----------
        state : object
            A state that `start` or `step` returned.

        Returns
        -------
        object
            An equal state.
        """
        return state

    def _in_place(self) -> bool:
        """Return whether `step` may change a state: a subclass that has `copy` says so.

        Such states are never hashed.
        """
        return type(self).copy is not Task.copy

    def features(self, x: Input, state: State) -> Features | None:
        """Return features of the state; None if only those of actions are used.

        Parameters
        ----------
        x : object
            An input.
        state : object
            A state that `start` or `step` returned.

        Returns
        -------
        mapping, list or None
            Names and their values, or names (of value 1) and (name, value) pairs.
        """
        return None

    def action_features(
        self, x: Input, state: State, action: Action
    ) -> Features | None:
        """Return features of an action, with weights that all actions share.

        Parameters
        ----------
        x : object
            An input.
        state : object
            A state that `start` or `step` returned.
        action : object
            One of `actions(x, state)`.

        Returns
        -------
        mapping, list or None
            Names and their values, or names (of value 1) and (name, value) pairs.
        """
        return None

    def output(self, x: Input, state: State) -> Output:
        """Return the output of a state.

        Parameters
        ----------
        x : object
            An input.
        state : object
            A state that `start` or `step` returned.

        Returns
        -------
        object
            What `loss` compares with y.
        """
        raise NotImplementedError(f"{type(self).__name__} must define output(x, state)")

    def loss(self, y: Output, output: Output) -> float:
        """Return how bad an output is.

        Parameters
        ----------
        y : object
            What `loss` compares outputs with.
        output : object
            What `output` returned.

        Returns
        -------
        float
            The loss; the best output has the least.
        """
        raise NotImplementedError(f"{type(self).__name__} must define loss(y, output)")

    def final(self, x: Input, state: State) -> bool:
        """Return whether the output is complete.

        By default, whether no action is left.

        Parameters
        ----------
        x : object
            An input.
        state : object
            A state that `start` or `step` returned.

        Returns
        -------
        bool
            Whether no decision follows.
        """
        return not self.actions(x, state)

    def costs(self, x: Input, y: Output, state: State) -> Sequence[float] | None:
        """Return the least loss in reach after each action, up to a constant.

        Parameters
        ----------
        x : object
            An input.
        y : object
            What `loss` compares outputs with.
        state : object
            A state that `start` or `step` returned.

        Returns
        -------
        sequence of float or None
            One cost for each of `actions(x, state)`; None if they are not known.
        """
        return None

    def reference(self, x: Input, y: Output, state: State) -> Action | None:
        """Return a best action.

        Parameters
        ----------
        x : object
            An input.
        y : object
            What `loss` compares outputs with.
        state : object
            A state that `start` or `step` returned.

        Returns
        -------
        object
            One of `actions(x, state)`; None if it is not known.
        """
        return None

    def estimate(self, x: Input, y: Output, state: State) -> float:
        """Return an estimate of the least loss in reach, which guides beam search.

        By default it is the loss of the output so far, which `output` and `loss` must
        then support for unfinished states.

        Parameters
        ----------
        x : object
            An input.
        y : object
            What `loss` compares outputs with.
        state : object
            A state that `start` or `step` returned.

        Returns
        -------
        float
            The estimate; of two states the one with the smaller is tried first.
        """
        return float(self.loss(y, self.output(x, state)))

    def most_steps(self, x: Input) -> int:
        """Return how many decisions an output may take; a path with more is refused.

        Parameters
        ----------
        x : object
            An input.

        Returns
        -------
        int
            By default 20 for each element of x, but no fewer than 5,000.
        """
        try:
            return max(_STEPS, _STEPS_FOR_EACH * len(x))
        except TypeError:  # a number; a sparse matrix, which has no single length
            return _STEPS

    def score(self, Y: Sequence[Output], outputs: Sequence[Output]) -> float:
        """Return the value of `Searn.score`, greater is better.

        By default minus mean loss.

        Parameters
        ----------
        Y, outputs : sequence
            What outputs are compared with, and the outputs, in the same order.

        Returns
        -------
        float
            The score.
        """
        losses = [float(self.loss(y, o)) for y, o in zip(Y, outputs, strict=True)]
        return -sum(losses) / len(losses) if losses else 0.0


def check_is_task(value: object, name: str = "task") -> None:
    if not isinstance(value, Task):
        raise TypeError(f"{name} must be a Task, not {type(value).__name__}")


def quote(value: object) -> str:
    """Return a value for an error message, cut to a line."""
    try:
        text = repr(value)
    except Exception:  # lists within lists, an object of the user's own
        text = "\n"
    if "\n" in text:
        return shown(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."


def name_input(place: int) -> str:
    """Return the name of an input for an error message."""
    return f"input {place}" if place >= 0 else "an input"


def moves(task: Task, x: Input, state: State) -> tuple[Any, ...]:
    """Return the legal actions of a state, none of a final one."""
    if type(task).final is Task.final:
        found = task.actions(x, state)
        return () if found is None else tuple(found)
    if task.final(x, state):
        return ()
    legal = tuple(task.actions(x, state))
    if not legal:
        raise ValueError(
            f"state {quote(state)} is not final and has no actions: let final() say "
            "that it is, or give it an action"
        )
    return legal


def find_action(
    legal: Sequence[Action], action: Action, place: int, state: State
) -> int:
    """Return the index of an action among the legal ones; refuse others by name."""
    try:
        return legal.index(action)
    except ValueError:
        raise ValueError(
            f"reference() of {name_input(place)} gives the action {quote(action)} in "
            f"state {quote(state)}, where only {quote(list(legal))} are legal"
        ) from None
