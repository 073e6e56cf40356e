"""``argmetric forecast``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter, validators

from argmetric import _files as files
from argmetric._input.label_words import Spelled
from argmetric._input.types import Integers
from argmetric.cli import _option_sets as sets
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._errors import UsageError, gate, refuse
from argmetric.cli._learning import warnings_in
from argmetric.cli._progress import progress
from argmetric.cli.scores._apply import (
    has_probabilities,
    load_ruled,
    refuse_beside_rule,
)
from argmetric.cli.scores._load import (
    ScoreBatch,
    load_batch,
    load_decisions,
    refuse_shared,
)
from argmetric.cli.scores._many import (
    IN_MEMORY,
    NO_GROUPED_PIECES,
    GroupedPieces,
)
from argmetric.cli.scores._page import reference_of, report_labels, require
from argmetric.cli.scores._recalibrate import recalibrated
from argmetric.cli.scores._rows import Input, gathered
from argmetric.cli.scores._rules import rule_text
from argmetric.cli.scores._wide import (
    ONE_COLUMN,
    WideBatch,
    load_wide,
    wide_decisions,
)
from argmetric.cli.scores._wide_summary import label_table, wide_facts, wide_summary
from argmetric.metrics import Metric


def forecast(
    file: opt.RowsFile,
    /,
    *more: opt.MoreFiles,
    scores: sets.Scores = sets.DEFAULT_SCORES,
    wide: sets.Wide = sets.NOT_WIDE,
    one_label: opt.OneLabel = False,
    columns: sets.Columns = sets.DEFAULT_COLUMNS,
    judge: sets.Judge = sets.DEFAULT_JUDGE,
    recalibration: sets.RecalibrationOptions = sets.NO_RECALIBRATION,
    rule: opt.RuleFile = None,
    decision_column: opt.Decisions = None,
    threshold: Annotated[
        float | None, Parameter(group=opt.FORECAST, validator=opt.FINITE)
    ] = None,
    coverage: opt.Coverage = 0.9,
    known: Annotated[opt.ColumnName | None, Parameter(group=opt.FORECAST)] = None,
    prior: opt.PriorShare = None,
    overdispersion: Annotated[
        float, Parameter(group=opt.FORECAST, validator=validators.Number(gte=0, lte=5))
    ] = 0.0,
    fail_under: opt.FailUnder = None,
    fail_on: Annotated[
        Literal["mean", "interval"], Parameter(group=opt.OUTPUT)
    ] = "mean",
    report: opt.ReportTarget = None,
    json: opt.Json = False,
    jobs: opt.Jobs = None,
    pieces: GroupedPieces = NO_GROUPED_PIECES,
) -> int:
    """Forecast the score of a decision before its labels are known.

    The decision is that of --decision-column, --threshold or --rule, else that of a
    column called decision, prediction, predicted, pred or y_pred, else the one that
    `argmetric decide` would make. With `--scores 'p_*'` rows have several labels, and
    --decision-column is a pattern too. The answer goes to standard output. A folder or
    a pattern such as `'decided/*.parquet'`, and a file larger than --memory, are read
    in pieces; the decision is then that of a column.

    Parameters
    ----------
    threshold
        Forecast the rule "score >= threshold" instead; scores as they are in the file.
    known
        The column of labels that have arrived, empty where they have not: they are
        used as they are, and the interval shrinks.
    overdispersion
        The standard deviation of an effect on the log-odds that all rows share; widens
        the interval.
    fail_on
        What --fail-under judges: the mean of the forecast, or the worse end of its
        interval.
    """
    source = gathered(file, more, writes=False)
    _refuse_two(decision_column=decision_column, threshold=threshold, rule=rule)
    recalibration.check(prior)
    if one_label:
        from argmetric.cli.scores._class_commands import forecast_classes
        from argmetric.cli.scores._classes import UNSUPPORTED

        refuse(IN_MEMORY, one_label=pieces.asked_for(source))
        cut = threshold is not None
        more_asked = {"overdispersion": overdispersion, "report": report}
        refuse(UNSUPPORTED, rule=rule, threshold=cut, known=known, **more_asked)
        return forecast_classes(
            source,
            wide,
            scores,
            columns,
            judge,
            recalibration,
            decision_column=decision_column,
            prior=prior,
            coverage=coverage,
            fail_under=fail_under,
            fail_on=fail_on,
            json=json,
        )
    if pieces.asked_for(source):
        refuse(
            IN_MEMORY,
            format=columns.format,
            logits=scores.logits,
            rule=rule,
            threshold=threshold is not None,
            known=known,
            prior=prior,
            overdispersion=overdispersion,
            reference=recalibration.reference,
            calibrator=recalibration.calibrator,
            label=columns.label,
            report=report,
            scores=wide.scores,
        )
        metric = judge.resolved()
        average = judge.average_for(columns.group)
        found = _in_pieces(
            source, scores, columns, decision_column, metric, average, coverage, pieces
        )
        return _tell(found, metric, fail_under, fail_on, json=json)
    if wide.asked:
        refuse(
            ONE_COLUMN,
            known=known,
            prior=prior,
            overdispersion=overdispersion,
            report=report,
            reference=recalibration.reference,
        )
    if report is not None:
        told = "--report does not support {}: leave one out"
        refuse(told, known=known, prior=prior, overdispersion=overdispersion)
        require(report)
    frozen, shared = None, known is not None or recalibration.reference is not None
    batch: ScoreBatch
    if rule is not None:
        refuse_beside_rule(judge, recalibration if wide.asked else None)
        options = wide, scores, columns, judge
        batch, frozen = load_ruled(source, rule, *options, taken=(known,))
    elif wide.asked:
        batch = load_wide(source, wide, scores, columns, judge)
    else:
        batch = load_batch(source, scores, columns, judge, taken=[known], shared=shared)
    if not wide.asked:
        refuse_shared(score=batch.score, known=known, decision_column=decision_column)
    arrived = _arrived(batch.table, known, columns.pos_label)
    with progress(f"forecasting {batch.table.n_rows:,} rows"):
        if recalibration.wanted:
            batch = recalibrated(batch, recalibration, columns)
        notes: list[str] = []
        if frozen is not None:
            where, labels = _ruled(batch, frozen, rule)
            column = None
        elif threshold is not None:
            labels = (batch.p >= threshold).astype(np.int64)
            where, column = f"{batch.score} >= {threshold:g}", None
        elif given := _given(batch, decision_column, columns):
            where, column, labels = given
        else:
            decision = batch.decide(prior=prior, n_jobs=jobs)
            labels = np.asarray(decision.labels)
            notes = _report.as_flags(decision.notes)
            where, column = f"optimal for {batch.metric.name}", None
        result = batch.forecast(
            labels, coverage, known=arrived, prior=prior, overdispersion=overdispersion
        )
    if isinstance(batch, WideBatch):
        summary = wide_summary(batch, where, labels, result, rule=frozen, notes=notes)
        return _tell(summary, batch.metric, fail_under, fail_on, json=json)
    real = batch.real_score(labels)
    summary = {
        **_report.described(
            batch.table,
            batch.metric,
            batch.groups,
            score=batch.score,
            decision=column,
            label=batch.labels.column,
            known=known,
        ),
        "decision": where,
        "positives": int(labels.sum()),
        "expected_positives": result.expected_positives,
        "known": None if arrived is None else int(np.isfinite(arrived).sum()),
        "prior": prior,
        "overdispersion": overdispersion,
        "calibrator": None if batch.calibrator is None else batch.calibrator.to_dict(),
        "forecast": _report.forecast_values(result),
        "real": real,
        "notes": [
            *([batch.labels.note] if batch.labels.note else []),
            *_report.as_flags(result.notes),
            *_report.surprises(result, real),
        ],
    }
    if report is not None:
        with progress("reporting"):
            reference = reference_of(batch, recalibration, columns)
            report_labels(batch, labels, report, coverage=coverage, reference=reference)
    return _tell(summary, batch.metric, fail_under, fail_on, json=json)


def _ruled(batch: ScoreBatch, rule: Any, path: str | None) -> tuple[str, Any]:
    """Return what decides, in words, and the labels that it gives."""
    if isinstance(batch, WideBatch):
        if not rule.rules[0].probabilities:
            raise files.DataError(
                f"{path} was tuned on scores, not on probabilities: there is no "
                "forecast"
            )
        return f"the rule of {path}", rule.apply(batch.p)
    if not has_probabilities(batch, rule):
        raise files.DataError(
            f"{path} was tuned on scores, not on probabilities: pass --reference to "
            "make them probabilities, or --logits"
        )
    source = f"{rule_text(rule, batch.score)} ({path})"
    return source, rule.applies(batch.p).astype(np.int64)


def _given(
    batch: ScoreBatch, column: str | None, columns: sets.Columns
) -> tuple[str, str | None, Integers] | None:
    """Return decisions that are in the file: in words, their column, their values."""
    if isinstance(batch, WideBatch):
        found = wide_decisions(batch, column, columns.pos_label)
        return None if found is None else (f"columns {found[0]!r}", None, found[1])
    if column is None and not files.default_columns(batch.table, files.DECISION_NAMES):
        return None
    column, labels = load_decisions(batch.table, column, None)
    return f"column {column!r}", column, labels


def _in_pieces(
    file: Input,
    scores: sets.Scores,
    columns: sets.Columns,
    decision: str | None,
    metric: Metric,
    average: Any,
    coverage: float,
    pieces: GroupedPieces,
) -> _report.Values:
    from argmetric.scale import columns_of
    from argmetric.scale import forecast as forecast_score

    score, decision = columns_of(
        file,
        score=(scores.score, files.SCORE_NAMES),
        decision_column=(decision, files.DECISION_NAMES),
    )
    notes = [f"read in pieces, engine {pieces.engine}"]
    with warnings_in(notes), pieces.running() as how:
        result = forecast_score(
            file,
            metric,
            coverage,
            score=score,
            decision_column=decision,
            group=columns.group,
            average=average or "groups",
            pos_label=Spelled(columns.pos_label),
            **pieces.by_group,
            **how,
        )
    used = {"score": score, "decision": decision, "group": columns.group}
    return {
        **_report.pieces_described(file, result.n, result.n_groups, average, **used),
        **_report.metric_described(metric),
        "decision": f"column {decision!r}",
        "positives": result.n_positives,
        "expected_positives": result.expected_positives,
        "known": None,
        "prior": None,
        "overdispersion": 0.0,
        "calibrator": None,
        "forecast": _report.forecast_values(result),
        "real": None,
        "notes": notes,
    }


def _refuse_two(**chosen: Any) -> None:
    given = [
        f"--{name.replace('_', '-')}" for name, x in chosen.items() if x is not None
    ]
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} exclude each other")


def _arrived(table: files.Table, known: str | None, pos_label: str | None) -> Any:
    if known is None:
        return None
    name = files.named_column(table, known)
    return files.labels(table, name, pos_label=pos_label, missing=True)


def _tell(
    summary: _report.Values,
    metric: Metric,
    fail_under: float | None,
    fail_on: Literal["mean", "interval"],
    *,
    json: bool,
) -> int:
    """Print a forecast; return the exit code, which is that of the gate."""
    how: dict[str, Any] = {"facts": _facts}
    if "by_label" in summary:
        how = {"facts": wide_facts, "table": label_table}
    _report.tell("forecast", summary, json=json, **how)
    return _gate(summary["forecast"], metric, fail_under, fail_on)


def _gate(
    forecast: _report.Values,
    metric: Metric,
    fail_under: float | None,
    fail_on: Literal["mean", "interval"],
) -> int:
    """Return the exit code for a forecast."""
    low, high = forecast["interval"]
    worse_end = low if metric.greater_is_better else high
    judged = {"mean": forecast["mean"], "interval": worse_end}[fail_on]
    what = {"mean": "the mean", "interval": "the worse end of the interval"}[fail_on]
    return gate(judged, fail_under, metric, f"{what} of the forecast")


def _facts(summary: _report.Values) -> _report.Facts:
    positives = _report.count(summary["positives"], "positive")
    facts = [
        *_report.asked(summary),
        ("decision", f"{summary['decision']}, {positives}"),
        ("truth", f"{summary['expected_positives']:,.1f} positives are expected"),
    ]
    if summary["known"] is not None:
        facts.append(("known", f"{_report.count(summary['known'], 'label')} arrived"))
    forecast_ = summary["forecast"]
    facts += _report.share(forecast_)
    facts.append(_report.forecast_line(forecast_))
    if chance := forecast_["probability_undefined"]:
        facts.append(
            ("left out", f"outcomes without a score, probability {chance:.4g}")
        )
    return [*facts, *_report.real(summary)]
