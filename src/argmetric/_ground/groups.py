"""Which rows belong together: ids of any kind, checked and counted off once."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Number
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from argmetric._ground.labels import PLAIN_TYPES, missing_labels
from argmetric._ground.types import AnyArray, Booleans, Floats, Integers
from argmetric._ground.validation import check_length, to_numpy

FEW_IDS = 4096  # so many are sorted, without loading numba
MANY_ROWS = 1 << 21  # so many pay for loading numba; the numbers are the same
MANY_GROUPS = 1 << 14  # from here on rows are brought into bins of groups first
BINS = 1 << 10  # at most: more would leave the cache


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups that were checked where they came in, and are not coded again."""

    # for each row the number of its group, in the order of first appearance
    codes: Integers
    ids: AnyArray  # what the groups are called, in that order
    # how many rows each has, where that is known and the rows do not lie in order
    sizes: Integers | None = None

    @property
    def count(self) -> int:
        return int(self.ids.size)

    @cached_property
    def _starts(self) -> Integers:
        """First rows of the runs of one group."""
        change = self.codes[1:] != self.codes[:-1]
        return np.flatnonzero(np.concatenate([[self.codes.size > 0], change]))

    @property
    def _in_order(self) -> bool:
        """Whether the rows of every group lie behind each other."""
        return self.sizes is None and self._starts.size == self.count

    @cached_property
    def indptr(self) -> Integers:
        """Where each group begins when the groups lie behind each other."""
        if self._in_order:
            return np.append(self._starts, self.codes.size)
        sizes = self.sizes
        if sizes is None:
            sizes = np.bincount(self.codes, minlength=self.count)
        return np.concatenate([[0], np.cumsum(sizes)])

    @cached_property
    def rows(self) -> Integers | None:
        """Row indices ordered by group; None if the rows are in that order already."""
        if self._in_order:
            return None
        from argmetric._ground.kernels import grouping

        # A counting sort (in bins)

        n, count = self.codes.size, self.indptr.size - 1
        rows = np.empty(n, dtype=np.int64)
        starts = self.indptr[:-1].copy()
        if count < MANY_GROUPS:
            grouping.group_rows(self.codes, starts, rows)
            return rows
        bits = (count // BINS).bit_length()
        binned, binned_codes = np.empty((2, n), dtype=narrow_integers(n))
        grouping.bin_rows(
            self.codes, bits, starts[:: 1 << bits].copy(), binned, binned_codes
        )
        grouping.group_binned_rows(binned, binned_codes, starts, rows)
        return rows

    def take(self, rows: Booleans | Integers) -> Groups:
        """Return the groups of some rows; groups without rows are dropped."""
        code, kept = factorize(self.codes[rows])
        return Groups(code, self.ids[kept])


def check_groups(
    groups: object, n: int, other: str = "p", name: str = "groups"
) -> npt.NDArray[Any]:
    """Group ids as an array: one per row, none missing, all hashable."""
    values = _to_ids(groups, name)
    if values.ndim != 1:
        raise ValueError(f"{name} must have one dimension, not {values.ndim}")
    check_length(values, name, n, other)
    missing = np.flatnonzero(missing_labels(values))
    if missing.size:
        raise ValueError(f"{name} has a missing value at row {missing[0]}")
    kinds = set(map(type, values)) if values.dtype.kind == "O" else set()
    for i, value in enumerate(() if kinds <= PLAIN_TYPES else values):
        try:
            hash(value)
        except TypeError:
            raise TypeError(
                f"{name} has an id at row {i} that cannot be hashed: {value!r}"
            ) from None
    if len({_kind_of_number(kind) for kind in kinds} - {""}) > 1:
        _refuse_equal_ids(values, name)
    return values


def _refuse_equal_ids(values: npt.NDArray[Any], name: str) -> None:
    """Refuse group ids that are equal but of different types, such as 1 and True."""
    seen: dict[Any, int] = {}
    for row, value in enumerate(values):
        first = seen.setdefault(value, row)
        kinds = {_kind_of_number(type(values[i])) for i in (first, row)}
        if len(kinds) == 2:
            raise ValueError(
                f"{name} has {values[first]!r} at row {first} and {value!r} at row "
                f"{row}: equal, but of different types; make them one type first, such "
                "as text by astype(str)"
            )


def _kind_of_number(kind: type) -> str:
    """Return whether a kind is boolean, integer or float; empty if it is no number."""
    if issubclass(kind, bool | np.bool_):
        return "b"
    if issubclass(kind, Integral):
        return "i"
    return "f" if issubclass(kind, Number) else ""


def _to_ids(groups: object, name: str) -> npt.NDArray[Any]:
    """Return ids unchanged: numpy would merge 1 and "1", and make tuples to rows."""
    if isinstance(groups, str | bytes):
        raise TypeError(f"{name} must hold one id per row, not the text {groups!r}")
    if not isinstance(groups, list | tuple):
        values = to_numpy(groups, name)
        return values.astype(object) if values.dtype.kind == "T" else values
    types = set(map(type, groups))
    if len(types) == 1:
        kind = types.pop()
        if kind in (int, float, bool) or issubclass(kind, np.generic):
            values = np.asarray(groups)
            if kind is not int or values.dtype.kind in "iu":  # beyond 64 bits: objects
                return values
        if kind is str:
            values = np.asarray(groups)
            if np.char.str_len(values).sum() == sum(map(len, groups)):
                return values  # otherwise an id ends in NUL, which numpy drops
    return np.fromiter(groups, dtype=object, count=len(groups))


def code_groups(
    groups: object, n: int, other: str = "p", name: str = "groups"
) -> Groups:
    """Group ids of any kind, in any order, checked and numbered."""
    if isinstance(groups, Groups):
        check_length(groups.codes, name, n, other)
        return groups
    values = check_groups(groups, n, other, name)
    if n == 0:
        return Groups(np.zeros(0, dtype=np.int64), values)
    # Loading a kernel takes a second: without one only many rows pay for it
    few = FEW_IDS if "argmetric._ground.jit" in sys.modules else MANY_ROWS
    if values.dtype.kind in "iu" and n > few:
        low, high = int(values.min()), int(values.max())
        if lie_close(low, high, n):
            from argmetric._ground.kernels import grouping

            # In one pass; differences wrap around, so that 64 unsigned bits may be read
            # as signed ones.
            wide = values.view(np.int64) if values.dtype == np.uint64 else values
            wide = np.ascontiguousarray(wide, dtype=np.int64)
            size, narrow = high - low + 1, narrow_integers(values.size)
            slots = np.full(size, -1, dtype=narrow)
            firsts = np.empty(min(size, values.size), dtype=np.int64)
            codes = np.empty(values.size, dtype=np.int64)
            first = np.array(low, dtype=values.dtype).astype(np.int64)[()]
            count, runs = grouping.number_close_ids(wide, first, slots, codes, firsts)
            ids = values[firsts[:count]]
            if runs == count:
                return Groups(codes, ids)
            counts = np.zeros(count, dtype=narrow)
            grouping.count_codes(codes, counts)
            return Groups(codes, ids, counts.astype(np.int64))
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    if 2 * starts.size > n:  # a copy of long texts would fill the memory
        return Groups(*factorize(values))
    code, ids = factorize(values[starts])
    return Groups(np.repeat(code, np.diff(np.append(starts, n))), ids)


def lie_close(low: int, high: int, n: int) -> bool:
    """Return whether a table of all whole numbers from low to high is small enough."""
    return high - low <= 4 * n + 1024


def factorize(values: npt.NDArray[Any]) -> tuple[Integers, npt.NDArray[Any]]:
    """Return codes and distinct values in the order of first appearance."""
    whole = values.dtype.kind in "iu"
    low, high = (int(values.min()), int(values.max())) if whole else (0, 0)
    if whole and lie_close(low, high, values.size):  # a table beats a sort
        slot = np.full(high - low + 1, -1, dtype=np.int64)
        # Narrow integers overflow in the difference; 64 unsigned bits do not.
        wide = values if values.dtype == np.uint64 else values.astype(np.int64)
        offset = (wide - low).astype(np.int64)
        slot[offset[::-1]] = np.arange(values.size - 1, -1, -1)
        firsts = np.sort(slot[slot >= 0])
        slot[offset[firsts]] = np.arange(firsts.size)
        return slot[offset], values[firsts]
    if values.dtype.kind == "O":
        seen: dict[Any, int] = {}
        code = np.empty(values.size, dtype=np.int64)
        for i, value in enumerate(values):  # arbitrary objects can only be hashed
            code[i] = seen.setdefault(value, len(seen))
        return code, np.fromiter(seen, dtype=object, count=len(seen))
    # Bytes that pad an extended float are of any value: these are sorted.
    is_plain = values.dtype.kind in "iuUSmM" or values.dtype.char in "efd"
    if values.size > FEW_IDS and is_plain:
        from argmetric._ground.kernels import grouping

        plain = np.ascontiguousarray(values)
        if plain.dtype.kind == "f":
            plain = plain + 0.0  # of the two zeros one
        if plain.dtype.itemsize % 4:
            plain = plain.astype(
                plain.dtype.kind + str(-(-plain.dtype.itemsize // 4) * 4)
            )
        words = plain.view(np.uint32).reshape(values.size, -1)
        codes = np.empty(values.size, dtype=np.int64)
        room, count = FEW_IDS, -1
        while count < 0:  # few ids stay in the cache; too many are soon known to be
            room *= 8
            slots = np.full(2 * room, -1, dtype=np.int64)
            keys = np.empty((min(room, values.size), words.shape[1]), dtype=np.uint32)
            firsts = np.empty(keys.shape[0], dtype=np.int64)
            count = grouping.number_ids(words, slots, keys, codes, firsts)
        return codes, values[firsts[:count]]
    ids, first, code = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return rank[code], ids[order]


def narrow_integers(n: int) -> type[np.signedinteger[Any]]:
    """Return the integer type for counts of n rows: short ones fit in cache."""
    return np.int32 if n < 2**31 else np.int64


Method = Literal["auto", "windows", "published"]


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
        """Return the distinct sizes of the segments, ascending."""
        largest = int(self.sizes.max())
        if largest > 4 * self.sizes.size + 1024:
            return np.unique(self.sizes)
        occurs = np.zeros(largest + 1, dtype=bool)  # a table beats a sort
        occurs[self.sizes] = True
        return np.flatnonzero(occurs)

    def one(self, g: int) -> Segments:
        """Return segment g alone."""
        part = slice(self.indptr[g], self.indptr[g + 1])
        bounds = np.array([0, self.indptr[g + 1] - self.indptr[g]])
        return Segments(self.p[part], self.q[part], bounds, self.sizes[g : g + 1])

    def take(self, chosen: Integers) -> Segments:
        """Return the chosen segments, one after the other."""
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
        """Return the slice of the flat curve that belongs to segment g."""
        return slice(self.indptr[g] + g, self.indptr[g + 1] + g + 1)

    def empty_curves(self) -> Floats:
        return np.empty(self.p.size + self.n_segments)

    def segments_at(self, part: slice) -> slice:
        """Return the segments that a slice of a flat curve belongs to."""
        return _ranges(self.starts, part)

    def counts_at(self, part: slice) -> tuple[Integers, Floats]:
        """Return segment and k of each entry in a slice of a flat curve."""
        return _ranges_and_offsets(self.starts, part)

    def counts_by_size(self) -> SizeCounts:
        """Return the counts k = 0 … n of every distinct size n once."""
        distinct = self.distinct_sizes
        kind = np.searchsorted(distinct, self.sizes)
        rows = np.zeros(distinct.size, dtype=np.int64)
        np.maximum.at(rows, kind, self.lengths + 1)
        starts = np.cumsum(rows) - rows
        return SizeCounts(starts[kind], starts, distinct, int(rows.sum()))

    def flat_counts(self) -> tuple[Floats, Floats]:
        """Return k and n of every entry of a flat curve."""
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
        """Return k and n of a slice of the entries."""
        kind, k = _ranges_and_offsets(self.starts, part)
        return k, self.distinct[kind].astype(np.float64)


def _ranges(starts: Integers, part: slice) -> slice:
    """Return which of the ranges that begin at `starts` a slice overlaps."""
    first, last = np.searchsorted(starts, [part.start, part.stop - 1], side="right")
    return slice(int(first) - 1, int(last))


def _ranges_and_offsets(starts: Integers, part: slice) -> tuple[Integers, Floats]:
    """Return the range of every entry of a slice, and its offset within the range."""
    some = _ranges(starts, part)
    bounds = np.append(starts[some], part.stop)
    repeats = np.diff(np.maximum(bounds, part.start))
    k = np.arange(part.start, part.stop) - np.repeat(bounds[:-1], repeats)
    which = np.repeat(np.arange(some.start, some.stop), repeats)
    return which, k.astype(np.float64)
