"""Boundary similarity: segmentations compared with half a point for a near miss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from argmetric._input.types import Integers
from argmetric.sequence._simple import SimpleFunction, Tables


@dataclass(frozen=True)
class BoundarySimilarity(SimpleFunction):
    """Boundary similarity of two segmentations (Fournier 2013), near misses by one.

    A boundary of z that y has at the same place counts 1, one that y has at the next
    or the previous place counts 1/2, and the sum is divided by the number of matches,
    near misses and boundaries of one side alone: 1 - (A + T/2) / (A + T + M). Near
    misses are paired from left to right, which pairs as many as possible. Two
    segmentations without a boundary have the similarity 1.

    Examples
    --------
    >>> from argmetric.sequence import BoundarySimilarity, evaluate
    >>> evaluate(BoundarySimilarity(), z=[0, 1, 0, 0, 1], y=[0, 0, 1, 0, 1])
    0.75
    """

    def start(self) -> tuple[int, int, int]:
        """Nothing pending, no points (two for a match), no boundary of y alone."""
        return 0, 0, 0

    def transition(
        self, state: tuple[int, int, int], z: Integers, i: int, y_i: int
    ) -> tuple[int, int, int]:
        """`pending` is 1 for an unpaired boundary of z just before, 2 for one of y."""
        pending, points, alone = state
        mine = int(z[i])
        if mine != y_i and pending and pending != 1 + y_i:
            return 0, points + 1, alone
        alone += pending == 2
        if mine == y_i:
            return 0, points + 2 * mine, alone
        return 1 + y_i, points, alone

    def value(self, state: tuple[int, int, int], z: Integers) -> float:
        """Points over twice the number of boundaries, pairs counted once."""
        pending, points, alone = state
        total = int(z.sum()) + alone + (pending == 2)
        return points / (2 * total) if total else 1.0

    def bounds(self, z: Integers) -> tuple[float, float]:
        """A share."""
        return 0.0, 1.0

    def tables(self, z: Integers) -> Tables:
        """The counter is points·(zeros of z + 1) + boundaries of y alone."""
        k = int(z.sum())
        width = z.size - k + 1
        follow, gain = np.zeros((2, 3, 2), np.int64), np.zeros((2, 3, 2), np.int64)
        for mine in (0, 1):
            for pending in range(3):
                for y in (0, 1):
                    state = self.transition((pending, 0, 0), np.array([mine]), 0, y)
                    follow[mine, pending, y] = state[0]
                    gain[mine, pending, y] = state[1] * width + state[2]
        points = np.arange(2 * k + 1)[None, :, None]
        total = k + np.arange(width)[None, None, :] + np.array([0, 0, 1])[:, None, None]
        values = np.where(total > 0, points / (2 * np.maximum(total, 1)), 1.0)
        return Tables(
            kind=z,
            follow=follow,
            gain=gain,
            cells=(2 * k + 1) * width,
            table=values.reshape(3, -1),
        )
