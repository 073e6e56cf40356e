"""The parser of compressed summaries, and the negations of the sources by its trees."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import chain, pairwise

import numpy as np
from search_parts.data import timed
from search_parts.own_task import Parsing, learn, padded, pairs, read

from argmetric.search import Searn, Summary, Tagger, Tree
from argmetric.search.summaries.cluster import Cluster, read_cluster
from argmetric.search.summaries.pieces import parts_of
from summaries_parts.data import clusters

# fmt: off
NEGATIONS = frozenset((
    "not", "n't", "never", "no", "nor", "neither", "none", "nothing", "nobody",
    "nowhere", "without", "hardly", "scarcely", "barely", "seldom", "rarely",
))
# fmt: on


class Remembered:
    """A tagger and a parser that see a sentence once: folds and seeds repeat them."""

    def __init__(self, tagger: Tagger, searn: Searn) -> None:
        self.tagger, self.searn = tagger, searn
        self.cpu_seconds = 0.0
        self._trees: dict[tuple[str, ...], Tree] = {}

    @property
    def words_per_cpu_second(self) -> float:
        return sum(map(len, self._trees)) / self.cpu_seconds

    def parse(self, sentences: Sequence[Sequence[str]]) -> list[Tree]:
        keys = [tuple(sentence) for sentence in sentences]
        new = [key for key in dict.fromkeys(keys) if key not in self._trees]
        if new:
            trees, seconds = timed(lambda: self._trees_of(new))
            self.cpu_seconds += seconds
            self._trees.update(zip(new, trees, strict=True))
        return [self._trees[key] for key in keys]

    def _trees_of(self, sentences: Sequence[tuple[str, ...]]) -> list[Tree]:
        words = [list(sentence) for sentence in sentences]
        tags = self.tagger.predict(words)
        heads = self.searn.predict(list(map(padded, words, tags)))
        return [Tree(*parts) for parts in zip(words, tags, heads, strict=True)]


@cache
def parser(*, quick: bool) -> Remembered:
    """Return the parser of docs/own_task.rst, learned from deptb."""
    most = 100 if quick else None
    trees = read("train", most)
    words, tags = [tree.words for tree in trees], [tree.tags for tree in trees]
    tagger = Tagger("pos").fit(words, tags)
    searn, _ = learn(Parsing(), pairs("train", most), 4, 0)
    return Remembered(tagger, searn)


def negations(
    name: str, summaries: Sequence[Summary], *, quick: bool
) -> tuple[int, int]:
    """Negations with a kept head, and how many of them were dropped."""
    kept_heads, dropped = 0, 0
    for negated, summary in zip(_negated(name, quick=quick), summaries, strict=True):
        has_head = summary.is_kept[negated[:, 1]]
        kept_heads += int(has_head.sum())
        dropped += int((has_head & ~summary.is_kept[negated[:, 0]]).sum())
    return kept_heads, dropped


@cache
def _negated(name: str, *, quick: bool) -> list[np.ndarray]:
    """Words (negation, head) of every judged cluster."""
    own = clusters(name, quick=quick)
    read_in = [read_cluster(own.documents[i], "cluster") for i in own.judged]
    return [_pairs(cluster, parser(quick=quick)) for cluster in read_in]


def _pairs(cluster: Cluster, parsed_by: Remembered) -> np.ndarray:
    pieces = [parts_of(word) for word in cluster.words]
    sentences = [
        list(chain.from_iterable(pieces[a:b]))
        for a, b in pairwise(cluster.sentence_starts.tolist())
    ]
    heads = [tree.heads for tree in parsed_by.parse(sentences)]
    sizes = np.array([len(own) for own in pieces])
    word = np.repeat(np.arange(sizes.size), sizes)
    starts = np.repeat(
        np.cumsum([0, *map(len, sentences[:-1])]), [len(own) for own in sentences]
    )
    head = np.concatenate(heads)
    flat = chain.from_iterable(sentences)
    negates = np.array([piece.lower() in NEGATIONS for piece in flat]) & (head > 0)
    return np.stack([word, word[starts + head - 1]], axis=1)[negates]
