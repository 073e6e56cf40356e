"""1. Chunk F1 on CoNLL-2000, and what it takes."""

from __future__ import annotations

from dataclasses import replace

from argmetric.search import Tagger
from search_parts.data import Corpus, chunks, timed
from search_parts.rows import LEFT, Row, peer_rows, roll_in_rows, scores_of, warm_up


def run(*, quick: bool) -> None:
    """Measure, and return the table."""
    corpus = chunks()
    if quick:
        corpus = replace(corpus, train=corpus.train[:200], test=corpus.test[:100])
    seeds = range(1 if quick else 3)
    warm_up("chunk", corpus.train)
    _ours(corpus, seeds)
    roll_in_rows("chunk", "chunk", corpus, seeds)
    peer_rows("chunk", "chunk", corpus)


def _ours(corpus: Corpus, seeds: range) -> None:
    _, seconds = timed(lambda: Tagger("chunk", direction="left").fit(corpus.train))
    taggers, total = [], 0.0
    for seed in seeds:
        tagger, spent = timed(
            lambda s=seed: Tagger("chunk", random_state=s).fit(corpus.train)
        )
        taggers.append(tagger)
        total += spent / len(seeds)
    test = corpus.test
    table = (
        ("from the left, greedy", 1, LEFT, seconds, None),
        ("from the left, beam 5", 5, LEFT, seconds, (">=", 93.8)),
        ("two directions", 5, slice(None), total, (">=", 94.2)),
    )
    for name, beam, sides, spent, target in table:
        scores = scores_of(taggers, test, beam=beam, sides=sides)
        Row(name, scores, spent).tell("chunk", target, aim=94.5)
