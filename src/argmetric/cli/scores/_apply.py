"""``argmetric decide --rule``: each row by itself, with a frozen threshold."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from argmetric import _files as files
from argmetric._files import Format
from argmetric.cli import _report
from argmetric.cli._errors import DONE, UsageError
from argmetric.cli._option_sets import Columns, Judge, Recalibration, Scores
from argmetric.cli._progress import progress
from argmetric.cli._summary import (
    Values,
    batch_described,
    forecast_values,
    surprises,
)
from argmetric.cli.scores._inputs import Input
from argmetric.cli.scores._load import (
    Batch,
    find_score,
    load_groups,
    optional_labels,
    read_rows,
    refuse_shared,
)
from argmetric.cli.scores._rows_out import rows_out
from argmetric.cli.scores._rules import load_rule, rule_text, tuned_on

if TYPE_CHECKING:
    from argmetric import Rule


def refuse_beside_rule(
    judge: Judge,
    recalibration: Recalibration | None = None,
    limits: dict[str, float | int | None] | None = None,
    report: str | None = None,
) -> None:
    """Refuse options that a frozen rule would ignore."""
    given: dict[str, Any] = {
        "metric": judge.metric,
        "zero_division": judge.zero_division,
        **(limits or {}),
    }
    if report is not None:
        raise UsageError(
            "with --rule there is no joint decision to report on: argmetric forecast "
            "--rule FILE --report FILE shows what the rule is worth on these rows"
        )
    if recalibration is not None:
        given |= {
            "calibrator": recalibration.calibrator,
            "reference": recalibration.reference,
        }
    for option, value in given.items():
        if value:
            shown = option.replace("_", "-")
            raise UsageError(
                f"--rule brings its own threshold and metric; --{shown} has no "
                "effect beside it"
            )


def load_rule_batch(
    file: Input,
    rule: Rule,
    scores: Scores,
    columns: Columns,
    judge: Judge,
    *,
    taken: tuple[str | None, ...] = (),
) -> Batch:
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
    return Batch(
        table,
        rule.metric,
        score,
        p,
        scores.logits,
        load_groups(table, columns, judge),
        optional_labels(table, columns, taken=used, shared=told),
        rule.calibrator,
    )


def has_probabilities(batch: Batch, rule: Rule) -> bool:
    """Whether a forecast can be made of these scores."""
    return batch.logits or batch.calibrator is not None or rule.probabilities


def apply_rule(
    file: Input,
    path: str,
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
    rule = load_rule(path)
    batch = load_rule_batch(file, rule, scores, columns, judge)
    new = {decision_column: "--decision-column"}
    out = rows_out(batch.table, output, output_format, json=json, new=new)
    with progress(f"deciding {batch.table.n_rows:,} rows"):
        chosen = rule.applies(batch.p)
        summary = rule_summary(batch, rule, chosen, coverage, out.target)
    summary["rule_file"] = path
    added = {decision_column: rule.named(chosen)}
    out.write(batch.table, added, numeric=frozenset({batch.score}))
    if json:
        out.print_json(summary)
    else:
        print_rule(summary, f"{path}, {tuned_on(rule)}")
    return DONE


def rule_summary(
    batch: Batch,
    rule: Rule,
    chosen: npt.NDArray[np.bool_],
    coverage: float,
    output: str | None,
) -> Values:
    """Return what a rule gives for a batch, with the score to expect."""
    labels = batch.labels
    notes = [labels.note] if labels.note else []
    real = batch.real_score(chosen)
    forecast_: Values | None = None
    if has_probabilities(batch, rule):
        from argmetric import forecast

        result = forecast(
            batch.p,
            chosen,
            batch.metric,
            coverage,
            **batch.grouping,
            **batch.scoring,
        )
        forecast_ = forecast_values(result)
        notes += surprises(result, real)
    else:
        notes.append("no forecast: the rule was tuned on scores, not on probabilities")
    return {
        **batch_described(batch),
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


def print_rule(summary: Values, origin: str) -> None:
    """Print what a rule gives."""
    target = _report.console(stderr=True)
    share = summary["positives"] / summary["rows"]
    forecast = summary["forecast"]
    facts = [
        *_report.asked(summary),
        ("rule", f"{summary['rule']} ({origin})"),
        ("positives", f"{summary['positives']:,} ({100 * share:.1f} % of the rows)"),
    ]
    if forecast is not None:
        facts.append(("expected", _report.expectation(forecast["mean"], forecast)))
    if summary["real"] is not None:
        facts.append(("real score", _report.number(summary["real"])))
    _report.print_facts(target, "argmetric decide", facts)
    if forecast is not None:
        _report.print_notes(target, "assumes", forecast["assumptions"])
    _report.print_notes(target, "note", summary["notes"])
    _report.print_written(target, summary["output"])
