"""``argmetric report``, and ``--report`` of other commands."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter

from argmetric import _files as files
from argmetric.cli import _option_sets as sets
from argmetric.cli import _options as opt
from argmetric.cli._errors import DONE, UsageError, say
from argmetric.cli._progress import progress
from argmetric.cli.scores._load import ScoreBatch, load_batch
from argmetric.cli.scores._recalibrate import read_calibrator, read_reference
from argmetric.cli.scores._rows import gathered
from argmetric.cli.scores._rules import refuse_bad_target

if TYPE_CHECKING:
    from argmetric import Decision
    from argmetric._report import Report

Form = Literal["html", "md", "json", "text"]


def report(
    file: opt.RowsFile,
    /,
    *more: opt.MoreFiles,
    scores: sets.Scores = sets.DEFAULT_SCORES,
    group: opt.GroupColumn = None,
    label: opt.Column = None,
    pos_label: opt.PosLabel = None,
    input_format: Annotated[files.Format | None, opt.INPUT_FORMAT] = None,
    judge: sets.GroupJudge = sets.DEFAULT_GROUP_JUDGE,
    recalibration: sets.RecalibrationOptions = sets.NO_RECALIBRATION,
    max_positives: opt.Most = None,
    min_positives: opt.Least = 0,
    min_precision: opt.Share = None,
    min_recall: opt.Share = None,
    coverage: opt.Coverage = 0.9,
    output: opt.TextTarget = None,
    format: Annotated[Form | None, Parameter(group=opt.OUTPUT)] = None,
    encoding: opt.InputEncoding = "utf-8",
    max_line: opt.MaxLine = opt.MAX_LINE,
    decimal: opt.Decimal = ".",
) -> int:
    """Report on a decision: its forecast, and what would change it.

    The report is one HTML page that needs no network: the decision with its interval
    and assumptions, the score against the number of positives, other metrics,
    calibration and its cost, groups, and the actual score where labels are known.
    Markdown, JSON and plain text have the same content.

        argmetric report scores.parquet --metric f1 --reference val.parquet -o page.html

    Parameters
    ----------
    label
        The column of true labels, for the actual score. By default the one called
        label, y, y_true or target.
    min_positives
        Choose at least this many; with --group, in each group.
    min_precision
        Keep the expected precision at or above this; with --group, in each group.
    min_recall
        Keep the expected recall at or above this; with --group, in each group.
    format
        The format of the report. By default that of the ending of --output; text on
        standard output.
    """
    source = gathered(file, more)
    from argmetric import _report as pages

    recalibration.check()
    target = None if output == "-" else output
    form = require(target, format)
    columns = sets.Columns(
        group=group,
        label=label,
        pos_label=pos_label,
        format=input_format,
        encoding=encoding,
        max_line=max_line,
        decimal=decimal,
    )
    shared = recalibration.reference is not None
    batch = load_batch(source, scores, columns, judge, shared=shared)
    most = opt.as_count(max_positives, batch.table.n_rows, batch.grouping["average"])
    with progress(f"reporting on {batch.table.n_rows:,} rows"):
        known = reference_of(batch, recalibration, columns)
        path = recalibration.calibrator
        summary = pages.summarize_file(
            batch.checked,
            batch.metric,
            y=batch.labels.values,
            **batch.grouping,
            logits=batch.logits,
            calibrator=None if path is None else read_calibrator(path),
            reference=known,
            min_positives=min_positives,
            max_positives=most,
            min_precision=min_precision,
            min_recall=min_recall,
            coverage=coverage,
            names=names_of(batch),
            group_names=ids_of(batch),
        )
        page = pages.Report(summary)
        if target is not None:
            save(page, target, form)
    if batch.labels.note:
        say(batch.labels.note)
    if target is None:
        sys.stdout.write(page.render(form))
    return DONE


def _form(path: str) -> Form:
    from argmetric._report import format_of

    try:
        form: Form = format_of(path)
    except ValueError as error:
        raise UsageError(str(error)) from error
    return form


def require(path: str | None, form: Form | None = None) -> Form:
    """Return the form of a report; one that cannot be is refused before the work."""
    from argmetric._report import require_page

    if path is not None:
        refuse_bad_target(path)
    form = form or ("text" if path is None else _form(path))
    if form == "html":
        try:
            require_page()
        except ModuleNotFoundError as error:
            raise files.DataError(str(error)) from error
    return form


def save(page: Report, path: str, form: Form | None = None) -> None:
    """Write a report, and say so."""
    page.save(path, form)
    say(f"written: {path}")


def names_of(batch: ScoreBatch) -> dict[str, str]:
    """The file and the columns that were used."""
    group = None if batch.groups is None else batch.groups.column
    named = {
        "file": batch.table.source,
        "score": batch.score,
        "label": batch.labels.column,
        "group": group,
    }
    return {role: name for role, name in named.items() if name is not None}


def ids_of(batch: ScoreBatch) -> Any:
    """The groups by their names in the file."""
    if batch.groups is None:
        return None
    return np.fromiter(batch.groups.ids, dtype=object, count=len(batch.groups.ids))


def reference_of(
    batch: ScoreBatch, recalibration: sets.RecalibrationOptions, columns: sets.Columns
) -> tuple[Any, Any] | None:
    """Labels and scores of --reference."""
    if recalibration.reference is None:
        return None
    known = read_reference(recalibration, batch.score, columns, logits=batch.logits)
    return known.y, known.p


def report_decision(
    batch: ScoreBatch,
    decision: Decision,
    path: str,
    *,
    coverage: float,
    reference: tuple[Any, Any] | None,
) -> None:
    """Write the report of a decision that was made."""
    from argmetric._report import report_decision as reported

    page = reported(
        decision,
        batch.labels.values,
        coverage=coverage,
        reference=reference,
        names=names_of(batch),
        group_names=ids_of(batch),
    )
    save(page, path)


def report_labels(
    batch: ScoreBatch,
    labels: Any,
    path: str,
    *,
    coverage: float,
    reference: tuple[Any, Any] | None,
) -> None:
    """Write the report of labels that were found in another way."""
    from argmetric._report import Report, summarize_file

    summary = summarize_file(
        batch.checked,
        batch.metric,
        labels=labels,
        checked_on=reference,
        y=batch.labels.values,
        **batch.grouping,
        **batch.compared,
        coverage=coverage,
        names=names_of(batch),
        group_names=ids_of(batch),
    )
    save(Report(summary), path)
