"""forecast, tune and calibrate with ``--one-label``."""

from __future__ import annotations

from functools import partial
from typing import Any

from argmetric import _files as files
from argmetric._results.whole_files import writing
from argmetric.cli import _report
from argmetric.cli._errors import UsageError, gate
from argmetric.cli._option_sets import (
    Columns,
    Judge,
    RecalibrationOptions,
    Scores,
    Wide,
)
from argmetric.cli._progress import progress
from argmetric.cli.scores._classes import (
    asked,
    calibration_of,
    check_prior,
    class_table,
    column_labels,
    read_classes,
)
from argmetric.cli.scores._rows import Input


def forecast_classes(
    file: Input,
    wide: Wide,
    scores: Scores,
    columns: Columns,
    judge: Judge,
    recalibration: RecalibrationOptions,
    *,
    decision_column: str | None,
    prior: Any,
    coverage: float,
    fail_under: float | None,
    fail_on: str,
    json: bool,
) -> int:
    """Forecast a column of classes, or what `argmetric decide` would choose."""
    check_prior(prior)
    judge.of_classes()  # wrong usage comes before the file is read
    rows = read_classes(file, wide, scores, columns)
    given = calibration_of(rows, recalibration, scores, columns)
    taken = [one for one in (columns.group, rows.label) if one is not None]
    column = decision_column
    if column is None:
        usual = files.default_columns(rows.table, files.DECISION_NAMES, taken=taken)
        column = usual[0] if usual else None
    elif column is not None:
        column = files.named_column(rows.table, column)
    with progress(f"forecasting {rows.table.n_rows:,} rows"):
        from argmetric import decide, evaluate, forecast

        metric: Any = judge.of_classes(len(rows.classes))
        how: dict[str, Any] = {"classes": rows.classes, "groups": rows.groups}
        known = {"prior": prior, **how, **given}
        if column is None:
            decision = decide(rows.p, metric, **known)
            labels, found = decision.labels, decision.forecast(coverage)
        else:
            labels = column_labels(rows, column)
            found = forecast(rows.p, labels, metric, coverage, **known)
        real = None
        if rows.y is not None:
            real = float(evaluate(rows.y, labels, metric, **how))
    where = f"optimal for {metric.name}" if column is None else f"column {column!r}"
    summary = {
        **rows.described(decision=column),
        **found.to_dict(),
        "classes": rows.classes,
        "decision": where,
        "real": real,
        "notes": [
            *_report.as_flags(found.notes),
            *rows.notes,
            *_report.surprises(found, real),
        ],
    }
    _report.tell("forecast", summary, _forecast_facts, json=json)
    judged = found.mean if fail_on == "mean" else found.interval[0]
    return gate(judged, fail_under, metric, f"the forecast {metric.name}")


def _forecast_facts(summary: _report.Values) -> _report.Facts:
    return [
        *asked(summary),
        ("decision", summary["decision"]),
        _report.forecast_line(summary),
        ("assuming", "; ".join(summary["assumptions"])),
        *_report.real(summary),
    ]


def tune_classes(
    file: Input,
    wide: Wide,
    scores: Scores,
    columns: Columns,
    judge: Judge,
    *,
    coverage: float,
    seed: int,
    output: str | None,
    json: bool,
) -> int:
    """Find a weight for each class on labelled rows, and keep the rule."""
    found = judge.of_classes()  # wrong usage comes before the file is read
    if scores.logits:
        raise UsageError("tune takes probabilities: leave out --logits")
    rows = read_classes(file, wide, scores, columns, labelled=True)
    with progress(f"tuning on {rows.table.n_rows:,} rows"):
        from argmetric import tune

        how: dict[str, Any] = {"classes": rows.classes, "coverage": coverage}
        how |= {"random_state": seed, "average": "macro", **_convention(judge)}
        rule: Any = tune(rows.y, rows.p, judge.metric or "f1", **how)
    if output is not None:
        with writing(output):
            rule.save(output)
    summary = {
        **rows.described(),
        "metric": found.name,
        "convention": found.convention,
        "classes": rows.classes,
        "rule": rule.to_dict(),
        "output": output,
    }
    notes = [("note", note) for note in rule.notes]
    facts = partial(_tuned_facts, rule=rule)
    return _report.tell("tune", summary, facts, json=json, table=_weights, notes=notes)


def _convention(judge: Judge) -> dict[str, Any]:
    """Return the average and what absent classes count, where they were asked for."""
    zero = judge.zero_division
    given = {
        "average": judge.average,
        "zero_division": None if zero is None else float(zero),
    }
    return {name: value for name, value in given.items() if value is not None}


def _tuned_facts(summary: _report.Values, rule: Any) -> _report.Facts:
    lines = [line for line in rule._lines() if line[0] not in ("weights", "rows")]
    return [*asked(summary), *lines]


def _weights(summary: _report.Values) -> _report.Table:
    return class_table(
        summary, {"weight": [f"{one:.4g}" for one in summary["rule"]["weights"]]}
    )


def calibrate_classes(
    file: Input,
    wide: Wide,
    scores: Scores,
    columns: Columns,
    judge: Judge,
    *,
    method: Any,
    seed: int,
    output: str | None,
    json: bool,
) -> int:
    """Check class probabilities against labels, and write the map that mends them."""
    judge.of_classes()  # wrong usage comes before the file is read
    rows = read_classes(file, wide, scores, columns, labelled=True)
    with progress(f"calibrating on {rows.table.n_rows:,} rows"):
        from argmetric import calibrate, calibration_check

        how: dict[str, Any] = {
            "classes": rows.classes,
            "logits": scores.logits,
            "method": method,
        }
        calibrator = calibrate(rows.y, rows.p, **how)
        how |= {"groups": rows.groups, "random_state": seed, **_convention(judge)}
        check = calibration_check(rows.y, rows.p, judge.metric or "f1", **how)
    if output is not None:
        with writing(output):
            calibrator.save(output)
    summary = {
        **rows.described(),
        "metric": check.metric.name,
        "convention": check.metric.convention,
        "n_groups": check.n_groups,
        "classes": rows.classes,
        "calibrator": calibrator.to_dict(),
        "formula": calibrator.formula,
        "check": check.to_dict(),
        "output": output,
    }
    facts = partial(_check_facts, check=check)
    notes = [("note", note) for note in check.notes]
    table = partial(_verdicts, check=check)
    return _report.tell(
        "calibrate", summary, facts, json=json, table=table, notes=notes
    )


def _check_facts(summary: _report.Values, check: Any) -> _report.Facts:
    from argmetric._calibration_check import reworded

    decides, forecasts = reworded(
        check.advice, "pass the map as --calibrator", "tune them"
    )
    return [
        *asked(summary),
        ("decide with p?", f"{check.fit_to_decide}: {decides}"),
        ("forecast with p?", f"{check.fit_to_forecast}: {forecasts}"),
        *check._route_lines(),
        ("ECE", f"{check.ece:.4f}, recalibrated {check.recalibrated.ece:.4f}"),
        ("map", summary["formula"]),
    ]


def _verdicts(summary: _report.Values, check: Any) -> _report.Table:
    """Return a row for each class, those that are not reliable first."""
    worst = check.worst
    columns: dict[str, list[str] | None] = {
        "reliable": [one.reliable for one in worst],
        "forecast": [f"{one.forecast_share:.2%}" for one in worst],
        "actual": [f"{one.share:.2%}" for one in worst],
        "95 % interval": [
            f"{one.share_low:.2%} to {one.share_high:.2%}" for one in worst
        ],
    }
    return class_table({"classes": [one.name for one in worst]}, columns)
