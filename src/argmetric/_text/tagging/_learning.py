"""Learning of a policy from rows of features."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from argmetric._input.types import Integers
from argmetric._text._epochs import Epoch, Weights, blocks_of, run_epochs
from argmetric._text.common import Costs, RollIn, gold_share
from argmetric._text.kernels.tagging_layout import Choices, Rows, Settings
from argmetric._text.tagging._choices import size_of
from argmetric._text.tagging._engine import Policy

Learner = Literal["logistic", "perceptron", "svm"]

_LEARNERS: tuple[str, ...] = ("logistic", "perceptron", "svm")
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


class Learning(Weights):
    """The state of a learner between two epochs."""

    def __init__(self, choices: Choices, recipe: Recipe, seed: int) -> None:
        super().__init__(
            size_of(choices), seed, adaptive=recipe.learner != "perceptron"
        )
        self.choices = choices
        self.recipe = recipe

    def run_epoch(
        self, rows: Rows, gold: Integers, chosen: Integers, rng: np.random.Generator
    ) -> Iterator[int]:
        """One pass over the chosen sentences in random order, a block at a time.

        Yields the number of wrong decisions of each block.
        """
        from argmetric._text.kernels.tagging_train import train

        recipe, n = self.recipe, decisions_of(rows, chosen)
        settings = Settings(
            _LEARNERS.index(recipe.learner),
            recipe.step,
            recipe.dropout,
            gold_share(recipe.roll_in, self.epoch),
            1.0 if recipe.costs == "regret" else 0.0,
            self.growth(recipe.epochs, n),
        )
        order = rng.permutation(chosen)
        for block in blocks_of(order, np.diff(rows.sentences), _BLOCK):
            wrong, self.time = train(
                tuple(rows),
                tuple(self.choices),
                tuple(settings),
                gold,
                block,
                self.arrays,
                self.time,
                self.seed,
            )
            yield int(wrong)
        self.epoch += 1


def decisions_of(rows: Rows, chosen: Integers) -> int:
    """Number of decisions in the chosen sentences, at least one."""
    return max(int(np.diff(rows.sentences)[chosen].sum()), 1)


def learn(
    learning: Learning,
    rows: Rows,
    gold: Integers,
    random_state: int,
    *,
    chosen: Integers | None = None,
    score: Callable[[Policy], float] | None = None,
    report: Callable[[Epoch], None] | None = None,
) -> tuple[Policy, bool]:
    """Run the epochs of a recipe; returns the best policy and whether it is unfinished.

    `chosen` sentences are learned from, by default all. With `score`, the best policy
    is that of the epoch with the highest score, without it the last one. An interrupt
    ends the learning and keeps the best policy so far.
    """
    rng = np.random.default_rng(random_state)
    places = np.arange(len(rows.sentences) - 1) if chosen is None else chosen
    choices = learning.choices
    weights, interrupted = run_epochs(
        learning,
        learning.recipe.epochs,
        lambda: learning.run_epoch(rows, gold, places, rng),
        decisions_of(rows, places),
        score=score and (lambda weights: score(Policy(choices, weights))),
        report=report,
    )
    return Policy(choices, weights), interrupted
