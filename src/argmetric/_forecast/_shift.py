"""Changes to the probabilities before a forecast: prevalence, shared effects."""

from __future__ import annotations

import math

import numpy as np

from argmetric._odds import from_log_odds, log_odds
from argmetric._segments import Floats

N_EFFECTS = 31
ROWS = 1 << 16


def match_prevalence(
    p: Floats, q: Floats, prior: float, n: int
) -> tuple[Floats, Floats]:
    """Add one constant to all log-odds so that Σp/n becomes `prior`, n ≥ len(p)."""
    certain = float((q == 0).sum()) / n
    impossible = (float((p == 0).sum()) + n - p.size) / n
    if not certain < prior < 1.0 - impossible:
        raise ValueError(
            f"prior={prior:g} cannot be met: {certain:.3g} of the probabilities are 1 "
            f"and {impossible:.3g} are 0, which no prevalence changes"
        )
    x = log_odds(p, q)
    low, high = -800.0, 800.0
    for _ in range(100):
        middle = (low + high) / 2
        if from_log_odds(x + middle)[0].sum() < prior * n:
            low = middle
        else:
            high = middle
    return from_log_odds(x + (low + high) / 2)


def effects() -> tuple[Floats, Floats]:
    """Points and weights of a standard normal effect."""
    points, weights = np.polynomial.hermite_e.hermegauss(N_EFFECTS)
    return points, weights / weights.sum()


def centre_log_odds(p: Floats, q: Floats, deviation: float) -> Floats:
    """Log-odds a with E[expit(a + deviation·z)] = p, so that margins stay as given."""
    points, weights = effects()
    x = log_odds(p, q)
    result = np.empty_like(x)
    # The start of Newton's method: the logistic-normal mean, nearly (MacKay).
    stretch = math.sqrt(1.0 + math.pi * deviation**2 / 8.0)
    for first in range(0, x.size, ROWS):
        part = slice(first, first + ROWS)
        # Beyond e^±300 a label is as good as certain, whatever the effect.
        target, finite = x[part], np.abs(x[part]) < 300.0
        a = np.where(finite, target, 0.0) * stretch
        for _ in range(30):
            inside, outside = from_log_odds(a[:, None] + deviation * points)
            mean, rest = inside @ weights, outside @ weights
            slope = (inside * outside) @ weights / (mean * rest)
            gap = np.where(finite, log_odds(mean, rest) - target, 0.0)
            a -= gap / slope
            if np.abs(gap).max() < 1e-12:
                break
        result[part] = np.where(finite, a, target)
    return result
