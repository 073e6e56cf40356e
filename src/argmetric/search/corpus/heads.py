"""Heads of words, and whether they form trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from argmetric._ground.arguments import check_items, shown
from argmetric._ground.types import AnyArray, Integers

NO_HEAD = -1


@dataclass(frozen=True, eq=False)
class Heads:
    """Heads of all words of a text, sentences concatenated."""

    # numbers of heads within their sentence, counted from 1; 0 is the root
    values: Integers
    sentences: Integers  # word numbers where sentences start, and the number of words

    @classmethod
    def of(cls, heads: Sequence[AnyArray]) -> Heads:
        """Concatenate the heads of sentences."""
        sizes = np.fromiter(map(len, heads), np.int64, len(heads))
        values = np.concatenate([np.zeros(0, np.int64), *heads], dtype=np.int64)
        return cls(values, np.append(0, np.cumsum(sizes)))

    @property
    def sizes(self) -> Integers:
        """Return the number of words of each sentence."""
        return np.diff(self.sentences)

    def sentence_of_words(self) -> Integers:
        """Return the number of each word's sentence."""
        return np.repeat(np.arange(len(self.sentences) - 1), self.sizes)

    def outside(self) -> Integers:
        """Return words whose head is no word of the sentence, and not the root."""
        sizes = np.repeat(self.sizes, self.sizes)
        return np.flatnonzero((self.values < 0) | (self.values > sizes))

    def roots(self) -> Integers:
        """Return the number of roots of each sentence."""
        where = self.sentence_of_words()[self.values == 0]
        return np.bincount(where, minlength=len(self.sentences) - 1)

    def words_off_root(self) -> Integers:
        """Return words whose heads do not lead to the root: in or below a cycle."""
        ahead, root = self._with_roots()
        for _ in range(self._doublings()):
            ahead = ahead[ahead]
        return np.flatnonzero(ahead[self._slots()] != np.repeat(root, self.sizes))

    def _slots(self) -> Integers:
        """Return indices of words, with a slot for the root before each sentence."""
        return np.arange(len(self.values)) + self.sentence_of_words() + 1

    def _with_roots(self) -> tuple[Integers, Integers]:
        """Return the head of every slot, roots their own, and the slots of roots."""
        root = self.sentences[:-1] + np.arange(len(self.sentences) - 1)
        above = np.empty(len(self.values) + len(root), dtype=np.int64)
        above[root] = root
        above[self._slots()] = self.values + np.repeat(root, self.sizes)
        return above, root

    def _doublings(self) -> int:
        return int(self.sizes.max(initial=0)).bit_length()


def check_heads(value: object, name: str) -> Integers:
    """Return the heads of one sentence as an array."""
    wanted = "a list of whole numbers"
    items = value if isinstance(value, np.ndarray) else check_items(value, name, wanted)
    try:
        heads = np.asarray(items)
    except ValueError:  # lists of different lengths
        heads = np.zeros((1, 1))
    if heads.ndim == 1 and not heads.size:
        return np.zeros(0, dtype=np.int64)
    if heads.ndim != 1 or heads.dtype.kind not in "iu":
        raise TypeError(f"{name} must be {wanted}, not {shown(value)}")
    return heads.astype(np.int64, copy=False)
