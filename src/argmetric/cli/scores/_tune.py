"""``argmetric tune``."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

from argmetric._results.whole_files import writing
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._command import Given, command
from argmetric.cli._errors import UsageError
from argmetric.cli._judge import average_of, class_metric, metric_named
from argmetric.cli._learning import warnings_in
from argmetric.cli._progress import progress
from argmetric.cli.scores import _layout as layout
from argmetric.cli.scores import _lines as lines
from argmetric.cli.scores import _pieces as pieces
from argmetric.cli.scores._layout import Rows
from argmetric.cli.scores._load import load_weights
from argmetric.cli.scores._page import require, save
from argmetric.cli.scores._refusals import checked, exclude
from argmetric.cli.scores._rows import Input, gathered
from argmetric.cli.scores._rules import refuse_bad_target, rule_facts, rule_row

_PLACEHOLDER = "{metric}"
_METRICS = (
    Annotated[
        list[str] | None,
        opt.NAMED_METRIC,
        Parameter(negative=""),
        opt.with_help(
            f"{opt.METRICS} Repeat it for several metrics, each with its own rule. "
            "[default: f1]"
        ),
    ],
    None,
)


@command(
    f"score logits {layout.COLUMNS} {layout.READING} weight no_label metric "
    "zero_division cost_fp cost_fn average choice max_positives min_precision "
    f"min_recall coverage seed output report json {pieces.RUNNING}",
    changed={"metric": _METRICS},
)
def tune(o: Given) -> int:
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
    max_positives
        Choose at most this many of these rows, or this share of them: 500, or 5%.
    min_precision
        Keep the precision on these rows at or above this.
    min_recall
        Keep the recall on these rows at or above this.
    output
        The file for the rule, JSON, replaced whole or not at all. With several metrics
        its name must hold {metric}, as in rule-{metric}.json.
    """
    source = gathered(o.file, o.more)
    cost = _cost(o)
    checked("tune", o)
    exclude(o, "no_label", "label")
    way, given = layout.way_of(o), o.metric or ["f1"]
    if way == "classes":
        metrics: list[Any] = [
            class_metric(one, o.average, o.zero_division) for one in given
        ]
        if o.logits:
            raise UsageError("tune takes probabilities: leave out --logits")
    else:
        average_of(o.average, o.group, wide=way == "wide")
        metrics = [metric_named(x, o.zero_division, several=True) for x in given]
    if o.no_label and o.logits:
        raise UsageError("--no-label works on probabilities, not on --logits")
    names = ["cost"] if cost else [one.name for one in metrics]
    targets, reports = (_targets(path, names) for path in (o.output, o.report))
    for path in reports:
        require(path)
    how = {
        **o.only("min_precision", "min_recall", "max_positives", "coverage"),
        "choice": "best" if o.choice == "best" else "one_se",
        "random_state": o.seed,
        "cost": cost,
    }
    if pieces.asked("tune", o, source):
        rows, rules, values = _in_pieces(o, source, metrics, how)
    else:
        rows, rules = _tuned(o, source, metrics, how)
        values = rows.described()
        if way != "one":
            scores = [
                {
                    "metric": one.metric.name,
                    "score": one.score,
                    "out_of_fold_score": one.score - one.optimism,
                }
                for one in rules
            ]
            values |= {"labels": rows.names, "scores": scores}
    for rule, target in zip(rules, targets, strict=bool(targets)):
        with writing(target):
            rule.save(target)
    for rule, target in zip(rules, reports, strict=bool(reports)):
        with progress("reporting"):
            import argmetric as am

            save(am.report(rule), target)
    values |= {"rules": [rule.to_dict() for rule in rules], "output": targets}
    said = [note for rule in rules for note in _notes(rule)]
    notes = [*dict.fromkeys([*values.get("notes", ()), *said])]
    if "notes" in values:
        values["notes"] = notes
    told = {"one": _one_lines, "wide": _wide_lines, "classes": _class_lines}[way]
    facts, table = told(rows, rules, metrics, o)
    shown = [("note", note) for note in notes]
    return _report.tell("tune", values, facts, json=o.json, table=table, notes=shown)


def _tuned(
    o: Given, source: Input, metrics: list[Any], how: dict[str, Any]
) -> tuple[Rows, list[Any]]:
    """Return rows, and a rule for each metric, or for the costs."""
    from argmetric import MultiLabelRule
    from argmetric import tune as tuned

    classes = o.one_label
    numbers: Any = "probabilities" if o.no_label or classes else "numbers"
    labels: Any = "none" if o.no_label else "classes"
    rows = layout.read(o.but(metric=None), source, labels=labels, scores=numbers)
    with progress(f"tuning on {rows.table.n_rows:,} rows"):
        how["sample_weight"] = load_weights(rows.table, o.weight)
        if classes:
            for name in ("min_precision", "min_recall", "max_positives"):
                del how[name]
            del how["choice"], how["cost"]
            if o.zero_division is not None:
                how["zero_division"] = float(o.zero_division)
            how |= {"average": o.average or "macro", "classes": rows.classes}
            metrics = o.metric or ["f1"]
        else:
            how |= {**rows.how, "pos_label": rows.positive}
        found: Any = tuned(rows.y, rows.p, None if how.get("cost") else metrics, **how)
    rules = [*found.values()] if isinstance(found, dict) else [found]
    if rows.way == "wide":
        names = tuple(rows.names)
        rules = [MultiLabelRule(one.rules, names, one.average) for one in rules]
    return rows, rules


def _notes(rule: Any) -> list[str]:
    parts = getattr(rule, "rules", (rule,))
    kept = parts if getattr(rule, "average", "macro") == "macro" else parts[:1]
    return [note for one in kept for note in one.notes]


def _class_lines(
    rows: Rows, rules: list[Any], metrics: list[Any], o: Given
) -> tuple[Any, Any]:
    rows.metric = metrics[0]
    asked = lines.asked_of(rows)
    if len(rules) > 1:
        scores = [
            (m.name, f"{_report.number(rule.score)} on these rows")
            for m, rule in zip(metrics, rules, strict=True)
        ]
        return [*asked[:-1], *scores], None
    (rule,) = rules
    told = [line for line in rule._lines() if line[0] not in ("weights", "rows")]
    weights = [f"{one:.4g}" for one in rule.weights]
    return [*asked, *told], lines.class_table(rows.classes, weight=weights)


def _wide_lines(
    rows: Rows, rules: list[Any], metrics: list[Any], o: Given
) -> tuple[Any, Any]:
    macro = rows.average == "macro"
    how = "a threshold for each" if macro else "one threshold for all"
    names = rows.names if macro else ["all"]
    labels = f"{len(rows.names):,}, {how} (--average {rows.average})"
    facts = [("rows", _report.rows_asked(rows.described())), ("labels", labels)]
    table = []
    for rule in rules:
        new = _report.number(rule.score - rule.optimism)
        text = f"{_report.number(rule.score)} on these rows, new rows {new}"
        facts.append((rule.metric.name, text))
        some = zip(names[: lines.SHOWN_NAMES], rule.rules, strict=False)
        for j, (name, one) in enumerate(some):
            column = [*rows.columns.values()][j] if macro else "score"
            p = np.ascontiguousarray(rows.p[:, j]) if macro else rows.p.ravel()
            table.append([name, *rule_row(one, column, p)[:-1]])
    header = ["label", "metric", "rule", "positives", "score", "new rows"]
    return facts, (header, table, 3, lines.more(len(names), "label"))


def _one_lines(
    rows: Rows, rules: list[Any], metrics: list[Any], o: Given
) -> tuple[Any, Any]:
    known, share = "label" in rows.used, f"{100 * rules[0].prevalence:.1f} % positive"
    truth = share if known else f"{share}, if the probabilities are right"
    facts = [*lines.asked_of(rows)[:-1], ("truth", truth)]  # but for the metric
    if len(rules) > 1:
        header = ["metric", "rule", "positives", "score", "new rows", "interval"]
        cells = [rule_row(one, rows.score, rows.p) for one in rules]
        return facts, (header, cells, 2)
    metric = rules[0].metric.name
    if o.cost_fp is not None:
        alarm, miss = f"false alarm {o.cost_fp:g}", f"miss {o.cost_fn:g}"
        metric = f"minus the cost of all rows; {alarm}, {miss}"
    where = "these rows" if known else "such rows, expected"
    told = rule_facts(rules[0], rows.score, rows.p, rows=where)
    return [*facts, ("metric", metric), *told], None


def _in_pieces(
    o: Given, source: Input, metrics: list[Any], how: dict[str, Any]
) -> tuple[Rows, list[Any], _report.Values]:
    """Tune on files of any size, each metric for itself."""
    from argmetric import scale

    used = pieces.columns(o, source, "score", "label", logits=True)
    how |= {**used, "pos_label": pieces.spelled(o)}
    read = [f"read in pieces, engine {o.engine}"]
    with warnings_in(read), pieces.running(o) as where:
        asked = [None] if how["cost"] else metrics
        rules = [scale.tune(source, metric, **how, **where) for metric in asked]
    rows = pieces.rows_of(source, rules[0].n, metrics[0], **used)
    return rows, rules, {**rows.described(), "notes": read}


def _cost(o: Given) -> tuple[float, float] | None:
    if o.cost_fp is None and o.cost_fn is None:
        return None
    if o.cost_fp is None or o.cost_fn is None:
        raise UsageError("--cost-fp and --cost-fn go together")
    if o.metric is not None:
        raise UsageError("--cost-fp and --cost-fn take the place of --metric")
    return o.cost_fp, o.cost_fn


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
