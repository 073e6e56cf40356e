"""Flat segments of sorted probabilities, on which every room works."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from argmetric._types import Floats, Integers

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
        starts = self.indptr[:-1] + np.arange(self.n_segments)
        first, last = np.searchsorted(starts, [part.start, part.stop - 1], side="right")
        return slice(int(first) - 1, int(last))

    def counts_at(self, part: slice) -> tuple[Integers, Floats]:
        """Segment and k of some places of a flat curve."""
        some = self.segments_at(part)
        g = np.arange(some.start, some.stop)
        ends = np.append(self.indptr[g] + g, part.stop)
        repeats = np.diff(np.maximum(ends, part.start))
        k = np.arange(part.start, part.stop) - np.repeat(ends[:-1], repeats)
        return np.repeat(g, repeats), k.astype(np.float64)

    def counts_by_size(self) -> tuple[Floats, Floats, Integers]:
        """K and n of every count of every size once, and where a segment's begin."""
        distinct = self.distinct_sizes
        kind = np.searchsorted(distinct, self.sizes)
        longest = np.zeros(distinct.size, dtype=np.int64)
        np.maximum.at(longest, kind, self.lengths + 1)
        ends = np.cumsum(longest)
        k = np.arange(ends[-1]) - np.repeat(ends - longest, longest)
        n = np.repeat(distinct.astype(np.float64), longest)
        return k.astype(np.float64), n, (ends - longest)[kind]

    def flat_counts(self) -> tuple[Floats, Floats]:
        """K and n of every place of a flat curve."""
        lengths = self.lengths + 1
        first = np.repeat(self.indptr[:-1] + np.arange(self.n_segments), lengths)
        k = np.arange(first.size) - first
        return k.astype(np.float64), np.repeat(self.sizes, lengths).astype(np.float64)
