"""Learning of a policy that builds trees."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from argmetric._types import Hashes, Integers, SingleFloats
from argmetric.search._common import gold_share
from argmetric.search._hashing import rounded

RollIn = Literal["static", "own", "cross"]

_FIRST_SQUARE = 0.01  # AdaGrad's sum of squares before the first gradient
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
        from argmetric._kernels.parsing import parse_greedily

        n_sentences = len(trees.starts) - 1
        n_rows = int(trees.starts[-1])
        heads = np.empty(n_rows, dtype=np.int64)
        actions = np.empty(2 * (n_rows - n_sentences), dtype=np.int64)
        parse_greedily(trees.text, self.scheme, self.weights, heads, actions)
        return heads, actions


@dataclass(frozen=True)
class Epoch:
    """What one epoch came to."""

    epoch: int
    error: float
    score: float | None
    seconds: float


class Learning:
    """The state of a learner: weights, and what AdaGrad and averages need.

    sums = Σ (time of a change) · change since averaging started: the average is
    weights - sums / time.
    """

    def __init__(self, scheme: tuple[Any, ...], recipe: Recipe, seed: int) -> None:
        n = 3 << 64 - int(scheme[-1])
        self.scheme = scheme
        self.recipe = recipe
        self.weights = np.zeros(n, dtype=np.float32)
        self.squares = np.full(n, _FIRST_SQUARE, dtype=np.float32)
        self.sums = np.zeros(n, dtype=np.float32)
        self.seed = np.array([seed], dtype=np.uint64)
        self.epoch = 0
        self.time = 0.0

    def average(self) -> SingleFloats:
        """The mean of the weights since averaging started, or else the weights."""
        if self.time <= 0.0:
            return self.weights.copy()
        return self.weights - self.sums / np.float32(self.time)

    def run_epoch(
        self, trees: Trees, paths: Integers, order: Integers, n_decisions: int
    ) -> Iterator[int]:
        """One pass over sentences, a block at a time; yields the wrong decisions."""
        from argmetric._kernels.parsing import learn_trees

        recipe = self.recipe
        averaged = self.epoch >= 1 or recipe.epochs == 1
        share = 1.0
        if recipe.roll_in != "static":
            share = gold_share("mixed", self.epoch)
        settings = (
            recipe.step,
            recipe.dropout,
            share,
            1.0 / n_decisions / max(recipe.epochs - 1, 1) if averaged else 0.0,
        )
        blocks = np.cumsum(np.diff(trees.starts)[order]) // _BLOCK
        for block in np.split(order, np.flatnonzero(np.diff(blocks)) + 1):
            wrong, self.time = learn_trees(
                trees.text,
                self.scheme,
                settings,
                trees.heads,
                paths,
                block,
                self.weights,
                self.squares,
                self.sums,
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
    best: tuple[float, SingleFloats] | None = None
    if chosen is None:
        chosen = np.arange(len(trees.starts) - 1)
    n_decisions = max(2 * int((np.diff(trees.starts)[chosen] - 1).sum()), 1)
    interrupted = False
    try:
        for number in range(learning.recipe.epochs):
            start = time.perf_counter()
            order = rng.permutation(chosen)
            wrong = sum(learning.run_epoch(trees, paths, order, n_decisions))
            found = None
            if score is not None:
                weights = learning.average()
                found = score(Policy(learning.scheme, weights))
                if best is None or found > best[0]:
                    best = found, weights
            seconds = time.perf_counter() - start
            if report is not None:
                report(Epoch(number + 1, wrong / n_decisions, found, seconds))
    except KeyboardInterrupt:
        if not learning.weights.any():
            raise
        interrupted = True
    weights = learning.average() if best is None else best[1]
    return Policy(learning.scheme, rounded(weights)), interrupted
