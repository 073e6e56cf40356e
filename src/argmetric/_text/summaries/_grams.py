"""Words of a cluster as numbered tokens and pairs of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np

from argmetric._input.types import Booleans, Floats, Integers
from argmetric._text.kernels.summaries_small import fill_pairs
from argmetric._text.summaries.cluster import Cluster
from argmetric._text.summaries.rouge import tokens as tokens_of


@dataclass(frozen=True, eq=False)
class Grams:
    """Numbered grams of a cluster: tokens first, then pairs of neighbours.

    Attributes
    ----------
    types : list of str
        The tokens by number.
    places, tokens : ndarray of int64
        The tokens of word w are tokens[places[w] : places[w + 1]].
    lefts, rights : ndarray of int64
        The two tokens of each pair.
    keys, numbers : ndarray of int64
        The table of pairs.
    documents : ndarray of int64
        How many documents have each gram; sentences, where there is one document.
    n_documents : int
        Of how many.
    in_lead : ndarray of bool
        Which grams the lead has, where there is one document.
    times : ndarray of int64
        How often each gram occurs.
    """

    types: list[str]
    places: Integers
    tokens: Integers
    lefts: Integers
    rights: Integers
    keys: Integers
    numbers: Integers
    documents: Integers
    n_documents: int
    in_lead: Booleans
    times: Integers

    def __len__(self) -> int:
        return len(self.types) + len(self.lefts)

    @property
    def text(self) -> tuple[Integers, Integers]:
        """What the kernels take."""
        return self.places, self.tokens

    @property
    def table(self) -> tuple[int, Integers, Integers]:
        """What the kernels take."""
        return len(self.types), self.keys, self.numbers


def number_grams(cluster: Cluster, references: Sequence[Sequence[str]] = ()) -> Grams:
    """Grams of the sentences, and pairs of the references (lists of tokens) beside."""
    kinds, codes = np.unique(np.array(cluster.words, dtype=str), return_inverse=True)
    cut = [tokens_of(kind) for kind in kinds.tolist()]
    known = dict.fromkeys(chain.from_iterable(cut))
    types = {token: i for i, token in enumerate(known)}
    sizes = np.array([len(one) for one in cut], dtype=np.int64)
    flat = np.array([types[t] for t in chain.from_iterable(cut)], dtype=np.int64)
    firsts = np.cumsum(sizes) - sizes
    places = np.append(0, np.cumsum(sizes[codes]))
    inside = np.arange(places[-1]) - np.repeat(places[:-1], sizes[codes])
    tokens = flat[np.repeat(firsts[codes], sizes[codes]) + inside]
    sentences = np.repeat(cluster.word_sentences, sizes[codes])
    n_types = len(types)
    near = sentences[:-1] == sentences[1:]
    pairs = (tokens[:-1] * n_types + tokens[1:])[near]
    wanted = [
        types[a] * n_types + types[b]
        for one in references
        for a, b in pairwise(one)
        if a in types and b in types
    ]
    every = np.unique(np.append(pairs, np.array(wanted, dtype=np.int64)))
    keys = np.full(1 << int(2 * len(every) + 1).bit_length(), -1, dtype=np.int64)
    numbers = np.zeros(len(keys), dtype=np.int64)
    fill_pairs(every, keys, numbers)
    grams = np.append(tokens, n_types + np.searchsorted(every, pairs))
    places_of = np.append(sentences, sentences[:-1][near])
    n_grams = n_types + len(every)
    in_lead = np.zeros(n_grams, dtype=np.bool_)
    if len(cluster.documents) > 1:
        places_of = cluster.sentence_documents[places_of]
    else:
        in_lead[grams[places_of == cluster.lead]] = True
    once = np.unique(places_of * n_grams + grams) % n_grams
    return Grams(
        list(types),
        places,
        tokens,
        every // max(n_types, 1),
        every % max(n_types, 1),
        keys,
        numbers,
        np.bincount(once, minlength=n_grams),
        len(cluster.documents) if len(cluster.documents) > 1 else cluster.n_sentences,
        in_lead,
        np.bincount(grams, minlength=n_grams),
    )


def recall_steps(grams: Grams, references: Sequence[Sequence[str]]) -> Floats:
    """What occurrence j + 1 of each gram adds to ROUGE-2 recall: [0, gram, j].

    Recall is averaged over references: Σ_r Σ_gram min(times, times in r) / total_r / R.
    """
    pairs = zip(grams.lefts.tolist(), grams.rights.tolist(), strict=True)
    numbers = {
        (grams.types[a], grams.types[b]): len(grams.types) + i
        for i, (a, b) in enumerate(pairs)
    }
    found = []
    for one in references:
        own = list(pairwise(one))
        counts = np.zeros(len(grams), dtype=np.int64)
        np.add.at(counts, [numbers[pair] for pair in own if pair in numbers], 1)
        found.append((counts, len(own)))
    most = max((int(counts.max(initial=0)) for counts, _ in found), default=0)
    steps = np.zeros((1, len(grams), max(most, 1)))
    for counts, total in found:
        if total:
            seen = counts[:, None] > np.arange(steps.shape[2])
            steps[0] += seen / total / len(found)
    return steps
