"""Between probabilities and log-odds, accurate at both ends."""

from __future__ import annotations

import numpy as np

from argmetric._types import Floats

# Probabilities of 0 and 1 have no finite log-odds. A fitted map takes them, and what
# lies beyond, to be this far from 0 and 1: doubles below 1 end there.
NEAREST = 2.0**-53


def log_odds(p: Floats, q: Floats) -> Floats:
    """log(p/q), infinite at 0 and 1."""
    with np.errstate(divide="ignore"):
        return np.log(p) - np.log(q)


def from_log_odds(x: Floats) -> tuple[Floats, Floats]:
    """P and 1-p, each accurate."""
    small = np.exp(-np.abs(x))
    large, small = 1.0 / (1.0 + small), small / (1.0 + small)
    return np.where(x >= 0, large, small), np.where(x >= 0, small, large)


def logit(p: Floats) -> Floats:
    """Log-odds of p alone, infinite at 0 and 1."""
    with np.errstate(divide="ignore"):
        return np.log(p) - np.log1p(-p)


def bounded_logit(p: Floats) -> Floats:
    """Log-odds of p, kept from 0 and 1 by 2^-53: at most 36.7 from 0."""
    return logit(np.clip(p, NEAREST, 1.0 - NEAREST))
