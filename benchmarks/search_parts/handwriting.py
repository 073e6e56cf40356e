"""3. Letters of handwritten words, ten folds: one to learn from, or nine.

All 55 words are in every fold: policies with a long history learn the words. A split
by disjoint words, and rows with one letter of history, stand beside them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np
from harness import Target, emit
from scipy.sparse import csr_matrix, hstack

from argmetric.search import Tagger
from search_parts import peers
from search_parts.data import (
    FOLDS,
    SHAPE,
    Letters,
    accuracy,
    letters,
    mean_and_error,
    timed,
)

HISTORY_VALUE = 8.0  # history would drown among 180 features of a letter
EPOCHS = {"small": 15, "large": 6}
WORD_GROUPS = 5
SEARCHES = {"greedy": (1, "log"), "beam 10": (10, "log"), "beam 10, raw": (10, "raw")}
TARGETS: dict[tuple[str, str], Target] = {
    ("small", "greedy"): (">=", 89.0),
    ("small", "beam 10"): (">=", 93.0),
    ("large", "greedy"): (">=", 94.0),
    ("large", "beam 10"): (">=", 97.0),
}
CONTROL_FOLDS = 3
PEER_FOLDS = {"small": 3, "large": 1}  # crfsuite takes minutes for a large one


@dataclass(frozen=True)
class Images:
    """Features of all letters, with how words are laid out."""

    X: Any
    letters: Letters

    def split(self, fold: int, size: str) -> tuple[np.ndarray, np.ndarray]:
        """Words to learn from and to judge by: one fold, or all others."""
        mine = self.letters.folds == fold
        return (mine, ~mine) if size == "small" else (~mine, mine)

    def part(self, words: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
        rows = np.repeat(words, self.letters.lengths)
        return self.X[rows], self.letters.labels[rows], self.letters.lengths[words]


def pixel_pairs(pixels: np.ndarray, radius: int = 3) -> Any:
    """On-pixels, and pairs of them at most `radius` apart in either direction."""
    images = np.asarray(pixels, dtype=np.bool_).reshape(-1, *SHAPE)
    height, width = SHAPE
    blocks = [csr_matrix(images.reshape(len(images), -1), dtype=np.float32)]
    for down, across in product(range(radius + 1), range(-radius, radius + 1)):
        if (down, across) > (0, 0):  # the later pixel in reading order
            both = np.zeros_like(images)
            left, right = max(0, -across), width - max(0, across)
            both[:, : height - down, left:right] = (
                images[:, : height - down, left:right]
                & images[:, down:, left + across : right + across]
            )
            blocks.append(csr_matrix(both.reshape(len(images), -1), dtype=np.float32))
    return hstack(blocks, format="csr")


def history(order: int) -> list[str]:
    """Templates of the last one, two, ... labels."""
    return ["|".join(f"t[-{j}]" for j in range(i, 0, -1)) for i in range(1, order + 1)]


def learn(train: tuple[Any, ...], size: str, **options: Any) -> Tagger:
    given = {"history_value": HISTORY_VALUE, "epochs": EPOCHS[size], **options}
    return Tagger("label", **given).fit_matrix(*train)


def searched(tagger: Tagger, beam: int, scores: str) -> Tagger:
    other = copy.copy(tagger)
    other._options = replace(tagger._options, beam=beam, beam_scores=scores)
    return other


def run(*, quick: bool) -> None:
    data = letters()
    if quick:
        data = data.choose(np.arange(len(data.lengths)) % 10 == 0)
    n_folds = 1 if quick else FOLDS
    images = Images(pixel_pairs(data.pixels), data)
    ways: dict[str, tuple[int, dict[str, Any]]] = {
        "6 letters": (FOLDS, {}),
        "1 letter": (FOLDS, {"templates": history(1)}),
        "6 letters, roll-in own": (CONTROL_FOLDS, {"roll_in": "own"}),
        "6 letters, roll-in gold": (CONTROL_FOLDS, {"roll_in": "gold"}),
    }
    for (name, (most, options)), size in product(ways.items(), ("small", "large")):
        folds = range(min(n_folds, most))
        parts = [images.split(fold, size) for fold in folds]
        found, seconds = _learned(images, parts, size, options)
        for how, scores in found.items():
            target = None if options else TARGETS.get((size, how))
            _tell(f"{size}: pairs of pixels, {name}, {how}", scores, target, seconds)
    _disjoint(images, quick)
    _peers(images, quick)


Part = tuple[np.ndarray, np.ndarray]  # words to learn from, and to judge by


def _learned(
    images: Images, parts: Sequence[Part], size: str, options: dict[str, Any]
) -> tuple[dict[str, list[float]], float]:
    """Accuracy of every search on every part, and mean seconds of learning."""
    found: dict[str, list[float]] = {how: [] for how in SEARCHES}
    seconds = 0.0
    for train, test in parts:
        tagger, spent = timed(lambda t=train: learn(images.part(t), size, **options))
        seconds += spent / len(parts)
        for how, search in SEARCHES.items():
            score = searched(tagger, *search).score_matrix(*images.part(test))
            found[how].append(100.0 * score)
    return found, seconds


def _tell(
    what: str,
    scores: Sequence[float],
    target: Target = None,
    seconds: float | None = None,
) -> None:
    mean, spread = mean_and_error(scores)
    told = {"spread": spread, "folds": len(scores), "train_cpu_seconds": seconds}
    emit("handwriting", what, mean, "letters, %", target, **told)


def _disjoint(images: Images, quick: bool) -> None:
    """No word of the test is in training: what history is worth on new words."""
    spelled = np.array([word.hex() for word in images.letters.spelled()])
    names = np.random.default_rng(0).permutation(np.unique(spelled))
    groups = np.array_split(names, WORD_GROUPS)[: 1 if quick else None]
    tests = [np.isin(spelled, group) for group in groups]
    for order in (0, 1, 2, 3, 6):
        options = {"templates": history(order)} if order else {"roll_in": "none"}
        parts = [(~test, test) for test in tests]
        found, _ = _learned(images, parts, "large", options)
        for how, scores in found.items():
            if order or how == "greedy":
                _tell(f"disjoint words, {order} letters of history, {how}", scores)


class _Word:
    """A word as the peers take sentences: attributes in the place of columns."""

    def __init__(self, rows: list[list[str]], labels: list[str]) -> None:
        self.columns, self.labels = rows, labels

    def __len__(self) -> int:
        return len(self.labels)


def words_of(part: tuple[Any, np.ndarray, np.ndarray]) -> list[_Word]:
    X, y, lengths = part
    edges = np.concatenate([[0], np.cumsum(lengths)])
    rows = [
        [str(c) for c in X.indices[a:b]]
        for a, b in zip(X.indptr, X.indptr[1:], strict=False)
    ]
    names = [f"{label:02d}" for label in y]
    bounds = pairwise(edges)
    return [_Word(rows[a:b], names[a:b]) for a, b in bounds]


def _peers(images: Images, quick: bool) -> None:
    def same(rows: Any) -> Any:
        return rows

    tools: dict[str, Callable[..., peers.Run]] = {
        "crfsuite L-BFGS": partial(peers.crfsuite, attributes=same),
        "VW search, 3 letters": partial(
            peers.vowpal_wabbit, attributes=same, bits=22, passes=12
        ),
    }
    for (tool, call), size in product(tools.items(), ("small", "large")):
        scores, seconds = [], []
        for fold in range(1 if quick else PEER_FOLDS[size]):
            parts = images.split(fold, size)
            learned, judged = (words_of(images.part(part)) for part in parts)
            # words come sorted, which harms VW
            order = np.random.default_rng(0).permutation(len(learned))
            try:
                one = call([learned[i] for i in order], judged)
            except ImportError:
                return
            scores.append(accuracy([word.labels for word in judged], one.labels))
            seconds.append(one.train_seconds)
        name = f"{size}: {tool}, pairs of pixels"
        _tell(name, scores, None, float(np.mean(seconds)))
