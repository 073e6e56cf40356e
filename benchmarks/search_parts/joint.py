"""4. Tags and chunks of words alone: decided in turn, or one after the other.

Nobody gives the parts of speech here. The pipeline tags first and chunks the tagged
words; its chunker learns from the right tags, as is usual, or from tags that a tagger
gave to sentences it had not seen, as it will meet them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from harness import emit

from argmetric.search import Tagger
from search_parts.data import chunks, cpu, gold_of, mean_and_error, strict_f1

FOLDS = 5
Words = list[list[str]]


def run(*, quick: bool) -> None:
    """Measure, and return the table."""
    corpus = chunks()
    train, test = corpus.train, corpus.test
    if quick:
        train, test = train[:200], test[:100]
    Tagger("joint", hash_bits=12, epochs=2).fit(*_joint(train[:20]))
    found: dict[str, list[tuple[float, float, float]]] = {}
    for seed in range(1 if quick else 2):
        for name, result in _ways(train, test, seed).items():
            found.setdefault(name, []).append(result)
    for name, results in found.items():
        f1, tags, seconds = zip(*results, strict=True)
        mean, spread = mean_and_error(f1)
        emit(
            "joint",
            name,
            mean,
            "chunk F1, %",
            spread=spread,
            tag_accuracy=mean_and_error(tags)[0],
            spread_of_tags=mean_and_error(tags)[1],
            train_cpu_seconds=mean_and_error(seconds)[0],
        )


def _words(sentences: Sequence[Any]) -> Words:
    return [list(s.columns[0]) for s in sentences]


def _tags(sentences: Sequence[Any]) -> Words:
    return [list(s.columns[1]) for s in sentences]


def _pairs(words: Words, tags: Words) -> list[list[tuple[str, str]]]:
    return [list(zip(a, b, strict=True)) for a, b in zip(words, tags, strict=True)]


def _joint(sentences: Sequence[Any]) -> tuple[Words, list[list[tuple[str, str]]]]:
    return _words(sentences), _pairs(_tags(sentences), gold_of(sentences))


def _accuracy(right: Words, found: Words) -> float:
    n = sum(map(len, right))
    pairs = zip(right, found, strict=True)
    return 100.0 * sum(x == y for a, b in pairs for x, y in zip(a, b, strict=True)) / n


def _ways(
    train: Sequence[Any], test: Sequence[Any], seed: int
) -> dict[str, tuple[float, float, float]]:
    """Chunk F1, accuracy of the tags and CPU seconds of training."""
    words, tags, right = _words(test), _tags(test), gold_of(test)
    results = {}

    def add(name: str, found_tags: Words, found: Words, seconds: float) -> None:
        scores = strict_f1(right, found), _accuracy(tags, found_tags)
        results[name] = (*scores, seconds)

    for direction in ("left", "both"):
        how = "from the left" if direction == "left" else "two directions"
        options: dict[str, Any] = {"direction": direction, "random_state": seed}
        start = cpu()
        joint = Tagger("joint", **options).fit(*_joint(train))
        spent = cpu() - start
        both = joint.predict(words)
        add(
            f"joint, {how}",
            [[tag for tag, _ in row] for row in both],
            [[chunk for _, chunk in row] for row in both],
            spent,
        )
        start = cpu()
        tagger = Tagger("pos", **options).fit(_words(train), _tags(train))
        tagging = cpu() - start
        given = tagger.predict(words)
        start = cpu()
        chunker = Tagger("chunk", **options).fit(train)
        spent = tagging + cpu() - start
        found = chunker.predict(_pairs(words, given))
        add(f"pipeline, right tags in training, {how}", given, found, spent)
        start = cpu()
        folded = _out_of_fold(train, options)
        chunker = Tagger("chunk", **options).fit(
            _pairs(_words(train), folded), gold_of(train)
        )
        spent = tagging + cpu() - start
        found = chunker.predict(_pairs(words, given))
        add(f"pipeline, predicted tags in training, {how}", given, found, spent)
    return results


def _out_of_fold(train: Sequence[Any], options: dict[str, Any]) -> Words:
    """Tags of each fifth by a tagger of the other four."""
    edges = [len(train) * i // FOLDS for i in range(FOLDS + 1)]
    found: Words = []
    for low, high in itertools.pairwise(edges):
        others = [*train[:low], *train[high:]]
        quick = {**options, "direction": "left"}
        tagger = Tagger("pos", **quick).fit(_words(others), _tags(others))
        found += tagger.predict(_words(train[low:high]))
    return found
