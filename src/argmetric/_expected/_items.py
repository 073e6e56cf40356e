"""Scores of a long vector, as far as a search for the best k asks for them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from argmetric._ground.types import Floats, Integers

N_SUMS = 5  # that are kept of a bin
MOST_AT_ONCE = 1 << 31  # items whose sums are whole numbers of 64 bits
MOST_COUNTS = 1 << 15  # looked at one by one; with more the curve is no slower


class BestCount(NamedTuple):
    """The best k, its value, that of the cut at one half, and the scores at the cut."""

    best: int
    expected: float
    error: float
    n_half: int
    at_half: float
    upper: float
    lower: float


class Items(ABC):
    """Probabilities in memory or elsewhere; nothing depends on their order."""

    size: int

    @abstractmethod
    def sums(self, low: float, scale: float, bins: int) -> Integers:
        """Exact sums within bins of the width 1/scale, from `low` on."""

    @abstractmethod
    def within(self, low: float, high: float, count: int) -> Items:
        """Items in [low, high); `count` is their known number."""

    @abstractmethod
    def counted(self, low: float, high: float, count: int) -> Ranked:
        """Items in [low, high) by value, each once; `count` is their known number."""

    @abstractmethod
    def largest_below(self, edge: float) -> float:
        """The largest that is less; -inf where there is none."""

    @abstractmethod
    def smallest(self) -> float:
        """The smallest of all."""

    @abstractmethod
    def n_possible(self) -> int:
        """How many are no certain negatives."""

    def from_half(self) -> Items | None:
        """Those whose score as given is one half or more; None: whose p is."""
        return None

    def moments(self, low: float, scale: float, bins: int) -> Floats:
        """Moments 0…3 of the places within the bins, from -1/2 to 1/2."""
        count, coarse, fine, square, cube = self.sums(low, scale, bins).T.astype(float)
        middle = coarse * 2.0**-22 + fine * 2.0**-53
        return np.stack([count, middle, square * 2.0**-32, cube * 2.0**-32], axis=1)


class Array(Items):
    """A vector in memory."""

    def __init__(self, p: Floats, given: Floats | None = None) -> None:
        self.p, self.size = p, p.size
        self.given = given  # the scores before a map, where there is one

    def sums(self, low: float, scale: float, bins: int) -> Integers:
        return sums_in_bins(self.p, low, scale, bins)

    def within(self, low: float, high: float, count: int) -> Array:
        from argmetric._expected.kernels.segments import take_range

        out = np.empty(count + 1)
        take_range(self.p, low, high, out)
        return Array(out[:count])

    def counted(self, low: float, high: float, count: int) -> Ranked:
        return Ranked.of(
            *np.unique(self.within(low, high, count).p, return_counts=True)
        )

    def largest_below(self, edge: float) -> float:
        return float(self.p[self.p < edge].max(initial=-np.inf))

    def smallest(self) -> float:
        return float(self.p.min())

    def n_possible(self) -> int:
        return int(np.count_nonzero(self.p))

    def from_half(self) -> Array | None:
        return None if self.given is None else Array(self.p[self.given >= 0.5])


@dataclass(frozen=True)
class Ranked:
    """Distinct values in descending order, and how many items have at least each."""

    values: Floats
    ends: Integers

    @classmethod
    def of(cls, values: Floats, counts: Integers) -> Ranked:
        """Of values in ascending order."""
        return cls(values[::-1].copy(), np.cumsum(counts[::-1]))

    @property
    def size(self) -> int:
        return int(self.ends[-1]) if self.ends.size else 0

    def part(self, first: int, last: int) -> Floats:
        """The items at the places first…last-1."""
        places = np.arange(first, last)
        return self.values[np.searchsorted(self.ends, places, side="right")]

    def sums_before(self, place: int, terms: int) -> Floats:
        """Sums of powers 1…terms of the first items, as a column."""
        counts = np.diff(np.minimum(self.ends, place), prepend=0)
        whole = int(np.searchsorted(self.ends, place)) + 1
        powers = powers_of(self.values[:whole], terms)
        return np.asarray((powers * counts[:whole]).sum(axis=1, keepdims=True))


def sums_in_bins(p: Floats, low: float, scale: float, bins: int) -> Integers:
    """Exact sums of a vector in memory."""
    from argmetric._expected.kernels.segments import bin_sums

    sums = np.zeros((bins, N_SUMS), dtype=np.int64)
    for first in range(0, p.size, MOST_AT_ONCE):
        bin_sums(p[first : first + MOST_AT_ONCE], low, scale, sums)
        carry(sums)
    return sums


def carry(sums: Integers) -> None:
    """Make room for more items in the sums that fill up first."""
    sums[:, 1] += sums[:, 2] >> 31
    sums[:, 2] &= (1 << 31) - 1


def powers_of(items: Floats, terms: int) -> Floats:
    """Powers 1…terms, one row each."""
    rows = np.empty((terms, items.size))
    rows[0] = items
    for r in range(1, terms):
        np.multiply(rows[r - 1], items, out=rows[r])
    return rows


def running_sums(rows: Floats) -> Floats:
    """Cumulative sums of rows on two levels: equal items do not drift."""
    size = 64
    extra = -rows.shape[1] % size
    blocks = np.pad(rows, ((0, 0), (0, extra))).reshape(rows.shape[0], -1, size)
    sums = np.cumsum(blocks, axis=2)
    sums[:, 1:] += np.cumsum(sums[:, :-1, -1:], axis=1)
    return sums.reshape(rows.shape[0], -1)[:, : rows.shape[1]]
