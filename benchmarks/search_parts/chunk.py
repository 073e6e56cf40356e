"""1. Chunk F1 on CoNLL-2000, and what it takes."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from harness import emit

from argmetric.search import Tagger
from search_parts.data import Corpus, chunks, timed, tokens_of
from search_parts.rows import (
    LEFT,
    RIGHT,
    Row,
    peer_rows,
    roll_in_rows,
    scores_of,
    speed_of,
    variant,
    warm_up,
)


def run(*, quick: bool) -> None:
    """Measure, and return the table."""
    corpus = chunks()
    if quick:
        corpus = replace(corpus, train=corpus.train[:200], test=corpus.test[:100])
    seeds = range(1 if quick else 3)
    warm_up("chunk", corpus.train)
    rows = _ours(corpus, seeds)
    one, both = rows[1], rows[3]
    rows += roll_in_rows("chunk", "chunk", corpus, seeds)
    peers = peer_rows("chunk", "chunk", corpus)
    _compare(one, both, peers)


def _ours(corpus: Corpus, seeds: range) -> list[Row]:
    _, seconds = timed(lambda: Tagger("chunk", direction="left").fit(corpus.train))
    taggers, total = [], 0.0
    for seed in seeds:
        tagger, spent = timed(
            lambda s=seed: Tagger("chunk", random_state=s).fit(corpus.train)
        )
        taggers.append(tagger)
        total += spent / len(seeds)
    test, rows = corpus.test, []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        speeds = [
            speed_of(variant(taggers[0], beam=beam, sides=sides), test, path)
            for beam, sides in ((1, LEFT), (5, LEFT), (5, slice(None)))
        ]
        megabytes = path.stat().st_size / 1e6
        taggers[0].save(path)
        same = Tagger.load(path).predict(test[:200]) == taggers[0].predict(test[:200])
    table = (
        ("from the left, greedy", 1, LEFT, seconds, speeds[0], None),
        ("from the left, beam 5", 5, LEFT, seconds, speeds[1], (">=", 93.8)),
        ("from the right, beam 5", 5, RIGHT, None, None, None),
        ("two directions", 5, slice(None), total, speeds[2], (">=", 94.2)),
    )
    for name, beam, sides, spent, speed, target in table:
        scores = scores_of(taggers, test, beam=beam, sides=sides)
        rows.append(Row(name, scores, spent, speed).tell("chunk", target, aim=94.5))
    emit("chunk", "tagging, greedy", speeds[0], "tokens per CPU s", (">=", 1e5))
    emit(
        "chunk",
        "a model file tags alike after a round trip",
        float(same),
        "yes or no",
        (">=", 1.0),
        megabytes=megabytes,
        training_tokens=tokens_of(corpus.train),
        test_tokens=tokens_of(test),
    )
    return rows


def _compare(one: Row, both: Row, peers: list[Row]) -> None:
    if not peers:
        return
    best = max(peers, key=lambda row: row.mean)
    for row in (one, both):
        emit(
            "chunk",
            f"{row.name}: lead over the best peer",
            row.mean - best.mean,
            "F1, %",
            (">=", 0.0),
            peer=best.name,
        )
    for row in peers:
        if row.name.startswith("crfsuite L-BFGS"):
            emit(
                "chunk",
                f"training time, one policy over {row.name}",
                one.train_seconds / row.train_seconds,
                "ratio of CPU s",
                ("<=", 1.0),
                two_directions=both.train_seconds / row.train_seconds,
            )
