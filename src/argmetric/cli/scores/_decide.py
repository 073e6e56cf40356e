"""``argmetric decide``, ``argmetric forecast`` and ``argmetric evaluate``."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import argmetric as am
from argmetric._ground.display import part_text
from argmetric._ground.types import AnyArray, Booleans
from argmetric.cli import _report
from argmetric.cli._command import Arguments
from argmetric.cli._errors import UsageError, say, with_flags
from argmetric.cli._values import counts_by_class
from argmetric.cli.scores import _layout as layout
from argmetric.cli.scores import _lines as lines
from argmetric.cli.scores import _pieces as pieces
from argmetric.cli.scores import _rows as io
from argmetric.cli.scores._layout import TableRows
from argmetric.scale import files

_NO_REFERENCE = (
    "the rule keeps no labelled rows, and the forecast takes the scores as they stand: "
    "pass --reference"
)


@lines.verb(
    f"score logits {layout.COLUMNS} {layout.READING} {layout.JUDGED} {layout.MAPS} "
    "mean missed amount cost_fp rule max_positives max_per_class min_positives per_row "
    "min_precision min_recall confidence coverage output output_format new_decisions "
    f"by_group report json jobs {pieces.GROUPED} resume"
)
def decide(o: Arguments, source: io.Input) -> lines.Answer:
    """Choose the labels that maximise the expected metric, and add them as a column.

    The rows are written in the same order, with a column of 0 and 1 added. A summary
    goes to standard error: the columns used, the number of positives, the forecast
    score with its interval and assumptions, the scores of a cut at 0.5 and of the best
    single cut, and the actual score where labels are known.

    With --rule each row is decided by itself, by a rule of `argmetric tune`, and the
    forecast is that of the labelled rows that the rule was tuned on. With
    `--scores 'p_*'` rows have several labels, each with a column of decisions. With
    `--scores 'p_*' --one-label`, or `--mean` by a regression, each row gets one of
    several classes.

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
    io.refuse_shared_output(o.output, json=o.json)
    if isinstance(o.max_positives, int) and o.max_positives < o.min_positives:
        raise UsageError(
            f"--max-positives {o.max_positives} is below --min-positives "
            f"{o.min_positives}"
        )
    if pieces.works_in_pieces("decide", o, source):
        return _decide_pieces(o, source)
    review: tuple[type, ...] = ()  # classes load much: only where there is a rule
    if o.rule is not None:
        review = am.ReviewRule, am.classes.ClassReviewRule
    rows, rule = _read(o, source, am.ParityRule, *review)
    names, decision = rows.column_names(o.new_decisions), None
    gap: dict[str, Any] = {}  # between the groups of a rule
    out = io.rows_out(rows.table, o, dict.fromkeys(names, "--decision-column"))
    _refuse_by_group(o, rows.table)
    if isinstance(rule, review):
        return _review(o, rows, rule, out, names[0])
    with _report.progress(f"deciding {rows.table.n_rows:,} rows"):
        rows.recalibrate(o)
        if rule is None:
            decision = rows.decide(**_limits(o, rows), n_jobs=o.jobs)
            labels = chosen = decision.labels
        else:
            labels, chosen = _labels_by_rule(rows, rule)
        results, notes = _forecast_and_score(rows, o, chosen, decision, rule)
        cuts = results.pop("cuts")
    added = dict(zip(names, np.atleast_2d(np.asarray(labels).T), strict=True))
    out.write(rows.table, added, rows.columns.values())
    lines.save_report(rows, o, decision, chosen)
    _write_by_group(o, decision)
    facts = lines.forecast_facts(results["forecast"], *(["labels"] if decision else []))
    if decision is not None:
        kind = "optimal" if o.per_row is None else f"{o.per_row} a row"
        kind = f"{kind} for {rows.metric.name}"
        own = lines.decision_facts(rows, decision, cuts)
        facts = [("decision", kind), *own, *facts]
    else:
        text = o.rule if rows.way == "wide" else f"{o.rule}, {lines.tuned_on(rule)}"
        if rows.way == "one":
            text = f"{_cut_text(rows, rule)} ({text})"
        if results["forecast"] is None:
            facts = [lines.positives_line(int(chosen.sum()), chosen.size)]
        if isinstance(rule, am.ParityRule):
            own, gap = lines.parity_facts(rows, rule, chosen == 1, o.coverage)
            facts += own
        facts = [("rule", text), *facts, *lines.promise_lines(rule)]
    n_positives = None if rows.way == "classes" else int(chosen.sum())
    values = {"decision": decision, "rule": rule, **results, "n_positives": n_positives}
    values |= {"output": out.target, **gap}
    facts += lines.actual_lines(results["actual"])
    return lines.Answer(rows, values, facts, notes, beside_rows=True)


def _limits(o: Arguments, rows: TableRows) -> dict[str, Any]:
    """Return the limits that were given, as `decide` takes them."""
    limits: dict[str, Any] = o.with_value("min_recall", "prior")
    if rows.way != "classes":  # the others are refused
        return limits | o.with_value(*io.LIMITS.split(), "confidence", "per_row")
    if o.max_per_class is not None:
        limits["max_per_class"] = counts_by_class(o.max_per_class, rows.classes)
    return limits


def _refuse_by_group(o: Arguments, table: files.Table) -> None:
    """Refuse a file of groups that cannot be written, before the rows are."""
    if o.by_group is not None:
        if o.average == "pooled":
            raise UsageError("--average pooled has no score by group for --by-group")
        files.output_format(table, o.by_group)


def _write_by_group(o: Arguments, decision: am.Decision | None) -> None:
    """Write a row for each group to the file of --by-group."""
    if o.by_group is not None and decision is not None:
        frame = decision.to_frame("pyarrow")
        if o.group not in frame.column_names[1:]:
            frame = frame.rename_columns([o.group, *frame.column_names[1:]])
        files.write_table(files.Table(frame, "csv", o.by_group), o.by_group)
        say(f"written: {o.by_group}")


_Part = tuple[Booleans, Booleans | None]  # its rows, and those whose label is right


def _review_parts(rows: TableRows, rule: Any) -> tuple[AnyArray, dict[str, _Part]]:
    """Return what is written beside each row, and the rows of each part by its name."""
    known = rows.y is not None
    if isinstance(rule, am.ReviewRule):
        actions = rule.actions(rows.p)
        accepted = actions == "accept", rows.y == 1 if known else None
        rejected = actions == "reject", rows.y == 0 if known else None
        asked: _Part = actions == "ask", None
        parts = {"accepted": accepted, "for a person": asked, "rejected": rejected}
        return actions, parts
    labels, given = rule.apply(rows.p), rule.predicts(rows.p) >= 0
    parts = {"given a class": (given, labels == rows.y if known else None)}
    return labels, {**parts, "for a person": (~given, None)}


def _review(
    o: Arguments, rows: TableRows, rule: Any, out: io.RowsOut, name: str
) -> lines.Answer:
    """Write beside each row what to do: accept, ask or reject, or a class or ask."""
    labels, parts = _review_parts(rows, rule)
    out.write(rows.table, {name: labels}, rows.columns.values())
    lines.save(rule, o.report)
    counts = {key: int(mask.sum()) for key, (mask, _) in parts.items()}
    facts = [("rule", f"{rule._bands} ({o.rule})")]
    facts += [(key, part_text(n, len(labels))) for key, n in counts.items()]
    facts += lines.promise_lines(rule)
    for key, (mask, right) in parts.items():
        if right is not None and counts[key]:
            hits = int(right[mask].sum())
            facts.append((f"{key}, right", part_text(hits, counts[key])))
    rows.metric = None
    values = {"rule": rule, **{key.replace(" ", "_"): n for key, n in counts.items()}}
    values["output"] = out.target
    return lines.Answer(rows, values, facts, rows.notes, beside_rows=True)


def _read(o: Arguments, source: io.Input, *also: type) -> tuple[TableRows, Any]:
    """Return the rows, and the rule if there is one; it may be of kinds `also`."""
    rule = None
    if o.rule is not None:
        rule = io.load_rule(o.rule, layout.way_of(o), *also)
    if not isinstance(rule, am.ParityRule):
        return layout.read_table_rows(o, source, rule=rule), rule
    if o.group is None:
        raise UsageError(
            f"{o.rule} has a threshold for each group: pass --group COLUMN"
        )
    o = o.but(average=o.average or "pooled")
    rows = layout.read_table_rows(o, source, rule=rule.rules[0])
    rows.groups = io.groups_of_rule(rows.table, o, rows.groups, rule)
    return rows, rule


def _labels_by_rule(rows: TableRows, rule: Any) -> tuple[Any, Any]:
    """Return labels by a rule, in its own names, and as 0 and 1 or classes."""
    if isinstance(rule, am.ParityRule):
        chosen = rule._selected(rows.p, rows.groups)
        return rule.rules[0].named(chosen), chosen.astype(np.int64)
    if rows.way == "one":
        chosen = rule.applies(rows.p)
        return rule.named(chosen), chosen.astype(np.int64)
    labels = rule.apply(rows.p if rows.mean is None else rows.mean)
    return labels, labels


def _cut_text(rows: TableRows, rule: Any) -> str:
    """Return what decides rows of one column of scores."""
    if isinstance(rule, am.ParityRule):
        return f"a threshold for each {rows.used['group']}"
    return lines.rule_text(rule, rows.score)


def _has_forecast(rows: TableRows, rule: Any) -> bool:
    """Return whether a forecast can be made of these scores."""
    if rule is None or rows.way == "classes" or rows.logits:
        return True
    one = getattr(rule, "rules", (rule,))[0]
    return rows.calibrator is not None or bool(one.probabilities)


def _forecast_and_score(
    rows: TableRows, o: Arguments, chosen: Any, decision: Any, rule: Any, **more: Any
) -> tuple[dict[str, Any], list[str]]:
    """Return the forecast and actual scores, the calibrator, and notes."""
    forecast: Any = None
    cuts: dict[str, float] = {}
    score, notes = rows.evaluate(chosen), []
    if _has_forecast(rows, rule):
        forecast = rows.forecast(chosen, o.coverage, prior=o.prior, **more)
    if forecast is None:
        notes.append("no forecast: the rule was tuned on scores, not on probabilities")
    elif decision is None:
        notes += map(with_flags, forecast.notes)
        if rule is not None and rows.way == "one" and rows.calibrator is None:
            again = ", or tune the rule anew" * isinstance(rule, am.Rule)
            notes.append(_NO_REFERENCE + again)
    else:  # that scores were recalibrated is an assumption
        said = tuple(forecast.assumptions)
        told = (note for note in decision.notes if not note.startswith(said))
        notes += map(with_flags, told)
    if forecast is not None and score is not None:
        notes += _report.surprises(forecast, float(score))
    calibrator = rows.calibrator
    if decision is not None and rows.way == "one":  # with the share that was asked for
        calibrator = decision._asked["calibrator"]
        if calibrator is not None and forecast is not None:  # slow to import
            from argmetric._forecast.rivals import CUTS, ahead_of, cut_forecasts

            found = cut_forecasts(decision, forecast.mean)
            notes += ahead_of(decision, forecast.mean, found, _report.number)
            cuts = {CUTS[key]: value for key, value in found.items()}
    results = {"forecast": forecast, "actual": score, "calibrator": calibrator}
    return {**results, "cuts": cuts}, [*notes, *rows.notes]


def _decide_pieces(o: Arguments, source: io.Input) -> lines.Answer:
    """Decide about all rows of many files, and write a folder of the same files."""
    ending = os.path.splitext(o.output or "-")[1]
    if o.output in (None, "-") or ending in (".csv", ".tsv", ".jsonl", ".parquet"):
        raise UsageError(
            f"{io.shown_input(source)}: decisions of many files go to a folder: pass "
            "-o FOLDER"
        )
    layout.metric_of(o, "one")  # wrong usage comes before the files
    labelled = TableRows(None, "one", None, used={"score": ""}, logits=bool(o.logits))
    labelled.recalibrate(o)
    how: Any = {"reference": labelled.calibrator, "decision_column": o.new_decisions}
    how |= {"rule": None if o.rule is None else io.load_rule(o.rule)}
    rows, found, _ = pieces.answer_in_pieces("decide", o, source, **how)
    rows.metric = found.metric
    own = dict(lines.lines_of(found), plan=found.plan)
    facts = [("files", _report.count(found.n_files)), *own.items()]
    notes = [*found.notes, *(f"left out: {file}" for file in found.skipped)]
    values = {"decision": found, "output": found.output}
    return lines.Answer(rows, values, facts, notes, beside_rows=True)


# ------------------------------------------------------------------------ forecast


@lines.verb(
    f"score logits {layout.COLUMNS} {layout.READING} {layout.JUDGED} {layout.MAPS} "
    "mean missed amount cost_fp rule decision_column threshold coverage known "
    f"overdispersion fail_under fail_on report json jobs {pieces.GROUPED}",
    exclusive="decision_column threshold rule",
)
def forecast(o: Arguments, source: io.Input) -> lines.Answer:
    """Forecast the score of a decision before its labels are known.

    The decision is that of --decision-column, --threshold or --rule, else that of a
    column called decision, prediction, predicted, pred or y_pred, else the one that
    `argmetric decide` would make. With `--scores 'p_*'` rows have several labels, and
    --decision-column is a pattern too. The answer goes to standard output. A folder or
    a pattern such as `'decided/*.parquet'`, and a file larger than --memory, are read
    in pieces.

    Parameters
    ----------
    threshold
        Forecast the rule "score >= threshold" instead; scores as they are in the file.

    Examples
    --------
    argmetric forecast decided.csv --fail-under 0.7
    argmetric forecast scores.csv --threshold 0.5 --reference val.csv
    """
    results: dict[str, Any] = {"actual": None, "calibrator": None}
    n_known = None
    if pieces.works_in_pieces("forecast", o, source):
        rows, result, notes = pieces.answer_in_pieces(
            "forecast", o, source, named="score decision_column"
        )
        named = rows.used.get("decision")
        where = f"column {named!r}" if named else f"optimal for {rows.metric.name}"
        results["forecast"] = result
    else:
        rows, rule = _read(o, source, am.ParityRule)
        known = pieces.read_known_labels(rows, o)
        with _report.progress(f"forecasting {rows.table.n_rows:,} rows"):
            rows.recalibrate(o)
            where, labels = _decision_source(rows, rule, o)
            more = {} if rows.way == "classes" else o.only("overdispersion")
            more |= {} if known is None else {"known": known}
            results, notes = _forecast_and_score(rows, o, labels, None, rule, **more)
            del results["cuts"]
        result = results["forecast"]
        n_known = None if known is None else int(np.isfinite(known).sum())
        lines.save_report(rows, o, None, labels)
    facts = [("decision", where)]
    if n_known is not None:
        facts.append(("known", f"{_report.count(n_known, 'label')} arrived"))
    facts += [*lines.forecast_facts(result), *lines.actual_lines(results["actual"])]
    score, called = result.mean, "the mean"
    if o.fail_on == "interval":
        score = result.interval[0 if rows.metric.greater_is_better else 1]
        called = "the worse end of the interval"
    judged = score, f"{called} of the forecast"
    results |= {"source": where, "known": n_known}
    return lines.Answer(rows, results, facts, notes, judged=judged)


def _decision_source(rows: TableRows, rule: Any, o: Arguments) -> tuple[str, Any]:
    """Return the rule or columns that decide, in words, and their labels."""
    if rule is not None:
        where, way_out = f"the rule of {o.rule}", "there is no forecast"
        if rows.way == "one":
            where = f"{_cut_text(rows, rule)} ({o.rule})"
            way_out = "pass --reference to make them probabilities, or --logits"
        if not _has_forecast(rows, rule):
            raise files.DataError(
                f"{o.rule} was tuned on scores, not on probabilities: {way_out}"
            )
        return where, _labels_by_rule(rows, rule)[1]
    if o.threshold is not None:
        labels = (rows.p >= o.threshold).astype(np.int64)
        return f"{rows.score} >= {o.threshold:g}", labels
    if given := pieces.read_decisions(rows, o):
        return given
    decision = rows.decide(prior=o.prior, n_jobs=o.jobs)
    if rows.way == "wide":
        rows.notes = [*rows.notes, *map(with_flags, decision.notes)]
    return f"optimal for {rows.metric.name}", np.asarray(decision.labels)


# ------------------------------------------------------------------------ evaluate


@lines.verb(
    f"{layout.COLUMNS} {layout.READING} {layout.JUDGED} missed amount cost_fp "
    f"decision_column score threshold fail_under json {pieces.GROUPED}",
    exclusive="threshold decision_column",
)
def evaluate(o: Arguments, source: io.Input) -> lines.Answer:
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
    way = layout.way_of(o)
    if way == "wide" and o.labels is None:
        raise UsageError("--scores goes with --labels: pass the pattern of both")
    rule: _report.Facts = []
    empty = None
    if pieces.works_in_pieces("evaluate", o, source):
        rows, score, notes = pieces.answer_in_pieces("evaluate", o, source)
    else:
        behind: Any = "none" if o.score is None else "probabilities"
        behind = "numbers" if o.threshold is not None else behind
        how: Any = {"labels": "required", "scores": behind, "judged": True}
        rows = layout.read_table_rows(o, source, **how)
        where, labels = _decision_source(rows, None, o)
        notes = []
        if o.threshold is not None:
            rule = [("rule", where)]
        elif rows.p is not None and way == "one":
            del rows.used["score"]
        with _report.progress(f"evaluating {rows.table.n_rows:,} rows"):
            score = rows.evaluate(labels)
            if rows.p is not None and o.threshold is None and way != "classes":
                notes = _report.surprises(rows.forecast(labels, 0.9), float(score))
        if rows.groups is not None:
            with_some = np.unique(rows.groups.codes[np.asarray(rows.y) != 0])
            empty = len(rows.groups.ids) - int(with_some.size)
    total = float(score)
    facts = [*rule, ("score", _report.number(total)), *lines.lines_of(score, "score")]
    if empty:
        facts.append(("empty", f"{_report.count(empty, 'group')} without a positive"))
    values = {"actual": score, "threshold": o.threshold}
    values["groups_without_positives"] = empty
    judged = total, rows.metric.name
    return lines.Answer(rows, values, facts, notes, judged=judged)
