"""4. Tags and chunks of words alone: decided in turn, or one after the other.

Nobody gives the parts of speech here. The pipeline tags first and chunks the tagged
words; its chunker learns from the right tags, as is usual, or from tags that a tagger
gave to sentences it had not seen, as it will meet them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from harness import emit

from argmetric.search import Tagger
from search_parts.data import chunks, gold_of, mean_and_error, strict_f1, timed

FOLDS = 5
Words = list[list[str]]


def run(*, quick: bool) -> None:
    corpus = chunks()
    train, test = corpus.train, corpus.test
    if quick:
        train, test = train[:200], test[:100]
    Tagger("joint", hash_bits=12, epochs=2).fit(*_joint(train[:20]))
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in range(1 if quick else 2):
        for name, *result in _ways(train, test, seed):
            found.setdefault(name, []).append(result)
    for name, results in found.items():
        f1, seconds = zip(*results, strict=True)
        mean, spread = mean_and_error(f1)
        told = {"spread": spread, "train_cpu_seconds": mean_and_error(seconds)[0]}
        emit("joint", name, mean, "chunk F1, %", **told)


def _words(sentences: Sequence[Any]) -> Words:
    return [list(s.columns[0]) for s in sentences]


def _tags(sentences: Sequence[Any]) -> Words:
    return [list(s.columns[1]) for s in sentences]


def _pairs(words: Words, tags: Words) -> list[list[tuple[str, str]]]:
    return [list(zip(a, b, strict=True)) for a, b in zip(words, tags, strict=True)]


def _joint(sentences: Sequence[Any]) -> tuple[Words, list[list[tuple[str, str]]]]:
    return _words(sentences), _pairs(_tags(sentences), gold_of(sentences))


def _ways(
    train: Sequence[Any], test: Sequence[Any], seed: int
) -> Iterator[tuple[str, float, float]]:
    """Yield each way with its chunk F1 and CPU seconds of training."""
    words, right, gold = _words(test), gold_of(test), gold_of(train)
    for direction in ("left", "both"):
        how = "from the left" if direction == "left" else "two directions"
        options: dict[str, Any] = {"direction": direction, "random_state": seed}

        def fit(task: Any, *data: Any, how: dict[str, Any] = options) -> Any:
            return timed(lambda: Tagger(task, **how).fit(*data))

        joint, seconds = fit("joint", *_joint(train))
        found = [[chunk for _, chunk in row] for row in joint.predict(words)]
        yield f"joint, {how}", strict_f1(right, found), seconds
        tagger, tagging = fit("pos", _words(train), _tags(train))
        tagged = _pairs(words, tagger.predict(words))
        folded, folding = timed(partial(_out_of_fold, train, options))
        for which, tags, before in (
            ("right", _tags(train), 0.0),
            ("predicted", folded, folding),
        ):
            chunker, seconds = fit("chunk", _pairs(_words(train), tags), gold)
            name = f"pipeline, {which} tags in training, {how}"
            f1 = strict_f1(right, chunker.predict(tagged))
            yield name, f1, tagging + before + seconds


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
