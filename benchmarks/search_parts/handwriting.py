"""3. Letters of handwritten words, ten folds: one to learn from, or nine.

All 55 words are in every fold: policies with a long history learn the words. A split
by disjoint words, and rows with one letter of history, stand beside them.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from harness import Target, emit, text_table
from scipy.sparse import csr_matrix, hstack

from argmetric.search import Tagger
from search_parts import peers
from search_parts.data import FOLDS, SHAPE, Letters, letters, mean_and_error, timed

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

    def part(self, words: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
        rows = np.repeat(words, self.letters.lengths)
        return self.X[rows], self.letters.labels[rows], self.letters.lengths[words]


def pixel_pairs(pixels: np.ndarray, radius: int = 3) -> Any:
    """On-pixels, and pairs of them at most `radius` apart in either direction."""
    images = np.asarray(pixels, dtype=np.bool_).reshape(-1, *SHAPE)
    height, width = SHAPE
    blocks = [csr_matrix(images.reshape(len(images), -1), dtype=np.float32)]
    for down, across in itertools.product(
        range(radius + 1), range(-radius, radius + 1)
    ):
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


def run(*, quick: bool) -> str:
    """Measure, and return the table."""
    data = letters()
    if quick:
        data = data.choose(np.arange(len(data.lengths)) % 10 == 0)
    n_folds = 1 if quick else FOLDS
    pairs = Images(pixel_pairs(data.pixels), data)
    table: dict[str, dict[str, str]] = {}
    ways: dict[str, tuple[Images, dict[str, Any]]] = {
        "pairs of pixels, 6 letters": (pairs, {}),
        "pairs of pixels, 1 letter": (pairs, {"templates": history(1)}),
        "pairs of pixels, 6 letters, roll-in own": (pairs, {"roll_in": "own"}),
        "pairs of pixels, 6 letters, roll-in gold": (pairs, {"roll_in": "gold"}),
    }
    for name, (images, options) in ways.items():
        for size in ("small", "large"):
            main = name in list(ways)[:2]
            folds = n_folds if main else min(n_folds, CONTROL_FOLDS)
            _folds(name, images, size, folds, options, table)
    _disjoint(pairs, table, quick)
    _peers("pairs of pixels", pairs, table, quick)
    columns = [f"{size}, {how}" for size in ("small", "large") for how in SEARCHES]
    lines = [[n, *(row.get(c, "") for c in columns)] for n, row in table.items()]
    return text_table(["letter accuracy, %", *columns], lines)


def _folds(
    name: str,
    images: Images,
    size: str,
    n_folds: int,
    options: dict[str, Any],
    table: dict[str, dict[str, str]],
) -> None:
    found: dict[str, list[float]] = {how: [] for how in SEARCHES}
    seconds = 0.0
    for fold in range(n_folds):
        mine = images.letters.folds == fold
        train, test = (mine, ~mine) if size == "small" else (~mine, mine)
        tagger, spent = timed(lambda t=train: learn(images.part(t), size, **options))
        seconds += spent
        for how, search in SEARCHES.items():
            score = searched(tagger, *search).score_matrix(*images.part(test))
            found[how].append(100.0 * score)
    plain = not options
    for how, scores in found.items():
        target = TARGETS.get((size, how)) if plain else None
        _tell(f"{size}: {name}, {how}", scores, target, seconds / n_folds)
        table.setdefault(name, {})[f"{size}, {how}"] = f"{np.mean(scores):.1f}"


def _tell(
    what: str,
    scores: Sequence[float],
    target: Target = None,
    seconds: float | None = None,
    **details: Any,
) -> None:
    mean, spread = mean_and_error(scores)
    emit(
        "handwriting",
        what,
        mean,
        "letters, %",
        target,
        spread=spread,
        folds=len(scores),
        train_cpu_seconds=seconds,
        **details,
    )


def _disjoint(images: Images, table: dict[str, dict[str, str]], quick: bool) -> None:
    """No word of the test is in training: what history is worth on new words."""
    spelled = np.array([word.hex() for word in images.letters.spelled()])
    names = np.random.default_rng(0).permutation(np.unique(spelled))
    groups = np.array_split(names, WORD_GROUPS)[: 1 if quick else None]
    for order in (0, 1, 2, 3, 6):
        found: dict[str, list[float]] = {how: [] for how in SEARCHES}
        for group in groups:
            test = np.isin(spelled, group)
            options: dict[str, Any] = {"templates": history(order)}
            if not order:
                options = {"roll_in": "none"}
            tagger = learn(images.part(~test), "large", **options)
            for how, search in SEARCHES.items():
                score = searched(tagger, *search).score_matrix(*images.part(test))
                found[how].append(100.0 * score)
        name = f"disjoint words, {order} letters of history"
        for how, scores in found.items():
            if order or how == "greedy":
                _tell(f"{name}, {how}", scores, words=len(names))
                table.setdefault(name, {})[f"large, {how}"] = f"{np.mean(scores):.1f}"


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
    bounds = itertools.pairwise(edges)
    return [_Word(rows[a:b], names[a:b]) for a, b in bounds]


def _peers(
    name: str, images: Images, table: dict[str, dict[str, str]], quick: bool
) -> None:
    def same(rows: Any) -> Any:
        return rows

    tools: dict[str, Callable[..., peers.Run]] = {
        f"crfsuite L-BFGS, {name}": lambda a, b: peers.crfsuite(a, b, same),
        f"VW search, {name}, 3 letters": lambda a, b: peers.vowpal_wabbit(
            a, b, same, bits=22, passes=12
        ),
    }
    for tool, call in tools.items():
        for size in ("small", "large"):
            scores, seconds = [], 0.0
            for fold in range(1 if quick else PEER_FOLDS[size]):
                mine = images.letters.folds == fold
                train, test = (mine, ~mine) if size == "small" else (~mine, mine)
                learned, judged = (words_of(images.part(w)) for w in (train, test))
                rng = np.random.default_rng(0)  # words come sorted, which harms VW
                order = rng.permutation(len(learned))
                try:
                    one = call([learned[i] for i in order], judged)
                except ImportError:
                    return
                right = sum(
                    a == b
                    for word, labels in zip(judged, one.labels, strict=True)
                    for a, b in zip(word.labels, labels, strict=True)
                )
                scores.append(100.0 * right / sum(map(len, judged)))
                seconds += one.train_seconds
            _tell(f"{size}: {tool}", scores, None, seconds / len(scores))
            how = "greedy" if tool.startswith("VW") else "beam 10"  # Viterbi: exact
            table.setdefault(tool, {})[f"{size}, {how}"] = f"{np.mean(scores):.1f}"
