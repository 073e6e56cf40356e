"""Periods in which nothing happened, the prevalence or the inputs changed.

Each function returns rows of a pool that are in a half of it, in random order and
without repetition, or None where there are too few rows of a kind.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from monitor_parts.cases import FEATURES, Pool

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)  # on the prevalence
ODDS = (3, 9)  # rows of one half of a feature for one of the other
LARGEST_SHARE = 0.9
Labelled = tuple[np.ndarray, np.ndarray]  # labels and scores


def by_share(
    rng: np.random.Generator, pool: Pool, half: np.ndarray, n: int, share: float
) -> np.ndarray | None:
    """`n` rows, a binomial number of them positive: each class looks as before."""
    if not 0.0 < share <= LARGEST_SHARE:
        return None
    return _of_two(rng, half, pool.y[half], n, int(rng.binomial(n, share)))


def by_factor(
    rng: np.random.Generator, pool: Pool, half: np.ndarray, n: int, factor: float
) -> np.ndarray | None:
    """`n` rows whose prevalence is so many times that of the pool."""
    return by_share(rng, pool, half, n, factor * pool.share)


def by_side(
    rng: np.random.Generator,
    pool: Pool,
    half: np.ndarray,
    n: int,
    side: int,
    odds: float,
) -> np.ndarray | None:
    """`n` rows, `odds` times as likely from one half of a side, high or low at random.

    Rows of equal values fall into either half at random.
    """
    x = pool.sides[side][half]
    order = np.lexsort([rng.random(x.size), x])
    chosen = np.zeros(x.size, dtype=bool)
    chosen[order[x.size // 2 :]] = True
    if rng.random() < 0.5:
        chosen = ~chosen
    return _of_two(rng, half, chosen, n, int(rng.binomial(n, odds / (1 + odds))))


def _of_two(
    rng: np.random.Generator, half: np.ndarray, first: np.ndarray, n: int, k: int
) -> np.ndarray | None:
    """k rows of the half where `first` holds, and n - k of the others."""
    ones, others = np.flatnonzero(first), np.flatnonzero(~first)
    if ones.size < k or others.size < n - k:
        return None
    parts = [rng.choice(ones, k, False), rng.choice(others, n - k, False)]
    return half[rng.permutation(np.concatenate(parts))]


def draw_reference(
    rng: np.random.Generator, pool: Pool, half: np.ndarray, m: int, fewest: int
) -> Labelled | None:
    """Labels and scores of `m` rows of a half; None with fewer positives than asked."""
    rows = by_factor(rng, pool, half, m, 1.0)
    if rows is None or pool.y[rows].sum() < fewest:
        return None
    return pool.y[rows], pool.p[rows]


Draw = Callable[[np.random.Generator, Pool, np.ndarray, int], np.ndarray | None]
SHARES: dict[str, Draw] = {
    f"share x {factor:g}": partial(by_factor, factor=factor) for factor in FACTORS
}
SIDES: dict[str, Draw] = {
    f"{name} {odds}:1": partial(by_side, side=i, odds=odds)
    for i, name in enumerate(FEATURES)
    for odds in ODDS
}
QUIET = "share x 1"


def kind_of(shift: str) -> str:
    """quiet, label shift or covariate shift."""
    if shift == QUIET:
        return "quiet"
    return "label shift" if shift in SHARES else "covariate shift"
