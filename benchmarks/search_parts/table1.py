"""Table 1 of the SEARN paper, repeated: SEARN itself, its first iteration and others.

MEMM is SEARN's first iteration. No iteration is chosen by its score: rows show the
last. Each row has the score of the bottom half of the table (F1 of chunks, labels that
are right) and of the top half (sequences that are right as a whole).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from argmetric.search._searn._sequences import PreparedInputs
from search_parts import searn
from search_parts.data import timed
from search_parts.phrases import phrases
from search_parts.searn import BEAM, BETA, Labels, Problem

SMALL, PAIRS, LARGE = (
    "handwriting, small",
    "handwriting, small, pairs of pixels",
    "handwriting, large",
)
NER_SMALL, NER, NER_CHUNKS, CHUNKS, CHUNK_AT_A_TIME, JOINT, JOINT_FOUR = (
    "NER, small",
    "NER",
    "NER, chunk at a time",
    "chunks",
    "chunks, chunk at a time",
    "joint",
    "joint, four labels back",
)
TASKS = (
    *(SMALL, PAIRS, LARGE, NER_SMALL, NER, NER_CHUNKS),
    *(CHUNKS, CHUNK_AT_A_TIME, JOINT, JOINT_FOUR),
)
NER_SENTENCES = 300  # of the small set, as in the paper
LETTERS, PHRASES = (SMALL, PAIRS, LARGE), (NER_CHUNKS, CHUNK_AT_A_TIME)
SEEDS = (0, 1, 2)
LOLS_BETA = 0.5  # of the paper on LOLS
KERNEL, KERNEL_ITERATIONS = "SVM, quadratic kernel", 3
ALL_PAIRS = "SEARN β = 1, weighted all pairs with costing"
NO_PACKAGE = "no package at hand has it"
NOT_RUN = {  # system: why, and the tasks that have no figure of it
    "M3N": (NO_PACKAGE, TASKS),
    "SVMstruct": (NO_PACKAGE, TASKS),
    "CRF": (
        "crfsuite labels words, not chunks; tags and chunks in turn are 66 labels, and "
        "its time grows with their square",
        (NER_CHUNKS, CHUNK_AT_A_TIME, JOINT, JOINT_FOUR),
    ),
    f"SEARN β = 1, {KERNEL}": (
        "the time of libsvm grows with the square of the rows or faster: 4,600 letters "
        "take 2 CPU seconds, the other tasks have 2 to 90 times as many",
        (LARGE, NER_SMALL, NER, CHUNKS, JOINT),
    ),
    ALL_PAIRS: (
        "a decision about a chunk of CoNLL-2000 has 67 actions, so 2,211 pairs, "
        "whose differences of features are laid out at once: 0.04 GB a sentence, some "
        "400 GB in all",
        PHRASES,
    ),
}
Row = tuple[str, Labels, float]


def problem_of(
    task: str,
    seed: int,
    *,
    quick: bool = False,
    keep: Path | None = None,
    sentences: int | None = None,
    words: int = 1,
) -> Problem:
    """The problem of a seed, which is the fold of letters.

    Of text, the first `sentences` to learn from, all by default; of letters, every
    `words`-th word to judge by.
    """
    step, cut = (8, 150) if quick else (1, None)
    if task in LETTERS:
        size = "large" if task == LARGE else "small"
        one = searn.handwriting(size, seed, step, pairs=task == PAIRS)
        if words == 1:
            return one
        unseen = PreparedInputs(one.unseen.task, one.unseen.items[::words])
        return replace(one, unseen=unseen, gold=one.gold[::words])
    many = sentences or cut or (NER_SENTENCES if task == NER_SMALL else None)
    if task in (JOINT, JOINT_FOUR):
        one = searn.joint(many, cut)
        return one if task == JOINT else searn.four_back(one)
    name = "ner" if task in (NER_SMALL, NER, NER_CHUNKS) else "chunk"
    if task in PHRASES:
        return phrases(name, many, cut, keep)
    return searn.text(name, many, cut)


def _alone(problem: Problem, seed: int) -> Iterator[Row]:
    for kind in ("logistic", "perceptron", "svm"):
        options: dict[str, Any] = {"beta": 1.0, "iterations": 1, "kind": kind}
        call = partial(searn.fitted, problem, seed, history=0, **options)
        alone, seconds = timed(call)
        name = {"svm": "SVM"}.get(kind, kind)
        yield f"independent, {name}", searn.decoded(alone, problem), seconds


def _searn(
    problem: Problem, seed: int, name: str = "SEARN β = 1", **options: Any
) -> Iterator[Row]:
    """The last iteration, greedily and by a beam; of logistic β = 1 also the first."""
    beta = options.setdefault("beta", 1.0)
    n = options.setdefault("iterations", problem.iterations.get(beta, 3))
    plain = beta == 1 and not options.keys() - {"beta", "iterations"}
    one, seconds = timed(partial(searn.fitted, problem, seed, **options))
    for beam in (1, BEAM):
        how = f", beam {beam}" if beam > 1 else ""
        if plain:
            first = searn.decoded(one, problem, 0, beam)
            yield f"MEMM{how}", first, one.seconds_[0]
        yield f"{name}{how}", searn.decoded(one, problem, n - 1, beam), seconds
    if beta not in (1.0, LOLS_BETA):
        last = one.mixtures_[-1]
        mean = searn.averaged(last.learned, last.weights.tolist())
        labels = searn.outputs(one.task, mean, problem, 1)
        yield f"{name}, weights averaged", labels, seconds


def _called(
    problem: Problem, seed: int, *, name: str, call: Callable[..., Labels]
) -> Iterator[Row]:
    labels, seconds = timed(partial(call, problem, seed))
    yield name, labels, seconds


def _all_pairs(problem: Problem, seed: int) -> Iterator[Row]:
    """As published: a binary classifier for each pair, which votes."""
    one, seconds = timed(partial(searn.all_pairs, problem, seed))
    for beam in (1, BEAM):
        how = f", beam {beam}" if beam > 1 else ""
        labels = one.set_params(beam=beam).predict(problem.unseen.items)
        yield f"{ALL_PAIRS}{how}", labels, seconds


def _kernel(problem: Problem, seed: int) -> Iterator[Row]:
    """A real quadratic kernel, as the paper's SVMs have; C by held-out words."""
    halves = searn.halved(problem)
    C = searn.best_penalty(halves, seed)
    print(f"C = {C:g} on fold {seed}", file=sys.stderr)
    fit = partial(searn.kernel, halves, seed, C)
    alone, seconds = timed(partial(fit, iterations=1, history=0))
    yield f"independent, {KERNEL}", searn.decoded(alone, halves), seconds
    one, seconds = timed(partial(fit, iterations=KERNEL_ITERATIONS))
    for beam in (1, BEAM):
        how = f", beam {beam}" if beam > 1 else ""
        first = searn.decoded(one, halves, 0, beam)
        yield f"MEMM, {KERNEL}{how}", first, one.seconds_[0]
        yield (
            f"SEARN β = 1, {KERNEL}{how}",
            searn.decoded(one, halves, -1, beam),
            seconds,
        )


def _others(problem: Problem, seed: int) -> Iterator[Row]:
    """The structured perceptron and the CRF of crfsuite, and our tagger."""
    if problem.peer is not None:
        tools = {"structured perceptron": "averaged-perceptron", "CRF": "lbfgs"}
        for name, algorithm in tools.items():
            run = problem.peer(algorithm)
            yield name, run.labels, run.train_seconds
    if problem.tagger is not None:
        labels, seconds = timed(partial(problem.tagger, seed))
        yield "our Tagger", labels, seconds


def _averaged(problem: Problem, seed: int) -> Iterator[Row]:
    """Two first iterations that differ by their seed, their weights averaged."""

    def call() -> Any:
        options: dict[str, Any] = {"beta": 1.0, "iterations": 1}
        return [searn.fitted(problem, n, **options) for n in (2 * seed, 2 * seed + 1)]

    many, seconds = timed(call)
    mean = searn.averaged([one.policy_.learned[0] for one in many], [0.5, 0.5])
    labels = searn.outputs(many[0].task, mean, problem, 1)
    yield "2 MEMMs averaged", labels, seconds


def _lols(problem: Problem, seed: int) -> Iterator[Row]:
    options: dict[str, Any] = {"beta": LOLS_BETA, "iterations": problem.iterations[1.0]}
    yield from _searn(problem, seed, "LOLS", algorithm="lols", **options)
    options |= {"algorithm": "lols", "costs": "rollout"}
    yield from _searn(problem, seed, "LOLS, a coin for each action", **options)


GROUPS: dict[str, Callable[[Problem, int], Iterator[Row]]] = {
    "independent": _alone,
    "searn": _searn,
    "lols": _lols,
    "aggrevate": partial(_searn, name="AggreVaTe", algorithm="aggrevate"),
    "whole": partial(_searn, name="SEARN β = 1 for whole sequences", whole=True),
    "perceptron": partial(_searn, name="SEARN β = 1, perceptron", kind="perceptron"),
    "svm": partial(_searn, name="SEARN β = 1, SVM", kind="svm"),
    "mixture": partial(_searn, name=f"SEARN β = {BETA}", beta=BETA),
    "averaged": _averaged,
    "pairs": _all_pairs,
    "quadratic": _kernel,
    "search": partial(
        _called, name="SEARN β searched on held-out loss, beam 10", call=searn.searched
    ),
    "stacked": partial(
        _called, name="stacked MEMMs, labels before and after", call=searn.stacked
    ),
    "others": _others,
}


def groups_of(task: str) -> list[str]:
    """The groups of rows that a task has."""
    left_out = {"independent", "stacked", "others", "pairs"} if task in PHRASES else ()
    only_small = () if task == SMALL else ("search", "stacked", "quadratic")
    return [name for name in GROUPS if name not in left_out and name not in only_small]


def cells(task: str, group: str, seed: int, **options: Any) -> Iterator[dict[str, Any]]:
    """The rows of a group for one seed, as they are had; options of `problem_of`."""
    problem = problem_of(task, seed, **options)
    for name, labels, seconds in GROUPS[group](problem, seed):
        right = [
            tuple(a) == tuple(b) for a, b in zip(problem.gold, labels, strict=True)
        ]
        yield {
            "system": name,
            "score": round(problem.score(labels), 3),
            "whole": round(100.0 * float(np.mean(right)), 3),
            "seconds": round(seconds, 1),
            "inputs": len(problem.Y),
            "judged": len(problem.gold),
        }


def summary(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means over seeds, with their standard errors, and the score of each seed."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["task"], row["system"]), []).append(row)
    lines = []
    for (task, system), many in found.items():
        line: dict[str, Any] = {"task": task, "system": system}
        for name in ("score", "whole"):
            mean, error = mean_and_standard_error([row[name] for row in many])
            told = "error" if name == "score" else "whole_error"
            line |= {name: round(mean, 3), told: error and round(error, 3)}
        seconds = float(np.mean([row["seconds"] for row in many]))
        line |= {"seconds": round(seconds, 1), "seeds": len(many)}
        line["scores"] = {str(row["seed"]): row["score"] for row in many}
        lines.append(line)
    return lines


def not_run() -> list[dict[str, Any]]:
    """Rows of the table that have no figures, and why."""
    return [
        {"task": task, "system": system, "score": None, "why": why}
        for system, (why, tasks) in NOT_RUN.items()
        for task in tasks
    ]


def mean_and_standard_error(scores: Sequence[float]) -> tuple[float, float | None]:
    """Mean of scores, and its standard error where there are several."""
    n = len(scores)
    error = float(np.std(scores, ddof=1)) / n**0.5 if n > 1 else None
    return float(np.mean(scores)), error
