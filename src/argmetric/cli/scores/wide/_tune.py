"""``argmetric tune --scores``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from argmetric.cli import _report
from argmetric.cli._errors import DONE, UsageError
from argmetric.cli._option_sets import Columns, Judge, Scores
from argmetric.cli._progress import progress
from argmetric.cli._summary import Values, rows_described
from argmetric.cli.scores._inputs import Input
from argmetric.cli.scores._load import load_weights
from argmetric.cli.scores._rules import rule_values, save_rule
from argmetric.cli.scores.wide._columns import Wide, load_wide, refuse_beside_wide
from argmetric.metrics import Metric

if TYPE_CHECKING:
    from argmetric import MultiLabelRule

_SHOWN_LABELS = 20


def tune_wide(
    file: Input,
    wide: Wide,
    scores: Scores,
    columns: Columns,
    judge: Judge,
    metrics: list[Metric],
    weight: str | None,
    targets: list[str],
    *,
    json: bool,
    **options: Any,
) -> int:
    """Find the thresholds of several labels, and keep them as rules."""
    if wide.labels is None:
        raise UsageError("several labels are tuned on their labels: pass --labels")
    refuse_beside_wide(
        score=scores.score is not None,
        logits=scores.logits,
        label=columns.label is not None,
        group=columns.group is not None,
    )
    batch = load_wide(
        file, wide, columns, judge, logits=False, any_numbers=True, metric=metrics[0]
    )
    with progress(f"tuning on {batch.table.n_rows:,} rows"):
        from argmetric import MultiLabelRule, tune

        found: Any = tune(
            batch.y,
            batch.p,
            [*metrics],
            sample_weight=load_weights(batch.table, weight),
            average=batch.average,
            **options,
        )
        names = tuple(batch.names)
        rules = [
            MultiLabelRule(one.rules, names, one.average) for one in found.values()
        ]
    for rule, target in zip(rules, targets, strict=bool(targets)):
        save_rule(rule, target)
    columns_of = list(batch.scores.values())
    summary: Values = {
        **rows_described(batch.table, **batch.patterns, weight=weight),
        "labels": batch.names,
        "average": batch.average,
        "rules": [_values(rule, columns_of, batch.p) for rule in rules],
        "output": targets,
    }
    if json:
        _report.print_json(summary)
    else:
        _print(summary)
    return DONE


def _values(rule: MultiLabelRule, columns: list[str], p: Any) -> Values:
    one_for_each = rule.average == "macro"
    kept = rule.rules if one_for_each else rule.rules[:1]
    return {
        "metric": rule.metric.name,
        "score": rule.score,
        "out_of_fold_score": rule.score - rule.optimism,
        "rules": [
            rule_values(
                one,
                columns[j] if one_for_each else "score",
                np.ascontiguousarray(p[:, j]) if one_for_each else p.ravel(),
            )
            for j, one in enumerate(kept)
        ],
    }


def _print(summary: Values) -> None:
    target = _report.console(stderr=False)
    macro = summary["average"] == "macro"
    how = "a threshold for each" if macro else "one threshold for all"
    labels = f"{len(summary['labels']):,}, {how} (--average {summary['average']})"
    facts = [("rows", _report.rows_asked(summary)), ("labels", labels)]
    for one in summary["rules"]:
        other = _report.number(one["out_of_fold_score"])
        text = f"{_report.number(one['score'])} on these rows, other rows {other}"
        facts.append((one["metric"], text))
    _report.print_facts(target, "argmetric tune", facts)
    names = summary["labels"] if macro else ["all"]
    rows = [
        [
            name,
            one["metric"],
            rule["rule"],
            f"{100 * rule['positive_rate']:.1f} %",
            _report.number(rule["score"]),
            _report.number(rule["out_of_fold_score"]),
        ]
        for one in summary["rules"]
        for name, rule in zip(names[:_SHOWN_LABELS], one["rules"], strict=False)
    ]
    header = ["label", "metric", "rule", "positives", "score", "other rows"]
    _report.print_table(target, header, rows, numbers_from=3)
    if len(names) > _SHOWN_LABELS:
        more = _report.count(len(names) - _SHOWN_LABELS, "label")
        _report.print_notes(target, "and", [f"{more} more; --json has them all"])
    rules = [rule for one in summary["rules"] for rule in one["rules"]]
    notes = dict.fromkeys(note for rule in rules for note in rule["notes"])
    _report.print_notes(target, "note", notes)
    _report.print_notes(target, "written", summary["output"])
