"""Daumé et al. (2009): runs of SEARN on the paper's tasks, which claims share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from search_parts import searn
from search_parts.searn import Labels, Problem, Recorded

from papers_parts.claim import Estimate

SMALL, LARGE, NER_300, NER, CHUNKS, JOINT, PART = (
    "letters, small",
    "letters, large",
    "NER, 300",
    "NER",
    "chunks",
    "chunks + tags",
    "chunks, 1,000 sentences",
)
FAST = (SMALL, NER_300)  # those that a fast run has time for
FIGURE_TASKS = (SMALL, LARGE, NER, PART)
ITERATIONS = 15  # of Fig. 6
RUNS = {SMALL: 5, LARGE: 3, NER_300: 5, PART: 3}  # else one
JOINT_SENTENCES = 2_000
RESAMPLES = 1_000


def problems(task: str, fast: bool) -> list[tuple[Problem, int]]:
    """A problem and a seed for each run."""
    runs = range(min(RUNS.get(task, 1), 3 if fast else 5))
    if task in (SMALL, LARGE):
        size = "small" if task == SMALL else "large"
        return [(searn.handwriting(size, fold, 3 if fast else 1), 0) for fold in runs]
    cut = 300 if fast else None
    if task == JOINT:
        problem = searn.joint(cut or JOINT_SENTENCES, cut)
    elif task in (CHUNKS, PART):
        problem = searn.text("chunk", 1_000 if task == PART else cut, cut)
    else:
        problem = searn.text("ner", 300 if task == NER_300 else cut, cut)
    return [(problem, seed) for seed in runs]


@dataclass(frozen=True)
class Judged:
    """Runs of one system; of each test input twice what is right, and both totals.

    With R right chunks of F that were found and G that are there, F1 is 2R / (F + G).
    Single labels have F = G, and the score is their accuracy.
    """

    runs: tuple[np.ndarray, ...]

    @property
    def scores(self) -> np.ndarray:
        """Of every run, in percent."""
        sums = np.array([run.sum(axis=0) for run in self.runs])
        return np.asarray(100.0 * sums[:, 0] / sums[:, 1])

    def first(self, n: int) -> Judged:
        return Judged(self.runs[:n])

    def resampled(self) -> np.ndarray:
        """Mean scores of the runs on draws of the test inputs."""
        n = len(self.runs[0])
        rng = np.random.default_rng(0)
        times = rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES)
        sums = np.array([times @ run for run in self.runs])
        return np.asarray(100.0 * (sums[:, :, 0] / sums[:, :, 1]).mean(axis=0))


def gain(better: Judged, worse: Judged) -> Estimate:
    """Difference of two systems: over paired runs, else over resampled inputs."""
    n = len(better.runs)
    if n == len(worse.runs) > 1:
        return Estimate.of(better.scores - worse.scores)
    low, high = np.quantile(better.resampled() - worse.resampled(), (0.025, 0.975))
    mean = float(better.scores.mean() - worse.scores.mean())
    return Estimate(mean, float(low), float(high))


def counts(problem: Problem, labels: Labels) -> np.ndarray:
    """Of each test input: twice the number right, and found plus gold."""
    whole = problem.judge is searn.chunk_f1
    rows = []
    for gold, found in zip(problem.gold, labels, strict=True):
        if whole:
            true, mine = strict_chunks(gold), strict_chunks(found)
            rows.append((2 * len(true & mine), len(true) + len(mine)))
        else:
            right = sum(a == b for a, b in zip(gold, found, strict=True))
            rows.append((2 * right, 2 * len(gold)))
    return np.array(rows, dtype=np.float64)


def strict_chunks(labels: Any) -> set[tuple[int, int, str]]:
    """Chunks that begin with B and go on with I of their type; no others count."""
    found, start = set(), -1
    for i, label in enumerate([*labels, "O"]):
        if start >= 0 and label != f"I-{labels[start][2:]}":
            found.add((start, i, labels[start][2:]))
            start = -1
        if label[0] == "B":
            start = i
    return found


@cache
def fits(
    task: str, fast: bool, kind: str, beta: float, n: int, costs: str
) -> list[tuple[Problem, Recorded]]:
    """A run of SEARN for each fold or seed."""
    options: dict[str, Any] = {"beta": beta, "iterations": n, "costs": costs}
    return [
        (problem, searn.fitted(problem, seed, kind=kind, **options))
        for problem, seed in problems(task, fast)
    ]


@cache
def judged(
    task: str,
    fast: bool,
    n: int,
    *,
    kind: str = "logistic",
    beta: float = 1.0,
    costs: str = "optimal",
    beam: int = 1,
) -> Judged:
    """SEARN after n iterations; long runs serve claims of fewer iterations too."""
    most = n
    if (kind, beta, costs) == ("logistic", 1.0, "optimal"):
        most = ITERATIONS if task in FIGURE_TASKS else 3
    runs = fits(task, fast, kind, beta, most, costs)
    outputs = ((p, searn.decoded(one, p, n - 1, beam=beam)) for p, one in runs)
    return Judged(tuple(counts(p, labels) for p, labels in outputs))


@cache
def alone(task: str, fast: bool, kind: str) -> Judged:
    """A classifier of single words or letters, which sees no other label."""
    options: dict[str, Any] = {"beta": 1.0, "kind": kind, "history": 0, "iterations": 1}
    found = []
    for problem, seed in problems(task, fast):
        one = searn.fitted(problem, seed, **options)
        found.append(counts(problem, searn.decoded(one, problem)))
    return Judged(tuple(found))


@cache
def peer(task: str, algorithm: str, fast: bool) -> Judged:
    """Of crfsuite: once for each fold of letters, and once for text."""
    own = dict.fromkeys(problem for problem, _ in problems(task, fast))
    return Judged(
        tuple(counts(p, p.peer(algorithm).labels) for p in own if p.peer is not None)
    )
