"""What `argmetric monitor` tells: a table with a small plot, JSON, and files."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from argmetric import _files as files
from argmetric._monitor import CANNOT_SAY, notes_of, values_of
from argmetric._results.display import metric_title
from argmetric.cli import _report
from argmetric.cli.scores._monitor_rows import RowReader
from argmetric.cli.scores._rules import rule_text

if TYPE_CHECKING:
    from argmetric import Monitoring
    from argmetric._monitor import Period

_SHOWN_PERIODS, _SHOWN_SEGMENTS = 60, 20
_PLOT, _NARROW_PLOT = 24, 16  # signs
_CHART = 5  # the column of the small plot
_WIDE = 110  # signs of a terminal that has room for intervals in figures


def summary_of(
    found: Monitoring, reader: RowReader, source: str, n_files: int
) -> _report.Values:
    """Return what was found, as docs/json.rst tells it."""
    from argmetric import Rule

    watch, rule = found.watch, found.watch.rule
    reference = watch.reference.sum(axis=1)
    decision = "a column" if rule is None else f"score >= {rule}"
    if isinstance(rule, Rule):
        decision = rule_text(rule, "score")
    return {
        "file": source,
        "files": n_files,
        "rows": reader.rows,
        "columns": dict(reader.names),
        **_report.metric_described(watch.metric),
        "decision": decision,
        "reference_rows": int(reference.sum()),
        "reference_positives": int(reference[1]),
        "average": watch.average,
        "every": watch.every.text,
        "shift": watch.shift,
        "coverage": watch.coverage,
        "floor": watch.floor,
        "false_alarms": watch.false_alarms,
        "alarms": len(found.alarms)
        + sum(len(one.alarms) for one in found.segments.values()),
        "periods": [values_of(one) for one in found.periods],
        "segments": [
            {"segment": name, "periods": [values_of(x) for x in one.periods]}
            for name, one in found.segments.items()
        ],
        "notes": [*dict.fromkeys([*reader.notes, *notes_of(found)])],
    }


def alarms_of(found: Monitoring, before: Monitoring | None) -> dict[str, list[Period]]:
    """Alarms of periods that have new rows; of the last one where there are none."""
    alarms: dict[str, list[Period]] = {}
    for name, one in (("", found), *found.segments.items()):
        old = None
        if before is not None:
            old = before.segments.get(name) if name else before
        counted = {} if old is None else {x.start: x.n for x in old.periods}
        new = [x for x in one.periods if counted.get(x.start) != x.n]
        raised = [x for x in new or one.periods[-1:] if x.alarm]
        if raised:
            alarms[f" in {name}" if name else ""] = raised
    return alarms


def write(found: Monitoring, path: str) -> None:
    """Write a page, all numbers, or a row per period, as the ending says."""
    if path.lower().endswith(".json"):
        found.save(path)
    elif not path.lower().endswith(".csv"):
        import argmetric as am

        am.report(found).save(path)
    else:
        frame = found.to_frame("pyarrow")
        files.write_table(files.Table(frame, "csv", path), path, "csv")


def tell(summary: _report.Values, found: Monitoring, *, json: bool) -> None:
    """Print the answer: its values with --json, else tables."""
    if json:
        _report.print_json(summary)
        return
    target = _report.console(stderr=False)
    _report.print_facts(target, "argmetric monitor", _facts(summary, found))
    periods = found.periods[-_SHOWN_PERIODS:]
    left_out = len(found.periods) - len(periods)
    more = f"{left_out:,} earlier periods" if left_out else ""
    rows = {one.start: one for one in periods}
    header, cells = _table("from", rows, found, wide=target.width >= _WIDE)
    _report.print_table(target, header, cells, 2, more, _CHART)
    if found.segments:
        names = list(found.segments)[:_SHOWN_SEGMENTS]
        left_out = len(found.segments) - len(names)
        more = f"{left_out:,} better segments" if left_out else ""
        rows = {name: found.segments[name].periods[-1] for name in names}
        header, cells = _table("segment", rows, found, wide=target.width >= _WIDE)
        _report.print_notes(
            target, "segments", ["the last period of each, worst first"]
        )
        _report.print_table(target, header, cells, 2, more, _CHART)
    _report.print_notes(target, "note", [*summary["notes"], found.watch.unseen])
    _report.print_notes(target, "written", _report.written(summary))


def _facts(summary: _report.Values, found: Monitoring) -> _report.Facts:
    read = _report.count(summary["files"], "file")
    level = 100 * summary["false_alarms"]
    used = ", ".join(f"{k} {v!r}" for k, v in summary["columns"].items())
    return [
        ("rows", f"{summary['rows']:,} of {read} ({used or 'none is new'})"),
        _report.metric_asked(summary),
        ("decision", summary["decision"]),
        found.lines()[0],
        ("alarms", f"{summary['alarms']}; a quiet year has one with {level:g} %"),
    ]


def _table(
    first: str, periods: dict[str, Period], found: Monitoring, *, wide: bool
) -> tuple[list[str], list[list[str]]]:
    """A row for every period: the verdict, numbers and a small plot."""
    floor, title = found.watch.floor, metric_title(found.metric.name)
    values = [x for one in periods.values() for part in _drawn(one) for x in part]
    finite = [x for x in (*values, floor) if x is not None and math.isfinite(x)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    width = _PLOT if wide else _NARROW_PLOT
    scale = f"{low:.2f}{high:{width - 4}.2f}"
    header = [first, "verdict", "alarm", "rows", title, scale]
    with_labels = any(one.n_known for one in periods.values())
    header += ["actual"] * with_labels + ["interval", "share"] * wide
    rows = []
    for name, one in periods.items():
        verdict = one.verdict if wide else one.verdict.removesuffix(" without labels")
        row = [name, verdict, one.alarm, f"{one.n:,}", one.answer.score]
        row += [_plot(one, (low, high), floor, width)]
        row += [f"{one.actual:.3f}" if one.n_known else ""] * with_labels
        row += [one.answer.interval, f"{one.share:.3f}"] * wide
        rows.append(row)
    return header, rows


def _drawn(one: Period) -> tuple[list[float], list[float], list[float]]:
    """Ends of the line, places of o and places of x: what is said of the score."""
    actual = [one.actual] * bool(one.n_known)
    if one.labelled:
        return [], [], actual
    if one.verdict == CANNOT_SAY:
        return [], [one.if_other_rows, one.if_share], actual
    return [one.low, one.high], [one.expected], actual


def _plot(
    one: Period, ends: tuple[float, float], floor: float | None, width: int
) -> str:
    """The interval as a line of signs, with the expected score o and the actual x."""
    low, high = ends

    def place(value: float) -> int:
        part = (value - low) / ((high - low) or 1.0)
        return min(max(round(part * (width - 1)), 0), width - 1)

    line, expected, actual = (
        [place(x) for x in part if math.isfinite(x)] for part in _drawn(one)
    )
    signs = [" "] * width
    if floor is not None:
        signs[place(floor)] = "|"
    if len(line) == 2:
        for i in range(line[0], line[1] + 1):
            signs[i] = "-"
    for places, sign in ((expected, "o"), (actual, "x")):
        for i in places:
            signs[i] = sign
    return "".join(signs)
