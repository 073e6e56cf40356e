"""Beam search: as a search space of its own for training, and for prediction."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Literal, NamedTuple

import numpy as np

from argmetric._ground.arguments import check_count
from argmetric._ground.types import Floats, Hashes
from argmetric.search._searn._batches import follow, search
from argmetric.search._searn._decisions import Situation, read_features
from argmetric.search._searn._policy import (
    BeamScores,
    LearnedPolicy,
    Mixture,
    draw,
    make_keys,
    run,
    start_walks,
)
from argmetric.search._searn._reference import InitialPolicy, endless
from argmetric.search._searn._sequences import PreparedInputs, runs_in_batches
from argmetric.search._searn._task import (
    Action,
    Features,
    Input,
    Named,
    Output,
    State,
    Task,
    check_is_task,
    moves,
)
from argmetric.search.learning import complete_docstrings

_MOST_LISTS = 200_000  # of features that are kept
_MOST_INPUTS = 100_000  # whose least losses are kept

Prediction = Literal["draw", "mean"]
_GRID = (1.0, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05)  # values of β that are tried


class _Member(NamedTuple):
    """Path of a beam: its state, and the actions that led there."""

    state: State
    path: tuple[Any, ...]


class _Queue(NamedTuple):
    """State of a beam: parents, the children kept so far, and (rank, action) left."""

    parents: tuple[_Member, ...]
    kept: tuple[_Member, ...]
    offers: tuple[tuple[int, Any], ...]
    picked: _Member | None = None


@complete_docstrings
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
        self._lists: dict[tuple[int, tuple[Any, ...]], tuple[Any, Named]] = {}

    def _open(self, x: object, parents: tuple[_Member, ...]) -> _Queue:
        """Return a queue that offers all children of its members."""
        offers: list[tuple[int, Any]] = []
        for rank, parent in enumerate(parents):
            legal = moves(self.task, x, parent.state)
            offers += [(rank, action) for action in legal] or [(rank, None)]
        return _Queue(parents, (), tuple(offers))

    @staticmethod
    def _is_finished(state: _Queue) -> bool:
        """Return whether all members are finished, so that one is to be picked."""
        return not state.kept and all(move is None for _, move in state.offers)

    def start(self, x: object) -> _Queue:
        """Return the queue with only the first state."""
        return self._open(x, (_Member(self.task.start(x), ()),))

    def actions(self, x: object, state: _Queue) -> Sequence[Action]:
        """Return all pairs of a member's rank and one of its actions."""
        return state.offers

    def _child(self, x: object, state: _Queue, action: tuple[int, Any]) -> _Member:
        """Return the member of the beam that follows a parent by one action."""
        rank, move = action
        parent = state.parents[rank]
        if move is None:
            return parent
        state = self.task.step(x, self.task.copy(parent.state), move)
        return _Member(state, (*parent.path, move))

    def _in_place(self) -> bool:
        return self.task._in_place()  # queues are not changed, but hold such states

    def step(self, x: object, state: _Queue, action: tuple[int, Any]) -> _Queue:
        """Keep a child; a full beam of children becomes the next parents."""
        child = self._child(x, state, action)
        if self._is_finished(state):
            return _Queue((), (), (), child)
        kept = (*state.kept, child)
        offers = tuple(offer for offer in state.offers if offer != action)
        if len(kept) == self.width or not offers:
            return self._open(x, kept)
        return _Queue(state.parents, kept, offers)

    def action_features(
        self, x: object, state: _Queue, action: tuple[int, Any]
    ) -> Features:
        """Return the features of all decisions on the path, each with its action.

        Decisions that all members share add the same to every score: they are left out.
        """
        rank, move = action
        parent = state.parents[rank]
        path = parent.path if move is None else (*parent.path, move)
        found: Named = [("path", 1.0)]
        for n in range(self._n_common(state), len(path)):
            found += self._local(x, path[: n + 1])
        return found

    @staticmethod
    def _n_common(state: _Queue) -> int:
        """Return the number of first decisions that all members have in common."""
        paths = [member.path for member in state.parents]
        n = min(map(len, paths))
        for i in range(n):
            if any(path[i] != paths[0][i] for path in paths):
                return i
        return n

    def _local(self, x: object, path: tuple[Any, ...]) -> Named:
        """Return the features of the last decision on a path."""
        key = id(x), path
        if key not in self._lists:
            state = self.task.start(x)
            for action in path[:-1]:
                state = self.task.step(x, state, action)
            move = path[-1]
            found: Named = [(("bias", move), 1.0)]
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

    def output(self, x: object, state: _Queue) -> Output:
        """Return the output of the picked path; of the first one before that."""
        member = state.parents[0] if state.picked is None else state.picked
        return self.task.output(x, member.state)

    def loss(self, y: object, output: object) -> float:
        """Return the loss of the task."""
        return self.task.loss(y, output)

    def most_steps(self, x: object) -> int:
        """Return the steps of a full beam for each decision, and the last pick."""
        return self.width * self.task.most_steps(x) + 1

    def score(self, Y: Sequence[Output], outputs: Sequence[Output]) -> float:
        """Return the score of the task."""
        return self.task.score(Y, outputs)

    def costs(self, x: object, y: object, state: _Queue) -> Sequence[float]:
        """Return the least loss in reach of the beam after each action."""
        children = [self._child(x, state, offer) for offer in state.offers]
        offered = [self._reach(x, y, child.state) for child in children]
        if self._is_finished(state):
            return offered
        kept = min((self._reach(x, y, m.state) for m in state.kept), default=np.inf)
        if len(state.kept) + 1 == self.width:  # the last place in the beam
            return [min(kept, value) for value in offered]
        return [min(kept, *offered)] * len(offered)

    def _reach(self, x: object, y: object, state: object) -> float:
        """Return the least loss that a path can still reach, by its own costs."""
        key = id(x), id(y)
        if key not in self._known:
            if len(self._known) >= _MOST_INPUTS:
                self._known.clear()
            self._known[key] = x, y, {}  # held, so that no other object gets their ids
        state, known = self.task.copy(state), self._known[key][2]
        return self._initial.reach(-1, x, y, state, known)


class _Hypothesis(NamedTuple):
    total: float
    state: State


_Children = dict[int, list[tuple[float, Any, Any]]]


def beam_search(
    mixture: Mixture,
    X: Sequence[Input],
    *,
    width: int,
    form: BeamScores = "log",
    keys: Hashes | None = None,
) -> list[Any]:
    """Return the final state of the best path of each input; width 1 is greedy.

    All inputs advance together. Finished paths stay in the beam with their scores.
    With `keys`, a random policy decides at every depth of an input; without, the mean
    of all policies. A step with a single action has a raw score like any other.
    """
    task = mixture.task
    beams = [[_Hypothesis(0.0, task.start(x))] for x in X]
    active = list(range(len(X)))
    limits = [task.most_steps(x) for x in X]
    for depth in itertools.count():
        situations: list[Situation] = []
        of_input: list[tuple[int, float]] = []
        done: dict[int, list[_Hypothesis]] = {}
        free: dict[int, list[_Hypothesis]] = {}
        for i in active:
            for total, state in beams[i]:
                legal = moves(task, X[i], state)
                if not legal:
                    done.setdefault(i, []).append(_Hypothesis(total, state))
                elif depth >= limits[i]:
                    raise ValueError(endless(task, i, X[i], state))
                elif len(legal) == 1 and form == "log":  # its probability is 1
                    child = task.step(X[i], state, legal[0])
                    free.setdefault(i, []).append(_Hypothesis(total, child))
                else:
                    situations.append(Situation(i, X[i], None, state, legal, depth))
                    of_input.append((i, total))
        active = sorted({*dict(of_input), *free})
        if not active:
            break
        pool = {i: [*done.get(i, []), *free.get(i, [])] for i in active}
        children: _Children = {}
        if situations:
            places = [i for i, _ in of_input]
            at = np.full(len(places), depth)
            draws = None if keys is None else draw(keys[places], at)
            scores, _ = mixture.action_scores(situations, draws, form)
            children = _best_children(situations, of_input, scores, width)
        for i in active:
            ranked: list[tuple[float, Any]] = [
                *((one.total, one) for one in pool[i]),
                *((child[0], child) for child in children.get(i, ())),
            ]
            ranked.sort(key=lambda pair: -pair[0])
            beams[i] = _grow_beam(task, X[i], [one for _, one in ranked[:width]])
    return [beam[0].state for beam in beams]


def _best_children(
    situations: list[Situation],
    of_input: list[tuple[int, float]],
    scores: Floats,
    width: int,
) -> _Children:
    """Return the best actions of each situation by input: score, state and action.

    of_input : list of tuple
        Input and total score of each situation.
    scores : ndarray of shape (n_actions,)
        Scores of the actions of all situations.
    """
    flat, first = scores.tolist(), 0
    children: _Children = {}
    for one, (i, total) in zip(situations, of_input, strict=True):
        n_actions = len(one.actions)
        part = flat[first : first + n_actions]
        first += n_actions
        best = sorted(range(n_actions), key=part.__getitem__, reverse=True)
        children.setdefault(i, []).extend(
            (total + part[a], one.state, one.actions[a]) for a in best[:width]
        )
    return children


def _grow_beam(task: Task, x: object, chosen: list[Any]) -> list[_Hypothesis]:
    """Return the next beam; only the last child of a parent may change its state."""
    last = {id(one[1]): number for number, one in enumerate(chosen)}
    beam = []
    for number, one in enumerate(chosen):
        if isinstance(one, _Hypothesis):
            beam.append(one)
            continue
        total, state, action = one
        own = state if last[id(state)] == number else task.copy(state)
        beam.append(_Hypothesis(total, task.step(x, own, action)))
    return beam


@dataclass(frozen=True)
class Decoder:
    """Decode the outputs of a mixture of policies, greedily or by a beam."""

    task: Task  # what the policies decide
    beam: int  # width of the beam; 1 is greedy
    beam_scores: BeamScores  # what is added up along a path
    # whether one policy is drawn for each decision, or the mean of all decides
    prediction: Prediction
    seed: int  # of the draws, which depend on it and on the number of the input

    def outputs(self, mixture: Mixture, X: Sequence[Input]) -> list[Any]:
        """Return the output for each input, by a beam or by drawing decisions."""
        drawn = self.prediction == "draw" or mixture.deterministic
        keys = make_keys(self.seed, np.arange(len(X)))
        own = keys if self.prediction == "draw" else None
        options: dict[str, Any] = {"width": self.beam, "form": self.beam_scores}
        if isinstance(X, PreparedInputs) and X.runs(mixture):
            if runs_in_batches(mixture):
                if self.beam == 1 and drawn:
                    return X.outputs(follow(X, mixture, keys)[0])
                return X.outputs(search(X, mixture, own, **options))
            if drawn:
                logs = self.beam_scores == "log"
                return X.decode(mixture, width=self.beam, logs=logs, keys=keys)
        if self.beam == 1 and drawn:
            # The way of the roll-in. A beam's probabilities round close scores to ties
            states = run(self.task, mixture, start_walks(self.task, X), keys)
        else:
            states = beam_search(mixture, X, keys=own, **options)
        return [self.task.output(x, s) for x, s in zip(X, states, strict=True)]

    def mean_loss(
        self, mixture: Mixture, X: Sequence[Input], Y: Sequence[Output]
    ) -> float:
        """Return the mean loss on development inputs.

        Refuse losses that are not finite.
        """
        pairs = zip(Y, self.outputs(mixture, X), strict=True)
        losses = np.array([self.task.loss(y, output) for y, output in pairs], float)
        bad = np.flatnonzero(~np.isfinite(losses))
        if bad.size:
            raise ValueError(
                f"the loss of development input {bad[0]} is {losses[bad[0]]}"
            )
        return float(losses.mean())


def best_share(
    beta: float | Literal["search"],
    decoder: Decoder,
    mixture: Mixture,
    policy: LearnedPolicy,
    dev: tuple[Sequence[Any], Sequence[Any]] | None,
) -> tuple[float, float | None]:
    """Return β of a new policy, and the resulting loss on development inputs."""
    if dev is None:
        return float(beta), None
    searched = _GRID if mixture.learned else (1.0,)
    grid = searched if beta == "search" else (beta,)
    tried = []
    for share in grid:
        after = mixture.interpolate(policy, float(share)).without_initial()
        tried.append((decoder.mean_loss(after, *dev), float(share)))
    loss, share = min(tried, key=itemgetter(0))
    return share, loss
