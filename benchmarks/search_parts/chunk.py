"""1. Chunk F1 on CoNLL-2000, and what it takes."""

from __future__ import annotations

from dataclasses import replace

from search_parts.data import chunks
from search_parts.rows import direction_rows, learn, peer_rows, roll_in_rows, warm_up


def run(*, quick: bool) -> None:
    corpus = chunks()
    if quick:
        corpus = replace(corpus, train=corpus.train[:200], test=corpus.test[:100])
    seeds = range(1 if quick else 3)
    warm_up("chunk", corpus.train)
    _, left = learn("chunk", corpus, seeds[:1], direction="left")
    taggers, both = learn("chunk", corpus, seeds)
    targets = (">=", 93.8), (">=", 94.2)
    direction_rows("chunk", taggers, corpus.test, (left, both), targets)
    roll_in_rows("chunk", corpus, seeds)
    peer_rows("chunk", corpus)
