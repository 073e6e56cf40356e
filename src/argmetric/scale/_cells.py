"""Labelled scores in cells, from high to low: what tuning needs of all rows.

A score is known by its bits, in an order in which whole numbers stand for doubles, so
that cells of any width down to one double can be counted and merged exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._files import DataError
from argmetric._input.types import Booleans, Floats, Hashes, Integers
from argmetric._tune import Cuts
from argmetric.scale._columns import Used, as_floats
from argmetric.scale._conservation import Tally, tally
from argmetric.scale._marks import NO_MARK, Mark
from argmetric.scale._sources import Source, batches_of
from argmetric.scale._tasks import Found

_TOP = np.uint64(1 << 63)


def keys_of(scores: Floats) -> Hashes:
    """Whole numbers in the order of the scores; 0 has no sign."""
    bits = (scores + 0.0).view(np.uint64)
    negative = (bits & _TOP) > 0
    return np.where(negative, ~bits, bits | _TOP)


@dataclass(frozen=True)
class Scored(Used):
    """Rows whose value is any finite score, beside a label."""

    mark: Mark = NO_MARK

    @property
    def columns(self) -> list[str]:
        return [self.score, self.mark.column]

    def values(self, batch: Any, source: Source, first: int) -> Floats:
        scores = as_floats(batch.column(self.score))
        wrong = ~np.isfinite(scores)
        if wrong.any():
            i = int(np.argmax(wrong))
            raise DataError(
                f"{source.path}: column {self.score!r} is {scores[i]:g} at row "
                f"{first + i}: scores must be finite"
            )
        return scores + 0.0


@dataclass(frozen=True)
class CellTask:
    """A file, and the keys whose rows are counted, in bins of 2^shift keys.

    Without bins (`shift` is None) every distinct score has a cell of its own.
    """

    source: Source
    used: Scored
    low: int
    high: int
    shift: int | None


@dataclass(frozen=True)
class Cells:
    """Cells with rows in them, ascending.

    Attributes
    ----------
    scores : ndarray
        The smallest score of each.
    first, last : ndarray
        The keys that each stands for.
    positive, negative : ndarray
        Its rows of either class.
    """

    scores: Floats
    first: Hashes
    last: Hashes
    positive: Integers
    negative: Integers

    @property
    def n_rows(self) -> int:
        """Rows in all of them."""
        return int(self.positive.sum() + self.negative.sum())

    def cuts(self) -> Cuts:
        """What every cut between cells has counted."""
        tp, fp = (
            np.concatenate([[0.0], np.cumsum(part[::-1])])
            for part in (self.positive, self.negative)
        )
        return Cuts(self.scores[::-1].copy(), tp, fp)

    def replaced(self, inner: Cells) -> Cells:
        """The same with finer cells in place of those with the same rows."""
        before = self.last < inner.first[0]
        after = self.first > inner.last[-1]
        parts = zip(vars(self).values(), vars(inner).values(), strict=True)
        return Cells(*(np.concatenate([a[before], b, a[after]]) for a, b in parts))


def merged_cells(parts: list[Cells]) -> Cells:
    """Cells of all files; those with the same keys become one."""
    if len(parts) == 1:
        return parts[0]
    first = np.concatenate([part.first for part in parts])
    keys, place = np.unique(first, return_inverse=True)

    def total(name: str) -> Integers:
        sums = np.zeros(keys.size, dtype=np.int64)
        np.add.at(sums, place, np.concatenate([getattr(part, name) for part in parts]))
        return sums

    scores, last = np.full(keys.size, np.inf), np.zeros(keys.size, dtype=np.uint64)
    np.minimum.at(scores, place, np.concatenate([part.scores for part in parts]))
    np.maximum.at(last, place, np.concatenate([part.last for part in parts]))
    return Cells(scores, keys, last, total("positive"), total("negative"))


def count_cells(task: CellTask) -> Found:
    """Count the rows of a file; found: its cells."""
    counted, parts = Tally(), []
    for rows, scores, positive in labelled_batches(task.source, task.used):
        counted += tally(rows, scores)
        keys = keys_of(scores)
        inside = (keys >= np.uint64(task.low)) & (keys <= np.uint64(task.high))
        if inside.any():
            some = scores[inside], keys[inside], positive[inside]
            parts.append(_cells_of(*some, task.low, task.shift))
        if len(parts) > 16:
            parts = [merged_cells(parts)]
    if not parts:
        empty = np.zeros(0)
        parts = [_cells_of(empty, keys_of(empty), np.zeros(0, bool), 0, None)]
    return {**vars(counted), "cells": merged_cells(parts)}


def _cells_of(
    scores: Floats, keys: Hashes, positive: Booleans, low: int, shift: int | None
) -> Cells:
    if shift is None:
        bins, width = keys, np.uint64(0)
    else:
        by = np.uint64(shift)
        bins = ((keys - np.uint64(low)) >> by << by) + np.uint64(low)
        width = np.uint64((1 << shift) - 1)
    first, place = np.unique(bins, return_inverse=True)
    least = np.full(first.size, np.inf)
    np.minimum.at(least, place, scores)
    hits = np.bincount(place, positive, first.size).astype(np.int64)
    rows: npt.NDArray[np.int64] = np.bincount(place, minlength=first.size)
    return Cells(least, first, first + width, hits, rows - hits)


def labelled_batches(
    source: Source, used: Scored
) -> Iterator[tuple[Integers, Floats, Booleans]]:
    """Row numbers, scores and labels of a file."""
    first = 0
    for batch in batches_of(source, used.columns):
        scores = used.values(batch, source, first)
        yield np.arange(first, first + scores.size), scores, used.mark.holds(batch)
        first += scores.size
