"""Summaries of whole sentences that learn nothing, and those that know the references.

Each takes sentences that fit what is left of the budget, and returns their numbers.
Recall rewards a full budget: what no concept fills is filled as `lead` does.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from argmetric.search.summaries.rouge import tokens
from summaries_parts.coverage import Coverage
from summaries_parts.sentences import Sentences, count

FEWEST_DOCUMENTS = 2  # that a concept is in


def filled(
    sentences: Sentences, order: Sequence[int], budget: int, chosen: Sequence[int] = ()
) -> list[int]:
    """Chosen sentences, then those in this order that still fit."""
    found = list(chosen)
    left = budget - int(sentences.words[found].sum())
    for i in order:
        if i not in found and sentences.words[i] <= left:
            found.append(i)
            left -= int(sentences.words[i])
    return found


def lead(sentences: Sentences, budget: int, chosen: Sequence[int] = ()) -> list[int]:
    """The first sentences of all documents, then the second ones."""
    starts = np.r_[True, np.diff(sentences.documents) != 0]
    first = np.maximum.accumulate(np.where(starts, np.arange(starts.size), 0))
    depth = np.arange(starts.size) - first
    order = np.lexsort((sentences.documents, depth)).tolist()
    return filled(sentences, order, budget, chosen)


def concepts(sentences: Sentences, budget: int) -> Coverage:
    """Bigrams of two or more documents, weighed by how many documents have them."""
    _, counts = sentences.bigrams()
    edges = np.flatnonzero(np.r_[True, np.diff(sentences.documents) != 0])
    has = counts > 0
    frequency = np.logical_or.reduceat(has, edges, axis=1).sum(axis=1)
    kept = frequency >= FEWEST_DOCUMENTS
    ones = np.ones(int(kept.sum()))
    weights = frequency[kept].astype(float)
    return Coverage(has[kept].astype(np.int64), ones, weights, sentences.words, budget)


def rouge(sentences: Sentences, references: Sequence[str], budget: int) -> Coverage:
    """ROUGE-2 recall, the mean over the references, as something to cover."""
    things, counts = sentences.bigrams()
    number = {thing: i for i, thing in enumerate(things)}
    rows, caps, weights = [], [], []
    for reference in references:
        read = tokens(reference)
        pairs, wanted = count([list(itertools.pairwise(read))])
        for pair, times in zip(pairs, wanted[:, 0], strict=True):
            if pair in number:
                rows.append(number[pair])
                caps.append(times)
                weights.append(1.0 / (wanted.sum() * len(references)))
    held = counts[rows].reshape(len(rows), len(sentences.texts))
    return Coverage(held, np.array(caps), np.array(weights), sentences.words, budget)
