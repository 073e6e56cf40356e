"""Sentences of a cluster as the library cuts them, and matrices of what they hold."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from argmetric.search.summaries.cluster import read_cluster
from argmetric.search.summaries.rouge import tokens
from summaries_parts.data import Document


@dataclass(frozen=True)
class Sentences:
    """Whole sentences in the order of the sources."""

    texts: list[str]
    tokens: list[list[str]]
    documents: np.ndarray
    words: np.ndarray

    def text(self, chosen: Sequence[int]) -> str:
        """Chosen sentences in the order of the sources."""
        return " ".join(self.texts[i] for i in sorted(chosen))

    def bigrams(self) -> tuple[list[Hashable], np.ndarray]:
        """All pairs of neighbours, and how often each sentence has them."""
        return count([list(itertools.pairwise(own)) for own in self.tokens])


def sentences_of(documents: Sequence[Document]) -> Sentences:
    cluster = read_cluster(documents, "cluster")
    starts = cluster.sentence_starts
    texts = [" ".join(cluster.words[a:b]) for a, b in itertools.pairwise(starts)]
    own = [tokens(text) for text in texts]
    return Sentences(texts, own, cluster.sentence_documents, np.diff(starts))


def count(bags: Sequence[Sequence[Hashable]]) -> tuple[list[Hashable], np.ndarray]:
    """Things by number, and a matrix of how often each bag has them."""
    numbers: dict[Hashable, int] = {}
    for thing in itertools.chain.from_iterable(bags):
        numbers.setdefault(thing, len(numbers))
    counts = np.zeros((len(numbers), len(bags)), dtype=np.int64)
    for i, bag in enumerate(bags):
        np.add.at(counts[:, i], [numbers[thing] for thing in bag], 1)
    return list(numbers), counts
