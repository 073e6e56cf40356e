"""Rows of a reference as cells of neighbouring scores, so that cost does not grow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._calibrate._reference import Reference
from argmetric._types import Booleans, Floats, Integers

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
    reference = reference.rising()
    x = reference.x
    w, unit = reference.weight, reference.weight_of_a_row
    first = first_of_equals(x)
    if first.size > most:
        number = cell_numbers(_mass(w, first, x.size), most)  # whatever a row weighs
        opens = np.empty(number.size, dtype=bool)
        np.greater(number[1:], number[:-1], out=opens[1:])
        opens[[0, 1, -1]] = True  # or a lump that is smaller than a cell would drown
        first = first[opens]
    total = _mass(w, first, x.size)
    lowest = x[first]
    # The mean of equal scores must be that score to the last digit: a lump is known by
    # standing at the reach.
    off = np.repeat(lowest, np.diff(first, append=x.size))
    np.subtract(x, off, out=off)
    return Cells(
        lowest + _sums(w, first, off) / total,
        _sums(w, first, reference.scores) / total,
        _sums(w, first, reference.y) / unit,
        total / unit,
    )


def first_of_equals(x: npt.NDArray[Any]) -> Integers:
    """Where each distinct value of an ascending array is for the first time."""
    apart = np.empty(x.size, dtype=bool)
    apart[0] = True
    np.not_equal(x[1:], x[:-1], out=apart[1:])
    return np.flatnonzero(apart)


def cell_numbers(mass: Floats, most: int) -> npt.NDArray[np.int32]:
    """Cell of every distinct score, of `most` with equal mass, which is used up.

    That in which the middle of what the score weighs lies.
    """
    total, middle = mass.sum(), np.cumsum(mass)
    mass /= 2
    middle -= mass
    del mass
    middle *= most
    middle /= total
    return middle.astype(np.int32)


def _mass(w: Floats | None, first: Integers, n: int) -> Floats:
    """Weight of every cell of n rows."""
    if w is None:
        return np.diff(first, append=n).astype(np.float64)
    return np.add.reduceat(w, first)


def _sums(w: Floats | None, first: Integers, values: Floats | Booleans) -> Floats:
    """Weighted sum of the values of every cell."""
    weighted = values if w is None else w * values
    return np.add.reduceat(weighted, first, dtype=np.float64)
