"""What a report says: words and tables, the same for a page, Markdown and text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from argmetric.report._numbers import count, number, percent, scores, share, threshold
from argmetric.report._summary import (
    Chosen,
    Example,
    MarkedWords,
    Over,
    Row,
    Summary,
    Tags,
)

SIGNS = {"right": "✓", "missed": "missed", "wrong": "✗"}


@dataclass(frozen=True)
class ReportTable:
    """Rows under a header, with a caption that says what they are."""

    caption: str
    header: Row
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Section:
    """A part of a report; `key` names the picture that a page shows with it."""

    key: str
    title: str
    text: tuple[str, ...]
    tables: tuple[ReportTable, ...] = ()
    after: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True)
class Card:
    """A figure that has to be seen first."""

    name: str
    value: str
    below: str


@dataclass(frozen=True)
class Document:
    """A whole report."""

    title: str
    subtitle: str
    cards: tuple[Card, ...]
    assumptions: tuple[str, ...]
    changes: ReportTable | None
    change: str
    notes: tuple[str, ...]
    sections: tuple[Section, ...]


def units_of(said: Summary) -> str:
    return {"samples": "rows", "macro": "labels"}.get(said.average or "", "groups")


def probability(said: Summary) -> str:
    """What the rows were decided by, in words."""
    calibrated = said.scale.startswith("calibrated ")
    return "calibrated probability" if calibrated else "probability"


def cut_text(said: Summary, cut: Chosen) -> str:
    """The cut of a decision in a few words."""
    if cut.positives == 0:
        return "none is positive"
    if cut.cut is not None:
        return f"{said.scale} ≥ {cut.cut}"
    if said.kind == "labels":
        return "as given"
    if said.n_groups is not None:
        return "one in each group" if units_of(said) == "groups" else "one for each"
    return "some rows of equal score"


def marked(piece: MarkedWords) -> str:
    """Words of a sentence in plain text, with what is to be said of them."""
    if not piece.mark:
        return piece.text
    return f"[{piece.text}: {piece.type} {SIGNS[piece.mark]}]"


def document(said: Summary) -> Document:
    """The words for a summary."""
    if said.kind in ("decision", "labels"):
        return _of_decision(said)
    title = {
        "rule": f"A rule for {said.metric}",
        "check": "Are these probabilities fit to decide with?",
        "tags": "Predicted labels against right ones",
        "stream": f"{said.metric} of a stream, row by row",
    }[said.kind]
    rows = count(said.n, "row")
    if said.over is not None:
        rows = f"{said.names['file']}: {rows}"
    if said.tags is not None:
        tokens = count(said.n, "token")
        rows = (
            f"{said.names['file']}: {count(said.tags.sentences, 'sentence')}, {tokens}"
        )
    return Document(
        title=title,
        subtitle=f"{rows}, judged by {said.metric}",
        cards=tuple(Card(*fact) for fact in said.facts),
        assumptions=(),
        changes=None,
        change="",
        notes=said.notes,
        sections=tuple(sections_of(said)),
    )


def _of_decision(said: Summary) -> Document:
    chosen, score = said.chosen, said.score
    assert chosen is not None
    assert score is not None
    which = "Predict" if said.kind == "decision" else "These labels call"
    title = f"{which} {chosen.positives:,} of {said.n:,} rows positive"
    over = ""
    if said.n_groups is not None:
        over = f", the mean over {said.n_groups:,} {units_of(said)}"
    file = f"{said.names['file']}: " if "file" in said.names else ""
    return Document(
        title=title,
        subtitle=f"{file}judged by {said.metric}{over}; {said.convention}",
        cards=tuple(_cards(said)),
        assumptions=score.assumptions,
        changes=_changes(said),
        change=_near(said),
        notes=said.notes,
        sections=tuple(sections_of(said)),
    )


def _cards(said: Summary) -> Iterator[Card]:
    chosen, score, half = said.chosen, said.score, said.half
    assert chosen is not None
    assert score is not None
    assert half is not None
    raw = "" if said.raw_cut is None else f"{said.raw_cut} as given; "
    yield Card(
        "Cut",
        cut_text(said, chosen),
        f"{raw}{share(chosen.positives, said.n)} of the rows are called positive; "
        f"{said.expected_positives:,.1f} positives are expected",
    )
    yield Card(
        f"Expected {said.metric}",
        number(chosen.expected),
        f"{percent(score.coverage)} interval {scores(score.low, score.high)}",
    )
    gain = chosen.expected - half.expected
    on = f"of {said.scale}: " if said.scale.startswith("calibrated ") else ""
    yield Card(
        "A cut at 0.5 instead",
        number(half.expected),
        f"{on}{half.positives:,} positives; {_gain(said, gain)}",
    )
    if said.truth is not None:
        inside = "inside" if said.truth.surprise is None else "outside of"
        yield Card(
            f"actual {said.metric}",
            number(said.truth.score),
            f"{inside} the interval that was forecast",
        )


def _gain(said: Summary, gain: float) -> str:
    better = gain if said.greater_is_better else -gain
    if abs(better) < 5e-5:
        return "this decision scores the same"
    how = "more" if gain > 0 else "less"
    return f"this decision scores {number(abs(gain))} {how}"


def _changes(said: Summary) -> ReportTable | None:
    if not said.changes:
        return None
    rows = [
        (one.what, number(one.here), f"{one.positives:,}", number(one.best))
        for one in said.changes
    ]
    header = ("If …", "this decision scores", "the best has", "and scores")
    return ReportTable(
        "Expected score if something is not as assumed", header, tuple(rows)
    )


def _near(said: Summary) -> str:
    curves = said.curves
    assert curves is not None
    low, high = (curves.k[at] for at in curves.near)
    if said.kind == "labels":
        best = said.choices[0]
        return (
            f"The best decision has {best.positives:,} positives and is expected to "
            f"score {number(best.expected)}."
        )
    first, last = (curves.cuts[at] for at in curves.near)
    cuts = f" ({said.scale} from {last} to {first})" if first and last else ""
    which = "The cut" if said.n_groups is None else "A single cut for all rows"
    return (
        f"{which} can move between {low:,} and {high:,} positives{cuts} and lose less "
        f"than 0.01 of {said.metric}."
    )


def sections_of(said: Summary) -> Iterator[Section]:
    if said.curves is not None:
        yield _curve(said)
        yield _mass(said)
        yield _metrics(said)
    if said.thresholds is not None:
        yield Section(
            "thresholds",
            f"{said.metric} against the threshold",
            ("Every cut between two different scores, on the rows it was tuned on.",),
            (ReportTable("The rule", ("", ""), said.lines),),
        )
    if said.calibration is not None:
        yield _calibration(said)
    if said.tags is not None:
        yield from _tags(said.tags)
    if said.over is not None and said.over.rows:
        yield _over(said.metric, said.over)
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
    rows: list[Row] = []
    for name, place, one, hits in (
        (own, at, said.chosen, held),
        ("best single cut", curves.best_cut, best, curves.hits[curves.best_cut]),
        ("cut at 0.5", curves.half, half, curves.hits[curves.half]),
    ):
        cells = (f"{one.positives:,}", cut_text(said, one), number(one.expected))
        precision = number(hits / one.positives) if one.positives else ""
        recall: Row = ()
        if curves.recall is not None:
            recall = ("" if place is None else number(curves.recall[place]),)
        rows.append((name, *cells, f"{hits:,.1f}", precision, *recall))
    expected = f"expected {said.metric}"
    header = ("", "positives", "cut", expected, "true positives", "precision", "recall")
    what = "the rows with the highest scores are called positive"
    if said.n_groups is not None:
        what = "one cut is made for all rows, whatever their group"
    caption = "Three decisions; scores and true positives are expected values"
    return Section(
        "curve",
        "Expected score against the number of positives",
        (f"How the score changes with how many positives there are, if {what}.",),
        (ReportTable(caption, header[: len(rows[0])], tuple(rows)),),
        (
            f"Every number is exact, at the {len(curves.k):,} numbers of positives "
            "that the page knows. Only the line between them is drawn straight; it is "
            "off by less than a pixel.",
        ),
    )


def _mass(said: Summary) -> Section:
    mass = said.mass
    assert mass is not None
    assert said.chosen is not None
    bins, total = len(mass.rows), sum(mass.positives)
    low = sum(mass.rows[: bins // 10])
    text = [
        f"{total:,.1f} positives are expected among {said.n:,} rows "
        f"({share(total, said.n)}); {share(low, said.n)} of the rows have a "
        f"{probability(said)} below 0.1.",
    ]
    held = sum(mass.chosen)
    if held > 0:
        text.append(
            f"The rows that are called positive hold {share(held, total)} of them."
        )
    return Section("mass", "Where the positives are expected", tuple(text))


def _metrics(said: Summary) -> Section:
    here = said.choices[0].here is not None
    header = ["metric", "positives", "cut", "expected"] + ["this decision"] * here
    rows = []
    for one in said.choices:
        row = [one.metric, f"{one.positives:,}", cut_text(said, one)]
        row.append(number(one.expected))
        if one.here is not None:
            row.append(number(one.here))
        rows.append(tuple(row))
    more = " The last column is what the present decision scores in each." * here
    if said.kind == "labels":
        more = " The last column is what the best decision for the first one scores."
        more *= here
        header[-1] = "the first one" if here else header[-1]
    return Section(
        "metrics",
        "What other metrics would choose",
        (f"The best decision on the same rows for each metric, and its score.{more}",),
        (ReportTable("Best decisions by metric", tuple(header), tuple(rows)),),
    )


def _calibration(said: Summary) -> Section:
    part = said.calibration
    assert part is not None
    header = ("way to decide", said.metric, "expected", "gain", "")
    tables = [
        ReportTable(f"Ways to decide, compared on {part.on}", header, part.routes),
        ReportTable("Figures of the probabilities", ("", ""), part.facts),
    ]
    return Section(
        "calibration",
        "Can the probabilities be believed?",
        (
            f"Reliable for decisions: {part.fit_to_decide}. Reliable for forecasts: "
            f"{part.fit_to_forecast}.",
            *(f"{_sentence(line)}." for line in part.advice),
        ),
        tuple(tables),
    )


def _sentence(line: str) -> str:
    return line if line.startswith("p ") else f"{line[:1].upper()}{line[1:]}"


def _groups(said: Summary) -> Section:
    part = said.groups
    assert part is not None
    units, lowest = units_of(said), f"lowest {said.scale} chosen"
    header = ("", "least", "a quarter below", "half below", "three quarters", "most")
    spread = [
        ("size", *(f"{x:,.0f}" for x in part.sizes)),
        (f"expected {said.metric}", *map(number, part.scores)),
    ]
    if part.cuts is not None:
        spread.insert(1, (lowest, *map(threshold, part.cuts)))
    least = [
        (
            one.name,
            f"{one.rows:,}",
            f"{one.positives:,}",
            "" if one.threshold is None else threshold(one.threshold),
            number(one.expected),
        )
        for one in part.least_certain
    ]
    names = (said.names.get("group", units[:-1]), "rows", "positives")
    positives = tuple((name, f"{n:,}") for name, n in part.by_positives)
    empty = f"{part.empty:,} of them get an empty answer: no row is called positive."
    if not part.empty:
        empty = "None of them gets an empty answer."
    return Section(
        "groups",
        f"{part.count:,} {units}",
        (empty,),
        (
            ReportTable(f"Spread over the {units}", header, tuple(spread)),
            ReportTable(
                f"How many positives the {units} get", ("positives", units), positives
            ),
            ReportTable(
                f"The {len(least)} least certain {units}",
                (*names, lowest, f"expected {said.metric}"),
                tuple(least),
            ),
        ),
    )


def _truth(said: Summary) -> Section:
    part = said.truth
    assert part is not None
    assert said.score is not None
    cells, expected = part.counts, part.expected_counts

    def cell(name: str) -> str:
        return f"{cells[name]:,} ({expected[name]:,.1f} expected)"

    score = said.score
    text = [
        f"{said.metric} is {number(part.score)}; {number(score.mean)} was expected, "
        f"{scores(score.low, score.high)} with {percent(score.coverage)}."
    ]
    if part.surprise:
        text.append(
            "The interval does not hold it. Now and then that is chance; more often "
            "the probabilities cannot be believed as they stand."
        )
    table = ReportTable(
        "Confusion matrix",
        ("", "called positive", "called negative"),
        (
            ("is positive", cell("tp"), cell("fn")),
            ("is negative", cell("fp"), cell("tn")),
        ),
    )
    assert said.half is not None
    assert said.best_cut is not None
    assert said.chosen is not None
    compared = ReportTable(
        "Expected and real score",
        ("", "expected", "real"),
        (
            ("this decision", number(said.chosen.expected), number(part.score)),
            ("best single cut", number(said.best_cut.expected), number(part.best_cut)),
            ("cut at 0.5", number(said.half.expected), number(part.half)),
        ),
    )
    return Section("truth", "What came true", tuple(text), (table, compared))


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
            "Chunks are right if borders and type are", header, part.types
        )
        yield Section("types", "Scores by type", (), (table,))
    if part.confusions:
        table = ReportTable(
            "Labels of tokens", ("is", "was called", "tokens"), part.confusions
        )
        yield Section("confusions", "The commonest confusions", (), (table,))
    if part.examples:
        text = "Some sentences with mistakes, first as they are, then as predicted."
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
    shares = ("called positive of late", "positive of late")
    header = ("rows", f"{metric} so far", "of late", "threshold", *shares)
    texts = [
        "Every row was predicted before its label was seen. Of late means: in the "
        "last fortieth of all rows."
    ]
    texts += [
        f"Alarm at row {alarm.rows:,}: {share(alarm.now, 1.0)} of the rows of late "
        f"were predicted wrongly, {share(alarm.before, 1.0)} before, beyond chance."
        for alarm in over.alarms
    ]
    looks = ReportTable("Some of the looks", header, rows)
    return Section("over", "Over time", tuple(texts), (looks,))
