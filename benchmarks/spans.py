"""Measure spans on real data: entity F1 and F2 of four ways to decode the same model.

    python benchmarks/spans.py                      # everything: trains for 5 minutes
    python benchmarks/spans.py --quick              # 300-sentence models only
    python benchmarks/spans.py --table              # the tables of the docs, last

Data: CoNLL-2002 Spanish and CoNLL-2000, in the folder that ARGMETRIC_DATA names, or in
../shared/data from the project's root. Models: crfsuite, L-BFGS with c1 = c2 = 0.1 and
the standard features of `argmetric.sequence`. Scores: seqeval, strict, IOB2. One JSON
object a line.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from harness import emit, run_sections
from search_parts.data import Corpus, chunks, spanish, strict_f1
from search_parts.peers import train_crf

from argmetric.sequence import (
    LinearChainCRF,
    decode_spans,
    read_chunks,
    recalibrate,
    standard_features,
)
from argmetric.sequence._crf import build_batch

SMALL = 300
THRESHOLDS = np.linspace(0.02, 0.98, 49)
WAYS = ("viterbi", "token threshold", "expected F", "recalibrated")


def load_corpora() -> list[Corpus]:
    # CoNLL-2000 has no development set: the last 936 sentences of training serve
    corpus = chunks()
    train, dev = corpus.train[:8000], corpus.train[8000:]
    return [spanish(), replace(corpus, train=train, dev=dev)]


def trained(corpus: Corpus, most: int | None) -> LinearChainCRF:
    """Return the model of the first sentences, or of all of them (None)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        train_crf(corpus.train[:most], path)
        return LinearChainCRF.from_crfsuite(path)


def seqeval_scores(gold: list[Any], predicted: list[Any]) -> dict[str, float]:
    betas = {"f1": 1.0, "f2": 2.0}
    return {name: strict_f1(gold, predicted, b) / 100 for name, b in betas.items()}


def quick_score(gold: list[set[Any]], predicted: list[Any], beta: float) -> float:
    hits = size = 0
    for true, labels in zip(gold, predicted, strict=True):
        found = set(read_chunks(labels))
        hits, size = hits + len(true & found), size + len(found)
    there = sum(map(len, gold))
    return (1 + beta**2) * hits / (size + beta**2 * there)


def token_threshold(batch: Any, labels: np.ndarray, threshold: float) -> list[Any]:
    """The usual recipe: the best label but O wherever P(not O) passes a threshold.

    An inside label with nothing to continue becomes a beginning, which favours it.
    """
    outside = int(np.flatnonzero(labels == "O")[0])
    marginals = batch.marginals.copy()
    entity = 1.0 - marginals[:, outside] >= threshold
    marginals[:, outside] = -1.0
    best = np.where(entity, labels[marginals.argmax(axis=1)], "O")
    sentences = []
    for start, stop in zip(batch.indptr, batch.indptr[1:], strict=False):
        row = best[start:stop].tolist()
        for i, label in enumerate(row):
            if label[0] == "I" and (i == 0 or row[i - 1][2:] != label[2:]):
                row[i] = "B" + label[1:]
        sentences.append(row)
    return sentences


def measure(corpus: Corpus, most: int | None) -> dict[str, Any]:
    model = trained(corpus, most)
    dev = corpus.dev[:most]
    known, chains = (
        model.sentences([standard_features(s.columns) for s in part])
        for part in (dev, corpus.test)
    )
    gold = [s.labels for s in corpus.test]
    dev_gold = [s.labels for s in dev]
    dev_chunks = [set(read_chunks(labels)) for labels in dev_gold]
    labels = np.array(model.labels)
    batch, dev_batch = build_batch(chains), build_batch(known)
    best, _ = batch.viterbi()
    viterbi = [part.tolist() for part in np.split(labels[best], batch.indptr[1:-1])]
    fitted = recalibrate(known, dev_gold)
    scores: dict[str, Any] = {way: {} for way in WAYS}
    scores["viterbi"] = seqeval_scores(gold, viterbi)
    for name, beta in (("f1", 1.0), ("f2", 2.0)):
        on_dev = [
            quick_score(dev_chunks, token_threshold(dev_batch, labels, t), beta)
            for t in THRESHOLDS
        ]
        threshold = float(THRESHOLDS[int(np.argmax(on_dev))])
        by_token = token_threshold(batch, labels, threshold)
        scores["token threshold"][name] = seqeval_scores(gold, by_token)[name]
        for way, recalibration in (("expected F", None), ("recalibrated", fitted)):
            spans = decode_spans(chains, metric=name, reference=recalibration)
            scores[way][name] = seqeval_scores(gold, spans.labels)[name]
            scores[way][f"promised {name}"] = spans.expected
    return scores


def run(*, quick: bool) -> None:
    for corpus, most in product(load_corpora(), (SMALL,) if quick else (SMALL, None)):
        scores = measure(corpus, most)
        what = str(most or "full")
        for way, metric in product(WAYS, ("f1", "f2")):
            name = f"{corpus.name} {what}: {metric} of {way}"
            promised = scores[way].get(f"promised {metric}")
            emit("spans", name, scores[way][metric], "score", promised=promised)


if __name__ == "__main__":
    sys.exit(run_sections(__doc__, {"spans": run}))
