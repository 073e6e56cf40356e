"""Rows that are added to periods, checked and counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from argmetric._ground.groups import Groups, code_groups
from argmetric._ground.labels import read_together
from argmetric._ground.types import (
    ArrayLike,
    Booleans,
    Floats,
    Integers,
    Label,
    LabelsLike,
)
from argmetric._ground.validation import read_scores
from argmetric._monitor._bins import PeriodBins
from argmetric._monitor._periods import Bounds, GroupTable, PeriodCounts, number_rows
from argmetric._monitor._watch import Watch


class NewRows(NamedTuple):
    """Rows that were checked, each with its period and its segment.

    scores, selected, known : ndarray of shape (n_rows,)
        Scores, whether they were predicted positive, and true labels, nan where
        unknown.
    number, segment : ndarray of shape (n_rows,)
        Number of the period, and place of the segment in `names`.
    groups : Groups or None
        Groups with names of text, for a mean over groups.
    """

    scores: Floats
    selected: Booleans
    known: Floats | None
    number: Integers
    segment: Integers | None
    names: list[str]
    groups: Groups | None = None

    def take(self, rows: Integers | Booleans) -> NewRows:
        """Return some rows without their segments."""
        known = None if self.known is None else self.known[rows]
        part = self.scores[rows], self.selected[rows], known, self.number[rows]
        groups = self.groups
        if groups is not None:
            groups = Groups(groups.codes[rows], groups.ids)
        return NewRows(*part, None, [], groups)

    def by_segment(self) -> Iterator[tuple[str, NewRows]]:
        """Yield names of segments with their rows."""
        if self.segment is None:
            return
        order = np.argsort(self.segment, kind="stable")
        ends = np.cumsum(np.bincount(self.segment, minlength=len(self.names)))
        for name, rows in zip(self.names, np.split(order, ends[:-1]), strict=True):
            yield name, self.take(rows)

    def _periods(self) -> tuple[Integers, Integers]:
        """Return the distinct periods, and the index of the period of each row."""
        low, high = self.number.min(initial=0), self.number.max(initial=0)
        if high - low > self.number.size:  # short periods, far apart
            return np.unique(self.number, return_inverse=True)
        place = self.number - low if low else self.number
        used = np.bincount(place) > 0
        if not used.all():
            place = (np.cumsum(used) - 1)[place]
        return low + np.flatnonzero(used), place

    def count_rows(self, bins: PeriodBins) -> dict[int, Integers]:
        """Return tables by the number of the period."""
        numbers, part = self._periods()
        how = self.selected, self.known, part, numbers.size
        return dict(zip(numbers.tolist(), bins.count(self.scores, *how), strict=True))

    def count_groups(self, bins: PeriodBins) -> dict[int, GroupTable]:
        """Return tables of groups by the number of the period."""
        if self.groups is None:
            return {}
        codes, ids = self.groups.codes, self.groups.ids
        place = bins.places(self.scores, self.selected, self.known)
        numbers, part = self._periods()
        order = np.argsort(part, kind="stable")
        ends = np.cumsum(np.bincount(part))[:-1]
        tables = (
            GroupTable.count_rows(ids, codes[rows], place[rows], bins.size)
            for rows in np.split(order, ends)
        )
        return dict(zip(numbers.tolist(), tables, strict=True))


NO_ROWS = NewRows(np.zeros(0), np.zeros(0, bool), None, np.zeros(0, np.int64), None, [])


def read_rows(
    watch: Watch,
    counts: Sequence[PeriodCounts],
    p: ArrayLike,
    labels: LabelsLike | None,
    *,
    time: ArrayLike | None = None,
    known: ArrayLike | None = None,
    by: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    pos_label: Label | None = None,
    name: str = "known",
) -> tuple[NewRows, Bounds, tuple[str, ...]]:
    """Return rows, starts and ends of their periods, and notes; a matrix by cells."""
    scores, columns = read_scores(p, "p", logits=watch.bins.logits), watch.columns
    if columns and scores.shape[1:] != (columns,):
        raise ValueError(
            f"p must be a matrix of {columns} columns, not of shape {scores.shape}"
        )
    if not columns and scores.ndim != 1:
        raise ValueError(f"p must have one dimension, not {scores.ndim}")
    if not scores.size:
        raise ValueError("p is empty: there is no row to add")
    n, width = len(scores), max(columns, 1)
    selected = watch.select(scores, labels, pos_label)
    true_labels = None
    if known is not None:
        how: Any = {"shape": scores.shape, "missing": name, name: known}
        true_labels = read_together(pos_label, **how)[0].ravel()
    segment, names = None, []
    if by is not None:
        coded = code_groups(by, n, "p", "by")
        names = [str(one) for one in coded.ids.tolist()]
        segment = np.repeat(coded.codes, width) if width > 1 else coded.codes
    before = sum(int(one.table.sum()) for one in counts) // width
    number, bounds, notes = number_rows(watch.every, counts, before, n, time)
    ids = _read_groups(watch, groups, before, n)
    number = np.repeat(number, width) if width > 1 else number
    own = scores.ravel(), selected, true_labels
    return NewRows(*own, number, segment, names, ids), bounds, notes


def _read_groups(
    watch: Watch, groups: ArrayLike | None, before: int, n: int
) -> Groups | None:
    """Return the group of each row or cell that the score is a mean over."""
    width = max(watch.columns, 1)
    if watch.average == "samples":
        ids = np.arange(before, before + n).astype(str)
        return Groups(np.repeat(np.arange(n), width), ids)
    if watch.average == "macro":
        ids = np.arange(width).astype(str)
        return Groups(np.tile(np.arange(width), n), ids)
    if groups is not None:
        if watch.average not in ("groups", "pooled"):
            raise ValueError("groups go with periods that had groups from the start")
        coded = code_groups(groups, n)  # a wrong column is always an error
        if watch.is_grouped:
            return Groups(coded.codes, coded.ids.astype(str))
    elif watch.is_grouped:
        raise ValueError("groups are needed: the score is a mean over groups")
    return None
