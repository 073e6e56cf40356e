"""Epochs of learning: averaged weights, the best of them, and what is told of it."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from argmetric._input.types import Integers, SingleFloats
from argmetric._text.hashing import rounded

_FIRST_SQUARE = 0.01  # AdaGrad's sum of squares before the first gradient


@dataclass(frozen=True)
class Epoch:
    """What one epoch came to."""

    epoch: int
    error: float
    score: float | None
    seconds: float


class Weights:
    """Weights that are learned, and what AdaGrad and averages need.

    squares = Σ g² of AdaGrad, empty where steps are plain; sums = Σ (time of a change)
    · change since averaging started: the average is weights - sums / time.
    """

    def __init__(self, n: int, seed: int, *, adaptive: bool = True) -> None:
        self.weights = np.zeros(n, dtype=np.float32)
        self.squares = np.full(n if adaptive else 0, _FIRST_SQUARE, dtype=np.float32)
        self.sums = np.zeros(n, dtype=np.float32)
        self.seed = np.array([seed], dtype=np.uint64)
        self.epoch = 0
        self.time = 0.0

    @property
    def arrays(self) -> tuple[SingleFloats, SingleFloats, SingleFloats]:
        """What the kernels take."""
        return self.weights, self.squares, self.sums

    def average(self) -> SingleFloats:
        """The mean of the weights since averaging started, or else the weights."""
        if self.time <= 0.0:
            return self.weights.copy()
        return self.weights - self.sums / np.float32(self.time)

    def growth(self, epochs: int, n_decisions: int) -> float:
        """Of the time with each decision of this epoch; the first is not averaged."""
        averaged = self.epoch >= 1 or epochs == 1
        return 1.0 / n_decisions / max(epochs - 1, 1) if averaged else 0.0


def blocks_of(order: Integers, sizes: Integers, size: int) -> list[Integers]:
    """Sentences in blocks of about a size, between two looks at the keyboard."""
    blocks = np.cumsum(sizes[order]) // size
    return np.split(order, np.flatnonzero(np.diff(blocks)) + 1)


def run_epochs(
    learning: Weights,
    epochs: int,
    run_epoch: Callable[[], Iterable[int]],
    n_decisions: int,
    *,
    score: Callable[[SingleFloats], float] | None = None,
    report: Callable[[Epoch], None] | None = None,
) -> tuple[SingleFloats, bool]:
    """Run epochs; returns the best weights, and whether an interrupt ended them.

    Parameters
    ----------
    learning : Weights
        What is learned. Nothing learned yet, an interrupt goes on to the caller.
    epochs : int
        How many.
    run_epoch : callable
        One pass, which yields the wrong decisions of each block.
    n_decisions : int
        Decisions of a pass.
    score : callable, optional
        Of averaged weights: those of the epoch with the highest score are the best,
        without it those of the last.
    report : callable, optional
        Hears of every epoch.
    """
    best: tuple[float, SingleFloats] | None = None
    interrupted = False
    try:
        for number in range(epochs):
            start = time.perf_counter()
            wrong = sum(run_epoch())
            found = None
            if score is not None:
                weights = learning.average()
                found = score(weights)
                if best is None or found > best[0]:
                    best = found, weights
            seconds = time.perf_counter() - start
            if report is not None:
                report(Epoch(number + 1, wrong / n_decisions, found, seconds))
    except KeyboardInterrupt:
        if not learning.epoch and not learning.weights.any():
            raise
        interrupted = True
    return rounded(learning.average() if best is None else best[1]), interrupted


@dataclass(eq=False)
class Log:
    """The history of a fit, told to whoever listens.

    Attributes
    ----------
    on_epoch : callable or None
        Called with every new row.
    verbose : int
        1 writes a line for each row to standard error.
    rows : list of dict
        Stage, and what `Epoch` has.
    interrupted : bool
        Whether an interrupt ended the learning.
    """

    on_epoch: Callable[[dict[str, Any]], None] | None = None
    verbose: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)
    interrupted: bool = False

    def hear(self, stage: str) -> Callable[[Epoch], None]:
        """A listener for the epochs of one stage."""

        def listen(epoch: Epoch) -> None:
            self.add({"stage": stage, **vars(epoch)})

        return listen

    def add(self, row: dict[str, Any]) -> None:
        """Keep a row and tell it."""
        self.rows.append(row)
        if self.verbose:
            score = "" if row["score"] is None else f", dev {row['score']:.4f}"
            sys.stderr.write(
                f"{row['stage']}, epoch {row['epoch']}: {row['error']:.2%} wrong"
                f"{score}, {row['seconds']:.1f} s\n"
            )
        if self.on_epoch is not None:
            self.on_epoch(row)

    def warn_of_interrupt(self) -> None:
        """Warn the caller of a fit that calls what calls this."""
        if self.interrupted:
            warnings.warn(
                "learning was interrupted: the best policy so far is kept",
                UserWarning,
                stacklevel=4,
            )


Learned = Callable[[bool], Any]


def learn_directions(
    directions: Iterable[bool], learn: Learned, log: Log
) -> Iterator[Any]:
    """Learn each side; an interrupt ends the one and leaves out the others.

    `learn` takes whether the side reads from the right.
    """
    learned = 0
    for reverse in directions:
        try:
            side = learn(reverse)
        except KeyboardInterrupt:
            if not learned:
                raise
            log.interrupted = True
            return
        # Half a side would spoil the whole one beside it
        if not (log.interrupted and learned):
            learned += 1
            yield side
        if log.interrupted:
            return
