"""Verb `report`, a page on any result; pages of periods and of comparisons."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from argmetric._compare import VERDICTS, Comparison
from argmetric._ground.display import ALARM, PERIOD, counted, metric_title
from argmetric._ground.types import AnyArray, ArrayLike, Label, ReferenceLike
from argmetric._monitor import BETTER, Monitoring, values_of
from argmetric._report import _figures as draw
from argmetric._report._check import (
    report_check,
    report_class_decision,
    report_class_review,
    report_parity,
    report_review,
    report_rule,
)
from argmetric._report._decision import report_decision
from argmetric._report._figures import Figure, number, percent, scores
from argmetric._report._figures import share as in_percent
from argmetric._report._report import Card, PageTable, Report, Section, make_cards
from argmetric._verbs.check import CalibrationCheck
from argmetric._verbs.decide import Decision
from argmetric._verbs.tune import ParityRule, ReviewRule, Rule
from argmetric.classes import (
    ClassCalibrationCheck,
    ClassDecision,
    ClassMonitoring,
    ClassReviewRule,
)

PeriodValues = dict[str, Any]

BINS = 20
MOST_ROWS = 60  # of the table of periods
MOST_SEGMENTS = 50
KINDS = {"prevalence shift": "moved", "cannot say without labels": "unknown"}
LOOKS = {"known": "chosen", "unknown": "unsure", "moved": "half", "usual": "chosen"}
BY_LABELS = "the labels of all rows are known, and decide"
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
        raise ValueError("there are no periods to report")
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
    title = f"Score ({metric_title(found.metric.name)})"
    yield replace(score, name=title, below=below, accent=True)
    yield from others
    yield from make_cards(line for line in found.lines() if line[0] == "periods")


def _table(
    caption: str, first: str, score_header: str, named: list[tuple[str, PeriodValues]]
) -> PageTable:
    """Return a row for each name and period; `actual` is last if labels are known."""
    names = "verdict", score_header, "interval", "prevalence", "rows", "alarm"
    labelled = any(one["n_known"] for _, one in named)
    rows = []
    for name, one in named:
        row = [name, one["verdict"], one["score_text"], one["interval_text"]]
        row += [in_percent(one["prevalence"]), f"{one['n']:,}", one["alarm"]]
        actual = number(one["actual"]) if one["n_known"] else ""
        rows.append((*row, *[actual] * labelled))
    return PageTable(caption, (first, *names) + ("actual",) * labelled, rows)


def _over_time(
    periods: list[PeriodValues],
    name: str,
    caption: str,
    columns: tuple[str, str],
    reference: tuple[float | None, str],
) -> Figure:
    """Return values and intervals of the periods, a layer for each kind."""
    of_score, last = columns[0] == "mean", len(periods) - 1
    drawn = [x for i, one in enumerate(periods) for x in _plot_values(i, one, columns)]
    actual = [(i, one["actual"]) for i, one in enumerate(periods) if of_score]
    actual = [one for one in actual if math.isfinite(one[1])]
    values = [x for _, *ends, _ in drawn for x in ends] + [x for _, x in actual]
    values += [x for x in reference[:1] if x is not None]
    y = draw.axis(name, min(values, default=0.0), max(values, default=1.0))
    step = max(1, -(-len(periods) // 4))
    ticks = tuple((i, periods[i]["start"][:10]) for i in range(0, last + 1, step))
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
    x_axis = draw.FigureAxis("", -0.5, last + 0.5, ticks)
    return Figure(caption, x_axis, y, tuple(layers))


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


NEXT = 25  # rows to label that are listed
MEANINGS = (  # of the verdicts
    "the posterior probability is .99 or more; it is no p-value",
    "the posterior probability is .9 or more: a batch of labels may settle it",
    "the posterior probability is below .9: label the rows below",
    "no label can tell models apart that decide alike",
    "of these rows alone, whose labels are known; other rows may differ",
)
KEPT = ("names", "scores", "mean", "interval", "probability", "best", "n", "n_labels")


def _difference_text(value: float) -> str:
    """Return a difference as on an axis."""
    return f"{value:+g}" if value else "0"


def report_comparison(found: Comparison) -> Report:
    """Return a report of a comparison of two or more models."""
    one, best, title = found.difference(), found.best(), metric_title(found.metric.name)
    gap, models = f"{title} of {one.first} - {one.second}", found.scores()
    within = f"{percent(found.coverage)} interval {scores(*one.interval)}"
    sure = f"that {best.model} is the best"
    meaning = MEANINGS[VERDICTS.index(one.verdict)]
    cards = (
        Card("Verdict", one.verdict, meaning, accent=True),
        Card(f"{one.first} - {one.second}", f"{one.mean:+.4f}", within),
        Card("Probability", f"{best.probability:.3f}", sure),
        Card("Labels", f"{found.n_labels:,}", f"of {counted(found.n, 'row')}"),
    )
    p_best = dict(zip(found.names, found.to_dict()["p_best"], strict=True))
    table = [
        (name, number(x.mean), scores(*x.interval), f"{p_best[name]:.3f}")
        for name, x in models.items()
    ]
    header = ("model", title, f"{percent(found.coverage)} interval", "P(best)")
    labels, mean, low, high = zip(*found.estimates(), strict=True)
    y = draw.axis(gap, min(*low, 0.0), max(*high, 0.0), text=_difference_text)
    x = draw.axis("labels of these rows", 0.0, max(*labels, 1), whole=True)
    titles = [
        f"{counted(n, 'label')}: {score:+.4f} ({first:+.4f} to {last:+.4f})"
        for n, score, first, last in found.estimates()
    ]
    ends: dict[str, Any] = {"low": low, "high": high, "titles": titles}
    points = draw.points(labels, mean, name="mean and interval", **ends)
    zero = draw.level(0.0, "same", "no difference")
    caption = "The difference after each batch of labels; 0 is no difference."
    figures = (Figure(caption, x, y, (points, zero)),)
    sections = [
        Section("models", "Scores", tables=(PageTable("Models", header, table),)),
        Section("labels", "Difference by labels", figures=figures),
    ]
    if found.n_labels < found.n and one.verdict != VERDICTS[3]:
        rows = ", ".join(map(str, found.next_rows(NEXT) + 1))
        needed = found.labels_needed(max(abs(one.mean), 0.005))
        text = (
            f"Counted from 1: {rows}.",
            f"About {counted(needed, 'label')} of such rows show a difference of "
            f"{max(abs(one.mean), 0.005):.4f} with a probability of .8, if it is real.",
        )
        sections.append(Section("next", "Rows to label next", text))
    return Report(
        kind="compare",
        title=found._title(),
        subtitle=f"{counted(found.n, 'row')}; metric: {title}",
        cards=cards,
        sections=tuple(sections),
        notes=found.notes,
        assumptions=found.assumptions,
        values={"comparison": {k: v for k, v in found.to_dict().items() if k in KEPT}},
    )


_PAGES: dict[type, tuple[Callable[..., Report], tuple[str, ...]]] = {
    Decision: (report_decision, ("y", "pos_label", "coverage", "reference")),
    ClassDecision: (report_class_decision, ("y", "coverage", "reference")),
    Rule: (report_rule, ()),
    ReviewRule: (report_review, ()),
    ClassReviewRule: (report_class_review, ()),
    ParityRule: (report_parity, ()),
    CalibrationCheck: (report_check, ()),
    ClassCalibrationCheck: (report_check, ()),
    Comparison: (report_comparison, ()),
    Monitoring: (report_monitoring, ()),
    ClassMonitoring: (report_class_monitoring, ()),
}  # what makes the page of each result, and what it can be told besides


def report(
    result: object,
    y: ArrayLike | None = None,
    *,
    pos_label: Label | None = None,
    coverage: float | None = None,
    reference: ReferenceLike | None = None,
) -> Report:
    """Make a page on a result, to be saved or shown in a notebook.

    Experimental: may change in any release.

    Parameters
    ----------
    result : Decision, rule, CalibrationCheck, Comparison or Monitoring
        What `decide`, `tune`, `calibration_check`, `compare` or `monitor` gave back, or
        `decide`, `check` or `monitor` of `argmetric.classes`.
    y : array-like, optional
        True labels of a decision, where they are known by now: the page then holds the
        actual score against the forecast.
    pos_label : object, optional
        The label of `y` that counts as positive.
    coverage : float, optional
        Probability that the interval of a decision contains the score; by default 0.9.
    reference : pair (y, p), optional
        Labelled rows on which the probabilities of a decision are checked.

    Returns
    -------
    Report
        ``save("page.html")`` writes it; Markdown, JSON and text say the same.

    Examples
    --------
    >>> import argmetric as am
    >>> page = am.report(am.decide([0.9, 0.45, 0.4, 0.1]))
    >>> print(page.render("md").splitlines()[0])
    # Predict 3 of 4 rows positive
    """
    kind = type(result).__name__
    known = [one for one in _PAGES if isinstance(result, one)]
    if not known:
        raise TypeError(
            "result must be what decide, tune, calibration_check, compare or monitor "
            f"gave back: there is no page on {kind}"
        )
    make, takes = _PAGES[known[0]]
    how: dict[str, Any] = {"y": y, "pos_label": pos_label, "coverage": coverage}
    how = {k: x for k, x in (how | {"reference": reference}).items() if x is not None}
    for name in how.keys() - takes:
        raise ValueError(f"{name} tells nothing about a {kind}: leave it out")
    return make(result, **how)
