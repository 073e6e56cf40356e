"""Expectations by going through all outcomes, in code that argmetric does not share."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from papers_parts.values import VALUES

Value = Callable[[Any, Any, Any, int], Any]  # of the counts tp, k, t and n
DISTRIBUTIONS: tuple[Callable[[np.random.Generator, int], np.ndarray], ...] = (
    lambda rng, n: rng.random(n),
    lambda rng, n: rng.beta(0.5, 0.5, n),
    lambda rng, n: rng.beta(0.5, 3.0, n),
)


def vectors(shortest: int, longest: int) -> list[np.ndarray]:
    """Probabilities of a few rows, drawn from each distribution."""
    rng = np.random.default_rng(0)
    sizes = range(shortest, longest + 1)
    return [distribution(rng, n) for n in sizes for distribution in DISTRIBUTIONS]


def valued(metric: str, zero: float) -> Value:
    """A metric of the references by its name, with what it makes of 0/0."""
    return lambda tp, k, t, n: VALUES[metric](tp, k, t, n, zero)


@cache
def labellings(n: int) -> np.ndarray:
    """All 2^n of them, a row each."""
    return np.arange(2**n)[:, None] >> np.arange(n) & 1


def labelling_probabilities(p: np.ndarray) -> np.ndarray:
    """The probability of each labelling, labels independent."""
    return np.where(labellings(p.size) == 1, p, 1.0 - p).prod(axis=1)


def expected(
    p: np.ndarray, value: Value, distribution: np.ndarray | None = None
) -> np.ndarray:
    """Return E[value] of every labelling as the answer; rows may be independent."""
    every = labellings(p.size)
    sizes = every.sum(axis=1)
    hits = every @ every.T  # answers by outcomes
    values = value(hits, sizes[:, None], sizes[None, :], p.size)
    return np.asarray(
        values @ (labelling_probabilities(p) if distribution is None else distribution),
        dtype=np.float64,
    )


def numbered(z: np.ndarray) -> int:
    """The number of a labelling."""
    return int((z << np.arange(z.size)).sum())


def top(p: np.ndarray, k: int) -> int:
    """The number of the labelling that takes the k most probable."""
    return int((1 << np.argsort(-p, kind="stable")[:k]).sum())


def tops(p: np.ndarray) -> np.ndarray:
    """Numbers of the n + 1 labellings that take the most probable."""
    return np.array([top(p, k) for k in range(p.size + 1)])
