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
        layout.recalibrate(rows, o)
        if rule is not None:
            labels, chosen = _ruled(rows, rule)
        else:
            if way == "classes":
                limits = {}
            decision = rows.decide(**limits, prior=o.prior, n_jobs=o.jobs)
            labels = chosen = decision.labels
        forecast = _forecast(rows, chosen, o, rule)
        found = _found(rows, decision, rule, chosen, forecast, o)
    found["output"] = out.target
    added = dict(zip(names, np.atleast_2d(np.asarray(labels).T), strict=True))
    out.write(table, added, numeric=frozenset(rows.columns.values()))
    if o.report is not None:
        from argmetric.cli.scores._page import save_report

        save_report(rows, o, decision, chosen)
    facts, tables = _decided_lines(rows, decision, rule, chosen, forecast, found, o)
    return _report.tell(
        "decide",
        found,
        facts,
        json=o.json,
        stderr=True,
        unwritten="rows",
        table=tables,
    )


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


def _forecast(rows: Rows, chosen: Any, o: Given, rule: Any, **more: Any) -> Any:
    """Return the score to expect, None where scores are no probabilities."""
    if not _likely(rows, rule):
        return None
    if rows.way == "classes":
        return rows.forecast(chosen, o.coverage, prior=o.prior)
    return rows.forecast(chosen, o.coverage, prior=o.prior, **more)


def _found(
    rows: Rows, decision: Any, rule: Any, chosen: Any, forecast: Any, o: Given
) -> _report.Values:
    """Return what was decided, as plain values."""
    score = rows.evaluate(chosen)
    said = () if forecast is None else tuple(forecast.assumptions)
    notes: list[str] = []
    if decision is not None:  # that scores were recalibrated is an assumption
        told = (note for note in decision.notes if not note.startswith(said))
        notes = _report.as_flags(told)
        if forecast is not None and rows.way == "one" and rows.calibrator is not None:
            notes += _report.differs(decision.expected, forecast.mean)
    elif forecast is None:
        notes.append("no forecast: the rule was tuned on scores, not on probabilities")
    else:
        notes += _report.as_flags(forecast.notes)
        if rows.way == "one" and rows.calibrator is None:
            notes.append(_NO_REFERENCE)
    if forecast is not None and score is not None:
        notes += _report.surprises(forecast, float(score))
    values: _report.Values = {
        **rows.described(),
        "decision": None if decision is None else decision.to_dict(),
        "rule": None if rule is None else rule.to_dict(),
        "n_positives": None if rows.way == "classes" else int(chosen.sum()),
        "forecast": None if forecast is None else forecast.to_dict(),
        "actual": None if score is None else score.to_dict(),
        "calibrator": None if rows.calibrator is None else rows.calibrator.to_dict(),
    }
    if rows.way == "one" and decision is not None:
        on_scale = layout.on_scale_of(rows, decision._asked["calibrator"])
        if on_scale.calibrator is not None:  # with the share that was asked for
            values["calibrator"] = on_scale.calibrator.to_dict()
        values["ties"] = lines.split_ties(on_scale, chosen)
        cuts = {key: getattr(decision, key) for key in ("best_cut", "cut_half")}
        values["actual_of_cuts"] = None
        if score is not None:
            values["actual_of_cuts"] = {
                key: float(rows.evaluate(on >= cut.threshold))
                for (key, cut), on in zip(
                    cuts.items(), (on_scale.scale, rows.p), strict=True
                )
            }
    if rows.way == "wide":
        values |= _labels_found(rows, chosen, forecast, rule)
    return values | {"notes": [*notes, *rows.notes]}


def _labels_found(rows: Rows, labels: Any, forecast: Any, rule: Any) -> _report.Values:
    """Return what was decided of each of several labels."""
    thresholds = None if rule is None else rule.thresholds
    mass = None if forecast is None else _mass(rows)
    found = lines.by_label(rows, labels, mass, thresholds)
    return {"labels": rows.names, "by_label": found}


def _mass(rows: Rows) -> Any:
    """Return the positives to expect of each label."""
    if not rows.logits:
        return rows.scale.sum(axis=0)
    from argmetric._input.odds import expit

    return expit(rows.scale).sum(axis=0)


def _decided_lines(
    rows: Rows,
    decision: Any,
    rule: Any,
    chosen: Any,
    forecast: Any,
    found: _report.Values,
    o: Given,
) -> tuple[Any, Any]:
    """Return the lines on a decision, and its table."""

    def told(*more: Any) -> Any:
        known = found["actual"]
        actual = [] if known is None else lines.actual(known["score"])
        return lambda values: [*lines.asked_of(rows), *more, *actual]

    if rows.way == "wide":
        source = f"optimal for {rows.metric.name}"
        if rule is not None:
            source = f"the rule of {o.rule}"
        mass = None if forecast is None else _mass(rows)
        facts = lines.wide_facts(rows, source, chosen, mass, forecast)
        return told(*facts), lines.label_table_of
    if rule is not None:
        origin = f"{o.rule}, {tuned_on(rule)}"
        if rows.way == "classes":
            return told(("rule", origin), *_expected(forecast)), None
        text = f"{rule_text(rule, rows.score)} ({origin})"
        n = lines.positives(int(chosen.sum()), rows.table.n_rows)
        return told(("rule", text), n, *_expected(forecast)), None
    if rows.way == "classes":
        score = rows.evaluate(chosen)
        facts = lines.class_facts(decision, forecast)
        return told(*facts), lambda values: lines.decided_classes(decision, score)
    on_scale = layout.on_scale_of(rows, decision._asked["calibrator"])
    facts = lines.decision_facts(on_scale, decision, forecast, found["ties"])
    known = None if found["actual"] is None else found["actual"]["score"]
    cuts = found["actual_of_cuts"]
    return told(*facts), lambda values: lines.cut_table(on_scale, decision, known, cuts)


def _expected(forecast: Any) -> list[tuple[str, str]]:
    if forecast is None:
        return []
    return [*lines.share(forecast), _report.forecast_line(forecast)]


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
        calibrator = layout.read_calibrator(o.calibrator)
    elif o.reference is not None:
        calibrator = layout.fitted(
            o, *layout.read_reference(o, o.score or "")
        ).calibrator
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
    return _report.tell(
        "decide", values, lambda values: facts, json=o.json, stderr=True, notes=notes
    )


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
    notes: list[str] = []
    with progress(f"forecasting {rows.table.n_rows:,} rows"):
        layout.recalibrate(rows, o)
        if rule is not None:
            where, labels = _by_rule(rows, rule, o)
        elif o.threshold is not None:
            labels = (rows.p >= o.threshold).astype(np.int64)
            where = f"{rows.score} >= {o.threshold:g}"
        elif given := layout.decided(rows, o):
            where, labels = given
        else:
            decision = rows.decide(prior=o.prior, n_jobs=o.jobs)
            labels = np.asarray(decision.labels)
            if rows.way == "wide":
                notes = _report.as_flags(decision.notes)
            where = f"optimal for {rows.metric.name}"
        more = {} if rows.way == "classes" else o.only("overdispersion")
        more |= {} if known is None else {"known": known}
        result = rows.forecast(labels, o.coverage, prior=o.prior, **more)
    score = rows.evaluate(labels)
    real = None if score is None else float(score)
    values: _report.Values = {
        **rows.described(),
        "source": where,
        "known": None if known is None else int(np.isfinite(known).sum()),
        "forecast": result.to_dict(),
        "actual": None if score is None else score.to_dict(),
        "calibrator": None if rows.calibrator is None else rows.calibrator.to_dict(),
    }
    told = _report.as_flags(result.notes)
    values["notes"] = [*rows.notes, *notes, *told, *_report.surprises(result, real)]
    table: Any = None
    if rows.way == "wide":
        values |= _labels_found(rows, labels, result, rule)
        facts = lines.wide_facts(rows, where, labels, _mass(rows), result)
        table = lines.label_table_of
    else:
        facts = _forecast_facts(rows, where, result, values["known"])
    if o.report is not None:
        from argmetric.cli.scores._page import save_report

        save_report(rows, o, None, labels)
    shown = [*lines.asked_of(rows), *facts, *lines.actual(real)]
    _report.tell("forecast", values, lambda _: shown, json=o.json, table=table)
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


def _forecast_facts(rows: Rows, where: str, result: Any, known: int | None) -> Any:
    if rows.way == "classes":
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
    rows: Any = Rows(None, "one", metric)  # type: ignore[arg-type]
    facts = [*asked, *_forecast_facts(rows, where, result, None)]
    _report.tell("forecast", values, lambda _: facts, json=o.json)
    return _gate(result, metric, o)
