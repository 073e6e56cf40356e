"""What a report says of periods without labels: score, share and scores over time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from argmetric._monitor import BETTER, Monitoring, notes_of, values_of
from argmetric._report import _figures as figures
from argmetric._report._numbers import count, nice_ticks, number, percent, scores, share
from argmetric._report._report import Report
from argmetric._report._sections import ReportTable, Section
from argmetric._report._summarize import convention
from argmetric._report._summary import Row, Summary, Watched
from argmetric._results.display import metric_title

if TYPE_CHECKING:
    from argmetric._input.types import Floats, Integers

BINS = 20
MOST_ROWS = 60  # of the table of periods
MOST_SEGMENTS = 50
KINDS = {
    "fine": "fine",
    "share moved": "moved",
    "cannot say without labels": "unknown",
}
# Every "fine" says what cannot be seen, or that it was seen
FINE, BY_LABELS = "fine, as far as scores tell", "fine, by its labels"


def report_monitoring(found: Monitoring) -> Report:
    """A report of periods that are monitored."""
    watch, periods = found.watch, found.periods
    if not periods:
        raise ValueError("there are no periods to report")
    reference = watch.reference.sum(axis=1)
    bins, edges = _bins(watch.cells.edges, watch.reference)
    watched = Watched(
        periods=tuple(values_of(one) for one in periods),
        coverage=watch.coverage,
        floor=watch.floor,
        reference_share=float(reference[1] / reference.sum()),
        edges=tuple(edges.tolist()),
        reference=_shares(watch.old, bins),
        shares=tuple(_shares(x.table.sum(axis=(0, 1)), bins) for x in found.counts),
        segments=tuple(
            (name, values_of(one.periods[-1])) for name, one in found.segments.items()
        ),
    )
    unseen = watch.unseen
    return Report(
        Summary(
            kind="monitor",
            metric=watch.metric.name,
            convention=convention(watch.metric),
            n=sum(one.n for one in periods),
            greater_is_better=watch.metric.greater_is_better,
            facts=tuple(_facts(watch.metric.name, watched, int(reference.sum()))),
            notes=(*notes_of(found), f"{unseen[0].upper()}{unseen[1:]}."),
            watched=watched,
        )
    )


def _bins(edges: Floats, table: Integers) -> tuple[Integers, Floats]:
    """Bin of each cell, and the scores between bins.

    Bins are equal in rows and positives of the reference, so that both ends of the
    scores are seen.
    """
    rows, positives = table.sum(axis=0), table[1]
    weight = rows / rows.sum() + positives / max(positives.sum(), 1)
    middle = np.cumsum(weight) - weight / 2
    bins = np.minimum((middle * BINS / 2).astype(np.int64), BINS - 1)
    bins = np.unique(bins, return_inverse=True)[1]
    first = np.searchsorted(bins, np.arange(1, bins.max() + 1))
    return bins, edges[first - 1]


def _shares(rows: Any, bins: Integers) -> tuple[float, ...]:
    counts = np.bincount(bins, rows)
    return tuple((counts / counts.sum()).tolist())


def _kind(one: dict[str, Any]) -> str:
    """How a period is drawn: by its verdict, or as one whose labels are all known."""
    return "known" if one["n_known"] == one["n"] else KINDS[one["verdict"]]


def _verdict(one: dict[str, Any]) -> str:
    if one["verdict"] != "fine":
        return str(one["verdict"])
    return BY_LABELS if _kind(one) == "known" else FINE


def _facts(metric: str, watched: Watched, rows: int) -> Iterator[Row]:
    last, title = watched.periods[-1], metric_title(metric)
    alarms = [one for one in watched.periods if one["alarm"]]
    raised = sum(bool(one["alarm"]) for _, one in watched.segments)
    told = f"the last: {_dates(alarms[-1])}, {alarms[-1]['alarm']}" if alarms else ""
    if raised:
        told += "; " * bool(told) + f"now in {count(raised, 'segment')}"
    yield "Last period", last["verdict"], _meaning(last)
    below = {
        "known": last["interval"],
        "unknown": f"{last['interval']}: {_readings(last)}",
    }.get(_kind(last), f"{percent(watched.coverage)} interval {last['interval']}")
    name = title if _kind(last) == "known" else f"Expected {title}"
    yield name, last["score"], below
    yield "Alarms", str(len(alarms)), told or "none in these periods"
    before = f"{share(watched.reference_share, 1.0)} in the reference of {rows:,} rows"
    yield "Share of positives", share(last["share"], 1.0), before


def _readings(one: dict[str, Any]) -> str:
    moved = scores(one["if_share_low"], one["if_share_high"])
    others = scores(one["if_other_rows_low"], one["if_other_rows_high"])
    return f"{moved} if the share moved, {others} if other rows came"


def _meaning(one: dict[str, Any]) -> str:
    if BETTER in one["alarm"] and _kind(one) != "known":
        return "the forecast improves: without a cause that is suspect, label some rows"
    if _kind(one) == "known":
        return "the labels of all rows are known, and decide"
    return {
        "fine": "as far as scores tell: without labels nobody sees that labels changed "
        "their meaning",
        "share moved": "each class still looks the same; the forecast is adjusted",
        "cannot say without labels": "the scores moved in another way: label some rows",
    }[one["verdict"]]


def _dates(one: dict[str, Any]) -> str:
    return f"{one['start']} to {one['end']}"


def sections_of_watched(metric: str, watched: Watched) -> Iterator[Section]:
    """The parts of the report: score, share, scores, segments."""
    title = metric_title(metric)
    shown = watched.periods[-MOST_ROWS:]
    header: Row = ("period", "verdict", title, "interval", "share", "rows", "alarm")
    labelled = any(one["n_known"] for one in shown)
    header += ("actual",) * labelled
    yield Section(
        "by-period",
        f"{title} by period",
        (),
        (
            ReportTable(
                f"Forecast of {title}, {percent(watched.coverage)} interval",
                header,
                tuple(
                    _row(one["start"], one, with_actual=labelled)
                    for one in reversed(shown)
                ),
            ),
        ),
        (
            "Look at periods with an alarm first. Where the verdict is grey, both "
            "readings are drawn, and to_label(100) names the rows to label.",
        ),
    )
    yield Section(
        "share",
        "Share of positives",
        (),
        captions=(
            "The estimate is right where the share moved and each class looks as "
            "before. Ask what changed if it leaves the line of the reference.",
        ),
    )
    yield Section(
        "scores",
        "Scores against the reference",
        (),
        captions=(
            "Bars that rise or fall together along the score are a share that moved. "
            "A bump in the middle means that other rows came.",
        ),
    )
    if watched.segments:
        header = ("segment", *header[1:])
        rows = watched.segments[:MOST_SEGMENTS]
        labelled = any(one["n_known"] for _, one in rows)
        cells = tuple(_row(name, one, with_actual=labelled) for name, one in rows)
        header = header[:7] + ("actual",) * labelled
        more = len(watched.segments) - len(rows)
        yield Section(
            "segments",
            "Segments, the worst first",
            ("Verdicts and alarms are corrected for the number of segments.",),
            (ReportTable("Last period of each segment", header, cells),),
            after=(f"{more:,} better segments are not shown.",) * bool(more),
        )


def _row(name: str, one: dict[str, Any], *, with_actual: bool) -> Row:
    cells: Row = (_verdict(one), one["score"], one["interval"])
    cells += (share(one["share"], 1.0), f"{one['n']:,}", one["alarm"])
    actual = number(one["actual"]) if one["n_known"] else ""
    return (name, *cells, *(actual,) * with_actual)


def watched_figures(metric: str, watched: Watched) -> dict[str, Any]:
    """Pictures of periods: score, share, and the histogram with its data."""
    title = metric_title(metric)
    of_score = ("expected", "low", "high")
    of_share = ("share", "share_low", "share_high")
    return {
        "by-period": _over_time(title, watched, of_score, watched.floor, "floor"),
        "share": _over_time(
            "share of positives",
            watched,
            of_share,
            watched.reference_share,
            "reference",
        ),
        "scores": _histogram(watched),
    }


def _over_time(
    name: str,
    watched: Watched,
    columns: tuple[str, str, str],
    level: float | None,
    level_name: str,
) -> dict[str, Any]:
    periods, of_score = watched.periods, columns[0] == "expected"
    drawn = [x for i, one in enumerate(periods) for x in _drawn(i, one, columns)]
    values = [x for _, *ends, _ in drawn for x in ends]
    values += [one["actual"] for one in periods if of_score]
    values = [x for x in (*values, level) if x is not None and math.isfinite(x)]
    low, high = min(values, default=0.0), max(values, default=1.0)
    y_ticks = nice_ticks(low, high if high > low else low + 0.1, 5)
    last = len(periods) - 1
    plane = figures.Plane(last + 0.5, y_ticks[0], y_ticks[-1], -0.5)
    step = max(1, -(-len(periods) // 4))
    x_ticks = [(i, _tick(periods[i]["start"])) for i in range(0, last + 1, step)]
    kinds = {_kind(one) for one in periods}
    unknown = "cannot say: both readings" if of_score else "cannot say"
    words = {"fine": FINE, "moved": "share moved", "unknown": unknown}
    words["known"] = "all labels known"
    return {
        **figures.axes(plane, x_ticks, [(y, f"{y:g}") for y in y_ticks]),
        "name": name,
        "points": [
            {
                "x": plane.x(x),
                "y": plane.y(mean),
                "low": plane.y(low_end),
                "high": plane.y(high_end),
                "kind": _kind(one),
                "title": f"{_dates(one)}: {number(mean)}, "
                f"{scores(low_end, high_end)}; {_verdict(one)}",
            }
            for x, mean, low_end, high_end, one in drawn
        ],
        "actual": [
            (plane.x(i), plane.y(one["actual"]))
            for i, one in enumerate(periods)
            if of_score and math.isfinite(one["actual"])
        ],
        "alarms": [
            plane.x(i) for i, one in enumerate(periods) if of_score and one["alarm"]
        ],
        "level": None if level is None else plane.y(level),
        "level_name": level_name,
        "legend": [(kind, words[kind]) for kind in words if kind in kinds],
    }


def _drawn(
    place: int, one: dict[str, Any], columns: tuple[str, str, str]
) -> Iterator[tuple[float, float, float, float, dict[str, Any]]]:
    """Place, mean and ends of what is drawn: both readings where nobody can say."""
    both = columns[0] == "expected" and _kind(one) == "unknown"
    names = ("if_share", "if_other_rows") if both else ("",)
    for i, name in enumerate(names):
        keys = (name, f"{name}_low", f"{name}_high") if name else columns
        values = [one[key] for key in keys]
        if all(map(math.isfinite, values)):
            mean, low, high = values
            yield place + (0.3 * i - 0.15 if both else 0.0), mean, low, high, one


def _between(low: str, high: str) -> str:
    if not low:
        return f"score below {high}"
    return f"score {low} to {high}" if high else f"score {low} and above"


def _tick(start: str) -> str:
    return start if start.isdigit() else start[:10]


def _histogram(watched: Watched) -> dict[str, Any]:
    """Bars of one period before those of the reference, at equal widths."""
    top = max(x for row in (watched.reference, *watched.shares) for x in row)
    y_ticks = nice_ticks(0.0, top, 4)
    bins = len(watched.reference)
    plane = figures.Plane(float(bins), 0.0, y_ticks[-1])
    bottom = plane.y(0.0)
    ends = ("", *(f"{x:.2g}" for x in watched.edges), "")
    names = [_between(low, high) for low, high in pairwise(ends)]
    bars = []
    for i, (old, new) in enumerate(
        zip(watched.reference, watched.shares[-1], strict=True)
    ):
        left, width = plane.x(i), plane.x(i + 1) - plane.x(i)
        bars.append(
            {
                "x": round(left + 1, 1),
                "width": round(width - 2, 1),
                "y": plane.y(old),
                "height": round(bottom - plane.y(old), 1),
                "own_x": round(left + width / 4, 1),
                "own_width": round(width / 2, 1),
                "own_y": plane.y(new),
                "own_height": round(bottom - plane.y(new), 1),
                "title": names[i],
            }
        )
    step = max(1, bins // 5)
    x_ticks = [(i, ends[i]) for i in range(step, bins, step)]
    return {
        **figures.axes(plane, x_ticks, [(y, percent(y)) for y in y_ticks]),
        "bars": bars,
        "names": [f"{_dates(one)}: {_verdict(one)}" for one in watched.periods],
        "data": {
            "shares": [[round(x, 5) for x in row] for row in watched.shares],
            "reference": [round(x, 5) for x in watched.reference],
            "names": names,
            "top": y_ticks[-1],
            "bottom": bottom,
            "above": plane.y(y_ticks[-1]),
        },
    }
