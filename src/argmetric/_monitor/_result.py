"""Result of `monitor`: a row for every period, and the counts behind it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from argmetric._calibrate.reference import Reference
from argmetric._ground.arguments import check_seed, is_whole, shown
from argmetric._ground.display import Field, as_frame, counted, documented
from argmetric._ground.types import (
    AnyArray,
    ArrayLike,
    Frame,
    Integers,
    Label,
    LabelsLike,
    RandomState,
)
from argmetric._monitor._bins import UNKNOWN, VERDICTS
from argmetric._monitor._labelling import LabellingPlan, plan_labelling
from argmetric._monitor._period import (
    NAMES,
    Period,
    PeriodCache,
    forecast_period,
    judge_period,
    values_of,
)
from argmetric._monitor._periods import Bounds, Every, GroupTable, PeriodCounts
from argmetric._monitor._rows import NO_ROWS, NewRows, read_rows
from argmetric._monitor._watch import Watch, domain_weights, weighted_probabilities
from argmetric._monitor._words import MANY_OUTSIDE, PRINTED, AllPeriods, Answer
from argmetric.metrics import Metric

TEXTS = (
    "start",
    "verdict",
    "alarm",
    *Answer._fields,
)  # of a period, saved for other readers
STATISTICS = ("z", "z_reference", "z_floor", "rho")  # of alarms


@dataclass(frozen=True, repr=False, eq=False)
class Monitoring(AllPeriods["Monitoring"]):
    """Forecasts, verdicts and alarms of periods, one after the other.

    `monitor` returns it; `add` adds rows and returns a new one.

    Parameters
    ----------
    watch : Watch
        The reference, the metric and the options.
    counts : tuple of PeriodCounts
        Rows of each period by score, predicted and true label.
    notes : tuple of str
        Remarks on the input.
    _cache, _segments, _n_segments, _kept, _watches : object
        What was computed, segments, and the rows of the last call.

    Attributes
    ----------
    periods : tuple of Period
        In order; those without rows are left out.
    segments : dict
        A Monitoring for each segment of `by`, the worst first.

    Examples
    --------
    >>> import argmetric as am, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.5, 3, 3000)
    >>> y = rng.random(3000) < p
    >>> m = am.monitor(p[1000:2000], 0.3, reference=(y[:1000], p[:1000]))
    >>> len(m.add(p[2000:]).periods)
    2
    """

    _what: ClassVar[str] = "monitoring"
    _file: ClassVar[str] = "argmetric monitoring"
    kind: ClassVar[str] = "monitoring"

    watch: Watch
    counts: tuple[PeriodCounts, ...] = ()
    notes: tuple[str, ...] = ()
    _cache: PeriodCache = field(default_factory=PeriodCache)
    _segments: Mapping[str, Monitoring] = field(default_factory=dict)
    _n_segments: int = 1
    _kept: NewRows | None = None
    _watches: Mapping[str, Watch] = field(default_factory=dict)

    @property
    def metric(self) -> Metric:
        return self.watch.metric

    @cached_property
    def periods(self) -> tuple[Period, ...]:
        periods = self._cache.periods(self.counts, self.watch)
        return tuple(judge_period(x, self.watch, self._n_segments) for x in periods)

    @cached_property
    def segments(self) -> dict[str, Monitoring]:
        pairs = sorted(self._segments.items(), key=lambda pair: pair[1]._badness())
        return dict(pairs)

    def _badness(self) -> tuple[bool, int, float]:
        """Return a sort key of the last period; the worst periods come first."""
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
            With the new periods; this one stays as it is.
        """
        more = {"time": time, "known": known, "groups": groups, "pos_label": pos_label}
        rows, bounds, notes = self._read(p, labels, by, **more)

        def add_part(one: Monitoring, part: NewRows) -> Monitoring:
            bins = one.watch.bins
            groups = part.count_groups(bins)
            return one._with_tables(part.count_rows(bins), bounds, groups)

        whole = self._by_segment(rows, add_part)
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
            Place of their period in `periods`, where time does not show it.

        Returns
        -------
        Monitoring
            With the labels; this one stays as it is.
        """
        if self.watch.average == "samples":
            raise ValueError(
                "a mean over samples takes labels as known= of add, or of monitor: "
                "which row of a period a label belongs to is not known later"
            )
        more = {"known": y, "name": "y", "groups": groups, "pos_label": pos_label}
        time = time if period is None else None
        rows, _, _ = self._read(p, labels, by, time=time, **more)
        if period is not None:
            number = np.full(rows.scores.size, self._period(period).number)
            rows = rows._replace(number=number)
        elif not self.watch.every.unit:
            raise ValueError("period is needed: time does not show the period here")
        return replace(self._by_segment(rows, Monitoring._with_late_labels), _kept=None)

    def _by_segment(
        self, rows: NewRows, added: Callable[[Monitoring, NewRows], Monitoring]
    ) -> Monitoring:
        """Add rows to all periods, and to those of their segments."""
        segments = dict(self._segments)
        for name, part in rows.by_segment():
            one = segments.get(name)
            one = one or Monitoring(self._watches.get(name, self.watch))
            segments[name] = added(one, part)
        return added(self, rows)._with_segments(segments)

    def _with_late_labels(self, rows: NewRows) -> Monitoring:
        """Move rows from those of unknown label to those of a known one."""
        counts = {one.number: one for one in self.counts}
        tables = rows.count_rows(self.watch.bins)
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
        size = self.watch.bins.size
        groups = rows.count_groups(self.watch.bins)
        late = {i: one.late_labels(size) for i, one in groups.items()}
        return self._with_tables(tables, {}, late)

    def _read(
        self, p: ArrayLike, labels: LabelsLike | None, by: ArrayLike | None, **more: Any
    ) -> tuple[NewRows, Bounds, tuple[str, ...]]:
        """Return rows, starts and ends of their periods, and notes."""
        if by is None and self._segments:
            raise ValueError("by is needed: these periods have segments")
        if self.counts and by is not None and not self._segments:
            raise ValueError("by goes with periods that had segments from the start")
        return read_rows(self.watch, self.counts, p, labels, by=by, **more)

    def _with_segments(self, segments: Mapping[str, Monitoring]) -> Monitoring:
        count = max(len(segments), 1)
        parts = {key: replace(x, _n_segments=count) for key, x in segments.items()}
        return replace(self, _segments=parts)

    def _with_tables(
        self,
        tables: Mapping[int, Integers],
        bounds: Bounds,
        group_tables: Mapping[int, GroupTable],
    ) -> Monitoring:
        """Add tables to periods; those that change are computed again when used."""
        counts = {one.number: one for one in self.counts}
        for number, table in tables.items():
            before = counts.get(number)
            groups = group_tables.get(number)
            start, end = bounds.get(number, ("", ""))
            if before is not None:
                start, end = before.start, end or before.end
                table = table + before.table
                if groups is not None and before.groups is not None:
                    groups = before.groups.plus(groups, self.watch.bins.size)
            counts[number] = PeriodCounts(number, start, end, table, groups)
        in_order = tuple(counts[i] for i in sorted(counts))
        cache = self._cache.without(list(tables))
        return replace(self, counts=in_order, _cache=cache)

    def _with_features(
        self, reference: Reference, old: AnyArray, new: AnyArray
    ) -> Monitoring:
        """Forecast the periods of the last call by a weighted reference."""
        rows, periods = self._kept or NO_ROWS, {}
        before = self._cache.periods(self.counts, self.watch)
        for one, plain_one in zip(self.counts, before, strict=True):
            weight = domain_weights(old, new[rows.number == one.number])
            weighted = weighted_probabilities(reference, self.watch.bins, weight)
            alarm = {name: getattr(plain_one, name) for name in STATISTICS}
            period = forecast_period(one, self.watch, weighted)
            periods[one.number] = replace(period, **alarm)
        return replace(self, _cache=PeriodCache(periods))

    def _period(self, place: int) -> PeriodCounts:
        """Return the counts of the period with this number, checked."""
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
        """Draw the rows whose labels are most informative about the score of a period.

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
            The rows, and `estimate`, which takes their labels.
        """
        check_seed(random_state)
        if self.watch.is_grouped or self.watch.columns:
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
        tables = rows.take(inside).count_rows(watch.bins)
        if not np.array_equal(sum(tables.values()), counts.table):
            raise ValueError(
                f"p must hold all rows of the period that begins at {counts.start}: "
                "only rows of the last call are kept"
            )
        return plan_labelling(
            n,
            watch,
            rows.take(inside),
            places=np.flatnonzero(inside),
            period=f"{counts.start} to {counts.end}",
            seed=random_state,
        )

    @documented
    def to_frame(self, backend: str = "pandas") -> Frame:
        """Return one row per period; those of all segments below each other."""
        parts = [("", self), *self.segments.items()]
        names = [name for name in NAMES if name != "rho"]
        columns: dict[str, Any] = {}
        if self._segments:
            columns["segment"] = [key for key, one in parts for _ in one.periods]
        periods = [x for _, one in parts for x in one.periods]
        for name in names:
            columns[name] = _frame_column(name, [getattr(x, name) for x in periods])
        for name in Answer._fields:
            columns[name] = [getattr(x.answer, name) for x in periods]
        return as_frame(columns, backend)

    def fields(self) -> list[Field]:
        """Return all fields of the result.

        Returns
        -------
        list of Field
            In the order of the summary.
        """
        reference = self.watch.reference.sum(axis=1)
        rows = f"{reference.sum():,} rows, {reference[1]:,} positive"
        number = f"{len(self.periods)}, {len(self.alarms)} with an alarm"
        periods = self._cache.periods(self.counts, self.watch)
        texts = map(values_of, self.periods)
        return [
            *self._header,
            Field("watch", self.watch, "reference", rows),
            Field("counts", [[*one[:4], *(one.groups or ())] for one in self.counts]),
            # Only where it is saved: readings that are not used take time.
            Field("periods", lambda: [x.values() for x in periods], "periods", number),
            Field("texts", lambda: [{name: x[name] for name in TEXTS} for x in texts]),
            Field("segments", self._segments),
            Field("watches", self._watches),
            Field("notes", self.notes),
        ]

    @classmethod
    def _from_plain(cls, values: dict[str, Any]) -> Monitoring:
        """Return the monitoring that a file holds, with its counts checked."""
        watch = Watch.from_dict(values["watch"])
        shape = (2, 3, watch.bins.size)
        counts = []
        for number, start, end, table, *groups in values["counts"]:
            array = np.array(table, dtype=np.int64)
            damaged = array.shape != shape or bool((array < 0).any())
            group_table = None
            if watch.is_grouped:
                ids, *numbers = groups
                known = (np.array(one, dtype=np.int64) for one in numbers)
                group_table = GroupTable(np.array(ids, dtype=str), *known)
                damaged |= not group_table.adds_up_to(array)
            if damaged:
                raise ValueError(f"the counts of {start} are damaged")
            counts.append(PeriodCounts(int(number), start, end, array, group_table))
        periods = [Period.from_values(one) for one in values["periods"]]
        if len(periods) != len(counts):
            raise ValueError("there are not as many periods as counts")
        numbers = [one.number for one in counts]
        cache = PeriodCache(dict(zip(numbers, periods, strict=True)))
        monitoring = cls(
            watch,
            tuple(counts),
            tuple(values["notes"]),
            cache,
            _watches={k: Watch.from_dict(x) for k, x in values["watches"].items()},
        )
        segments = {key: cls._from_plain(x) for key, x in values["segments"].items()}
        return monitoring._with_segments(segments)

    def _lines(self) -> list[tuple[str, ...]]:
        segments = list(self.segments.items())[:PRINTED]
        last = [(key, *one.periods[-1].cells()) for key, one in segments]
        return [*super()._lines(), *last]

    def _notes(self) -> tuple[str, ...]:
        """Return remarks on the input, and on what verdicts and alarms mean."""
        notes = list(self.notes)
        numbers = [one.number for one in self.counts]
        empty = max(numbers) - min(numbers) + 1 - len(numbers) if numbers else 0
        if empty:
            notes.append(f"{empty:,} periods between these have no rows")
        last = self.periods[-1] if self.periods else None
        if last is not None and last.n_outside > MANY_OUTSIDE * last.n:
            notes.append(
                f"{last.n_outside / last.n:.1%} of the last period's scores lie "
                "outside of those of the reference, where the calibrator extrapolates"
            )
        if still := sum(math.isnan(one.z) for one in self.periods):
            notes.append(
                f"in {counted(still, 'period')} {self.metric.name} does not depend on "
                "the prevalence: there is no alarm on movement; floor= and to_label "
                "watch its level"
            )
        return (*notes, *self._meanings(), self.watch.unseen)


def _frame_column(name: str, values: list[Any]) -> AnyArray | list[Any]:
    """Return a column of a frame: starts and ends are numbers or times."""
    if name in ("start", "end") and values:
        numbers = values[0].isdigit()
        return np.array(values, dtype=np.int64 if numbers else "datetime64[us]")
    return values
