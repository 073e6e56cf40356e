"""``argmetric forecast``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter, validators

from argmetric import _files as files
from argmetric._input.label_words import Spelled
from argmetric._input.types import Integers
from argmetric.cli._errors import UsageError
from argmetric.cli._learning import warnings_in
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
    FINITE,
    FORECAST,
    OUTPUT,
    ColumnName,
    Coverage,
    Decisions,
    FailUnder,
    Jobs,
    Json,
    MoreFiles,
    PriorShare,
    ReportTarget,
    RowsFile,
    RuleFile,
)
from argmetric.cli._progress import progress
from argmetric.cli._summary import (
    Values,
    as_flags,
    described,
    forecast_values,
    metric_described,
    surprises,
)
from argmetric.cli.scores._apply import (
    has_probabilities,
    load_rule_batch,
    refuse_beside_rule,
)
from argmetric.cli.scores._forecasted import forecast_gate, tell
from argmetric.cli.scores._inputs import Input, gathered, shown_input
from argmetric.cli.scores._load import Batch, load_batch, load_decisions, refuse_shared
from argmetric.cli.scores._many import (
    NO_GROUPED_PIECES,
    GroupedPieces,
    refuse_beside_pieces,
)
from argmetric.cli.scores._page import reference_of, report_labels, require
from argmetric.cli.scores._recalibrate import recalibrated
from argmetric.cli.scores._rules import load_rule, rule_text
from argmetric.cli.scores.wide._columns import NOT_WIDE, Wide, refuse_beside_wide
from argmetric.cli.scores.wide._forecast import forecast_wide
from argmetric.metrics import Metric


def forecast(
    file: RowsFile,
    /,
    *more: MoreFiles,
    scores: Scores = DEFAULT_SCORES,
    wide: Wide = NOT_WIDE,
    columns: Columns = DEFAULT_COLUMNS,
    judge: Judge = DEFAULT_JUDGE,
    recalibration: Recalibration = NO_RECALIBRATION,
    rule: RuleFile = None,
    decision_column: Decisions = None,
    threshold: Annotated[
        float | None, Parameter(group=FORECAST, validator=FINITE)
    ] = None,
    coverage: Coverage = 0.9,
    known: Annotated[ColumnName | None, Parameter(group=FORECAST)] = None,
    prior: PriorShare = None,
    overdispersion: Annotated[
        float, Parameter(group=FORECAST, validator=validators.Number(gte=0, lte=5))
    ] = 0.0,
    fail_under: FailUnder = None,
    fail_on: Annotated[Literal["mean", "interval"], Parameter(group=OUTPUT)] = "mean",
    report: ReportTarget = None,
    json: Json = False,
    jobs: Jobs = None,
    pieces: GroupedPieces = NO_GROUPED_PIECES,
) -> int:
    """Forecast the score of a decision before its labels are known.

    The decision is that of --decision-column, --threshold or --rule, else that of a
    column called decision, prediction, predicted, pred or y_pred, else the one that
    `argmetric decide` would make. With --scores 'p_*' rows have several labels, and
    --decision-column is a pattern too. The answer goes to standard output. A folder or
    a pattern such as 'decided/*.parquet', and a file larger than --memory, are read in
    pieces; the decision is then that of a column.

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
    source = gathered(file, more)
    _refuse_two(decision_column=decision_column, threshold=threshold, rule=rule)
    recalibration.check(prior)
    if pieces.asked_for(source):
        refuse_beside_pieces(
            format=columns.format is not None,
            logits=scores.logits,
            rule=rule is not None,
            threshold=threshold is not None,
            known=known is not None,
            prior=prior is not None,
            overdispersion=overdispersion > 0,
            reference=recalibration.reference is not None,
            calibrator=recalibration.calibrator is not None,
            label=columns.label is not None,
            report=report is not None,
            scores=wide.scores is not None,
        )
        metric = judge.resolved()
        average = judge.average_for(columns.group)
        found = _in_pieces(
            source, scores, columns, decision_column, metric, average, coverage, pieces
        )
        return tell(found, metric, fail_under, fail_on, json=json)
    if wide.asked:
        refuse_beside_wide(
            known=known is not None,
            prior=prior is not None,
            overdispersion=overdispersion > 0,
            report=report is not None,
        )
        forecast_, metric = forecast_wide(
            source,
            wide,
            scores,
            columns,
            judge,
            recalibration,
            rule=rule,
            decision_column=decision_column,
            threshold=threshold,
            coverage=coverage,
            json=json,
            jobs=jobs,
        )
        return forecast_gate(forecast_, metric, fail_under, fail_on)
    if report is not None:
        _refuse_beside_report(known, prior, overdispersion)
        require(report)
    frozen = None
    if rule is None:
        shared = known is not None or recalibration.reference is not None
        batch = load_batch(source, scores, columns, judge, taken=[known], shared=shared)
    else:
        refuse_beside_rule(judge)
        frozen = load_rule(rule)
        batch = load_rule_batch(source, frozen, scores, columns, judge, taken=(known,))
    refuse_shared(score=batch.score, known=known, decision_column=decision_column)
    arrived = _arrived(batch.table, known, columns.pos_label)
    with progress(f"forecasting {batch.table.n_rows:,} rows"):
        from argmetric import forecast as forecast_score

        if recalibration.wanted:
            batch = recalibrated(batch, recalibration, columns)
        if frozen is not None:
            if not has_probabilities(batch, frozen):
                raise files.DataError(
                    f"{rule} was tuned on scores, not on probabilities: pass "
                    "--reference to make them probabilities, or --logits"
                )
            source = f"{rule_text(frozen, batch.score)} ({rule})"
            column, labels = None, frozen.applies(batch.p).astype(np.int64)
        else:
            source, column, labels = _decided(
                batch, decision_column, threshold, prior, jobs
            )
        result = forecast_score(
            batch.checked,
            labels,
            batch.metric,
            coverage,
            **batch.grouping,
            known=arrived,
            prior=prior,
            overdispersion=overdispersion,
            **batch.compared,
        )
    real = batch.real_score(labels)
    summary: Values = {
        **described(
            batch.table,
            batch.metric,
            batch.groups,
            score=batch.score,
            decision=column,
            label=batch.labels.column,
            known=known,
        ),
        "decision": source,
        "positives": int(labels.sum()),
        "expected_positives": result.expected_positives,
        "known": None if arrived is None else int(np.isfinite(arrived).sum()),
        "prior": prior,
        "overdispersion": overdispersion,
        "calibrator": None if batch.calibrator is None else batch.calibrator.to_dict(),
        "forecast": forecast_values(result),
        "real": real,
        "notes": [
            *([batch.labels.note] if batch.labels.note else []),
            *as_flags(result.notes),
            *surprises(result, real),
        ],
    }
    if report is not None:
        with progress("reporting"):
            reference = reference_of(batch, recalibration, columns)
            report_labels(batch, labels, report, coverage=coverage, reference=reference)
    return tell(summary, batch.metric, fail_under, fail_on, json=json)


def _in_pieces(
    file: Input,
    scores: Scores,
    columns: Columns,
    decision: str | None,
    metric: Metric,
    average: Any,
    coverage: float,
    pieces: GroupedPieces,
) -> Values:
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
        "file": shown_input(file),
        "format": "parquet",
        "rows": result.n,
        "columns": {role: name for role, name in used.items() if name is not None},
        "groups": result.n_groups,
        "average": average,
        **metric_described(metric),
        "decision": f"column {decision!r}",
        "positives": result.n_positives,
        "expected_positives": result.expected_positives,
        "known": None,
        "prior": None,
        "overdispersion": 0.0,
        "calibrator": None,
        "forecast": forecast_values(result),
        "real": None,
        "notes": notes,
    }


def _refuse_two(**chosen: Any) -> None:
    given = [
        f"--{name.replace('_', '-')}" for name, x in chosen.items() if x is not None
    ]
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} exclude each other")


def _refuse_beside_report(
    known: str | None, prior: float | str | None, overdispersion: float
) -> None:
    given = {"known": known, "prior": prior, "overdispersion": overdispersion or None}
    for option, value in given.items():
        if value is not None:
            raise UsageError(f"--report knows nothing of --{option}: leave one out")


def _arrived(table: files.Table, known: str | None, pos_label: str | None) -> Any:
    if known is None:
        return None
    name = files.named_column(table, known)
    return files.labels(table, name, pos_label=pos_label, missing=True)


def _decided(
    batch: Batch,
    column: str | None,
    threshold: float | None,
    prior: float | Literal["estimate"] | None,
    jobs: int | None,
) -> tuple[str, str | None, Integers]:
    """Return where the decision is from, in words and as a column, and its labels."""
    if threshold is not None:
        labels = (batch.p >= threshold).astype(np.int64)
        return f"{batch.score} >= {threshold:g}", None, labels
    if column is not None or files.default_columns(batch.table, files.DECISION_NAMES):
        column, labels = load_decisions(batch.table, column, None)
        return f"column {column!r}", column, labels

    from argmetric import decide

    decision = decide(
        batch.checked,
        batch.metric,
        **batch.grouping,
        **batch.compared,
        prior=prior,
        n_jobs=jobs,
    )
    return f"optimal for {batch.metric.name}", None, np.asarray(decision.labels)
