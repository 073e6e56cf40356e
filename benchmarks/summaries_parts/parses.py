"""The parser of compressed summaries."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from search_parts.own_task import Parsing, learn, padded, pairs, read

from argmetric.search import Searn, Tagger, Tree


class Remembered:
    """A tagger and a parser that see a sentence once: folds and seeds repeat them."""

    def __init__(self, tagger: Tagger, searn: Searn) -> None:
        self.tagger, self.searn = tagger, searn
        self._trees: dict[tuple[str, ...], Tree] = {}

    def parse(self, sentences: Sequence[Sequence[str]]) -> list[Tree]:
        keys = [tuple(sentence) for sentence in sentences]
        new = [key for key in dict.fromkeys(keys) if key not in self._trees]
        if new:
            self._trees.update(zip(new, self._trees_of(new), strict=True))
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
