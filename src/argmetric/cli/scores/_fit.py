"""``argmetric tune`` and ``argmetric calibrate``."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from cyclopts import Parameter

import argmetric as am
from argmetric._calibrate.calibrate import DEFAULT
from argmetric._calibrate.fit import METHOD_WORDS, Method
from argmetric._ground.whole_files import writing
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._command import Arguments
from argmetric.cli._errors import UsageError, naming
from argmetric.cli._values import (
    flag_of,
    fraction_by_class,
    named_classes,
    refuse_bad_target,
    refuse_inputs,
    refuse_same_file,
)
from argmetric.cli.scores import _layout as layout
from argmetric.cli.scores import _lines as lines
from argmetric.cli.scores import _pieces as pieces
from argmetric.cli.scores import _rows as io
from argmetric.metrics import with_missed

_MOST_CHECKED = 1 << 22  # rows of files that are checked; of more, a sample
_MAPS = ", ".join(f"{name} ({words})" for name, words in METHOD_WORDS.items())
_METHOD = (
    f"The kind of map: {_MAPS}; with --one-label, matrix (the default) or temperature. "
    f"[default: {DEFAULT}]"
)
_METRICS = f"{opt.METRICS} Repeat it for several metrics, each with its own rule. "
_PLACEHOLDER = "{metric}"
_CLASS_OPTIONS = (
    *("coverage", "min_recall", "random_state"),
    *("min_precision", "confidence", "review"),
)
_BY_CLASS = "min_precision", "min_recall"
_LIMITS = (
    "max_positives min_precision min_recall min_specificity min_npv confidence "
    "new_rows prior coverage"
)


class _Calibrating(opt.Options, group=opt.CALIBRATION):
    method: Annotated[Method | Literal["matrix"] | None, Parameter(help=_METHOD)]


class _Tuning(opt.Options, group=opt.METRIC):
    metric: Annotated[
        list[str] | None,
        opt.shown("NAME", alias="-m", negative="", help=f"{_METRICS}[default: f1]"),
    ]


_Fractions = Annotated[
    list[str] | None,
    opt.shown("NUMBER|CLASS=NUMBER", negative="", converter=fraction_by_class),
]


class _Limits(opt.Options, group=opt.LIMITS):
    min_precision: _Fractions
    min_recall: _Fractions


@lines.verb(
    f"score logits {layout.COLUMNS} {layout.READING} weight no_label normal metric "
    "mean zero_division missed amount cost_fp cost_fn average max_positives "
    "min_precision min_recall min_specificity min_npv confidence new_rows review "
    f"parity gap prior coverage seed output report json {pieces.RUNNING}",
    _Tuning,
    _Limits,
    exclusive="no_label label normal",
)
def tune(o: Arguments, source: io.Input) -> lines.Answer:
    """Find the threshold with the best score on labelled rows, and save it as a rule.

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
    normal
        All rows are normal ones, without labels, as for a detector of anomalies: with
        --min-specificity and --confidence. Experimental.
    cost_fp
        The cost of a false alarm; with --cost-fn, instead of a metric, or --amount.
    cost_fn
        The cost of a miss; with --cost-fp, instead of a metric.
    max_positives
        Choose at most this many of these rows, or this share of them: 500, or 5%.
    min_precision
        Keep the precision on these rows at or above this; with --one-label cat=0.9 is
        that of a class, repeated for others.
    min_recall
        Keep the recall on these rows at or above this; of classes in the same way.
    prior
        With --confidence: the prevalence among new rows, where it moves.
    output
        The file for the rule, JSON, replaced whole or not at all. With several metrics
        its name must hold {metric}, as in rule-{metric}.json.

    Examples
    --------
    argmetric tune val.csv --label bought --metric f1 -o rule.json
    argmetric tune val.csv -m f1 -m mcc -o 'rule-{metric}.json'
    argmetric tune val.csv --cost-fp 1 --cost-fn 20
    """
    cost, way = _cost(o), layout.way_of(o)
    for name in _BY_CLASS:
        if not o.one_label and isinstance(o.only(name)[name], dict):
            raise UsageError(
                f"{flag_of(name)} CLASS=NUMBER goes with --one-label: pass one number"
            )
    if o.parity is not None and (o.group is None or o.gap is None):
        raise UsageError(
            f"--parity {o.parity} needs groups and the largest gap between them: pass "
            "--group COLUMN and --gap NUMBER, such as 0.05"
        )
    metrics = _metrics(o, way)
    if cost is not None:
        metrics = [with_missed(cost, o.missed)]
    names = ["cost"] if cost else [one.name for one in metrics]
    names = names if o.amount is None else ["amount"]
    targets, reports = (_targets(path, names) for path in (o.output, o.report))
    written = [*(("-o", x) for x in targets), *(("--report", x) for x in reports)]
    refuse_same_file(written)
    refuse_inputs(written, [o.file, *o.more])
    how = {**o.only(*_LIMITS.split()), "random_state": o.seed}
    how |= {"review": True} if o.review else {}
    in_pieces = pieces.works_in_pieces("tune", o, source)
    work = _tune_in_pieces if in_pieces else _tune_whole
    rows, rules, notes = work(o, source, metrics, how)
    for rule, target in zip(rules, targets, strict=bool(targets)):
        with writing(target):
            rule.save(target)
    for rule, target in zip(rules, reports, strict=bool(reports)):
        lines.save(rule, target)
    notes = [*notes, *(note for rule in rules for note in _notes(rule))]
    metric = metrics[0] if o.amount is None else rules[0].metric
    of_classes = o.review and o.one_label  # whose promises need no metric
    rows.metric = metric if len(rules) == 1 and not (cost or of_classes) else None
    facts, plain = _lines_of(rows, rules, o), [rule.to_dict() for rule in rules]
    return lines.Answer(rows, {"rules": plain, "output": targets}, facts, notes)


def _tune_whole(
    o: Arguments, source: io.Input, metrics: Any, how: dict[str, Any]
) -> tuple[layout.TableRows, list[Any], list[str]]:
    """Return rows, a rule for each metric or for the costs, and notes."""
    numbers: Any = "probabilities" if o.no_label or o.one_label else "numbers"
    labels: Any = "none" if o.no_label or o.normal else "classes"
    rows = layout.read_table_rows(
        o.but(metric=None), source, labels=labels, scores=numbers
    )
    with _report.progress(f"tuning on {rows.table.n_rows:,} rows"):
        if o.normal:
            return rows, [am.tune(normal=rows.p, **how)], []
        if o.one_label:  # the others are refused
            metrics = o.metric or (None if o.review else ["f1"])
            how = {name: how[name] for name in _CLASS_OPTIONS if name in how}
            how |= {x: named_classes(how[x], rows.classes) for x in _BY_CLASS}
            if not o.review or o.average or o.zero_division is not None:
                how |= _average_options(o)
        else:
            how |= {"pos_label": rows.positive}
        if o.amount is not None:
            metrics = [rows.metric]
        how["sample_weight"] = io.load_weights(rows.table, o.weight)
        if o.review and not o.one_label:  # of groups one row each counts, and no mean
            rows.average = o.average
            metrics = metrics[0] if len(metrics) == 1 else metrics
        if o.parity is not None:
            how |= {"parity": (o.parity, rows.groups, o.gap), "groups": None}
            how["average"], rows.average = o.average, None
        p = rows.p
        if o.mean is not None:
            how["mean"], p = p, None
        found = rows.call("tune", rows.y, p, metrics, **how)
    rules = [*found.values()] if isinstance(found, dict) else [found]
    if rows.way == "wide":
        kind, names = am.MultiLabelRule, tuple(rows.names)
        rules = [kind(one.rules, names, one.average) for one in rules]
    return rows, rules, []


def _metrics(o: Arguments, way: layout.Way) -> list[Any]:
    """Return the metrics, with --zero-division for those that can take it."""
    metrics, refused = [], []
    for one in (o.but(metric=name) for name in o.metric or ["f1"]):
        metrics.append(layout.metric_of(one.but(zero_division=None), way)[0])
        try:
            metrics[-1], _ = layout.metric_of(one, way)
        except UsageError as error:
            refused.append(error)
    if len(refused) == len(metrics):
        raise refused[0]
    return metrics


def _average_options(o: Arguments) -> dict[str, Any]:
    """Return average and zero_division of a metric of several classes."""
    zero = {} if o.zero_division is None else {"zero_division": float(o.zero_division)}
    return {"average": o.average or "macro", **zero}


def _notes(rule: Any) -> list[str]:
    parts = getattr(rule, "rules", (rule,))
    kept = parts if getattr(rule, "average", "macro") == "macro" else parts[:1]
    return [note for one in kept for note in one.notes]


def _lines_of(rows: layout.TableRows, rules: list[Any], o: Arguments) -> _report.Facts:
    """Return the lines on one rule, or one line for each."""
    first, where = rules[0], "such rows, expected" if o.no_label else "these rows"
    if len(rules) > 1:
        facts = []
        for rule in rules:
            new = _report.number(rule.score - rule.optimism)
            text = f"{_report.number(rule.score)} on {where}, new rows {new}"
            if rows.way == "one":
                text = f"{lines.rule_text(rule, rows.score, rows.p)}, {text}"
            facts.append((str(rule.metric.name), text))
        return [*facts, *lines.promise_lines(*rules)]
    if rows.way != "one" or isinstance(first, am.ReviewRule | am.ParityRule):
        return lines.lines_of(first)
    facts = lines.rule_facts(first, rows.score, rows.p, rows=where)
    if o.cost_fn is not None:
        costs = f"false alarm {o.cost_fp:g}, miss {o.cost_fn:g}"
        facts.insert(0, ("metric", f"minus the cost of all rows; {costs}"))
    sure = ", if the probabilities are right" * o.no_label
    return [*facts, ("truth", f"{100 * first.prevalence:.1f} % positive{sure}")]


def _tune_in_pieces(
    o: Arguments, source: io.Input, metrics: list[Any], how: dict[str, Any]
) -> tuple[layout.TableRows, list[Any], list[str]]:
    """Tune on files of any size, each metric for itself."""
    tune_one = partial(pieces.answer_in_pieces, "tune", o, source, named="score label")
    found = [tune_one(metric=one, **how) for one in metrics]
    rows, _, read = found[0]
    return rows, [rule for _, rule, _ in found], read


def _cost(o: Arguments) -> am.Metric | None:
    """Return the metric of both costs, where they are given."""
    if o.amount is not None or (o.cost_fp is None and o.cost_fn is None):
        return None
    if o.cost_fp is None or o.cost_fn is None:
        raise UsageError("--cost-fp and --cost-fn go together")
    if o.metric is not None:
        raise UsageError("--cost-fp and --cost-fn take the place of --metric")
    return am.Utility(0.0, 0.0 - o.cost_fp, 0.0 - o.cost_fn)


def _targets(output: str | None, names: list[str]) -> list[str]:
    """Return the output file of every rule; refuse bad ones before any work is done."""
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


@lines.verb(
    f"score logits {layout.COLUMNS} {layout.READING} weight {layout.JUDGED} method map "
    f"seed output output_format calibrated_column report json {pieces.RUNNING}",
    _Calibrating,
)
def calibrate(o: Arguments, source: io.Input) -> lines.Answer:
    """Check whether probabilities match labels; fit or apply a calibrator.

    Without --map, the command prints how much score is lost by deciding with the
    probabilities as they are, and writes the calibrator to --output. Use labels that
    the model was not trained on. `argmetric decide --reference` and `argmetric forecast
    --reference` apply it.

    With --map, the rows are written with a column of calibrated probabilities added.

    A folder or a pattern such as `'labelled/*.parquet'`, and a file larger than
    --memory, are read in pieces.

    Parameters
    ----------
    map
        Apply this calibrator, which an earlier call wrote, instead of fitting one.
    output
        The file for the calibrator (JSON), or with --map for the rows; replaced whole
        or not at all. Rows go to standard output by default.
    output_format
        With --map: the format of the rows, where the name of the file does not say it.
    calibrated_column
        With --map: the name of the column that is added.

    Examples
    --------
    argmetric calibrate val.csv --label bought -o map.json
    argmetric calibrate new.csv --map map.json -o mended.csv
    """
    way = layout.way_of(o)
    if way == "classes" and o.method not in (None, "matrix", "temperature"):
        raise UsageError(
            f"--method {o.method}: with --one-label it is matrix or temperature"
        )
    if way == "one" and o.method == "matrix":
        raise UsageError("--method matrix is for class probabilities: --one-label")
    in_pieces = pieces.works_in_pieces("calibrate", o, source)
    if o.map is not None:
        io.refuse_shared_output(o.output, json=o.json)
        return _apply(o, source)
    refuse_bad_target(o.output)
    work = _fit_in_pieces if in_pieces else _fit_whole
    rows, calibrator, check = work(o, source)
    if o.output is not None:
        with writing(o.output):
            calibrator.save(o.output)
    lines.save(check, o.report)
    facts = lines.check_facts(check, calibrator.formula)
    values = {"calibrator": calibrator, "check": check, "formula": calibrator.formula}
    return lines.Answer(rows, values | {"output": o.output}, facts, check.notes)


def _fit_whole(o: Arguments, source: io.Input) -> tuple[layout.TableRows, Any, Any]:
    """Return the rows, the calibrator fitted to them, and a check of both."""
    rows = layout.read_table_rows(o, source, labels="required")
    if rows.way == "one":
        layout.require_both_classes(rows.table.source, rows.y)
    doing = _report.progress(f"calibrating on {rows.table.n_rows:,} rows")
    with doing, naming(rows.table.source):
        how: dict[str, Any] = {"method": o.method}
        if rows.way != "classes":
            rows.y, weights = rows.y.astype(bool), io.load_weights(rows.table, o.weight)
            how |= {"method": o.method or DEFAULT, "sample_weight": weights}
        calibrator = rows.call("calibrate", rows.y, rows.checked_scores, **how)
        how["random_state"], metric = o.seed, rows.metric
        verb = "calibration_check"
        if rows.way == "classes":
            how, metric, verb = how | _average_options(o), o.metric or "f1", "check"
        check = rows.call(verb, rows.y, rows.checked_scores, metric, **how)
    rows.metric = check.metric
    return rows, calibrator, check


def _fit_in_pieces(o: Arguments, source: io.Input) -> tuple[layout.TableRows, Any, Any]:
    """Fit a calibrator on files of any size, and check it on as many rows as fit."""
    metric, average = layout.metric_of(o, "one")
    used: dict[str, Any] = pieces.columns(o, source, "score", "label", logits=True)
    how = {**used, "method": o.method or DEFAULT}
    with pieces.running(o, source) as run:
        calibrator = run("calibrate", **how)
        how |= {"n_sample": None if o.group is not None else _MOST_CHECKED}
        check = run("calibration_check", metric=metric, average=average, **how)
    used |= o.only("weight", "group")
    return pieces.rows_of(source, calibrator, metric, None, **used), calibrator, check


def _apply(o: Arguments, source: io.Input) -> lines.Answer:
    """Write rows with a column of calibrated probabilities."""
    calibrator = io.load_saved(o.map, "map")
    rows = layout.read_table_rows(o, source, labels="none")
    out = io.rows_out(rows.table, o, {o.calibrated_column: "--calibrated-column"})
    with _report.progress(f"calibrating {rows.table.n_rows:,} rows"):
        new = calibrator.apply(rows.p, logits=rows.logits)
    mean, was = float(new.mean()), None if rows.logits else float(rows.p.mean())
    out.write(rows.table, {o.calibrated_column: new}, rows.columns.values())
    facts = [
        ("map", f"{calibrator.formula} ({calibrator.summary})"),
        ("mean", f"{_report.number(mean)}, was {_report.number(was)}".rstrip(", was")),
    ]
    values = {"calibrator": calibrator, "mean_before": was, "mean": mean}
    values |= {"output": out.target, "formula": calibrator.formula}
    return lines.Answer(rows, values, facts, beside_rows=True)
