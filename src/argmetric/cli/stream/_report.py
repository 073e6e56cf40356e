"""What a pass over a stream found, for people and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from argmetric.cli import _report
from argmetric.cli._errors import INTERRUPTED, TERMINATED, with_flags
from argmetric.cli.scores._page import save
from argmetric.cli.stream._run import Interruption, StreamRun
from argmetric.metrics import Metric

if TYPE_CHECKING:
    from argmetric.stream import StreamHistory

_SIGNALS: dict[int, Literal["SIGINT", "SIGTERM"] | None] = {
    0: None,
    INTERRUPTED: "SIGINT",
    TERMINATED: "SIGTERM",
}


def stream_summary(
    run: StreamRun, metric: Metric, stopped: Interruption, output: str | None
) -> _report.Values:
    """Return the answer as plain values."""
    layout, position, counts = run.rows.reader.layout, run.position, run.counts
    classes = position.classes
    empty = not counts.rows
    return {
        "file": run.rows.source.name,
        "format": layout.format,
        "rows": counts.rows,
        "skipped": position.skipped,
        "errors": [with_flags(error) for error in position.errors],
        "features": None if run.configuration["hash_bits"] else layout.n_features,
        "hash_bits": run.configuration["hash_bits"],
        "target": layout.target,
        "classes": [classes.negative, classes.positive],
        "metric": metric.name,
        "zero_division": run.configuration["zero_division"],
        "learner": run.configuration["learner"],
        "rule": run.configuration["rule"],
        "counts": counts.to_dict(),
        "score": None if empty else float(run.model.score_),
        "threshold": None if empty else float(run.model.threshold_),
        "seconds": run.seconds,
        "rows_per_second": run.learned / run.seconds if run.seconds else None,
        "finished": run.finished,
        "signal": _SIGNALS[stopped.code],
        "checkpoint": run.kept,
        "output": output,
    }


def tell_stream(summary: _report.Values, *, json: bool, stderr: bool) -> None:
    """Print the answer."""
    notes = [("skipped", error) for error in summary["errors"]]
    if summary["skipped"] > len(notes):
        notes.append(("skipped", f"{summary['skipped'] - len(notes):,} more"))
    if summary["signal"]:
        notes.append(("note", f"stopped by {summary['signal']} before the end"))
    if summary["checkpoint"] is not None:
        notes.append(("checkpoint", summary["checkpoint"]))
    _report.tell("stream", summary, _facts, json=json, stderr=stderr, notes=notes)


def _facts(summary: _report.Values) -> _report.Facts:
    return [*_asked(summary), *_found(summary)]


def _asked(summary: _report.Values) -> list[tuple[str, str]]:
    how = summary["learner"]
    if summary["rule"] is not None:
        how += f", threshold by {summary['rule']}"
    if summary["features"] is None:
        width = f"hashed to {summary['hash_bits']} bits"
    else:
        width = _report.count(summary["features"], "feature")
    rows = f"{_report.count(summary['rows'], 'row')} of {summary['file']}"
    return [
        ("rows", f"{rows} ({summary['format']}, {width})"),
        ("metric", summary["metric"]),
        ("model", how),
    ]


def _found(summary: _report.Values) -> list[tuple[str, str]]:
    counts, rows, facts = summary["counts"], summary["rows"], []
    if rows:
        share = 100 / rows
        truth, chosen = counts["tp"] + counts["fn"], counts["tp"] + counts["fp"]
        score = _report.number(summary["score"])
        facts = [
            ("truth", f"{truth:,} positive ({share * truth:.1f} % of the rows)"),
            ("predicted", f"{chosen:,} positive ({share * chosen:.1f} %)"),
            ("score", f"{score}, every row predicted before its label was seen"),
            ("threshold", _report.number(summary["threshold"])),
        ]
    if summary["skipped"]:
        facts.append(("skipped", _report.count(summary["skipped"], "bad row")))
    if summary["rows_per_second"]:
        facts.append(("rate", f"{summary['rows_per_second']:,.0f} rows a second"))
    return facts


def save_report(
    summary: _report.Values, metric: Metric, history: StreamHistory, path: str
) -> None:
    """Write the report of a stream."""
    from argmetric._report import report_stream

    counts, rows = summary["counts"], max(summary["rows"], 1)
    truth, chosen = counts["tp"] + counts["fn"], counts["tp"] + counts["fp"]
    found = f"{counts['tp']:,} of {truth:,} positives were found"
    facts = [
        (f"{summary['metric']} so far", _report.number(summary["score"]), found),
        ("Threshold now", _report.number(summary["threshold"]), _asked(summary)[-1][1]),
        (
            "Called positive",
            f"{100 * chosen / rows:.1f} %",
            f"{100 * truth / rows:.1f} % of the rows are",
        ),
    ]
    notes = [f"skipped: {error}" for error in summary["errors"]]
    if summary["signal"]:
        notes.append(f"stopped by {summary['signal']} before the end")
    page = report_stream(
        history.looks,
        metric=metric,
        rows=summary["rows"],
        file=summary["file"],
        cards=facts,
        notes=notes,
    )
    save(page, path)
