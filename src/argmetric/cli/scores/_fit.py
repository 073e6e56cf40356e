"""``argmetric tune`` and ``argmetric calibrate``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter

import argmetric as am
from argmetric._calibrate.calibrate import DEFAULT
from argmetric._calibrate.fit import METHOD_WORDS, Method
from argmetric._results.whole_files import writing
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._command import Given, command
from argmetric.cli._errors import UsageError
from argmetric.cli._learning import warnings_in
from argmetric.cli._progress import progress
from argmetric.cli.scores import _layout as layout
from argmetric.cli.scores import _lines as lines
from argmetric.cli.scores import _pieces as pieces
from argmetric.cli.scores._layout import Rows
from argmetric.cli.scores._load import load_weights
from argmetric.cli.scores._maps import read_calibrator
from argmetric.cli.scores._page import require, save
from argmetric.cli.scores._refusals import checked, exclude
from argmetric.cli.scores._rows import (
    Input,
    gathered,
    refuse_shared_output,
    rows_out,
)
from argmetric.cli.scores._rules import refuse_bad_target, rule_facts, rule_row

_MOST_CHECKED = 1 << 22  # rows of files that are checked; of more, a sample
_MAPS = ", ".join(f"{name} ({words})" for name, words in METHOD_WORDS.items())
_METHOD = opt.table(
    opt.CALIBRATION,
    f"""
    method: The kind of map: {_MAPS}; with --one-label, matrix (the default) or
        temperature. [default: {DEFAULT}]
    """,
    method=Method | Literal["matrix"] | None,
)
_PLACEHOLDER = "{metric}"
_METRICS = opt.table(
    opt.METRIC,
    f"""
    metric: {opt.METRICS} Repeat it for several metrics, each with its own rule.
        [default: f1]
    """,
    metric=Annotated[list[str] | None, opt.NAMED_METRIC, Parameter(negative="")],
)


@command(
    f"score logits {layout.COLUMNS} {layout.READING} weight no_label metric "
    "zero_division cost_fp cost_fn average choice max_positives min_precision "
    f"min_recall coverage seed output report json {pieces.RUNNING}",
    changed=_METRICS,
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
    if way == "classes" and o.logits:
        raise UsageError("tune takes probabilities: leave out --logits")
    metrics = [layout.metric_of(o.but(metric=one), way)[0] for one in given]
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
        rows, rules, read = _tuned_in_pieces(o, source, metrics, how)
    else:
        (rows, rules), read = _tuned(o, source, metrics, how), []
    values = rows.described()
    if way != "one":
        keys = ("metric", "score", "out_of_fold_score")
        found = [(x.metric.name, x.score, x.score - x.optimism) for x in rules]
        scores = [dict(zip(keys, one, strict=True)) for one in found]
        values |= {"labels": rows.names, "scores": scores}
    for rule, target in zip(rules, targets, strict=bool(targets)):
        with writing(target):
            rule.save(target)
    for rule, target in zip(rules, reports, strict=bool(reports)):
        with progress("reporting"):
            save(am.report(rule), target)
    said = [note for rule in rules for note in _notes(rule)]
    notes = [*dict.fromkeys([*read, *said])]
    values["rules"] = [rule.to_dict() for rule in rules]
    values |= {"notes": notes} if read else {}
    values["output"] = targets
    told = {"one": _one_lines, "wide": _wide_lines, "classes": _class_lines}[way]
    rows.metric = metrics[0]
    facts, table = told(rows, rules, o)
    shown = [("note", note) for note in notes]
    return _report.tell("tune", values, facts, json=o.json, table=table, notes=shown)


def _tuned(
    o: Given, source: Input, metrics: list[Any], how: dict[str, Any]
) -> tuple[Rows, list[Any]]:
    """Return rows, and a rule for each metric, or for the costs."""
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
        chosen: Any = None if how.get("cost") else metrics
        found: Any = rows.verbs.tune(rows.y, rows.p, chosen, **how)
    rules = [*found.values()] if isinstance(found, dict) else [found]
    if rows.way == "wide":
        kind, names = am.MultiLabelRule, tuple(rows.names)
        rules = [kind(one.rules, names, one.average) for one in rules]
    return rows, rules


def _notes(rule: Any) -> list[str]:
    parts = getattr(rule, "rules", (rule,))
    kept = parts if getattr(rule, "average", "macro") == "macro" else parts[:1]
    return [note for one in kept for note in one.notes]


def _class_lines(rows: Rows, rules: list[Any], o: Given) -> tuple[Any, Any]:
    asked, number = lines.asked_of(rows), _report.number
    if len(rules) > 1:
        names = [layout.metric_of(o.but(metric=x), "classes")[0].name for x in o.metric]
        scores = [f"{number(rule.score)} on these rows" for rule in rules]
        return [*asked[:-1], *zip(names, scores, strict=True)], None
    (rule,) = rules
    told = [line for line in rule.lines() if line[0] not in ("weights", "rows")]
    weights = [f"{one:.4g}" for one in rule.weights]
    return [*asked, *told], lines.class_table(rows.classes, weight=weights)


def _wide_lines(rows: Rows, rules: list[Any], o: Given) -> tuple[Any, Any]:
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


def _one_lines(rows: Rows, rules: list[Any], o: Given) -> tuple[Any, Any]:
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


def _tuned_in_pieces(
    o: Given, source: Input, metrics: list[Any], how: dict[str, Any]
) -> tuple[Rows, list[Any], list[str]]:
    """Tune on files of any size, each metric for itself."""
    used = pieces.columns(o, source, "score", "label", logits=True)
    read, how = [f"read in pieces, engine {o.engine}"], {**how, **used}
    with warnings_in(read), pieces.running(o, source) as run:
        rules = [
            run("tune", one, **how) for one in ([None] if how["cost"] else metrics)
        ]
    rows = pieces.rows_of(source, rules[0].n, metrics[0], **used)
    return rows, rules, read


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


# ----------------------------------------------------------------------- calibrate


@command(
    f"score logits {layout.COLUMNS} {layout.READING} weight {layout.JUDGED} method map "
    f"seed output output_format calibrated_column json {pieces.RUNNING}",
    changed=_METHOD,
)
def calibrate(o: Given) -> int:
    """Check probabilities against labels; fit or apply a map that recalibrates them.

    Without --map, the command prints how much score is lost by deciding with the
    probabilities as they are, and writes the map to --output. Use labels that the model
    was not trained on. `argmetric decide --calibrator` and `argmetric forecast
    --calibrator` apply the map.

    With --map, the rows are written with a column of calibrated probabilities added.

    A folder or a pattern such as `'labelled/*.parquet'`, and a file larger than
    --memory, are read in pieces.

    Parameters
    ----------
    map
        Apply this map, which an earlier call wrote, instead of fitting one.
    output
        The file for the map (JSON), or with --map for the rows; replaced whole or not
        at all. Rows go to standard output by default.
    output_format
        With --map: the format of the rows, where the name of the file does not say it.
    calibrated_column
        With --map: the name of the column that is added.
    """
    source = gathered(o.file, o.more)
    checked("calibrate", o)
    way = layout.way_of(o)
    if way == "classes" and o.method not in (None, "matrix", "temperature"):
        raise UsageError(
            f"--method {o.method}: with --one-label it is matrix or temperature"
        )
    if way == "one" and o.method == "matrix":
        raise UsageError("--method matrix is for class probabilities: --one-label")
    in_pieces = pieces.asked("calibrate", o, source)
    if o.map is not None:
        refuse_shared_output(o.output, json=o.json)
        return _apply(o, source)
    layout.metric_of(o, way)  # wrong usage comes before the file is read
    if o.output is not None:
        refuse_bad_target(o.output)
    work = _fitted_in_pieces if in_pieces else _fitted
    rows, calibrator, check = work(o, source)
    if o.output is not None:
        with writing(o.output):
            calibrator.save(o.output)
    values = {
        **rows.described(),
        "calibrator": calibrator.to_dict(),
        "formula": calibrator.formula,
        "check": check.to_dict(),
        "output": o.output,
    }
    facts = [*lines.asked_of(rows), *lines.check_facts(check, calibrator)]
    table = lines.checked_classes(check) if way == "classes" else None
    notes = [("note", note) for note in check.notes]
    return _report.tell(
        "calibrate", values, facts, json=o.json, table=table, notes=notes
    )


def _fitted(o: Given, source: Input) -> tuple[Rows, Any, Any]:
    """Return rows, the map that is fitted on them, and the check of both."""
    rows = layout.read(o, source, labels="required")
    with progress(f"calibrating on {rows.table.n_rows:,} rows"):
        how: dict[str, Any] = {"logits": rows.logits, "method": o.method}
        y, metric, more = rows.y, rows.metric, rows.how
        if rows.way == "classes":
            how["classes"], metric = more.pop("classes"), o.metric or "f1"
            more |= {} if o.average is None else {"average": o.average}
            if o.zero_division is not None:
                more["zero_division"] = float(o.zero_division)
        else:
            y, weights = y.astype(bool), load_weights(rows.table, o.weight)
            how |= {"method": o.method or DEFAULT, "sample_weight": weights}
        calibrator = rows.verbs.calibrate(y, rows.checked, **how)
        how |= {**more, "random_state": o.seed}
        verb = am.classes.check if rows.way == "classes" else am.calibration_check
        check = verb(y, rows.checked, metric, **how)
    rows.metric = check.metric
    return rows, calibrator, check


def _fitted_in_pieces(o: Given, source: Input) -> tuple[Rows, Any, Any]:
    """Fit a map on files of any size, and check as many of their rows as may be."""
    used = pieces.columns(o, source, "score", "label", logits=True)
    metric, average = layout.metric_of(o, "one")
    how = {**used, "method": o.method or DEFAULT}
    with pieces.running(o, source) as run:
        calibrator = run("calibrate", **how)
        how |= {"n_sample": None if o.group is not None else _MOST_CHECKED}
        check = run("calibration_check", metric, average=average, **how)
    used |= o.only("weight", "group")
    return pieces.rows_of(source, calibrator.n, metric, **used), calibrator, check


def _apply(o: Given, source: Input) -> int:
    """Write rows with a column of calibrated probabilities."""
    calibrator = read_calibrator(o.map)
    rows = layout.read(o, source, labels="none")
    new = {o.calibrated_column: "--calibrated-column"}
    out = rows_out(rows.table, o.output, o.output_format, json=o.json, new=new)
    with progress(f"calibrating {rows.table.n_rows:,} rows"):
        mended = calibrator.apply(rows.p, logits=rows.logits)
    before = None if rows.logits else float(rows.p.mean())
    values = {
        **rows.described(),
        "calibrator": calibrator.to_dict(),
        "formula": calibrator.formula,
        "mean_before": before,
        "mean": float(mended.mean()),
        "output": out.target,
    }
    numeric = frozenset(rows.columns.values())
    out.write(rows.table, {o.calibrated_column: mended}, numeric=numeric)
    was = "" if before is None else f", was {_report.number(before)}"
    facts = [
        ("rows", _report.rows_asked(values)),
        ("map", f"{calibrator.formula} ({calibrator.summary})"),
        ("mean", f"{_report.number(values['mean'])}{was}"),
    ]
    how: Any = {"json": o.json, "stderr": True, "unwritten": "rows"}
    return _report.tell("calibrate", values, facts, **how)
