"""``argmetric evaluate``."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

from argmetric import _files as files
from argmetric._input.label_words import Spelled
from argmetric._input.types import Booleans, Integers
from argmetric.cli import _option_sets as sets
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._errors import UsageError, gate, refuse
from argmetric.cli._progress import progress
from argmetric.cli.scores._load import (
    GroupColumns,
    find_score,
    grouping,
    load_decisions,
    load_groups,
    load_labels,
    read_rows,
    refuse_shared,
)
from argmetric.cli.scores._many import (
    IN_MEMORY,
    NO_GROUPED_PIECES,
    GroupedPieces,
)
from argmetric.cli.scores._rows import Input, gathered
from argmetric.metrics import Metric


def evaluate(
    file: opt.RowsFile,
    /,
    *more: opt.MoreFiles,
    columns: sets.Columns = sets.DEFAULT_COLUMNS,
    wide: sets.Wide = sets.NOT_WIDE,
    one_label: opt.OneLabel = False,
    judge: sets.Judge = sets.DEFAULT_JUDGE,
    decision_column: opt.Decisions = None,
    score: opt.Column = None,
    threshold: Annotated[
        float | None, Parameter(group=opt.RULE, validator=opt.FINITE)
    ] = None,
    fail_under: opt.FailUnder = None,
    json: opt.Json = False,
    pieces: GroupedPieces = NO_GROUPED_PIECES,
) -> int:
    """Score decisions, or one threshold, against the true labels.

    The answer goes to standard output. With `--labels 'y_*'` rows have several labels;
    --decision-column is then a pattern too, by default `'decision_*'`. With --one-label
    both columns hold one of several classes. A folder or a pattern such as
    `'decided/*.parquet'`, and a file larger than --memory, are read in pieces.

    Parameters
    ----------
    score
        The column of probabilities behind the decisions; a note says if the actual
        score lies outside of their forecast.
    threshold
        Score the rule "score >= threshold" instead of a column of decisions; --score
        names the column of scores.
    """
    if threshold is not None and decision_column is not None:
        raise UsageError("--threshold and --decision-column exclude each other")
    source = gathered(file, more, writes=False)
    if one_label:
        from argmetric.cli.scores import _classes

        refuse(IN_MEMORY, one_label=pieces.asked_for(source))
        cut = threshold is not None
        refuse(_classes.UNSUPPORTED, score=score, threshold=cut)
        return _classes.evaluate_classes(
            source, wide, columns, judge, decision_column, fail_under, json=json
        )
    several = wide.labels is not None
    if several:
        from argmetric.cli.scores import _wide

        given: dict[str, Any] = {
            "score": score,
            "label": columns.label,
            "group": columns.group,
            "threshold": threshold is not None,
        }
        refuse(_wide.ONE_COLUMN, **given)
    elif wide.scores is not None:
        raise UsageError("--scores goes with --labels: pass the pattern of both")
    metric = judge.resolved()
    average = None if several else judge.average_for(columns.group)
    if pieces.asked_for(source):
        cut = threshold is not None
        refuse(
            IN_MEMORY, labels=several, format=columns.format, score=score, threshold=cut
        )
        summary = _in_pieces(source, columns, decision_column, metric, average, pieces)
        return _told(summary, metric, fail_under, json=json)
    if several:
        return _of_labels(
            source, wide, columns, judge, decision_column, fail_under, json=json
        )
    table = read_rows(source, **columns.reading)
    if threshold is None:
        decision, predicted = _decisions(table, decision_column, columns.pos_label)
        used = {"decision": decision}
    else:
        found = sets.Scores(score=score)
        decision = find_score(table, found, taken=[columns.group, columns.label])
        cut_off = files.numbers(table, decision) >= threshold
        predicted, used = cut_off.astype(np.int64), {"score": decision}
    groups = load_groups(table, columns, judge)
    taken = [name for name in (decision, columns.group) if name is not None]
    label, y = load_labels(table, columns, taken=taken)
    role = "decision_column" if threshold is None else "score"
    refuse_shared(**{role: decision}, label=label, group=columns.group)
    p = None
    if score is not None and threshold is None:
        p = files.probabilities(table, files.named_column(table, score))
    real, notes = _scored(table, y, predicted, p, metric, **grouping(groups))
    summary = {
        **_report.described(table, metric, groups, **used, label=label),
        **({} if threshold is None else {"threshold": threshold}),
        "score": real,
        "notes": notes,
        "counts": _report.confusion(y, predicted),
        "groups_without_positives": None if groups is None else _empty(groups, y != 0),
    }
    return _told(summary, metric, fail_under, json=json)


def _decisions(
    table: files.Table, name: str | None, pos_label: str | None
) -> tuple[str, Integers]:
    """Return the column of decisions; without one, the error names --threshold."""
    try:
        return load_decisions(table, name, pos_label)
    except files.DataError as error:
        if name is not None or files.default_columns(table, files.DECISION_NAMES):
            raise
        raise files.DataError(
            f"{error}, or --threshold NUMBER to score a cut-off of the probabilities"
        ) from None


def _of_labels(
    file: Input,
    wide: sets.Wide,
    columns: sets.Columns,
    judge: sets.Judge,
    decision_column: str | None,
    fail_under: float | None,
    *,
    json: bool,
) -> int:
    """Score the decisions on several labels."""
    from argmetric.cli.scores import _wide_summary as told
    from argmetric.cli.scores._wide import load_judged

    metric, average = judge.resolved(), judge.wide_average()
    table = read_rows(file, **columns.reading)
    found = load_judged(table, wide, decision_column, columns.pos_label)
    y, labels = found.y, found.decisions
    real, notes = _scored(table, y, labels, found.p, metric, average=average)
    summary = {
        **told.wide_described(table, metric, found.names, average, **found.patterns),
        "score": real,
        "counts": _report.confusion(y, labels),
        "by_label": told.by_label(found.names, metric, y, labels),
        "notes": notes,
    }
    return _told(summary, metric, fail_under, json=json)


def _scored(
    table: files.Table, y: Any, decisions: Any, p: Any, metric: Metric, **averaged: Any
) -> tuple[float, list[str]]:
    """Return the score, and a note if it lies outside of the forecast."""
    with progress(f"evaluating {table.n_rows:,} rows"):
        from argmetric import evaluate as score_of
        from argmetric import forecast

        real = float(score_of(y, decisions, metric, **averaged))
        if p is None:
            return real, []
        return real, _report.surprises(forecast(p, decisions, metric, **averaged), real)


def _told(
    summary: _report.Values, metric: Metric, fail_under: float | None, *, json: bool
) -> int:
    table: Any = None
    if "by_label" in summary:
        from argmetric.cli.scores._wide_summary import label_table as table
    _report.tell("evaluate", summary, _facts, json=json, table=table)
    return gate(summary["score"], fail_under, metric, metric.name)


def _in_pieces(
    file: Input,
    columns: sets.Columns,
    decision: str | None,
    metric: Metric,
    average: Any,
    pieces: GroupedPieces,
) -> _report.Values:
    from argmetric.scale import evaluate as score_of

    with pieces.running() as how:
        found = score_of(
            file,
            metric,
            label=columns.label,
            decision_column=decision,
            group=columns.group,
            average=average or "groups",
            pos_label=Spelled(columns.pos_label),
            **pieces.by_group,
            **how,
        )
    used = {"decision": found.decision, "label": found.label, "group": found.group}
    return {
        **_report.pieces_described(file, found.n, found.n_groups, average, **used),
        **_report.metric_described(metric),
        "score": found.score,
        "notes": [pieces.note(found.n_files), *found.skipped],
        "counts": found.counts,
        "groups_without_positives": found.n_groups_without_positives,
    }


def _empty(groups: GroupColumns, true: Booleans) -> int:
    return len(groups.ids) - int(np.unique(groups.codes[true]).size)


def _facts(summary: _report.Values) -> _report.Facts:
    asked = _report.asked
    if "by_label" in summary:
        from argmetric.cli.scores._wide_summary import wide_asked as asked
    facts = [*asked(summary)]
    if (threshold := summary.get("threshold")) is not None:
        facts.append(("rule", f"{summary['columns']['score']} >= {threshold:g}"))
    facts.append(("counts", _report.counts(summary["counts"])))
    if empty := summary.get("groups_without_positives"):
        facts.append(("empty", f"{_report.count(empty, 'group')} without a positive"))
    return [*facts, ("score", _report.number(summary["score"]))]
