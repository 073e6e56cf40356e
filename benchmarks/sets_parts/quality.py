"""1. What the chosen sets score, beside votes, the best sample and the union.

The mean F1 over questions against the truth, 0/0 counted as 1; and the exact optimum by
enumeration, where the answers name few items.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from harness import emit, text_table

import argmetric as am
from sets_parts import models

QUESTIONS = 1_000
SAMPLES = (3, 10, 30)
FEW_ITEMS = 10
Sets = list[frozenset[Any]]


def f1(a: frozenset[Any], b: frozenset[Any]) -> float:
    return 2.0 * len(a & b) / (len(a) + len(b)) if a or b else 1.0


def over(chosen: frozenset[Any], answers: Sets) -> float:
    """The mean F1 of a set over answers."""
    return float(np.mean([f1(chosen, one) for one in answers]))


def voted(answers: Sets, least: int) -> frozenset[Any]:
    """Items that so many of the answers have."""
    items = union(answers)
    return frozenset(x for x in items if sum(x in one for one in answers) >= least)


def votes(answers: Sets) -> frozenset[Any]:
    """Items of half of the answers or more."""
    return voted(answers, (len(answers) + 1) // 2)


def best_sample(answers: Sets) -> frozenset[Any]:
    """The answer of the highest mean score over all of them (MBR)."""
    return max(dict.fromkeys(answers), key=lambda one: over(one, answers))


def union(answers: Sets) -> frozenset[Any]:
    return frozenset().union(*answers)


WAYS = {
    "votes at 0.5": votes,
    "best sample (MBR)": best_sample,
    "union": union,
    "one sample": lambda answers: answers[0],
}


def enumerated(answers: Sets) -> float:
    """The highest mean score of all sets."""
    items = sorted(union(answers), key=repr)
    return max(
        over(frozenset(some), answers)
        for k in range(len(items) + 1)
        for some in combinations(items, k)
    )


def run(*, quick: bool) -> str:
    rows = []
    for kind in models.KINDS:
        for k in SAMPLES[:1] if quick else SAMPLES:
            pool = models.pool(kind, SAMPLES[-1]).first(50 if quick else QUESTIONS, k)
            rows.append(_row(kind, k, pool))
    head = ("model", "K", "`sets.decide`", *WAYS, "gain over votes", "over MBR")
    return text_table(head, rows)


def _row(kind: str, k: int, pool: models.Pool) -> list[str]:
    answers, truth = pool.sets()
    chosen = am.sets.decide(answers, "f1", zero_division=1.0)
    ways = {"decide": list(chosen.labels)}
    ways |= {name: [way(one) for one in answers] for name, way in WAYS.items()}
    scores = {
        name: np.array([f1(a, b) for a, b in zip(sets, truth, strict=True)])
        for name, sets in ways.items()
    }
    small = [i for i, one in enumerate(answers) if len(union(one)) <= FEW_ITEMS][:50]
    gap = max(
        (abs(enumerated(answers[i]) - chosen.expected_each[i]) for i in small),
        default=0.0,
    )
    emit("quality", f"{kind}, K = {k}: optimum", gap, "F1", ("<=", 1e-12), n=len(small))
    gains = {}
    for name in ("votes at 0.5", "best sample (MBR)"):
        gain = scores["decide"] - scores[name]
        error = gain.std() / gain.size**0.5
        gains[name] = f"{100 * gain.mean():+.1f} ± {100 * error:.1f}"
        # what was maximised is the mean over the answers; the truth may differ
        emit("quality", f"{kind}, K = {k}: over {name}", 100 * gain.mean(), "points",
             standard_error=100 * error)  # fmt: skip
    means = [f"{100 * one.mean():.1f}" for one in scores.values()]
    return [kind, str(k), *means, *gains.values()]
