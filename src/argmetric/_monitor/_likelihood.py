"""ℓ(θ) of a period: the two-sample likelihood of a change of the odds by e^θ.

It is that of `_calibrate/share.py`, which has the formula, on tables of counts: at a
few points for every map, and by a cubic spline between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from argmetric._calibrate.share import ScoreTable, ShareLikelihood
from argmetric._input.types import Floats

LARGEST_THETA = 4.0
POINTS = 25  # of a table over θ
FINE = 401  # points that a spline is read at
LIKELY = 25.0  # log-likelihood below the largest from which nothing is left
MOST_ZOOMS = 6
LEAST_LIKELY = 6  # points of a table where something is left, before it is fine enough


def likelihood_of(old: Floats, new: Floats, chances: Floats) -> ShareLikelihood:
    """ℓ for rows of the reference and of a period in the same cells.

    `old` and `new`: rows of the reference and of the period in each cell; or a row of
    them for each of `chances`; `chances`: chance of a positive in each cell, a row for
    every map.
    """
    used = np.atleast_2d(old + new > 0).any(axis=0)
    table = ScoreTable(np.zeros(0), old[..., used], new[..., used], False)
    return ShareLikelihood(table, chances[:, used])


def population_share(
    old: Floats, new: Floats, chances: Floats, coverage: float
) -> tuple[float, float]:
    """Interval of the share of positives where a period's rows come from.

    It holds the odds of the reference times e^θ, for all θ whose 2·ℓ is within a
    quantile of χ²(1) of the largest one, under one map: the share may have moved, and
    nothing else. The odds are those of the reference's own rows, with which the error
    of the map goes up and down.
    """
    theta = np.array(likelihood_of(old, new, chances[None]).profile(coverage))[:, 0]
    share = old @ chances / old.sum()
    low, high = share / (share + (1.0 - share) * np.exp(-theta))
    return float(low), float(high)


@dataclass(frozen=True)
class ThetaTable:
    """Log-likelihoods over θ, a row for every map."""

    # Values of θ, and what each stands for in an integral over θ
    theta: Floats
    width: Floats
    # Log-likelihood of the scores, and of the known labels given the scores
    scores: Floats
    labels: Floats

    @classmethod
    def of(cls, old: Floats, new: Floats, known: Floats, chances: Floats) -> ThetaTable:
        """Tables of a period.

        `old`, `new`, `chances`: as for `likelihood_of`; `known`: known negatives and
        known positives of the period, in two rows of cells.
        """
        likelihood = likelihood_of(old, new, chances)

        def levels(theta: Floats) -> tuple[Floats, Floats]:
            grid = np.broadcast_to(theta, (chances.shape[0], theta.size))
            return likelihood.loglik(grid), label_likelihood(known, chances, theta)

        grid = np.linspace(-LARGEST_THETA, LARGEST_THETA, FINE)
        theta = np.linspace(-LARGEST_THETA, LARGEST_THETA, POINTS)
        found = levels(theta)
        at, (scores, labels) = grid, (one @ between().T for one in found)
        for _ in range(MOST_ZOOMS):
            both = found[0] + found[1]
            likely = (both >= both.max(axis=1, keepdims=True) - LIKELY).any(axis=0)
            if likely.sum() >= LEAST_LIKELY:
                break
            first, last = np.flatnonzero(likely)[[0, -1]]
            ends = theta[max(first - 1, 0)], theta[min(last + 1, POINTS - 1)]
            theta, inner = (np.linspace(*ends, count) for count in (POINTS, FINE))
            found = levels(theta)
            fine = (one @ between().T for one in found)
            before, after = at < ends[0], at > ends[1]
            at = np.concatenate([at[before], inner, at[after]])
            scores, labels = (
                np.concatenate([old[:, before], new, old[:, after]], axis=1)
                for old, new in zip((scores, labels), fine, strict=True)
            )
        return cls(at, np.gradient(at), scores, labels)


@lru_cache(maxsize=1)
def between() -> Floats:
    """Weights of POINTS even points in a cubic spline, a row for each of FINE points.

    Neighbouring slopes s of the spline are tied by s₋ + 4s + s₊ = 3·(y₊ - y₋). At the
    ends, where the third derivative does not jump: s₀ + 2s₁ = (y₂ + 4y₁ - 5y₀)/2.
    """
    one = np.eye(POINTS)
    ties = 4.0 * one + np.eye(POINTS, k=1) + np.eye(POINTS, k=-1)
    ties[[0, -1]] = one[[0, -1]] + 2.0 * one[[1, -2]]
    rises = np.zeros_like(one)
    rises[1:-1] = 3.0 * (one[2:] - one[:-2])
    rises[0] = (-5.0 * one[0] + 4.0 * one[1] + one[2]) / 2.0
    rises[-1] = (5.0 * one[-1] - 4.0 * one[-2] - one[-3]) / 2.0
    slopes = np.linalg.solve(ties, rises)
    x = np.linspace(0.0, POINTS - 1.0, FINE)
    left = np.minimum(x.astype(np.int64), POINTS - 2)
    t = (x - left)[:, None]
    rise = one[left + 1] - one[left]
    bend = slopes[left] - rise, rise - slopes[left + 1]
    inner = t * (1.0 - t) * ((1.0 - t) * bend[0] + t * bend[1])
    return np.asarray(one[left] + t * rise + inner)


def label_likelihood(known: Floats, chances: Floats, theta: Floats) -> Floats:
    """Σ over known labels of log P(y | score) at odds times e^θ, a row for every map.

    log P(y | s) = y·(θ + log c) + (1-y)·log(1-c) - log h, h = 1 - c + c·e^θ.
    """
    used = known.sum(axis=0) > 0
    if not used.any():
        return np.zeros((chances.shape[0], theta.size))
    negative, positive = known[:, used]
    c = np.clip(chances[:, used], 1e-300, 1.0 - 1e-16)
    fixed = np.log(c) @ positive + np.log1p(-c) @ negative
    h = 1.0 - c[:, None] + c[:, None] * np.exp(theta)[:, None]
    return np.asarray(
        fixed[:, None] + theta * positive.sum() - np.log(h) @ (negative + positive)
    )
