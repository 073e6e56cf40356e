"""5. Fig. 6 and section 6.1.8 of the paper: iterations, and the order of decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric.sequence import read_chunks
from search_parts import searn

RESAMPLES = 1000


@dataclass(frozen=True)
class Orders:
    """F1 from the left and the right, and the interval of the difference."""

    scores: list[float]
    interval: tuple[float, float]


def both_orders(task: str, learner: str, n: int | None) -> Orders:
    """SEARN from the left and from the right, learned from the same sentences."""
    left = searn.text(task, n, n)
    right = searn.text(task, n, n, mirrored=True)
    options: dict[str, Any] = {"kind": learner, "beta": 1.0, "iterations": 2}
    gold = left.gold
    found = [
        searn.decoded(searn.fitted(one, **options), one, beam=searn.BEAM)
        for one in (left, right)
    ]
    found[1] = list(map(right.task(2).mirrored, found[1]))
    return Orders([searn.chunk_f1(gold, one) for one in found], _interval(gold, *found))


def _interval(gold: Sequence[Any], left: Any, right: Any) -> tuple[float, float]:
    """Of the difference in F1, sentences resampled."""

    def counts(found: Any) -> np.ndarray:
        rows = []
        for a, b in zip(gold, found, strict=True):
            true, mine = set(read_chunks(a)), set(read_chunks(b))
            rows.append((2 * len(true & mine), len(true) + len(mine)))
        return np.array(rows)

    one, two = counts(left), counts(right)
    draws = np.random.default_rng(0).integers(len(one), size=(RESAMPLES, len(one)))
    gaps = []
    for rows in draws:
        a, b = one[rows].sum(axis=0), two[rows].sum(axis=0)
        gaps.append(100.0 * (b[0] / b[1] - a[0] / a[1]))
    low, high = np.quantile(gaps, (0.025, 0.975))
    return float(low), float(high)
