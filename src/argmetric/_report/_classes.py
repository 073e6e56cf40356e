"""Reports of one label per row: cards, gain per class, confusions and verdicts."""

from __future__ import annotations

from typing import Any

import numpy as np

from argmetric import classes as verbs
from argmetric._calibrate.resolve import check_pair
from argmetric._ground.display import metric_title
from argmetric._ground.types import Floats
from argmetric._report._check import RELIABLE, check_page, check_table, verdict_text
from argmetric._report._figures import by_name, count, number, short
from argmetric._report._report import (
    Card,
    PageTable,
    Report,
    Row,
    Section,
    cards_of,
    forecast_card,
    said_of,
)
from argmetric.classes import ClassCalibrationCheck, ClassDecision, codes_of

SHOWN = 30  # classes in a table
WHOLE = 6  # classes up to which a confusion matrix is shown whole
PAIRS = 12  # most frequent confusions of more classes
SHARES_DIFFER = "A class whose bars differ is forecast too often or too seldom."
LONGEST = 18  # letters of the name of a class


def report_class_decision(
    decision: ClassDecision,
    y: Any = None,
    *,
    coverage: float = 0.9,
    reference: Any = None,
    names: dict[str, str] | None = None,
) -> Report:
    """A report of a decision among several classes, and of what came true."""
    batch = decision._batch
    if batch is None:
        raise ValueError("a decision that was pickled has no report: it needs p")
    forecast = decision.forecast(coverage)
    metric: Any = decision.metric
    title = metric_title(metric.name)
    usual = said_of(decision)["most_probable"]
    cards = [forecast_card(title, forecast), *cards_of([usual])]
    given: dict[str, Any] = {"classes": decision.classes, "groups": batch.groups}
    actual: Any = None
    checked: Any = reference
    on, notes, classes = "the reference", list(decision.notes), decision.classes
    if y is not None:
        codes_of(y, classes, len(decision.labels), "y")  # names y where wrong
        actual = verbs.evaluate(y, decision.labels, metric, **given)
        plain = np.array(classes)[batch.p.argmax(axis=1)]
        of_plain = number(float(verbs.evaluate(y, plain, metric, **given)))
        side = "outside" if forecast.surprise(float(actual)) else "inside"
        below = f"{side} the interval of the forecast; the most probable class has "
        cards.append(Card(f"Actual {title}", number(float(actual)), below + of_plain))
        checked, on = (y, batch.p), "these rows"
    sections = [_per_class(decision, actual)]
    sections.append(_confusion("Expected", decision.expected_confusion, classes))
    if actual is not None:
        sections.append(_confusion("Actual", actual.confusion, classes))
    if checked is not None:
        given["groups"] = batch.groups if y is not None else None
        try:
            truth, p = check_pair(checked)
            check = verbs.check(truth, p, metric, **given)
            again = batch.calibrator is not None and y is not None
            how = ("recalibrate on newer labelled rows", "tune weights") * again
            sections.append(_checked(check, on, verdict_text(check, *how)))
        except ValueError as error:
            notes.append(f"the probabilities were not checked: {error}")
    names, rows = names or {}, count(decision.n, "row")
    if "file" in names:
        rows = f"{names['file']}: {rows}"
    n_groups = None if batch.groups is None else batch.groups.count
    return Report(
        kind="classes",
        title=f"One class for each of {decision.n:,} rows",
        subtitle=f"{rows}; metric: {_in_words(metric, n_groups)}",
        cards=tuple(cards),
        sections=tuple(sections),
        notes=tuple(notes),
        assumptions=forecast.assumptions,
        names=names,
        values={
            "decision": decision.to_dict(),
            "forecast": forecast.to_dict(),
            "actual": None if actual is None else actual.to_dict(),
        },
    )


def report_class_check(check: ClassCalibrationCheck) -> Report:
    """A report of the verdicts on class probabilities."""
    return check_page(check, _checked(check), _in_words(check.metric, check.n_groups))


def _in_words(metric: Any, n_groups: int | None) -> str:
    """The metric, the groups, and what absent classes count."""
    over = "" if n_groups is None else f", mean over {n_groups:,} groups"
    convention = f"; {metric.convention}" if metric.convention else ""
    return f"{metric_title(metric.name)}{over}{convention}"


def _per_class(decision: ClassDecision, actual: Any) -> Section:
    """Rows and scores of each class, the greatest gain first."""
    own = metric_title(decision.metric.name.rpartition(" ")[2])
    values, usual = decision.per_class, decision.per_class_most_probable
    order = np.argsort(-decision.expected_counts, kind="stable")
    header = ["class", "rows given", "rows expected"]
    if values is not None and usual is not None:
        order = np.argsort(usual - values, kind="stable")
        header += [f"expected {own}", "gain"]
    scored = None if actual is None else actual.per_class
    header += [] if scored is None else [f"actual {own}"]
    rows = []
    for c in order[:SHOWN].tolist():
        row = [short(decision.classes[c], LONGEST), f"{decision.counts[c]:,}"]
        row.append(f"{decision.expected_counts[c]:,.1f}")
        if values is not None and usual is not None:
            row += [number(values[c]), f"{values[c] - usual[c]:+.3f}"]
        if scored is not None:
            row.append("left out" if np.isnan(scored[c]) else number(scored[c]))
        rows.append(tuple(row))
    caption = f"Classes: {len(rows)} of {len(decision.classes)}"
    table = PageTable(caption, tuple(header), rows)
    some = order[:SHOWN]
    names = [str(decision.classes[c]) for c in some]
    if values is None or usual is None:
        rows_of = {"expected": decision.expected_counts, "given": decision.counts}
        series = {word: counts[some] for word, counts in rows_of.items()}
        caption = "Rows that are expected in a class, and rows that are given it."
        picture = by_name(caption, "rows", names, series)
        return Section("classes", "Rows of each class", (), (table,), (picture,))
    series = {"most probable class": usual[some], "this decision": values[some]}
    caption = "The gain of a class is in expected score, over the most probable class."
    picture = by_name(caption, f"expected {own}", names, series)
    return Section("classes", "Gain of each class", (), (table,), (picture,))


def _confusion(kind: str, counts: Floats, classes: tuple[Any, ...]) -> Section:
    """The whole matrix of few classes; of more, the most frequent confusions."""
    digits = ",.1f" if kind == "Expected" else ",.0f"
    key, names = f"confusion-{kind.lower()}", [short(one, LONGEST) for one in classes]
    rows: list[Row]
    if len(classes) <= WHOLE:
        rows = [
            (name, *(f"{cell:{digits}}" for cell in row))
            for name, row in zip(names, counts, strict=True)
        ]
        table = PageTable(f"{kind} rows", ("", *names), rows)
        text = "Rows are actual classes, columns are predicted ones."
        return Section(key, f"{kind} confusion matrix", (text,), (table,))
    wrong, rows = counts - np.diag(np.diagonal(counts)), []
    for cell in np.argsort(-wrong.ravel(), kind="stable")[:PAIRS].tolist():
        a, b = divmod(cell, len(classes))
        if wrong[a, b] <= 0.0:
            break
        own = counts[a].sum()
        share = f"{wrong[a, b] / own:.0%}" if own > 0.0 else ""
        rows.append((names[a], names[b], f"{wrong[a, b]:{digits}}", share))
    right = np.trace(counts) / max(counts.sum(), 1e-300)
    text = f"{right:.0%} of the rows get their own class. The most frequent errors:"
    header = ("actual", "predicted", "rows", "of the class")
    table = PageTable(f"{kind} errors", header, rows)
    return Section(key, f"{kind} confusions", (text,), (table,))


def _checked(
    check: ClassCalibrationCheck, on: str = "these rows", text: tuple[str, ...] = ()
) -> Section:
    """Shares of every class, forecast and actual, and what the check says."""
    some = check.worst[:SHOWN]
    shares = {
        "forecast": [one.forecast_share for one in some],
        "actual": [one.share for one in some],
    }
    names, table = [str(one.name) for one in some], check_table(check, on)
    picture = by_name(SHARES_DIFFER, "share of the rows", names, shares)
    return Section("class-check", RELIABLE, text, (table,), (picture,))
