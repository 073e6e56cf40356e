"""``argmetric tune``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from argmetric import _files as files
from argmetric._input.label_words import Spelled
from argmetric._input.types import Floats
from argmetric._results.whole_files import writing
from argmetric.cli import _option_sets as sets
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._errors import UsageError, refuse
from argmetric.cli._learning import warnings_in
from argmetric.cli._progress import progress
from argmetric.cli.scores._load import (
    find_label,
    find_score,
    grouping,
    load_groups,
    load_weights,
    read_rows,
    refuse_shared,
)
from argmetric.cli.scores._many import IN_MEMORY, NO_PIECES, PieceOptions
from argmetric.cli.scores._page import require, save
from argmetric.cli.scores._rows import Input, gathered
from argmetric.cli.scores._rules import (
    refuse_bad_target,
    rule_facts,
    rule_row,
    rule_values,
)
from argmetric.metrics import Metric

if TYPE_CHECKING:
    from argmetric import MultiLabelRule, Rule

_PLACEHOLDER = "{metric}"


def tune(
    file: opt.RowsFile,
    /,
    *more: opt.MoreFiles,
    scores: sets.Scores = sets.DEFAULT_SCORES,
    wide: sets.Wide = sets.NOT_WIDE,
    one_label: opt.OneLabel = False,
    columns: sets.Columns = sets.DEFAULT_COLUMNS,
    weight: opt.Weight = None,
    no_label: Annotated[bool, opt.Flag, Parameter(group=opt.METRIC)] = False,
    metric: Annotated[
        list[str] | None,
        opt.NAMED_METRIC,
        Parameter(
            negative="",
            help=f"{opt.METRICS} Repeat it for several metrics, each with its own "
            "rule. [default: f1]",
        ),
    ] = None,
    zero_division: opt.ZeroOverZero = None,
    cost_fp: Annotated[
        float | None, Parameter(group=opt.METRIC, validator=opt.AMOUNT)
    ] = None,
    cost_fn: Annotated[
        float | None, Parameter(group=opt.METRIC, validator=opt.AMOUNT)
    ] = None,
    average: opt.WideAverageOver = None,
    choice: opt.Choice = "best",
    max_positives: opt.MostTuned = None,
    min_precision: opt.Share = None,
    min_recall: opt.Share = None,
    coverage: opt.Coverage = 0.9,
    seed: opt.Seed = 0,
    output: opt.Target = None,
    report: opt.ReportTarget = None,
    json: opt.Json = False,
    pieces: PieceOptions = NO_PIECES,
) -> int:
    """Find the threshold with the best score on labelled rows, and keep it as a rule.

    Every cut between two different scores is tried. The answer goes to standard output:
    the rule, its score on these rows and the score to expect on new rows, with
    bootstrap intervals, and how far the threshold can move without loss.
    `argmetric decide --rule` applies the rule. With
    `--scores 'p_*' --labels 'y_*'` rows have several labels, each with a threshold of
    its own. A folder or a pattern such as `'scores/*.parquet'`, and a file larger than
    --memory, are read in pieces.

    Parameters
    ----------
    no_label
        Use no labels: the threshold that is best for a large population with these
        probabilities, if they are calibrated. For f1, jaccard and other fractions.
    cost_fp
        The cost of a false alarm; with --cost-fn, instead of a metric.
    cost_fn
        The cost of a miss; with --cost-fp, instead of a metric.
    min_precision
        Keep the precision on these rows at or above this.
    min_recall
        Keep the recall on these rows at or above this.
    output
        The file for the rule, JSON, replaced whole or not at all. With several metrics
        its name must hold {metric}, as in rule-{metric}.json.
    """
    source = gathered(file, more)
    cost = _cost(cost_fp, cost_fn, metric)
    if one_label:
        from argmetric.cli.scores._class_commands import tune_classes
        from argmetric.cli.scores._classes import UNSUPPORTED

        refuse(IN_MEMORY, one_label=pieces.asked_for(source))
        refuse(
            UNSUPPORTED,
            no_label=no_label,
            cost_fp=cost,
            weight=weight,
            choice=choice != "best",
            max_positives=max_positives,
            min_precision=min_precision,
            min_recall=min_recall,
            group=columns.group,
            report=report,
        )
        if metric is not None and len(metric) > 1:
            raise UsageError("--one-label takes one --metric")
        if output is not None:
            refuse_bad_target(output)
        name = None if metric is None else metric[0]
        judged = sets.Judge(metric=name, zero_division=zero_division, average=average)
        how_tuned: dict[str, Any] = {"coverage": coverage, "seed": seed}
        how_tuned |= {"output": output, "json": json}
        return tune_classes(source, wide, scores, columns, judged, **how_tuned)
    metrics = [
        sets.metric_named(name, zero_division, several=True)
        for name in metric or ["f1"]
    ]
    names = [one.name for one in metrics] if not cost else ["cost"]
    targets, reports = (_targets(path, names) for path in (output, report))
    for path in reports:
        require(path)
    limits: dict[str, Any] = {
        "min_precision": min_precision,
        "min_recall": min_recall,
        "max_positives": max_positives,
        "choice": "best" if choice == "best" else "one_se",
        "coverage": coverage,
        "random_state": seed,
    }
    judge = sets.Judge(average=average)
    if wide.asked:
        from argmetric.cli.scores._wide import ONE_COLUMN

        refuse(ONE_COLUMN, no_label=no_label, cost_fp=cost, report=report)
        if pieces.asked_for(source):
            refuse(IN_MEMORY, scores=True)
        options = wide, scores, columns, judge
        summary = _of_labels(source, *options, metrics, weight, targets, **limits)
        return _tell(summary, json=json)
    how = judge.average_for(columns.group)
    if no_label and columns.label is not None:
        raise UsageError("--no-label and --label exclude each other")
    if pieces.asked_for(source):
        refuse(
            IN_MEMORY,
            format=columns.format,
            no_label=no_label,
            group=columns.group,
            weight=weight,
            report=report,
        )
        summary = _in_pieces(
            source,
            scores,
            columns,
            [None] if cost else [*metrics],
            targets,
            cost,
            pieces,
            cost=None if cost is None else (cost["fp"], cost["fn"]),
            **limits,
        )
        return _tell(summary, json=json)
    table = read_rows(source, **columns.reading)
    score, p = _scores(table, scores, columns, label_free=no_label)
    label, y, positive = None, None, None
    if not no_label:
        taken = [score, columns.group, weight]
        label = find_label(table, columns.label, taken=taken)
        y, positive = files.classes(table, label, columns.pos_label)
    refuse_shared(score=score, label=label, group=columns.group, weight=weight)
    groups = load_groups(table, columns, judge)
    weights = load_weights(table, weight)
    with progress(f"tuning on {table.n_rows:,} rows"):
        from argmetric import tune as tuned

        rules: Any = tuned(
            y,
            p,
            None if cost else [*metrics],
            sample_weight=weights,
            **grouping(groups),
            cost=None if cost is None else (cost["fp"], cost["fn"]),
            pos_label=positive,
            **limits,
        )
    found: list[Rule] = list(rules.values()) if isinstance(rules, dict) else [rules]
    _save(found, targets)
    for rule, target in zip(found, reports, strict=bool(reports)):
        with progress("reporting"):
            import argmetric as am

            save(am.report(rule), target)
    used = {"score": score, "label": label, "group": columns.group, "weight": weight}
    summary = {
        **_report.rows_described(table, **used),
        "groups": None if groups is None else len(groups.ids),
        "average": how,
        "prevalence": found[0].prevalence,
        "cost": cost,
        "rules": [rule_values(rule, score, p) for rule in found],
        "output": targets,
    }
    return _tell(summary, json=json)


def _of_labels(
    file: Input,
    wide: sets.Wide,
    scores: sets.Scores,
    columns: sets.Columns,
    judge: sets.Judge,
    metrics: list[Metric],
    weight: str | None,
    targets: list[str],
    **options: Any,
) -> _report.Values:
    """Tune the thresholds of several labels."""
    from argmetric.cli.scores._wide import load_wide
    from argmetric.cli.scores._wide_summary import rules_described

    if wide.labels is None:
        raise UsageError("several labels are tuned on their labels: pass --labels")
    how: dict[str, Any] = {"any_numbers": True, "metric": metrics[0]}
    batch = load_wide(file, wide, scores, columns, judge, **how)
    with progress(f"tuning on {batch.table.n_rows:,} rows"):
        from argmetric import MultiLabelRule
        from argmetric import tune as tuned

        weights = load_weights(batch.table, weight)
        options |= {"sample_weight": weights, **batch.grouping}
        found: Any = tuned(batch.labels.values, batch.p, [*metrics], **options)
        names = tuple(batch.names)
        rules = [
            MultiLabelRule(one.rules, names, one.average) for one in found.values()
        ]
    _save(rules, targets)
    named = list(batch.columns.values())
    return {
        **_report.rows_described(batch.table, **batch.patterns, weight=weight),
        "labels": batch.names,
        "average": batch.average,
        "rules": [rules_described(rule, named, batch.p) for rule in rules],
        "output": targets,
    }


def _save(rules: Sequence[Rule | MultiLabelRule], targets: list[str]) -> None:
    """Write each rule to its file, if files were named."""
    for rule, target in zip(rules, targets, strict=bool(targets)):
        with writing(target):
            rule.save(target)


def _in_pieces(
    file: Input,
    scores: sets.Scores,
    columns: sets.Columns,
    metrics: list[Any],
    targets: list[str],
    costs: _report.Values | None,
    pieces: PieceOptions,
    **options: Any,
) -> _report.Values:
    """Tune on files of any size, each metric for itself."""
    from argmetric.scale import columns_of
    from argmetric.scale import tune as tuned

    score, label = columns_of(
        file,
        score=(scores.score, files.SCORE_NAMES + files.LOGIT_NAMES),
        label=(columns.label, files.LABEL_NAMES),
    )
    notes = [f"read in pieces, engine {pieces.engine}"]
    with warnings_in(notes), pieces.running() as how:
        found = [
            tuned(
                file,
                metric,
                score=score,
                label=label,
                pos_label=Spelled(columns.pos_label),
                **options,
                **how,
            )
            for metric in metrics
        ]
    _save(found, targets)
    rules = [rule_values(rule, score, None) for rule in found]
    for one in rules:
        one["notes"] = [*notes, *one["notes"]]
    return {
        **_report.pieces_described(
            file, found[0].n, None, None, score=score, label=label
        ),
        "prevalence": found[0].prevalence,
        "cost": costs,
        "rules": rules,
        "output": targets,
    }


def _cost(
    fp: float | None, fn: float | None, metric: list[str] | None
) -> _report.Values | None:
    if fp is None and fn is None:
        return None
    if fp is None or fn is None:
        raise UsageError("--cost-fp and --cost-fn go together")
    if metric is not None:
        raise UsageError("--cost-fp and --cost-fn take the place of --metric")
    return {"fp": fp, "fn": fn}


def _targets(output: str | None, names: list[str]) -> list[str]:
    """Return the file of every rule; one that cannot be is refused before the work."""
    if len(set(names)) < len(names):
        raise UsageError("--metric names the same metric twice")
    if output is None:
        return []
    if len(names) > 1 and _PLACEHOLDER not in output:
        raise UsageError(
            "several metrics make several rules: put {metric} into the name of the "
            "file, as in -o 'rule-{metric}.json'"
        )
    targets = [output.replace(_PLACEHOLDER, name) for name in names]
    for target in targets:
        refuse_bad_target(target)
    return targets


def _scores(
    table: files.Table, scores: sets.Scores, columns: sets.Columns, *, label_free: bool
) -> tuple[str, Floats]:
    """Return the column of scores: any numbers, but probabilities without labels."""
    score = find_score(table, scores, taken=[columns.group, columns.label])
    if not label_free:
        return score, files.numbers(table, score)
    if scores.logits:
        raise UsageError("--no-label works on probabilities, not on --logits")
    return score, files.probabilities(table, score)


def _tell(summary: _report.Values, *, json: bool) -> int:
    """Print what was tuned; return the exit code."""
    facts: Any = _facts
    rules, table = summary["rules"], _table if len(summary["rules"]) > 1 else None
    if "labels" in summary:
        from argmetric.cli.scores._wide_summary import tuned_facts as facts
        from argmetric.cli.scores._wide_summary import tuned_table as table

        rules = [rule for one in rules for rule in one["rules"]]
    said = dict.fromkeys(note for rule in rules for note in rule["notes"])
    notes = [("note", note) for note in said]
    return _report.tell("tune", summary, facts, json=json, table=table, notes=notes)


def _facts(summary: _report.Values) -> _report.Facts:
    rules, known = summary["rules"], "label" in summary["columns"]
    share = f"{100 * summary['prevalence']:.1f} % positive"
    facts = [
        ("rows", _report.rows_asked(summary)),
        *_report.groups_asked(summary),
        ("truth", share if known else f"{share}, if the probabilities are right"),
    ]
    if len(rules) > 1:
        return facts
    cost = summary["cost"]
    metric = rules[0]["metric"] if cost is None else _costs(cost)
    rows = "these rows" if known else "such rows, expected"
    return [*facts, ("metric", metric), *rule_facts(rules[0], rows=rows)]


def _table(summary: _report.Values) -> _report.Table:
    header = ["metric", "rule", "positives", "score", "new rows", "interval"]
    return header, map(rule_row, summary["rules"]), 2


def _costs(cost: _report.Values) -> str:
    alarm, miss = f"false alarm {cost['fp']:g}", f"miss {cost['fn']:g}"
    return f"minus the cost of all rows; {alarm}, {miss}"
