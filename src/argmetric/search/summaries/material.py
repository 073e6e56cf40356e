"""Prepare a cluster for search: its pieces, its grams, and the costs of words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Literal

import numpy as np

from argmetric._ground.arguments import check_count, check_items, shown
from argmetric._ground.types import AnyArray, Booleans, Floats, Integers
from argmetric.search.summaries.cluster import Cluster
from argmetric.search.summaries.pieces import (
    STOP_WORDS,
    Needs,
    Parse,
    SummaryPieces,
    read_needs,
    spans_and_needs,
)
from argmetric.search.summaries.rouge import tokens as tokens_of

Mode = Literal["sentences", "compressed"]
_TIMES = 8  # a word is repeated, so that counts that are rounded tell its share


@dataclass(frozen=True, eq=False)
class Grams:
    """Numbered grams of a cluster: tokens first, then pairs of neighbours."""

    types: list[str]  # the tokens by number
    # places, tokens: the tokens of word w are tokens[places[w] : places[w + 1]]
    places: Integers
    tokens: Integers
    # lefts, rights: the two tokens of each pair
    lefts: Integers
    rights: Integers
    # keys, numbers: the table of pairs
    keys: Integers
    numbers: Integers
    # how many documents have each gram; sentences, where there is one document
    documents: Integers
    n_documents: int  # of how many
    in_lead: Booleans  # which grams the lead has, where there is one document
    times: Integers  # how often each gram occurs

    def __len__(self) -> int:
        return len(self.types) + len(self.lefts)

    @property
    def text(self) -> tuple[Integers, Integers]:
        return self.places, self.tokens

    @property
    def table(self) -> tuple[int, Integers, Integers]:
        return len(self.types), self.keys, self.numbers


def number_grams(cluster: Cluster, references: Sequence[Sequence[str]] = ()) -> Grams:
    """Return the grams of the sentences, and pairs of the references (token lists)."""
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
    # A table of numbered pairs; keys has a power of two of places, -1 where free.
    waiting, last = np.arange(len(every)), len(keys) - 1
    mixed = every.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    place = (mixed >> np.uint64(20)).astype(np.int64) & last
    while len(waiting):
        free = keys[place] < 0
        keys[place[free]] = every[waiting[free]]  # of several, one stays
        has_place = keys[place] == every[waiting]
        numbers[place[has_place]] = waiting[has_place]
        waiting = waiting[~has_place]
        place = (place[~has_place] + 1) & last
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
    """Return the gain in ROUGE-2 recall by occurrence j + 1 of a gram, [0, gram, j].

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


@dataclass(frozen=True, eq=False)
class Material:
    """Pieces, grams and costs of a cluster."""

    cluster: Cluster
    pieces: SummaryPieces  # what can be added in one step
    grams: Grams  # what the words say
    references: list[list[str]]  # the tokens of the references, where there are some
    needs: Needs | None  # what hangs together, where pieces are parts of sentences
    # whether pieces are single words, added one by one after their heads
    is_vine: bool = False
    # stems of the words of the query, where there is one
    query: frozenset[str] | None = None

    @cached_property
    def parents(self) -> Integers:
        """Return the parent of each piece, -1 for none; only for vines."""
        if self.is_vine and self.needs is not None:
            return self.needs.heads
        return np.full(len(self.pieces), -1)

    @cached_property
    def in_query(self) -> Booleans:
        """Return which tokens are in the query, by their stems."""
        query = self.query or frozenset()
        return np.array([stem(t) in query for t in self.grams.types], dtype=bool)

    @cached_property
    def relevance(self) -> Floats:
        """Return the relevance of each gram to the query.

        1 where it has a word of the query, else half the share of its sentences that
        have one.
        """
        grams, cluster = self.grams, self.cluster
        n_types = len(grams.types)
        sentence = np.repeat(cluster.word_sentences, np.diff(grams.places))
        is_about = np.zeros(cluster.n_sentences)
        np.maximum.at(
            is_about, sentence, self.in_query[grams.tokens].astype(np.float64)
        )
        about = is_about[sentence]
        times = np.maximum(np.bincount(grams.tokens, minlength=n_types), 1)
        share = np.bincount(grams.tokens, about, n_types) / times
        share = np.where(self.in_query, 1.0, 0.5 * share)
        has = self.in_query[grams.lefts] | self.in_query[grams.rights]
        both = np.minimum(share[grams.lefts], share[grams.rights])
        return np.append(share, np.where(has, 1.0, both))

    @cached_property
    def is_stop_word(self) -> Booleans:
        return np.array([t in STOP_WORDS for t in self.grams.types], dtype=bool)

    @cached_property
    def is_content(self) -> Floats:
        """Return 1 for tokens that are not function words, 0 for all other grams."""
        found = np.zeros(len(self.grams))
        found[: len(self.is_stop_word)] = ~self.is_stop_word
        return found


def make_material(
    cluster: Cluster,
    mode: Mode,
    parse: Parse | None,
    references: Sequence[str] = (),
    *,
    vine: bool = False,
    query: frozenset[str] | None = None,
) -> Material:
    """Return pieces that a search may add, grams, and tokens of the references.

    Pieces are whole sentences; in the mode "compressed" parts of them, or with `vine`
    single words. `parse` is asked for sentences without a tree.
    """
    reference_tokens = [tokens_of(reference) for reference in references]
    grams = number_grams(cluster, reference_tokens)
    needs = read_needs(cluster, parse) if mode == "compressed" else None
    vine, word_bounds = vine and needs is not None, np.arange(cluster.n_words + 1)
    if needs is None:
        sentences = np.arange(cluster.n_sentences)
        pieces = SummaryPieces(sentences, cluster.sentence_starts, word_bounds[:-1])
    elif vine:  # each word is a node
        pieces = SummaryPieces(cluster.word_sentences, word_bounds, word_bounds[:-1])
    else:
        pieces = spans_and_needs(cluster, needs)
    return Material(cluster, pieces, grams, reference_tokens, needs, vine, query)


_ENDINGS = re.compile(r"(?<=\w{3})(?:ies|ing|ed|es|s|ly|e|y)\Z")


def stem(token: str) -> str:
    """Return a token without its English ending: "rooms" and "room" have one stem."""
    return _ENDINGS.sub("", token)


def read_queries(
    queries: object, clusters: Sequence[str]
) -> list[frozenset[str] | None]:
    """Return the stems of each query without function words; None without query.

    There is one for each of the clusters, which are named for messages.
    """
    if queries is None:
        return [None] * len(clusters)
    if isinstance(queries, str):
        raise TypeError(
            "queries must be a list of text, one for each cluster, not text: pass "
            "[query] for one cluster"
        )
    items = check_items(queries, "queries", "a list of text, one for each cluster")
    if len(items) != len(clusters):
        raise ValueError(
            f"{len(items)} queries for {len(clusters)} clusters: pass one for each"
        )
    return list(map(_query, items, clusters))


def _query(given: object, cluster: str) -> frozenset[str]:
    """Return the stems of a query; refuse one without words that matter."""
    if not isinstance(given, str):
        raise TypeError(f"the query of {cluster} must be text, not {shown(given)}")
    own = tokens_of(given)
    if not own:
        raise ValueError(
            f"the query of {cluster} is empty: {shown(given)} has no letter of a-z and "
            "no digit"
        )
    asked = frozenset(stem(token) for token in own if token not in STOP_WORDS)
    if not asked:
        raise ValueError(
            f"the query of {cluster} has only words of grammar: {shown(given)}; name "
            "what the summary is to be about"
        )
    return asked


@dataclass(frozen=True, eq=False)
class Budget:
    """Maximum length of a summary."""

    limit: int  # the most that `size` may be
    unit: str  # what is counted
    # the user's own count of a text; by default words or characters are counted
    count: Callable[[str], int] | None = None

    def costs(self, words: list[str]) -> Floats:
        """Return the cost of each word inside a text, with the blank after it."""
        if self.unit == "words":
            return np.ones(len(words))
        if self.unit == "characters":
            return np.array([len(word) + 1.0 for word in words])
        kinds, codes = np.unique(np.array(words, dtype=str), return_inverse=True)
        costs = []
        for word in kinds.tolist():  # one more of it; what every text costs is left out
            more = self.size(" ".join([word] * (1 + _TIMES))) - self.size(word)
            costs.append(max(more, 1) / _TIMES)
        return np.array(costs, dtype=np.float64)[codes]

    @property
    def room(self) -> float:
        """Return the largest sum of costs; the last word has no blank after it."""
        return float(self.limit + (self.unit != "words"))

    def size(self, text: str) -> int:
        """Return how much of the budget a text takes."""
        if self.count is not None:
            return check_count(self.count(text), "what count gives")
        return len(text.split()) if self.unit == "words" else len(text)


def text_of(words: list[str], kept: AnyArray) -> str:
    """Return the kept words, joined by blanks."""
    return " ".join(words[i] for i in np.flatnonzero(kept).tolist())
