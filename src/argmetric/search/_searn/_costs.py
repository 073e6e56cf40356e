"""What actions cost under a policy: three ways to tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from argmetric.search._searn._decisions import Situation
from argmetric.search._searn._policy import Mixture
from argmetric.search._searn._reference import InitialPolicy, check_costs
from argmetric.search._searn._task import Task
from argmetric.search._searn._walk import Walk, final_losses, make_keys, run

CostKind = Literal["optimal", "rollout", "tied"]
COSTS: tuple[str, ...] = get_args(CostKind)
_BLOCK = 20_000  # roll-outs that run together


def optimal_costs(
    initial: InitialPolicy, situations: Sequence[Situation]
) -> list[list[float]]:
    """Losses if the initial policy takes all later decisions."""
    return [initial.costs(situation) for situation in situations]


def rollout_costs(
    task: Task,
    mixture: Mixture,
    situations: Sequence[Situation],
    *,
    n_rollouts: int,
    tied: bool,
    seed: int,
) -> list[list[float]]:
    """Mean losses of paths that follow the policy after each action.

    Untied, every path draws for itself. Tied (Pegasus), the draws at a depth are the
    same for all actions and states of an input, so that differences are due to the
    actions alone; one path each.
    """
    n_paths = 1 if tied or mixture.deterministic else n_rollouts
    costs: list[list[float]] = []
    per_block = max(1, _BLOCK // max(1, n_paths))
    block: list[Situation] = []
    size = 0
    for number, situation in enumerate(situations):
        block.append(situation)
        size += len(situation.actions)
        if size >= per_block or number == len(situations) - 1:
            first = number + 1 - len(block)
            costs += _block_costs(task, mixture, block, first, n_paths, tied, seed)
            block, size = [], 0
    return costs


def _block_costs(
    task: Task,
    mixture: Mixture,
    situations: Sequence[Situation],
    first: int,
    n_paths: int,
    tied: bool,
    seed: int,
) -> list[list[float]]:
    walks: list[Walk] = []
    labels: list[tuple[int, int, int]] = []
    for number, (place, x, y, state, actions, depth, fold) in enumerate(situations):
        for a, action in enumerate(actions):
            child = task.step(x, task.copy(state), action)
            for path in range(n_paths):
                first_state = task.copy(child) if path else child
                walks.append(Walk(place, x, y, first_state, depth + 1, fold))
                labels.append((place, 0, 0) if tied else (first + number, a + 1, path))
    keys = make_keys(seed, *np.array(labels, dtype=np.int64).T)
    losses = final_losses(task, walks, run(task, mixture, walks, keys))
    means = losses.reshape(-1, n_paths).mean(axis=1)
    ends = np.cumsum([len(situation.actions) for situation in situations])
    return [
        check_costs(part, situation)
        for part, situation in zip(np.split(means, ends[:-1]), situations, strict=True)
    ]
