"""``argmetric decide``, ``argmetric forecast`` and ``argmetric evaluate``."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from typing import Any

import numpy as np

from argmetric._verbs.decide import UndefinedScoreError
from argmetric.cli import _report
from argmetric.cli._command import Given, command
from argmetric.cli._errors import UsageError, gate
from argmetric.cli._learning import warnings_in
from argmetric.cli._progress import progress
from argmetric.cli.scores import _layout as layout
from argmetric.cli.scores import _lines as lines
from argmetric.cli.scores import _pieces as pieces
from argmetric.cli.scores import _rows as io
from argmetric.cli.scores._layout import TableRows
from argmetric.cli.scores._rows import LIMITS, checked, exclude
from argmetric.scale import files

_TOLD_OF_PIECES = ("metric", "rows", "average", "output")  # before, or after
_NO_REFERENCE = (
    "the rule keeps no labelled rows, and the forecast takes the scores as they stand: "
    "pass --reference, or tune the rule anew"
)


@command(
    f"score logits {layout.COLUMNS} {layout.READING} {layout.JUDGED} {layout.MAPS} "
    "rule max_positives min_positives per_row min_precision min_recall confidence "
    "coverage output "
    f"output_format new_decisions report json jobs {pieces.GROUPED} resume"
)
def decide(o: Given) -> int:
    """Choose the labels that maximise the expected metric, and write them to the rows.

    The rows are written in the same order, with a column of 0 and 1 added. A summary
    goes to standard error: the columns used, the number of positives, the forecast
    score with its interval and assumptions, the scores of a cut at 0.5 and of the best
    single cut, and the actual score where labels are known.

    With --rule each row is decided by itself, by a rule of `argmetric tune`, and the
    forecast is that of the labelled rows that the rule was tuned on. With
    `--scores 'p_*'` rows have several labels, each with a column of decisions. With
    `--scores 'p_*' --one-label` each row gets one of several classes.

    A folder or a pattern such as `'scores/*.parquet'`, and a file larger than --memory,
    are worked on in pieces; the output is then a folder with the same files.

    Parameters
    ----------
    json
        Print the summary as JSON to standard output; rows are then written only to
        --output.

    Examples
    --------
    argmetric decide scores.csv --metric f1 -o decided.csv
    argmetric decide orders.parquet --group order --max-positives 5 -o out.csv
    argmetric decide photos.csv --scores 'p_*' --one-label -o chosen.csv
    """
    source = io.gathered(o.file, o.more)
    io.refuse_shared_output(o.output, json=o.json)
    if isinstance(o.max_positives, int) and o.max_positives < o.min_positives:
        raise UsageError(
            f"--max-positives {o.max_positives} is below --min-positives "
            f"{o.min_positives}"
        )
    checked("decide", o)
    if pieces.asked("decide", o, source):
        return _decide_pieces(o, source)
    rows, rule = _read(o, source)
    limits, decision = o.only(*LIMITS.split()), None
    limits |= {"confidence": o.confidence} if o.confidence else {}
    limits |= {} if o.per_row is None else {"per_row": o.per_row}
    if rows.way == "classes":  # the others are refused
        limits = {"min_recall": o.min_recall}
    names = rows.named(o.new_decisions)
    out = io.rows_out(rows.table, o, dict.fromkeys(names, "--decision-column"))
    with progress(f"deciding {rows.table.n_rows:,} rows"):
        rows.recalibrate(o)
        if rule is None:
            decision = rows.decide(**limits, prior=o.prior, n_jobs=o.jobs)
            labels = chosen = decision.labels
        else:
            labels, chosen = _ruled(rows, rule)
        forecast, values = _answered(rows, o, chosen, decision, rule)
    values |= {
        "decision": None if decision is None else decision.to_dict(),
        "rule": None if rule is None else rule.to_dict(),
        "n_positives": None if rows.way == "classes" else int(chosen.sum()),
        "output": out.target,
    }
    added = dict(zip(names, np.atleast_2d(np.asarray(labels).T), strict=True))
    out.write(rows.table, added, rows.columns.values())
    _save_page(rows, o, decision, chosen)
    table: Any = None
    told = [] if forecast is None else lines.forecast_facts(forecast)
    if decision is not None and rows.way == "one":
        facts, table = _with_cuts(rows, decision, forecast, values)
    elif decision is not None and rows.way == "classes":
        facts = [*decision.lines()[1:], *told]  # but for the metric
        table = None if rows.y is None else lines.judged_classes(rows.evaluate(chosen))
    elif rule is not None:
        text = o.rule if rows.way == "wide" else f"{o.rule}, {lines.tuned_on(rule)}"
        if rows.way == "one":
            text = f"{lines.rule_text(rule, rows.score)} ({text})"
        if forecast is None:
            told = [lines.positives(int(chosen.sum()), chosen.size)]
        facts = [("rule", text), *told]
    else:
        kind = "optimal" if o.per_row is None else f"{o.per_row} a row"
        facts = [("decision", f"{kind} for {rows.metric.name}"), *told]
    if rows.way == "wide":
        table = lines.label_table(values)
    facts += lines.promises(rule or decision)
    facts = [*lines.asked_of(rows), *facts, *lines.actual(values["actual"])]
    how: Any = {"json": o.json, "stderr": True, "unwritten": "rows"}
    return _report.tell("decide", values, facts, table=table, **how)


def _read(o: Given, source: io.Input) -> tuple[TableRows, Any]:
    """Return the rows and the rule, if there is one; refuse a page that cannot be."""
    rule = None if o.rule is None else io.load_rule(o.rule, layout.way_of(o))
    return layout.read(o, source, rule=rule), rule


def _save_page(rows: TableRows, o: Given, decision: Any, labels: Any) -> None:
    if o.report is not None:
        lines.save_report(rows, o, decision, labels)


def _ruled(rows: TableRows, rule: Any) -> tuple[Any, Any]:
    """Return labels by a rule as they are written, and as 0 and 1 or classes."""
    if rows.way == "one":
        chosen = rule.applies(rows.p)
        return rule.named(chosen), chosen.astype(np.int64)
    labels = rule.apply(rows.p)
    return labels, labels


def _likely(rows: TableRows, rule: Any) -> bool:
    """Whether a forecast can be made of these scores."""
    if rule is None or rows.way == "classes" or rows.logits:
        return True
    one = rule.rules[0] if rows.way == "wide" else rule
    return rows.calibrator is not None or bool(one.probabilities)


def _answered(
    rows: TableRows, o: Given, chosen: Any, decision: Any, rule: Any, **more: Any
) -> tuple[Any, _report.Values]:
    """Return the score to expect of labels, and it and the actual one as values."""
    forecast, score, notes = None, rows.evaluate(chosen), []
    if _likely(rows, rule):
        forecast = rows.forecast(chosen, o.coverage, prior=o.prior, **more)
    if forecast is None:
        notes.append("no forecast: the rule was tuned on scores, not on probabilities")
    elif decision is None:
        notes += _report.as_flags(forecast.notes)
        if rule is not None and rows.way == "one" and rows.calibrator is None:
            notes.append(_NO_REFERENCE)
    else:  # that scores were recalibrated is an assumption
        said = tuple(forecast.assumptions)
        told = (note for note in decision.notes if not note.startswith(said))
        notes += _report.as_flags(told)
    if forecast is not None and score is not None:
        notes += _report.surprises(forecast, float(score))
    found = {"forecast": forecast, "actual": score, "calibrator": rows.calibrator}
    values = {
        **rows.described(),
        **{key: None if x is None else x.to_dict() for key, x in found.items()},
        "notes": [*notes, *rows.notes],
    }
    if rows.way == "wide":
        mass = None if forecast is None else rows.mass
        cuts = None if rule is None else rule.thresholds
        by_label = lines.by_label(rows, chosen, mass, cuts)
        values |= {"labels": rows.names, "by_label": by_label}
    return forecast, values


def _with_cuts(
    rows: TableRows, decision: Any, forecast: Any, values: _report.Values
) -> tuple[_report.Facts, _report.Table]:
    """Add ties and cuts of a decision on one column; return its lines and table."""
    # On the scale of the map by which the decision was made
    on_scale = replace(rows, calibrator=decision._asked["calibrator"])
    if on_scale.calibrator is not None:  # with the share that was asked for
        values["calibrator"] = on_scale.calibrator.to_dict()
    values["ties"] = lines.split_ties(on_scale, decision.labels)
    cuts = None
    if rows.y is not None:
        cuts = {"best_cut": math.nan, "cut_half": math.nan}
        for key, scores in zip(cuts, (on_scale.scale, rows.p), strict=True):
            labels = scores >= getattr(decision, key).threshold
            with contextlib.suppress(UndefinedScoreError):
                cuts[key] = float(rows.evaluate(labels))
    values["actual_of_cuts"] = cuts
    names = ("best_cut", "cut_half")
    values["forecast_of_cuts"] = {key: getattr(decision, key).expected for key in names}
    if on_scale.calibrator is not None:  # slow to import, and not needed without one
        from argmetric._forecast.rivals import ahead_of, cut_forecasts

        found = cut_forecasts(decision, forecast.mean)
        values["forecast_of_cuts"] = found
        values["notes"] += ahead_of(decision, forecast.mean, found, _report.number)
    facts = lines.decision_facts(on_scale, decision, forecast, values["ties"])
    return facts, lines.cut_table(on_scale, decision, values)


def _decide_pieces(o: Given, source: io.Input) -> int:
    """Decide about all rows of many files, and write a folder of the same files."""
    if o.output in (None, "-"):
        io.listed(source)  # of a folder of text: how to name its files
        raise UsageError(
            f"{io.shown_input(source)}: decisions of many files go to a folder: pass "
            "-o FOLDER"
        )
    metric, average = layout.metric_of(o, "one")
    found_map = None
    if io.is_saved(o.reference):
        found_map = io.load_saved(o.reference, "map")
    elif o.reference is not None:
        found_map = layout.fitted(o, *layout.read_reference(o, "")).calibrator
    how: Any = {"reference": found_map, "decision_column": o.new_decisions}
    with pieces.running(o, source) as run:
        found = run("decide", metric, average=average or "groups", **how)
    used = {"score": found.score, "group": found.group}
    rows = pieces.rows_of(source, found.n, metric, average, found.n_groups, **used)
    values = {
        **rows.described(),
        "decision": found.to_dict(),
        "engine": o.engine,
        "notes": list(found.notes),
        "output": found.output,
    }
    told = {k: text for k, text in found.lines() if k not in _TOLD_OF_PIECES}
    told["plan"] = f"{found.plan}, engine {o.engine}"
    n_files = ("files", _report.count(found.n_files))
    facts = [*lines.asked_of(rows), n_files, *told.items()]
    notes = [("note", note) for note in found.notes]
    notes += [("left out", file) for file in found.skipped]
    how = {"json": o.json, "stderr": True, "notes": notes}
    return _report.tell("decide", values, facts, **how)


# ------------------------------------------------------------------------ forecast


@command(
    f"score logits {layout.COLUMNS} {layout.READING} {layout.JUDGED} {layout.MAPS} "
    "rule decision_column threshold coverage known overdispersion fail_under fail_on "
    f"report json jobs {pieces.GROUPED}"
)
def forecast(o: Given) -> int:
    """Forecast the score of a decision before its labels are known.

    The decision is that of --decision-column, --threshold or --rule, else that of a
    column called decision, prediction, predicted, pred or y_pred, else the one that
    `argmetric decide` would make. With `--scores 'p_*'` rows have several labels, and
    --decision-column is a pattern too. The answer goes to standard output. A folder or
    a pattern such as `'decided/*.parquet'`, and a file larger than --memory, are read
    in pieces; the decision is then that of a column.

    Parameters
    ----------
    threshold
        Forecast the rule "score >= threshold" instead; scores as they are in the file.

    Examples
    --------
    argmetric forecast decided.csv --fail-under 0.7
    argmetric forecast scores.csv --threshold 0.5 --reference val.csv
    """
    source = io.gathered(o.file, o.more, writes=False)
    exclude(o, "decision_column", "threshold", "rule")
    checked("forecast", o)
    if pieces.asked("forecast", o, source):
        metric, average = layout.metric_of(o, "one")
        used = pieces.columns(o, source, "score", "decision_column")
        notes = [f"read in pieces, engine {o.engine}"]
        with warnings_in(notes), pieces.running(o, source) as run:
            result = run("forecast", metric, average=average or "groups", **used)
        used |= {"decision": used.pop("decision_column"), "group": o.group}
        rows = pieces.rows_of(
            source, result.n, metric, average, result.n_groups, **used
        )
        where = f"column {used['decision']!r}"
        values = {
            **rows.described(),
            "source": where,
            "forecast": result.to_dict(),
            **dict.fromkeys(("known", "actual", "calibrator")),
            "notes": notes,
        }
    else:
        rows, rule = _read(o, source)
        known = pieces.arrived(rows, o)
        with progress(f"forecasting {rows.table.n_rows:,} rows"):
            rows.recalibrate(o)
            where, labels = _judged(rows, rule, o)
            more = {} if rows.way == "classes" else o.only("overdispersion")
            more |= {} if known is None else {"known": known}
            result, values = _answered(rows, o, labels, None, rule, **more)
        n_known = None if known is None else int(np.isfinite(known).sum())
        values |= {"source": where, "known": n_known}
        _save_page(rows, o, None, labels)
    facts = [("decision", where), *lines.forecast_facts(result)]
    if values["known"] is not None:
        arrived = _report.count(values["known"], "label")
        facts.insert(1, ("known", f"{arrived} arrived"))
    table = lines.label_table(values) if rows.way == "wide" else None
    shown = [*lines.asked_of(rows), *facts, *lines.actual(values["actual"])]
    _report.tell("forecast", values, shown, json=o.json, table=table)
    judged, what = result.mean, "the mean"
    if o.fail_on == "interval":
        judged = result.interval[0 if rows.metric.greater_is_better else 1]
        what = "the worse end of the interval"
    return gate(judged, o.fail_under, rows.metric, f"{what} of the forecast")


def _judged(rows: TableRows, rule: Any, o: Given) -> tuple[str, Any]:
    """Return what decides, in words, and the labels that it gives."""
    if rule is not None:
        where, way_out = f"the rule of {o.rule}", "there is no forecast"
        if rows.way == "one":
            where = f"{lines.rule_text(rule, rows.score)} ({o.rule})"
            way_out = "pass --reference to make them probabilities, or --logits"
        if not _likely(rows, rule):
            raise files.DataError(
                f"{o.rule} was tuned on scores, not on probabilities: {way_out}"
            )
        return where, _ruled(rows, rule)[1]
    if o.threshold is not None:
        labels = (rows.p >= o.threshold).astype(np.int64)
        return f"{rows.score} >= {o.threshold:g}", labels
    if given := pieces.decided(rows, o):
        return given
    decision = rows.decide(prior=o.prior, n_jobs=o.jobs)
    if rows.way == "wide":
        rows.notes = [*rows.notes, *_report.as_flags(decision.notes)]
    return f"optimal for {rows.metric.name}", np.asarray(decision.labels)


# ------------------------------------------------------------------------ evaluate


@command(
    f"{layout.COLUMNS} {layout.READING} {layout.JUDGED} decision_column "
    f"score threshold fail_under json {pieces.GROUPED}"
)
def evaluate(o: Given) -> int:
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

    Examples
    --------
    argmetric evaluate decided.csv --label bought --fail-under 0.7
    argmetric evaluate chosen.csv --labels 'y_*' --average macro
    """
    exclude(o, "threshold", "decision_column")
    source = io.gathered(o.file, o.more, writes=False)
    checked("evaluate", o)
    way = layout.way_of(o)
    if way == "wide" and o.labels is None:
        raise UsageError("--scores goes with --labels: pass the pattern of both")
    metric, average = layout.metric_of(o, way)  # wrong usage comes before the file
    rule: _report.Facts = []
    notes: list[str] = []
    empty = table = None
    if pieces.asked("evaluate", o, source):
        with pieces.running(o, source) as run:
            score = run("evaluate", metric, average=average or "groups")
        used = {"decision": score.decision, "label": score.label, "group": score.group}
        rows = pieces.rows_of(source, score.n, metric, average, score.n_groups, **used)
        read = f"{_report.count(score.n_files, 'file')} in pieces, engine {o.engine}"
        notes, total = [read, *score.skipped], score.score
        empty = score.n_groups_without_positives
    else:
        behind: Any = "none" if o.score is None else "probabilities"
        rows = layout.read(
            o,
            source,
            labels="required" if way != "wide" else "optional",
            scores="numbers" if o.threshold is not None else behind,
            judged=True,
        )
        where, labels = _judged(rows, None, o)
        if o.threshold is not None:
            rule = [("rule", where)]
        elif rows.p is not None and way == "one":
            del rows.used["score"]
        with progress(f"evaluating {rows.table.n_rows:,} rows"):
            score = rows.evaluate(labels)
            total = float(score)
            if rows.p is not None and o.threshold is None and way != "classes":
                notes = _report.surprises(rows.forecast(labels, 0.9), total)
        if rows.groups is not None:
            with_some = np.unique(rows.groups.codes[np.asarray(rows.y) != 0])
            empty = len(rows.groups.ids) - int(with_some.size)
    values: _report.Values = {**rows.described(), "threshold": o.threshold}
    values["actual"] = score.to_dict()
    facts, text = [*lines.asked_of(rows), *rule], _report.number(total)
    if way == "classes":
        table = lines.judged_classes(score)
        if score.interval is not None:
            text = _report.with_interval(total, score)
    else:
        values["groups_without_positives"] = empty
        each = (f"{name} {n:,}" for name, n in score.counts.items())
        facts.append(("counts", ", ".join(each)))
        if empty:
            some = _report.count(empty, "group")
            facts.append(("empty", f"{some} without a positive"))
    if way == "wide":
        values |= {"labels": rows.names, "by_label": lines.by_label(rows, labels)}
        table = lines.label_table(values)
    values["notes"] = notes
    facts.append(("score", text))
    _report.tell("evaluate", values, facts, json=o.json, table=table)
    return gate(total, o.fail_under, rows.metric, rows.metric.name)
