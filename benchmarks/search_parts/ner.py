"""2. Entity F1 on the Spanish test set, all sentences and blocks of 300."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from harness import emit_mean

from argmetric.search import Tagger, default_templates
from search_parts import peers
from search_parts.data import Corpus, gold_of, spanish, strict_f1
from search_parts.rows import (
    Row,
    direction_rows,
    learn,
    peer_rows,
    roll_in_rows,
    scores_of,
    warm_up,
)

SMALL, BLOCKS = 300, 5


def run(*, quick: bool) -> None:
    corpus = spanish()
    if quick:
        corpus = replace(corpus, train=corpus.train[:1500], test=corpus.test[:100])
    seeds = range(1 if quick else 3)
    warm_up("ner", corpus.train)
    _small(corpus, 1 if quick else BLOCKS)
    taggers, both = learn("ner", corpus, seeds, memory="none")
    targets = (">=", 81.0), None
    direction_rows("ner", taggers, corpus.test, (both / 2, both), targets)
    for memory, target in (("past", None), ("both", (">=", 82.0))):
        some = seeds if memory == "both" else seeds[:1]
        taggers, spent = learn("ner", corpus, some, memory=memory)
        scores = scores_of(taggers, corpus.test)
        Row(f"two directions, memory {memory}", scores, spent).tell("ner", target)
    roll_in_rows("ner", corpus, seeds, memory="none")
    peer_rows("ner", corpus)


def _small(corpus: Corpus, n_blocks: int) -> None:
    """300 sentences each; one block alone may be luck."""
    test, gold = corpus.test, gold_of(corpus.test)
    same = peers.TemplateAttributes(default_templates("ner"))
    found: dict[str, list[float]] = {}
    for block in range(n_blocks):
        train = corpus.train[block * SMALL : (block + 1) * SMALL]
        one = Tagger("ner", memory="none", direction="left").fit(train)
        both = Tagger("ner", memory="none").fit(train)
        default = Tagger("ner").fit(train)
        runs = {
            "from the left, beam 5": one.predict(test),
            "two directions": both.predict(test),
            "two directions, memory both": default.predict(test),
            "crfsuite L-BFGS, same templates": peers.crfsuite(train, test, same).labels,
            "VW search, same templates": peers.vowpal_wabbit(train, test, same).labels,
        }
        for name, labels in runs.items():
            found.setdefault(name, []).append(strict_f1(gold, labels))
    for name, scores in found.items():
        Row(f"{SMALL} sentences: {name}", tuple(scores)).tell("ner", first=scores[0])
    best = max(
        (x for x in found if x.startswith("crfsuite")), key=lambda x: np.mean(found[x])
    )
    for name in ("from the left, beam 5", "two directions, memory both"):
        gains = np.subtract(found[name], found[best])
        what = f"{SMALL} sentences: lead of {name} over {best}"
        won = int((gains > 0).sum())
        emit_mean("ner", what, gains, "F1, %", (">=", 0.0), blocks_won=won)
