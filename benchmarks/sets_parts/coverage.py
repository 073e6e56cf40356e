"""2. How often 90 % intervals hold with a reference, and at which end they miss.

Reference and batch are drawn from the same pool without overlap, again and again. The
forecast of a question and its score do not depend on the others, so both are taken from
one decision for the whole pool; the first draw is checked against `sets.decide`.
"""

from __future__ import annotations

import numpy as np
from harness import emit
from search_parts.data import simple_table

import argmetric as am
from argmetric._ground.types import Interval
from argmetric.sets._decide import _forecast
from argmetric.sets._samples import read_samples
from sets_parts import models
from sets_parts.quality import f1

K = 10
BATCHES = (50, 300)
REFERENCES = (30, 200, 1_000, 4_000)
DRAWS = 300


def scored(pool: models.Pool) -> tuple[np.ndarray, np.ndarray]:
    """Forecast without a reference, and actual score, of every question."""
    answers, truth = pool.sets()
    found = am.sets.decide(answers, "f1", zero_division=1.0)
    pairs = zip(found.labels, truth, strict=True)
    return found.mean_each, np.array([f1(a, b) for a, b in pairs])


def run(*, quick: bool) -> str:
    rows = []
    for kind in models.KINDS:
        pool = models.pool(kind, K)
        means, actual = scored(pool)
        for n in BATCHES:
            for size in REFERENCES:
                if size + n <= pool.n:
                    draws = 5 if quick else DRAWS
                    rows.append(_row(kind, pool, means, actual, size, n, draws))
    head = ("model", "reference", "batch", "cover", "below / above", "width", "without")
    return simple_table(head, rows)


def _row(
    kind: str,
    pool: models.Pool,
    means: np.ndarray,
    actual: np.ndarray,
    size: int,
    n: int,
    draws: int,
) -> list[str]:
    rng = np.random.default_rng(size + n)
    read = read_samples([[{0}]] * n)  # only the number of questions counts
    low, high, score, plain = np.zeros((4, draws))
    for i in range(draws):
        order = rng.permutation(pool.n)
        old, new = order[:size], order[size : size + n]
        labelled = means[old], actual[old]
        _, ends, _ = _forecast(read, means[new], means[new], labelled, 0.9)
        if i == 0 and size <= 200:
            assert np.allclose(ends, through_the_verb(pool, old, new), atol=1e-12)
        (low[i], high[i]), score[i] = ends, actual[new].mean()
        plain[i] = means[new].mean()
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


def through_the_verb(pool: models.Pool, old: np.ndarray, new: np.ndarray) -> Interval:
    answers, truth = pool.sets()
    reference = [truth[i] for i in old], [answers[i] for i in old]
    asked = [answers[i] for i in new]
    found = am.sets.decide(asked, "f1", zero_division=1.0, reference=reference)
    return found.interval
