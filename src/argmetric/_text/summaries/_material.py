"""A cluster made ready for search: its pieces, its grams, and what its words cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from argmetric._input.arguments import check_count
from argmetric._input.types import AnyArray, Booleans, Floats
from argmetric._text.summaries._grams import Grams, number_grams
from argmetric._text.summaries._needs import Needs, Parse, read_needs
from argmetric._text.summaries._pieces import Pieces, spans_and_needs, whole_sentences
from argmetric._text.summaries._word_lists import STOP_WORDS
from argmetric._text.summaries.cluster import Cluster
from argmetric._text.summaries.rouge import tokens

Mode = Literal["sentences", "compressed"]

_TIMES = 8  # a word is repeated, so that counts that are rounded tell its share


@dataclass(frozen=True, eq=False)
class Material:
    """What a summary of a cluster is made of.

    Attributes
    ----------
    cluster : Cluster
    pieces : Pieces
        What can be added in one step.
    grams : Grams
        What the words say.
    references : list of lists of str
        The tokens of the references, where there are some.
    needs : Needs or None
        What hangs together, where pieces are parts of sentences.
    """

    cluster: Cluster
    pieces: Pieces
    grams: Grams
    references: list[list[str]]
    needs: Needs | None

    @cached_property
    def is_stop_word(self) -> Booleans:
        """Which tokens are words of grammar."""
        return np.array([t in STOP_WORDS for t in self.grams.types], dtype=bool)

    @cached_property
    def is_content(self) -> Floats:
        """1 for tokens that are not words of grammar, 0 for all other grams."""
        found = np.zeros(len(self.grams))
        found[: len(self.is_stop_word)] = ~self.is_stop_word
        return found


def make_material(
    cluster: Cluster,
    mode: Mode,
    parse: Parse | None,
    references: Sequence[str] = (),
) -> Material:
    """Cut a cluster into pieces and count what it says."""
    known = [tokens(reference) for reference in references]
    grams = number_grams(cluster, known)
    needs = read_needs(cluster, parse) if mode == "compressed" else None
    pieces = spans_and_needs(cluster, needs) if needs else whole_sentences(cluster)
    return Material(cluster, pieces, grams, known, needs)


@dataclass(frozen=True, eq=False)
class Budget:
    """How long a summary may be.

    Attributes
    ----------
    limit : int
        The most that `size` may be.
    unit : str
        What is counted.
    count : callable, optional
        The user's own count of a text; by default words or characters are counted.
    """

    limit: int
    unit: str
    count: Callable[[str], int] | None = None

    def costs(self, words: list[str]) -> Floats:
        """What each word costs in the midst of a text, with the blank behind it."""
        if self.unit == "words":
            return np.ones(len(words))
        if self.unit == "characters":
            return np.array([len(word) + 1.0 for word in words])
        kinds, codes = np.unique(np.array(words, dtype=str), return_inverse=True)
        costs = [self._repeated(kind) for kind in kinds.tolist()]
        return np.array(costs, dtype=np.float64)[codes]

    def _repeated(self, word: str) -> float:
        """What one more of a word costs; what every text costs is left out."""
        more = self.size(" ".join([word] * (1 + _TIMES))) - self.size(word)
        return max(more, 1) / _TIMES

    @property
    def room(self) -> float:
        """What the costs may sum up to: there is no blank behind the last word."""
        return float(self.limit + (self.unit != "words"))

    def size(self, text: str) -> int:
        """How much of the budget a text takes."""
        if self.count is not None:
            return check_count(self.count(text), "what count gives")
        return len(text.split()) if self.unit == "words" else len(text)


def text_of(words: list[str], kept: AnyArray) -> str:
    """The kept words, joined by blanks."""
    return " ".join(words[i] for i in np.flatnonzero(kept).tolist())
