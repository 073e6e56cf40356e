"""3. How often 90 % intervals hold with a reference, and at which end they miss.

Reference and batch are drawn from the same pool without overlap, again and again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import emit, text_table

import argmetric as am
from sets_parts import models
from sets_parts.quality import f1

K = 10
BATCHES = (50, 300)
REFERENCES = (30, 200, 1_000, 4_000)
DRAWS = 100


def run(*, quick: bool) -> str:
    rows = []
    for kind in models.KINDS:
        pool = models.pool(kind, K)
        answers, truth = pool.sets()
        for n in BATCHES:
            for size in REFERENCES:
                if size + n <= pool.n:
                    draws = 5 if quick else DRAWS
                    rows.append(_row(kind, answers, truth, size, n, draws))
    head = ("model", "reference", "batch", "cover", "below / above", "width", "without")
    return text_table(head, rows)


def _row(
    kind: str, answers: Any, truth: Any, size: int, n: int, draws: int
) -> list[str]:
    rng = np.random.default_rng(size + n)
    low, high, score, plain = np.zeros((4, draws))
    for i in range(draws):
        order = rng.permutation(len(truth))
        old, new = order[:size], order[size : size + n]
        asked = [answers[q] for q in new]
        reference = [truth[q] for q in old], [answers[q] for q in old]
        found = am.sets.decide(asked, "f1", zero_division=1.0, reference=reference)
        pairs = zip(found.labels, new, strict=True)
        score[i] = np.mean([f1(labels, truth[q]) for labels, q in pairs])
        low[i], high[i] = found.interval
        plain[i] = am.sets.decide(asked, "f1", zero_division=1.0).mean
    below, above = float(np.mean(score < low)), float(np.mean(score > high))
    cover, width = 1.0 - below - above, float((high - low).mean())
    bias = float((plain - score).mean())
    clean = kind not in models.CHOSEN_ON
    emit(
        "coverage", f"{kind}, reference {size:,}, batch {n}", cover, "share",
        ("within", 0.85, 0.95) if size >= 200 else None, below=below, above=above,
        width=width, bias_without_reference=bias, draws=draws, looked_at_once=clean,
    )  # fmt: skip
    ends = f"{100 * below:.0f} / {100 * above:.0f} %"
    told = [kind, f"{size:,}", str(n), f"{100 * cover:.0f} %", ends]
    return [*told, f"{100 * width:.1f}", f"{100 * bias:+.1f}"]
