"""Lines and tables for people: what was asked, decided, expected, found and tuned."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter

import argmetric as am
from argmetric._ground.display import part_text
from argmetric._ground.types import Floats
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._command import Given, command
from argmetric.cli._errors import DONE, UsageError, say
from argmetric.cli._progress import progress
from argmetric.cli._report import Facts, Table, count, number
from argmetric.cli.scores import _layout as layout
from argmetric.cli.scores._layout import TableRows
from argmetric.cli.scores._rows import LIMITS, checked, gathered, refuse_bad_target
from argmetric.scale import files

if TYPE_CHECKING:
    from argmetric import Decision
    from argmetric._report import Report


SHOWN_NAMES = 20  # labels or classes in a table
_MEANS = {
    "macro": "mean over labels",
    "micro": "all cells together",
    "samples": "mean over rows",
    "groups": "mean over groups",
    "pooled": "all rows pooled",
}
_LABEL_COLUMNS = {
    "threshold": lambda value: f"{value:.4g}",
    "n_positives": lambda value: f"{value:,}",
    "expected_positives": lambda value: f"{value:,.1f}",
    "actual": number,
}
_OF_A_FORECAST = ("labels", "expected positives", "share", "left out (0/0)")
# Lines of a rule that the command tells in words of its own, or not
_TOLD_BEFORE = ("score", "rows", "labels", "calibrator", "average")


def asked_of(rows: TableRows) -> Facts:
    """Return the first lines: what was asked of which rows."""
    metric, average = rows.metric, rows.average
    groups = None if rows.groups is None else len(rows.groups.ids)
    facts = [("rows", _report.rows_asked(rows.described()))]
    if rows.way == "classes":
        if groups is not None:
            facts.append(("groups", f"{groups:,}, mean over groups"))
        facts.append(("classes", f"{len(rows.names):,}, one label per row"))
        told = f"; {metric.convention}" if metric.convention else ""
        return [*facts, ("metric", f"{metric.name}{told}")]
    wide = rows.way == "wide"
    some = len(rows.names) if wide else groups
    if average is not None and some is not None:
        how = f"{some:,}, {_MEANS[average]} (--average {average})"
        facts.append(("labels" if wide else "groups", how))
    return [*facts, _report.metric_asked(metric)]


def actual(score: _report.Values | None) -> Facts:
    """Return the line on the score by the labels, none without labels."""
    return [] if score is None else [("actual score", number(score["score"]))]


def positives(n: int, of: int, what: str = "rows") -> tuple[str, str]:
    """Return the line on what was chosen."""
    return "positives", part_text(n, of, "" if what == "rows" else f" {what}")


# --------------------------------------------------------------------- decisions


def decision_facts(
    rows: TableRows, decision: Decision, forecast: Any, ties: _report.Values
) -> Facts:
    """Return the lines on a decision about one column of scores."""
    cuts = [_cut(rows, decision.threshold), _cut(rows, decision.threshold_raw, True)]
    shown = dict.fromkeys(cut for cut in cuts if cut is not None)
    threshold = f"{', or '.join(shown)} gives the same labels"
    if not shown and decision.n_positives == 0:
        threshold = "none: nothing is predicted positive"
    elif not shown and rows.average == "groups":
        threshold = "none: each group has its own cut"
    elif not shown:
        threshold = "none: a tie is split"
    split, found = "no tie is split", getattr(forecast, "share", None)
    if ties["rows"]:
        where = "" if rows.groups is None else f" in {count(ties['groups'], 'group')}"
        first = "earlier rows" if rows.calibrator is None else "higher scores"
        split = (
            f"{count(ties['rows'], 'row')}{where} left out with the same score as a "
            f"row that was chosen ({first} come first)"
        )
    return [
        positives(decision.n_positives, rows.table.n_rows),
        _report.forecast_line(forecast),
        *([] if found is None else [("share", str(found))]),
        ("threshold", threshold),
        ("ties", split),
    ]


def _cut(rows: TableRows, threshold: float | None, raw: bool = False) -> str | None:
    """Return a cut as people write it down, None where there is none."""
    if threshold is None or not math.isfinite(threshold):
        return None
    scale = rows.p if raw else rows.scale
    kind = "" if rows.calibrator is None else "raw " if raw else "calibrated "
    return f"{kind}{rows.score} >= {_report.short_threshold(scale, threshold)}"


def split_ties(rows: TableRows, labels: Any) -> _report.Values:
    """Count rows left out that score as high as a chosen one, and their groups."""
    p, chosen = rows.scale, np.asarray(labels) != 0
    codes, n_groups = np.zeros(p.size, dtype=np.int64), 1
    if rows.groups is not None:
        codes, n_groups = rows.groups.codes, len(rows.groups.ids)
    lowest = np.full(n_groups, np.inf)
    np.minimum.at(lowest, codes[chosen], p[chosen])
    left_out = ~chosen & (p == lowest[codes])
    in_groups = np.count_nonzero(np.bincount(codes[left_out]))
    return {"rows": int(left_out.sum()), "groups": int(in_groups)}


def cut_table(rows: TableRows, decision: Decision, values: _report.Values) -> Table:
    """Return the decision, the best single cut and the cut at one half in rows.

    Forecasts and actual scores are those of `values`.
    """
    forecasts, actual = values["forecast_of_cuts"], values["actual_of_cuts"]
    scores = [values["forecast"]["mean"]]
    if actual is not None:
        scores.append(values["actual"]["score"])
    table: list[tuple[str, int, list[float]]] = []
    table.append(("this decision", decision.n_positives, scores))
    for name, key in (("best single cut", "best_cut"), ("cut at 0.5", "cut_half")):
        cut = getattr(decision, key)
        nothing = "a tie is split" if cut.n_positives else "nothing"
        text = f"{name}: {_cut(rows, cut.threshold, key == 'cut_half') or nothing}"
        scores = [one[key] for one in (forecasts, actual) if one is not None]
        table.append((text, cut.n_positives, scores))
    header = ["rule", "positives", "forecast", "actual"][: 2 + len(scores)]
    return header, [[text, f"{n:,}", *map(number, x)] for text, n, x in table]


def forecast_facts(forecast: Any) -> Facts:
    """Return the lines on a forecast, but for what is told of the rows."""
    own = [(name, text) for name, text in forecast.lines() if name in _OF_A_FORECAST]
    return [*own, _report.forecast_line(forecast)]


def by_label(
    rows: TableRows, labels: Any, mass: Any = None, thresholds: Any = None
) -> list[_report.Values]:
    """Return what was decided of each label, and its score by itself."""
    found = []
    for j, name in enumerate(rows.names):
        chosen, score = labels[:, j], None
        if rows.y is not None:
            score = float(am.evaluate(rows.y[:, j], chosen, rows.metric))
        one = {
            "label": name,
            "n_positives": int(chosen.sum()),
            "expected_positives": None if mass is None else float(mass[j]),
            "threshold": None if thresholds is None else float(thresholds[j]),
            "actual": score,
        }
        found.append(one)
    return found


def label_table(values: _report.Values) -> Table:
    """Return a row for each label, columns that are not known left out."""
    labels = values["by_label"]
    known = [
        key
        for key in _LABEL_COLUMNS
        if any(one[key] is not None and one[key] == one[key] for one in labels)
    ]
    rows = [
        [one["label"], *(_LABEL_COLUMNS[key](one[key]) for key in known)]
        for one in labels[:SHOWN_NAMES]
    ]
    header = (key.removeprefix("n_").replace("_", " ") for key in known)
    return ["label", *header], rows, 1, more(len(labels), "label")


def more(names: int, what: str) -> str:
    """Return what to say of names that a table does not show, if there are any."""
    left = names - SHOWN_NAMES
    some = f"{left:,} more classes" if what == "class" else f"{count(left, what)} more"
    return f"{some}; --json has them all" if left > 0 else ""


# ----------------------------------------------------------------------- classes


def judged_classes(score: Any) -> Table:
    """Return a row for each class: rows that have it and that are given it."""
    counts, values = score.confusion, score.per_class
    columns: Any = {
        "class": [str(name) for name in score.classes],
        "rows": [f"{one:,.0f}" for one in counts.sum(axis=1)],
        "predicted": [f"{one:,.0f}" for one in counts.sum(axis=0)],
        "right": [f"{one:,.0f}" for one in np.diagonal(counts)],
    }
    if values is not None:
        columns["score"] = [
            "left out" if math.isnan(one) else number(one) for one in values
        ]
    rows = [*zip(*columns.values(), strict=True)][:SHOWN_NAMES]
    return [*columns], rows, 1, more(len(score.classes), "class")


def check_facts(check: Any, calibrator: Any) -> Facts:
    """Return the lines on a comparison of ways to decide, in any layout."""
    from argmetric._verbs.check import reword

    cut = "tune them" if hasattr(check, "worst") else "take the cut of argmetric tune"
    names, texts = zip(*check.lines(), strict=True)
    texts = reword(texts, "pass the map as --reference", cut)
    facts = dict(zip(names, texts, strict=True)) | {"map": calibrator.formula}
    return [x for x in facts.items() if x[0] not in ("metric", "rows")]


# ------------------------------------------------------------------------- rules


def rule_text(rule: am.Rule, score: str, p: Floats | None = None) -> str:
    """Return a rule as people write it down; `score` is what the cut is compared with.

    With `p`, the scores it was tuned on, the threshold has no more digits than cut
    them in the same place.
    """
    cut = rule.threshold
    if not math.isfinite(cut):
        return "every row" if (cut < 0) == (rule.operator == ">=") else "no row"
    shown = f"{cut:.6g}" if p is None else _report.short_threshold(p, cut)
    what = score if rule.calibrator is None else f"calibrated {score}"
    return f"{what} {rule.operator} {shown}"


def rule_facts(
    rule: am.Rule, score: str, p: Floats | None = None, *, rows: str = "these rows"
) -> Facts:
    """Return the lines that tell of a rule; `rows` are those that it was tuned on."""
    names, part = (rule.pos_label, rule.neg_label), rule.positive_rate
    labels = "" if names == (1, 0) else f": {names[0]!r}, else {names[1]!r}"
    chosen = "" if math.isnan(part) else f", {100 * part:.1f} % of them chosen"
    return [
        ("rule", f"{rule_text(rule, score, p)} is positive{labels}"),
        ("score", f"{number(rule.score)} on {rows}{chosen}"),
        *(line for line in rule.lines() if line[0] not in _TOLD_BEFORE),
    ]


def tuned_on(rule: Any) -> str:
    """Return where a rule comes from, in a few words."""
    known = rule.score is not None and not math.isnan(rule.score)
    score = f", {rule.metric.name} {number(rule.score)}" if known else ""
    return f"tuned on {count(rule.n, 'row')}{score}" if rule.n else "not tuned"


Form = Literal["html", "md", "json", "text"]
_FORM = Annotated[Form | None, Parameter(group=opt.OUTPUT)], None


@command(
    "score logits group label pos_label input_format metric average zero_division "
    "reference reference_score reference_label prior max_positives "
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
    form = require(target, o.format, otherwise=", or pass --format")
    rows = layout.read(o.but(format=o.input_format), source)
    limits = o.only(*LIMITS.split())
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


def require(path: str | None, form: Form | None = None, *, otherwise: str = "") -> Form:
    """Return the form of a report; one that cannot be is refused before the work.

    `otherwise` says what to do beside changing the name.
    """
    from argmetric._report import format_of, require_page

    if path is not None:
        refuse_bad_target(path)
    try:
        form = form or ("text" if path is None else format_of(path, otherwise))
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


def save_report(rows: TableRows, o: Given, decision: Any, labels: Any) -> None:
    """Write the report of a decision, or of labels that were found in another way."""
    with progress("reporting"):
        if decision is not None:
            page = _page(rows, o, decision)
        else:
            page = _page(rows, o, rows.decide(prior=o.prior), labels=labels)
        save(page, o.report)


def _page(rows: TableRows, o: Given, decision: Any, **labels: Any) -> Report:
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
