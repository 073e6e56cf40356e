"""``argmetric decide``."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter

from argmetric._input.types import Floats
from argmetric.cli import _option_sets as sets
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._errors import UsageError, refuse
from argmetric.cli._progress import progress
from argmetric.cli._report import (
    Values,
    as_flags,
    batch_described,
    differs,
    forecast_values,
    short_threshold,
    split_ties,
    surprises,
)
from argmetric.cli.scores._load import ScoreBatch, load_batch
from argmetric.cli.scores._many import (
    IN_MEMORY,
    NOT_MANY,
    Many,
    decide_many,
)
from argmetric.cli.scores._recalibrate import Route, recalibrated, take_route
from argmetric.cli.scores._rows import gathered, refuse_shared_output, rows_out

if TYPE_CHECKING:
    from argmetric import Decision
    from argmetric._decide import Cut


def decide(
    file: opt.RowsFile,
    /,
    *more: opt.MoreFiles,
    scores: sets.Scores = sets.DEFAULT_SCORES,
    wide: sets.Wide = sets.NOT_WIDE,
    one_label: opt.OneLabel = False,
    columns: sets.Columns = sets.DEFAULT_COLUMNS,
    judge: sets.Judge = sets.DEFAULT_JUDGE,
    recalibration: sets.RecalibrationOptions = sets.NO_RECALIBRATION,
    route: Annotated[Route, Parameter(group=opt.CALIBRATION)] = "recalibrate",
    prior: opt.PriorShare = None,
    rule: opt.RuleFile = None,
    max_positives: opt.Most = None,
    min_positives: opt.Least = 0,
    min_precision: opt.Share = None,
    min_recall: opt.Share = None,
    coverage: opt.Coverage = 0.9,
    output: opt.RowsTarget = None,
    output_format: opt.OutputFormat = None,
    decision_column: opt.NewDecisions = "decision",
    report: opt.ReportTarget = None,
    json: opt.JsonSummary = False,
    jobs: opt.Jobs = None,
    many: Many = NOT_MANY,
) -> int:
    """Choose the labels that maximise the expected metric, and write them to the rows.

    The rows are written in the same order, with a column of 0 and 1 added. A summary
    goes to standard error: the columns used, the number of positives, the forecast
    score with its interval and assumptions, the scores of a cut at 0.5 and of the best
    single cut, and the actual score where labels are known.

    With --rule each row is decided by itself, by a rule of `argmetric tune`, and the
    forecast is that of the labelled rows that the rule was tuned on. With
    `--scores 'p_*'` rows have several labels, each with a column of decisions. With
    `--scores 'p_*' --one-label` each row gets one of several classes.

    A folder or a pattern such as `'scores/*.parquet'`, and a file larger than --memory,
    are worked on in pieces; the output is then a folder with the same files.

    Parameters
    ----------
    route
        With --reference: recalibrate the scores and decide; decide with the scores as
        they are; tune one cut on the reference; cut at one half; or auto, which takes
        the way that scores best out of fold on the reference.
    min_positives
        Choose at least this many; with --group, in each group.
    min_precision
        Keep the expected precision at or above this; with --group, in each group.
    min_recall
        Keep the expected recall at or above this; with --group, in each group.
    """
    source = gathered(file, more)
    refuse_shared_output(output, json=json)
    recalibration.check(prior)
    if isinstance(max_positives, int) and max_positives < min_positives:
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
    if prior is not None:
        told = "{} does not support --prior: leave one out"
        refuse(told, route=route != "recalibrate", rule=rule, report=report)
    if many.asked_for(source):
        opt.refuse_percent(max_positives, "work in pieces")
        refuse(
            IN_MEMORY,
            route=route != "recalibrate",
            rule=rule,
            output_format=output_format,
            format=columns.format,
            report=report,
            prior=prior,
            scores=wide.scores,
        )
        return decide_many(
            source,
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
    if one_label:
        from argmetric.cli.scores import _classes

        refuse(
            _classes.UNSUPPORTED,
            route=route != "recalibrate",
            rule=rule,
            **limits | {"min_positives": min_positives or None},
        )
        return _classes.decide_classes(
            source,
            wide,
            scores,
            columns,
            judge,
            recalibration,
            prior=prior,
            coverage=coverage,
            output=output,
            output_format=output_format,
            decision_column=decision_column,
            report=report,
            json=json,
        )
    if wide.asked:
        from argmetric.cli.scores import _wide

        opt.refuse_percent(max_positives, "a decision on several labels")
        refuse(
            _wide.ONE_COLUMN,
            route=route != "recalibrate",
            report=report,
            prior=prior,
            reference=recalibration.reference,
        )
    if rule is not None:
        from argmetric.cli.scores._apply import apply_rule, refuse_beside_rule

        refuse_beside_rule(judge, recalibration, limits, report)
        return apply_rule(
            source,
            rule,
            wide,
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
        from argmetric.cli.scores._page import require

        require(report)
    batch: ScoreBatch
    if wide.asked:
        batch = _wide.load_wide(source, wide, scores, columns, judge)
    else:
        shared = recalibration.reference is not None
        batch = load_batch(source, scores, columns, judge, shared=shared)
    table = batch.table
    average = batch.grouping["average"]
    limits["max_positives"] = opt.as_count(max_positives, table.n_rows, average)
    names = batch.named(decision_column)
    new = dict.fromkeys(names, "--decision-column")
    out = rows_out(table, output, output_format, json=json, new=new)
    with progress(f"deciding {table.n_rows:,} rows"):
        taken, decision = None, None
        if route == "recalibrate":
            batch = recalibrated(batch, recalibration, columns)
        else:
            taken = take_route(batch, route, recalibration, columns, judge)
            batch = taken.batch
        if taken is not None and taken.rule is not None:
            from argmetric.cli.scores import _apply

            chosen = taken.rule.applies(batch.p)
            labels = chosen.astype(np.int64)
            rule_ = taken.rule
            summary = _apply.rule_summary(batch, rule_, chosen, coverage, out.target)
            origin = f"{recalibration.reference}, route {taken.name}"
            how: dict[str, Any] = {"facts": partial(_apply.rule_lines, origin=origin)}
        else:
            decision = batch.decide(**limits, prior=prior, n_jobs=jobs)
            labels = decision.labels
            if wide.asked:
                summary, how = _of_labels(batch, decision, coverage, out.target)
            else:
                summary = decision_summary(batch, decision, coverage, out.target, prior)
                how = {"facts": decision_facts, "table": cut_table}
    if taken is not None:
        summary["route"] = taken.name
        summary["check"] = None if taken.check is None else taken.check.to_dict()
        summary["notes"] = [taken.note, *summary["notes"]]
    added = dict(zip(names, np.atleast_2d(labels.T), strict=True))
    out.write(table, added, numeric=batch.score_columns)
    if report is not None:
        from argmetric.cli.scores import _page

        with progress("reporting"):
            reference = _page.reference_of(batch, recalibration, columns)
            options: dict[str, Any] = {"coverage": coverage, "reference": reference}
            if decision is None:
                _page.report_labels(batch, labels, report, **options)
            else:
                _page.report_decision(batch, decision, report, **options)
    return _report.tell(
        "decide", summary, json=json, stderr=True, unwritten="rows", **how
    )


def _of_labels(
    batch: Any, decision: Decision, coverage: float, output: str | None
) -> tuple[Values, dict[str, Any]]:
    """Return what was decided of several labels, and how it is shown."""
    from argmetric.cli.scores import _wide_summary as told

    expected = batch.forecast(decision.labels, coverage)
    source = f"optimal for {batch.metric.name}"
    given: dict[str, Any] = {"notes": as_flags(decision.notes), "output": output}
    summary = told.wide_summary(batch, source, decision.labels, expected, **given)
    return summary, {"facts": told.wide_facts, "table": told.label_table}


def _refuse_beside_route(
    route: str,
    recalibration: sets.RecalibrationOptions,
    limits: dict[str, Any],
    rule: str | None,
) -> None:
    if recalibration.reference is None:
        raise UsageError(f"--route {route} needs labelled rows: pass --reference FILE")
    if rule is not None:
        raise UsageError("--rule brings its own threshold; --route has no effect then")
    if route != "decide":
        refuse("{} bounds a decision: pass --route decide with it", **limits)


def decision_summary(
    batch: ScoreBatch,
    decision: Decision,
    coverage: float,
    output: str | None,
    prior: float | Literal["estimate"] | None,
) -> Values:
    """Return what was decided for a batch, with the score to expect."""
    forecast_ = batch.forecast(decision.labels, coverage, prior=prior)
    # Thresholds are those of the scores that were decided on
    batch = replace(batch, calibrator=decision._asked["calibrator"])
    mapped, given = (batch.scale_name, batch.scale), (batch.score, batch.p)
    labels = batch.labels
    # That scores were recalibrated is said among the assumptions
    said = tuple(forecast_.assumptions)
    notes = as_flags(note for note in decision.notes if not note.startswith(said))
    values = forecast_values(forecast_)
    if batch.calibrator is not None:
        notes += differs(decision.expected, values)
    real = batch.real_score(decision.labels)
    notes += surprises(forecast_, real)
    return {
        **batch_described(batch),
        "positives": decision.n_positives,
        "expected": decision.expected,
        "error": decision.error,
        "forecast": values,
        "threshold": decision.threshold,
        "rule": _rule(*mapped, decision.threshold),
        "threshold_raw": decision.threshold_raw,
        "rule_raw": _rule(*given, decision.threshold_raw),
        "ties": split_ties(batch, decision.labels),
        "best_cut": _cut(batch, decision.best_cut, *mapped),
        "cut_half": _cut(batch, decision.cut_half, *given),
        "real": real,
        "prior": prior,
        "calibrator": None if batch.calibrator is None else batch.calibrator.to_dict(),
        "notes": [*notes, *([labels.note] if labels.note else [])],
        "output": output,
        "route": None,
        "check": None,
    }


def _rule(score: str, scores: Floats, threshold: float | None) -> str | None:
    """Return a cut as people write it down, None where there is none."""
    if threshold is None or not math.isfinite(threshold):
        return None
    return f"{score} >= {short_threshold(scores, threshold)}"


def _cut(batch: ScoreBatch, cut: Cut, score: str, scores: Floats) -> Values:
    """Return a cut on scores of this name, and what it is worth."""
    return {
        "threshold": cut.threshold,
        "rule": _rule(score, scores, cut.threshold),
        "positives": cut.n_positives,
        "expected": cut.expected,
        "real": batch.real_score((scores >= cut.threshold).astype(np.int64)),
    }


def decision_facts(summary: Values) -> _report.Facts:
    """Return the lines on what was decided."""
    return [
        *_report.asked(summary),
        _report.positives(summary),
        _report.forecast_line(summary["forecast"]),
        *_report.share(summary["forecast"]),
        ("threshold", _threshold(summary)),
        ("ties", _ties(summary)),
        *_report.real(summary),
    ]


def cut_table(summary: Values) -> _report.Table:
    """Return the decision, the best single cut and the cut at one half in rows."""
    rows = [("this decision", summary)]
    for name, key in (("best single cut", "best_cut"), ("cut at 0.5", "cut_half")):
        cut = summary[key]
        nothing = "a tie is split" if cut["positives"] else "nothing"
        rows.append((f"{name}: {cut['rule'] or nothing}", cut))
    shown = "expected", *(() if summary["real"] is None else ("real",))
    table = [
        [rule, f"{cut['positives']:,}", *(_report.number(cut[key]) for key in shown)]
        for rule, cut in rows
    ]
    names = ["actual" if key == "real" else key for key in shown]
    return ["rule", "positives", *names], table


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
