"""``argmetric decide`` and ``argmetric forecast``."""

from __future__ import annotations

from typing import Any

import numpy as np

from argmetric import _files as files
from argmetric._input.label_words import Spelled
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
    if o.report is not None:
        from argmetric.cli.scores._page import require

        require(o.report)
    way = layout.way_of(o)
    rule = None if o.rule is None else load_rule(o.rule, way)
    rows = layout.read(o, source, rule=rule)
    table, limits = rows.table, o.only(*LIMITS.split())
    limits["max_positives"] = as_count(o.max_positives, table.n_rows, rows.average)
    names = rows.named(o.new_decisions)
    new = dict.fromkeys(names, "--decision-column")
    out = rows_out(table, o.output, o.output_format, json=o.json, new=new)
    decision: Any = None
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
    if rule is not None or way == "wide":
        facts = _told(rows, o, chosen, forecast, rule)
        tables: Any = lines.label_table_of if way == "wide" else None
    elif way == "classes":
        facts = lines.class_facts(decision, forecast)
        tables = lines.decided_classes(decision, rows.evaluate(chosen))
    else:
        facts, tables = _decided(rows, decision, forecast, found)
    facts = [*lines.asked_of(rows), *facts, *lines.actual(found["actual"])]
    how: dict[str, Any] = {"json": o.json, "stderr": True, "unwritten": "rows"}
    return _report.tell("decide", found, facts, table=tables, **how)


def _ruled(rows: Rows, rule: Any) -> tuple[Any, Any]:
    """Return labels by a rule as they are written, and as 0 and 1 or classes."""
    if rows.way == "one":
        chosen = rule.applies(rows.p)
        return rule.named(chosen), chosen.astype(np.int64)
    labels = rule.apply(rows.p)
    return labels, labels


def _likely(rows: Rows, rule: Any) -> bool:
    """Whether a forecast can be made of these scores."""
    if rule is None or rows.way == "classes":
        return True
    one = rule.rules[0] if rows.way == "wide" else rule
    return bool(rows.logits or rows.calibrator is not None or one.probabilities)


def _answered(
    rows: Rows, o: Given, chosen: Any, decision: Any, rule: Any, **more: Any
) -> tuple[Any, _report.Values]:
    """Return the score to expect of labels, and it and the actual one as values."""
    forecast, score = None, rows.evaluate(chosen)
    if _likely(rows, rule):
        forecast = rows.forecast(chosen, o.coverage, prior=o.prior, **more)
    notes: list[str] = []
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
        mass = None if forecast is None else _mass(rows)
        thresholds = None if rule is None else rule.thresholds
        by_label = lines.by_label(rows, chosen, mass, thresholds)
        values |= {"labels": rows.names, "by_label": by_label}
    return forecast, values


def _decided(
    rows: Rows, decision: Any, forecast: Any, found: _report.Values
) -> tuple[_report.Facts, _report.Table]:
    """Add ties and cuts of a decision on one column; return its lines and table."""
    on_scale = layout.on_scale_of(rows, decision._asked["calibrator"])
    if on_scale.calibrator is not None:  # with the share that was asked for
        found["calibrator"] = on_scale.calibrator.to_dict()
    found["ties"] = lines.split_ties(on_scale, decision.labels)
    found["actual_of_cuts"] = None
    if rows.y is not None:
        found["actual_of_cuts"] = {
            key: float(rows.evaluate(scores >= getattr(decision, key).threshold))
            for key, scores in (("best_cut", on_scale.scale), ("cut_half", rows.p))
        }
    facts = lines.decision_facts(on_scale, decision, forecast, found["ties"])
    known = None if found["actual"] is None else found["actual"]["score"]
    return facts, lines.cut_table(on_scale, decision, known, found["actual_of_cuts"])


def _mass(rows: Rows) -> Any:
    """Return the positives to expect of each label."""
    if not rows.logits:
        return rows.scale.sum(axis=0)
    from argmetric._input.odds import expit

    return expit(rows.scale).sum(axis=0)


def _told(
    rows: Rows, o: Given, chosen: Any, forecast: Any, rule: Any, where: str = ""
) -> _report.Facts:
    """Return the lines on several labels, or on what a rule gives."""
    if rows.way == "wide":
        best = f"optimal for {rows.metric.name}"
        source = where or (best if rule is None else f"the rule of {o.rule}")
        mass = None if forecast is None else _mass(rows)
        return lines.wide_facts(rows, source, chosen, mass, forecast)
    facts = [("rule", f"{o.rule}, {tuned_on(rule)}")]
    if rows.way == "one":
        text = f"{rule_text(rule, rows.score)} ({o.rule}, {tuned_on(rule)})"
        n = int(chosen.sum())
        facts = [("rule", text), lines.positives(n, rows.table.n_rows)]
    if forecast is not None:
        facts += [*lines.share(forecast), _report.forecast_line(forecast)]
    return facts


def _decide_pieces(o: Given, source: Input) -> int:
    """Decide about all rows of many files, and write a folder of the same files."""
    if o.output in (None, "-"):
        raise UsageError(
            f"{shown_input(source)}: decisions of many files go to a folder: pass "
            "-o FOLDER"
        )
    metric, average = layout.metric_of(o, "one")
    from argmetric.scale import decide as decided

    calibrator = None
    if o.calibrator is not None:
        calibrator = maps.read_calibrator(o.calibrator)
    elif o.reference is not None:
        calibrator = maps.fitted(o, *maps.read_reference(o, o.score or "")).calibrator
    with pieces.running(o) as how:
        found = decided(
            source,
            metric,
            average=average or "groups",
            calibrator=calibrator,
            decision_column=o.new_decisions,
            **o.only("output", "group", "score", "logits", "resume"),
            **o.only("missing_groups", "work_dir", *LIMITS.split()),
            **how,
        )
    used = {"score": found.score, "group": found.group}
    described = pieces.described(source, found.n, **used)
    values = {
        **described,
        "decision": found.to_dict(),
        "engine": o.engine,
        "notes": list(found.notes),
        "output": found.output,
    }
    facts = [
        *lines.asked(described, metric, groups=found.n_groups, average=average),
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
    told: dict[str, Any] = {"json": o.json, "stderr": True, "notes": notes}
    return _report.tell("decide", values, facts, **told)


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
    """
    source = gathered(o.file, o.more, writes=False)
    exclude(o, "decision_column", "threshold", "rule")
    checked("forecast", o)
    if pieces.asked("forecast", o, source):
        return _forecast_pieces(o, source)
    if o.report is not None:
        from argmetric.cli.scores._page import require

        require(o.report)
    rule = None if o.rule is None else load_rule(o.rule, layout.way_of(o))
    rows = layout.read(o, source, rule=rule)
    known = layout.arrived(rows, o)
    with progress(f"forecasting {rows.table.n_rows:,} rows"):
        maps.recalibrate(rows, o)
        if rule is not None:
            where, labels = _by_rule(rows, rule, o)
        elif o.threshold is not None:
            labels = (rows.p >= o.threshold).astype(np.int64)
            where = f"{rows.score} >= {o.threshold:g}"
        elif given := layout.decided(rows, o):
            where, labels = given
        else:
            decision = rows.decide(prior=o.prior, n_jobs=o.jobs)
            labels, rows.notes = (
                np.asarray(decision.labels),
                [
                    *rows.notes,
                    *(_report.as_flags(decision.notes) if rows.way == "wide" else ()),
                ],
            )
            where = f"optimal for {rows.metric.name}"
        more = {} if rows.way == "classes" else o.only("overdispersion")
        more |= {} if known is None else {"known": known}
        result, values = _answered(rows, o, labels, None, rule, **more)
    values["source"] = where
    values["known"] = None if known is None else int(np.isfinite(known).sum())
    if o.report is not None:
        from argmetric.cli.scores._page import save_report

        save_report(rows, o, None, labels)
    wide = rows.way == "wide"
    facts = _told(rows, o, labels, result, rule, where) if wide else []
    facts = facts or _forecast_facts(rows.way, where, result, values["known"])
    shown = [*lines.asked_of(rows), *facts, *lines.actual(values["actual"])]
    table = lines.label_table_of if wide else None
    _report.tell("forecast", values, shown, json=o.json, table=table)
    return _gate(result, rows.metric, o)


def _by_rule(rows: Rows, rule: Any, o: Given) -> tuple[str, Any]:
    """Return what decides, in words, and the labels that it gives."""
    if not _likely(rows, rule):
        way_out = "there is no forecast"
        if rows.way == "one":
            way_out = "pass --reference to make them probabilities, or --logits"
        raise files.DataError(
            f"{o.rule} was tuned on scores, not on probabilities: {way_out}"
        )
    _, labels = _ruled(rows, rule)
    if rows.way == "one":
        return f"{rule_text(rule, rows.score)} ({o.rule})", labels
    return f"the rule of {o.rule}", labels


def _forecast_facts(way: str, where: str, result: Any, known: int | None) -> Any:
    if way == "classes":
        return [("decision", where), _report.forecast_line(result)]
    positives = _report.count(result.n_positives, "positive")
    truth = f"{result.expected_positives:,.1f} positives are expected"
    facts = [("decision", f"{where}, {positives}"), ("truth", truth)]
    if known is not None:
        facts.append(("known", f"{_report.count(known, 'label')} arrived"))
    facts += lines.share(result)
    facts.append(_report.forecast_line(result))
    if chance := result.p_undefined:
        text = f"outcomes without a score, probability {chance:.4g}"
        facts.append(("left out", text))
    return facts


def _gate(result: Any, metric: Any, o: Given) -> int:
    """Return the exit code for a forecast."""
    low, high = result.interval
    worse_end = low if metric.greater_is_better else high
    judged = {"mean": result.mean, "interval": worse_end}[o.fail_on]
    what = {"mean": "the mean", "interval": "the worse end of the interval"}[o.fail_on]
    return gate(judged, o.fail_under, metric, f"{what} of the forecast")


def _forecast_pieces(o: Given, source: Input) -> int:
    from argmetric.scale import columns_of
    from argmetric.scale import forecast as forecast_score

    metric, average = layout.metric_of(o, "one")
    score, decision = columns_of(
        source,
        score=(o.score, files.SCORE_NAMES),
        decision_column=(o.decision_column, files.DECISION_NAMES),
    )
    notes = [f"read in pieces, engine {o.engine}"]
    with warnings_in(notes), pieces.running(o) as how:
        result = forecast_score(
            source,
            metric,
            o.coverage,
            score=score,
            decision_column=decision,
            group=o.group,
            average=average or "groups",
            pos_label=Spelled(o.pos_label),
            **o.only("missing_groups", "work_dir"),
            **how,
        )
    used = {"score": score, "decision": decision, "group": o.group}
    described = pieces.described(source, result.n, **used)
    where = f"column {decision!r}"
    values = {
        **described,
        "source": where,
        "known": None,
        "forecast": result.to_dict(),
        "actual": None,
        "calibrator": None,
        "notes": notes,
    }
    asked = lines.asked(described, metric, groups=result.n_groups, average=average)
    facts = [*asked, *_forecast_facts("one", where, result, None)]
    _report.tell("forecast", values, facts, json=o.json)
    return _gate(result, metric, o)
