"""Lines and tables for people: what was asked, decided, expected, found and tuned."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsFloat

import numpy as np
from cyclopts import App

import argmetric as am
from argmetric._ground.display import Result, cut_text, part_text
from argmetric._ground.types import Booleans, Floats
from argmetric._verbs.guarantees import guarantee_sentence
from argmetric._verbs.tune import gap_interval
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._command import Arguments, command
from argmetric.cli._errors import DONE, gate, say
from argmetric.cli._report import Facts, count, number
from argmetric.cli.scores import _layout as layout
from argmetric.cli.scores import _rows as io
from argmetric.cli.scores._layout import TableRows

if TYPE_CHECKING:
    from argmetric._report import Report


_MEANS = {
    "macro": "mean over labels",
    "micro": "all cells together",
    "samples": "mean over rows",
    "groups": "mean over groups",
    "pooled": "all rows pooled",
}
# Lines of a result that are told before it, or beside it
_BEFORE = ("metric", "rows", "average", "mean over", "classes", "assumes", "output")
# Lines of a rule that the command tells in words of its own, or not
_TOLD_BEFORE = ("score", "rows", "labels", "calibrator", "average")


def question_lines(rows: TableRows) -> Facts:
    """Return the first lines: what was asked of which rows."""
    metric, average, classes = rows.metric, rows.average, rows.way == "classes"
    groups = None if rows.groups is None else len(rows.groups.ids)
    facts = [("rows", _report.rows_text(rows.description()))]
    some = len(rows.names) if rows.way == "wide" else groups
    if some is not None and (classes or average is not None):
        how = "" if classes else f" (--average {average})"
        how = f"{some:,}, {_MEANS['groups' if classes else average]}{how}"
        facts.append(("labels" if rows.way == "wide" else "groups", how))
    if classes:
        facts.append(("classes", f"{len(rows.names):,}, one label per row"))
    if metric is None:  # there are several, or costs
        return facts
    if not classes:
        return [*facts, _report.metric_line(metric)]
    told = f"; {metric.convention}" if metric.convention else ""
    return [*facts, ("metric", f"{metric.name}{told}")]


def lines_of(result: Result, *but: str) -> Facts:
    """Return the lines of a result, without those that are told before it."""
    return [line for line in result.lines() if line[0] not in (*_BEFORE, *but)]


def forecast_facts(forecast: Any, *but: str) -> Facts:
    """Return the lines on a forecast, its mean and interval in one; none without it."""
    if forecast is None:
        return []
    own = lines_of(forecast, "mean", "interval", *but)
    return [*own, _report.forecast_line(forecast)]


class Answer(NamedTuple):
    """Answer of a verb on rows: results and values by their keys in JSON, and lines.

    With `beside_rows` the lines go to standard error. `judged` is the score that
    --fail-under judges, and what it is called.
    """

    rows: TableRows
    values: dict[str, Any]
    facts: Facts
    notes: Iterable[str] = ()
    beside_rows: bool = False
    judged: tuple[float, str] | None = None


def verb(
    options: str,
    *own: type[opt.Options],
    exclusive: str = "",
    **how: Any,
) -> Callable[[Callable[[Arguments, io.Input], Answer]], App]:
    """Return a decorator that makes a command of a function on rows.

    What all verbs have in common is done here: files are listed, options that do not go
    together refused (those `exclusive` of each other too), the answer is printed, and
    its score judged.
    """

    def make(answer: Callable[[Arguments, io.Input], Answer]) -> App:
        """Make the command of a function that returns an `Answer`."""

        @wraps(answer)
        def run(o: Arguments) -> int:
            """Check the options, compute the answer, print it and judge its score."""
            source = io.join_inputs(o.file, o.more, writes="output" in o.names)
            io.exclude(o, *exclusive.split())
            io.check_options(answer.__name__, o)
            found = answer(o, source)
            rows = found.rows
            values = {
                **rows.description(),
                **{key: _plain(one) for key, one in found.values.items()},
                "notes": [*dict.fromkeys(found.notes)],
                "labels": rows.names if rows.way == "wide" else None,
            }
            facts, beside = [*question_lines(rows), *found.facts], found.beside_rows
            to: Any = {"stderr": beside, "unwritten": "rows" if beside else ""}
            _report.print_answer(answer.__name__, values, facts, json=o.json, **to)
            if found.judged is None:
                return DONE
            score, called = found.judged
            return gate(score, o.fail_under, rows.metric, called)

        return command(options, *own, **how)(run)

    return make


def _plain(value: Any) -> object:
    return value.to_dict() if hasattr(value, "to_dict") else value


def actual_lines(score: SupportsFloat | None) -> Facts:
    """Return the line on the score by the labels, none without labels."""
    return [] if score is None else [("actual score", number(float(score)))]


def promise_lines(*results: Any) -> Facts:
    """Return the lines on what rules or decisions promise for new rows, each once."""
    found = []
    for result in results:
        parts = getattr(result, "rules", None)
        of: dict[Any, Any] = {"": result}
        if parts is not None:
            of = dict(zip(result.names, parts, strict=True))
        known = {name: getattr(one, "guarantee", None) for name, one in of.items()}
        found.append(guarantee_sentence(known))
    return [("guarantee", text) for text in dict.fromkeys(found) if text]


def parity_facts(
    rows: TableRows, rule: am.ParityRule, chosen: Booleans, coverage: float
) -> tuple[Facts, dict[str, Any]]:
    """Return lines on each group, the gap and what was promised, and the gap for JSON.

    Without labels nothing is said of recall.
    """
    places = rule._places(rows.groups, chosen.size)
    whole = np.bincount(places, minlength=len(rule.names))
    taken = np.bincount(places[chosen], minlength=len(rule.names))
    each = zip(rule.names, rule.rules, taken.tolist(), whole.tolist(), strict=True)
    facts = [
        (str(name), f"{rule_text(one, rows.score)}, {part_text(k, n)} positive")
        for name, one, k, n in each
        if n
    ]
    values: dict[str, Any] = {"gap": None, "gap_interval": None}
    if rows.y is not None or rule.rate == "selection_rate":
        positive = chosen if rows.y is None else np.asarray(rows.y) == 1
        counts = rule._count_selected(positive, chosen, places)
        values["gap"], values["gap_interval"] = gap_interval(*counts, coverage)
        facts.append(("gap", rule._gap_text(*counts, coverage)))
    return [*facts, ("guarantee", rule.sentence)], values


def positives_line(n: int, of: int) -> tuple[str, str]:
    """Return the line on the number of positives."""
    return "positives", part_text(n, of, "")


def decision_facts(rows: TableRows, decision: Any, cuts: dict[str, float]) -> Facts:
    """Return the lines on a decision; why it has no threshold, where it has none.

    `cuts` are forecasts of single cuts by the names of their lines, which stand beside
    that of the decision; without them the expected scores are the forecasts.
    """
    own = [
        (x, f"{number(cuts[y])} ({text.partition(' (')[2]}" if y in cuts else text)
        for x, text in lines_of(decision, "expected")
        for y in [x.removesuffix(" without limits")]
    ]
    by_rows = "amount" in rows.used
    if rows.way != "one" or decision.threshold is not None or by_rows:
        return own
    why = "none: each group has its own cut"
    if rows.average != "groups":
        first = "earlier rows" if rows.calibrator is None else "higher scores"
        why = f"none: a tie is split ({first} come first)"
    return [*own, ("threshold", why)]


def check_facts(check: Result, formula: str) -> Facts:
    """Return the lines on a comparison of ways to decide, in any layout."""
    from argmetric._verbs.check import reword

    cut = "tune them" if hasattr(check, "worst") else "take the cut of argmetric tune"
    names, texts = zip(*lines_of(check), strict=True)
    texts = reword(texts, "pass the calibrator as --reference", cut)
    return [*zip(names, texts, strict=True), ("map", formula)]


# ------------------------------------------------------------------------- rules


def rule_text(rule: am.Rule, score: str, p: Floats | None = None) -> str:
    """Return a rule as people write it down; `score` is what the cut is compared with.

    With `p`, the scores it was tuned on, the threshold has no more digits than cut
    them in the same place.
    """
    cut = rule.threshold
    if not math.isfinite(cut):
        return "every row" if (cut < 0) == (rule.operator == ">=") else "no row"
    shown = cut_text(cut, 6) if p is None else _report.short_threshold(p, cut)
    what = score if rule.calibrator is None else f"calibrated {score}"
    return f"{what} {rule.operator} {shown}"


def rule_facts(
    rule: am.Rule, score: str, p: Floats | None = None, *, rows: str = "these rows"
) -> Facts:
    """Return the lines on a rule, which was tuned on `rows`."""
    names, part = (rule.pos_label, rule.neg_label), rule.positive_rate
    labels = "" if names == (1, 0) else f": {names[0]!r}, else {names[1]!r}"
    chosen = "" if math.isnan(part) else f", {100 * part:.1f} % of them chosen"
    return [
        ("rule", f"{rule_text(rule, score, p)} is positive{labels}"),
        ("score", f"{number(rule.score)} on {rows}{chosen}"),
        *(line for line in rule.lines() if line[0] not in _TOLD_BEFORE),
    ]


def tuned_on(rule: Any) -> str:
    """Return on how many rows a rule was tuned, and its score there, as text."""
    known = rule.score is not None and not math.isnan(rule.score)
    score = f", {rule.metric.name} {number(rule.score)}" if known else ""
    return f"tuned on {count(rule.n, 'row')}{score}" if rule.n else "not tuned"


@command(
    "score logits group label pos_label metric average zero_division amount cost_fp "
    "reference reference_score reference_label prior max_positives min_positives "
    f"min_precision min_recall coverage report {layout.READING}",
    opt.OverGroups,
)
def report(o: Arguments) -> int:
    """Write a report on a decision: its forecast, calibration and alternatives.

    The report has the decision with its interval and assumptions, the score against the
    number of positives, other metrics, calibration and its cost, groups, and the actual
    score where labels are known. `argmetric decide --report` writes the same, and the
    rows.

    Parameters
    ----------
    report
        The file to write, replaced whole or not at all: a page (.html) that needs no
        network, Markdown (.md), JSON (.json) or text (.txt). By default text goes to
        standard output.

    Examples
    --------
    argmetric report scores.csv --metric f1 --report report.html
    argmetric report scores.csv --group order --reference val.csv
    """
    from argmetric._report import require_scores

    source = io.join_inputs(o.file, o.more)
    io.check_options("report", o)
    rows = layout.read_table_rows(o, source)
    with _report.progress(f"reporting on {rows.table.n_rows:,} rows"):
        rows.recalibrate(o)
        require_scores(rows.scale, logits=rows.logits)
        page = _page(rows, o, rows.decide(**o.only(*io.LIMITS.split()), prior=o.prior))
    for note in rows.notes:
        say(note)
    if o.report is None:
        sys.stdout.write(page.render("text"))
    else:
        save(page, o.report)
    return DONE


def save(result: Any, path: str | None) -> None:
    """Write a report, or the report of a result, to a path if there is one."""
    if path is None:
        return
    if not hasattr(result, "render"):
        with _report.progress("reporting"):
            result = am.report(result)
    result.save(path)
    say(f"written: {path}")


def save_report(rows: TableRows, o: Arguments, decision: Any, labels: object) -> None:
    """Write the report of a decision, or of labels that were found in another way."""
    if o.report is None:
        return
    more = {}
    with _report.progress("reporting"):
        if decision is None:
            decision, more = rows.decide(prior=o.prior), {"labels": labels}
        save(_page(rows, o, decision, **more), o.report)


def _page(rows: TableRows, o: Arguments, decision: Any, **labels: object) -> Report:
    """Return the report of a decision, with the names of the file and columns."""
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
