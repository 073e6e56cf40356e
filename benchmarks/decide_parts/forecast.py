"""4. The forecast: its time, and whether its intervals cover what they promise."""

from __future__ import annotations

import statistics

import numpy as np
from harness import emit, interleaved, wall_seconds

import argmetric as am

SIZES = (20, 50, 100, 300, 1000)
COVERAGE = 0.9


def run(*, quick: bool) -> None:
    rng = np.random.default_rng(4)
    n, repeats = (20_000, 1) if quick else (100_000, 3)
    p = rng.beta(0.5, 2.0, n)
    labels = am.decide(p, "f1").labels
    small = slice(0, 10_000)
    am.forecast(p[small], labels[small], "f1")  # compile before timing
    times = interleaved(
        {"forecast": lambda: am.forecast(p, labels, "f1", COVERAGE).interval},
        repeats,
        wall_seconds,
    )["forecast"]
    emit(
        "forecast",
        f"forecast(p, labels, 'f1', {COVERAGE}).interval, Beta(.5,2), n = {n:,}",
        statistics.median(times),
        "s",
        ("<=", 1.0),
    )
    for n in SIZES:
        _coverage(n, 20 if quick else 2_000, rng)


def _coverage(n: int, simulations: int, rng: np.random.Generator) -> None:
    """Draw p and labels anew every time; count how often the interval holds F1."""
    inside, widths, means, scores = 0, [], [], []
    for _ in range(simulations):
        p = rng.beta(0.5, 2.0, n)
        y = (rng.random(n) < p).astype(np.int64)
        labels = am.decide(p, "f1").labels
        forecast = am.forecast(p, labels, "f1", COVERAGE)
        low, high = forecast.interval
        hit = int((y & labels).sum())
        both = int(y.sum() + labels.sum())
        score = 2 * hit / both if both else 0.0
        inside += low - 1e-12 <= score <= high + 1e-12
        widths.append(high - low)
        means.append(forecast.mean)
        scores.append(score)
    emit(
        "forecast",
        f"coverage of the nominal {COVERAGE:.0%} interval, f1, Beta(.5,2) drawn anew, "
        f"decision by decide, n = {n:,}, {simulations:,} simulations",
        100 * inside / simulations,
        "%",
        ("within", 88, 94),
        mean_width=float(np.mean(widths)),
        mean_forecast=float(np.mean(means)),
        mean_score=float(np.mean(scores)),
        standard_error_of_score=float(np.std(scores) / simulations**0.5),
    )
