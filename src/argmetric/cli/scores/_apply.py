"""``argmetric decide --rule``: each row by itself, with a frozen threshold."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from argmetric import _files as files
from argmetric._files import Format
from argmetric.cli import _report
from argmetric.cli._errors import UsageError, refuse
from argmetric.cli._option_sets import (
    Columns,
    Judge,
    RecalibrationOptions,
    Scores,
    Wide,
)
from argmetric.cli._progress import progress
from argmetric.cli.scores._load import (
    ScoreBatch,
    find_score,
    load_groups,
    optional_labels,
    read_rows,
    refuse_shared,
)
from argmetric.cli.scores._rows import Input, rows_out
from argmetric.cli.scores._rules import load_rule, load_wide_rule, rule_text, tuned_on
from argmetric.cli.scores._wide import WideBatch, load_wide
from argmetric.cli.scores._wide_summary import label_table, wide_facts, wide_summary

if TYPE_CHECKING:
    from argmetric import Rule


NO_REFERENCE = (
    "the rule keeps no labelled rows, and the forecast takes the scores as they stand: "
    "pass --reference to argmetric forecast --rule, or tune the rule anew"
)


def refuse_beside_rule(
    judge: Judge,
    recalibration: RecalibrationOptions | None = None,
    limits: dict[str, float | int | None] | None = None,
    report: str | None = None,
) -> None:
    """Refuse options that a frozen rule would ignore."""
    if report is not None:
        raise UsageError(
            "with --rule there is no joint decision to report on: argmetric forecast "
            "--rule FILE --report FILE shows what the rule is worth on these rows"
        )
    given: dict[str, Any] = limits or {}
    if recalibration is not None:
        names = "calibrator", "reference"
        given = given | {name: getattr(recalibration, name) for name in names}
    refuse(
        "--rule brings its own threshold and metric; {} has no effect beside it",
        metric=judge.metric,
        zero_division=judge.zero_division,
        **given,
    )


def load_rule_batch(
    file: Input,
    rule: Rule,
    scores: Scores,
    columns: Columns,
    judge: Judge,
    *,
    taken: tuple[str | None, ...] = (),
) -> ScoreBatch:
    """Read rows whose scores are what the rule was tuned on.

    Parameters
    ----------
    file : str
        A path, or ``"-"``.
    rule : Rule
        Says what the scores are, and which label is the positive one.
    scores, columns, judge
        The options.
    taken : tuple of str or None, optional
        Columns with another purpose, which are no labels.
    """
    judge.average_for(columns.group)  # wrong usage comes before the file is read
    is_probability = rule.probabilities or rule.calibrator is not None
    if scores.logits and is_probability:
        raise UsageError("--logits: the rule was tuned on probabilities")
    table = read_rows(file, **columns.reading)
    score = find_score(table, scores, taken=[columns.group, columns.label])
    refuse_shared(score=score, group=columns.group, label=columns.label)
    read = files.probabilities if is_probability else files.numbers
    p = read(table, score)
    told = columns.pos_label is None and (rule.neg_label, rule.pos_label) != (0, 1)
    if told:  # by the rule, which has seen both classes
        columns = replace(columns, pos_label=str(rule.pos_label))
    used = [name for name in (score, columns.group, *taken) if name is not None]
    known = rule.reference if is_probability or scores.logits else None
    return ScoreBatch(
        table,
        rule.metric,
        score,
        p,
        scores.logits,
        load_groups(table, columns, judge),
        optional_labels(table, columns, taken=used, shared=told),
        rule.calibrator if known is None else known.calibrator,
        None if known is None else known.rows,
    )


def has_probabilities(batch: ScoreBatch, rule: Rule) -> bool:
    """Whether a forecast can be made of these scores."""
    return batch.logits or batch.calibrator is not None or rule.probabilities


def apply_rule(
    file: Input,
    path: str,
    wide: Wide,
    scores: Scores,
    columns: Columns,
    judge: Judge,
    *,
    coverage: float,
    output: str | None,
    output_format: Format | None,
    decision_column: str,
    json: bool,
) -> int:
    """Do what ``argmetric decide --rule`` is asked for."""
    batch, rule = load_ruled(file, path, wide, scores, columns, judge)
    names = batch.named(decision_column)
    new = dict.fromkeys(names, "--decision-column")
    out = rows_out(batch.table, output, output_format, json=json, new=new)
    with progress(f"deciding {batch.table.n_rows:,} rows"):
        if isinstance(batch, WideBatch):
            labels = rule.apply(batch.p)
            likely = rule.rules[0].probabilities
            expected = batch.forecast(labels, coverage) if likely else None
            source = f"the rule of {path}"
            told: dict[str, Any] = {"rule": rule, "output": out.target}
            summary = wide_summary(batch, source, labels, expected, **told)
        else:
            chosen = rule.applies(batch.p)
            labels = rule.named(chosen)
            summary = rule_summary(batch, rule, chosen, coverage, out.target)
            summary["rule_file"] = path
    added = dict(zip(names, np.atleast_2d(labels.T), strict=True))
    out.write(batch.table, added, numeric=batch.score_columns)
    how: dict[str, Any] = {"facts": wide_facts, "table": label_table}
    if not wide.asked:
        how = {"facts": partial(rule_lines, origin=f"{path}, {tuned_on(rule)}")}
    return _report.tell(
        "decide", summary, json=json, stderr=True, unwritten="rows", **how
    )


def load_ruled(
    file: Input,
    path: str,
    wide: Wide,
    scores: Scores,
    columns: Columns,
    judge: Judge,
    *,
    taken: tuple[str | None, ...] = (),
) -> tuple[ScoreBatch, Any]:
    """Read a rule, and the rows that it is to decide on."""
    if wide.asked:
        rule = load_wide_rule(path)
        return load_wide(file, wide, scores, columns, judge, rule=rule), rule
    one = load_rule(path)
    return load_rule_batch(file, one, scores, columns, judge, taken=taken), one


def rule_summary(
    batch: ScoreBatch,
    rule: Rule,
    chosen: npt.NDArray[np.bool_],
    coverage: float,
    output: str | None,
) -> _report.Values:
    """Return what a rule gives for a batch, with the score to expect."""
    labels = batch.labels
    notes = [labels.note] if labels.note else []
    real = batch.real_score(chosen)
    forecast_: _report.Values | None = None
    if has_probabilities(batch, rule):
        result = batch.forecast(chosen, coverage)
        forecast_ = _report.forecast_values(result)
        notes += _report.as_flags(result.notes)
        notes += _report.surprises(result, real)
        if batch.calibrator is None:
            notes.append(NO_REFERENCE)
    else:
        notes.append("no forecast: the rule was tuned on scores, not on probabilities")
    return {
        **_report.batch_described(batch),
        "positives": int(chosen.sum()),
        "expected": None if forecast_ is None else forecast_["mean"],
        "forecast": forecast_,
        "threshold": rule.threshold,
        "operator": rule.operator,
        "rule": rule_text(rule, batch.score),
        "real": real,
        "notes": notes,
        "output": output,
        "rule_file": None,
        "route": None,
        "check": None,
    }


def rule_lines(summary: _report.Values, origin: str) -> _report.Facts:
    """Return the lines on what a rule gives."""
    facts = [
        *_report.asked(summary),
        ("rule", f"{summary['rule']} ({origin})"),
        _report.positives(summary),
    ]
    if (forecast := summary["forecast"]) is not None:
        facts.append(_report.forecast_line(forecast))
    return [*facts, *_report.real(summary)]
