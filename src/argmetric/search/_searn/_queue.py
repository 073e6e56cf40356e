"""Beam search as a search space of its own, for training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from argmetric._input.arguments import check_count
from argmetric.search._searn._decisions import read_features
from argmetric.search._searn._reference import InitialPolicy
from argmetric.search._searn._task import Features, Task, check_is_task, moves

_MOST_LISTS = 200_000  # of features that are kept
_MOST_INPUTS = 100_000  # whose least losses are kept

_Named = list[tuple[Any, float]]


class _Member(NamedTuple):
    """A path: where it is, and the actions that led there."""

    state: Any
    path: tuple[Any, ...]


class _Queue(NamedTuple):
    """Paths to go on from, children kept so far, and (rank, action) still on offer."""

    parents: tuple[_Member, ...]
    kept: tuple[_Member, ...]
    offers: tuple[tuple[int, Any], ...]
    picked: _Member | None = None


class QueueTask(Task):
    """Beam search of a task, seen as greedy search among queues (section 3.4.3).

    A state is a queue: children of the present beam are picked one after the other
    until the next beam is full; at the end one of the finished paths is picked and is
    the output. A decision is wrong only when it drops the last good path out of the
    beam, or picks a worse one at the end, and this is what training under this task
    learns to avoid. The features of a child are those of all decisions on its path, so
    that a linear score is the sum along the path, as in beam search. For short paths:
    the work grows with the square of their length.

    Parameters
    ----------
    task : Task
        The task whose states queue up.
    width : int
        Width of the beam; 1 is greedy search.
    search_width : int, default=10
        Width of the search for costs where the task gives none.

    Examples
    --------
    >>> from argmetric.search import QueueTask, Searn, SequenceLabelling
    >>> task = QueueTask(SequenceLabelling(["c", "v"]), width=2)
    >>> searn = Searn(task, beta=1.0, iterations=1)
    >>> searn.fit(["banana", "onion"], ["cvcvcv", "vcvvc"]).predict(["onion"])
    [('v', 'c', 'v', 'v', 'c')]
    """

    def __init__(self, task: Task, width: int, *, search_width: int = 10) -> None:
        check_is_task(task)
        width = check_count(width, "width", low=1)
        search_width = check_count(search_width, "search_width", low=1)
        self.task = task
        self.width = width
        self._initial = InitialPolicy(task, search_width)
        self._known: dict[tuple[int, int], tuple[Any, Any, dict[Any, float]]] = {}
        self._lists: dict[tuple[int, tuple[Any, ...]], tuple[Any, _Named]] = {}

    def _open(self, x: Any, parents: tuple[_Member, ...]) -> _Queue:
        """A queue with everything on offer that its members can become."""
        offers: list[tuple[int, Any]] = []
        for rank, parent in enumerate(parents):
            legal = moves(self.task, x, parent.state)
            offers += [(rank, action) for action in legal] or [(rank, None)]
        return _Queue(parents, (), tuple(offers))

    @staticmethod
    def _ended(state: _Queue) -> bool:
        """Whether all members are finished, so that one of them is to be picked."""
        return not state.kept and all(move is None for _, move in state.offers)

    def start(self, x: Any) -> _Queue:
        """The queue of the first state alone."""
        return self._open(x, (_Member(self.task.start(x), ()),))

    def actions(self, x: Any, state: _Queue) -> Sequence[Any]:
        """What is on offer: the rank of a member and its action."""
        return state.offers

    def _child(self, x: Any, state: _Queue, action: tuple[int, Any]) -> _Member:
        rank, move = action
        parent = state.parents[rank]
        if move is None:
            return parent
        state = self.task.step(x, self.task.copy(parent.state), move)
        return _Member(state, (*parent.path, move))

    def _in_place(self) -> bool:
        return self.task._in_place()  # queues are not changed, but hold such states

    def step(self, x: Any, state: _Queue, action: tuple[int, Any]) -> _Queue:
        """Keep a child; when the next beam is full it becomes the queue."""
        child = self._child(x, state, action)
        if self._ended(state):
            return _Queue((), (), (), child)
        kept = (*state.kept, child)
        offers = tuple(offer for offer in state.offers if offer != action)
        if len(kept) == self.width or not offers:
            return self._open(x, kept)
        return _Queue(state.parents, kept, offers)

    def action_features(
        self, x: Any, state: _Queue, action: tuple[int, Any]
    ) -> Features:
        """Features of all decisions on the path, each with its action.

        Decisions that all members share add the same to every score: they are left out.
        """
        rank, move = action
        parent = state.parents[rank]
        path = parent.path if move is None else (*parent.path, move)
        found: _Named = [("path", 1.0)]
        for n in range(self._shared(state), len(path)):
            found += self._local(x, path[: n + 1])
        return found

    @staticmethod
    def _shared(state: _Queue) -> int:
        """Number of first decisions that all members have in common."""
        paths = [member.path for member in state.parents]
        n = min(map(len, paths))
        for i in range(n):
            if any(path[i] != paths[0][i] for path in paths):
                return i
        return n

    def _local(self, x: Any, path: tuple[Any, ...]) -> _Named:
        """Features of the last decision on a path."""
        key = id(x), path
        if key not in self._lists:
            state = self.task.start(x)
            for action in path[:-1]:
                state = self.task.step(x, state, action)
            move = path[-1]
            found: _Named = [(("bias", move), 1.0)]
            features = self.task.features(x, state)
            if features is not None:
                found += [((n, move), value) for n, value in read_features(features)]
            own = self.task.action_features(x, state, move)
            if own is not None:
                found += read_features(own)
            if len(self._lists) >= _MOST_LISTS:
                self._lists.clear()
            self._lists[key] = x, found  # x is held: no other object gets its id
        return self._lists[key][1]

    def output(self, x: Any, state: _Queue) -> Any:
        """Output of the path that was picked; of the first, before that."""
        member = state.parents[0] if state.picked is None else state.picked
        return self.task.output(x, member.state)

    def loss(self, y: Any, output: Any) -> float:
        """The task's own."""
        return self.task.loss(y, output)

    def most_steps(self, x: Any) -> int:
        """A full beam for each decision of the task, and the last pick."""
        return self.width * self.task.most_steps(x) + 1

    def score(self, Y: Sequence[Any], outputs: Sequence[Any]) -> float:
        """The task's own."""
        return self.task.score(Y, outputs)

    def costs(self, x: Any, y: Any, state: _Queue) -> Sequence[float]:
        """Least loss in reach of the beam: of what is kept, and of what can be."""
        children = [self._child(x, state, offer) for offer in state.offers]
        offered = [self._reach(x, y, child.state) for child in children]
        if self._ended(state):
            return offered
        kept = min((self._reach(x, y, m.state) for m in state.kept), default=np.inf)
        if len(state.kept) + 1 == self.width:  # the last place in the beam
            return [min(kept, value) for value in offered]
        return [min(kept, *offered)] * len(offered)

    def _reach(self, x: Any, y: Any, state: Any) -> float:
        """Least loss in reach of one path, by the task's own lights."""
        key = id(x), id(y)
        if key not in self._known:
            if len(self._known) >= _MOST_INPUTS:
                self._known.clear()
            self._known[key] = x, y, {}  # held, so that no other object gets their ids
        state, known = self.task.copy(state), self._known[key][2]
        return self._initial.reach(-1, x, y, state, known)
