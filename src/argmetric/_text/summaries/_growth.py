"""A summary that grows piece by piece within a budget."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from types import ModuleType
from typing import NamedTuple, Protocol

import numpy as np

from argmetric._input.types import Booleans, Floats, Integers
from argmetric._text.kernels import summaries_small
from argmetric._text.summaries._material import Budget, Material, text_of

_ROUNDING = 1e-11  # of scores: sums may be taken in any order


class Growth:
    """A summary in the making.

    Parameters
    ----------
    material : Material
    budget : Budget
    steps : ndarray of shape (n_values, n_grams, n_times)
        What each occurrence of a gram adds to each of the values of a text.
    is_open : ndarray of bool
        Which pieces may be added at all.
    min_words : int
        No sentence is left with fewer words.
    redundancy : float
        The largest share of the content of a new sentence that the summary may have
        already.
    small : bool
        Whether numpy is quicker than loading what is compiled.

    Attributes
    ----------
    step_of_word : ndarray of int64
        The step that added each word, -1 for none.
    gains : list of float
        The expected gain of each step.
    sizes : ndarray of float
        What adding each piece would cost now; 0 where it cannot be added.
    values : ndarray of shape (n_pieces, n_values)
        What it would add to each of the values.
    """

    def __init__(
        self,
        material: Material,
        budget: Budget,
        steps: Floats,
        is_open: Booleans,
        *,
        min_words: int = 1,
        redundancy: float = 1.0,
        small: bool = False,
    ) -> None:
        cluster, pieces = material.cluster, material.pieces
        self.material = material
        self.budget = budget
        self._kernels = _kernels(small=small)
        self.room = budget.room
        self.step_of_word = np.full(cluster.n_words, -1, dtype=np.int64)
        self.gains: list[float] = []
        self.sizes = np.empty(len(pieces))
        self._own = len(steps)
        self._steps = np.zeros((self._own + 1, *steps.shape[1:]))
        self._steps[: self._own] = steps
        self._steps[self._own, :, 0] = material.is_content
        self._found = np.empty((len(pieces), self._own + 1))
        self._is_open = is_open
        self._is_refused = np.zeros(len(pieces), dtype=bool)
        self._min_words = min_words
        self._redundancy = redundancy
        self._costs = budget.costs(cluster.words)
        self._kept = np.zeros(cluster.n_words, dtype=np.uint8)
        self._counts = np.zeros(len(material.grams), dtype=np.int64)
        self._scratch = (
            np.empty(cluster.n_sentences, dtype=np.int64),
            np.empty(cluster.n_sentences, dtype=np.int64),
            np.empty(cluster.n_words, dtype=np.int64),
            np.empty(self._own + 1),
            np.empty(self._own + 1),
        )
        self._measure()
        self._content = self._found[:, self._own].copy()

    def branch(self) -> Growth:
        """A growth that goes on from here on its own."""
        other = copy(self)
        for name in ("step_of_word", "gains", "sizes", "_found", "_kept", "_counts"):
            setattr(other, name, getattr(self, name).copy())
        other._is_refused = self._is_refused.copy()
        return other

    @property
    def kept(self) -> Booleans:
        """Which words are in the summary."""
        return self._kept.astype(bool)

    @property
    def values(self) -> Floats:
        """What each piece would add to each of the values."""
        return self._found[:, : self._own]

    @property
    def kept_words(self) -> Integers:
        """How many words of each sentence are kept."""
        starts = self.material.cluster.sentence_starts[:-1]
        return np.add.reduceat(self._kept, starts, dtype=np.int64)

    @property
    def used(self) -> float:
        """What the kept words cost."""
        return self.budget.room - self.room

    @property
    def size(self) -> int:
        """How much of the budget the summary takes."""
        return self.budget.size(text_of(self.material.cluster.words, self._kept))

    @property
    def shortest(self) -> int | None:
        """Size of the shortest piece, whether or not it fits; None: none is open."""
        pieces = self.material.pieces
        costs = np.add.reduceat(self._costs[pieces.words], pieces.starts[:-1])
        can = self._is_open & (np.diff(pieces.starts) >= self._min_words)
        if not can.any():
            return None
        kept = np.zeros(len(self._kept), dtype=bool)
        kept[pieces.words_of(int(np.where(can, costs, np.inf).argmin()))] = True
        return self.budget.size(text_of(self.material.cluster.words, kept))

    def cost_of(self, piece: int) -> float:
        """What the words of a piece cost that are not kept."""
        words = self.material.pieces.words_of(piece)
        return float(self._costs[words[self._kept[words] == 0]].sum())

    def _measure(self) -> None:
        grams, pieces = self.material.grams, self.material.pieces
        self._kernels.measure_pieces(
            self.material.cluster.sentence_starts,
            grams.text,
            grams.table,
            pieces.arrays,
            self._kept,
            self._counts,
            self._steps,
            self._costs,
            self.room,
            self._scratch,
            self.sizes,
            self._found,
        )

    def measure(self) -> bool:
        """Bring `sizes` and `values` up to date; whether there is a piece to add."""
        self._measure()
        pieces = self.material.pieces
        kept = self.kept_words[pieces.sentences]
        new = np.add.reduceat(self._kept[pieces.words] == 0, pieces.starts[:-1])
        is_wrong = (self.sizes < 0.0) | ~self._is_open | self._is_refused
        is_wrong |= kept + new < self._min_words
        if self._redundancy < 1.0:
            repeated = self._content - self._found[:, self._own]
            is_wrong |= (kept == 0) & (repeated > self._redundancy * self._content)
        self.sizes[is_wrong] = 0.0
        return bool(self.sizes.any())

    def take(self, piece: int, gain: float) -> bool:
        """Add a piece; False, and never again, where the user's own count says no."""
        words = self.material.pieces.words_of(piece)
        new = words[self._kept[words] == 0]
        self._kept[new] = 1
        if self.budget.count is not None:
            text = text_of(self.material.cluster.words, self._kept)
            if self.budget.size(text) > self.budget.limit:
                self._kept[new] = 0
                self._is_refused[piece] = True
                return False
        self.step_of_word[new] = len(self.gains)
        self.gains.append(gain)
        self.room -= float(self._costs[new].sum())
        grams = self.material.grams
        self._kernels.count_grams(
            self.material.cluster.sentence_starts,
            grams.text,
            grams.table,
            self._kept,
            self._counts,
        )
        return True


def _kernels(*, small: bool) -> ModuleType:
    if small:
        return summaries_small
    from argmetric._text.kernels import summaries

    return summaries


class Chooser(NamedTuple):
    """How a policy looks at one cluster.

    Attributes
    ----------
    steps : ndarray of shape (n_values, n_grams, n_times)
        What grams are worth.
    scores : callable
        From a growth to the expected gain of each piece for each unit of the budget
        that it takes.
    """

    steps: Floats
    scores: Callable[[Growth], Floats]


class Policy(Protocol):
    """What chooses the next piece."""

    def chooser(self, material: Material) -> Chooser:
        """How it looks at a cluster."""


def gain_per_unit(growth: Growth) -> Floats:
    """What each piece adds to the first of the values, by what it costs."""
    sizes = np.where(growth.sizes > 0.0, growth.sizes, 1.0)
    found: Floats = growth.values[:, 0] / sizes
    return found


def best_of(scores: Floats, growth: Growth) -> int:
    """The first piece with the highest score, but for rounding, of those that fit."""
    can = np.where(growth.sizes > 0.0, scores, -np.inf)
    highest = can.max()
    return int((can >= highest - _ROUNDING * abs(highest)).argmax())


def grow(growth: Growth, chooser: Chooser) -> None:
    """Add the piece with the highest score until none fits, or none brings a gain."""
    while growth.measure():
        scores = chooser.scores(growth)
        best = best_of(scores, growth)
        if scores[best] <= 0.0:
            return
        growth.take(best, float(scores[best] * growth.sizes[best]))
