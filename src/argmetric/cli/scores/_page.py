"""``argmetric report``, and ``--report`` of other commands."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from argmetric.cli import _options as opt
from argmetric.cli._command import Given, command
from argmetric.cli._errors import DONE, UsageError, say
from argmetric.cli._judge import as_count
from argmetric.cli._progress import progress
from argmetric.cli.scores import _layout as layout
from argmetric.cli.scores._layout import Rows
from argmetric.cli.scores._refusals import LIMITS, checked
from argmetric.cli.scores._rows import gathered, refuse_bad_target
from argmetric.scale import files

if TYPE_CHECKING:
    from argmetric._report import Report

Form = Literal["html", "md", "json", "text"]
_FORM = Annotated[Form | None, Parameter(group=opt.OUTPUT)], None


@command(
    "score logits group label pos_label input_format metric average zero_division "
    "calibrator reference reference_score reference_label prior max_positives "
    "min_positives min_precision min_recall coverage output format encoding max_line "
    "decimal",
    changed={
        "format": _FORM,
        "input_format": opt.OPTIONS["format"],
        "average": (opt.AverageOver, None),
    },
)
def report(o: Given) -> int:
    """Report on a decision: its forecast, and what would change it.

    The report is one HTML page that needs no network: the decision with its interval
    and assumptions, the score against the number of positives, other metrics,
    calibration and its cost, groups, and the actual score where labels are known.
    Markdown, JSON and plain text have the same content.

        argmetric report scores.parquet --metric f1 --reference val.parquet -o page.html

    Parameters
    ----------
    output
        The file to write, replaced whole or not at all. By default standard output.
    format
        The format of the report. By default that of the ending of --output; text on
        standard output.
    """
    from argmetric import _report as pages

    source = gathered(o.file, o.more)
    checked("report", o)
    target = None if o.output == "-" else o.output
    form = require(target, o.format)
    rows = layout.read(o.but(format=o.input_format), source)
    limits = o.only(*LIMITS.split())
    limits["max_positives"] = as_count(o.max_positives, rows.table.n_rows, rows.average)
    with progress(f"reporting on {rows.table.n_rows:,} rows"):
        rows.recalibrate(o)
        pages.require_scores(rows.scale, logits=rows.logits)
        page = _page(rows, o, rows.decide(**limits, prior=o.prior))
        if target is not None:
            save(page, target, form)
    for note in rows.notes:
        say(note)
    if target is None:
        sys.stdout.write(page.render(form))
    return DONE


def require(path: str | None, form: Form | None = None) -> Form:
    """Return the form of a report; one that cannot be is refused before the work."""
    from argmetric._report import format_of, require_page

    if path is not None:
        refuse_bad_target(path)
    try:
        form = form or ("text" if path is None else format_of(path))
        if form == "html":
            require_page()
    except ValueError as error:
        raise UsageError(str(error)) from error
    except ModuleNotFoundError as error:
        raise files.DataError(str(error)) from error
    return form


def save(page: Report, path: str, form: Form | None = None) -> None:
    """Write a report, and say so."""
    page.save(path, form)
    say(f"written: {path}")


def save_report(rows: Rows, o: Given, decision: Any, labels: Any) -> None:
    """Write the report of a decision, or of labels that were found in another way."""
    with progress("reporting"):
        if decision is not None:
            page = _page(rows, o, decision)
        else:
            page = _page(rows, o, rows.decide(prior=o.prior), labels=labels)
        save(page, o.report)


def _page(rows: Rows, o: Given, decision: Any, **labels: Any) -> Report:
    from argmetric import _report as pages

    how: Any = {"coverage": o.coverage, "reference": rows.labelled, **labels}
    named = {"file": rows.table.source, **rows.used}
    roles = ("file", "score", "scores", "label", "labels", "group")
    make: Any = pages.report_decision
    if rows.way == "classes":
        make, named = pages.report_class_decision, {"file": rows.table.source}
    how["names"] = {role: named[role] for role in roles if role in named}
    page: Report = make(decision, rows.y, **how)
    return page
