"""What `monitor` gives back: a row for every period, and the counts behind it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from argmetric._input.arguments import shown
from argmetric._input.groups import code_groups
from argmetric._input.labels import read_together
from argmetric._input.types import AnyArray, Booleans, Floats, Integers
from argmetric._input.validation import read_scores
from argmetric._monitor._labelling import LabellingPlan, plan_labelling
from argmetric._monitor._period import FoundPeriods, Period, judged
from argmetric._monitor._periods import read_times
from argmetric._monitor._watch import PeriodCounts, Watch
from argmetric._results.display import Result, as_frame, metric_title
from argmetric._results.saving import Saved, check_version, plain, restored
from argmetric.metrics import Metric

if TYPE_CHECKING:
    from argmetric.report import Report

FORMAT = 1  # of the saved form
NAME = "argmetric monitoring"
SHOWN = 10  # periods that are printed
NO_LABELS = (
    "without labels nobody sees that labels changed their meaning, a fine period "
    "included: to_label(100) draws the rows that tell"
)


class KeptRows(NamedTuple):
    """Rows of the last call, for drawing some to label."""

    scores: Floats
    selected: Booleans
    known: Floats | None
    number: Integers
    segment: AnyArray | None


@dataclass(frozen=True, repr=False, eq=False)
class Monitoring(Saved["Monitoring"], Result):
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
    kind: ClassVar[str] = "monitoring"

    watch: Watch
    counts: tuple[PeriodCounts, ...] = ()
    notes: tuple[str, ...] = ()
    _found: FoundPeriods = field(default_factory=FoundPeriods)
    _segments: Mapping[str, Monitoring] = field(default_factory=dict)
    _n_segments: int = 1
    _kept: KeptRows | None = None
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

    @property
    def alarms(self) -> tuple[Period, ...]:
        """Periods with an alarm."""
        return tuple(one for one in self.periods if one.alarm)

    def _badness(self) -> tuple[bool, int, float]:
        """Of the last period: alarm, verdict, score; the least is the worst."""
        if not self.periods:
            return True, 0, math.inf
        last = self.periods[-1]
        order = {"cannot say without labels": 0, "share moved": 1, "fine": 2}
        sign = 1.0 if self.metric.greater_is_better else -1.0
        score = math.inf if math.isnan(last.expected) else sign * last.expected
        return not last.alarm, order[last.verdict], score

    def add(
        self,
        p: Any,
        labels: Any = None,
        *,
        time: Any = None,
        known: Any = None,
        by: Any = None,
        pos_label: Any = None,
    ) -> Monitoring:
        """Add rows: new periods, or more rows of the last ones.

        The answer is that of one call with all rows.

        Parameters
        ----------
        p, time, known, by, pos_label
            As for `monitor`.
        labels : array-like, optional
            Predicted labels, where no rule predicts them.

        Returns
        -------
        Monitoring
        """
        scores = read_scores(p, "p", logits=self.watch.cells.logits)
        if scores.ndim != 1:
            raise ValueError(f"p must have one dimension, not {scores.ndim}")
        if not scores.size:
            raise ValueError("p is empty: there is no row to add")
        selected = self.watch.select(scores, labels, pos_label)
        if known is not None:
            (known,) = read_together(
                pos_label, shape=scores.shape, missing="known", known=known
            )
        number, bounds, notes = self._numbered(scores.size, time)
        names = None
        if by is not None:
            coded = code_groups(by, scores.size, "p", "by")
            names = np.array([str(one) for one in coded.ids.tolist()], dtype=object)
        elif self._segments:
            raise ValueError("these periods have segments: pass by=")
        whole = self._merged(scores, selected, known, number, bounds)
        segments = dict(self._segments)
        if names is not None:
            for code, name in enumerate(names):
                part = coded.codes == code
                one = segments.get(name) or self._new_segment(name)
                segments[name] = one._merged(
                    scores[part],
                    selected[part],
                    None if known is None else known[part],
                    number[part],
                    bounds,
                )
        count = max(len(segments), 1)
        segments = {key: replace(x, _n_segments=count) for key, x in segments.items()}
        return replace(
            whole,
            _segments=segments,
            notes=tuple(dict.fromkeys((*self.notes, *notes))),
            _kept=KeptRows(
                scores,
                selected,
                known,
                number,
                None if names is None else names[coded.codes],
            ),
        )

    def _new_segment(self, name: str) -> Monitoring:
        return Monitoring(self._watches.get(name, self.watch))

    def _numbered(
        self, n: int, time: Any
    ) -> tuple[Integers, dict[int, tuple[str, str]], tuple[str, ...]]:
        """Number of the period of every row, starts and ends of periods, notes."""
        every = self.watch.every
        times, notes = (None, ()) if time is None else read_times(time, n)
        if every.unit:
            if times is None:
                raise ValueError(f"time is needed: periods are {every.text} long")
            number = every.numbers(times)
            found = np.unique(number).tolist()
            bounds = {i: (every.start(i), every.start(i + 1)) for i in found}
            return number, bounds, notes
        before = sum(int(one.table.sum()) for one in self.counts)
        place = np.arange(before, before + n)
        if times is not None:
            order = np.argsort(times, kind="stable")
            last = self.counts[-1].end if self.counts else ""
            if last and every.rows and str(times[order[0]]) < last:
                raise ValueError(
                    f"time begins at {times[order[0]]}, before the end of the rows "
                    f"that were added already ({last}): periods of {every.rows:,} rows "
                    "are filled in the order of time"
                )
            place[order] = np.arange(before, before + n)
        if every.rows:
            number = place // every.rows
        else:
            number = np.full(n, self.counts[-1].number + 1 if self.counts else 0)
        bounds = {}
        for i in np.unique(number).tolist():
            inside = number == i
            ends = place[inside] if times is None else times[inside]
            first, last = str(ends.min()), str(ends.max() + (times is None))
            old = {one.number: one.start for one in self.counts}
            bounds[i] = (old.get(i, first), last)
        return number, bounds, notes

    def _merged(
        self,
        scores: Floats,
        selected: Booleans,
        known: Floats | None,
        number: Integers,
        bounds: dict[int, tuple[str, str]],
    ) -> Monitoring:
        """With rows counted in, and the periods that they change computed again."""
        found, part = np.unique(number, return_inverse=True)
        how = selected, known, part, found.size
        tables = self.watch.cells.count(scores, *how)
        return self._counted(
            [
                PeriodCounts(i, *bounds[i], table)
                for i, table in zip(found.tolist(), tables, strict=True)
            ]
        )

    def _counted(self, added: list[PeriodCounts]) -> Monitoring:
        """With tables of periods added to those there are."""
        counts = {one.number: one for one in self.counts}
        for one in added:
            before = counts.get(one.number)
            if before is not None:
                one = one._replace(table=one.table + before.table)
            counts[one.number] = one
        found = self._found.without([one.number for one in added])
        in_order = tuple(counts[i] for i in sorted(counts))
        return replace(self, counts=in_order, _found=found)

    def to_label(
        self,
        n: int,
        *,
        period: int = -1,
        segment: str | None = None,
        random_state: Any = 0,
    ) -> LabellingPlan:
        """Draw the rows whose labels tell most about the score of a period.

        Pass the labels of these rows to `estimate` of the plan. The rows must be among
        those of the last call of `monitor` or `add`.

        Parameters
        ----------
        n : int
            How many rows to label.
        period : int, default=-1
            Place of the period in `periods`; the last by default.
        segment : str, optional
            A segment, instead of all rows.
        random_state : int, optional
            Seed of the draw.

        Returns
        -------
        LabellingPlan
        """
        whole = self
        if segment is not None:
            if segment not in self._segments:
                raise ValueError(f"there is no segment {shown(segment)}")
            whole = self._segments[segment]
        try:
            counts = whole.counts[period]
        except IndexError:
            raise ValueError(
                f"there is no period {period}: there are {len(whole.counts)}"
            ) from None
        kept, watch = self._kept, whole.watch
        inside = np.zeros(0, dtype=bool)
        if kept is not None:
            inside = kept.number == counts.number
            if segment is not None and kept.segment is not None:
                inside &= kept.segment == segment
        if kept is None or inside.sum() != counts.table.sum():
            raise ValueError(
                f"the rows of the period {counts.start} are not at hand: only those of "
                "the last call are kept. Call monitor with them alone, and to_label of "
                "what it gives"
            )
        if kept.known is not None:
            inside &= np.isnan(kept.known)
        rows = np.flatnonzero(inside)
        scores = kept.scores[rows]
        cell = np.searchsorted(watch.cells.edges, scores, side="right")
        return plan_labelling(
            n,
            counts.table,
            watch.chances,
            watch.metric,
            watch.coverage,
            (rows, scores, kept.selected[rows], cell),
            f"{counts.start} to {counts.end}",
            random_state,
        )

    def to_frame(self, backend: str = "pandas") -> Any:
        """One row per period; with segments, those of all of them below each other.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            Library of the frame.
        """
        parts = [("", self), *self.segments.items()]
        names = [one.name for one in fields(Period) if one.name != "rho"]
        columns: dict[str, Any] = {}
        if self._segments:
            columns["segment"] = [key for key, one in parts for _ in one.periods]
        for name in names:
            values = [getattr(x, name) for _, one in parts for x in one.periods]
            columns[name] = self._typed(name, values)
        return as_frame(columns, backend)

    def _typed(self, name: str, values: list[Any]) -> Any:
        if name in ("start", "end") and values:
            numbers = values[0].isdigit()
            return np.array(values, dtype=np.int64 if numbers else "datetime64[us]")
        return values

    def to_dict(self) -> dict[str, Any]:
        """The reference and all counts, for JSON; `from_dict` gives it back."""
        return {
            "file": NAME,
            "format": FORMAT,
            "watch": self.watch.to_dict(),
            "counts": [
                [one.number, one.start, one.end, one.table.tolist()]
                for one in self.counts
            ],
            "periods": [
                plain(vars(one)) for one in self._found.of(self.counts, self.watch)
            ],
            "segments": {key: one.to_dict() for key, one in self._segments.items()},
            "watches": {key: one.to_dict() for key, one in self._watches.items()},
            "notes": list(self.notes),
        }

    @classmethod
    def _kind_of(cls, values: Any) -> str:
        if not isinstance(values, dict) or dict.get(values, "file") != NAME:
            raise ValueError(
                f"this is no saved monitoring: its key 'file' is not {NAME!r}"
            )
        check_version(values.get("format"), FORMAT, "this monitoring")
        return cls.kind

    @classmethod
    def _from_plain(cls, values: dict[str, Any]) -> Monitoring:
        watch = Watch.from_dict(values["watch"])
        shape = (2, 3, watch.cells.size)
        counts = []
        for number, start, end, table in values["counts"]:
            array = np.array(table, dtype=np.int64)
            if array.shape != shape or (array < 0).any():
                raise ValueError(f"the counts of {start} are damaged")
            counts.append(PeriodCounts(int(number), start, end, array))
        periods = [
            Period(**{key: restored(x) for key, x in one.items()})
            for one in values["periods"]
        ]
        if len(periods) != len(counts):
            raise ValueError("there are not as many periods as counts")
        numbers = [one.number for one in counts]
        found = FoundPeriods(dict(zip(numbers, periods, strict=True)))
        segments = {key: cls._from_plain(x) for key, x in values["segments"].items()}
        count = max(len(segments), 1)
        return cls(
            watch,
            tuple(counts),
            tuple(values["notes"]),
            found,
            {key: replace(x, _n_segments=count) for key, x in segments.items()},
            _watches={k: Watch.from_dict(x) for k, x in values["watches"].items()},
        )

    def _title(self) -> str:
        return f"Monitoring of {metric_title(self.metric.name)}"

    def _lines(self) -> list[tuple[str, ...]]:
        reference = self.watch.reference.sum(axis=1)
        lines: list[tuple[str, ...]] = [
            ("reference", f"{reference.sum():,} rows, {reference[1]:,} positive"),
            ("periods", f"{len(self.periods)}, {len(self.alarms)} with an alarm"),
        ]
        lines += [(one.start, *_cells_of(one)) for one in self.periods[-SHOWN:]]
        for key, one in list(self.segments.items())[:SHOWN]:
            lines.append((key, *_cells_of(one.periods[-1])))
        return lines

    def _notes(self) -> tuple[str, ...]:
        return (*self.notes, NO_LABELS)

    def plot(self, ax: Any = None) -> Any:
        """Draw score and interval over time, in the colours of the verdicts.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        from argmetric._monitor._plot import draw_periods

        return draw_periods(self, ax)

    def report(self) -> Report:
        """A page on all periods: scores, shares, histograms and segments.

        Returns
        -------
        argmetric.report.Report
            To be saved, or shown in a notebook.
        """
        from argmetric.report import report_monitoring

        made: Report = report_monitoring(self)
        return made


def _cells_of(one: Period) -> tuple[str, ...]:
    interval = f"{one.expected:.3f} ({one.low:.3f} to {one.high:.3f})"
    actual = "" if math.isnan(one.actual) else f"actual {one.actual:.3f}"
    alarm = f"ALARM: {one.alarm}" if one.alarm else ""
    share = f"share {one.share:.3f}"
    cells = (f"{one.n:>7,} rows", interval, share, one.verdict, actual, alarm)
    return tuple(cell for cell in cells if cell)
