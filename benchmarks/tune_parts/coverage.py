"""5d. How often the interval of a tuned rule holds its score on as many new rows."""

from __future__ import annotations

import numpy as np
from harness import emit

import argmetric as am

METRICS = ("f1", "mcc", "gmean", "balanced_accuracy")
SIZES = (100, 200, 500, 2_000, 4_096, 4_097, 16_000, 16_001)  # both sides of bins
# Calibrated scores: shapes of the beta distribution of p for every prevalence.
SHAPES = {0.05: 0.25, 0.2: 0.5, 0.5: 0.8}
ASKED = 0.9


def run(*, quick: bool) -> None:
    runs = 10 if quick else 400
    for prevalence in SHAPES:
        for n in SIZES[: 2 if quick else None]:
            held = np.mean([_held(n, prevalence, seed) for seed in range(runs)], axis=0)
            for metric, share in zip(METRICS, held, strict=True):
                emit(
                    "coverage",
                    f"{metric}, prevalence {prevalence:g}, n = {n:,}",
                    float(share),
                    f"of {runs} intervals, {ASKED:g} asked for",
                    ("within", 0.87, 0.95),
                )


def _rows(
    n: int, prevalence: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    a = SHAPES[prevalence]
    p = rng.beta(a, a * (1 - prevalence) / prevalence, n)
    return (rng.random(n) < p).astype(np.int64), p


def _held(n: int, prevalence: float, seed: int) -> list[bool]:
    """Whether the score on new rows lies in the interval, for every metric."""
    rng = np.random.default_rng([seed, n])
    y, p = _rows(n, prevalence, rng)
    while not 2 <= y.sum() <= n - 2:  # two of each class, so that there are folds
        y, p = _rows(n, prevalence, rng)
    new_y, new_p = _rows(n, prevalence, rng)
    found = []
    rules = am.tune(y, p, list(METRICS), coverage=ASKED, n_bootstrap=2)
    for rule in rules.values():
        low, high = rule.interval
        score = rule.metric.score(new_y, rule.apply(new_p))
        found.append(low - 1e-12 <= score <= high + 1e-12)
    return found
