"""Scores that tests of calibration_check share."""

from __future__ import annotations

import numpy as np


def expit(x):
    return 1 / (1 + np.exp(-np.asarray(x, float)))


def times(p, factor):
    """Probabilities whose odds are off by a factor."""
    return factor * p / (factor * p + 1 - p)


def queries(n_groups=600, size=20, seed=0):
    """Groups of rows that share an effect; calibrated probabilities, about 1 in 8."""
    rng = np.random.default_rng(seed)
    x = rng.normal(-3, 1.5, (n_groups, 1)) + rng.normal(0, 1.5, (n_groups, size))
    p = expit(x.ravel())
    return rng.random(p.size) < p, p, np.repeat(np.arange(n_groups), size)


def f1(y, labels):
    hits = int((y & labels).sum())
    size = int(y.sum() + labels.sum())
    return 2 * hits / size if size else 0.0
