"""Rows of a call, which are counted and then kept until the next call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from argmetric._ground.groups import Groups, code_groups
from argmetric._ground.labels import read_together
from argmetric._ground.types import AnyArray, Booleans, Floats, Integers
from argmetric._ground.validation import read_scores
from argmetric._monitor._cells import UNKNOWN, Cells
from argmetric._monitor._periods import Bounds, number_rows

if TYPE_CHECKING:
    from argmetric._monitor._watch import PeriodCounts, Watch


class GroupTable(NamedTuple):
    """Counts of a period by group, predicted label, known label and cell."""

    ids: AnyArray  # names of the groups, as text, rising
    place: Integers  # ((group·2 + predicted)·3 + known)·cells + cell, rising
    rows: Integers  # how many there are in each place

    @classmethod
    def of(
        cls, ids: AnyArray, codes: Integers, place: Integers, cells: int
    ) -> GroupTable:
        """Rows counted, from the number of their group and their place in it."""
        used, code = np.unique(codes, return_inverse=True)
        ids, group = np.unique(ids[used], return_inverse=True)
        place = group[code] * (6 * cells) + place
        return cls(ids, *np.unique(place, return_counts=True))

    def plus(self, other: GroupTable, cells: int) -> GroupTable:
        """Both together; groups of one name are one group."""
        ids, group = np.unique(
            np.concatenate([self.ids, other.ids]), return_inverse=True
        )
        place = np.concatenate([self.place, other.place + 6 * cells * self.ids.size])
        place = group[place // (6 * cells)] * (6 * cells) + place % (6 * cells)
        place, where = np.unique(place, return_inverse=True)
        count = np.bincount(where, np.concatenate([self.rows, other.rows]))
        if (count < 0).any():
            raise ValueError("groups are not those that these rows were added with")
        kept = count != 0
        return GroupTable(ids, place[kept], count[kept].astype(np.int64))

    def arrived(self, cells: int) -> GroupTable:
        """What to add where these labels come late: as many are no longer unknown."""
        before = self.place - cells * (self.place // cells % 3 - UNKNOWN)
        both = np.concatenate([self.place, before])
        return GroupTable(self.ids, both, np.concatenate([self.rows, -self.rows]))

    @classmethod
    def from_lists(cls, ids: Any, place: Any, count: Any) -> GroupTable:
        numbers = (np.array(one, dtype=np.int64) for one in (place, count))
        return cls(np.array(ids, dtype=str), *numbers)

    def is_of(self, table: Integers) -> bool:
        """Whether it sums up to a table without groups, and every group has rows."""
        if (self.rows < 1).any() or (np.diff(self.place) < 1).any():
            return False
        flat = np.bincount(self.place % table.size, self.rows, table.size)
        groups = np.unique(self.place // table.size)
        return np.array_equal(flat, table.ravel()) and np.array_equal(
            groups, np.arange(self.ids.size)
        )


class Rows(NamedTuple):
    """Rows that were checked, each with its period and its segment."""

    # Score, and whether it was predicted positive
    scores: Floats
    selected: Booleans
    known: Floats | None  # true labels, nan where unknown
    number: Integers  # number of the period
    segment: Integers | None  # place of the segment in `names`
    names: list[str]  # segments
    # Groups with names of text, where a mean over groups is asked for
    groups: Groups | None = None

    def take(self, rows: Integers | Booleans) -> Rows:
        known = None if self.known is None else self.known[rows]
        part = self.scores[rows], self.selected[rows], known, self.number[rows]
        groups = self.groups
        if groups is not None:
            groups = Groups(groups.codes[rows], groups.ids)
        return Rows(*part, None, [], groups)

    def by_segment(self) -> Iterator[tuple[str, Rows]]:
        if self.segment is None:
            return
        order = np.argsort(self.segment, kind="stable")
        ends = np.cumsum(np.bincount(self.segment, minlength=len(self.names)))
        for name, rows in zip(self.names, np.split(order, ends[:-1]), strict=True):
            yield name, self.take(rows)

    def _periods(self) -> tuple[Integers, Integers]:
        """Numbers of periods, and the place of each row's among them."""
        low, high = self.number.min(initial=0), self.number.max(initial=0)
        if high - low > self.number.size:  # short periods, far apart
            return np.unique(self.number, return_inverse=True)
        place = self.number - low if low else self.number
        used = np.bincount(place) > 0
        if not used.all():
            place = (np.cumsum(used) - 1)[place]
        return low + np.flatnonzero(used), place

    def counted(self, cells: Cells) -> dict[int, Integers]:
        """Tables by the number of the period."""
        found, part = self._periods()
        how = self.selected, self.known, part, found.size
        return dict(zip(found.tolist(), cells.count(self.scores, *how), strict=True))

    def grouped(self, cells: Cells) -> dict[int, GroupTable]:
        """Tables of groups by the number of the period."""
        if self.groups is None:
            return {}
        codes, ids = self.groups.codes, self.groups.ids
        place = cells.places(self.scores, self.selected, self.known)
        found, part = self._periods()
        order = np.argsort(part, kind="stable")
        ends = np.cumsum(np.bincount(part))[:-1]
        tables = (
            GroupTable.of(ids, codes[rows], place[rows], cells.size)
            for rows in np.split(order, ends)
        )
        return dict(zip(found.tolist(), tables, strict=True))


NO_ROWS = Rows(np.zeros(0), np.zeros(0, bool), None, np.zeros(0, np.int64), None, [])


def read_rows(
    watch: Watch,
    counts: Sequence[PeriodCounts],
    p: Any,
    labels: Any,
    *,
    time: Any = None,
    known: Any = None,
    by: Any = None,
    groups: Any = None,
    pos_label: Any = None,
    name: str = "known",
) -> tuple[Rows, Bounds, tuple[str, ...]]:
    """Rows, starts and ends of their periods, and notes; a matrix cell by cell.

    `watch`: what they are compared with; `counts`: periods that are there already;
    `name`: what messages call `known`.
    """
    scores, columns = read_scores(p, "p", logits=watch.cells.logits), watch.columns
    if columns and scores.shape[1:] != (columns,):
        raise ValueError(
            f"p must be a matrix of {columns} columns, not of shape {scores.shape}"
        )
    if not columns and scores.ndim != 1:
        raise ValueError(f"p must have one dimension, not {scores.ndim}")
    if not scores.size:
        raise ValueError("p is empty: there is no row to add")
    n = len(scores)
    selected = watch.select(scores, labels, pos_label)
    if known is not None:
        given = {name: known}
        (known,) = read_together(pos_label, shape=scores.shape, missing=name, **given)
        known = known.ravel()
    segment, names = None, []
    if by is not None:
        coded = code_groups(by, n, "p", "by")
        segment, names = coded.codes, [str(one) for one in coded.ids.tolist()]
    width = max(columns, 1)
    before = sum(int(one.table.sum()) for one in counts) // width
    number, bounds, notes = number_rows(watch.every, counts, before, n, time)
    found = None
    if watch.average == "samples":
        ids = np.arange(before, before + n).astype(str)
        found = Groups(np.repeat(np.arange(n), width), ids)
    elif watch.average == "macro":
        found = Groups(np.tile(np.arange(width), n), np.arange(width).astype(str))
    elif groups is not None:
        if watch.average not in ("groups", "pooled"):
            raise ValueError("groups go with periods that had groups from the start")
        coded = code_groups(groups, n)  # a wrong column is always an error
        found = Groups(coded.codes, coded.ids.astype(str)) if watch.grouped else None
    elif watch.grouped:
        raise ValueError("groups are needed: the score is a mean over groups")
    if width > 1:
        number = np.repeat(number, width)
        segment = None if segment is None else np.repeat(segment, width)
    rows = Rows(scores.ravel(), selected, known, number, segment, names, found)
    return rows, bounds, notes
