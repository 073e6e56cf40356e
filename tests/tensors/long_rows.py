"""Rows that are hard for a window: ties, flat peaks, two peaks, nothing or all."""

from __future__ import annotations

import numpy as np


def hard_rows(n, seed=0):
    """Rows of n probabilities by name."""
    x = np.random.default_rng(seed).random(n)
    run = np.minimum(3.0 * x, 1.0)
    return {
        "uniform": x,
        "powers": x**6,
        "most": 1.0 - x**6,
        "clipped": np.clip(3.0 * x - 1.0, 0.0, 1.0),
        "sixteenths": (16.0 * x).round() / 16.0,
        "flat": 0.5 + 0.001 * x,
        "half a positive": 0.5 * x / x.sum(),
        "half a positive, ties": 0.5 * run / run.sum(),
        "confident": np.where(np.arange(n) < n / 100, 0.999 + 5e-4 * x, 1e-4 * x),
        "nearly all": np.where(np.arange(n) < n / 20, 0.01, 1.0 - 1e-4 * x),
        "few": np.where(np.arange(n) < 90, x, 1e-6),
        "equal": np.full(n, 0.3),
        "zeros": np.zeros(n),
        "ones": np.ones(n),
    }


def two_peaks(n, first, second, shift, seed=0):
    """A row with two maxima of MCC at expected counts, equal but for a shift.

    The `first` best items are nearly certain, and the next `second` ones have the
    probability that makes MCC at the end of both groups the same, times 1 + shift.
    """
    rng = np.random.default_rng(seed)
    x = rng.random(n)

    def row(level):
        p = 0.02 * x
        p[:first] = 0.9 + 0.05 * x[:first]
        p[first : first + second] = level + 0.01 * x[first : first + second]
        return -np.sort(-p)

    def height(p, k):
        return (n * p[:k].sum() - k * p.sum()) / np.sqrt(k * (n - k))

    low, high = 0.05, 0.85
    for _ in range(60):
        level = (low + high) / 2
        p = row(level)
        above = height(p, first) > height(p, first + second)
        low, high = (level, high) if above else (low, level)
    return rng.permutation(row(level * (1.0 + shift)))
