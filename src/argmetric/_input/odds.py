"""Between probabilities and log-odds, accurate at both ends."""

from __future__ import annotations

import numpy as np

from argmetric._input.types import Floats

# Probabilities of 0 and 1 have no finite log-odds. A fitted map takes them, and what
# lies beyond, to be this far from 0 and 1: doubles below 1 end there.
NEAREST = 2.0**-53


def log_odds(p: Floats, q: Floats) -> Floats:
    """log(p/q), infinite at 0 and 1."""
    with np.errstate(divide="ignore"):
        return np.log(p) - np.log(q)


def expit(x: Floats) -> Floats:
    """1/(1+e^-x) without overflow: exact to a rounding error at both ends."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1.0 + small)


def from_log_odds(x: Floats) -> tuple[Floats, Floats]:
    """P and 1-p, each accurate: `expit(x)` and `expit(-x)` in one pass."""
    small = np.exp(-np.abs(x))
    large, small = 1.0 / (1.0 + small), small / (1.0 + small)
    return np.where(x >= 0, large, small), np.where(x >= 0, small, large)


def logit(p: Floats) -> Floats:
    """Log-odds of p alone, infinite at 0 and 1."""
    with np.errstate(divide="ignore"):
        return np.log(p) - np.log1p(-p)


def logit_of(p: float) -> float:
    """Log-odds of one probability."""
    return float(logit(np.asarray(p)))


def bounded_logit(p: Floats, low: float, high: float) -> Floats:
    """Log-odds of p, kept between two probabilities: finite."""
    return logit(np.clip(p, low, high))
