"""What a decision on several labels is, as values for JSON and as lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric.cli import _report
from argmetric.cli._summary import Values, forecast_values, surprises
from argmetric.cli.scores.wide._columns import WideBatch

_SHOWN_LABELS = 20
_MEANS = {
    "macro": "mean over labels",
    "micro": "all cells together",
    "samples": "mean over rows",
}


def wide_summary(
    batch: WideBatch,
    decision: str,
    labels: npt.NDArray[np.int64],
    coverage: float,
    *,
    thresholds: list[float | None] | None = None,
    is_probability: bool = True,
    notes: tuple[str, ...] = (),
    output: str | None = None,
) -> Values:
    """Return the score to expect of decisions, and what they are label by label.

    Parameters
    ----------
    batch : WideBatch
        The rows.
    decision : str
        Where the decisions are from, in words.
    labels : ndarray
        The decisions.
    coverage : float
        Of the interval.
    thresholds : list of float or None, optional
        The threshold of each label, where there is one.
    is_probability : bool
        Whether a forecast can be made of the scores.
    notes : tuple of str, optional
        What else the reader should know.
    output : str, optional
        Where the rows go.
    """
    from argmetric import forecast

    real, said = batch.real_score(labels), list(notes)
    expected = np.full(len(batch.names), np.nan)
    values: Values | None = None
    if is_probability:
        result = forecast(
            batch.p,
            labels,
            batch.metric,
            coverage,
            average=batch.average,
            **batch.scoring,
        )
        values = forecast_values(result)
        said += surprises(result, real)
        expected = _probabilities(batch).sum(axis=0)
    return {
        **batch.described(),
        "decision": decision,
        "positives": int(labels.sum()),
        "expected_positives": float(expected.sum()),
        "calibrator": None if batch.calibrator is None else batch.calibrator.to_dict(),
        "forecast": values,
        "real": real,
        "by_label": by_label(batch, labels, expected, thresholds),
        "notes": said,
        "output": output,
    }


def _probabilities(batch: WideBatch) -> npt.NDArray[np.float64]:
    if not batch.logits:
        return batch.scale
    from scipy.special import expit

    values: npt.NDArray[np.float64] = expit(batch.scale)
    return values


def by_label(
    batch: WideBatch,
    labels: npt.NDArray[np.int64],
    expected: npt.NDArray[np.float64],
    thresholds: list[float | None] | None,
) -> list[Values]:
    """Return what was decided of each label."""
    return [
        {
            "label": name,
            "positives": int(labels[:, j].sum()),
            "expected_positives": float(expected[j]),
            "threshold": None if thresholds is None else thresholds[j],
            "real": label_score(batch.metric, batch.y, labels, j),
        }
        for j, name in enumerate(batch.names)
    ]


def label_score(
    metric: Any,
    y: npt.NDArray[np.int64] | None,
    labels: npt.NDArray[np.int64],
    j: int,
) -> float | None:
    """Return the score of one label by itself, None without true labels."""
    if y is None:
        return None
    from argmetric import evaluate

    return float(evaluate(y[:, j], labels[:, j], metric))


def print_wide(summary: Values, title: str, *, stderr: bool) -> None:
    """Print what was decided, and the score to expect."""
    target = _report.console(stderr=stderr)
    cells = summary["rows"] * len(summary["labels"])
    share = summary["positives"] / cells
    facts = [
        *wide_asked(summary),
        ("decision", summary["decision"]),
        ("positives", f"{summary['positives']:,} ({100 * share:.1f} % of the cells)"),
    ]
    forecast = summary["forecast"]
    if forecast is not None:
        truth = f"{summary['expected_positives']:,.1f} positives are expected"
        facts.append(("truth", truth))
        facts.append(("expected", _report.expectation(forecast["mean"], forecast)))
    if summary["real"] is not None:
        facts.append(("real score", _report.number(summary["real"])))
    _report.print_facts(target, title, facts)
    print_labels(target, summary["by_label"])
    if forecast is not None:
        _report.print_notes(target, "assumes", forecast["assumptions"])
    _report.print_notes(target, "note", summary["notes"])
    _report.print_written(target, summary["output"])


def wide_asked(summary: Values) -> list[tuple[str, str]]:
    """Return the first lines: what was asked of which rows."""
    means = _MEANS[summary["average"]]
    average = f"{means} (--average {summary['average']})"
    return [
        ("rows", _report.rows_asked(summary)),
        ("labels", f"{_report.count(len(summary['labels']))}, {average}"),
        _report.metric_asked(summary),
    ]


def print_labels(target: Any, labels: list[Values]) -> None:
    """Print a line for each label, columns that are not known left out."""
    wanted = [
        ("threshold", _cut),
        ("positives", lambda value: f"{value:,}"),
        ("expected_positives", lambda value: f"{value:,.1f}"),
        ("real", _report.number),
    ]
    known = [
        (key, shown)
        for key, shown in wanted
        if any(_is_known(one[key]) for one in labels)
    ]
    rows = [
        [one["label"], *(shown(one[key]) for key, shown in known)]
        for one in labels[:_SHOWN_LABELS]
    ]
    header = ["label", *(key.replace("_", " ") for key, _ in known)]
    _report.print_table(target, header, rows)
    if len(labels) > _SHOWN_LABELS:
        more = _report.count(len(labels) - _SHOWN_LABELS, "label")
        _report.print_notes(target, "and", [f"{more} more; --json has them all"])


def _is_known(value: float | None) -> bool:
    return value is not None and value == value


def _cut(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
