"""Reports of one label per row: cards, gain per class, confusions and verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from argmetric._calibration_check import (
    ClassCalibrationCheck,
    ClassReliability,
    calibration_check,
    marked,
    reworded,
)
from argmetric._classes import ClassDecision, codes_of, evaluate_classes
from argmetric._input.arguments import check_share
from argmetric._input.types import Floats
from argmetric._report._numbers import number, percent, scores
from argmetric._report._report import Report
from argmetric._report._summary import ClassTable, Row, Summary
from argmetric._report._verdicts import VERDICTS
from argmetric._results.display import metric_title

SHOWN = 30  # classes in a table
WHOLE = 6  # classes up to which a confusion matrix is shown whole
PAIRS = 12  # most frequent confusions of more classes


def report_class_decision(
    decision: ClassDecision,
    y: Any = None,
    *,
    coverage: float = 0.9,
    reference: Any = None,
    names: dict[str, str] | None = None,
) -> Report:
    """A report of a decision among several classes, and of what came true."""
    if decision._batch is None:
        raise ValueError("a decision that was pickled has no report: it needs p")
    coverage = check_share(coverage, "coverage")
    forecast = decision.forecast(coverage)
    metric: Any = decision.metric
    batch = decision._batch
    title = metric_title(metric.name)
    low, high = forecast.interval
    gain = decision.expected - decision.most_probable
    interval = f"{percent(coverage)} interval {scores(low, high)}"
    cards = [
        (f"Forecast {title}", number(forecast.mean), interval),
        (f"Expected {title}", number(decision.expected), "what was maximised"),
        (
            "Most probable class instead",
            number(decision.most_probable),
            f"{gain:+.3f} expected gain of this decision",
        ),
    ]
    groups = None if batch.groups is None else batch.groups
    how: dict[str, Any] = {"classes": decision.classes, "groups": groups}
    actual: Any = None
    checked: Any = None
    notes = list(decision.notes)
    if y is not None:
        codes_of(y, decision.classes, len(decision.labels), "y")  # names y where wrong
        actual = evaluate_classes(y, decision.labels, metric, **how)
        plain = np.array(decision.classes)[batch.p.argmax(axis=1)]
        usual = float(evaluate_classes(y, plain, metric, **how))
        surprise = forecast.surprise(float(actual))
        side = "inside" if surprise is None else "outside"
        below = f"{side} the {percent(coverage)} interval of the forecast; the most "
        below += f"probable class has {number(usual)}"
        cards.append((f"Actual {title}", number(float(actual)), below))
        checked, on = (y, batch.p), "these rows"
    elif reference is not None:
        checked, on = reference, "the reference"
    tables = [_per_class(decision, actual)]
    tables.append(_confusion("Expected", decision.expected_confusion, decision.classes))
    if actual is not None:
        tables.append(_confusion("Actual", actual.confusion, decision.classes))
    if checked is not None:
        how["groups"] = groups if y is not None else None
        try:
            truth, given_p = checked
            check = calibration_check(truth, given_p, metric, one_label=True, **how)
            again = batch.calibrator is not None and y is not None
            tables += _verdicts(check, on, again=again)
        except ValueError as error:
            notes.append(f"the probabilities were not checked: {error}")
    return Report(
        Summary(
            kind="classes",
            metric=metric.name,
            convention=metric.convention,
            n=decision.n,
            n_groups=None if groups is None else groups.count,
            names=names or {},
            facts=tuple(cards),
            notes=tuple(notes),
            lines=tuple((one,) for one in forecast.assumptions),
            classes=tuple(tables),
        )
    )


def report_class_check(check: ClassCalibrationCheck) -> Report:
    """A report of the verdicts on class probabilities."""
    verdicts = check.fit_to_decide, check.fit_to_forecast
    names = "Reliable for decisions?", "Reliable for forecasts?"
    words = (VERDICTS.get(one, one) for one in verdicts)
    return Report(
        Summary(
            kind="check",
            metric=check.metric.name,
            convention=check.metric.convention,
            n=check.n,
            n_groups=check.n_groups,
            notes=check.notes,
            facts=tuple(zip(names, words, check.advice, strict=True)),
            classes=tuple(_verdicts(check, "these rows", told=True)),
        )
    )


def _verdict(one: ClassReliability) -> str:
    """Whether a class is reliable, and what is wrong if it is not."""
    word = VERDICTS.get(one.reliable, one.reliable)
    return f"{word}, {one.fault}" if one.fault else word


def _short(name: Any) -> str:
    text = str(name)
    return text if len(text) <= 18 else f"{text[:17]}…"


def _per_class(decision: ClassDecision, actual: Any) -> ClassTable:
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
        row = [_short(decision.classes[c]), f"{decision.counts[c]:,}"]
        row.append(f"{decision.expected_counts[c]:,.1f}")
        if values is not None and usual is not None:
            row += [number(values[c]), f"{values[c] - usual[c]:+.3f}"]
        if scored is not None:
            row.append("left out" if np.isnan(scored[c]) else number(scored[c]))
        rows.append(tuple(row))
    text = "The gain is that over the most probable class, in expected score."
    return ClassTable(
        "classes",
        "Gain of each class" if values is not None else "Rows of each class",
        (text,) if values is not None else (),
        _caption("Classes", decision.classes),
        tuple(header),
        tuple(rows),
    )


def _caption(what: str, classes: tuple[Any, ...]) -> str:
    if len(classes) <= SHOWN:
        return what
    return f"{what}: {SHOWN} of {len(classes)}"


def _confusion(kind: str, counts: Floats, classes: tuple[Any, ...]) -> ClassTable:
    """The whole matrix of few classes; of more, the most frequent confusions."""
    digits = ",.1f" if kind == "Expected" else ",.0f"
    key, name = f"confusion-{kind.lower()}", f"{kind} confusion matrix"
    if len(classes) <= WHOLE:
        header = ("", *(_short(one) for one in classes))
        rows = [
            (_short(one), *(f"{cell:{digits}}" for cell in row))
            for one, row in zip(classes, counts, strict=True)
        ]
        text = "Rows are actual classes, columns are predicted ones."
        return ClassTable(key, name, (text,), f"{kind} rows", header, tuple(rows))
    wrong = counts - np.diag(np.diagonal(counts))
    rows = []
    for cell in np.argsort(-wrong.ravel(), kind="stable")[:PAIRS].tolist():
        a, b = divmod(cell, len(classes))
        if wrong[a, b] <= 0.0:
            break
        own = counts[a].sum()
        share = f"{wrong[a, b] / own:.0%}" if own > 0.0 else ""
        names = _short(classes[a]), _short(classes[b])
        rows.append((*names, f"{wrong[a, b]:{digits}}", share))
    right = np.trace(counts) / max(counts.sum(), 1e-300)
    text = f"{right:.0%} of the rows get their own class. The most frequent errors:"
    header = ("actual", "predicted", "rows", "of the class")
    caption = f"{kind} errors"
    return ClassTable(key, f"{kind} confusions", (text,), caption, header, tuple(rows))


def _verdicts(
    check: ClassCalibrationCheck, on: str, *, told: bool = False, again: bool = False
) -> Iterator[ClassTable]:
    """Every class and every way to decide, on labelled rows.

    `told`: the advice stands on the cards; `again`: p went through a map already.
    """
    advice: tuple[str, ...] = check.advice
    if again:
        advice = reworded(advice, "recalibrate on newer labelled rows", "tune weights")
    rows: list[Row] = [
        (
            _short(one.name),
            _verdict(one),
            f"{one.forecast_share:.1%}",
            f"{one.share:.1%}",
            f"{one.share_low:.1%} to {one.share_high:.1%}",
        )
        for one in check.worst[:SHOWN]
    ]
    header = ("class", "reliable?", "forecast share", "actual share", "95 % interval")
    yield ClassTable(
        "class-check",
        "Are the probabilities reliable?",
        () if told else tuple(f"{one[0].upper()}{one[1:]}." for one in advice),
        _caption(f"Classes on {on}, the least reliable first", check.classes),
        header,
        tuple(rows),
    )
    title = metric_title(check.metric.name)
    ways = tuple(
        (
            one.words,
            number(one.score),
            "" if one.name == "decide" else f"{one.gain:+.3f}",
            marked(check, one),
        )
        for one in check.routes
    )
    yield ClassTable(
        "class-routes",
        f"Ways to decide, compared on {on}",
        (),
        "None was fitted on the rows that it labels",
        ("way to decide", f"actual {title}", "gain", ""),
        ways,
    )
