"""Rows that have one of several classes: ``--scores 'p_*' --one-label --label y``.

What * stands for is the name of a class; the columns are its probabilities.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric import _files as files
from argmetric._input.classes import SUM_TOLERANCE
from argmetric._input.groups import Groups
from argmetric._input.types import AnyArray, Floats
from argmetric.cli import _report
from argmetric.cli._errors import UsageError, gate, refuse, with_flags
from argmetric.cli._option_sets import (
    Columns,
    Judge,
    RecalibrationOptions,
    Scores,
    Wide,
)
from argmetric.cli._progress import progress
from argmetric.cli.scores._load import find_label, read_rows, refuse_shared
from argmetric.cli.scores._page import require, save
from argmetric.cli.scores._recalibrate import read_calibrator
from argmetric.cli.scores._rows import Input, rows_out
from argmetric.cli.scores._wide import matched, partners, score_matrix

UNSUPPORTED = "--one-label does not support {}: leave one out"
_WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")
_SHOWN_CLASSES = 20  # rows of a table


@dataclass(frozen=True)
class ClassRows:
    """Rows of class probabilities, as a file has them.

    Attributes
    ----------
    table : Table
        The file.
    pattern : str
        The columns of scores, as in 'p_*'.
    found : dict
        The column of each class, by its name.
    p : ndarray
        Class probabilities, or scores before a softmax.
    groups, group : Groups and str, or None
        The group of each row, and the column that holds it.
    label, y : str and array, or None
        The column of true classes, and the classes.
    notes : list of str
        Why labels were not used.
    """

    table: files.Table
    pattern: str
    found: dict[str, str]
    p: Floats
    groups: Groups | None
    group: str | None
    label: str | None
    y: AnyArray | None
    notes: list[str]

    @property
    def classes(self) -> list[Any]:
        """The class of each column."""
        return as_classes([*self.found])

    def described(self, **used: str | None) -> _report.Values:
        """The file and its columns, as plain values."""
        columns = {"scores": self.pattern, "label": self.label, "group": self.group}
        return _report.rows_described(self.table, **columns | used)


def read_classes(
    file: Input,
    wide: Wide,
    scores: Scores,
    columns: Columns,
    *,
    labelled: bool = False,
) -> ClassRows:
    """Read class probabilities, with true classes if there are some.

    Parameters
    ----------
    file, wide, scores, columns
        The options of the command.
    labelled : bool, default=False
        Whether rows must have labels.
    """
    _check(wide, columns)
    if wide.scores is None:
        raise UsageError(
            "--one-label needs a column of probabilities for each class: pass them as "
            "--scores 'p_*'"
        )
    refuse(UNSUPPORTED, score=scores.score)
    table = read_rows(file, **columns.reading)
    found = matched(table, wide.scores, "--scores")
    p = _class_scores(table, wide.scores, [*found.values()], logits=scores.logits)
    groups, notes = _groups(table, columns.group), list[str]()
    if labelled:
        taken = [columns.group, *found.values()]
        label: str | None = find_label(table, columns.label, taken=taken)
        y: AnyArray | None = _labels(table, str(label), [*found])
    else:
        label, y, notes = _optional_labels(table, columns, [*found])
    refuse_shared(label=label, group=columns.group)
    given = groups, columns.group, label, y, notes
    return ClassRows(table, wide.scores, found, p, *given)


def calibration_of(
    rows: ClassRows, options: RecalibrationOptions, scores: Scores, columns: Columns
) -> dict[str, Any]:
    """Return the map of --calibrator, or the rows of --reference, for the package."""
    refuse(UNSUPPORTED, reference_score=options.reference_score)
    given: dict[str, Any] = {"logits": scores.logits}
    if options.calibrator is not None:
        given["calibrator"] = read_calibrator(options.calibrator)
    if options.reference is not None:
        given["reference"] = _reference(
            options, rows.pattern, scores, columns, rows.found
        )
    return given


def decide_classes(
    file: Input,
    wide: Wide,
    scores: Scores,
    columns: Columns,
    judge: Judge,
    recalibration: RecalibrationOptions,
    *,
    prior: Any,
    coverage: float,
    output: str | None,
    output_format: Any,
    decision_column: str,
    report: str | None,
    json: bool,
) -> int:
    """Choose a class for every row, and write it to the rows."""
    check_prior(prior)
    judge.of_classes()  # wrong usage comes before the file is read
    if report is not None:
        require(report)
    rows = read_classes(file, wide, scores, columns)
    new = {decision_column: "--decision-column"}
    out = rows_out(rows.table, output, output_format, json=json, new=new)
    given = calibration_of(rows, recalibration, scores, columns)
    with progress(f"deciding {rows.table.n_rows:,} rows"):
        from argmetric import decide, evaluate

        metric: Any = judge.of_classes(len(rows.classes))
        how: dict[str, Any] = {"classes": rows.classes, "groups": rows.groups}
        decision = decide(rows.p, metric, prior=prior, **how, **given)
        forecast = decision.forecast(coverage)
        actual: Any = None
        if rows.y is not None:
            actual = evaluate(rows.y, decision.labels, metric, **how)
    summary = {
        **rows.described(),
        **decision.to_dict(),
        "forecast": forecast.to_dict(),
        "real": None if actual is None else float(actual),
        "actual": None if actual is None else actual.to_dict(),
        "notes": [*_report.as_flags(decision.notes), *rows.notes],
        "output": out.target,
    }
    added = {decision_column: np.asarray(decision.labels)}
    out.write(rows.table, added, numeric=frozenset(rows.found.values()))
    if report is not None:
        from argmetric._report import report_class_decision

        names = {"file": str(summary["file"])}
        known = {"coverage": coverage, "reference": given.get("reference")}
        page = report_class_decision(decision, rows.y, names=names, **known)
        save(page, report)
    return _report.tell(
        "decide",
        summary,
        _decided,
        json=json,
        stderr=True,
        unwritten="rows",
        table=_decided_table,
    )


def evaluate_classes(
    file: Input,
    wide: Wide,
    columns: Columns,
    judge: Judge,
    decision_column: str | None,
    fail_under: float | None,
    *,
    json: bool,
) -> int:
    """Score a column of classes against the true ones."""
    _check(wide, columns)
    judge.of_classes()  # wrong usage comes before the file is read
    table = read_rows(file, **columns.reading)
    decision = files.find_column(
        table,
        decision_column,
        files.DECISION_NAMES,
        what="decision",
        role="decision_column",
    )
    label = find_label(table, columns.label, taken=[decision, columns.group])
    refuse_shared(decision_column=decision, label=label, group=columns.group)
    among = None if wide.scores is None else [*matched(table, wide.scores, "--scores")]
    coded = [files.class_names(table, one, among) for one in (label, decision)]
    names = among or list(dict.fromkeys(name for _, some in coded for name in some))
    classes = as_classes(names)
    known = dict(zip(names, classes, strict=True))
    y, chosen = (np.array([known[x] for x in some])[codes] for codes, some in coded)
    with progress(f"evaluating {table.n_rows:,} rows"):
        from argmetric import evaluate

        metric: Any = judge.of_classes(len(classes))
        order = classes if among else sorted(classes)
        groups = _groups(table, columns.group)
        how: dict[str, Any] = {"classes": order, "groups": groups}
        score: Any = evaluate(y, chosen, metric, one_label=True, **how)
    used = {"decision": decision, "label": label, "group": columns.group}
    used |= {} if among is None else {"scores": wide.scores}
    described = _report.rows_described(table, **used)
    summary = {**described, **score.to_dict(), "notes": []}
    _report.tell("evaluate", summary, _judged, json=json, table=_judged_table)
    return gate(float(score), fail_under, metric, metric.name)


def check_prior(prior: Any) -> None:
    """Refuse a share of positives."""
    if prior not in (None, "estimate"):
        raise UsageError(f"--prior {prior:g} is a share of positives, not of classes")


def _check(wide: Wide, columns: Columns) -> None:
    refuse(
        "{} is for several labels per row; with --one-label, --label names the column "
        "of true classes",
        labels=wide.labels,
    )
    refuse(UNSUPPORTED, pos_label=columns.pos_label)


def as_classes(names: list[str]) -> list[Any]:
    """Return names as classes: whole numbers where all of them are.

    Examples
    --------
    >>> as_classes(["2", "10"]), as_classes(["007", "2"])
    ([2, 10], ['007', '2'])
    """
    whole = all(_WHOLE.fullmatch(name) for name in names)
    return [int(name) for name in names] if whole else names


def column_labels(rows: ClassRows, column: str) -> AnyArray:
    """Return a column of classes, which must be among those of the scores."""
    return _labels(rows.table, column, [*rows.found])


def _labels(table: files.Table, column: str, names: list[str]) -> AnyArray:
    codes, found = files.class_names(table, column, names)
    classes = dict(zip(names, as_classes(names), strict=True))
    return np.array([classes[name] for name in found])[codes]


def _optional_labels(
    table: files.Table, columns: Columns, names: list[str]
) -> tuple[str | None, AnyArray | None, list[str]]:
    """Return labels that were asked for, or that a column plainly offers."""
    if columns.label is not None:
        label = files.named_column(table, columns.label)
        return label, _labels(table, label, names), []
    taken = [name for name in (columns.group,) if name is not None]
    if not files.default_columns(table, files.LABEL_NAMES, taken=taken):
        return None, None, []
    try:
        label = find_label(table, None, taken=taken)
        return label, _labels(table, label, names), []
    except files.DataError as error:
        return None, None, [with_flags(f"labels not used: {error}")]


def _groups(table: files.Table, column: str | None) -> Groups | None:
    if column is None:
        return None
    codes, ids = files.groups(table, files.named_column(table, column))
    return Groups(codes, np.arange(len(ids)))


def _reference(
    options: RecalibrationOptions,
    pattern: str,
    scores: Scores,
    columns: Columns,
    found: dict[str, str],
) -> tuple[AnyArray, Floats]:
    """Return the classes and the scores of the rows of --reference."""
    assert options.reference is not None
    table = read_rows(options.reference, **columns.reading | {"format": None})
    label = options.reference_label
    if label is None and columns.label in table.names:
        label = columns.label
    label = find_label(table, label, role="reference_label")
    same = partners(table, pattern, "--scores", found, pattern)
    p = _class_scores(table, pattern, same, logits=scores.logits)
    return _labels(table, label, list(found)), p


def _class_scores(
    table: files.Table, pattern: str, columns: list[str], *, logits: bool
) -> Floats:
    """Return class probabilities, whose rows sum to 1, or scores before a softmax."""
    if len(columns) < 2:
        raise files.DataError(
            f"{table.source}: only {columns[0]!r} matches --scores {pattern!r}; "
            "--one-label needs a column for each of two classes or more"
        )
    p = score_matrix(table, columns, logits=logits)
    total = p.sum(axis=1)
    wrong = np.flatnonzero(np.abs(total - 1.0) > SUM_TOLERANCE)
    if wrong.size and not logits:
        source, row = table.place_of(int(wrong[0]))
        more = f" ({wrong.size:,} such rows)" if wrong.size > 1 else ""
        raise files.DataError(
            f"{source}: row {row + 1}: the columns {pattern!r} sum to "
            f"{total[wrong[0]]:.4g}, not to 1{more}; with --one-label they are the "
            "probabilities of the classes. Divide each row by its sum; pass --logits "
            "if these are scores before a softmax; or leave out --one-label if a row "
            "can have several labels"
        )
    return p


def asked(summary: _report.Values) -> _report.Facts:
    """Return the first lines: what was asked of which rows."""
    facts = [("rows", _report.rows_asked(summary))]
    if summary.get("n_groups") is not None:
        facts.append(("groups", f"{summary['n_groups']:,}, mean over groups"))
    told = f"; {summary['convention']}" if summary["convention"] else ""
    facts.append(("classes", f"{len(summary['classes']):,}, one label per row"))
    return [*facts, ("metric", f"{summary['metric']}{told}")]


def _decided(summary: _report.Values) -> _report.Facts:
    """Return the lines on a decision, and on the score to expect."""
    usual = f"{_report.number(summary['most_probable'])} expected"
    return [
        *asked(summary),
        ("expected", _report.number(summary["expected"])),
        _report.forecast_line(summary["forecast"]),
        ("most probable class", usual),
        *_report.real(summary),
    ]


def _decided_table(summary: _report.Values) -> _report.Table:
    """Return a row for each class, columns that are not known left out."""
    actual = summary["actual"] or {"per_class": None}
    return class_table(
        summary,
        {
            "rows": [f"{count:,}" for count in summary["counts"]],
            "expected rows": [f"{mass:,.1f}" for mass in summary["expected_counts"]],
            "expected": _numbers(summary["per_class"]),
            "actual": _numbers(actual["per_class"]),
        },
    )


def _judged(summary: _report.Values) -> _report.Facts:
    """Return the lines on an actual score."""
    score = _report.number(summary["score"])
    if summary["interval"] is not None:
        score = _report.with_interval(summary["score"], summary)
    return [*asked(summary), ("score", score)]


def _judged_table(summary: _report.Values) -> _report.Table:
    """Return a row for each class: rows that have it and that are given it."""
    counts = np.array(summary["confusion"])
    return class_table(
        summary,
        {
            "rows": [f"{count:,.0f}" for count in counts.sum(axis=1)],
            "predicted": [f"{count:,.0f}" for count in counts.sum(axis=0)],
            "right": [f"{count:,.0f}" for count in np.diagonal(counts)],
            "score": _numbers(summary["per_class"]),
        },
    )


def _numbers(values: list[float | None] | None) -> list[str] | None:
    if values is None:
        return None
    return ["left out" if one is None else _report.number(one) for one in values]


def class_table(
    summary: _report.Values, columns: dict[str, list[str] | None]
) -> _report.Table:
    known = {name: values for name, values in columns.items() if values is not None}
    names = [str(name) for name in summary["classes"]]
    rows = zip(names[:_SHOWN_CLASSES], *known.values(), strict=False)
    left = len(names) - _SHOWN_CLASSES
    more = f"{left:,} more classes; --json has them all" if left > 0 else ""
    return ["class", *known], [list(row) for row in rows], 1, more
