"""``argmetric evaluate``."""

from __future__ import annotations

import numpy as np

from argmetric import _files as files
from argmetric._types import Booleans
from argmetric.cli import _report
from argmetric.cli._gate import gate
from argmetric.cli._options import (
    DEFAULT_COLUMNS,
    DEFAULT_JUDGE,
    Column,
    Columns,
    Decisions,
    FailUnder,
    Json,
    Judge,
    RowsFile,
)
from argmetric.cli._progress import progress
from argmetric.cli._summary import Asked, Confusion, Number, described, surprises
from argmetric.cli.scores._load import (
    Groups,
    grouping,
    load_decisions,
    load_groups,
    load_labels,
    read_rows,
    refuse_shared,
)


class EvaluateSummary(Asked):
    """What `argmetric evaluate` prints as JSON."""

    score: Number
    notes: list[str]
    counts: Confusion
    groups_without_positives: int | None


def evaluate(
    file: RowsFile,
    /,
    *,
    columns: Columns = DEFAULT_COLUMNS,
    judge: Judge = DEFAULT_JUDGE,
    decision_column: Decisions = None,
    score: Column = None,
    fail_under: FailUnder = None,
    json: Json = False,
) -> int:
    """Score a column of decisions against the true labels.

    The answer goes to standard output.

    Parameters
    ----------
    score
        The column of probabilities behind the decisions: a note tells where the score
        that they promised is not the one that is had.
    """
    metric = judge.resolved()
    judge.average_for(columns.group)
    table = read_rows(file, columns.format)
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
    true = y != 0
    summary: EvaluateSummary = {
        **described(table, metric, groups, decision=decision, label=label),
        "score": real,
        "notes": notes,
        "counts": {
            "tp": int((true & (predicted == 1)).sum()),
            "fp": int((~true & (predicted == 1)).sum()),
            "fn": int((true & (predicted == 0)).sum()),
            "tn": int((~true & (predicted == 0)).sum()),
        },
        "groups_without_positives": None if groups is None else _empty(groups, true),
    }
    if json:
        _report.print_json(summary)
    else:
        _print(summary)
    return gate(real, fail_under, metric, metric.name)


def _empty(groups: Groups, true: Booleans) -> int:
    return len(groups.ids) - int(np.unique(groups.codes[true]).size)


def _print(summary: EvaluateSummary) -> None:
    target = _report.console(stderr=False)
    counts = ", ".join(f"{name} {n:,}" for name, n in summary["counts"].items())
    facts = [*_report.asked(summary), ("counts", counts)]
    if empty := summary["groups_without_positives"]:
        facts.append(("empty", f"{_report.count(empty, 'group')} without a positive"))
    facts.append(("score", _report.number(summary["score"])))
    _report.print_facts(target, "argmetric evaluate", facts)
    _report.print_notes(target, "note", summary["notes"])
