"""Measure spans on real data: entity F1 and F2 of four ways to decode the same model.

    python benchmarks/spans.py                      # everything: trains for 5 minutes
    python benchmarks/spans.py --small              # 300-sentence models only
    python benchmarks/spans.py --models FOLDER      # keep models, use them again
    python benchmarks/spans.py --table              # the tables of the docs, last

Data: CoNLL-2002 Spanish and CoNLL-2000, in the folder that ARGMETRIC_DATA names, or in
../shared/data from the project's root. Models: crfsuite, L-BFGS with c1 = c2 = 0.1 and
the standard features of `argmetric.sequence`. Scores: seqeval, strict, IOB2. One JSON
object a line.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from harness import emit, emit_machine, emit_summary, wall_seconds

from argmetric.sequence import (
    LinearChainCRF,
    decode_spans,
    read_chunks,
    read_sentences,
    recalibrate,
    standard_features,
)
from argmetric.sequence._crf import build_batch

ROOT = Path(__file__).resolve().parents[1]
SMALL = 300
BLOCKS = 5  # of 300 sentences each: one block alone may be luck
FIRST = (1, 3, 10, 30, 100)  # sentences: exact decoding against expected counts
THRESHOLDS = np.linspace(0.02, 0.98, 49)
WAYS = ("viterbi", "token threshold", "expected F", "recalibrated")
TRAINING = {"c1": 0.1, "c2": 0.1, "max_iterations": 100}


@dataclass(frozen=True)
class Corpus:
    name: str
    train: list[Any]
    dev: list[Any]
    test: list[Any]


def data_folder() -> Path:
    folder = Path(os.environ.get("ARGMETRIC_DATA", ROOT.parent / "shared" / "data"))
    wanted = ("conll2002/esp.train", "conll2000/train.txt")
    missing = [name for name in wanted if not (folder / name).exists()]
    if missing:
        sys.exit(
            f"no {' and no '.join(missing)} in {folder}; set ARGMETRIC_DATA to where "
            "they are: CoNLL-2002 is at https://www.cnts.ua.ac.be/conll2002/ner/, "
            "CoNLL-2000 at https://www.cnts.ua.ac.be/conll2000/chunking/"
        )
    return folder


def load_corpora() -> list[Corpus]:
    folder = data_folder()
    spanish = [
        read_sentences(folder / "conll2002" / f"esp.{part}", labels="yes")
        for part in ("train", "testa", "testb")
    ]
    chunks = read_sentences(folder / "conll2000" / "train.txt", labels="yes")
    test = read_sentences(folder / "conll2000" / "test.txt", labels="yes")
    # CoNLL-2000 has no development set: the last 936 sentences of training serve
    return [
        Corpus("conll2002-es", *spanish),
        Corpus("conll2000", chunks[:8000], chunks[8000:], test),
    ]


def trained(corpus: Corpus, block: int | None, models: Path) -> LinearChainCRF:
    """The model of a 300-sentence block, or of all of them (None)."""
    import pycrfsuite

    name = "full" if block is None else f"{SMALL}-{block}"
    path = models / f"{corpus.name}-{name}.crfsuite"
    if not path.exists():
        first, last = (
            (0, None) if block is None else (block * SMALL, (block + 1) * SMALL)
        )
        trainer = pycrfsuite.Trainer(verbose=False)
        for sentence in corpus.train[first:last]:
            trainer.append(standard_features(sentence.columns), sentence.labels)
        trainer.set_params(TRAINING | {"feature.possible_transitions": True})
        seconds = wall_seconds(lambda: trainer.train(str(path)))
        emit("training", f"{corpus.name} {name}", seconds, "s")
    return LinearChainCRF.from_crfsuite(path)


def seqeval_scores(gold: list[Any], predicted: list[Any]) -> dict[str, float]:
    from seqeval.metrics.v1 import precision_recall_fscore_support  # the strict one
    from seqeval.scheme import IOB2

    def score(beta: float) -> float:
        return float(
            precision_recall_fscore_support(
                gold,
                predicted,
                beta=beta,
                scheme=IOB2,
                average="micro",
                zero_division=0,
            )[2]
        )

    return {"f1": score(1.0), "f2": score(2.0)}


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


def measure(corpus: Corpus, block: int | None, models: Path) -> dict[str, Any]:
    model = trained(corpus, block, models)
    dev = corpus.dev if block is None else corpus.dev[:SMALL]
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


def report(corpus: Corpus, what: str, scores: dict[str, Any], *, must: bool) -> None:
    for way in WAYS:
        for metric in ("f1", "f2"):
            floor = scores["viterbi"][metric]
            target = (">=", floor) if must and way == "expected F" else None
            details = {
                k: v for k, v in scores[way].items() if k == f"promised {metric}"
            }
            emit(
                "spans",
                f"{corpus.name} {what}: {metric} of {way}",
                scores[way][metric],
                "score",
                target,
                over_viterbi=scores[way][metric] - floor,
                **details,
            )


def blocks_report(corpus: Corpus, models: Path, first: dict[str, Any]) -> None:
    """The same on further blocks of 300 sentences."""
    runs = [first, *(measure(corpus, i, models) for i in range(1, BLOCKS))]
    for way in WAYS[1:]:
        for metric in ("f1", "f2"):
            gains = [run[way][metric] - run["viterbi"][metric] for run in runs]
            emit(
                "blocks",
                f"{corpus.name}: gain of {way} in {metric}, {BLOCKS} blocks of {SMALL}",
                float(np.mean(gains)),
                "score",
                gains=gains,
                better=sum(gain > 0 for gain in gains),
            )


def methods_report(corpus: Corpus, models: Path) -> str:
    """E[F1] against F1 of expected counts on the first sentences, as a table."""
    model = trained(corpus, 0, models)
    features = [standard_features(s.columns) for s in corpus.test[: max(FIRST)]]
    chains = model.sentences(features)
    rows: list[tuple[str, ...]] = []
    for n in FIRST:
        exact, counts = (
            decode_spans(chains[:n], metric="f1", method=method)
            for method in ("exact", "counts")
        )
        mine, other = (
            {(g, *span[:3]) for g, spans in enumerate(d.spans) for span in spans}
            for d in (exact, counts)
        )
        emit(
            "methods",
            f"{corpus.name}: largest E[F1] of the first {n} sentences",
            exact.expected,
            "score",
            spans_expected=exact.expected_spans,
            of_expected_counts=counts.expected,
            chosen=len(mine),
            chosen_by_counts=len(other),
            in_both=len(mine & other),
        )
        same = (
            "yes" if mine == other else f"no: {len(mine & other)}/{len(mine | other)}"
        )
        numbers = (f"{d.expected:.4f}" for d in (exact, counts))
        rows.append((str(n), f"{exact.expected_spans:.1f}", *numbers, same))
    head = ("sentences", "spans expected", "max E[F]", "max F of exp. counts")
    return text_table([(*head, "same spans"), *rows], (9, 14, 8, 20, 10))


def text_table(rows: list[tuple[str, ...]], widths: tuple[int, ...]) -> str:
    """A reStructuredText simple table, its head first."""
    rule = "  ".join("=" * width for width in widths)
    lines = [
        "  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)) for r in rows
    ]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule])


def speed(corpus: Corpus, models: Path) -> None:
    model = trained(corpus, 0, models)
    features = [standard_features(s.columns) for s in corpus.test]
    tokens = sum(map(len, features))
    chains = model.sentences(features)
    decode_spans(chains)  # compiles
    seconds = min(wall_seconds(lambda: decode_spans(chains)) for _ in range(3))
    scoring = min(wall_seconds(lambda: model.sentences(features)) for _ in range(3))
    emit(
        "speed",
        f"decode {tokens:,} tokens of {corpus.name} for f1",
        (seconds + scoring) * 50_000 / tokens,
        "s for 50,000 tokens",
        ("<=", 10.0),
        scores_of_features=scoring,
        marginals_and_spans=seconds,
    )


def table(results: dict[tuple[str, str], dict[str, Any]]) -> str:
    """The table of scores in the docs."""
    widths = (14, 6, *(15 for _ in WAYS))
    rows: list[tuple[str, ...]] = [("data", "train", *(way for way in WAYS))]
    for (name, what), scores in results.items():
        cells = (f"{scores[way]['f1']:.3f} / {scores[way]['f2']:.3f}" for way in WAYS)
        rows.append((name, what, *cells))
    return text_table(rows, widths)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--small", action="store_true", help="no full training sets")
    parser.add_argument("--models", type=Path, help="folder for trained models")
    parser.add_argument("--table", action="store_true", help="print the tables, last")
    options = parser.parse_args()
    try:
        import pycrfsuite  # noqa: F401
        import seqeval  # noqa: F401
    except ImportError as error:
        sys.exit(f"{error.name} is missing: pip install python-crfsuite seqeval")
    emit_machine()
    results: dict[tuple[str, str], dict[str, Any]] = {}
    methods = ""
    with tempfile.TemporaryDirectory() as scratch:
        models = options.models or Path(scratch)
        models.mkdir(parents=True, exist_ok=True)
        for corpus in load_corpora():
            scores = results[corpus.name, str(SMALL)] = measure(corpus, 0, models)
            must = corpus.name == "conll2002-es"
            report(corpus, str(SMALL), scores, must=must)
            if must:
                speed(corpus, models)
                methods = methods_report(corpus, models)
                blocks_report(corpus, models, scores)
            if not options.small:
                scores = results[corpus.name, "full"] = measure(corpus, None, models)
                report(corpus, "full", scores, must=False)
    emit_summary()
    if options.table:
        print(f"\n{methods}\n\n{table(results)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
