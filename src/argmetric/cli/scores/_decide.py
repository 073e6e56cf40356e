"""``argmetric decide``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

from argmetric.cli._errors import DONE, UsageError
from argmetric.cli._option_sets import (
    DEFAULT_COLUMNS,
    DEFAULT_JUDGE,
    DEFAULT_SCORES,
    NO_RECALIBRATION,
    Columns,
    Judge,
    Recalibration,
    Scores,
)
from argmetric.cli._options import (
    CALIBRATION,
    Coverage,
    Jobs,
    JsonSummary,
    Least,
    MoreFiles,
    Most,
    NewDecisions,
    OutputFormat,
    PriorShare,
    ReportTarget,
    RowsFile,
    RowsTarget,
    RuleFile,
    Share,
    as_count,
    refuse_percent,
)
from argmetric.cli._progress import progress
from argmetric.cli._summary import Values
from argmetric.cli.scores._decided import decision_summary, print_decision
from argmetric.cli.scores._inputs import gathered
from argmetric.cli.scores._load import load_batch
from argmetric.cli.scores._many import (
    NOT_MANY,
    Many,
    decide_many,
    refuse_beside_pieces,
)
from argmetric.cli.scores._recalibrate import recalibrated
from argmetric.cli.scores._route import Route, take_route
from argmetric.cli.scores._rows_out import refuse_shared_output, rows_out
from argmetric.cli.scores.wide._columns import NOT_WIDE, Wide, refuse_beside_wide


def decide(
    file: RowsFile,
    /,
    *more: MoreFiles,
    scores: Scores = DEFAULT_SCORES,
    wide: Wide = NOT_WIDE,
    columns: Columns = DEFAULT_COLUMNS,
    judge: Judge = DEFAULT_JUDGE,
    recalibration: Recalibration = NO_RECALIBRATION,
    route: Annotated[Route, Parameter(group=CALIBRATION)] = "recalibrate",
    prior: PriorShare = None,
    rule: RuleFile = None,
    max_positives: Most = None,
    min_positives: Least = 0,
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

    With --rule each row is decided by itself, by a rule of `argmetric tune`. With
    --scores 'p_*' rows have several labels, each with a column of decisions.

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
        _refuse_beside_prior(route=route != "recalibrate", rule=rule, report=report)
    if many.asked_for(source):
        refuse_percent(max_positives, "work in pieces")
        refuse_beside_pieces(
            route=route != "recalibrate",
            rule=rule is not None,
            output_format=output_format is not None,
            format=columns.format is not None,
            report=report is not None,
            prior=prior is not None,
            scores=wide.scores is not None,
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
    if wide.asked:
        from argmetric.cli.scores.wide._decide import decide_wide

        refuse_percent(max_positives, "a decision on several labels")
        refuse_beside_wide(
            route=route != "recalibrate",
            report=report is not None,
            prior=prior is not None,
        )
        return decide_wide(
            source,
            wide,
            scores,
            columns,
            judge,
            recalibration,
            limits,
            rule=rule,
            coverage=coverage,
            output=output,
            output_format=output_format,
            decision_column=decision_column,
            json=json,
            jobs=jobs,
        )
    if rule is not None:
        from argmetric.cli.scores._apply import apply_rule, refuse_beside_rule

        refuse_beside_rule(judge, recalibration, limits, report)
        return apply_rule(
            source,
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
        from argmetric.cli.scores._page import require

        require(report)
    shared = recalibration.reference is not None
    batch = load_batch(source, scores, columns, judge, shared=shared)
    table = batch.table
    average = batch.grouping["average"]
    limits["max_positives"] = as_count(max_positives, table.n_rows, average)
    new = {decision_column: "--decision-column"}
    out = rows_out(table, output, output_format, json=json, new=new)
    summary: Values | Values
    show: Callable[[], None]
    with progress(f"deciding {table.n_rows:,} rows"):
        from argmetric import decide as decide_labels

        taken, decision = None, None
        if route == "recalibrate":
            batch = recalibrated(batch, recalibration, columns)
        else:
            taken = take_route(batch, route, recalibration, columns, judge)
            batch = taken.batch
        if taken is not None and taken.rule is not None:
            from argmetric.cli.scores._apply import print_rule, rule_summary

            chosen = taken.rule.applies(batch.p)
            by_rule = rule_summary(batch, taken.rule, chosen, coverage, out.target)
            labels = chosen.astype(np.int64)
            origin = f"{recalibration.reference}, route {taken.name}"
            summary, show = by_rule, partial(print_rule, by_rule, origin)
        else:
            decision = decide_labels(
                batch.checked,
                batch.metric,
                **batch.grouping,
                **batch.compared,
                **limits,
                prior=prior,
                n_jobs=jobs,
            )
            jointly = decision_summary(batch, decision, coverage, out.target, prior)
            labels = decision.labels
            summary, show = jointly, partial(print_decision, jointly)
    if taken is not None:
        summary["route"] = taken.name
        summary["check"] = None if taken.check is None else taken.check.to_dict()
        summary["notes"] = [taken.note, *summary["notes"]]
    out.write(table, {decision_column: labels}, numeric=frozenset({batch.score}))
    if report is not None:
        from argmetric.cli.scores import _page

        with progress("reporting"):
            reference = _page.reference_of(batch, recalibration, columns)
            options: dict[str, Any] = {"coverage": coverage, "reference": reference}
            if decision is None:
                _page.report_labels(batch, labels, report, **options)
            else:
                _page.report_decision(batch, decision, report, **options)
    if json:
        out.print_json(summary)
    else:
        show()
    return DONE


def _refuse_beside_prior(**given: Any) -> None:
    for option, value in given.items():
        if value:
            raise UsageError(f"--{option} knows nothing of --prior: leave one out")


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
