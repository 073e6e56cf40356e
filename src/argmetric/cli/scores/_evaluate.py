"""``argmetric evaluate``."""

from __future__ import annotations

from typing import Any

import numpy as np

from argmetric import _files as files
from argmetric._input.label_words import Spelled
from argmetric._input.types import Booleans
from argmetric.cli import _report
from argmetric.cli._errors import UsageError
from argmetric.cli._gate import gate
from argmetric.cli._option_sets import DEFAULT_COLUMNS, DEFAULT_JUDGE, Columns, Judge
from argmetric.cli._options import (
    Column,
    Decisions,
    FailUnder,
    Json,
    MoreFiles,
    RowsFile,
)
from argmetric.cli._progress import progress
from argmetric.cli._summary import (
    Values,
    confusion,
    described,
    metric_described,
    surprises,
)
from argmetric.cli.scores._inputs import Input, gathered, shown_input
from argmetric.cli.scores._load import (
    Groups,
    grouping,
    load_decisions,
    load_groups,
    load_labels,
    read_rows,
    refuse_shared,
)
from argmetric.cli.scores._many import (
    NO_GROUPED_PIECES,
    GroupedPieces,
    refuse_beside_pieces,
)
from argmetric.cli.scores.wide._columns import NOT_WIDE, Wide, refuse_beside_wide
from argmetric.cli.scores.wide._evaluate import evaluate_wide
from argmetric.metrics import Metric


def evaluate(
    file: RowsFile,
    /,
    *more: MoreFiles,
    columns: Columns = DEFAULT_COLUMNS,
    wide: Wide = NOT_WIDE,
    judge: Judge = DEFAULT_JUDGE,
    decision_column: Decisions = None,
    score: Column = None,
    fail_under: FailUnder = None,
    json: Json = False,
    pieces: GroupedPieces = NO_GROUPED_PIECES,
) -> int:
    """Score a column of decisions against the true labels.

    The answer goes to standard output. With --labels 'y_*' rows have several labels;
    --decision-column is then a pattern too, by default 'decision_*'. A folder or a
    pattern such as 'decided/*.parquet', and a file larger than --memory, are read in
    pieces.

    Parameters
    ----------
    score
        The column of probabilities behind the decisions: a note tells where the score
        that they led to expect is not the one that came true.
    """
    source = gathered(file, more)
    if wide.labels is not None:
        refuse_beside_wide(score=score is not None)
        if pieces.asked_for(source):
            refuse_beside_pieces(labels=True)
        told, metric = evaluate_wide(
            source, wide, columns, judge, decision_column, json=json
        )
        return gate(told["score"], fail_under, metric, metric.name)
    if wide.scores is not None:
        raise UsageError("--scores goes with --labels: pass the pattern of both")
    metric = judge.resolved()
    average = judge.average_for(columns.group)
    if pieces.asked_for(source):
        refuse_beside_pieces(format=columns.format is not None, score=score is not None)
        summary = _in_pieces(source, columns, decision_column, metric, average, pieces)
        return _told(summary, metric, fail_under, json=json)
    table = read_rows(source, **columns.reading)
    decision, predicted = load_decisions(table, decision_column, columns.pos_label)
    groups = load_groups(table, columns, judge)
    taken = [name for name in (decision, columns.group) if name is not None]
    label, y = load_labels(table, columns, taken=taken)
    refuse_shared(decision_column=decision, label=label, group=columns.group)

    with progress(f"evaluating {table.n_rows:,} rows"):
        from argmetric import evaluate as score_of
        from argmetric import forecast

        real = float(score_of(y, predicted, metric, **grouping(groups)))
        notes = []
        if score is not None:
            p = files.probabilities(table, files.named_column(table, score))
            notes = surprises(forecast(p, predicted, metric, **grouping(groups)), real)
    summary = {
        **described(table, metric, groups, decision=decision, label=label),
        "score": real,
        "notes": notes,
        "counts": confusion(y, predicted),
        "groups_without_positives": None if groups is None else _empty(groups, y != 0),
    }
    return _told(summary, metric, fail_under, json=json)


def _told(
    summary: Values, metric: Metric, fail_under: float | None, *, json: bool
) -> int:
    if json:
        _report.print_json(summary)
    else:
        _print(summary)
    return gate(summary["score"], fail_under, metric, metric.name)


def _in_pieces(
    file: Input,
    columns: Columns,
    decision: str | None,
    metric: Metric,
    average: Any,
    pieces: GroupedPieces,
) -> Values:
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
    counts: Any = found.counts
    return {
        "file": shown_input(file),
        "format": "parquet",
        "rows": found.n,
        "columns": {role: name for role, name in used.items() if name is not None},
        "groups": found.n_groups,
        "average": average,
        **metric_described(metric),
        "score": found.score,
        "notes": [pieces.note(found.n_files), *found.skipped],
        "counts": counts,
        "groups_without_positives": found.n_groups_without_positives,
    }


def _empty(groups: Groups, true: Booleans) -> int:
    return len(groups.ids) - int(np.unique(groups.codes[true]).size)


def _print(summary: Values) -> None:
    target = _report.console(stderr=False)
    counts = _report.counts(summary["counts"])
    facts = [*_report.asked(summary), ("counts", counts)]
    if empty := summary["groups_without_positives"]:
        facts.append(("empty", f"{_report.count(empty, 'group')} without a positive"))
    facts.append(("score", _report.number(summary["score"])))
    _report.print_facts(target, "argmetric evaluate", facts)
    _report.print_notes(target, "note", summary["notes"])
