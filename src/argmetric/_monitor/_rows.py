"""Rows of a call, which are counted and then kept until the next call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from argmetric._input.types import Booleans, Floats, Integers
from argmetric._monitor._cells import Cells


class Rows(NamedTuple):
    """Rows that were checked, each with its period and its segment.

    Attributes
    ----------
    scores, selected : ndarray
        Score, and whether it was predicted positive.
    known : ndarray or None
        True labels, nan where unknown.
    number : ndarray
        Number of the period.
    segment : ndarray or None
        Place of the segment in `names`.
    names : list of str
        Segments.
    """

    scores: Floats
    selected: Booleans
    known: Floats | None
    number: Integers
    segment: Integers | None
    names: list[str]

    def take(self, rows: Integers | Booleans) -> Rows:
        known = None if self.known is None else self.known[rows]
        part = self.scores[rows], self.selected[rows], known, self.number[rows]
        return Rows(*part, None, [])

    def by_segment(self) -> Iterator[tuple[str, Rows]]:
        if self.segment is None:
            return
        order = np.argsort(self.segment, kind="stable")
        ends = np.cumsum(np.bincount(self.segment, minlength=len(self.names)))
        for name, rows in zip(self.names, np.split(order, ends[:-1]), strict=True):
            yield name, self.take(rows)

    def counted(self, cells: Cells) -> dict[int, Integers]:
        """Tables by the number of the period."""
        found, part = np.unique(self.number, return_inverse=True)
        how = self.selected, self.known, part, found.size
        return dict(zip(found.tolist(), cells.count(self.scores, *how), strict=True))


NO_ROWS = Rows(np.zeros(0), np.zeros(0, bool), None, np.zeros(0, np.int64), None, [])
