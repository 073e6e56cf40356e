"""The words for a period: what every surface says of its score, and no other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from argmetric._ground.display import (
    ALARM,
    Headline,
    between,
    counted,
    metric_title,
    number,
)
from argmetric._ground.pictures import BLUE, GREY, RED, SmallPicture, drawing
from argmetric._monitor._readings import CANNOT_SAY, KNOWN, VERDICTS

if TYPE_CHECKING:
    from argmetric._monitor._labelling import LabelledEstimate, LabellingPlan
    from argmetric._monitor._period import Period
    from argmetric._monitor._result import Monitoring


WORSE, BETTER, _ = ALARM
NOT_PROMISED = "not promised"
SHOWN = 10  # last periods that notes are on
PRINTED = 4  # last periods that are printed
MANY_OUTSIDE = 0.01  # share of a period's scores beyond the reference that is told
SUSPECT = (
    "an alarm says that the forecast moved for the better: without a cause that is "
    "suspect, so ask what changed the scores, and label some rows"
)
CANNOT_SAY_MEANS = (
    "where the verdict is 'cannot say without labels' the score is given for the case "
    "that other rows came, and that the share of positives moved; no interval holds"
)


class Answer(NamedTuple):
    """What is said of the score of a period: the score, and its interval."""

    score_text: str
    interval_text: str

    @property
    def line(self) -> str:
        return f"{self.score_text} ({self.interval_text})"


def answer_of(one: Any) -> Answer:
    """The words for the score of a period.

    The actual score where all labels are known; both readings, and no interval, where
    nobody can say without labels; otherwise the forecast and its interval.
    """
    if one.labelled:
        return Answer(number(one.actual), KNOWN)
    if one.verdict == CANNOT_SAY:
        both = number(one.if_other_rows), number(one.if_share)
        return Answer(" or ".join(both), NOT_PROMISED)
    return Answer(number(one.mean), between(one.interval))


def headline_of(found: Any) -> Headline | None:
    """The score of the last period, its verdict, and how many alarms there were."""
    if not found.periods:
        return None
    last, watch = found.periods[-1], found.watch
    score, interval = last.answer
    if last.verdict != CANNOT_SAY and not last.labelled:
        interval = f"{watch.coverage:.0%} interval {interval}"
    name = metric_title(watch.metric.name)
    periods = counted(len(found.periods), "period")
    alarms = counted(len(found.alarms), "alarm")
    more = f"{interval}: {last.verdict}; {alarms} in {periods}"
    return Headline(f"{name} in the last period", score, more)


def period_headline(one: Any) -> Headline:
    """The score of a period as every surface says it, and its verdict."""
    score, interval = one.answer
    return Headline(
        f"score {one.start} to {one.end}", score, f"{interval}: {one.verdict}"
    )


def small_periods(found: Any) -> str:
    """Forecasts and intervals of the periods; both readings where nobody can say."""
    all_ = list(enumerate(found.periods))
    unknown = [(i, one) for i, one in all_ if one.verdict == CANNOT_SAY]
    known = [(i, one) for i, one in all_ if one.verdict != CANNOT_SAY]
    readings = [(i, x) for i, one in unknown for x in (one.if_other_rows, one.if_share)]
    ends = [end for _, one in known for end in one.interval]
    values = [*ends, *(x for _, x in readings)]
    name = f"{metric_title(found.metric.name)} by period, alarms in red"
    drawn = SmallPicture(name, [-0.5, len(all_) - 0.5], values)
    for i, one in known:
        colour = RED if one.alarm else BLUE
        drawn.whiskers([i], [one.interval], colour).points(i, one.mean, colour)
    for i, x in readings:
        drawn.points(i, x, RED if found.periods[i].alarm else GREY, 2.0)
    first, last = found.periods[0], found.periods[-1]
    return drawn.scaled().named(first.start[:10], last.start[:10])


ASSUMED = (
    "labels mean what they meant in the reference",
    "scores moved because other rows came, or because the share of positives moved",
)


def cells_of(one: Period) -> tuple[str, ...]:
    """A period in the cells of a printed line."""
    actual = f"actual {number(one.actual)}" if one.n_known and not one.labelled else ""
    alarm = f"ALARM: {one.alarm}" if one.alarm else ""
    share = f"share {one.share:.3f}"
    cells = (f"{one.n:>7,} rows", one.answer.line, share, one.verdict, actual, alarm)
    return tuple(cell for cell in cells if cell)


def lines_of_period(one: Period) -> list[tuple[str, str]]:
    """A period in nine named lines."""
    share = f"{one.share:.3f} ({between(one.share_interval)})"
    actual = "no labels"
    if one.n_known:
        actual = f"{number(one.actual)} ({between(one.actual_interval)})"
    readings = (
        f"nothing {one.p_nothing:.2f}, other rows {one.p_other_rows:.2f}, "
        f"share moved {one.p_share:.2f}"
    )
    moved, floor = "no alarm: the score does not depend on the share", "none"
    if not math.isnan(one.z):
        moved = f"z {one.z:.2f}, an alarm beyond ±{one.critical:.2f}"
    if not math.isnan(one.z_floor):
        floor = f"z {one.z_floor:.2f}, an alarm above {one.critical_floor:.2f}"
    return [
        (
            "rows",
            f"{one.n:,}, {one.n_positives:,} predicted positive, "
            f"{one.n_known:,} with a label",
        ),
        ("verdict", one.verdict),
        ("alarm", one.alarm or "none"),
        ("score", one.answer.line),
        ("actual", actual),
        ("share", share),
        ("readings", readings),
        ("movement", moved),
        ("floor", floor),
    ]


def notes_of(found: Monitoring) -> tuple[str, ...]:
    """Remarks on the input, and on what verdicts and alarms mean."""
    notes = list(found.notes)
    numbers = [one.number for one in found.counts]
    empty = max(numbers) - min(numbers) + 1 - len(numbers) if numbers else 0
    if empty:
        notes.append(f"{empty:,} periods between these have no rows")
    last = found.periods[-1] if found.periods else None
    if last is not None and last.n_outside > MANY_OUTSIDE * last.n:
        notes.append(
            f"{last.n_outside / last.n:.1%} of the last period's scores lie outside of "
            "those of the reference, where the map is a guess"
        )
    if any(math.isnan(one.z) for one in found.periods):
        notes.append(
            f"{found.metric.name} does not depend on the share of positives: there is "
            "no alarm on movement; floor= and to_label watch its level"
        )
    shown = found.periods[-SHOWN:]
    if any(BETTER in one.alarm for one in shown):
        notes.append(SUSPECT)
    if any(one.verdict == CANNOT_SAY for one in shown):
        notes.append(CANNOT_SAY_MEANS)
    return tuple(notes)


COLOURS = dict(zip(VERDICTS, ("C0", "C2", "C1", "0.6", "C3"), strict=True))


def draw_periods(monitoring: Any, ax: Any = None) -> Any:
    """Intervals in the colour of the verdict, actual scores and alarms.

    Where nobody can say without labels both readings are drawn, and no interval.
    """
    periods: Sequence[Any] = monitoring.periods
    watch = monitoring.watch
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
                for name, label in (("if_other_rows", verdict), ("if_share", None)):
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


def draw_period(one: Any, ax: Any = None) -> Any:
    """The forecast of a period, under each reading, and its actual score."""
    rows = {
        "forecast": (one.mean, one.interval),
        "if the share moved": (one.if_share, one.if_share_interval),
        "if other rows came": (one.if_other_rows, one.if_other_rows_interval),
        "actual": (one.actual, one.actual_interval),
    }
    title = f"{one.start} to {one.end}: {one.verdict}"
    with drawing(ax, size=(6.4, 2.6), xlabel="Score", title=title) as ax:
        for place, (name, (mean, (low, high))) in enumerate(rows.items()):
            if math.isfinite(mean):
                bars = np.maximum(np.nan_to_num([[mean - low], [high - mean]]), 0.0)
                ax.errorbar([mean], [place], xerr=bars, fmt="o", capsize=4, label=name)
        ax.set_yticks(range(len(rows)), rows)
        ax.invert_yaxis()
    return ax


def draw_rows_to_label(plan: LabellingPlan, ax: Any = None) -> Any:
    """Histogram of the scores of the rows to label, by predicted label."""
    labels = {"xlabel": "Score", "ylabel": "Rows to label"}
    parts = [plan.scores[~plan.labels], plan.scores[plan.labels]]
    with drawing(ax, size=(6.4, 3.8), title=plan.period, **labels) as ax:
        names = ["predicted negative", "predicted positive"]
        ax.hist(parts, bins=20, stacked=True, label=names)
    return ax


def draw_estimate(found: LabelledEstimate, ax: Any = None) -> Any:
    """A point and its interval on the axis of the score."""
    low, high = found.interval
    title = f"from {found.n_labels:,} labels, {found.coverage:.0%} interval"
    labels = {"xlabel": metric_title(found.metric.name), "ylabel": ""}
    with drawing(ax, size=(6.4, 2.0), title=title, **labels) as ax:
        bars = np.maximum([[found.mean - low], [high - found.mean]], 0.0)
        ax.errorbar([found.mean], [0.0], xerr=bars, fmt="o", capsize=4)
        ax.set_yticks([])
    return ax
