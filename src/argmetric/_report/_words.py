"""What a report says: words and tables, the same for a page, Markdown and text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from argmetric._report._numbers import count, number, percent, scores, share
from argmetric._report._sections import (
    ReportTable,
    Section,
    cut_text,
    half_text,
    sections_of,
    units_of,
)
from argmetric._report._summary import Summary
from argmetric._report._verdicts import in_options, warnings
from argmetric._results.display import metric_title


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


def document(said: Summary) -> Document:
    """The words for a summary."""
    if said.kind in ("decision", "labels"):
        return _of_decision(said)
    title = {
        "rule": f"A threshold for {metric_title(said.metric)}",
        "check": "Are these probabilities reliable?",
        "tags": "Predicted labels against actual labels",
        "stream": f"{metric_title(said.metric)} of a stream, row by row",
        "classes": f"One class for each of {said.n:,} rows",
        "monitor": f"Is the model still good? {metric_title(said.metric)} by period",
    }[said.kind]
    rows, several = count(said.n, "row"), said.kind == "classes"
    if said.over is not None or (said.classes and "file" in said.names):
        rows = f"{said.names['file']}: {rows}"
    if said.tags is not None:
        tokens = count(said.n, "token")
        rows = (
            f"{said.names['file']}: {count(said.tags.sentences, 'sentence')}, {tokens}"
        )
    return Document(
        title=title,
        subtitle=f"{rows}; metric: {metric_title(said.metric)}{_of_classes(said)}",
        cards=tuple(Card(*fact) for fact in said.facts),
        assumptions=tuple(line for (line,) in said.lines) if several else (),
        changes=None,
        change="",
        notes=tuple(in_options(said, note) for note in said.notes),
        sections=tuple(sections_of(said)),
    )


def _of_classes(said: Summary) -> str:
    """The groups, and what absent classes count, of one label per row."""
    if not said.classes:
        return ""
    over = "" if said.n_groups is None else f", mean over {said.n_groups:,} groups"
    return over + (f"; {said.convention}" if said.convention else "")


def _of_decision(said: Summary) -> Document:
    chosen, score = said.chosen, said.score
    assert chosen is not None
    assert score is not None
    which = "Predict" if said.kind == "decision" else "These labels predict"
    title = f"{which} {chosen.positives:,} of {said.n:,} rows positive"
    over = ""
    if said.n_groups is not None:
        over = f", mean over {said.n_groups:,} {units_of(said)}"
    file = f"{said.names['file']}: metric " if "file" in said.names else "Metric "
    metric = metric_title(said.metric)
    return Document(
        title=title,
        subtitle=f"{file}{metric}{over}; {said.convention}",
        cards=tuple(_cards(said)),
        assumptions=score.assumptions,
        changes=_changes(said),
        change=_near(said),
        notes=(
            *warnings(said),
            *(in_options(said, note) for note in said.notes),
        ),
        sections=tuple(sections_of(said)),
    )


def _cards(said: Summary) -> Iterator[Card]:
    chosen, score, half = said.chosen, said.score, said.half
    assert chosen is not None
    assert score is not None
    assert half is not None
    metric, truth = metric_title(said.metric), said.truth
    raw = "" if said.raw_cut is None else f"{said.raw_cut} as given; "
    yield Card(
        "Threshold",
        cut_text(said, chosen),
        f"{raw}{share(chosen.positives, said.n)} of the rows are predicted positive; "
        f"{said.expected_positives:,.1f} actual positives are expected",
    )
    within = f"{percent(score.coverage)} interval {scores(score.low, score.high)}"
    mapped = said.scale.startswith("calibrated ")
    if mapped and number(score.mean) != number(chosen.expected):
        within += (
            f"; {number(chosen.expected)} is expected under one map of the scores, as "
            "all expected scores here are, and the forecast is over all maps that the "
            "labelled rows allow"
        )
    yield Card(f"Forecast {metric}", number(score.mean), within)
    on = f"{half_text(said)}, " if said.scale.startswith("calibrated ") else ""
    below = f"{on}{half.positives:,} positives; "
    below += _compared(half.expected, chosen.expected)
    if truth is not None:
        actual = f"{number(truth.half)}, {_compared(truth.half, truth.score)}"
        below += f". Actual {metric} {actual}"
    yield Card("A 0.5 cut-off instead", number(half.expected), below)
    if truth is not None:
        inside = "inside" if truth.surprise is None else "outside"
        yield Card(
            f"Actual {metric}",
            number(truth.score),
            f"{inside} the {percent(score.coverage)} interval of the forecast",
        )


def _compared(other: float, own: float) -> str:
    if number(other) == number(own):
        return "the same as this decision"
    side = "above" if other > own else "below"
    return f"{number(abs(other - own))} {side} this decision"


def _changes(said: Summary) -> ReportTable | None:
    if not said.changes:
        return None
    rows = [
        (one.what, number(one.here), number(one.best), f"{one.positives:,}")
        for one in said.changes
    ]
    header = ("If …", "this decision", "best decision", "its positives")
    return ReportTable(
        f"Expected {metric_title(said.metric)} if an assumption fails",
        header,
        tuple(rows),
    )


def _near(said: Summary) -> str:
    curves = said.curves
    assert curves is not None
    low, high = (curves.k[at] for at in curves.near)
    if said.kind == "labels":
        best = said.choices[0]
        return (
            f"The best decision predicts {best.positives:,} positives and has an "
            f"expected {metric_title(said.metric)} of {number(best.expected)}."
        )
    first, last = (curves.cuts[at] for at in curves.near)
    cuts = f" ({said.scale} from {last} to {first})" if first and last else ""
    which = "The threshold" if said.n_groups is None else "A single threshold"
    return (
        f"{which} can move between {low:,} and {high:,} positives{cuts} with a loss "
        f"below 0.01 {metric_title(said.metric)}."
    )
