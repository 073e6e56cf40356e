"""Scores: probabilities and log-odds, accurate at both ends, sorted with labels."""

from __future__ import annotations

import numpy as np

from argmetric._ground.types import Booleans, Floats

# Probabilities of 0 and 1 have no finite log-odds. A fitted map takes them, and what
# lies beyond, to be this far from 0 and 1: doubles below 1 end there.
NEAREST = 2.0**-53


def log_odds(p: Floats, q: Floats) -> Floats:
    """Return log(p/q), infinite at 0 and 1."""
    with np.errstate(divide="ignore"):
        return np.log(p) - np.log(q)


def expit(x: Floats) -> Floats:
    """Return 1/(1+e^-x) without overflow, exact to a rounding error at both ends."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1.0 + small)


def from_log_odds(x: Floats) -> tuple[Floats, Floats]:
    """Return p and 1-p, `expit(x)` and `expit(-x)` in one pass, both accurate."""
    small = np.exp(-np.abs(x))
    large, small = 1.0 / (1.0 + small), small / (1.0 + small)
    return np.where(x >= 0, large, small), np.where(x >= 0, small, large)


def logit(p: Floats) -> Floats:
    """Return the log-odds of p, infinite at 0 and 1."""
    with np.errstate(divide="ignore"):
        return np.log(p) - np.log1p(-p)


def logit_of(p: float) -> float:
    """Return the log-odds of one probability."""
    return float(logit(np.asarray(p)))


def bounded_logit(p: Floats, low: float, high: float) -> Floats:
    """Return the log-odds of p clipped to [low, high]: they are finite."""
    return logit(np.clip(p, low, high))


def can_pack(scores: Floats) -> bool:
    """Return whether no score is negative."""
    return bool(scores.min() >= 0.0)


def sort_labelled(
    scores: Floats, positive: Booleans, *, descending: bool = False
) -> tuple[Floats, Booleans]:
    """Return sorted non-negative scores, and their labels in the same order.

    Sorting values is six times as fast as sorting indices. A float that is not negative
    leaves its sign bit free: shifted left by one bit, its bits still sort as the number
    does, and the label takes the bit that is gained. Nothing is lost. Of equal scores
    negatives come first, or last where the order descends.
    """
    packed = (scores + 0.0).view(np.uint64)  # + 0.0: -0.0 becomes 0.0
    packed <<= np.uint64(1)
    packed |= positive
    if descending:
        np.invert(packed, out=packed)
    packed.sort()
    if descending:
        np.invert(packed, out=packed)
    label = (packed & np.uint64(1)).astype(bool)
    packed >>= np.uint64(1)
    return packed.view(np.float64), label
