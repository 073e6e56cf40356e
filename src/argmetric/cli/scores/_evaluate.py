"""``argmetric evaluate``."""

from __future__ import annotations

from typing import Any

import numpy as np

from argmetric.cli import _report
from argmetric.cli._command import Given, command
from argmetric.cli._errors import UsageError, gate
from argmetric.cli._progress import progress
from argmetric.cli.scores import _layout as layout
from argmetric.cli.scores import _lines as lines
from argmetric.cli.scores import _pieces as pieces
from argmetric.cli.scores._layout import Rows
from argmetric.cli.scores._refusals import checked, exclude
from argmetric.cli.scores._rows import Input, gathered


@command(
    f"{layout.COLUMNS} {layout.READING} {layout.JUDGED} decision_column "
    f"score threshold fail_under json {pieces.GROUPED}"
)
def evaluate(o: Given) -> int:
    """Score decisions, or one threshold, against the true labels.

    The answer goes to standard output. With `--labels 'y_*'` rows have several labels;
    --decision-column is then a pattern too, by default `'decision_*'`. With --one-label
    both columns hold one of several classes. A folder or a pattern such as
    `'decided/*.parquet'`, and a file larger than --memory, are read in pieces.

    Parameters
    ----------
    score
        The column of probabilities behind the decisions; a note says if the actual
        score lies outside of their forecast.
    threshold
        Score the rule "score >= threshold" instead of a column of decisions; --score
        names the column of scores.
    """
    exclude(o, "threshold", "decision_column")
    source = gathered(o.file, o.more, writes=False)
    checked("evaluate", o)
    way = layout.way_of(o)
    if way == "wide" and o.labels is None:
        raise UsageError("--scores goes with --labels: pass the pattern of both")
    layout.metric_of(o, way)  # wrong usage comes before the file is read
    rule: _report.Facts = []
    notes: list[str] = []
    table: Any = None
    if pieces.asked("evaluate", o, source):
        rows, score, empty, notes = _evaluate_pieces(o, source)
        total = score.score
    else:
        behind: Any = "none" if o.score is None else "probabilities"
        rows = layout.read(
            o,
            source,
            labels="required" if way != "wide" else "optional",
            scores="numbers" if o.threshold is not None else behind,
            judged=True,
        )
        if o.threshold is not None:
            labels = (rows.p >= o.threshold).astype(np.int64)
            rule = [("rule", f"{rows.score} >= {o.threshold:g}")]
        else:
            _, labels = layout.decided(rows, o) or ("", None)
            if rows.p is not None and way == "one":
                del rows.used["score"]
        with progress(f"evaluating {rows.table.n_rows:,} rows"):
            score = rows.evaluate(labels)
            total = float(score)
            if rows.p is not None and o.threshold is None and way != "classes":
                expected = rows.forecast(labels, 0.9)
                notes = _report.surprises(expected, total)
        empty = None
        if rows.groups is not None:
            some = np.unique(rows.groups.codes[np.asarray(rows.y) != 0])
            empty = len(rows.groups.ids) - int(some.size)
    values: _report.Values = {**rows.described(), "threshold": o.threshold}
    values["actual"] = score.to_dict()
    facts, text = [*lines.asked_of(rows), *rule], _report.number(total)
    if way == "classes":
        table = lines.judged_classes(score)
        if score.interval is not None:
            text = _report.with_interval(total, score)
    else:
        values["groups_without_positives"] = empty
        facts.append(("counts", _report.counts(score.counts)))
    if way != "classes" and empty:
        facts.append(("empty", f"{_report.count(empty, 'group')} without a positive"))
    if way == "wide":
        values |= {"labels": rows.names, "by_label": lines.by_label(rows, labels)}
        table = lines.label_table_of
    values["notes"] = notes
    facts.append(("score", text))
    _report.tell("evaluate", values, facts, json=o.json, table=table)
    return gate(total, o.fail_under, rows.metric, rows.metric.name)


def _evaluate_pieces(o: Given, source: Input) -> tuple[Rows, Any, Any, list[str]]:
    metric, average = layout.metric_of(o, "one")
    with pieces.running(o, source) as run:
        found = run("evaluate", metric, average=average or "groups")
    used = {"decision": found.decision, "label": found.label, "group": found.group}
    rows = pieces.rows_of(source, found.n, metric, average, found.n_groups, **used)
    read = f"{_report.count(found.n_files, 'file')} in pieces, engine {o.engine}"
    return rows, found, found.n_groups_without_positives, [read, *found.skipped]
