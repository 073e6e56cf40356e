"""crfsuite: chunks of sentences, learned from some thousand of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from harness import MissingData
from search_parts import data
from search_parts.data import gold_of, strict_f1, timed, tokens_of
from search_parts.peers import TemplateAttributes, crfsuite

from argmetric.search import Tagger, default_templates
from argmetric.search.corpus.sentences import Sentence
from argmetric.sequence import standard_features
from peers_parts.rows import Row

OURS = 'Tagger("chunk")'
LBFGS = "L-BFGS, c1 = c2 = 0.1, 100 iterations"
PERCEPTRON = "averaged perceptron, 20 iterations"
THEIRS = {
    f"{LBFGS}, the usual features": ("lbfgs", False),
    f"{PERCEPTRON}, the usual features": ("averaged-perceptron", False),
    f"{PERCEPTRON}, features of our templates": ("averaged-perceptron", True),
}
SENTENCES, TESTED, SEEDS = 1_000, 1_000, 5
WORDS = {
    "DT": ("the", "a", "this"),
    "JJ": ("old", "new", "large", "net", "light", "back"),
    "NN": ("bank", "rate", "light", "net", "plan", "run", "back", "light"),
    "VB": ("run", "plan", "back", "light", "rose", "fell", "net"),
    "IN": ("of", "in", "by"),
    "RB": ("now", "back", "light"),
}
CHUNKS = {
    "NP": (("DT", "JJ", "NN"), ("DT", "NN"), ("NN",), ("JJ", "NN", "NN"), ("NN", "NN")),
    "VP": (("VB",), ("RB", "VB"), ("VB", "RB")),
    "PP": (("IN",),),
    "ADVP": (("RB",), ("RB", "RB")),
}
NEXT = {
    "": ("NP", "NP", "ADVP"),
    "NP": ("VP", "VP", "PP", "NP", ""),
    "VP": ("NP", "PP", "ADVP", ""),
    "PP": ("NP",),
    "ADVP": ("NP", "VP"),
}


def run(fast: bool) -> list[Row]:
    rows = []
    corpora = list(_corpora(fast))
    ours = [_ours(train, test) for _, train, test in corpora]
    same = TemplateAttributes(default_templates("chunk"))
    for asked, (algorithm, ours_too) in THEIRS.items():
        kinds = {
            "F1 of chunks, strict": ("%", "higher", False),
            "training": ("CPU s", "lower", True),
            "words tagged per CPU second": ("words/s", "higher", True),
        }
        found = [
            Row(what, unit, better, asked, OURS, ratio=ratio)
            for what, (unit, better, ratio) in kinds.items()
        ]
        for (case, train, test), mine in zip(corpora, ours, strict=True):
            attributes = same if ours_too else standard_features
            made = crfsuite(train, test, attributes, algorithm)
            theirs = (
                strict_f1(gold_of(test), made.labels),
                made.train_seconds,
                tokens_of(test) / made.tag_seconds,
            )
            for row, a, b in zip(found, theirs, mine, strict=True):
                row.add(case, a, b)
        rows += found
    return rows


def _ours(train: list[Any], test: list[Any]) -> tuple[float, float, float]:
    Tagger("chunk", hash_bits=12, epochs=2).fit(train[:20]).predict(test[:20])
    tagger, spent = timed(lambda: Tagger("chunk").fit(train))
    labels, tagging = timed(lambda: tagger.predict(test))
    return strict_f1(gold_of(test), labels), spent, tokens_of(test) / tagging


def _corpora(fast: bool) -> Iterator[tuple[str, list[Any], list[Any]]]:
    n = 50 if fast else SENTENCES
    for seed in range(1 if fast else SEEDS):
        made = _generated(n + TESTED // 2, seed)
        yield f"generated, seed {seed}", made[:n], made[n:]
    try:
        corpus = data.chunks()
    except MissingData:
        return
    for seed in range(0 if fast else SEEDS):
        order = np.random.default_rng(seed).permutation(len(corpus.train))[:n]
        train = [corpus.train[i] for i in order]
        yield f"CoNLL-2000, {n:,} sentences, seed {seed}", train, corpus.test[:TESTED]


def _generated(count: int, seed: int) -> list[Any]:
    """Chunks after chunks; a word may be of several parts of speech, a tag be wrong."""
    rng = np.random.default_rng(seed)
    sentences = []
    for _ in range(count):
        words, tags, labels, last = [], [], [], ""
        while len(words) < 25:
            last = str(rng.choice(NEXT[last]))
            if not last:
                break
            pattern = CHUNKS[last][rng.integers(len(CHUNKS[last]))]
            for i, tag in enumerate(pattern):
                words.append(str(rng.choice(WORDS[tag])))
                wrong = rng.random() < 0.15
                tags.append(str(rng.choice(list(WORDS))) if wrong else tag)
                labels.append(f"{'I' if i else 'B'}-{last}")
        sentences.append(Sentence((words, tags), labels))
    return sentences
