"""A learned tagger: policies of one or two directions, and their search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from argmetric._ground.types import Floats, Integers, SingleFloats
from argmetric.search.kernels.tagging_features import Choices, FeatureRows
from argmetric.search.tagging.labels import Codec
from argmetric.search.tagging.sentences import Corpus
from argmetric.search.tagging.templates import (
    Extractor,
    Memory,
    Source,
    TextSource,
    memory_of,
    word_numbers,
)

BeamScores = Literal["log", "raw"]
Mirror = Callable[[Integers], Integers]


@dataclass(frozen=True, eq=False)
class TaggerPolicy:
    """Legal decisions of a tagger, and its weights."""

    choices: Choices
    weights: SingleFloats

    def on(
        self, rows: FeatureRows
    ) -> tuple[tuple[Any, ...], tuple[Any, ...], SingleFloats]:
        """Return the first arguments of every search."""
        return tuple(rows), tuple(self.choices), self.weights


def static_of(policy: TaggerPolicy, rows: FeatureRows) -> SingleFloats:
    """Return the scores of the static features of every decision."""
    from argmetric.search.kernels.tagging import static_scores

    shape = int(rows.sentences[-1]), int(policy.choices.n_labels.max())
    scores = np.empty(shape, dtype=np.float32)
    static_scores(*policy.on(rows), scores)
    return scores


def greedy(policy: TaggerPolicy, rows: FeatureRows) -> Integers:
    """Return the label of every decision, by greedy search."""
    from argmetric.search.kernels.tagging import greedy as run

    labels = np.empty(int(rows.sentences[-1]), dtype=np.int64)
    run(*policy.on(rows), static_of(policy, rows), labels)
    return labels


@dataclass(frozen=True, eq=False)
class Lists:
    """Best label sequences of every sentence, and their scores."""

    # (candidates, decisions): the r-th best labels of the sentence at each place
    labels: Integers
    # (sentences, candidates): their scores, -inf where a sentence has fewer candidates
    totals: npt.NDArray[np.float64]
    static: SingleFloats  # scores of the static features, to be used again


def beam(
    policy: TaggerPolicy,
    rows: FeatureRows,
    width: int,
    n_best: int = 1,
    scores: BeamScores = "log",
) -> Lists:
    """Return the `n_best` sequences of a beam search, the best first."""
    from argmetric.search.kernels.tagging import beam as run

    static = static_of(policy, rows)
    labels = np.empty((n_best, int(rows.sentences[-1])), dtype=np.int64)
    totals = np.empty((len(rows.sentences) - 1, n_best))
    run(*policy.on(rows), static, width, scores == "log", labels, totals)
    return Lists(labels, totals, static)


def score_candidates(
    policy: TaggerPolicy,
    rows: FeatureRows,
    static: SingleFloats,
    candidates: Integers,
    totals: npt.NDArray[np.float64],
    *,
    known: npt.NDArray[np.bool_],
) -> npt.NDArray[np.float64]:
    """Set log probabilities of candidate sequences; `known` ones stay."""
    from argmetric.search.kernels.tagging import score_forced

    totals = totals.copy()
    score_forced(*policy.on(rows), static, candidates, known, totals)
    return totals


def combine(
    left: tuple[TaggerPolicy, FeatureRows, Lists],
    right: tuple[TaggerPolicy, FeatureRows, Lists],
    mirror: Mirror,
    weight: float,
) -> tuple[Integers, Floats]:
    """Return the candidates of both lists with their scores, the best first.

    score(y) = log P_left(y) + weight · log P_right(y) over the union of both lists.
    A candidate in both lists has both scores already; the others are scored by force.
    Policies have their rows and lists beside them; those on the right are mirrored, and
    `mirror` makes mirrored labels of labels and the other way round.
    """
    left = left[0], left[1], _without_empty(left[2])
    right = right[0], right[1], _without_empty(right[2])
    n_left = len(left[2].labels)
    theirs = mirror(right[2].labels)
    candidates = np.concatenate([left[2].labels, theirs])
    mirrored = np.concatenate([mirror(left[2].labels), right[2].labels])
    sentences = left[1].sentences
    shape = left[2].totals.shape[0], len(candidates)
    forward = np.full(shape, -np.inf)
    backward = np.full(shape, -np.inf)
    forward[:, :n_left] = left[2].totals
    backward[:, n_left:] = right[2].totals
    missing = np.isneginf(np.maximum(forward, backward))
    twice = np.zeros(shape, dtype=np.bool_)
    has_twin = np.zeros(shape, dtype=np.bool_)
    for i in range(n_left):
        for j in range(n_left, len(candidates)):
            wrong = np.append(0, np.cumsum(candidates[i] != candidates[j]))
            same = wrong[sentences[1:]] == wrong[sentences[:-1]]
            same &= ~missing[:, i] & ~missing[:, j]
            backward[same, i] = backward[same, j]
            has_twin[same, i] = True
            twice[same, j] = True
    known = missing | twice | has_twin
    known_left, known_right = known.copy(), known.copy()
    known_left[:, :n_left] = True
    known_right[:, n_left:] = True
    forward = score_candidates(
        left[0], left[1], left[2].static, candidates, forward, known=known_left
    )
    backward = score_candidates(
        right[0], right[1], right[2].static, mirrored, backward, known=known_right
    )
    totals = np.where(missing | twice, -np.inf, forward + weight * backward)
    order = np.argsort(-totals, axis=1, kind="stable")
    per_token = np.repeat(order, np.diff(sentences), axis=0)
    ranked = np.take_along_axis(candidates.T, per_token, axis=1).T
    return ranked, np.take_along_axis(totals, order, axis=1)


def _without_empty(lists: Lists) -> Lists:
    """Return the lists without ranks that no sentence has."""
    n = int((lists.totals > -np.inf).sum(axis=1).max(initial=1))
    return replace(lists, labels=lists.labels[:n], totals=lists.totals[:, :n])


@dataclass(frozen=True)
class BeamSearch:
    """Settings of the search for the best sequence."""

    width: int
    scores: BeamScores = "log"
    right_weight: float = 1.0


@dataclass(frozen=True, eq=False)
class TaggerSide:
    """A policy that reads from the left, or from the right."""

    reverse: bool
    policy: TaggerPolicy


def mirror(decisions: Integers, codecs: Sequence[Codec], sentences: Integers) -> Any:
    """Return the decisions of the reversed sentences; its own inverse.

    The prefixes of labels change too: the last token of a chunk becomes its first.

    decisions : ndarray of shape (..., n_tokens * n_tiers)
        Label numbers; the tiers of a token, one for each codec, lie side by side.
    sentences : ndarray of shape (n_sentences + 1,)
        Where sentences begin, in tokens.
    """
    shape = decisions.shape
    split = decisions.reshape(*shape[:-1], -1, len(codecs))
    parts = [c.mirror(split[..., s], sentences) for s, c in enumerate(codecs)]
    return np.stack(parts, axis=-1).reshape(shape)


def search_lists(
    sides: Sequence[TaggerSide],
    source: Source,
    codecs: Sequence[Codec],
    search: BeamSearch,
    n_best: int = 1,
) -> tuple[Integers, Floats]:
    """Return the best sequences of every sentence, left to right, and their scores."""
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
            labels = mirror(labels, codecs, sentences)
        return labels, totals
    found: list[Any] = []
    width = max(search.width, n_best)
    for side in sides:
        rows = source.rows(reverse=side.reverse)
        found.append((side.policy, rows, beam(side.policy, rows, width, width)))
    labels, totals = combine(
        found[0],
        found[1],
        lambda decisions: mirror(decisions, codecs, sentences),
        search.right_weight,
    )
    return labels[:n_best], totals[:, :n_best]


@dataclass(frozen=True, eq=False)
class TextModel:
    """Fitted model that tags text.

    `first` is the extractor and policy of the first pass, if words are remembered.
    """

    codecs: tuple[Codec, ...]
    extractor: Extractor
    sides: tuple[TaggerSide, ...]
    memory: Memory = "none"
    first: tuple[Extractor, TaggerSide] | None = None

    def source(self, corpus: Corpus) -> Source:
        """Return features of a text, after a first pass if words are remembered."""
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
        self, corpus: Corpus, search: BeamSearch, n_best: int = 1
    ) -> tuple[Integers, Floats]:
        """Return the best label sequences of every sentence and their scores."""
        labels, totals = search_lists(
            self.sides, self.source(corpus), self.codecs, search, n_best
        )
        documents = np.flatnonzero(corpus.documents)
        for s, codec in enumerate(self.codecs):
            if codec.tier.spans and documents.size:
                places = corpus.sentences[documents] * len(self.codecs) + s
                labels[:, places] = codec.labels.index("O")
        return labels, totals


def text_source(extractor: Extractor, corpus: Corpus) -> TextSource:
    """Return the attributes of the tokens of a corpus."""
    if len(corpus.columns) < extractor.n_columns and corpus.n_tokens:
        raise ValueError(
            f"the tagger reads {extractor.n_columns} columns of each token (words "
            f"first), but these tokens have {len(corpus.columns)}: pass tuples such as "
            "('Hello', 'UH'), or fit it without the missing column"
        )
    attributes = extractor.attributes(corpus.columns, corpus.n_tokens)
    return TextSource(extractor, attributes, corpus.sentences)


def label_lists(
    labels: Integers, codecs: Sequence[Codec], sentences: Integers
) -> list[list[Any]]:
    """Return decisions as lists of labels, or of tuples of labels, by sentence."""
    split = labels.reshape(-1, len(codecs))
    tiers = [
        np.array(codec.labels, dtype=object)[split[:, s]].tolist()
        for s, codec in enumerate(codecs)
    ]
    flat = tiers[0] if len(tiers) == 1 else list(zip(*tiers, strict=True))
    return [flat[a:b] for a, b in pairwise(sentences.tolist())]
