"""What `monitor` gives back: a row for every period, and the counts behind it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from argmetric._calibrate.reference import Reference
from argmetric._ground.arguments import check_seed, is_whole, shown
from argmetric._ground.display import Field, as_frame, documented
from argmetric._ground.saving import restore_values
from argmetric._ground.types import (
    AnyArray,
    ArrayLike,
    Frame,
    Integers,
    Label,
    LabelsLike,
    RandomState,
)
from argmetric._monitor._cells import UNKNOWN, VERDICTS
from argmetric._monitor._labelling import LabellingPlan, plan_labelling
from argmetric._monitor._period import (
    NAMES,
    FoundPeriods,
    Period,
    judged,
    period_of,
    values_of,
)
from argmetric._monitor._periods import (
    NO_ROWS,
    Bounds,
    Every,
    GroupTable,
    NewRows,
    read_rows,
)
from argmetric._monitor._watch import PeriodCounts, Watch
from argmetric._monitor._words import MANY_OUTSIDE, PRINTED, AllPeriods, Answer
from argmetric.metrics import Metric

TOLD = ("start", "verdict", "alarm", *Answer._fields)  # of a saved period
STATISTICS = ("z", "z_reference", "z_floor", "rho")  # of alarms


@dataclass(frozen=True, repr=False, eq=False)
class Monitoring(AllPeriods["Monitoring"]):
    """Forecasts, verdicts and alarms of periods, one after the other.

    Made by `monitor`; `add` adds rows and gives a new one.

    Attributes
    ----------
    periods : tuple of Period
        In order; those without rows are left out.
    segments : dict
        A Monitoring for each segment of `by`, the worst first.
    notes : tuple of str
        Remarks on the input.
    """

    _what: ClassVar[str] = "monitoring"
    _file: ClassVar[str] = "argmetric monitoring"
    kind: ClassVar[str] = "monitoring"

    watch: Watch
    counts: tuple[PeriodCounts, ...] = ()
    notes: tuple[str, ...] = ()
    _found: FoundPeriods = field(default_factory=FoundPeriods)
    _segments: Mapping[str, Monitoring] = field(default_factory=dict)
    _n_segments: int = 1
    _kept: NewRows | None = None
    _watches: Mapping[str, Watch] = field(default_factory=dict)

    @property
    def metric(self) -> Metric:
        return self.watch.metric

    @cached_property
    def periods(self) -> tuple[Period, ...]:
        found = self._found.of(self.counts, self.watch)
        return tuple(judged(one, self.watch, self._n_segments) for one in found)

    @cached_property
    def segments(self) -> dict[str, Monitoring]:
        pairs = sorted(self._segments.items(), key=lambda pair: pair[1]._badness())
        return dict(pairs)

    def _badness(self) -> tuple[bool, int, float]:
        """Of the last period: alarm, verdict, score; the least is the worst."""
        if not self.periods:
            return True, 0, math.inf
        last = self.periods[-1]
        sign = 1.0 if self.metric.greater_is_better else -1.0
        score = math.inf if math.isnan(last.mean) else sign * last.mean
        return not last.alarm, -VERDICTS.index(last.verdict), score

    def add(
        self,
        p: ArrayLike,
        labels: LabelsLike | None = None,
        *,
        time: ArrayLike | None = None,
        known: ArrayLike | None = None,
        by: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        pos_label: Label | None = None,
    ) -> Monitoring:
        """Add rows: new periods, or more rows of the last ones.

        The answer is that of one call with all rows.

        Parameters
        ----------
        p, time, known, by, groups, pos_label
            As for `monitor`.
        labels : array-like, optional
            Predicted labels, where no rule predicts them.

        Returns
        -------
        Monitoring
        """
        given = {"time": time, "known": known, "groups": groups, "pos_label": pos_label}
        rows, bounds, notes = self._read(p, labels, by, **given)
        whole = self._by_segment(rows, lambda one, part: one._with_rows(part, bounds))
        notes = tuple(dict.fromkeys((*self.notes, *notes)))
        return replace(whole, notes=notes, _kept=rows)

    def add_labels(
        self,
        y: ArrayLike,
        p: ArrayLike,
        labels: LabelsLike | None = None,
        *,
        time: ArrayLike | None = None,
        period: int | None = None,
        by: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        pos_label: Label | None = None,
    ) -> Monitoring:
        """Add true labels of rows that were added before without them.

        Parameters
        ----------
        y : array-like
            True labels, which may be of some rows of a period only.
        p, labels, time, by, groups, pos_label
            Of these rows, as they were passed before.
        period : int, optional
            Place of their period in `periods`, where time does not tell it.

        Returns
        -------
        Monitoring
        """
        if self.watch.average == "samples":
            raise ValueError(
                "a mean over samples takes labels as known= of add, or of monitor: "
                "which row of a period a label belongs to cannot be told later"
            )
        given = {"known": y, "name": "y", "groups": groups, "pos_label": pos_label}
        time = time if period is None else None
        rows, _, _ = self._read(p, labels, by, time=time, **given)
        if period is not None:
            number = np.full(rows.scores.size, self._period(period).number)
            rows = rows._replace(number=number)
        elif not self.watch.every.unit:
            raise ValueError("period is needed: time does not tell the period here")
        return replace(self._by_segment(rows, Monitoring._labelled), _kept=None)

    def _by_segment(
        self, rows: NewRows, added: Callable[[Monitoring, NewRows], Monitoring]
    ) -> Monitoring:
        """With rows added to all periods, and to those of their segments."""
        segments = dict(self._segments)
        for name, part in rows.by_segment():
            one = segments.get(name)
            one = one or Monitoring(self._watches.get(name, self.watch))
            segments[name] = added(one, part)
        return added(self, rows)._with_segments(segments)

    def _labelled(self, rows: NewRows) -> Monitoring:
        """With rows moved from those of unknown label to those of a known one."""
        counts = {one.number: one for one in self.counts}
        tables = rows.counted(self.watch.cells)
        for number, table in tables.items():
            table[:, UNKNOWN] -= table.sum(axis=1)
            left = table.copy()
            if number in counts:
                left += counts[number].table
            if (left[:, UNKNOWN] < 0).any():
                missing = -int(np.minimum(left[:, UNKNOWN], 0).sum())
                raise ValueError(
                    f"y has labels of {missing:,} rows that were not added before, or "
                    "have labels already: rows are added by add(), with p and time as "
                    "they are here"
                )
        size = self.watch.cells.size
        grouped = rows.grouped(self.watch.cells)
        return self._counted(
            tables, {}, {i: one.arrived(size) for i, one in grouped.items()}
        )

    def _read(
        self, p: Any, labels: Any, by: Any, **given: Any
    ) -> tuple[NewRows, Bounds, tuple[str, ...]]:
        """Rows, starts and ends of their periods, and notes."""
        if by is None and self._segments:
            raise ValueError("by is needed: these periods have segments")
        if self.counts and by is not None and not self._segments:
            raise ValueError("by goes with periods that had segments from the start")
        return read_rows(self.watch, self.counts, p, labels, by=by, **given)

    def _with_segments(self, segments: Mapping[str, Monitoring]) -> Monitoring:
        count = max(len(segments), 1)
        parts = {key: replace(x, _n_segments=count) for key, x in segments.items()}
        return replace(self, _segments=parts)

    def _with_rows(self, rows: NewRows, bounds: Bounds) -> Monitoring:
        cells = self.watch.cells
        return self._counted(rows.counted(cells), bounds, rows.grouped(cells))

    def _counted(
        self,
        tables: Mapping[int, Integers],
        bounds: Bounds,
        grouped: Mapping[int, GroupTable],
    ) -> Monitoring:
        """With tables added to periods; those that change are computed again later."""
        counts = {one.number: one for one in self.counts}
        for number, table in tables.items():
            before = counts.get(number)
            groups = grouped.get(number)
            start, end = bounds.get(number, ("", ""))
            if before is not None:
                start, end = before.start, end or before.end
                table = table + before.table
                if groups is not None and before.groups is not None:
                    groups = before.groups.plus(groups, self.watch.cells.size)
            counts[number] = PeriodCounts(number, start, end, table, groups)
        in_order = tuple(counts[i] for i in sorted(counts))
        found = self._found.without(list(tables))
        return replace(self, counts=in_order, _found=found)

    def _with_features(
        self, reference: Reference, old: AnyArray, new: AnyArray
    ) -> Monitoring:
        """With the periods of the last call computed for rows such as theirs."""
        from argmetric._monitor._watch import domain_weights, weighted_maps

        rows, found = self._kept or NO_ROWS, {}
        before = self._found.of(self.counts, self.watch)
        for one, plain_one in zip(self.counts, before, strict=True):
            weight = domain_weights(old, new[rows.number == one.number])
            maps = weighted_maps(reference, self.watch.cells, weight)
            alarm = {name: getattr(plain_one, name) for name in STATISTICS}
            made = period_of(one, self.watch, maps)
            found[one.number] = replace(made, **alarm)
        return replace(self, _found=FoundPeriods(found))

    def _period(self, place: int) -> PeriodCounts:
        if not is_whole(place):
            raise TypeError(f"period must be a whole number, not {shown(place)}")
        if not -len(self.counts) <= place < len(self.counts):
            raise ValueError(
                f"period is {place}, but there are {len(self.counts)} periods"
            )
        return self.counts[place]

    def to_label(
        self,
        n: int,
        *,
        period: int = -1,
        segment: str | None = None,
        p: ArrayLike | None = None,
        labels: LabelsLike | None = None,
        known: ArrayLike | None = None,
        random_state: RandomState = 0,
    ) -> LabellingPlan:
        """Draw the rows whose labels tell most about the score of a period.

        Pass the labels of these rows to `estimate` of the plan.

        Parameters
        ----------
        n : int
            How many rows to label.
        period : int, default=-1
            Place of the period in `periods`; the last by default.
        segment : str, optional
            A segment, instead of all rows.
        p, labels, known : array-like, optional
            All rows of the period, and of the segment, as they were added; needed where
            they were not among those of the last call.
        random_state : int, optional
            Seed of the draw.

        Returns
        -------
        LabellingPlan
        """
        check_seed(random_state)
        if self.watch.grouped or self.watch.columns:
            raise ValueError(
                "to_label draws rows for a score of all rows together, of one column: "
                "here label some groups at random, all rows of each, and pass known="
            )
        whole = self
        if segment is not None:
            if not isinstance(segment, str) or segment not in self._segments:
                raise ValueError(f"segment must be one of by, not {shown(segment)}")
            whole = self._segments[segment]
        counts, watch = whole._period(period), whole.watch
        if p is not None:
            bare = Monitoring(replace(watch, every=Every("")))
            rows = bare._read(p, labels, None, known=known)[0]
            inside = np.ones(rows.scores.size, dtype=bool)
        else:
            rows = self._kept or NO_ROWS
            inside = rows.number == counts.number
            if segment in rows.names:
                inside &= rows.segment == rows.names.index(segment)
        tables = rows.take(inside).counted(watch.cells)
        if not np.array_equal(sum(tables.values()), counts.table):
            raise ValueError(
                f"p must hold all rows of the period that begins at {counts.start}: "
                "only rows of the last call are kept"
            )
        if rows.known is not None:
            inside &= np.isnan(rows.known)
        places = np.flatnonzero(inside)
        scores = rows.scores[places]
        cell = watch.cells.of_scores(scores)
        return plan_labelling(
            n,
            counts.table,
            watch.maps.chances,
            watch.metric,
            watch.coverage,
            (places, scores, rows.selected[places], cell),
            f"{counts.start} to {counts.end}",
            random_state,
        )

    @documented
    def to_frame(self, backend: str = "pandas") -> Frame:
        """One row per period; with segments, those of all of them below each other."""
        parts = [("", self), *self.segments.items()]
        names = [name for name in NAMES if name != "rho"]
        columns: dict[str, Any] = {}
        if self._segments:
            columns["segment"] = [key for key, one in parts for _ in one.periods]
        periods = [x for _, one in parts for x in one.periods]
        values = {name: [getattr(x, name) for x in periods] for name in names}
        for name, column in values.items():
            columns[name] = self._typed(name, column)
        for name in Answer._fields:
            columns[name] = [getattr(x.answer, name) for x in periods]
        return as_frame(columns, backend)

    def _typed(self, name: str, values: list[Any]) -> Any:
        if name in ("start", "end") and values:
            numbers = values[0].isdigit()
            return np.array(values, dtype=np.int64 if numbers else "datetime64[us]")
        return values

    def fields(self) -> list[Field]:
        reference = self.watch.reference.sum(axis=1)
        rows = f"{reference.sum():,} rows, {reference[1]:,} positive"
        number = f"{len(self.periods)}, {len(self.alarms)} with an alarm"
        found = self._found.of(self.counts, self.watch)
        told = map(values_of, self.periods)
        return [
            Field("file", self._file),
            Field("format", self._format),
            Field("watch", self.watch, "reference", rows),
            Field("counts", [[*one[:4], *(one.groups or ())] for one in self.counts]),
            # Only where it is saved: readings that nobody asked for take time.
            Field("periods", lambda: [x.values() for x in found], "periods", number),
            Field("told", lambda: [{name: x[name] for name in TOLD} for x in told]),
            Field("segments", self._segments),
            Field("watches", self._watches),
            Field("notes", self.notes),
        ]

    @classmethod
    def _from_plain(cls, values: dict[str, Any]) -> Monitoring:
        watch = Watch.from_dict(values["watch"])
        shape = (2, 3, watch.cells.size)
        counts = []
        for number, start, end, table, *groups in values["counts"]:
            array = np.array(table, dtype=np.int64)
            damaged = array.shape != shape or bool((array < 0).any())
            found_groups = None
            if watch.grouped:
                found_groups = GroupTable.from_lists(*groups)
                damaged |= not found_groups.is_of(array)
            if damaged:
                raise ValueError(f"the counts of {start} are damaged")
            counts.append(PeriodCounts(int(number), start, end, array, found_groups))
        periods = [
            Period.from_values({key: restore_values(x) for key, x in one.items()})
            for one in values["periods"]
        ]
        if len(periods) != len(counts):
            raise ValueError("there are not as many periods as counts")
        numbers = [one.number for one in counts]
        found = FoundPeriods(dict(zip(numbers, periods, strict=True)))
        made = cls(
            watch,
            tuple(counts),
            tuple(values["notes"]),
            found,
            _watches={k: Watch.from_dict(x) for k, x in values["watches"].items()},
        )
        segments = {key: cls._from_plain(x) for key, x in values["segments"].items()}
        return made._with_segments(segments)

    def _lines(self) -> list[tuple[str, ...]]:
        lines: list[tuple[str, ...]] = [*super()._lines()]
        lines += [(one.start, *one.cells()) for one in self.periods[-PRINTED:]]
        for key, one in list(self.segments.items())[:PRINTED]:
            lines.append((key, *one.periods[-1].cells()))
        return lines

    def _notes(self) -> tuple[str, ...]:
        """Remarks on the input, and on what verdicts and alarms mean."""
        notes = list(self.notes)
        numbers = [one.number for one in self.counts]
        empty = max(numbers) - min(numbers) + 1 - len(numbers) if numbers else 0
        if empty:
            notes.append(f"{empty:,} periods between these have no rows")
        last = self.periods[-1] if self.periods else None
        if last is not None and last.n_outside > MANY_OUTSIDE * last.n:
            notes.append(
                f"{last.n_outside / last.n:.1%} of the last period's scores lie "
                "outside of those of the reference, where the map is a guess"
            )
        if any(math.isnan(one.z) for one in self.periods):
            notes.append(
                f"{self.metric.name} does not depend on the share of positives: there "
                "is no alarm on movement; floor= and to_label watch its level"
            )
        return (*notes, *self._meanings(), self.watch.unseen)
