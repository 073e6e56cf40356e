"""The parts of a report below its first screen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from argmetric._report._numbers import number, percent, scores, share
from argmetric._report._summary import (
    Chosen,
    Example,
    MarkedWords,
    Over,
    Row,
    Summary,
    Tags,
)
from argmetric._report._verdicts import in_options, recalibrate, verdicts
from argmetric._results.display import metric_title

SIGNS = {"right": "✓", "missed": "missed", "wrong": "✗"}


@dataclass(frozen=True)
class ReportTable:
    """Rows under a header, with a caption that says what they are."""

    caption: str
    header: Row
    rows: tuple[Row, ...]

    @property
    def scrolls_on_a_phone(self) -> bool:
        """Whether it is wider than a small screen, by the longest cells.

        A character takes 8 pixels and a column 14 more; the first column wraps.
        """
        words = tuple(max(cell.split() or [""], key=len) for cell in self.header)
        columns = zip(words, *self.rows, strict=True)
        _, *widths = (max(map(len, column)) for column in columns)
        first = max(len(word) for row in self.rows for word in row[0].split())
        wide = 8 * (first + sum(widths)) + 14 * len(widths) > 340
        return wide and any(self.header)


@dataclass(frozen=True)
class Section:
    """A part of a report; `key` names the picture that a page shows with it.

    `captions` say of each picture what it means and what to do.
    """

    key: str
    title: str
    text: tuple[str, ...]
    tables: tuple[ReportTable, ...] = ()
    captions: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()


def units_of(said: Summary) -> str:
    return {"samples": "rows", "macro": "labels"}.get(said.average or "", "groups")


def probability(said: Summary) -> str:
    """What the rows were decided by, in words."""
    calibrated = said.scale.startswith("calibrated ")
    return "calibrated probability" if calibrated else "probability"


def cut_text(said: Summary, cut: Chosen) -> str:
    """The cut of a decision in a few words."""
    if cut.positives == 0:
        return "no row is positive"
    if cut.cut is not None:
        return f"{said.scale} ≥ {cut.cut}"
    if said.kind == "labels":
        return "as given"
    if said.n_groups is not None:
        return (
            "one per group"
            if units_of(said) == "groups"
            else f"one per {units_of(said)[:-1]}"
        )
    return "splits rows of equal score"


def half_text(said: Summary) -> str:
    """The cut at one half, which is on the scores as they were given."""
    assert said.half is not None
    if said.half.positives == 0:
        return "no row is positive"
    given = said.scale.removeprefix("calibrated ")
    return f"{given} ≥ {said.half.cut}" + " as given" * (given != said.scale)


def marked(piece: MarkedWords) -> str:
    """Words of a sentence in plain text, with what is to be said of them."""
    if not piece.mark:
        return piece.text
    return f"[{piece.text}: {piece.type} {SIGNS[piece.mark]}]"


def sections_of(said: Summary) -> Iterator[Section]:
    if said.curves is not None:
        yield _curve(said)
        yield _mass(said)
        yield _metrics(said)
    if said.thresholds is not None:
        yield Section(
            "thresholds",
            f"{metric_title(said.metric)} by threshold",
            ("Every possible threshold, on the rows that it was tuned on.",),
            (ReportTable("The rule", ("", ""), said.lines),),
            (
                "Use the marked threshold. A wide band means that these rows do not "
                "pin it down: label more rows to narrow it.",
            ),
        )
    if said.calibration is not None:
        yield _calibration(said)
    if said.tags is not None:
        yield from _tags(said.tags)
    for one in said.classes:
        table = ReportTable(one.caption, one.header, one.rows)
        yield Section(one.key, one.title, one.text, (table,))
    if said.over is not None and said.over.rows:
        yield _over(said.metric, said.over)
    if said.watched is not None:
        from argmetric._report._watched import sections_of_watched

        yield from sections_of_watched(said.metric, said.watched)
    if said.groups is not None:
        yield _groups(said)
    if said.truth is not None:
        yield _truth(said)


def _curve(said: Summary) -> Section:
    curves, half, best = said.curves, said.half, said.best_cut
    assert curves is not None
    assert half is not None
    assert best is not None
    assert said.chosen is not None
    assert said.mass is not None
    own = "these labels" if said.kind == "labels" else "this decision"
    at = curves.chosen if said.kind == "decision" else None
    held = sum(said.mass.chosen) if at is None else curves.hits[at]
    own_cut, hits_of = cut_text(said, said.chosen), curves.hits
    best_at, half_at, best_cut = curves.best_cut, curves.half, cut_text(said, best)
    places = [
        (own, at, said.chosen, own_cut, held),
        ("best single threshold", best_at, best, best_cut, hits_of[best_at]),
        ("0.5 cut-off", half_at, half, half_text(said), hits_of[half_at]),
    ]
    if is_best_cut(said):
        del places[1]
    rows: list[Row] = []
    for name, place, one, cut, hits in places:
        cells = (f"{one.positives:,}", cut, number(one.expected))
        precision = number(hits / one.positives) if one.positives else ""
        recall: Row = ()
        if curves.recall is not None:
            recall = ("" if place is None else number(curves.recall[place]),)
        rows.append((name, *cells, f"{hits:,.1f}", precision, *recall))
    metric = metric_title(said.metric)
    names = ("positives", "threshold", metric, "true positives", "precision")
    header = ("", *names, "recall")[: len(rows[0])]
    what = "the rows with the highest scores are predicted positive"
    if said.n_groups is not None:
        what = "all rows share one threshold, whatever their group"
    top = "top" if said.greater_is_better else "bottom"
    caption = f"The {top} of the curve is the best number of positives. "
    caption += (
        "Where the curve is flat, choose the number that is cheapest to act on."
        if said.n_groups is None
        else "The dashed line is this decision, with a threshold in each group."
    )
    return Section(
        "curve",
        f"Expected {metric} by number of positives",
        (f"How the score changes if {what}.",),
        (ReportTable("Decisions compared, all values expected", header, tuple(rows)),),
        (caption,),
        (
            f"The values at {len(curves.k):,} numbers of positives are exact; straight "
            "lines join them.",
        ),
    )


def is_best_cut(said: Summary) -> bool:
    """Whether the decision is the best single threshold itself."""
    assert said.curves is not None
    single = said.kind == "decision" and said.n_groups is None
    return single and said.curves.chosen == said.curves.best_cut


def _mass(said: Summary) -> Section:
    mass = said.mass
    assert mass is not None
    total, held = sum(mass.positives), sum(mass.chosen)
    text = (
        f"{total:,.1f} actual positives are expected among {said.n:,} rows "
        f"({share(total, said.n)})."
    )
    if held > 0:
        text += f" {share(held, total)} of them are among the rows predicted positive."
    floor = in_options(said, "min_recall=0.8")
    return Section(
        "mass",
        "Where the positives are",
        (text,),
        captions=(
            "Positives in the light bars will be missed. To catch more of them, ask "
            f"for a minimum recall ({floor}) or choose a metric such as F2.",
        ),
    )


def _metrics(said: Summary) -> Section:
    here = said.choices[0].here is not None
    header = ["metric", "positives", "threshold", "expected"] + ["this decision"] * here
    rows = []
    for one in said.choices:
        row = [metric_title(one.metric), f"{one.positives:,}", cut_text(said, one)]
        row.append(number(one.expected))
        if one.here is not None:
            row.append(number(one.here))
        rows.append(tuple(row))
    more = " The last column: this decision, scored by each metric." * here
    if said.kind == "labels":
        first = f"best for {metric_title(said.metric)}"
        more = f" The last column: the decision {first}, scored by each metric." * here
        header[-1] = first if here else header[-1]
    return Section(
        "metrics",
        "What other metrics would choose",
        (f"The best decision for each metric, and its expected score.{more}",),
        (ReportTable("Best decisions by metric", tuple(header), tuple(rows)),),
    )


def _calibration(said: Summary) -> Section:
    part = said.calibration
    assert part is not None
    metric, check = metric_title(said.metric), said.kind == "check"
    header = ("way to decide", f"forecast {metric}", f"actual {metric}", "gain", "")
    tables = (
        ReportTable(f"Ways to decide, compared on {part.on}", header, part.routes),
        ReportTable("Quality of the probabilities", ("", ""), part.facts),
    )
    caption = (
        "Points on the dotted line: the probabilities are right. Below it they are too "
        "high, above it too low. If the bars miss the line, recalibrate"
    )
    done = " (done here)" if said.scale.startswith("calibrated ") else ""
    how = f": {recalibrate(said)}" if not done else f"{done}."
    return Section(
        "calibration",
        "Reliability diagram" if check else "Are the probabilities reliable?",
        () if check else verdicts(said),
        tables,
        (f"{caption}{how}",),
    )


def _groups(said: Summary) -> Section:
    part = said.groups
    assert part is not None
    units, metric = units_of(said), metric_title(said.metric)
    lowest = f"lowest {said.scale} chosen"
    header = ("", "minimum", "lower quartile", "median", "upper quartile", "maximum")
    spread = [
        ("size", *(f"{x:,.0f}" for x in part.sizes)),
        (f"expected {metric}", *map(number, part.scores)),
    ]
    if part.cuts is not None:
        spread.insert(1, (lowest, *map(number, part.cuts)))
    least = [
        (
            one.name,
            f"{one.rows:,}",
            f"{one.positives:,}",
            "" if one.threshold is None else number(one.threshold),
            number(one.expected),
        )
        for one in part.least_certain
    ]
    names = (said.names.get("group", units[:-1]), "rows", "positives")
    positives = tuple((name, f"{n:,}") for name, n in part.by_positives)
    worst = "lowest" if said.greater_is_better else "highest"
    empty = f"{part.empty:,} of them get an empty answer: no row is predicted positive."
    if not part.empty:
        empty = "None of them gets an empty answer."
    return Section(
        "groups",
        f"{part.count:,} {units}",
        (empty,),
        (
            ReportTable(f"Spread over the {units}", header, tuple(spread)),
            ReportTable(
                f"Predicted positives per {units[:-1]}", ("positives", units), positives
            ),
            ReportTable(
                f"The {len(least)} {units} with the {worst} expected {metric}",
                (*names, lowest, f"expected {metric}"),
                tuple(least),
            ),
        ),
        (
            f"Each bar counts {units} by their expected {metric}. Check the {worst} "
            f"ones first: the table below names them.",
        ),
    )


def _truth(said: Summary) -> Section:
    part = said.truth
    assert part is not None
    assert said.score is not None
    cells, expected = part.counts, part.expected_counts
    metric = metric_title(said.metric)

    def cell(name: str) -> str:
        return f"{cells[name]:,} ({expected[name]:,.1f} expected)"

    score = said.score
    text = [
        f"Actual {metric} {number(part.score)}, forecast {number(score.mean)} "
        f"({percent(score.coverage)} interval {scores(score.low, score.high)})."
    ]
    if part.surprise:
        text.append(
            "The actual score lies outside the interval. That is rarely chance: the "
            "probabilities are probably not reliable as given."
        )
    captions = [
        "Shares are of each row; cells outside the diagonal are errors. Raise the "
        "threshold for fewer false positives, lower it to miss fewer positives."
    ]
    if part.ranked is not None:
        prevalence = share(cells["tp"] + cells["fn"], said.n)
        captions += [
            "Up and to the left is better; the dotted line is guessing. With few "
            "positives this curve looks better than the decisions are: judge by the "
            "next one.",
            "Up and to the right is better; the dotted line is guessing, the share of "
            f"positives ({prevalence}). A higher threshold moves the point left.",
        ]
    table = ReportTable(
        "Confusion matrix",
        ("", "predicted positive", "predicted negative"),
        (
            ("actual positive", cell("tp"), cell("fn")),
            ("actual negative", cell("fp"), cell("tn")),
        ),
    )
    assert said.half is not None
    assert said.best_cut is not None
    assert said.chosen is not None
    own = "these labels" if said.kind == "labels" else "this decision"
    rows = [
        (own, said.chosen.expected, part.score),
        ("best single threshold", said.best_cut.expected, part.best_cut),
        ("0.5 cut-off", said.half.expected, part.half),
    ]
    if is_best_cut(said):
        del rows[1]
    compared = ReportTable(
        f"Expected and actual {metric}",
        ("", "expected", "actual"),
        tuple((name, number(first), number(second)) for name, first, second in rows),
    )
    return Section(
        "truth",
        f"Actual {metric}",
        tuple(text),
        (table, compared),
        tuple(captions),
    )


def _tags(part: Tags) -> Iterator[Section]:
    if part.types:
        header = (
            "type",
            "precision",
            "recall",
            "F1",
            "right",
            "there are",
            "predicted",
        )
        table = ReportTable(
            "A chunk is right if its borders and its type are", header, part.types
        )
        yield Section("types", "Scores by type", (), (table,))
    if part.confusions:
        table = ReportTable(
            "Labels of tokens", ("actual", "predicted", "tokens"), part.confusions
        )
        yield Section("confusions", "Most frequent confusions", (), (table,))
    if part.examples:
        text = "Sentences with errors: the actual labels, then the predicted ones."
        yield Section("examples", "Examples", (text,), examples=part.examples)


def _over(metric: str, over: Over) -> Section:
    last = len(over.rows) - 1
    places = sorted({round(last * i / 9) for i in range(10)})
    rows = tuple(
        (
            f"{over.rows[i]:,}",
            number(over.score[i]),
            number(over.recent[i]),
            number(over.threshold[i]),
            share(over.predicted[i], 1.0),
            share(over.actual[i], 1.0),
        )
        for i in places
    )
    metric = metric_title(metric)
    shares = ("recent predicted positives", "recent actual positives")
    header = ("rows", f"{metric} so far", f"recent {metric}", "threshold", *shares)
    texts = [
        "Every row was predicted before its label was seen. Recent means the last "
        "fortieth of all rows."
    ]
    texts += [
        f"Alarm at row {alarm.rows:,}: {share(alarm.now, 1.0)} of the recent "
        f"predictions were wrong, {share(alarm.before, 1.0)} before; this is more than "
        "chance."
        for alarm in over.alarms
    ]
    looks = ReportTable("Ten points in time", header, rows)
    captions = (
        "If the recent score falls below the score so far, the data may have changed: "
        "check the input, then train again.",
        "A threshold that settles has learned; one that drifts follows the data.",
        "If the two lines part, the threshold lags behind the share of positives.",
    )
    return Section("over", "Over time", tuple(texts), (looks,), captions)
