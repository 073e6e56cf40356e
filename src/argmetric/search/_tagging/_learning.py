"""Learning of a policy from rows of features."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from argmetric._kernels.tagging_layout import Choices, Rows, Settings
from argmetric._types import Integers, SingleFloats
from argmetric.search._common import Costs, RollIn, gold_share
from argmetric.search._hashing import rounded
from argmetric.search._tagging._choices import size_of
from argmetric.search._tagging._engine import Policy

Learner = Literal["logistic", "perceptron", "svm"]

_LEARNERS: tuple[str, ...] = ("logistic", "perceptron", "svm")
_FIRST_SQUARE = 0.01  # AdaGrad's sum of squares before the first gradient
_BLOCK = 20_000  # decisions between two looks at the keyboard


@dataclass(frozen=True)
class Recipe:
    """How a policy is learned."""

    learner: Learner
    costs: Costs
    roll_in: RollIn
    epochs: int
    step: float
    dropout: float


@dataclass(eq=False)
class Learning:
    """The state of a learner between two epochs.

    W = weights, squares = Σ g² of AdaGrad, sums = Σ (time of a change) · change since
    averaging started: the average is W - sums / time.
    """

    choices: Choices
    recipe: Recipe
    weights: SingleFloats
    squares: SingleFloats
    sums: SingleFloats
    seed: npt.NDArray[np.uint64]
    epoch: int = 0
    time: float = 0.0

    @classmethod
    def start(cls, choices: Choices, recipe: Recipe, seed: int) -> Learning:
        """Zero weights."""
        n = size_of(choices)
        adaptive = recipe.learner != "perceptron"
        squares = np.full(n if adaptive else 0, _FIRST_SQUARE, dtype=np.float32)
        zeros = [np.zeros(n, dtype=np.float32) for _ in range(2)]
        state = np.array([seed], dtype=np.uint64)
        return cls(choices, recipe, zeros[0], squares, zeros[1], state)

    def average(self) -> SingleFloats:
        """The mean of the weights since averaging started, or else the weights."""
        if self.time <= 0.0:
            return self.weights.copy()
        return self.weights - self.sums / np.float32(self.time)

    def run_epoch(
        self, rows: Rows, gold: Integers, chosen: Integers, rng: np.random.Generator
    ) -> Iterator[int]:
        """One pass over the chosen sentences in random order, a block at a time.

        Yields the number of wrong decisions of each block.
        """
        from argmetric._kernels.tagging_train import train

        recipe, n = self.recipe, decisions_of(rows, chosen)
        averaged = self.epoch >= 1 or recipe.epochs == 1
        settings = Settings(
            _LEARNERS.index(recipe.learner),
            recipe.step,
            recipe.dropout,
            gold_share(recipe.roll_in, self.epoch),
            1.0 if recipe.costs == "regret" else 0.0,
            1.0 / n / max(recipe.epochs - 1, 1) if averaged else 0.0,
        )
        order = rng.permutation(chosen)
        lengths = np.diff(rows.sentences)[order]
        blocks = np.cumsum(lengths) // _BLOCK
        for block in np.split(order, np.flatnonzero(np.diff(blocks)) + 1):
            wrong, self.time = train(
                tuple(rows),
                tuple(self.choices),
                tuple(settings),
                gold,
                block,
                self.weights,
                self.squares,
                self.sums,
                self.time,
                self.seed,
            )
            yield int(wrong)
        self.epoch += 1


def decisions_of(rows: Rows, chosen: Integers) -> int:
    """Number of decisions in the chosen sentences, at least one."""
    return max(int(np.diff(rows.sentences)[chosen].sum()), 1)


@dataclass(frozen=True)
class Epoch:
    """What one epoch came to."""

    epoch: int
    error: float
    score: float | None
    seconds: float


def learn(
    learning: Learning,
    rows: Rows,
    gold: Integers,
    random_state: int,
    *,
    chosen: Integers | None = None,
    score: Callable[[Policy], float] | None = None,
    report: Callable[[Epoch], None] | None = None,
) -> tuple[Policy, list[Epoch], bool]:
    """Run the epochs of a recipe and keep the best policy.

    `chosen` sentences are learned from, by default all. With `score`, the best policy
    is that of the epoch with the highest score, without it the last one. An interrupt
    ends the learning and keeps the best policy so far.

    Returns
    -------
    policy, history, interrupted
    """
    rng = np.random.default_rng(random_state)
    history: list[Epoch] = []
    best: tuple[float, SingleFloats] | None = None
    interrupted = False
    if chosen is None:
        chosen = np.arange(len(rows.sentences) - 1)
    decisions = decisions_of(rows, chosen)
    try:
        for number in range(learning.recipe.epochs):
            start = time.perf_counter()
            wrong = sum(learning.run_epoch(rows, gold, chosen, rng))
            found = None
            if score is not None:
                weights = learning.average()
                found = score(Policy(learning.choices, weights))
                if best is None or found > best[0]:
                    best = found, weights
            seconds = time.perf_counter() - start
            history.append(Epoch(number + 1, wrong / decisions, found, seconds))
            if report is not None:
                report(history[-1])
    except KeyboardInterrupt:
        if not history and not learning.weights.any():
            raise
        interrupted = True
    weights = learning.average() if best is None else best[1]
    return Policy(learning.choices, rounded(weights)), history, interrupted
