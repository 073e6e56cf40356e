"""``argmetric decide`` and ``argmetric forecast``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from argmetric import _files as files
from argmetric.cli import _report
from argmetric.cli._command import Given, command
from argmetric.cli._errors import UsageError, gate
from argmetric.cli._judge import as_count
from argmetric.cli._learning import warnings_in
from argmetric.cli._progress import progress
from argmetric.cli.scores import _layout as layout
from argmetric.cli.scores import _lines as lines
from argmetric.cli.scores import _maps as maps
from argmetric.cli.scores import _pieces as pieces
from argmetric.cli.scores._layout import Rows
from argmetric.cli.scores._refusals import LIMITS, checked, exclude
from argmetric.cli.scores._rows import (
    Input,
    gathered,
    refuse_shared_output,
    rows_out,
    shown_input,
)
from argmetric.cli.scores._rules import load_rule, rule_text, tuned_on

_NO_REFERENCE = (
    "the rule keeps no labelled rows, and the forecast takes the scores as they stand: "
    "pass --reference, or tune the rule anew"
)


@command(
    f"score logits {layout.COLUMNS} {layout.READING} {layout.JUDGED} {layout.MAPS} "
    "rule max_positives min_positives min_precision min_recall coverage output "
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
    """
    source = gathered(o.file, o.more)
    refuse_shared_output(o.output, json=o.json)
    if isinstance(o.max_positives, int) and o.max_positives < o.min_positives:
        raise UsageError(
            f"--max-positives {o.max_positives} is below --min-positives "
            f"{o.min_positives}"
        )
    checked("decide", o)
    if pieces.asked("decide", o, source):
        return _decide_pieces(o, source)
    rows, rule = _read(o, source)
    way, table, limits = rows.way, rows.table, o.only(*LIMITS.split())
    limits["max_positives"] = as_count(o.max_positives, table.n_rows, rows.average)
    names, decision = rows.named(o.new_decisions), None
    new = dict.fromkeys(names, "--decision-column")
    out = rows_out(table, o.output, o.output_format, json=o.json, new=new)
    with progress(f"deciding {table.n_rows:,} rows"):
        maps.recalibrate(rows, o)
        if rule is not None:
            labels, chosen = _ruled(rows, rule)
        else:
            if way == "classes":  # the others are refused
                limits = {"min_recall": o.min_recall}
            decision = rows.decide(**limits, prior=o.prior, n_jobs=o.jobs)
            labels = chosen = decision.labels
        forecast, found = _answered(rows, o, chosen, decision, rule)
    found |= {
        "decision": None if decision is None else decision.to_dict(),
        "rule": None if rule is None else rule.to_dict(),
        "n_positives": None if way == "classes" else int(chosen.sum()),
        "output": out.target,
    }
    added = dict(zip(names, np.atleast_2d(np.asarray(labels).T), strict=True))
    out.write(table, added, numeric=frozenset(rows.columns.values()))
    if o.report is not None:
        from argmetric.cli.scores._page import save_report

        save_report(rows, o, decision, chosen)
    tables: Any = None
    if way == "wide":
        where = f"the rule of {o.rule}"
        if rule is None:
            where = f"optimal for {rows.metric.name}"
        facts, tables = _wide(rows, where, chosen, forecast), lines.label_table_of
    elif rule is not None:
        facts = [("rule", f"{o.rule}, {tuned_on(rule)}")]
        if way == "one":
            text = f"{rule_text(rule, rows.score)} ({o.rule}, {tuned_on(rule)})"
            chosen_ones = lines.positives(int(chosen.sum()), table.n_rows)
            facts = [("rule", text), chosen_ones]
        if forecast is not None:
            facts += [*lines.share(forecast), _report.forecast_line(forecast)]
    elif way == "classes":
        facts = lines.class_facts(decision, forecast)
        tables = lines.decided_classes(decision, rows.evaluate(chosen))
    else:
        facts, tables = _decided(rows, decision, forecast, found)
    facts = [*lines.asked_of(rows), *facts, *lines.actual(found["actual"])]
    how: Any = {"json": o.json, "stderr": True, "unwritten": "rows"}
    return _report.tell("decide", found, facts, table=tables, **how)


def _read(o: Given, source: Input) -> tuple[Rows, Any]:
    """Return the rows and the rule, if there is one; refuse a page that cannot be."""
    if o.report is not None:
        from argmetric.cli.scores._page import require

        require(o.report)
    rule = None if o.rule is None else load_rule(o.rule, layout.way_of(o))
    return layout.read(o, source, rule=rule), rule


def _ruled(rows: Rows, rule: Any) -> tuple[Any, Any]:
    """Return labels by a rule as they are written, and as 0 and 1 or classes."""
    if rows.way == "one":
        chosen = rule.applies(rows.p)
        return rule.named(chosen), chosen.astype(np.int64)
    labels = rule.apply(rows.p)
    return labels, labels


def _likely(rows: Rows, rule: Any) -> bool:
    """Whether a forecast can be made of these scores."""
    if rule is None or rows.way == "classes" or rows.logits:
        return True
    one = rule.rules[0] if rows.way == "wide" else rule
    return rows.calibrator is not None or bool(one.probabilities)


def _answered(
    rows: Rows, o: Given, chosen: Any, decision: Any, rule: Any, **more: Any
) -> tuple[Any, _report.Values]:
    """Return the score to expect of labels, and it and the actual one as values."""
    forecast, score, notes = None, rows.evaluate(chosen), []
    if _likely(rows, rule):
        forecast = rows.forecast(chosen, o.coverage, prior=o.prior, **more)
    if forecast is None:
        notes.append("no forecast: the rule was tuned on scores, not on probabilities")
    elif decision is None:
        notes += _report.as_flags(forecast.notes)
        if o.rule is not None and rows.way == "one" and rows.calibrator is None:
            notes.append(_NO_REFERENCE)
    else:  # that scores were recalibrated is an assumption
        said = tuple(forecast.assumptions)
        told = (note for note in decision.notes if not note.startswith(said))
        notes += _report.as_flags(told)
        if rows.way == "one" and rows.calibrator is not None:
            notes += _report.differs(decision.expected, forecast.mean)
    if forecast is not None and score is not None:
        notes += _report.surprises(forecast, float(score))
    values: _report.Values = {
        **rows.described(),
        "forecast": None if forecast is None else forecast.to_dict(),
        "actual": None if score is None else score.to_dict(),
        "calibrator": None if rows.calibrator is None else rows.calibrator.to_dict(),
        "notes": [*notes, *rows.notes],
    }
    if rows.way == "wide":
        mass = None if forecast is None else rows.mass
        cuts = None if rule is None else rule.thresholds
        by_label = lines.by_label(rows, chosen, mass, cuts)
        values |= {"labels": rows.names, "by_label": by_label}
    return forecast, values


def _wide(rows: Rows, where: str, chosen: Any, forecast: Any) -> _report.Facts:
    mass = None if forecast is None else rows.mass
    return lines.wide_facts(rows, where, chosen, mass, forecast)


def _decided(
    rows: Rows, decision: Any, forecast: Any, found: _report.Values
) -> tuple[_report.Facts, _report.Table]:
    """Add ties and cuts of a decision on one column; return its lines and table."""
    # On the scale of the map by which the decision was made
    on_scale = replace(rows, calibrator=decision._asked["calibrator"])
    if on_scale.calibrator is not None:  # with the share that was asked for
        found["calibrator"] = on_scale.calibrator.to_dict()
    found["ties"] = lines.split_ties(on_scale, decision.labels)
    known = cuts = None
    if rows.y is not None:
        known = found["actual"]["score"]
        cuts = {
            key: float(rows.evaluate(scores >= getattr(decision, key).threshold))
            for key, scores in (("best_cut", on_scale.scale), ("cut_half", rows.p))
        }
    found["actual_of_cuts"] = cuts
    facts = lines.decision_facts(on_scale, decision, forecast, found["ties"])
    return facts, lines.cut_table(on_scale, decision, known, cuts)


def _decide_pieces(o: Given, source: Input) -> int:
    """Decide about all rows of many files, and write a folder of the same files."""
    if o.output in (None, "-"):
        raise UsageError(
            f"{shown_input(source)}: decisions of many files go to a folder: pass "
            "-o FOLDER"
        )
    metric, average = layout.metric_of(o, "one")
    calibrator = None
    if o.calibrator is not None:
        calibrator = maps.read_calibrator(o.calibrator)
    elif o.reference is not None:
        labelled = maps.read_reference(o, o.score or "")
        calibrator = maps.fitted(o, *labelled).calibrator
    how = {"calibrator": calibrator, "decision_column": o.new_decisions}
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
    facts = [
        *lines.asked_of(rows),
        ("files", _report.count(found.n_files)),
        lines.positives(found.n_positives, found.n),
        ("expected", _report.number(found.expected)),
    ]
    if found.expected_half is not None:
        half = _report.number(found.expected_half)
        facts.append(("cut at 0.5", f"{half}, {found.n_half:,} positives"))
    facts.append(("plan", f"{found.plan}, engine {o.engine}"))
    notes = [("note", note) for note in found.notes]
    notes += [("left out", file) for file in found.skipped]
    told: Any = {"json": o.json, "stderr": True, "notes": notes}
    return _report.tell("decide", values, facts, **told)


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
    """
    source = gathered(o.file, o.more, writes=False)
    exclude(o, "decision_column", "threshold", "rule")
    checked("forecast", o)
    if pieces.asked("forecast", o, source):
        rows, where, result, values = _forecast_pieces(o, source)
    else:
        rows, rule = _read(o, source)
        known = layout.arrived(rows, o)
        with progress(f"forecasting {rows.table.n_rows:,} rows"):
            maps.recalibrate(rows, o)
            where, labels = _judged(rows, rule, o)
            more = {} if rows.way == "classes" else o.only("overdispersion")
            more |= {} if known is None else {"known": known}
            result, values = _answered(rows, o, labels, None, rule, **more)
        n_known = None if known is None else int(np.isfinite(known).sum())
        values |= {"source": where, "known": n_known}
        if o.report is not None:
            from argmetric.cli.scores._page import save_report

            save_report(rows, o, None, labels)
    table: Any = None
    if rows.way == "wide":
        facts, table = _wide(rows, where, labels, result), lines.label_table_of
    elif rows.way == "classes":
        facts = [("decision", where), _report.forecast_line(result)]
    else:
        facts = _forecast_facts(where, result, values["known"])
    shown = [*lines.asked_of(rows), *facts, *lines.actual(values["actual"])]
    _report.tell("forecast", values, shown, json=o.json, table=table)
    low, high = result.interval
    judged, what = result.mean, "the mean"
    if o.fail_on == "interval":
        judged = low if rows.metric.greater_is_better else high
        what = "the worse end of the interval"
    return gate(judged, o.fail_under, rows.metric, f"{what} of the forecast")


def _judged(rows: Rows, rule: Any, o: Given) -> tuple[str, Any]:
    """Return what decides, in words, and the labels that it gives."""
    if rule is not None:
        if not _likely(rows, rule):
            way_out = "there is no forecast"
            if rows.way == "one":
                way_out = "pass --reference to make them probabilities, or --logits"
            raise files.DataError(
                f"{o.rule} was tuned on scores, not on probabilities: {way_out}"
            )
        where = f"the rule of {o.rule}"
        if rows.way == "one":
            where = f"{rule_text(rule, rows.score)} ({o.rule})"
        return where, _ruled(rows, rule)[1]
    if o.threshold is not None:
        labels = (rows.p >= o.threshold).astype(np.int64)
        return f"{rows.score} >= {o.threshold:g}", labels
    if given := layout.decided(rows, o):
        return given
    decision = rows.decide(prior=o.prior, n_jobs=o.jobs)
    if rows.way == "wide":
        rows.notes = [*rows.notes, *_report.as_flags(decision.notes)]
    return f"optimal for {rows.metric.name}", np.asarray(decision.labels)


def _forecast_facts(where: str, result: Any, known: int | None) -> Any:
    positives = _report.count(result.n_positives, "positive")
    truth = f"{result.expected_positives:,.1f} positives are expected"
    facts = [("decision", f"{where}, {positives}"), ("truth", truth)]
    if known is not None:
        facts.append(("known", f"{_report.count(known, 'label')} arrived"))
    facts += [*lines.share(result), _report.forecast_line(result)]
    if chance := result.p_undefined:
        text = f"outcomes without a score, probability {chance:.4g}"
        facts.append(("left out", text))
    return facts


def _forecast_pieces(o: Given, source: Input) -> tuple[Rows, str, Any, _report.Values]:
    metric, average = layout.metric_of(o, "one")
    used = pieces.columns(o, source, "score", "decision_column")
    notes = [f"read in pieces, engine {o.engine}"]
    with warnings_in(notes), pieces.running(o, source) as run:
        result = run("forecast", metric, average=average or "groups", **used)
    decision = used.pop("decision_column")
    used |= {"decision": decision, "group": o.group}
    rows = pieces.rows_of(source, result.n, metric, average, result.n_groups, **used)
    values = {
        **rows.described(),
        "source": f"column {decision!r}",
        "known": None,
        "forecast": result.to_dict(),
        **dict.fromkeys(("actual", "calibrator")),
        "notes": notes,
    }
    return rows, values["source"], result, values
