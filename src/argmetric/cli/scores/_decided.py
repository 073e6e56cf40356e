"""What a joint decision is, as values for JSON and as lines for people."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from argmetric.cli import _report
from argmetric.cli._summary import (
    Values,
    as_flags,
    batch_described,
    forecast_values,
    short_threshold,
    split_ties,
    surprises,
)
from argmetric.cli.scores._load import Batch

if TYPE_CHECKING:
    from argmetric import Decision


def decision_summary(
    batch: Batch,
    decision: Decision,
    coverage: float,
    output: str | None,
    prior: float | Literal["estimate"] | None,
) -> Values:
    """Return what was decided for a batch, with the score to expect."""
    from argmetric import forecast

    forecast_ = forecast(
        batch.checked,
        decision.labels,
        batch.metric,
        coverage,
        **batch.grouping,
        **batch.compared,
        prior=prior,
    )
    # Thresholds are those of the scores that were decided on
    batch = replace(batch, calibrator=decision._asked["calibrator"])
    labels = batch.labels
    # That scores were recalibrated is said among the assumptions
    said = tuple(forecast_.assumptions)
    notes = as_flags(note for note in decision.notes if not note.startswith(said))
    real = batch.real_score(decision.labels)
    notes += surprises(forecast_, real)
    return {
        **batch_described(batch),
        "positives": decision.n_positives,
        "expected": decision.expected,
        "error": decision.error,
        "forecast": forecast_values(forecast_),
        "threshold": decision.threshold,
        "rule": _rule(batch, decision.threshold),
        "threshold_raw": decision.threshold_raw,
        "rule_raw": _raw_rule(batch, decision.threshold_raw),
        "ties": split_ties(batch, decision.labels),
        "best_cut": _cut(batch, decision.best_cut),
        "cut_half": _cut(batch, decision.cut_half),
        "real": real,
        "prior": prior,
        "calibrator": None if batch.calibrator is None else batch.calibrator.to_dict(),
        "notes": [*notes, *([labels.note] if labels.note else [])],
        "output": output,
        "route": None,
        "check": None,
    }


def _rule(batch: Batch, threshold: float | None) -> str | None:
    """Return a cut as people write it down, None where there is none."""
    if threshold is None or not math.isfinite(threshold):
        return None
    return f"{batch.scale_name} >= {short_threshold(batch.scale, threshold)}"


def _raw_rule(batch: Batch, threshold: float | None) -> str | None:
    """Return the same cut on the scores as they are in the file."""
    if threshold is None or not math.isfinite(threshold):
        return None
    return f"{batch.score} >= {short_threshold(batch.p, threshold)}"


def _cut(batch: Batch, cut: Any) -> Values:
    return {
        "threshold": cut.threshold,
        "rule": _rule(batch, cut.threshold),
        "positives": cut.n_positives,
        "expected": cut.expected,
        "real": batch.real_score((batch.scale >= cut.threshold).astype(np.int64)),
    }


def print_decision(summary: Values) -> None:
    """Print what was decided."""
    target = _report.console(stderr=True)
    share = summary["positives"] / summary["rows"]
    facts = [
        *_report.asked(summary),
        ("positives", f"{summary['positives']:,} ({100 * share:.1f} % of the rows)"),
        ("expected", _report.expectation(summary["expected"], summary["forecast"])),
        *_report.share(summary["forecast"]),
        ("threshold", _threshold(summary)),
        ("ties", _ties(summary)),
    ]
    if summary["real"] is not None:
        facts.append(("real score", _report.number(summary["real"])))
    _report.print_facts(target, "argmetric decide", facts)
    header = ["rule", "positives", "expected"]
    rows = [
        ("this decision", summary["positives"], summary["expected"], summary["real"])
    ]
    cuts = ("best single cut", summary["best_cut"]), ("cut at 0.5", summary["cut_half"])
    for name, values in cuts:
        nothing = "a tie is split" if values["positives"] else "nothing"
        rule = f"{name}: {values['rule'] or nothing}"
        rows.append((rule, values["positives"], values["expected"], values["real"]))
    if summary["real"] is not None:
        header.append("real")
    table = [
        [rule, f"{positives:,}", _report.number(expected), _report.number(real)]
        for rule, positives, expected, real in rows
    ]
    _report.print_table(target, header, [row[: len(header)] for row in table])
    _report.print_notes(target, "assumes", summary["forecast"]["assumptions"])
    _report.print_notes(target, "note", summary["notes"])
    _report.print_written(target, summary["output"])


def _threshold(summary: Values) -> str:
    rules = [summary["rule"], summary["rule_raw"]]
    if any(rules):
        shown = dict.fromkeys(rule for rule in rules if rule is not None)
        return f"{', or '.join(shown)} gives the same labels"
    if summary["positives"] == 0:
        return "none: nothing is predicted positive"
    if summary["average"] == "groups":
        return "none: each group has its own cut"
    return "none: a tie is split"


def _ties(summary: Values) -> str:
    ties = summary["ties"]
    if not ties["rows"]:
        return "no tie is split"
    where = f" in {_report.count(ties['groups'], 'group')}" if summary["groups"] else ""
    first = "earlier rows" if summary["calibrator"] is None else "higher scores"
    return (
        f"{_report.count(ties['rows'], 'row')}{where} left out with the same score as "
        f"a row that was chosen ({first} come first)"
    )
