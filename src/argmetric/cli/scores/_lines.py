"""Lines and tables for people: what was asked, decided, expected and found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from argmetric._results.display import part_text
from argmetric.cli import _report
from argmetric.cli._report import Facts, Table, count, number
from argmetric.cli.scores._layout import Rows

if TYPE_CHECKING:
    from argmetric import Decision

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
    "actual": _report.number,
}


def asked(
    described: _report.Values,
    metric: Any,
    *,
    groups: int | None = None,
    average: str | None = None,
    names: Sequence[Any] = (),
    way: str = "one",
) -> Facts:
    """Return the first lines: what was asked of which rows; names are of labels."""
    facts = [("rows", _report.rows_asked(described))]
    if way == "classes":
        told = f"; {metric.convention}" if metric.convention else ""
        if groups is not None:
            facts.append(("groups", f"{groups:,}, mean over groups"))
        facts.append(("classes", f"{len(names):,}, one label per row"))
        return [*facts, ("metric", f"{metric.name}{told}")]
    if average is not None and (way == "wide" or groups is not None):
        how = f"{_MEANS[average]} (--average {average})"
        some = len(names) if way == "wide" else groups
        facts.append(("labels" if way == "wide" else "groups", f"{some:,}, {how}"))
    return [*facts, _report.metric_asked(_report.metric_described(metric))]


def asked_of(rows: Rows) -> Facts:
    """Return the first lines on rows of any layout."""
    return asked(
        rows.described(),
        rows.metric,
        groups=None if rows.groups is None else len(rows.groups.ids),
        average=rows.average,
        names=rows.names,
        way=rows.way,
    )


def actual(score: _report.Values | None) -> Facts:
    """Return the line on the score by the labels, none without labels."""
    return [] if score is None else [("actual score", number(score["score"]))]


def share(result: Any) -> Facts:
    """Return the line of an estimated share of positives, if there is one."""
    found = getattr(result, "share", None)
    return [] if found is None else [("share", str(found))]


def positives(n: int, of: int, what: str = "rows") -> tuple[str, str]:
    """Return the line on what was chosen."""
    return "positives", part_text(n, of, "" if what == "rows" else f" {what}")


# --------------------------------------------------------------------- decisions


def decision_facts(rows: Rows, decision: Decision, forecast: Any, ties: Any) -> Facts:
    """Return the lines on a decision about one column of scores."""
    return [
        positives(decision.n_positives, rows.table.n_rows),
        _report.forecast_line(forecast),
        *share(forecast),
        ("threshold", _threshold(rows, decision)),
        ("ties", _ties(rows, ties)),
    ]


def cut_text(rows: Rows, threshold: float | None, *, raw: bool = False) -> str | None:
    """Return a cut as people write it down, None where there is none."""
    if threshold is None or not math.isfinite(threshold):
        return None
    scale = rows.p if raw else rows.scale
    name = rows.score if raw or rows.calibrator is None else f"calibrated {rows.score}"
    return f"{name} >= {_report.short_threshold(scale, threshold)}"


def _threshold(rows: Rows, decision: Decision) -> str:
    cuts = [
        cut_text(rows, decision.threshold),
        cut_text(rows, decision.threshold_raw, raw=True),
    ]
    shown = dict.fromkeys(cut for cut in cuts if cut is not None)
    if shown:
        return f"{', or '.join(shown)} gives the same labels"
    if decision.n_positives == 0:
        return "none: nothing is predicted positive"
    if rows.average == "groups":
        return "none: each group has its own cut"
    return "none: a tie is split"


def split_ties(rows: Rows, labels: Any) -> _report.Values:
    """Count rows left out that score as high as a chosen one, and their groups."""
    p, groups = rows.scale, rows.groups
    chosen = np.asarray(labels) != 0
    if groups is None:
        codes, n_groups = np.zeros(p.size, dtype=np.int64), 1
    else:
        codes, n_groups = groups.codes, len(groups.ids)
    lowest = np.full(n_groups, np.inf)
    np.minimum.at(lowest, codes[chosen], p[chosen])
    left_out = ~chosen & (p == lowest[codes])
    return {
        "rows": int(left_out.sum()),
        "groups": int(np.count_nonzero(np.bincount(codes[left_out]))),
    }


def _ties(rows: Rows, ties: _report.Values) -> str:
    if not ties["rows"]:
        return "no tie is split"
    where = "" if rows.groups is None else f" in {count(ties['groups'], 'group')}"
    first = "earlier rows" if rows.calibrator is None else "higher scores"
    return (
        f"{count(ties['rows'], 'row')}{where} left out with the same score as a row "
        f"that was chosen ({first} come first)"
    )


def cut_table(rows: Rows, decision: Decision, scored: Any, cuts: Any) -> Table:
    """Return the decision, the best single cut and the cut at one half in rows."""
    table = [["this decision", decision.n_positives, decision.expected, scored]]
    for name, key in (("best single cut", "best_cut"), ("cut at 0.5", "cut_half")):
        cut = getattr(decision, key)
        nothing = "a tie is split" if cut.n_positives else "nothing"
        raw = key == "cut_half"  # of the scores as given
        text = f"{name}: {cut_text(rows, cut.threshold, raw=raw) or nothing}"
        table.append([text, cut.n_positives, cut.expected, cuts and cuts[key]])
    shown = [
        [text, f"{n:,}", number(mean), *([] if scored is None else [number(real)])]
        for text, n, mean, real in table
    ]
    known = [] if scored is None else ["actual"]
    return ["rule", "positives", "expected", *known], shown


def wide_facts(rows: Rows, source: str, labels: Any, mass: Any, forecast: Any) -> Facts:
    """Return the lines on a decision about several labels."""
    facts = [("decision", source), positives(int(labels.sum()), labels.size, "cells")]
    if forecast is not None:
        facts.append(("truth", f"{float(mass.sum()):,.1f} positives are expected"))
        facts += share(forecast)
        facts.append(_report.forecast_line(forecast))
    return facts


def by_label(
    rows: Rows, labels: Any, mass: Any = None, thresholds: Any = None
) -> list[_report.Values]:
    """Return what was decided of each label, and its score by itself."""
    from argmetric import evaluate

    return [
        {
            "label": name,
            "n_positives": int(labels[:, j].sum()),
            "expected_positives": None if mass is None else float(mass[j]),
            "threshold": None if thresholds is None else float(thresholds[j]),
            "actual": None
            if rows.y is None
            else float(evaluate(rows.y[:, j], labels[:, j], rows.metric)),
        }
        for j, name in enumerate(rows.names)
    ]


def label_table(labels: list[_report.Values]) -> Table:
    """Return a row for each label, columns that are not known left out."""
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


def label_table_of(values: _report.Values) -> Table:
    """Return the table of the labels among the values of an answer."""
    return label_table(values["by_label"])


def more(names: int, what: str) -> str:
    """Return what to say of names that a table does not show, if there are any."""
    left = names - SHOWN_NAMES
    some = f"{left:,} more classes" if what == "class" else f"{count(left, what)} more"
    return f"{some}; --json has them all" if left > 0 else ""


# ----------------------------------------------------------------------- classes


def class_facts(decision: Any, forecast: Any) -> Facts:
    """Return the lines on a decision about several classes."""
    told = ("expected", "most probable", "upper bound")
    first, *others = [line for line in decision.lines() if line[0] in told]
    return [first, _report.forecast_line(forecast), *others]


def class_table(names: Sequence[Any], **columns: Sequence[Any] | None) -> Table:
    """Return a row for each class; columns that are None are left out."""
    known = {name.replace("_", " "): x for name, x in columns.items() if x is not None}
    rows = zip(map(str, names[:SHOWN_NAMES]), *known.values(), strict=False)
    return ["class", *known], [list(row) for row in rows], 1, more(len(names), "class")


def decided_classes(decision: Any, score: Any) -> Table:
    """Return a row for each class: rows that get it, and what it scores."""
    return class_table(
        decision.classes,
        rows=[f"{one:,}" for one in decision.counts],
        expected_rows=[f"{one:,.1f}" for one in decision.expected_counts],
        expected=_numbers(decision.per_class),
        actual=None if score is None else _numbers(score.per_class),
    )


def judged_classes(score: Any) -> Table:
    """Return a row for each class: rows that have it and that are given it."""
    counts = score.confusion
    return class_table(
        score.classes,
        rows=[f"{one:,.0f}" for one in counts.sum(axis=1)],
        predicted=[f"{one:,.0f}" for one in counts.sum(axis=0)],
        right=[f"{one:,.0f}" for one in np.diagonal(counts)],
        score=_numbers(score.per_class),
    )


def _numbers(values: Any) -> list[str] | None:
    if values is None:
        return None
    return ["left out" if math.isnan(one) else number(one) for one in values]


# ------------------------------------------------------------------------- checks


def check_facts(check: Any, calibrator: Any) -> Facts:
    """Return the lines on a comparison of ways to decide, in any layout."""
    from argmetric._calibration_check import reworded

    cut = "tune them" if hasattr(check, "worst") else "take the cut of argmetric tune"
    names, texts = zip(*check.lines(), strict=True)
    texts = reworded(texts, "pass the map as --calibrator", cut)
    facts = dict(zip(names, texts, strict=True)) | {"map": calibrator.formula}
    asked = ("metric", "rows")  # which were told before, as classes are in a table
    return [x for x in facts.items() if x[0] not in asked and not x[0].startswith(" ")]


def checked_classes(check: Any) -> Table:
    """Return a row for each class, those that are not reliable first."""
    worst = check.worst
    columns: dict[str, Any] = {
        "reliable": [one.reliable for one in worst],
        "forecast": [f"{one.forecast_share:.2%}" for one in worst],
        "actual": [f"{one.share:.2%}" for one in worst],
        "95 % interval": [
            f"{one.share_low:.2%} to {one.share_high:.2%}" for one in worst
        ],
    }
    return class_table([one.name for one in worst], **columns)
