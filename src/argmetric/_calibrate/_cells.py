"""Rows of a reference as cells of neighbouring scores, so that cost does not grow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from argmetric._calibrate._reference import Reference
from argmetric._types import Floats

MOST_CELLS = 4096


@dataclass(frozen=True)
class Cells:
    """Rows with nearly the same score, from low to high.

    Attributes
    ----------
    x, score : ndarray
        Mean log-odds, and mean score as given, of each cell.
    positive, total : ndarray
        Positive rows and all rows; weights count rows here.
    """

    x: Floats
    score: Floats
    positive: Floats
    total: Floats


def cells_of(reference: Reference, most: int = MOST_CELLS) -> Cells:
    """One cell for each distinct score; about `most` of equal mass if there are more.

    Equal scores stay in one cell: a lump at 0 or 1 has one of its own.
    """
    order = np.argsort(reference.x, kind="stable")
    x, y, w = reference.x[order], reference.y[order], reference.weights[order]
    w = w / reference.weight_of_a_row
    first = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]]))
    if first.size > most:
        mass = np.add.reduceat(w, first)
        middle = np.cumsum(mass) - mass / 2
        number = (most * middle / mass.sum()).astype(np.int64)
        opens = np.diff(number, prepend=-1) > 0
        opens[[1, -1]] = True  # or a lump that is smaller than a cell would drown
        first = first[opens]
    total = np.add.reduceat(w, first)
    lowest = x[first]
    # The mean of equal scores must be that score to the last digit: a lump is known by
    # standing at the reach.
    off = x - np.repeat(lowest, np.diff(first, append=x.size))
    return Cells(
        lowest + np.add.reduceat(w * off, first) / total,
        np.add.reduceat(w * reference.scores[order], first) / total,
        np.add.reduceat(w * y, first),
        total,
    )
