"""Learning of a policy that builds trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from argmetric._input.types import Hashes, Integers, SingleFloats
from argmetric._text._epochs import Epoch, Weights, blocks_of, run_epochs
from argmetric._text.common import gold_share

RollIn = Literal["static", "own", "cross"]

_BLOCK = 10_000  # words between two looks at the keyboard
FOLDS = 4


@dataclass(frozen=True)
class Recipe:
    """How a policy is learned."""

    roll_in: RollIn
    epochs: int
    step: float
    dropout: float


@dataclass(frozen=True, eq=False)
class Trees:
    """Sentences in the order in which they are read, and their right heads."""

    codes: Hashes
    starts: Integers
    heads: Integers

    @property
    def text(self) -> tuple[Hashes, Integers]:
        """What the kernels take."""
        return self.codes, self.starts

    def part(self, low: int, high: int) -> Trees:
        """The sentences from `low` up to, not including, `high`."""
        a, b = int(self.starts[low]), int(self.starts[high])
        starts = self.starts[low : high + 1] - a
        return Trees(self.codes[a:b], starts, self.heads[a:b])


@dataclass(frozen=True, eq=False)
class Policy:
    """Templates and the weights of their features."""

    scheme: tuple[Any, ...]
    weights: SingleFloats

    def greedy(self, trees: Trees) -> tuple[Integers, Integers]:
        """Heads of all rows, and the actions that made them."""
        from argmetric._text.kernels.parsing import parse_greedily

        n_sentences = len(trees.starts) - 1
        n_rows = int(trees.starts[-1])
        heads = np.empty(n_rows, dtype=np.int64)
        actions = np.empty(2 * (n_rows - n_sentences), dtype=np.int64)
        parse_greedily(trees.text, self.scheme, self.weights, heads, actions)
        return heads, actions


class Learning(Weights):
    """The state of a learner between two epochs."""

    def __init__(self, scheme: tuple[Any, ...], recipe: Recipe, seed: int) -> None:
        super().__init__(3 << 64 - int(scheme[-1]), seed)
        self.scheme = scheme
        self.recipe = recipe

    def run_epoch(
        self, trees: Trees, paths: Integers, order: Integers, n_decisions: int
    ) -> Iterator[int]:
        """One pass over sentences, a block at a time; yields the wrong decisions."""
        from argmetric._text.kernels.parsing import learn_trees

        recipe = self.recipe
        share = 1.0
        if recipe.roll_in != "static":
            share = gold_share("mixed", self.epoch)
        settings = (
            recipe.step,
            recipe.dropout,
            share,
            self.growth(recipe.epochs, n_decisions),
        )
        for block in blocks_of(order, np.diff(trees.starts), _BLOCK):
            wrong, self.time = learn_trees(
                trees.text,
                self.scheme,
                settings,
                trees.heads,
                paths,
                block,
                self.arrays,
                self.time,
                self.seed,
            )
            yield int(wrong)
        self.epoch += 1


_NO_PATHS = np.empty(0, dtype=np.int64)


def learn_epochs(
    learning: Learning,
    trees: Trees,
    random_state: int,
    *,
    chosen: Integers | None = None,
    paths: Integers = _NO_PATHS,
    score: Callable[[Policy], float] | None = None,
    report: Callable[[Epoch], None] | None = None,
) -> tuple[Policy, bool]:
    """Run the epochs of a recipe; returns the best policy and whether it is unfinished.

    With `score`, the best policy is that of the epoch with the highest score, without
    it the last one.
    """
    rng = np.random.default_rng(random_state)
    places = np.arange(len(trees.starts) - 1) if chosen is None else chosen
    n_decisions = max(2 * int((np.diff(trees.starts)[places] - 1).sum()), 1)
    scheme = learning.scheme
    weights, interrupted = run_epochs(
        learning,
        learning.recipe.epochs,
        lambda: learning.run_epoch(trees, paths, rng.permutation(places), n_decisions),
        n_decisions,
        score=score and (lambda weights: score(Policy(scheme, weights))),
        report=report,
    )
    return Policy(scheme, weights), interrupted
