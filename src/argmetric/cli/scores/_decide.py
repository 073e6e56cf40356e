"""``argmetric decide``."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import numpy as np
from cyclopts import Parameter

from argmetric.cli import _report
from argmetric.cli._errors import DONE, UsageError
from argmetric.cli._options import (
    CALIBRATION,
    COUNT,
    DEFAULT_COLUMNS,
    DEFAULT_JUDGE,
    DEFAULT_SCORES,
    LIMITS,
    NO_RECALIBRATION,
    Columns,
    Coverage,
    Jobs,
    JsonSummary,
    Judge,
    Most,
    NewDecisions,
    OutputFormat,
    Recalibration,
    ReportTarget,
    RowsFile,
    RowsTarget,
    RuleFile,
    Scores,
    Share,
)
from argmetric.cli._progress import progress
from argmetric.cli._summary import (
    Asked,
    ForecastValues,
    Number,
    Ties,
    batch_described,
    forecast_values,
    short_threshold,
    split_ties,
    surprises,
)
from argmetric.cli.scores._apply import (
    RuleSummary,
    apply_rule,
    print_rule,
    refuse_beside_rule,
    rule_summary,
)
from argmetric.cli.scores._load import Batch, load_batch
from argmetric.cli.scores._many import (
    NOT_MANY,
    Many,
    decide_many,
    refuse_beside_pieces,
)
from argmetric.cli.scores._page import (
    reference_of,
    report_decision,
    report_labels,
    require,
)
from argmetric.cli.scores._recalibrate import recalibrated
from argmetric.cli.scores._route import Route, take_route
from argmetric.cli.scores._rows_out import refuse_shared_output, rows_out

if TYPE_CHECKING:
    from argmetric import Decision


class CutValues(TypedDict):
    """A single cut on all rows."""

    threshold: Number
    rule: str | None
    positives: int
    expected: Number
    real: Number | None


class DecideSummary(Asked):
    """What `argmetric decide` prints as JSON."""

    positives: int
    expected: Number
    error: Number
    forecast: ForecastValues
    threshold: Number | None
    rule: str | None
    ties: Ties
    best_cut: CutValues
    cut_half: CutValues
    real: Number | None
    calibrator: dict[str, Any] | None
    notes: list[str]
    output: str | None
    route: str | None
    check: dict[str, Any] | None


def decide(
    file: RowsFile,
    /,
    *,
    scores: Scores = DEFAULT_SCORES,
    columns: Columns = DEFAULT_COLUMNS,
    judge: Judge = DEFAULT_JUDGE,
    recalibration: Recalibration = NO_RECALIBRATION,
    route: Annotated[Route, Parameter(group=CALIBRATION)] = "recalibrate",
    rule: RuleFile = None,
    max_positives: Most = None,
    min_positives: Annotated[int, Parameter(group=LIMITS, validator=COUNT)] = 0,
    min_precision: Share = None,
    min_recall: Share = None,
    coverage: Coverage = 0.9,
    output: RowsTarget = None,
    output_format: OutputFormat = None,
    decision_column: NewDecisions = "decision",
    report: ReportTarget = None,
    json: JsonSummary = False,
    jobs: Jobs = None,
    many: Many = NOT_MANY,
) -> int:
    """Choose the labels that maximise the expected metric, and write them to the rows.

    The rows come out as they went in, in the same order, with a column of 0 and 1
    added. A summary goes to standard error: what was asked, the positives chosen, the
    score to expect with its interval and its assumptions, what a cut at 0.5 and the
    best single cut would score, and the real score where labels are known.

    With --rule each row is decided by itself, by a rule of `argmetric tune`.

    A folder or a pattern such as 'scores/*.parquet', and a file larger than --memory,
    are worked on in pieces; the output is then a folder with the same files.

    Parameters
    ----------
    route
        With --reference: recalibrate the scores and decide; decide with the scores as
        they stand; tune one cut on the reference; cut at one half; or auto, which takes
        the one that does best out of fold on the reference, and says so.
    min_positives
        Choose at least this many; with --group, in each group.
    min_precision
        Keep the expected precision at or above this; with --group, in each group.
    min_recall
        Keep the expected recall at or above this; with --group, in each group.
    """
    refuse_shared_output(output, json=json)
    recalibration.check()
    if max_positives is not None and max_positives < min_positives:
        raise UsageError(
            f"--max-positives {max_positives} is below --min-positives {min_positives}"
        )
    limits: dict[str, Any] = {
        "min_positives": min_positives,
        "max_positives": max_positives,
        "min_precision": min_precision,
        "min_recall": min_recall,
    }
    if route != "recalibrate":
        _refuse_beside_route(route, recalibration, limits, rule)
    if many.asked_for(file):
        refuse_beside_pieces(
            route=route != "recalibrate",
            rule=rule is not None,
            output_format=output_format is not None,
            format=columns.format is not None,
            report=report is not None,
        )
        return decide_many(
            file,
            scores,
            columns,
            judge,
            recalibration,
            limits,
            many,
            output=output,
            decision_column=decision_column,
            json=json,
            jobs=jobs,
        )
    if rule is not None:
        refuse_beside_rule(judge, recalibration, limits, report)
        return apply_rule(
            file,
            rule,
            scores,
            columns,
            judge,
            coverage=coverage,
            output=output,
            output_format=output_format,
            decision_column=decision_column,
            json=json,
        )
    if report is not None:
        require(report)
    shared = recalibration.reference is not None
    batch = load_batch(file, scores, columns, judge, shared=shared)
    table = batch.table
    new = {decision_column: "--decision-column"}
    out = rows_out(table, output, output_format, json=json, new=new)
    summary: DecideSummary | RuleSummary
    show: Callable[[], None]
    with progress(f"deciding {table.n_rows:,} rows"):
        from argmetric import decide as decide_labels

        taken = None
        if route == "recalibrate":
            batch = recalibrated(batch, recalibration, columns)
        else:
            taken = take_route(batch, route, recalibration, columns, judge)
            batch = taken.batch
        if taken is not None and taken.rule is not None:
            chosen = taken.rule.applies(batch.p)
            by_rule = rule_summary(batch, taken.rule, chosen, coverage, out.target)
            labels = chosen.astype(np.int64)
            origin = f"{recalibration.reference}, route {taken.name}"
            summary, show = by_rule, partial(print_rule, by_rule, origin)
            shown = partial(report_labels, batch, labels)
        else:
            decision = decide_labels(
                batch.checked,
                batch.metric,
                **batch.grouping,
                **batch.scoring,
                **limits,
                n_jobs=jobs,
            )
            jointly = _summary(batch, decision, coverage, out.target)
            labels = decision.labels
            summary, show = jointly, partial(_print, jointly)
            shown = partial(report_decision, batch, decision)
    if taken is not None:
        summary["route"] = taken.name
        summary["check"] = None if taken.check is None else taken.check.to_dict()
        summary["notes"] = [taken.note, *summary["notes"]]
    out.write(table, {decision_column: labels}, numeric=frozenset({batch.score}))
    if report is not None:
        with progress("reporting"):
            reference = reference_of(batch, recalibration, columns)
            shown(report, coverage=coverage, reference=reference)
    if json:
        out.print_json(summary)
    else:
        show()
    return DONE


def _refuse_beside_route(
    route: str, recalibration: Recalibration, limits: dict[str, Any], rule: str | None
) -> None:
    if recalibration.reference is None:
        raise UsageError(f"--route {route} needs labelled rows: pass --reference FILE")
    if rule is not None:
        raise UsageError("--rule brings its own threshold; --route has no effect then")
    given = [name for name, value in limits.items() if value]
    if route != "decide" and given:
        option = given[0].replace("_", "-")
        raise UsageError(f"--{option} bounds a decision: pass --route decide with it")


def _summary(
    batch: Batch, decision: Decision, coverage: float, output: str | None
) -> DecideSummary:
    from argmetric import forecast

    forecast_ = forecast(
        batch.checked,
        decision.labels,
        batch.metric,
        coverage,
        **batch.grouping,
        **batch.scoring,
    )
    labels = batch.labels
    # That scores were recalibrated is said among the assumptions
    said = tuple(forecast_.assumptions)
    notes = [note for note in decision.notes if not note.startswith(said)]
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
        "ties": split_ties(batch, decision.labels),
        "best_cut": _cut(batch, decision.best_cut),
        "cut_half": _cut(batch, decision.cut_half),
        "real": real,
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


def _cut(batch: Batch, cut: Any) -> CutValues:
    return {
        "threshold": cut.threshold,
        "rule": _rule(batch, cut.threshold),
        "positives": cut.n_positives,
        "expected": cut.expected,
        "real": batch.real_score((batch.scale >= cut.threshold).astype(np.int64)),
    }


def _print(summary: DecideSummary) -> None:
    target = _report.console(stderr=True)
    share = summary["positives"] / summary["rows"]
    facts = [
        *_report.asked(summary),
        ("positives", f"{summary['positives']:,} ({100 * share:.1f} % of the rows)"),
        ("expected", _report.expectation(summary["expected"], summary["forecast"])),
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


def _threshold(summary: DecideSummary) -> str:
    if summary["rule"] is not None:
        return f"{summary['rule']} gives the same labels"
    if summary["positives"] == 0:
        return "none: nothing is predicted positive"
    if summary["average"] == "groups":
        return "none: each group has its own cut"
    return "none: a tie is split"


def _ties(summary: DecideSummary) -> str:
    ties = summary["ties"]
    if not ties["rows"]:
        return "no tie is split"
    where = f" in {_report.count(ties['groups'], 'group')}" if summary["groups"] else ""
    first = "earlier rows" if summary["calibrator"] is None else "higher scores"
    return (
        f"{_report.count(ties['rows'], 'row')}{where} left out with the same score as "
        f"a row that was chosen ({first} come first)"
    )
