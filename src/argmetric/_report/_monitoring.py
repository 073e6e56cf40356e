"""Pages of monitored periods, and of promises that are monitored."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from argmetric._ground.display import ALARM, PERIOD, counted, metric_title
from argmetric._ground.types import AnyArray, Interval
from argmetric._monitor import (
    BETTER,
    Monitoring,
    ParityMonitoring,
    ReviewMonitoring,
    values_of,
)
from argmetric._report import _figures as draw
from argmetric._report._figures import Figure, Layer, number, percent, scores
from argmetric._report._figures import share as in_percent
from argmetric._report._report import Card, PageTable, Report, Section, make_cards
from argmetric._verbs.tune import RATES, proportion_interval
from argmetric.classes import ClassMonitoring

PeriodValues = dict[str, Any]
Series = tuple[str, str, list[float], list[Interval]]  # name, look, values, intervals

BINS = 20
NO_PERIODS = "there are no periods to report"
MOST_ROWS = 60  # of the table of periods
MOST_SEGMENTS = 50  # or groups, or classes, of a table
KINDS = {"prevalence shift": "moved", "cannot say without labels": "unknown"}
LOOKS = {"known": "chosen", "unknown": "unsure", "moved": "half", "usual": "chosen"}
BY_LABELS = "the labels of all rows are known, and decide"
MOST_PROMISES = 6  # whose forecasts are drawn
LOOK_FIRST = (
    "Look at periods with an alarm first. Where the verdict is grey, both readings are "
    "drawn, and to_label(100) names the rows to label."
)
ASK_WHY = (
    "Trust this estimate only if positives and negatives still look as they did. Ask "
    "what changed if it leaves the line of the reference."
)
CARDS = (
    "verdict",
    "score",
    "prevalence",
    "largest prevalence shift",
)  # lines of a period


def report_monitoring(found: Monitoring) -> Report:
    """Return a report of monitored periods."""
    watch = found.watch
    if not found.periods:
        raise ValueError(NO_PERIODS)
    rows = watch.reference.sum(axis=1)
    periods = [values_of(one) for one in found.periods]
    segments = {key: values_of(x.periods[-1]) for key, x in found.segments.items()}
    histogram, bars = _histogram(found, periods)
    sections = [Section("scores", "Scores against the reference", figures=(bars,))]
    if segments:
        shown, more = [*segments.items()][:MOST_SEGMENTS], len(segments) - MOST_SEGMENTS
        title = metric_title(watch.metric.name)
        table = _table("Last period of each segment", "segment", title, shown)
        text = ("Verdicts and alarms are corrected for the number of segments.",)
        after = (f"{more:,} better segments are not shown.",) if more > 0 else ()
        name = "Segments, the worst first"
        sections.append(Section("segments", name, text, (table,), after=after))
    old = float(rows[1] / rows.sum())
    values = {"histogram": histogram, "floor": watch.floor, "segments": segments}
    values["reference_prevalence"] = old
    return _page(found, periods, ("Prevalence", old), sections, values)


def _page(
    found: Monitoring | ClassMonitoring,
    periods: list[PeriodValues],
    prevalence: tuple[str, float],
    more: list[Section],
    values: dict[str, Any],
) -> Report:
    """Return the report of a monitoring: scores and a prevalence, then `more`.

    `prevalence` is its title, and what it was in the reference.
    """
    watch, title = found.watch, metric_title(found.metric.name)
    caption = f"Forecast of {title}, {percent(watch.coverage)} interval"
    shown = [(one["start"], one) for one in reversed(periods[-MOST_ROWS:])]
    table = _table(caption, "period", title, shown)
    columns, floor = ("mean", "interval"), getattr(watch, "floor", None)
    score = _over_time(periods, title, LOOK_FIRST, columns, (floor, "floor"))
    columns, (name, old) = ("prevalence", "prevalence_interval"), prevalence
    axis = name[0].lower() + name[1:]
    share = _over_time(periods, axis, ASK_WHY, columns, (old, "reference"))
    n_rows = counted(sum(one["n"] for one in periods), "row")
    alarms = [one for one in periods if one["alarm"]]
    raised = [f"Alarm in the period {_dates(x)}: {x['alarm']}." for x in alarms]
    return Report(
        kind="monitor",
        title=f"Is the model still good? {title} by period",
        subtitle=f"{n_rows}; metric: {title}",
        cards=tuple(_cards(found, periods[-1])),
        sections=(
            Section("by-period", f"{title} by period", (), (table,), (score,)),
            Section("prevalence", name, figures=(share,)),
            *more,
        ),
        notes=(*raised[-1:], *found._notes()),  # the last alarm is to be read first
        values={"coverage": watch.coverage, "periods": periods, **values},
    )


def _kind(one: PeriodValues) -> str:
    """Return the style of a period in a figure: by its verdict, or "known"."""
    return "known" if one["n_known"] == one["n"] else KINDS.get(one["verdict"], "usual")


def _dates(one: PeriodValues) -> str:
    return f"{one['start']} to {one['end']}"


def _cards(found: Monitoring | ClassMonitoring, one: PeriodValues) -> Iterator[Card]:
    """Return cards of the last period and its verdict, and of all periods."""
    own = dict(found.periods[-1].lines())
    verdict, score, *others = make_cards((x, own[x]) for x in CARDS if x in own)
    kind = _kind(one)
    meaning = BY_LABELS if kind == "known" else PERIOD[one["verdict"]]
    if BETTER in one["alarm"] and kind != "known":
        meaning = ALARM[BETTER]
    yield replace(verdict, name="Last period", below=meaning)
    below = score.below
    if kind != "unknown":
        below = f"{percent(found.watch.coverage)} interval {below}"
    if floor := found.periods[-1].floor_text:
        below = f"{below}; {floor}"
    title = f"Score ({metric_title(found.metric.name)})"
    yield replace(score, name=title, below=below, accent=True)
    yield from others
    yield from make_cards(line for line in found.lines() if line[0] == "periods")


def _table(
    caption: str, first: str, score_header: str, named: list[tuple[str, PeriodValues]]
) -> PageTable:
    """Return a row for each name and period, with `floor` and `actual` if there are."""
    names = "verdict", score_header, "interval", "prevalence", "rows", "alarm"
    labelled = any(one["n_known"] for _, one in named)
    floor = any(one.get("floor_text") for _, one in named)
    rows = []
    for name, one in named:
        row = [name, one["verdict"], one["score_text"], one["interval_text"]]
        row += [in_percent(one["prevalence"]), f"{one['n']:,}", one["alarm"]]
        actual = number(one["actual"]) if one["n_known"] else ""
        row += [one["floor_text"].removeprefix("floor ")] if floor else []
        rows.append((*row, *[actual] * labelled))
    more = ("floor",) * floor + ("actual",) * labelled
    return PageTable(caption, (first, *names, *more), rows)


def _over_time(
    periods: list[PeriodValues],
    name: str,
    caption: str,
    columns: tuple[str, str],
    reference: tuple[float | None, str],
) -> Figure:
    """Return values and intervals of the periods, a layer for each kind."""
    of_score = columns[0] == "mean"
    drawn = [x for i, one in enumerate(periods) for x in _plot_values(i, one, columns)]
    actual = [(i, one["actual"]) for i, one in enumerate(periods) if of_score]
    actual = [one for one in actual if math.isfinite(one[1])]
    values = [x for _, *ends, _ in drawn for x in ends] + [x for _, x in actual]
    values += [x for x in reference[:1] if x is not None]
    y = draw.axis(name, min(values, default=0.0), max(values, default=1.0))
    words = {"usual": "no shift", "moved": "prevalence shift"}
    words["known"] = "all labels known"
    words["unknown"] = "cannot say without labels" + ": both readings" * of_score
    layers = []
    if reference[0] is not None:
        layers.append(draw.level(reference[0], "same", reference[1]))
    alarms = [i for i, one in enumerate(periods) if of_score and one["alarm"]]
    if alarms:
        layers.append(draw.points(alarms, [y.high] * len(alarms), "alarm", "alarm"))
    for kind, look in LOOKS.items():
        own = [one for one in drawn if _kind(one[-1]) == kind]
        if own:
            x, means, lows, highs, of = zip(*own, strict=True)
            titles = [
                f"{_dates(of[i])}: {number(means[i])}, {scores(lows[i], highs[i])}; "
                f"{of[i]['verdict']}"
                for i in range(len(own))
            ]
            ends: dict[str, Any] = {"low": lows, "high": highs, "titles": titles}
            layers.append(draw.points(x, means, look, words[kind], **ends))
    if actual:
        at, known = zip(*actual, strict=True)
        layers.append(draw.points(at, known, "actual", "actual"))
    return Figure(caption, _time_axis(periods), y, tuple(layers))


def _time_axis(periods: Sequence[PeriodValues]) -> draw.FigureAxis:
    """Return an axis of periods with the dates of at most five."""
    n = len(periods)
    ticks = tuple((i, periods[i]["start"][:10]) for i in range(0, n, -(-n // 4)))
    return draw.FigureAxis("", -0.5, n - 0.5, ticks)


def _plot_values(
    place: int, one: PeriodValues, columns: tuple[str, str]
) -> Iterator[tuple[Any, ...]]:
    """Yield place, mean and interval of a period; of both readings if it is unclear."""
    both = columns[0] == "mean" and _kind(one) == "unknown"
    readings = {"": 0.0}
    if both:
        readings = {"if_prevalence_shift": -0.15, "if_covariate_shift": 0.15}
    for name, aside in readings.items():
        mean, interval = (name, f"{name}_interval") if name else columns
        values = [one[mean], *one[interval]]
        if all(map(math.isfinite, values)):
            yield place + aside, *values, one


def _histogram(
    found: Monitoring, periods: list[PeriodValues]
) -> tuple[dict[str, Any], Figure]:
    """Return rows by score: the last period in front of the reference."""
    watch = found.watch
    # Bins are equal in rows and positives of the reference: both ends are seen
    rows, positives = watch.reference.sum(axis=0), watch.reference[1]
    weight = rows / rows.sum() + positives / max(positives.sum(), 1)
    middle = np.cumsum(weight) - weight / 2
    bins = np.minimum((middle * BINS / 2).astype(np.int64), BINS - 1)
    bins = np.unique(bins, return_inverse=True)[1]
    first = np.searchsorted(bins, np.arange(1, bins.max() + 1))
    between = watch.bins.edges[first - 1]

    def shares(cells: AnyArray) -> list[float]:
        counts = np.bincount(bins, cells)
        return list((counts / counts.sum()).tolist())

    old = shares(watch.old)
    new = [shares(one.table.sum(axis=(0, 1))) for one in found.counts]
    most = max(map(max, (old, *new)))
    y = draw.axis("share of the rows", 0.0, most, 4, text=percent)
    size, ends = len(old), [f"{x:.2g}" for x in between]
    inside = [f"score {low} to {high}" for low, high in pairwise(ends)]
    names = [*(f"score below {x}" for x in ends[:1]), *inside]
    names.append(f"score {ends[-1]} and above" if ends else "all scores")
    none, step = [0.0] * size, max(1, size // 5)
    ticks = tuple((float(i), ends[i - 1]) for i in range(step, size, step))
    x = draw.FigureAxis("score", 0.0, float(size), ticks)
    own = ("bar taken own", "period", none, new[-1])
    layer = draw.bars(range(size + 1), names, ("bar", "reference", none, old), own)
    caption = "All bars shifted towards one end: more or fewer positives. A new bump "
    caption += "in the middle: a different kind of row."
    figure = Figure(caption, x, y, (layer,), id="histogram")
    return {
        "shares": [[round(x, 5) for x in row] for row in new],
        "reference": [round(x, 5) for x in old],
        "edges": between.tolist(),
        "names": names,
        "periods": [f"{_dates(one)}: {one['verdict']}" for one in periods],
        "top": y.high,
    }, figure


def report_class_monitoring(found: ClassMonitoring) -> Report:
    """Return a report of periods of class probabilities.

    The share that is drawn is that of the class that moved most in the last period.
    """
    watch, (*_, last) = found.watch, found.periods
    c = int(np.argmax(np.abs(np.array(last.prevalences) - watch.prevalences)))
    keys = {"prevalence": "prevalences", "prevalence_interval": "prevalence_intervals"}
    own = (
        {key: getattr(x, many)[c] for key, many in keys.items()} for x in found.periods
    )
    periods = [
        values | one.values() | one.answer._asdict()
        for values, one in zip(own, found.periods, strict=True)
    ]
    old_and_new = watch.prevalences.tolist(), last.prevalences
    ends = zip(*last.prevalence_intervals, strict=True)
    columns = zip(watch.classes, *old_and_new, *ends, last.counts, strict=True)
    classes = PageTable(
        f"Classes in the last period, {percent(watch.coverage)} interval",
        ("class", "reference", "prevalence", "from", "to", "rows given it"),
        tuple((str(x), *map(in_percent, p), f"{n:,}") for x, *p, n in columns),
    )
    names = [str(one) for one in watch.classes]
    values = {"classes": names, "reference_prevalences": watch.prevalences.tolist()}
    section = Section("classes", "Prevalences of the classes", tables=(classes,))
    old = float(watch.prevalences[c])
    title = f"Prevalence of {names[c]}", old
    return _page(found, periods, title, [section], values)


def report_review_monitoring(found: ReviewMonitoring) -> Report:
    """Return a report of the rows that are decided, and of each promise, by period."""
    usual = found.rule.automated
    rows: list[tuple[str, ...]] = [
        (f"{x.n:,}", in_percent(x.automated), f"{x.n - x.accepted - x.rejected:,}")
        for x in found.periods
    ]
    ends = [proportion_interval(x.automated, x.n, x.coverage) for x in found.periods]
    decided = [("decided", "chosen", [x.automated for x in found.periods], ends)]
    caption = "Far from the line: rows differ from those that the rule was tuned on."
    figure = _promise_figure(found, "rows decided", caption, (usual, "usual"), decided)
    last = found.periods[-1] if found.periods else None
    room = {} if last is None else last.forecasts
    names = sorted(room, key=lambda name: room[name].mean - found._floor(name))
    table = PageTable(
        "Promises in the last period, that with the least room first",
        ("promise", "promised", "forecast", "interval", "verdict", "audited", "right"),
        [_promise_row(found, name) for name in names[:MOST_SEGMENTS]],
    )
    figures = tuple(_promise_forecast(found, name) for name in names[:MOST_PROMISES])
    kept = sum(room[name].mean >= found._floor(name) for name in names)
    below = "forecast to hold in the last period"
    return _promise_page(
        found,
        (("rows", "decided", "for a person"), rows, figure),
        Section("promises", "Promises", (), (table,), figures),
        (Card("Promises", f"{kept:,} of {len(names):,}", below),),
    )


def _promise_row(found: ReviewMonitoring, name: str) -> tuple[str, ...]:
    """Return a promise in the last period: forecast, verdict and audited labels."""
    last = found.periods[-1]
    one, (n, errors) = last.forecasts[name], last.audited.get(name, (0, 0))
    floor, ends = number(found._floor(name)), scores(*one.interval)
    audited = (f"{n:,}", f"{n - errors:,}") if found._audit(name) else ("", "")
    return (found._words(name), floor, number(one.mean), ends, one.verdict, *audited)


def _promise_forecast(found: ReviewMonitoring, name: str) -> Figure:
    """Return the forecasts of what is promised, and its floor."""
    periods = [values_of(x.forecasts[name]) for x in found.periods]
    if not found._audit(name):  # labels of reviewed rows do not show it
        periods = [one | {"actual": math.nan} for one in periods]
    caption = "Below the line the promise is broken. Grey: labels have to decide."
    floor = found._floor(name), "promised"
    return _over_time(periods, found._words(name), caption, ("mean", "interval"), floor)


def report_parity_monitoring(found: ParityMonitoring) -> Report:
    """Return a report of the gap between groups, by period."""
    rule, periods = found.rule, found.periods
    rate, recall = RATES[rule.rate], rule.rate == "recall"
    found_gaps = [(x.gap, x.interval) for x in periods]
    forecasts = [x._shown_forecast for x in periods]
    rows = []
    for one, *pair in zip(periods, found_gaps, forecasts, strict=True):
        texts = ((number(x), scores(*y)) if x == x else ("", "") for x, y in pair)
        rows.append((f"{one.n:,}", *(x for text in texts for x in text)))
    series = [
        (word, look, [x for x, _ in pairs], [ends for _, ends in pairs])
        for word, look, pairs in (
            ("gap", "chosen", found_gaps),
            ("forecast, without labels", "half", forecasts),
        )
    ]
    caption, name = "The gap is kept below the line.", f"gap of {rate}"
    figure = _promise_figure(found, name, caption, (rule.gap, "promised"), series)
    groups: list[tuple[str, ...]] = []
    for last in periods[-1:]:
        columns = (last.rows, last.selected, *([last.sizes] if recall else []))
        groups = [
            (str(name), *(f"{k:,}" for k in counts), number(own) if own == own else "")
            for name, own, *counts in zip(rule.names, last.rates, *columns, strict=True)
        ]
    known = ["known positives"] if recall else []
    header = ("group", "rows", "predicted positive", *known, rate)
    table = PageTable("Groups in the last period", header, groups[:MOST_SEGMENTS])
    left = len(groups) - MOST_SEGMENTS
    after = (f"{left:,} more groups are not shown.",) if left > 0 else ()
    names = ("rows", "gap", "interval", "forecast gap", "interval")
    return _promise_page(
        found,
        (names, rows, figure),
        Section("groups", "Groups", (), (table,), (), after),
        (),
    )


def _promise_figure(
    found: ReviewMonitoring | ParityMonitoring,
    name: str,
    caption: str,
    level: tuple[float, str],
    series: list[Series],
) -> Figure:
    """Return series and a line by period, with alarms."""
    periods = [{"start": one.start, "end": one.end} for one in found.periods]
    if not periods:
        raise ValueError(NO_PERIODS)
    layers: list[Layer] = []
    seen: list[float] = []
    if math.isfinite(level[0]):  # else a rule that nothing was tuned on
        layers.append(draw.level(level[0], "same", level[1]))
        seen.append(level[0])
    for word, look, values, ends in series:
        own = [i for i, x in enumerate(values) if math.isfinite(x)]
        if not own:
            continue
        low, high = zip(*(ends[i] for i in own), strict=True)
        titles = [
            f"{_dates(periods[i])}: {number(values[i])}, {scores(*ends[i])}"
            for i in own
        ]
        more: dict[str, Any] = {"low": low, "high": high, "titles": titles}
        layers.append(draw.points(own, [values[i] for i in own], look, word, **more))
        seen += [*low, *high]
    y = draw.axis(name, min(seen, default=0.0), max(seen, default=1.0))
    alarms = [i for i, x in enumerate([x.alarm for x in found.periods]) if x]
    if alarms:
        layers.append(draw.points(alarms, [y.high] * len(alarms), "alarm", "alarm"))
    return Figure(caption, _time_axis(periods), y, tuple(layers))


def _promise_page(
    found: ReviewMonitoring | ParityMonitoring,
    by_period: tuple[tuple[str, ...], list[tuple[str, ...]], Figure],
    section: Section,
    cards: tuple[Card, ...],
) -> Report:
    """Return the report of a monitoring of promises.

    `by_period` has the names of columns, a row of these for each period, and a figure.
    """
    periods, (names, rows, figure) = found.periods, by_period
    ends = [(one.start, one.alarm) for one in periods]
    pairs = [*zip(ends, rows, strict=True)][: -MOST_ROWS - 1 : -1]
    shown = [(start, *row, alarm) for (start, alarm), row in pairs]
    table = PageTable("Periods, the last one first", ("period", *names, "alarm"), shown)
    headline, alarms = found._headline(), found.alarms
    assert headline is not None
    value, _, below = headline.number.partition(" (")
    last = Card(
        f"{headline.words[0].upper()}{headline.words[1:]}",
        value,
        below.rstrip(")"),
        accent=True,
    )
    of = f"in {counted(len(periods), 'period')}"
    raised = [f"Alarm in the period {x.start} to {x.end}: {x.alarm}." for x in alarms]
    return Report(
        kind="monitor",
        title="Are the promises still kept?",
        subtitle=f"{counted(sum(x.n for x in periods), 'row')}; {found.rule._title()}",
        cards=(last, *cards, Card("Alarms", f"{len(alarms):,}", of)),
        sections=(
            Section("by-period", "By period", (), (table,), (figure,)),
            section,
        ),
        notes=(*raised[-1:], *found.notes),  # the last alarm is to be read first
        assumptions=found.assumptions,
        values={
            "rule": found.rule.to_dict(),
            "periods": [one.to_dict() for one in periods],
        },
    )
