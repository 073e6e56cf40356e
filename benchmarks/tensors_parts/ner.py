"""Spanish named entities of CoNLL-2002 by a small network, and ways to decode it.

    python benchmarks/tensors.py ner                       # both halves
    python benchmarks/tensors.py ner --device cuda --write-scores FILE.npz
    python benchmarks/tensors.py ner --read-scores FILE.npz   # the table

The first half needs torch and numpy alone. Three seeds of words; then two networks of
sub-words of four characters: one is trained on the first sub-word of every word, one on
all of them with the label of the word.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness import data_file

from tensors_parts.tagger import IGNORED, Sentences, in_pieces, read_conll, train

SEEDS = 3
BETAS = {"f1": 1.0, "f0.5": 0.5, "f2": 2.0}
PUBLISHED = "https://www.cnts.ua.ac.be/conll2002/ner/"
Say = Callable[..., None]
Scores = dict[str, Any]


def read_parts(small: bool) -> dict[str, Sentences]:
    parts = {"train": "esp.train", "a": "esp.testa", "b": "esp.testb"}
    return {
        name: read_conll(
            data_file(f"conll2002/{file}", PUBLISHED), 60 if small else None
        )
        for name, file in parts.items()
    }


def write_scores(device: Any, say: Say, path: Path | None) -> Scores:
    """Train every network; label logits of tests A and B, kept after each of them."""
    asked, torch = device.options, device.torch
    parts = read_parts(asked.small)
    names = sorted({label for _, labels in parts["train"] for label in labels})
    number = {name: at for at, name in enumerate(names)}
    scores: Scores = {"labels": np.array(names)}
    kinds = [
        ("words", seed) for seed in range(SEEDS if asked.seeds is None else asked.seeds)
    ]
    for kind, seed in [*kinds, ("first", 0), ("all", 0)]:
        start = time.perf_counter()
        units, gold = [], []
        for words, labels in parts["train"]:
            of_words = [number[label] for label in labels]
            if kind == "words":
                units.append(words)
                gold.append(of_words)
                continue
            pieces, ids = in_pieces(words)
            units.append(pieces)
            new = [a != b for a, b in zip(ids, [-1, *ids], strict=False)]
            gold.append(
                [
                    of_words[i] if one or kind == "all" else IGNORED
                    for i, one in zip(ids, new, strict=True)
                ]
            )
        epochs = {} if asked.epochs is None else {"epochs": asked.epochs}
        logits = train(
            torch,
            units,
            gold,
            len(names),
            seed=seed,
            device=device.name,
            told=lambda kind=kind, **line: say("ner training", network=kind, **line),
            **epochs,
        )
        for part in ("a", "b"):
            some = [words for words, _ in parts[part]]
            if kind != "words":
                some = [in_pieces(words)[0] for words in some]
            scores[f"{kind}_{seed}_{part}"] = logits(some)
        took = round(time.perf_counter() - start, 1)
        say("ner training", network=kind, seed=seed, seconds=took)
        if path is not None:
            np.savez_compressed(path, **scores)
    return scores


def boxed(flat: Any, lengths: list[int]) -> tuple[Any, Any]:
    """Logits as sentences × tokens × labels, and which tokens there are."""
    mask = np.arange(max(lengths)) < np.array(lengths)[:, None]
    box = np.zeros((*mask.shape, flat.shape[1]))
    box[mask] = flat
    return box, mask


def read_models(
    scores: Scores, name: str, part: str, sentences: Sentences, subwords: str
) -> Any:
    """Chains of words from the logits of a network."""
    from argmetric.sequence import token_model

    flat, labels = scores[f"{name}_{part}"], scores["labels"].tolist()
    if name.startswith("words"):
        box, mask = boxed(flat, [len(words) for words, _ in sentences])
        return token_model(box, labels, logits=True, mask=mask)
    ids = [in_pieces(words)[1] for words, _ in sentences]
    box, mask = boxed(flat, [len(one) for one in ids])
    numbers = np.full(mask.shape, np.nan)
    numbers[mask] = np.concatenate(ids)
    return token_model(box, labels, logits=True, word_ids=numbers, subwords=subwords)


def counts(gold: list[list[str]], found: list[list[str]]) -> tuple[int, int, int]:
    """Right spans, spans found, and true spans."""
    from argmetric.sequence import read_chunks

    true = [set(read_chunks(one)) for one in gold]
    made = [set(read_chunks(one)) for one in found]
    right = sum(len(a & b) for a, b in zip(true, made, strict=True))
    return right, sum(map(len, made)), sum(map(len, true))


def f_score(beta: float, right: int, found: int, true: int) -> float:
    return (1 + beta**2) * right / max(found + beta**2 * true, 1)


def disputed(
    spans: Any, gold: list[list[str]], viterbi: list[list[str]], other: list[list[str]]
) -> dict[str, float]:
    """Spans of Viterbi that another decoder cuts into pieces, and spans it adds.

    Of each kind: how many, their mean probability, and the share that is right.
    """
    from argmetric.sequence import read_chunks

    begins = spans.batch.indptr.tolist()

    def placed(labels: list[list[str]]) -> set[Any]:
        return {
            (at + one.start, at + one.stop, one.type)
            for at, some in zip(begins, labels, strict=False)
            for one in read_chunks(some)
        }

    rows = zip(spans.flat.tolist(), spans.probability.tolist(), strict=True)
    known = {(a, b, spans.types[kind]): p for (a, b, kind), p in rows}
    true, ours, theirs = placed(gold), placed(other), placed(viterbi)
    around = {at: span for span in theirs - ours for at in range(*span[:2])}
    covered = {at for span in theirs for at in range(*span[:2])}
    kinds: dict[str, set[Any]] = {"whole": set(), "pieces": set(), "added": set()}
    for span in ours - theirs:
        whole = around.get(span[0])
        if whole is not None and span[1] <= whole[1]:
            kinds["pieces"].add(span)
            kinds["whole"].add(whole)
        elif covered.isdisjoint(range(*span[:2])):
            kinds["added"].add(span)
    line = {}
    for kind, some in kinds.items():
        line[f"f2_{kind}"] = float(len(some))
        if some:
            probability = [known.get(span, 0.0) for span in some]
            line[f"f2_{kind}_probability"] = float(np.mean(probability))
            line[f"f2_{kind}_right"] = len(some & true) / len(some)
    return line


def decoded(
    scores: Scores, name: str, parts: dict[str, Sentences], subwords: str
) -> Any:
    """Actual F of every way to decode a network, and what decode_spans expects."""
    from argmetric.sequence import decode_spans, recalibrate, span_marginals

    models = {
        part: read_models(scores, name, part, parts[part], subwords) for part in "ab"
    }
    gold = [labels for _, labels in parts["b"]]
    labels = scores["labels"].tolist()
    fit = recalibrate(models["a"], [labels for _, labels in parts["a"]])
    line: dict[str, Any] = {"slope": fit.slope}
    if name.startswith("words"):
        best = np.array(labels, dtype=object)[scores[f"{name}_b"].argmax(1)].tolist()
        ends = np.cumsum([0, *map(len, gold)]).tolist()
        cut = [best[a:b] for a, b in itertools.pairwise(ends)]
        ways = {"argmax": cut}
    else:
        ways = {}
    ways["viterbi"] = [[labels[y] for y in one.viterbi()] for one in models["b"]]
    spans = span_marginals(models["b"])
    for metric, beta in BETAS.items():
        for way, found in ways.items():
            line[f"{metric}_{way}"] = f_score(beta, *counts(gold, found))
        for way, maps in (("decode_spans", None), ("recalibrated", fit)):
            d = decode_spans(spans, metric=metric, reference=maps)
            line[f"{metric}_{way}"] = f_score(beta, *counts(gold, d.labels))
            line[f"{metric}_{way}_expected"] = float(d.expected)
            if metric == "f2" and maps is None:
                line |= disputed(spans, gold, ways["viterbi"], d.labels)
    return {key: round(value, 4) for key, value in line.items()}


def print_table(scores: Scores, say: Say, small: bool) -> None:
    parts = read_parts(small)
    networks = [key[:-2] for key in scores if key.endswith("_b")]
    lines = []
    for name in networks:
        for subwords in ("first",) if name.startswith("words") else ("first", "mean"):
            line = decoded(scores, name, parts, subwords)
            extra = {} if name.startswith("words") else {"subwords": subwords}
            say("ner", network=name, **extra, **line)
            if name.startswith("words"):
                lines.append(line)
    for key in lines[0] if lines else ():
        values = [line[key] for line in lines if key in line]
        spread = round(float(np.std(values, ddof=1)), 4) if len(values) > 1 else None
        say("ner", what=key, mean=round(float(np.mean(values)), 4), sd=spread)


def ner(device: Any, say: Say) -> None:
    """Train, decode, or both."""
    asked = device.options
    if asked.read_scores is None:
        scores = write_scores(device, say, asked.write_scores)
        if asked.write_scores is not None:
            return
    else:
        with np.load(asked.read_scores) as found:
            scores = dict(found)
    print_table(scores, say, asked.small)
