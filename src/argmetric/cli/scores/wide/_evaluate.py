"""``argmetric evaluate --labels``."""

from __future__ import annotations

from argmetric.cli import _report
from argmetric.cli._option_sets import Columns, Judge
from argmetric.cli._progress import progress
from argmetric.cli._summary import Values, confusion, surprises
from argmetric.cli.scores._inputs import Input
from argmetric.cli.scores._load import read_rows
from argmetric.cli.scores.wide._columns import (
    DECISIONS,
    Wide,
    label_matrix,
    matched,
    partners,
    refuse_beside_wide,
    score_matrix,
    wide_described,
)
from argmetric.cli.scores.wide._told import label_score, print_labels, wide_asked
from argmetric.metrics import Metric


def evaluate_wide(
    file: Input,
    wide: Wide,
    columns: Columns,
    judge: Judge,
    decision_column: str | None,
    *,
    json: bool,
) -> tuple[Values, Metric]:
    """Score the decisions on several labels, and print it."""
    assert wide.labels is not None
    refuse_beside_wide(label=columns.label is not None, group=columns.group is not None)
    metric, average = judge.resolved(), judge.wide_average()
    pattern = decision_column or DECISIONS
    table = read_rows(file, **columns.reading)
    true = matched(table, wide.labels, "--labels")
    chosen = partners(table, pattern, "--decision-column", true, wide.labels)
    y = label_matrix(table, [*true.values()], columns.pos_label)
    labels = label_matrix(table, chosen, columns.pos_label)
    patterns = {"labels": wide.labels, "decisions": pattern}
    with progress(f"evaluating {table.n_rows:,} rows"):
        from argmetric import evaluate, forecast

        score = float(evaluate(y, labels, metric, average=average))
        notes: list[str] = []
        if wide.scores is not None:
            patterns["scores"] = wide.scores
            behind = partners(table, wide.scores, "--scores", true, wide.labels)
            p = score_matrix(table, behind)
            promised = forecast(p, labels, metric, average=average)
            notes = surprises(promised, score)
        by_label: list[Values] = [
            {
                "label": name,
                "positives": int(labels[:, j].sum()),
                "expected_positives": None,
                "threshold": None,
                "real": label_score(metric, y, labels, j),
            }
            for j, name in enumerate(true)
        ]
    summary: Values = {
        **wide_described(table, metric, list(true), average, **patterns),
        "score": score,
        "counts": confusion(y, labels),
        "by_label": by_label,
        "notes": notes,
    }
    if json:
        _report.print_json(summary)
    else:
        _print(summary)
    return summary, metric


def _print(summary: Values) -> None:
    target = _report.console(stderr=False)
    counts = _report.counts(summary["counts"])
    facts = [
        *wide_asked(summary),
        ("counts", counts),
        ("score", _report.number(summary["score"])),
    ]
    _report.print_facts(target, "argmetric evaluate", facts)
    print_labels(target, summary["by_label"])
    _report.print_notes(target, "note", summary["notes"])
