"""Daumé et al. (2009): Theorem 1, Fig. 6 of whole texts, and section 7's folds."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from search_parts import searn

from papers_parts.claim import Estimate, Figures, declare
from papers_parts.daume2009_runs import (
    CHUNKS,
    ITERATIONS,
    JOINT,
    NER_300,
    SMALL,
    Judged,
    counts,
    fits,
    gain,
    problems,
)

FOLDS = 10  # of the paper
EARLY = 5
CURVES = {JOINT: "joint", CHUNKS: "chunks"}


@dataclass(frozen=True)
class Chain:
    """A chain of T outputs: of each and of each pair of neighbours a score and a loss.

    Equation (3) asks for the output of the greatest score less loss.
    """

    scores: tuple[np.ndarray, np.ndarray]  # (T, K) and (T - 1, K, K)
    losses: tuple[np.ndarray, np.ndarray]

    def best(self, prefix: tuple[int, ...], weight: float) -> tuple[list[int], int]:
        """Solve (3) for what follows a prefix, by dynamic programming; steps it took.

        `weight` is that of the scores.
        """
        nodes = weight * self.scores[0] - self.losses[0]
        edges = weight * self.scores[1] - self.losses[1]
        T, first = len(nodes), len(prefix)
        value, back, steps = nodes[-1], [], 0
        for t in range(T - 2, first - 1, -1):
            through = edges[t] + value
            back.insert(0, through.argmax(axis=1))
            value = nodes[t] + through.max(axis=1)
            steps += through.size
        if prefix:
            value = value + edges[first - 1][prefix[-1]]
        found = [int(value.argmax())]
        for choices in back:
            found.append(int(choices[found[-1]]))
        return found, steps + value.size

    def loss(self, labels: tuple[int, ...]) -> float:
        T = len(labels)
        own = self.losses[0][np.arange(T), labels].sum()
        pairs = self.losses[1][np.arange(T - 1), labels[:-1], labels[1:]].sum()
        return float(own + pairs)


@declare("daume2009-theorem-1", fails_on=lambda: theorem_1(True, weight=1.0))
def theorem_1(fast: bool, weight: float = 0.0) -> Figures:
    """The policy from (3) without its scores, against going through all outputs."""
    rng = np.random.default_rng(0)
    regret, share = 0.0, 0.0
    for _ in range(20 if fast else 300):
        T, K = int(rng.integers(2, 6)), int(rng.integers(2, 4))
        parts = [(rng.random((T, K)), rng.random((T - 1, K, K))) for _ in range(2)]
        chain = Chain(*parts)
        losses = {y: chain.loss(y) for y in itertools.product(range(K), repeat=T)}
        _, whole = chain.best((), weight)
        for n in range(T):
            prefix = tuple(rng.integers(0, K, n).tolist())
            found, steps = chain.best(prefix, weight)
            least = [
                min(v for y, v in losses.items() if y[: n + 1] == (*prefix, a))
                for a in range(K)
            ]
            regret = max(regret, least[found[0]] - min(least))
            share = max(share, steps / whole)
    return {
        "largest regret of the policy": regret,
        "steps of a decision over those of (3)": share,
    }


def _curve(task: str, fast: bool) -> Figures:
    if fast:
        return {}
    runs = fits(task, fast, "logistic", 1.0, ITERATIONS, "optimal")
    first, early, last = (
        Judged(tuple(counts(p, searn.decoded(one, p, n - 1)) for p, one in runs))
        for n in (1, EARLY, ITERATIONS)
    )
    return {
        f"iteration 5 over 1, {task}": gain(early, first),
        f"iteration 15 over 5, {task}": gain(last, early),
    }


def optimism(task: str, fast: bool) -> dict[str, list[float]]:
    """Of runs with and without folds: loss on test less that of the roll-in, score.

    Both are of the first classifier, which makes the states of the second iteration.
    """
    found: dict[str, list[float]] = {}
    for problem, seed in problems(task, fast):
        for name, folds in (("plain", None), ("folds", FOLDS)):
            options: dict[str, Any] = {"beta": 1.0, "iterations": 2}
            one = searn.fitted(problem, seed, cross_validation=folds, **options)
            outputs = searn.decoded(one, problem, 0)
            pairs = zip(problem.gold, outputs, strict=True)
            test = float(np.mean([one.task.loss(tuple(y), z) for y, z in pairs]))
            gap = test - one.history_[1].roll_in_loss
            score = problem.score(searn.decoded(one, problem))
            found.setdefault(f"{name} gap", []).append(gap)
            found.setdefault(f"{name} score", []).append(score)
    return found


@declare("daume2009-section-7-folds")
def _folds(fast: bool) -> Figures:
    figures: dict[str, float | Estimate] = {}
    for task in (SMALL,) if fast else (SMALL, NER_300):
        found = {name: np.array(x) for name, x in optimism(task, fast).items()}
        plain, folds = found["plain gap"], found["folds gap"]
        figures[f"loss on test less that of the roll-in, {task}"] = Estimate.of(plain)
        figures[f"with folds, as a share of it, {task}"] = Estimate.of(
            np.abs(folds) / plain.mean()
        )
        better = found["folds score"] - found["plain score"]
        figures[f"score with folds less without, {task}"] = Estimate.of(better)
    return figures


for _task, _name in CURVES.items():
    declare(f"daume2009-figure-6-{_name}")(partial(_curve, _task))
