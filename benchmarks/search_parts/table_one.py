"""Table 1 of the paper: base classifiers alone, with SEARN, and structured peers.

Peers see the templates that read no label; letters are pixels. The joint task has no
peer here: its labels are pairs, too many for a CRF.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from harness import emit

from argmetric.search import Tagger, default_templates, pixel_pairs
from search_parts import peers
from search_parts.data import (
    SHAPE,
    chunks,
    gold_of,
    letters,
    simple_table,
    spanish,
    strict_f1,
)
from search_parts.handwriting import PIXELS, Images, learn, words_of

LEARNERS = ("perceptron", "logistic", "svm")
SMALL = 300
TOOLS: dict[str, Callable[..., peers.Run]] = {
    "structured perceptron (crfsuite)": partial(
        peers.crfsuite, algorithm="averaged-perceptron"
    ),
    "CRF (crfsuite)": peers.crfsuite,
    "VW search": peers.vowpal_wabbit,
}


def run(*, quick: bool) -> str:
    """Score, and share of sequences without an error, of each classifier and peer."""
    sizes = (10, 200) if quick else (1, None)
    rows: dict[str, list[str]] = {}
    columns: list[str] = []
    for name, (measure, measure_peer) in tasks(*sizes).items():
        columns.append(name)
        calls: dict[str, Callable[[], tuple[float, float]]] = {}
        for learner in LEARNERS:
            for how, roll_in in (("alone", "none"), ("SEARN", "mixed")):
                calls[f"{learner}, {how}"] = partial(measure, learner, roll_in)
        if measure_peer is not None:
            calls |= {tool: partial(measure_peer, tool) for tool in TOOLS}
        for way, call in calls.items():
            score, whole = call()
            emit(
                "paper",
                f"Table 1: {name}, {way}",
                score,
                "score, %",
                whole_sequences=whole,
            )
            cells = rows.setdefault(way, [""] * 6)
            cells[len(columns) - 1] = f"{score:.1f} ({whole:.0f})"
    lines = [[name, *cells] for name, cells in rows.items()]
    return simple_table(["", *columns], lines)


Measure = Callable[[str, Any], tuple[float, float]]
MeasurePeer = Callable[[str], tuple[float, float]]


def tasks(
    step: int, n_sentences: int | None
) -> dict[str, tuple[Measure, MeasurePeer | None]]:
    """All tasks, with every so many-th word, and so many sentences."""
    data, es, en = letters(), spanish(), chunks()
    data = data.choose(np.arange(len(data.lengths)) % step == 0)
    pixels = Images(pixel_pairs(data.pixels, SHAPE, radius=0), data)
    cut = slice(0, n_sentences)

    def written(size: str) -> tuple[Measure, MeasurePeer]:
        mine = data.folds == 0
        train, test = (mine, ~mine) if size == "small" else (~mine, mine)

        def measure(learner: str, roll_in: Any) -> tuple[float, float]:
            options = {"templates": ["t[-1]"], "history_value": 2.0}
            if learner != "perceptron":
                options["step"] = PIXELS["step"]
            tagger = learn(
                pixels.part(train), size, learner=learner, roll_in=roll_in, **options
            )
            X, y, lengths = pixels.part(test)
            right = tagger.predict_matrix(X, lengths) == y
            edges = np.concatenate([[0], np.cumsum(lengths)[:-1]])
            whole = np.minimum.reduceat(right, edges)
            return 100.0 * float(right.mean()), 100.0 * float(whole.mean())

        def peer(tool: str) -> tuple[float, float]:
            learned, judged = (words_of(pixels.part(part)) for part in (train, test))
            order = np.random.default_rng(0).permutation(len(learned))
            found = TOOLS[tool]([learned[i] for i in order], judged, list).labels
            return _accuracies([word.labels for word in judged], found)

        return measure, peer

    def text(
        task: str, train: Sequence[Any], test: Sequence[Any]
    ) -> tuple[Measure, MeasurePeer]:
        def measure(learner: str, roll_in: Any) -> tuple[float, float]:
            tagger = Tagger(
                task, learner=learner, roll_in=roll_in, direction="left", memory="none"
            ).fit(train)
            return _scores(gold_of(test), tagger.predict(test))

        def peer(tool: str) -> tuple[float, float]:
            same = peers.TemplateAttributes(default_templates(task))
            return _scores(gold_of(test), TOOLS[tool](train, test, same).labels)

        return measure, peer

    def joint(train: Sequence[Any], test: Sequence[Any]) -> tuple[Measure, None]:
        def measure(learner: str, roll_in: Any) -> tuple[float, float]:
            words, gold = _joint(train)
            tagger = Tagger(
                "joint", learner=learner, roll_in=roll_in, direction="left"
            ).fit(words, gold)
            words, gold = _joint(test)
            flat = [[x for pair in row for x in pair] for row in gold]
            found = [[x for pair in row for x in pair] for row in tagger.predict(words)]
            return _accuracies(flat, found)

        return measure, None

    return {
        "letters, small": written("small"),
        "letters, large": written("large"),
        "NER, 300": text("ner", es.train[:SMALL], es.test[cut]),
        "NER": text("ner", es.train[cut], es.test[cut]),
        "chunks": text("chunk", en.train[cut], en.test[cut]),
        "chunks + tags": joint(en.train[cut], en.test[cut]),
    }


def _joint(sentences: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    words = [list(s.columns[0]) for s in sentences]
    pairs = [list(zip(s.columns[1], s.labels, strict=True)) for s in sentences]
    return words, pairs


def _scores(gold: Sequence[Any], found: Sequence[Any]) -> tuple[float, float]:
    whole = np.mean([list(a) == list(b) for a, b in zip(gold, found, strict=True)])
    return strict_f1(gold, found), 100.0 * float(whole)


def _accuracies(gold: Sequence[Any], found: Sequence[Any]) -> tuple[float, float]:
    """Of labels, and of whole sequences."""
    right = [
        [a == b for a, b in zip(*pair, strict=True)]
        for pair in zip(gold, found, strict=True)
    ]
    labels = [one for row in right for one in row]
    return 100.0 * float(np.mean(labels)), 100.0 * float(np.mean(list(map(all, right))))
