"""Running a policy over many inputs at once, one decision of each at a time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from argmetric._input.types import Floats, Hashes, Integers
from argmetric.search._searn._decisions import Known, Situation
from argmetric.search._searn._reference import endless, final_loss
from argmetric.search._searn._task import Task, moves

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Policy(Protocol):
    """Anything that chooses actions."""

    def choose(
        self, situations: list[Situation], draws: Floats, known: Known | None = None
    ) -> Integers:
        """The number of an action for each situation; `draws` are in [0, 1)."""
        ...


@dataclass
class Walk:
    """One path through the states of an input, from `state` on."""

    place: int
    x: Any
    y: Any
    state: Any
    depth: int = 0
    fold: int = -1


def scatter(keys: Hashes) -> Hashes:
    """Scatter 64 bits (splitmix64): a random number for each key, always the same."""
    keys = keys + _GOLDEN
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(keys ^ (keys >> np.uint64(31)))


def make_keys(seed: int, *parts: Any) -> Hashes:
    """Keys of walks from a seed and arrays of numbers.

    Draws depend on the key and the depth alone: neither on the order in which walks
    are run nor on how many run together. Equal keys tie the draws of several walks.
    """
    first = np.asarray(parts[0]) if parts else np.zeros(1)
    keys = scatter(np.full(first.shape, seed, dtype=np.uint64))
    for part in parts:
        keys = scatter(keys ^ scatter(np.asarray(part).astype(np.uint64)))
    return keys


def draw(keys: Hashes, depths: Integers) -> Floats:
    """Numbers in [0, 1), one for each key and depth."""
    bits = scatter(keys ^ scatter(depths.astype(np.uint64)))
    return np.asarray((bits >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def run(
    task: Task,
    policy: Policy,
    walks: Sequence[Walk],
    keys: Hashes,
    visit: Callable[[list[Situation]], Known] | None = None,
) -> list[Any]:
    """Final states of walks under a policy; their first states are used up.

    `visit` hears of every decision between two actions or more, before it is taken,
    and tells the policy what it found out; where there is one action only nobody is
    asked.
    """
    states = [walk.state for walk in walks]
    active = list(range(len(walks)))
    limits = [task.most_steps(walk.x) for walk in walks]
    for steps in itertools.count():
        situations: list[Situation] = []
        asked: list[int] = []
        going: list[int] = []
        for i in active:
            walk = walks[i]
            legal = moves(task, walk.x, states[i])
            if not legal:
                continue
            if steps >= limits[i]:
                raise ValueError(endless(task, walk.place, walk.x, states[i]))
            going.append(i)
            if len(legal) == 1:
                states[i] = task.step(walk.x, states[i], legal[0])
                continue
            depth = walk.depth + steps
            asked.append(i)
            situations.append(
                Situation(
                    walk.place, walk.x, walk.y, states[i], legal, depth, walk.fold
                )
            )
        if not going:
            break
        if situations:
            known = () if visit is None else (visit(situations),)
            depths = np.array([situation.depth for situation in situations])
            draws = draw(keys[asked], depths)
            choices = policy.choose(situations, draws, *known)
            for i, one, choice in zip(asked, situations, choices, strict=True):
                states[i] = task.step(one.x, one.state, one.actions[choice])
        active = going
    return states


def start_walks(
    task: Task,
    X: Sequence[Any],
    Y: Sequence[Any] | None = None,
    folds: Integers | None = None,
) -> list[Walk]:
    """Walks from the first state of every input."""
    return [
        Walk(
            place,
            x,
            None if Y is None else Y[place],
            task.start(x),
            0,
            -1 if folds is None else int(folds[place]),
        )
        for place, x in enumerate(X)
    ]


def final_losses(task: Task, walks: Sequence[Walk], states: Sequence[Any]) -> Floats:
    """Losses at the end of walks; non-finite ones are refused with their input."""
    losses = np.empty(len(walks))
    for i, (walk, state) in enumerate(zip(walks, states, strict=True)):
        losses[i] = final_loss(task, walk.place, walk.x, walk.y, state)
    return losses
