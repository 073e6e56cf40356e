"""Shares of classes that are known or estimated, and probabilities that have them."""

from __future__ import annotations

import numpy as np

from argmetric._input.types import Floats

ROUNDS = 2000
SETTLED = 1e-10  # change of a share at which rounds end


def at_shares(p: Floats, shares: Floats) -> Floats:
    """Rows proportional to p times a factor per class, such that means are the shares.

    The factors grow where a class is too rare and shrink where it is too frequent,
    round by round.
    """
    if (p.sum(axis=0)[shares > 0.0] == 0.0).any():
        raise ValueError("prior gives a share to a class that has p = 0 in every row")
    factor = np.where(shares > 0.0, 1.0, 0.0)
    for _ in range(ROUNDS):
        moved = p * factor
        total = moved.sum(axis=1, keepdims=True)
        if (total == 0.0).any():
            row = int(np.argmin(total))
            raise ValueError(f"row {row} has probability only in classes of share 0")
        moved /= total
        mean = moved.mean(axis=0)
        if np.abs(mean - shares).max() < SETTLED:
            break
        factor = factor * np.where(shares > 0.0, shares / np.maximum(mean, 1e-300), 0.0)
        factor /= factor.max()
    return np.asarray(moved)


def estimated_shares(p: Floats, reference: Floats) -> Floats:
    """The likeliest shares, if every class still looks as it did in the reference.

    Expectation and maximisation (Saerens et al. 2002): p was right at the shares of the
    reference; each round takes the mean of p at the shares of the round before.
    """
    safe = np.maximum(reference, 1e-12)
    shares = p.mean(axis=0)
    for _ in range(ROUNDS):
        moved = p * (shares / safe)
        moved /= moved.sum(axis=1, keepdims=True)
        found = moved.mean(axis=0)
        done = np.abs(found - shares).max() < SETTLED
        shares = found
        if done:
            break
    return np.asarray(shares)
