"""The parts of an iteration of SEARN."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any

import numpy as np

from argmetric._arguments import shown
from argmetric._types import Floats, Integers
from argmetric.search._searn._decisions import (
    Decisions,
    Situation,
    best_actions,
    cheapest_regrets,
)
from argmetric.search._searn._learners import CostSensitiveLearner, Scorer
from argmetric.search._searn._policy import LearnedPolicy, Mixture
from argmetric.search._searn._task import Task
from argmetric.search._searn._walk import final_losses, make_keys, run, start_walks

Data = tuple[Sequence[Any], Sequence[Any]]


def folds_of(n: int, n_folds: int | None, seed: int) -> Integers | None:
    """The fold of each input, the same in every iteration."""
    if n_folds is None:
        return None
    if n < n_folds:
        raise ValueError(f"{n} inputs make no {n_folds} folds: lower cross_validation")
    return np.asarray(np.random.default_rng(seed).permutation(n) % n_folds)


def roll_in(
    task: Task, mixture: Mixture, data: Data, folds: Integers | None, seed: int
) -> tuple[list[Situation], float]:
    """Decisions that a policy meets on its way, and its mean loss."""
    X, Y = data
    situations: list[Situation] = []
    walks = start_walks(task, X, Y, folds)
    keys = make_keys(seed, np.arange(len(X)))
    states = run(task, mixture, walks, keys, situations.extend)
    losses = final_losses(task, walks, states)
    return situations, float(losses.mean()) if losses.size else 0.0


def learn_policy(
    task: Task,
    learner: CostSensitiveLearner,
    situations: Sequence[Situation],
    decisions: Decisions,
    costs: Floats,
    n_folds: int | None,
    rng: np.random.Generator,
) -> LearnedPolicy:
    """A classifier of decisions, and one without each fold."""
    scorer = learner.fit(decisions, costs, rng)
    folds: list[Scorer] = []
    fold_of = np.array([one.fold for one in situations], dtype=np.int64)
    for fold in range(n_folds or 0):
        rows = np.flatnonzero(fold_of != fold)
        inside = (fold_of != fold)[decisions.owners]
        folds.append(learner.fit(decisions.take(rows), costs[inside], rng))
    return LearnedPolicy(task, scorer, tuple(folds))


def mean_regret(
    policy: LearnedPolicy,
    situations: Sequence[Situation],
    decisions: Decisions,
    costs: Floats,
) -> float:
    """Mean regret of a policy's choices."""
    if not situations:
        return 0.0
    choices = best_actions(policy.scores(situations, decisions), decisions.indptr)
    regrets = cheapest_regrets(costs, decisions.indptr)
    return float(regrets[decisions.indptr[:-1] + choices].mean())


def same_number(X: Any, Y: Any, what: str = "") -> Data:
    """Refuse unequal numbers of inputs and labels."""
    for name, values in (("X", X), ("Y", Y)):
        if not isinstance(values, Sized) or getattr(values, "ndim", 1) == 0:
            raise TypeError(f"{what}{name} must be a sequence, not {shown(values)}")
    if len(X) != len(Y):
        raise ValueError(f"{what}X has {len(X)} inputs but Y has {len(Y)}")
    return X, Y


def split(
    data: Data, dev: Data | float | None, rng: np.random.Generator
) -> tuple[Data, Data | None]:
    """Training and development inputs."""
    if dev is None:
        return data, None
    if not isinstance(dev, int | float):
        found = same_number(*dev, "dev: ")
        if not len(found[0]):
            raise ValueError("dev holds no inputs")
        return data, found
    if not 0 < dev < 1:
        raise ValueError(f"dev must be (X, Y) or a share between 0 and 1, not {dev!r}")
    X, Y = data
    n = max(1, round(dev * len(X)))
    if n >= len(X):
        raise ValueError(f"{len(X)} inputs leave none to train on beside dev={dev}")
    order = rng.permutation(len(X))
    held, rest = np.sort(order[:n]), np.sort(order[n:])
    return (
        ([X[i] for i in rest], [Y[i] for i in rest]),
        ([X[i] for i in held], [Y[i] for i in held]),
    )
