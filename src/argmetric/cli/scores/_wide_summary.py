"""What was decided of several labels, as values for JSON and as lines for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from argmetric import _files as files
from argmetric._input.types import Floats
from argmetric.cli import _report
from argmetric.cli._options import WideAverage
from argmetric.cli.scores._rules import rule_row, rule_values
from argmetric.cli.scores._wide import WideBatch
from argmetric.metrics import Metric

if TYPE_CHECKING:
    from argmetric import Forecast, MultiLabelRule

_SHOWN_LABELS = 20  # rows of a table
_MEANS = {
    "macro": "mean over labels",
    "micro": "all cells together",
    "samples": "mean over rows",
}
_LABEL_COLUMNS = {
    "threshold": lambda value: "" if value is None else f"{value:.4g}",
    "positives": lambda value: f"{value:,}",
    "expected_positives": lambda value: f"{value:,.1f}",
    "real": _report.number,
}


def wide_described(
    table: files.Table,
    metric: Metric,
    names: Sequence[str],
    average: WideAverage,
    **patterns: str,
) -> _report.Values:
    """Return what was asked: file, rows, patterns, labels, metric, convention."""
    return {
        **_report.rows_described(table, **patterns),
        **_report.metric_described(metric),
        "labels": list(names),
        "average": average,
    }


def wide_summary(
    batch: WideBatch,
    decision: str,
    labels: npt.NDArray[np.int64],
    forecast: Forecast | None,
    *,
    rule: MultiLabelRule | None = None,
    notes: Sequence[str] = (),
    output: str | None = None,
) -> _report.Values:
    """Return the score to expect of decisions, and what they are label by label.

    Parameters
    ----------
    batch : WideBatch
        The rows.
    decision : str
        Where the decisions are from, in words.
    labels : ndarray
        The decisions.
    forecast : Forecast or None
        The score to expect; None where scores are no probabilities.
    rule : MultiLabelRule, optional
        What decided, if a rule did.
    notes : sequence of str, optional
        What else the reader should know.
    output : str, optional
        Where the rows go.
    """
    real, said = batch.real_score(labels), list(notes)
    expected = np.full(len(batch.names), np.nan)
    if forecast is not None:
        said += _report.surprises(forecast, real)
        expected = _probabilities(batch).sum(axis=0)
    thresholds = None if rule is None else rule.thresholds.tolist()
    return {
        **wide_described(
            batch.table, batch.metric, batch.names, batch.average, **batch.patterns
        ),
        "decision": decision,
        "positives": int(labels.sum()),
        "expected_positives": float(expected.sum()),
        "calibrator": None if batch.calibrator is None else batch.calibrator.to_dict(),
        "forecast": None if forecast is None else _report.forecast_values(forecast),
        "real": real,
        "by_label": by_label(
            batch.names,
            batch.metric,
            batch.labels.values,
            labels,
            expected.tolist(),
            thresholds,
        ),
        "notes": said,
        "output": output,
    }


def _probabilities(batch: WideBatch) -> Floats:
    if not batch.logits:
        return batch.scale
    from argmetric._input.odds import expit

    return expit(batch.scale)


def by_label(
    names: Sequence[str],
    metric: Metric,
    y: npt.NDArray[Any] | None,
    labels: npt.NDArray[np.int64],
    expected: Sequence[float] | None = None,
    thresholds: Sequence[float] | None = None,
) -> list[_report.Values]:
    """Return what was decided of each label, and its score by itself."""
    from argmetric import evaluate

    return [
        {
            "label": name,
            "positives": int(labels[:, j].sum()),
            "expected_positives": None if expected is None else expected[j],
            "threshold": None if thresholds is None else thresholds[j],
            "real": None
            if y is None
            else float(evaluate(y[:, j], labels[:, j], metric)),
        }
        for j, name in enumerate(names)
    ]


def wide_facts(summary: _report.Values) -> _report.Facts:
    """Return the lines on a decision, and on the score to expect."""
    share = summary["positives"] / (summary["rows"] * len(summary["labels"]))
    facts = [
        *wide_asked(summary),
        ("decision", summary["decision"]),
        ("positives", f"{summary['positives']:,} ({100 * share:.1f} % of the cells)"),
    ]
    if (forecast := summary["forecast"]) is not None:
        truth = f"{summary['expected_positives']:,.1f} positives are expected"
        facts.append(("truth", truth))
        facts.append(_report.forecast_line(forecast))
    return [*facts, *_report.real(summary)]


def wide_asked(summary: _report.Values) -> _report.Facts:
    """Return the first lines: what was asked of which rows."""
    average = f"{_MEANS[summary['average']]} (--average {summary['average']})"
    return [
        ("rows", _report.rows_asked(summary)),
        ("labels", f"{_report.count(len(summary['labels']))}, {average}"),
        _report.metric_asked(summary),
    ]


def label_table(summary: _report.Values) -> _report.Table:
    """Return a row for each label, columns that are not known left out."""
    labels = summary["by_label"]
    known = [
        key
        for key in _LABEL_COLUMNS
        if any(one[key] is not None and one[key] == one[key] for one in labels)
    ]
    rows = [
        [one["label"], *(_LABEL_COLUMNS[key](one[key]) for key in known)]
        for one in labels[:_SHOWN_LABELS]
    ]
    header = ("actual" if key == "real" else key.replace("_", " ") for key in known)
    return ["label", *header], rows, 1, _more(labels)


def _more(labels: Sequence[Any]) -> str:
    """Return what to say of labels that a table does not show, if there are any."""
    left = len(labels) - _SHOWN_LABELS
    shown = f"{_report.count(left, 'label')} more; --json has them all"
    return shown if left > 0 else ""


def rules_described(
    rule: MultiLabelRule, columns: list[str], p: Floats
) -> _report.Values:
    """Return a rule for several labels as plain values."""
    one_for_each = rule.average == "macro"
    kept = rule.rules if one_for_each else rule.rules[:1]
    return {
        "metric": rule.metric.name,
        "score": rule.score,
        "out_of_fold_score": rule.score - rule.optimism,
        "rules": [
            rule_values(
                one,
                columns[j] if one_for_each else "score",
                np.ascontiguousarray(p[:, j]) if one_for_each else p.ravel(),
            )
            for j, one in enumerate(kept)
        ],
    }


def tuned_facts(summary: _report.Values) -> _report.Facts:
    """Return the lines on rules for several labels."""
    macro = summary["average"] == "macro"
    how = "a threshold for each" if macro else "one threshold for all"
    labels = f"{len(summary['labels']):,}, {how} (--average {summary['average']})"
    facts = [("rows", _report.rows_asked(summary)), ("labels", labels)]
    for one in summary["rules"]:
        other = _report.number(one["out_of_fold_score"])
        text = f"{_report.number(one['score'])} on these rows, new rows {other}"
        facts.append((one["metric"], text))
    return facts


def tuned_table(summary: _report.Values) -> _report.Table:
    """Return a row for the rule of each label."""
    names = summary["labels"] if summary["average"] == "macro" else ["all"]
    rows = [
        [name, *rule_row(rule)[:-1]]
        for one in summary["rules"]
        for name, rule in zip(names[:_SHOWN_LABELS], one["rules"], strict=False)
    ]
    header = ["label", "metric", "rule", "positives", "score", "new rows"]
    return header, rows, 3, _more(names)
