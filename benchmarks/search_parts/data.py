"""Corpora and letters, the judge, and a clock that others' work does not move."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import harness
import numpy as np

from argmetric.sequence import read_sentences

PUBLISHED = {
    "conll2000": "https://www.cnts.ua.ac.be/conll2000/chunking/",
    "conll2002": "https://www.cnts.ua.ac.be/conll2002/ner/",
    "ocr": "https://ai.stanford.edu/~btaskar/ocr/",
    "summ/fewsum": "https://github.com/abrazinskas/FewSum",
    "summ/opinosis": "https://github.com/kavgan/opinosis-summarization",
}
Labels = Sequence[Sequence[Any]]
SHAPE = (16, 8)  # of the image of a letter
FOLDS = 10


@dataclass(frozen=True)
class Corpus:
    """Sentences to learn from, to develop on and to be judged by."""

    name: str
    train: list[Any]
    dev: list[Any]
    test: list[Any]


@dataclass(frozen=True)
class Letters:
    """Words as rows of pixels laid end to end."""

    pixels: np.ndarray
    labels: np.ndarray
    lengths: np.ndarray
    folds: np.ndarray

    def choose(self, words: np.ndarray) -> Letters:
        """The words that are marked."""
        letters = np.repeat(words, self.lengths)
        return Letters(
            self.pixels[letters],
            self.labels[letters],
            self.lengths[words],
            self.folds[words],
        )

    @property
    def starts(self) -> np.ndarray:
        """Where words start, and the number of letters."""
        return np.concatenate([[0], np.cumsum(self.lengths)])

    def spelled(self) -> list[bytes]:
        """The words in letters."""
        pairs = zip(self.starts, self.starts[1:], strict=False)
        return [self.labels[a:b].tobytes() for a, b in pairs]


def data_file(name: str) -> Path:
    places = (place for part, place in PUBLISHED.items() if name.startswith(part))
    return harness.data_file(name, next(places, "the place of its set"))


def _read(name: str) -> list[Any]:
    return read_sentences(data_file(name), labels="yes")


@cache
def chunks() -> Corpus:
    """CoNLL-2000; it has no development set."""
    return Corpus(
        "CoNLL-2000", _read("conll2000/train.txt"), [], _read("conll2000/test.txt")
    )


@cache
def spanish() -> Corpus:
    """CoNLL-2002, Spanish; testb is the test set."""
    parts = (_read(f"conll2002/esp.{part}") for part in ("train", "testa", "testb"))
    return Corpus("CoNLL-2002 es", *parts)


@cache
def letters() -> Letters:
    """The handwritten words of Kassel and Taskar."""
    with np.load(data_file("ocr/letters.npz")) as arrays:
        return Letters(
            np.unpackbits(arrays["X"], axis=1),
            arrays["y"].astype(np.int64),
            arrays["lengths"].astype(np.int64),
            arrays["folds"].astype(np.int64),
        )


def gold_of(sentences: Sequence[Any]) -> list[list[str]]:
    return [sentence.labels for sentence in sentences]


def tokens_of(sentences: Sequence[Any]) -> int:
    return sum(map(len, sentences))


def strict_f1(gold: Sequence[Any], found: Sequence[Any], beta: float = 1.0) -> float:
    """Entity F1, or F_beta, in percent as seqeval gives it in strict mode, IOB2."""
    from seqeval.metrics.v1 import precision_recall_fscore_support
    from seqeval.scheme import IOB2

    how: dict[str, Any] = {"average": "micro", "scheme": IOB2, "zero_division": 0}
    scores = precision_recall_fscore_support(list(gold), list(found), beta=beta, **how)
    return 100.0 * float(scores[2])


def accuracy(gold: Labels, found: Labels) -> float:
    """Share of labels that are right, in percent."""
    right = [
        a == b
        for pair in zip(gold, found, strict=True)
        for a, b in zip(*pair, strict=True)
    ]
    return 100.0 * float(np.mean(right))


def cpu() -> float:
    """CPU seconds so far, of this process and of children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and its CPU seconds."""
    start = cpu()
    found = call()
    return found, cpu() - start


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean, and standard deviation between runs."""
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return float(np.mean(values)), spread
