"""Scores sorted together with their labels, at the cost of sorting numbers alone."""

from __future__ import annotations

import numpy as np

from argmetric._input.types import Booleans, Floats


def can_pack(scores: Floats) -> bool:
    """Whether no score is negative."""
    return bool(scores.min() >= 0.0)


def sort_labelled(
    scores: Floats, positive: Booleans, *, descending: bool = False
) -> tuple[Floats, Booleans]:
    """Scores in order, none of them negative, and the labels that go with them.

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
