"""Words for a period, the same in Python, notebooks, reports and commands."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from argmetric._ground.display import (
    ALARM,
    Field,
    Headline,
    PeriodVerdict,
    Result,
    between,
    counted,
    documented,
    metric_title,
    number,
)
from argmetric._ground.pictures import BLUE, GREY, RED, SmallPicture, drawing
from argmetric._ground.saving import (
    Kept,
    Saved,
    check_version,
    is_file_of,
    restore_values,
    with_intervals,
)
from argmetric._ground.types import Axes, Interval
from argmetric._monitor._bins import CANNOT_SAY, KNOWN, VERDICTS, Readings

WORSE, BETTER, BELOW = ALARM
OWN_MOVE = 2.0  # root of a period that moved itself, and not the ones before it
NOT_PROMISED = "no interval"
SHOWN = 10  # last periods that notes are on
PRINTED = 4  # last periods that are printed
MANY_OUTSIDE = 0.01  # share of a period's scores beyond the reference that is noted
SUSPECT = (
    "an alarm says that the forecast moved for the better: without a cause that is "
    "suspect, so ask what changed the scores, and label some rows"
)
CANNOT_SAY_MEANS = (
    "where the verdict is 'cannot say without labels' the two scores are those after a "
    "covariate shift and after a prevalence shift; label some rows to know which"
)
ALARM_WINDOWS = (
    "alarms are about several periods together, on movement the last 1, 2, 4 or 8, "
    "below the floor the last 4: a bad period may raise them in those after it"
)


class Answer(NamedTuple):
    """Score of a period and its interval, as text."""

    score_text: str
    interval_text: str

    @property
    def line(self) -> str:
        return f"{self.score_text} ({self.interval_text})"


ASSUMED = (
    "labels mean what they meant in the reference",
    "scores moved by covariate shift, or by prevalence shift",
)
# What formats of files before 2 called values and verdicts of a period
FORMER_NAMES = {
    "share": "prevalence",
    "share_interval": "prevalence_interval",
    "shares": "prevalences",  # of classes
    "share_intervals": "prevalence_intervals",
    "p_other_rows": "p_covariate_shift",
    "p_share": "p_prevalence_shift",
    "if_share": "if_prevalence_shift",
    "if_share_interval": "if_prevalence_shift_interval",
    "if_other_rows": "if_covariate_shift",
    "if_other_rows_interval": "if_covariate_shift_interval",
    "from_map": "from_calibrator",
    "from_share": "from_prevalence",
    "from_chance": "from_labels",
}
FORMER_VERDICTS = {"fine": "no shift", "share moved": "prevalence shift"}
COLOURS = dict(zip(VERDICTS, ("C0", "C9", "C2", "C1", "0.6", "C3"), strict=True))


def restore_period(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a saved period by their names of now."""
    verdict = values["verdict"]
    values = values | {"verdict": FORMER_VERDICTS.get(verdict, verdict)}
    named = {FORMER_NAMES.get(key, key): restore_values(x) for key, x in values.items()}
    return with_intervals(named)


class OnePeriod(Result):
    """Base class of the results of one period, of two classes or several: texts."""

    start: str
    end: str
    n: int
    n_known: int
    mean: float
    interval: Interval
    p_nothing: float
    p_covariate_shift: float
    p_prevalence_shift: float
    # Fields of a period of several classes, and computed when used of two classes
    if_prevalence_shift: Any
    if_prevalence_shift_interval: Any
    if_covariate_shift: Any
    if_covariate_shift_interval: Any
    actual: float
    actual_interval: Interval
    verdict: str
    z: float
    z_reference: float
    critical: float
    alarm: str
    floor_text = ""
    _told = ("score", "verdict")

    @property
    def labelled(self) -> bool:
        """Whether the true labels of all rows are known."""
        return bool(self.n_known == self.n)

    @property
    def answer(self) -> Answer:
        """Return the score and its interval as text, the same wherever they are shown.

        The actual score where all labels are known; both readings, and no interval,
        where nobody can say without labels; otherwise the forecast and its interval.
        """
        if self.labelled:
            return Answer(number(self.actual), KNOWN)
        if self.verdict == CANNOT_SAY:
            both = number(self.if_covariate_shift), number(self.if_prevalence_shift)
            return Answer(" or ".join(both), NOT_PROMISED)
        return Answer(number(self.mean), between(self.interval))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return the assumptions of the forecast and of the verdict."""
        return ASSUMED

    @property
    def _own_move(self) -> float:
        """Root of the period against the reference, > 0 in the direction of `z`."""
        return math.copysign(self.z_reference, self.z * self.z_reference)

    @property
    def _alarm_of_others(self) -> bool:
        """Whether there is an alarm that this period would not raise by itself."""
        moved = abs(self.z) > self.critical and self._own_move <= OWN_MOVE
        return moved or (BELOW in self.alarm and "may be" in self.floor_text)

    @property
    def _readings(self) -> Readings:
        shifts = self.p_covariate_shift, self.p_prevalence_shift
        return Readings(self.p_nothing, *shifts)

    def _judge_movement(
        self, critical: float, n_segments: int = 1
    ) -> tuple[list[str], PeriodVerdict]:
        """Return the alarm on movement, if there is one, and the verdict."""
        moved = abs(self.z) > critical
        alarmed = moved and self._own_move > OWN_MOVE
        verdict = self._readings.verdict(n_segments, alarmed=alarmed)
        # A period that moved by itself says which way; else its windows do.
        side = self.z_reference if abs(self.z_reference) > critical else self.z
        alarms: list[str] = [WORSE if side > 0.0 else BETTER] * moved
        return alarms, KNOWN if self.labelled else verdict

    def _headline(self) -> Headline:
        (score, interval), name = self.answer, f"score {self.start} to {self.end}"
        return Headline(name, score, f"{interval}: {self.verdict}")

    def _in_lines(
        self, labels: str, prevalence: tuple[str, str], still: str
    ) -> list[tuple[str, str]]:
        """Return (name, text) lines; `still` says why no alarm is possible."""
        actual, moved = "no labels", f"no alarm: {still}"
        if self.n_known:
            actual = f"{number(self.actual)} ({between(self.actual_interval)})"
        if not math.isnan(self.z):
            moved = f"z {self.z:.2f}, an alarm beyond ±{self.critical:.2f}"
        readings = (
            f"nothing {self.p_nothing:.2f}, "
            f"covariate shift {self.p_covariate_shift:.2f}, "
            f"prevalence shift {self.p_prevalence_shift:.2f}"
        )
        return [
            ("rows", f"{self.n:,}, {labels}{self.n_known:,} with a label"),
            ("verdict", self.verdict),
            ("alarm", self.alarm or "none"),
            ("score", self.answer.line),
            ("actual", actual),
            prevalence,
            ("readings", readings),
            ("movement", moved),
        ]

    def _prevalence_text(self) -> str:
        raise NotImplementedError

    def cells(self) -> tuple[str, ...]:
        """Return the period in the cells of a printed line.

        Returns
        -------
        tuple of str
            Rows, score, prevalence, verdict, floor, actual score and alarm.
        """
        alarm, actual = f"ALARM: {self.alarm}" if self.alarm else "", ""
        if self.n_known and not self.labelled:
            actual = f"actual {number(self.actual)}"
        score = f"{self.n:>7,} rows", self.answer.line, self._prevalence_text()
        texts = *score, self.verdict, self.floor_text, actual, alarm
        return tuple(text for text in texts if text)

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the forecast, that under each reading, and the actual score."""
        rows = {
            "forecast": (self.mean, self.interval),
            "prevalence shift": (
                self.if_prevalence_shift,
                self.if_prevalence_shift_interval,
            ),
            "covariate shift": (
                self.if_covariate_shift,
                self.if_covariate_shift_interval,
            ),
            "actual": (self.actual, self.actual_interval),
        }
        title = f"{self.start} to {self.end}: {self.verdict}"
        with drawing(ax, size=(6.4, 2.6), xlabel="Score", title=title) as ax:
            for place, (name, (mean, (low, high))) in enumerate(rows.items()):
                if math.isfinite(mean):
                    bars = np.maximum(np.nan_to_num([[mean - low], [high - mean]]), 0.0)
                    ax.errorbar(
                        [mean], [place], xerr=bars, fmt="o", capsize=4, label=name
                    )
            ax.set_yticks(range(len(rows)), rows)
            ax.invert_yaxis()
        return ax


def beside_floor(
    period: OnePeriod, verdict: str, floor: float | None, *, is_gain: bool
) -> str:
    """Return whether the score of a period met the floor, missed it, or may miss it."""
    if floor is None:
        return ""
    name = f"floor {floor:g}"
    ends = [period.actual] if period.labelled else [*period.interval]
    enough = [one >= floor if is_gain else one <= floor for one in ends]
    unknown = verdict == CANNOT_SAY or any(map(math.isnan, ends))
    if unknown or len(set(enough)) > 1:
        return f"{name} may be missed"
    return f"{name} met" if enough[0] else f"{name} missed"


PeriodKind = TypeVar("PeriodKind")


class SavedPeriods(Saved[Kept], Generic[Kept, PeriodKind]):
    """Base class of what is monitored: periods, their alarms, and the saved form."""

    periods: Any
    _file: ClassVar[str]  # the key "file" of the saved form
    _format: ClassVar[int] = 1

    @property
    def alarms(self) -> tuple[PeriodKind, ...]:
        """Periods with an alarm."""
        return tuple(one for one in self.periods if one.alarm)

    @property
    def _alarm_count(self) -> str:
        """Return the number of alarms and of periods in words, and the last alarm."""
        alarms: Any = self.alarms
        count = counted(len(alarms), "alarm"), counted(len(self.periods), "period")
        last = [f", the last {one.start}" for one in alarms[-1:]]
        return "".join([" in ".join(count), *last])

    @property
    def _header(self) -> list[Field]:
        """Return the first fields: what the file holds."""
        return [Field("file", self._file), Field("format", self._format)]

    def _lines(self) -> list[tuple[str, ...]]:
        return [*super()._lines(), *self._last_periods()]

    def _last_periods(self) -> Iterable[tuple[str, ...]]:
        """Return lines of the last periods: the start of each, and its cells."""
        return [(one.start, *one.cells()) for one in self.periods[-PRINTED:]]

    @classmethod
    def _kind_of(cls, values: object) -> str:
        """Return the kind of a saved monitoring; refuse others and newer formats."""
        if not is_file_of(values, cls._file):
            raise ValueError(
                f"this is no saved {cls._what}: its key 'file' is not {cls._file!r}"
            )
        check_version(values.get("format"), cls._format, "this monitoring")
        return cls.kind


class MonitoredPromises(SavedPeriods[Kept, PeriodKind]):
    """Base class of the monitorings of what a rule promises."""

    rule: Any

    def _title(self) -> str:
        return f"Monitoring of {self.rule._title()}"


class AllPeriods(SavedPeriods[Kept, OnePeriod]):
    """Base class of the results of all periods, of two classes or several: texts."""

    watch: Any
    _format: ClassVar[int] = 2
    _told = ("periods",)

    def _title(self) -> str:
        return f"Monitoring of {metric_title(self.watch.metric.name)}"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return the assumptions of the forecasts and of the verdicts."""
        return ASSUMED

    def _headline(self) -> Headline | None:
        """Return score and verdict of the last period, and the number of alarms."""
        if not self.periods:
            return None
        last, watch = self.periods[-1], self.watch
        score, interval = last.answer
        if last.verdict != CANNOT_SAY and not last.labelled:
            interval = f"{watch.coverage:.0%} interval {interval}"
        name = metric_title(watch.metric.name)
        beside = f"{last.verdict}; {last.floor_text}".removesuffix("; ")
        more = f"{interval}: {beside}; {self._alarm_count}"
        return Headline(f"{name} in the last period", score, more)

    def _meanings(self) -> list[str]:
        """Return notes on the meaning of the last alarms and verdicts."""
        notes, shown = [], self.periods[-SHOWN:]
        if any(BETTER in one.alarm for one in shown):
            notes.append(SUSPECT)
        if any(one.verdict == CANNOT_SAY for one in shown):
            notes.append(CANNOT_SAY_MEANS)
        if any(one._alarm_of_others for one in shown):
            notes.append(ALARM_WINDOWS)
        return notes

    def _picture(self) -> str:
        """Draw forecasts and intervals; both readings where nobody can say."""
        all_ = list(enumerate(self.periods))
        unknown = [(i, one) for i, one in all_ if one.verdict == CANNOT_SAY]
        known = [(i, one) for i, one in all_ if one.verdict != CANNOT_SAY]
        readings = [
            (i, x)
            for i, one in unknown
            for x in (one.if_covariate_shift, one.if_prevalence_shift)
        ]
        ends = [end for _, one in known for end in one.interval]
        values = [*ends, *(x for _, x in readings)]
        name = f"{metric_title(self.watch.metric.name)} by period, alarms in red"
        picture = SmallPicture(name, [-0.5, len(all_) - 0.5], values)
        for i, one in known:
            colour = RED if one.alarm else BLUE
            picture.whiskers([i], [one.interval], colour).points(i, one.mean, colour)
        for i, x in readings:
            picture.points(i, x, RED if self.periods[i].alarm else GREY, 2.0)
        first, last = self.periods[0], self.periods[-1]
        return picture.y_labels().text(first.start[:10], last.start[:10])

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw score and interval over time, in the colours of the verdicts.

        Where nobody can say without labels both readings are drawn, and no interval.
        """
        periods = self.periods
        watch = self.watch
        x: Any = np.arange(len(periods))
        if watch.every.unit:
            x = np.array([one.start for one in periods], dtype="datetime64[s]")
        labels = {
            "ylabel": metric_title(watch.metric.name),
            "xlabel": "" if watch.every.unit else "Period",
        }
        with drawing(ax, size=(8.0, 3.8), **labels) as ax:
            for verdict, colour in COLOURS.items():
                here = [i for i, one in enumerate(periods) if one.verdict == verdict]
                if not here:
                    continue
                part = [periods[i] for i in here]
                if verdict == CANNOT_SAY:  # both readings, and no interval
                    for name, label in (
                        ("if_covariate_shift", verdict),
                        ("if_prevalence_shift", None),
                    ):
                        values = [getattr(one, name) for one in part]
                        ax.plot(x[here], values, "o", color=colour, label=label)
                    continue
                mean = np.array([one.mean for one in part])
                low, high = np.array([one.interval for one in part]).T
                bars = np.maximum([mean - low, high - mean], 0.0)
                ax.errorbar(x[here], mean, bars, fmt="o", color=colour, label=verdict)
            actual = np.array([one.actual for one in periods])
            there = np.isfinite(actual)
            if there.any():
                ax.plot(x[there], actual[there], "kx", label="actual")
            alarms = [i for i, one in enumerate(periods) if one.alarm]
            if alarms:
                low_end = [periods[i].interval.low for i in alarms]
                ax.plot(x[alarms], low_end, "rv", markersize=9, label="alarm")
            if watch.floor is not None:
                ax.axhline(watch.floor, color="black", linestyle=":", label="floor")
        return ax
