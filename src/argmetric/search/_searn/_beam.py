"""Beam search for prediction."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from argmetric._input.types import Floats, Hashes
from argmetric.search._searn._decisions import Situation
from argmetric.search._searn._policy import BeamScores, Mixture
from argmetric.search._searn._reference import endless
from argmetric.search._searn._task import Task, moves
from argmetric.search._searn._walk import draw


class _Hypothesis(NamedTuple):
    total: float
    state: Any


def beam_search(
    mixture: Mixture,
    X: Sequence[Any],
    *,
    width: int,
    form: BeamScores = "log",
    keys: Hashes | None = None,
) -> list[Any]:
    """Final states of the best path of each input; width 1 is greedy search.

    All inputs advance together. Finished paths stay in the beam with their scores.
    With `keys`, one policy is drawn at every depth of an input; without, the mean of
    all policies decides.
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
                elif len(legal) == 1:
                    child = task.step(X[i], state, legal[0])
                    free.setdefault(i, []).append(_Hypothesis(total, child))
                else:
                    situations.append(Situation(i, X[i], None, state, legal, depth))
                    of_input.append((i, total))
        active = sorted({i for i, _ in of_input} | set(free))
        if not active:
            break
        pool = {i: [*done.get(i, []), *free.get(i, [])] for i in active}
        children: dict[int, list[tuple[float, Any, Any]]] = {i: [] for i in active}
        if situations:
            draws = _draws(keys, [i for i, _ in of_input], depth)
            scores, _ = mixture.action_scores(situations, draws, form)
            flat, first = scores.tolist(), 0
            for one, (i, total) in zip(situations, of_input, strict=True):
                n_actions = len(one.actions)
                part = flat[first : first + n_actions]
                first += n_actions
                best = sorted(range(n_actions), key=part.__getitem__, reverse=True)
                children[i] += [
                    (total + part[a], one.state, one.actions[a]) for a in best[:width]
                ]
        for i in active:
            ranked: list[tuple[float, Any]] = [
                *((one.total, one) for one in pool[i]),
                *((child[0], child) for child in children[i]),
            ]
            ranked.sort(key=lambda pair: -pair[0])
            beams[i] = _grown(task, X[i], [one for _, one in ranked[:width]])
    return [beam[0].state for beam in beams]


def _draws(keys: Hashes | None, places: list[int], depth: int) -> Floats | None:
    if keys is None:
        return None
    return draw(keys[places], np.full(len(places), depth))


def _grown(task: Task, x: Any, chosen: list[Any]) -> list[_Hypothesis]:
    """The next beam; only the last child of a parent may change its state."""
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
