"""Flat segments of sorted probabilities, on which every room works."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from argmetric._ground.types import Floats, Integers

Method = Literal["auto", "windows", "reference"]


@dataclass(frozen=True)
class Segments:
    """Sorted probabilities of all segments, one behind the other.

    `p` descends within each segment; `q` is 1-p, kept apart because it is exact where
    p rounds to 1. Segment g holds items indptr[g]…indptr[g+1] and has `sizes[g]` ≥ that
    many members: the rest are certain negatives, as in a sparse row. Curves are flat,
    segment g at indptr[g]+g, one value per k = 0…m.
    """

    p: Floats
    q: Floats
    indptr: Integers
    sizes: Integers

    @cached_property
    def lengths(self) -> Integers:
        return np.diff(self.indptr)

    @cached_property
    def starts(self) -> Integers:
        """Where the curve of each segment begins."""
        return self.indptr[:-1] + np.arange(self.n_segments)

    @property
    def n_segments(self) -> int:
        return self.indptr.size - 1

    @cached_property
    def distinct_sizes(self) -> Integers:
        """The sizes that occur, ascending."""
        largest = int(self.sizes.max())
        if largest > 4 * self.sizes.size + 1024:
            return np.unique(self.sizes)
        occurs = np.zeros(largest + 1, dtype=bool)  # a table beats a sort
        occurs[self.sizes] = True
        return np.flatnonzero(occurs)

    def one(self, g: int) -> Segments:
        """Segment g alone."""
        part = slice(self.indptr[g], self.indptr[g + 1])
        bounds = np.array([0, self.indptr[g + 1] - self.indptr[g]])
        return Segments(self.p[part], self.q[part], bounds, self.sizes[g : g + 1])

    def take(self, chosen: Integers) -> Segments:
        """The chosen segments behind each other."""
        if chosen.size == self.n_segments:
            return self
        lengths = self.lengths[chosen]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        shift = np.repeat(self.indptr[:-1][chosen] - indptr[:-1], lengths)
        items = np.arange(indptr[-1]) + shift
        return Segments(self.p[items], self.q[items], indptr, self.sizes[chosen])

    def put(self, chosen: Integers, part: Floats, out: Floats) -> None:
        """Write the curves of `take(chosen)` to their places in `out`."""
        if chosen.size == self.n_segments:
            out[:] = part
            return
        lengths = self.lengths[chosen] + 1
        ends = np.cumsum(lengths)
        shift = np.repeat(self.indptr[:-1][chosen] + chosen - ends + lengths, lengths)
        out[np.arange(part.size) + shift] = part

    def place(self, g: int) -> slice:
        """Where the curve of segment g lies."""
        return slice(self.indptr[g] + g, self.indptr[g + 1] + g + 1)

    def empty_curves(self) -> Floats:
        return np.empty(self.p.size + self.n_segments)

    def segments_at(self, part: slice) -> slice:
        """Segments of some places of a flat curve."""
        return _ranges(self.starts, part)

    def counts_at(self, part: slice) -> tuple[Integers, Floats]:
        """Segment and k of some places of a flat curve."""
        return _counted(self.starts, part)

    def counts_by_size(self) -> SizeCounts:
        """The counts of every size once."""
        distinct = self.distinct_sizes
        kind = np.searchsorted(distinct, self.sizes)
        rows = np.zeros(distinct.size, dtype=np.int64)
        np.maximum.at(rows, kind, self.lengths + 1)
        starts = np.cumsum(rows) - rows
        return SizeCounts(starts[kind], starts, distinct, int(rows.sum()))

    def flat_counts(self) -> tuple[Floats, Floats]:
        """K and n of every place of a flat curve."""
        lengths = self.lengths + 1
        k = np.arange(self.p.size + self.n_segments) - np.repeat(self.starts, lengths)
        return k.astype(np.float64), np.repeat(self.sizes, lengths).astype(np.float64)


@dataclass(frozen=True)
class SizeCounts:
    """Counts 0…m of every size once, m its longest; those of segment g at places[g]."""

    places: Integers
    starts: Integers
    distinct: Integers
    size: int

    def at(self, part: slice) -> tuple[Floats, Floats]:
        """K and n of some of them."""
        kind, k = _counted(self.starts, part)
        return k, self.distinct[kind].astype(np.float64)


def _ranges(starts: Integers, part: slice) -> slice:
    """The ranges that some places lie in, of those that begin at `starts`."""
    first, last = np.searchsorted(starts, [part.start, part.stop - 1], side="right")
    return slice(int(first) - 1, int(last))


def _counted(starts: Integers, part: slice) -> tuple[Integers, Floats]:
    """The range of every place, and how far behind its beginning."""
    some = _ranges(starts, part)
    bounds = np.append(starts[some], part.stop)
    repeats = np.diff(np.maximum(bounds, part.start))
    k = np.arange(part.start, part.stop) - np.repeat(bounds[:-1], repeats)
    which = np.repeat(np.arange(some.start, some.stop), repeats)
    return which, k.astype(np.float64)
