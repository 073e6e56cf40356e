"""Periods in which nothing happened, the prevalence or the inputs changed.

Each function returns positions in the arrays that it is given, in random order and
without repetition, or None where there are too few rows of a kind.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from monitor_parts.cases import FEATURES, Pool

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)  # on the prevalence
ODDS = (3, 9)  # rows of one half of a feature for one of the other
LARGEST_SHARE = 0.9


def by_share(
    rng: np.random.Generator, y: np.ndarray, n: int, share: float
) -> np.ndarray | None:
    """`n` rows, a binomial number of them positive: each class looks as before."""
    if not 0.0 < share <= LARGEST_SHARE:
        return None
    k = int(rng.binomial(n, share))
    return _of_two(rng, np.asarray(y, dtype=bool), n, k)


def by_side(
    rng: np.random.Generator, x: np.ndarray, n: int, odds: float
) -> np.ndarray | None:
    """`n` rows, `odds` times as likely from one half of x, high or low at random.

    Rows of equal x fall into either half at random.
    """
    order = np.lexsort([rng.random(x.size), x])
    chosen = np.zeros(x.size, dtype=bool)
    chosen[order[x.size // 2 :]] = True
    if rng.random() < 0.5:
        chosen = ~chosen
    return _of_two(rng, chosen, n, int(rng.binomial(n, odds / (1 + odds))))


def _of_two(
    rng: np.random.Generator, first: np.ndarray, n: int, k: int
) -> np.ndarray | None:
    """k rows where `first` holds, and n - k of the others."""
    ones, others = np.flatnonzero(first), np.flatnonzero(~first)
    if ones.size < k or others.size < n - k:
        return None
    parts = [rng.choice(ones, k, False), rng.choice(others, n - k, False)]
    return rng.permutation(np.concatenate(parts))


def drawn_reference(
    rng: np.random.Generator, y: np.ndarray, half: np.ndarray, m: int
) -> np.ndarray | None:
    """`m` rows of a half of a pool."""
    found = by_share(rng, y[half], m, float(y.mean()))
    return None if found is None else half[found]


Draw = Callable[[np.random.Generator, Pool, np.ndarray, int], np.ndarray | None]


def _share(factor: float) -> Draw:
    def draw(
        rng: np.random.Generator, pool: Pool, half: np.ndarray, n: int
    ) -> np.ndarray | None:
        found = by_share(rng, pool.y[half], n, factor * float(pool.y.mean()))
        return None if found is None else half[found]

    return draw


def _side(number: int, odds: float) -> Draw:
    def draw(
        rng: np.random.Generator, pool: Pool, half: np.ndarray, n: int
    ) -> np.ndarray | None:
        found = by_side(rng, pool.sides[number][half], n, odds)
        return None if found is None else half[found]

    return draw


SHARES: dict[str, Draw] = {f"share x {f:g}": _share(f) for f in FACTORS}
SIDES: dict[str, Draw] = {
    f"{name} {odds}:1": _side(i, odds)
    for i, name in enumerate(FEATURES)
    for odds in ODDS
}
QUIET = "share x 1"


def kind_of(shift: str) -> str:
    """quiet, label shift or covariate shift."""
    if shift == QUIET:
        return "quiet"
    return "label shift" if shift in SHARES else "covariate shift"
