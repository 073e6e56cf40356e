"""A learned tagger: codecs, features and policies of one or two directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from argmetric._input.types import Floats, Integers
from argmetric._text.kernels.tagging_layout import Rows
from argmetric._text.tagging._codec import Codec
from argmetric._text.tagging._combine import combine
from argmetric._text.tagging._corpus import Corpus
from argmetric._text.tagging._engine import BeamScores, Policy, beam, greedy
from argmetric._text.tagging._features import Extractor, TextSource
from argmetric._text.tagging._memory import Memory, memory_of, word_numbers


class Source(Protocol):
    """Where the rows of features come from."""

    @property
    def sentences(self) -> Integers:
        """Token numbers where sentences start."""
        ...

    def rows(self, *, reverse: bool = False) -> Rows:
        """Features of every decision."""
        ...


@dataclass(frozen=True)
class Search:
    """How to look for the best sequence."""

    width: int
    scores: BeamScores = "log"
    right_weight: float = 1.0


@dataclass(frozen=True, eq=False)
class Side:
    """A policy that reads from the left, or from the right."""

    reverse: bool
    policy: Policy


def recode(decisions: Integers, codecs: Sequence[Codec], sentences: Integers) -> Any:
    """Labels of mirrored sentences, or back; decisions of a token side by side."""
    shape = decisions.shape
    split = decisions.reshape(*shape[:-1], -1, len(codecs))
    parts = [c.mirrored(split[..., s], sentences) for s, c in enumerate(codecs)]
    return np.stack(parts, axis=-1).reshape(shape)


def search_lists(
    sides: Sequence[Side],
    source: Source,
    codecs: Sequence[Codec],
    search: Search,
    n_best: int = 1,
) -> tuple[Integers, Floats]:
    """The best sequences of every sentence, left to right, and their scores."""
    sentences = source.sentences
    if len(sides) == 1:
        side = sides[0]
        rows = source.rows(reverse=side.reverse)
        if search.width == 1 and n_best == 1:
            labels = greedy(side.policy, rows)[None]
            totals = np.zeros((len(sentences) - 1, 1))
        else:
            width = max(search.width, n_best)
            lists = beam(side.policy, rows, width, n_best, search.scores)
            labels, totals = lists.labels, lists.totals
        if side.reverse:
            labels = recode(labels, codecs, sentences)
        return labels, totals
    found: list[Any] = []
    width = max(search.width, n_best)
    for side in sides:
        rows = source.rows(reverse=side.reverse)
        found.append((side.policy, rows, beam(side.policy, rows, width, width)))
    labels, totals = combine(
        found[0],
        found[1],
        lambda decisions: recode(decisions, codecs, sentences),
        search.right_weight,
    )
    return labels[:n_best], totals[:, :n_best]


@dataclass(frozen=True, eq=False)
class TextModel:
    """Everything that tagging of text needs.

    `first` is the extractor and policy of the first pass, where words are remembered.
    """

    codecs: tuple[Codec, ...]
    extractor: Extractor
    sides: tuple[Side, ...]
    memory: Memory = "none"
    first: tuple[Extractor, Side] | None = None

    def source(self, corpus: Corpus) -> Source:
        """Features of a text, by a first pass where words are remembered."""
        source = text_source(self.extractor, corpus)
        if self.first is None:
            return source
        extractor, side = self.first
        earlier = text_source(extractor, corpus)
        labels = greedy(side.policy, earlier.rows())
        memory = memory_of(
            word_numbers(corpus.columns[0]),
            labels,
            corpus.sentences,
            len(self.codecs[0].labels),
            self.memory,
        )
        return source.with_memory(memory)

    def lists(
        self, corpus: Corpus, search: Search, n_best: int = 1
    ) -> tuple[Integers, Floats]:
        """The best label sequences of every sentence and their scores."""
        labels, totals = search_lists(
            self.sides, self.source(corpus), self.codecs, search, n_best
        )
        self._outside_documents(corpus, labels)
        return labels, totals

    def _outside_documents(self, corpus: Corpus, labels: Integers) -> None:
        documents = np.flatnonzero(corpus.documents)
        for s, codec in enumerate(self.codecs):
            if codec.tier.spans and documents.size:
                places = corpus.sentences[documents] * len(self.codecs) + s
                labels[:, places] = codec.labels.index("O")


def text_source(extractor: Extractor, corpus: Corpus) -> TextSource:
    """Attributes of the tokens of a corpus."""
    check_columns(corpus, extractor)
    attributes = extractor.attributes(corpus.columns, corpus.n_tokens)
    return TextSource(extractor, attributes, corpus.sentences)


def check_columns(corpus: Corpus, extractor: Extractor) -> None:
    """Refuse a text that lacks a column which the templates read."""
    if len(corpus.columns) < extractor.n_columns and corpus.n_tokens:
        raise ValueError(
            f"the tagger reads {extractor.n_columns} columns of each token (words "
            f"first), but these tokens have {len(corpus.columns)}: pass tuples such as "
            "('Hello', 'UH'), or fit it without the missing column"
        )


def label_lists(
    labels: Integers, codecs: Sequence[Codec], sentences: Integers
) -> list[list[Any]]:
    """Decisions as lists of labels, or of tuples of labels, one for each sentence."""
    split = labels.reshape(-1, len(codecs))
    tiers = [
        np.array(codec.labels, dtype=object)[split[:, s]].tolist()
        for s, codec in enumerate(codecs)
    ]
    flat = tiers[0] if len(tiers) == 1 else list(zip(*tiers, strict=True))
    return [flat[a:b] for a, b in pairwise(sentences.tolist())]
