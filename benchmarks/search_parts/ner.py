"""2. Entity F1 on the Spanish test set, all sentences and blocks of 300."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from harness import emit

from argmetric.search import Tagger, default_templates
from search_parts import peers
from search_parts.data import Corpus, gold_of, spanish, strict_f1, timed
from search_parts.rows import LEFT, Row, peer_rows, roll_in_rows, scores_of, warm_up

SMALL, BLOCKS = 300, 5


def run(*, quick: bool) -> None:
    """Measure, and return the tables."""
    corpus = spanish()
    if quick:
        corpus = replace(corpus, train=corpus.train[:1500], test=corpus.test[:100])
    seeds = range(1 if quick else 3)
    warm_up("ner", corpus.train)
    _small(corpus, 1 if quick else BLOCKS)
    _plain(corpus, seeds)
    _memory(corpus, seeds)
    roll_in_rows("ner", "ner", corpus, seeds, memory="none")
    peer_rows("ner", "ner", corpus)


def _plain(corpus: Corpus, seeds: range) -> None:
    taggers, total = [], 0.0
    for seed in seeds:
        tagger, spent = timed(
            lambda s=seed: Tagger("ner", memory="none", random_state=s).fit(
                corpus.train
            )
        )
        taggers.append(tagger)
        total += spent / len(seeds)
    test = corpus.test
    table = (
        ("from the left, greedy", 1, LEFT, total / 2, None),
        ("from the left, beam 5", 5, LEFT, total / 2, (">=", 81.0)),
        ("two directions", 5, slice(None), total, None),
    )
    for name, beam, sides, spent, target in table:
        scores = scores_of(taggers, test, beam=beam, sides=sides)
        Row(name, scores, spent).tell("ner", target)


def _memory(corpus: Corpus, seeds: range) -> None:
    for memory, target in (("past", None), ("both", (">=", 82.0))):
        taggers, total = [], 0.0
        for seed in seeds if memory == "both" else seeds[:1]:
            tagger, spent = timed(
                lambda s=seed, m=memory: Tagger("ner", memory=m, random_state=s).fit(
                    corpus.train
                )
            )
            taggers.append(tagger)
            total += spent
        name = f"two directions, memory {memory}"
        scores = scores_of(taggers, corpus.test)
        Row(name, scores, total / len(taggers)).tell("ner", target, aim=83.5)


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
        emit(
            "ner",
            f"{SMALL} sentences: lead of {name} over {best}",
            float(gains.mean()),
            "F1, %",
            (">=", 0.0),
            blocks_won=int((gains > 0).sum()),
            gains=gains.tolist(),
        )
