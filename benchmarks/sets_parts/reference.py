"""2. What a reference adds: the chosen sets beside a vote share tuned on the same.

The mean F1 over new questions, 0/0 counted as 1, averaged over draws of reference and
batch from one pool. The tuned share is the best of all on the reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import emit, text_table

import argmetric as am
from sets_parts import models
from sets_parts.quality import Sets, f1, voted

K = 10
REFERENCES = (50, 200)
BATCH = 300
DRAWS = 40
QUESTIONS = 1_500  # of a pool


def _scores(answers: list[Sets], truth: Sets, least: int) -> list[float]:
    pairs = zip(answers, truth, strict=True)
    return [f1(voted(one, least), true) for one, true in pairs]


def run(*, quick: bool) -> str:
    rows = []
    for kind in models.KINDS:
        answers, truth = models.pool(kind, K).first(QUESTIONS).sets()
        votes = np.array([_scores(answers, truth, least) for least in range(1, K + 2)])
        for size in REFERENCES[:1] if quick else REFERENCES:
            if size + BATCH <= len(truth):
                draws = 2 if quick else DRAWS
                rows.append(_row(kind, answers, truth, votes, size, draws))
    head = ("model", "reference", "without", "with", "tuned votes", "with less tuned")
    return text_table(head, rows)


def _row(
    kind: str, answers: Any, truth: Any, votes: np.ndarray, size: int, draws: int
) -> list[str]:
    rng = np.random.default_rng(size)
    scores = np.zeros((3, draws))
    for i in range(draws):
        order = rng.permutation(len(truth))
        old, new = order[:size], order[size : size + BATCH]
        asked = [answers[q] for q in new]
        reference = [truth[q] for q in old], [answers[q] for q in old]
        for j, known in enumerate((None, reference)):
            found = am.sets.decide(asked, "f1", zero_division=1.0, reference=known)
            pairs = zip(found.labels, new, strict=True)
            scores[j, i] = np.mean([f1(labels, truth[q]) for labels, q in pairs])
        best = int(np.argmax(votes[:, old].mean(axis=1)))
        scores[2, i] = votes[best, new].mean()
    gain = 100 * (scores[1] - scores[2])
    error = gain.std() / draws**0.5
    emit(
        "reference", f"{kind}, reference {size}: over the tuned vote share",
        gain.mean(), "points", (">=", -1.0), standard_error=error, draws=draws,
    )  # fmt: skip
    means = [f"{100 * one.mean():.1f}" for one in scores]
    return [kind, str(size), *means, f"{gain.mean():+.1f} ± {error:.1f}"]
