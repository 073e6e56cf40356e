"""``argmetric tune``."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

from argmetric import _files as files
from argmetric._input.label_words import Spelled
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
        return _tune_pieces(o, source, metrics, targets, how)
    numbers: Any = "probabilities" if o.no_label or way == "classes" else "numbers"
    rows = layout.read(
        o.but(metric=None),
        source,
        labels="none" if o.no_label else "classes",
        scores=numbers,
    )
    with progress(f"tuning on {rows.table.n_rows:,} rows"):
        rules = _tuned(rows, o, [] if cost else given, metrics, how)
    _save(rules, targets)
    for rule, target in zip(rules, reports, strict=bool(reports)):
        with progress("reporting"):
            import argmetric as am

            save(am.report(rule), target)
    values = {
        **rows.described(),
        **({} if way == "one" else _whole(rows, rules)),
        "rules": [rule.to_dict() for rule in rules],
        "output": targets,
    }
    facts, table = _tuned_lines(rows, rules, metrics, o)
    said = dict.fromkeys(note for rule in rules for note in _notes(rule))
    notes = [("note", note) for note in said]
    return _report.tell("tune", values, facts, json=o.json, table=table, notes=notes)


def _tuned(
    rows: Rows, o: Given, given: list[str], metrics: list[Any], how: dict[str, Any]
) -> list[Any]:
    """Return a rule for each metric, or for the costs."""
    from argmetric import MultiLabelRule
    from argmetric import tune as tuned

    weights = load_weights(rows.table, o.weight)
    if rows.way == "classes":
        for name in ("min_precision", "min_recall", "max_positives", "choice", "cost"):
            del how[name]
        if o.zero_division is not None:
            how["zero_division"] = float(o.zero_division)
        how["average"] = o.average or "macro"
        found: Any = tuned(
            rows.y, rows.p, given, sample_weight=weights, classes=rows.classes, **how
        )
        return [*found.values()]
    how |= {**rows.how, "sample_weight": weights, "pos_label": rows.positive}
    found = tuned(rows.y, rows.p, metrics if given else None, **how)
    rules = [*found.values()] if isinstance(found, dict) else [found]
    if rows.way == "one":
        return rules
    return [MultiLabelRule(one.rules, tuple(rows.names), one.average) for one in rules]


def _whole(rows: Rows, rules: list[Any]) -> _report.Values:
    """Return names and scores of rules that are made of several."""
    scores = [
        {
            "metric": one.metric.name,
            "score": one.score,
            "out_of_fold_score": one.score - one.optimism,
        }
        for one in rules
    ]
    return {"labels": rows.names, "scores": scores}


def _notes(rule: Any) -> list[str]:
    parts = getattr(rule, "rules", (rule,))
    kept = parts if getattr(rule, "average", "macro") == "macro" else parts[:1]
    return [note for one in kept for note in one.notes]


def _save(rules: Any, targets: list[str]) -> None:
    """Write each rule to its file, if files were named."""
    for rule, target in zip(rules, targets, strict=bool(targets)):
        with writing(target):
            rule.save(target)


def _tuned_lines(
    rows: Rows, rules: list[Any], metrics: list[Any], o: Given
) -> tuple[Any, Any]:
    """Return the lines and the table on rules of rows of any layout."""
    described = ("rows", _report.rows_asked(rows.described()))
    if rows.way == "classes":
        asked = lines.asked(
            rows.described(), metrics[0], names=rows.names, way="classes"
        )
        if len(rules) > 1:
            scores = [
                (m.name, f"{_report.number(rule.score)} on these rows")
                for m, rule in zip(metrics, rules, strict=True)
            ]
            return [*asked[:-1], *scores], None
        (rule,) = rules
        told = [line for line in rule.lines() if line[0] not in ("weights", "rows")]
        weights = [f"{one:.4g}" for one in rule.weights]
        table = lines.class_table(rows.classes, weight=weights)
        return [*asked, *told], table
    if rows.way == "wide":
        return _wide_lines(rows, rules, described)
    return _one_lines(rows.described(), rows, rules, o)


def _wide_lines(rows: Rows, rules: list[Any], described: Any) -> tuple[Any, Any]:
    macro = rows.average == "macro"
    how = "a threshold for each" if macro else "one threshold for all"
    names = rows.names if macro else ["all"]
    labels = f"{len(rows.names):,}, {how} (--average {rows.average})"
    facts, table = [described, ("labels", labels)], []
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
    described: _report.Values, rows: Rows | None, rules: list[Any], o: Given
) -> tuple[Any, Any]:
    known = "label" in described["columns"]
    share = f"{100 * rules[0].prevalence:.1f} % positive"
    facts = [("rows", _report.rows_asked(described))]
    if rows is not None and rows.groups is not None:
        facts.append(lines.asked_of(rows)[1])
    facts.append(
        ("truth", share if known else f"{share}, if the probabilities are right")
    )
    score, p = described["columns"]["score"], None if rows is None else rows.p
    if len(rules) > 1:
        header = ["metric", "rule", "positives", "score", "new rows", "interval"]
        return facts, (header, [rule_row(x, score, p) for x in rules], 2)
    metric = rules[0].metric.name
    if o.cost_fp is not None:
        alarm, miss = f"false alarm {o.cost_fp:g}", f"miss {o.cost_fn:g}"
        metric = f"minus the cost of all rows; {alarm}, {miss}"
    where = "these rows" if known else "such rows, expected"
    told = rule_facts(rules[0], score, p, rows=where)
    return [*facts, ("metric", metric), *told], None


def _tune_pieces(
    o: Given, source: Input, metrics: list[Any], targets: list[str], how: dict[str, Any]
) -> int:
    """Tune on files of any size, each metric for itself."""
    from argmetric.scale import columns_of
    from argmetric.scale import tune as tuned

    score, label = columns_of(
        source,
        score=(o.score, files.SCORE_NAMES + files.LOGIT_NAMES),
        label=(o.label, files.LABEL_NAMES),
    )
    read = [f"read in pieces, engine {o.engine}"]
    how |= {"score": score, "label": label, "pos_label": Spelled(o.pos_label)}
    with warnings_in(read), pieces.running(o) as where:
        asked = [None] if how["cost"] else metrics
        rules = [tuned(source, metric, **how, **where) for metric in asked]
    _save(rules, targets)
    described = pieces.described(source, rules[0].n, score=score, label=label)
    notes = [*read, *dict.fromkeys(note for rule in rules for note in rule.notes)]
    values = {
        **described,
        "rules": [rule.to_dict() for rule in rules],
        "notes": notes,
        "output": targets,
    }
    facts, table = _one_lines(described, None, rules, o)
    return _report.tell("tune", values, facts, json=o.json, table=table)


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
