"""Scores that are right already: the default must not harm them."""

from __future__ import annotations

import numpy as np
from harness import emit_mean

import argmetric as am

SIZES = (200, 1000, 4000)
ROWS = 4000
DISTRIBUTIONS = ((0.5, 4.0), (0.2, 6.0), (1.0, 1.0))  # of scores: Beta(a, b)


def run(*, quick: bool) -> None:
    rng = np.random.default_rng(0)
    repeats = 2 if quick else 40
    for size in SIZES:
        gains = [
            _gain(rng, a, b, size) for a, b in DISTRIBUTIONS for _ in range(repeats)
        ]
        goal = (">=", -0.1) if size == max(SIZES) else None
        what, told = "recalibrated over as it stands", {"reference": size}
        emit_mean("generated", what, gains, "points of F1", goal, **told)


def _gain(rng: np.random.Generator, a: float, b: float, size: int) -> float:
    """Expected F1 of the labels by the calibrator, minus that of the best labels."""
    while True:
        known = rng.beta(a, b, size)
        y = rng.random(size) < known
        if 2 <= y.sum() <= size - 2:
            break
    p = rng.beta(a, b, ROWS)
    d = am.decide(p, reference=(y.astype(int), known))
    return 100 * (am.forecast(p, d.labels.copy()).mean - am.decide(p).expected)
