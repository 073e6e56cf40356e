"""``argmetric evaluate``."""

from __future__ import annotations

from typing import Any

import numpy as np

from argmetric._input.label_words import Spelled
from argmetric.cli import _report
from argmetric.cli._command import Given, command
from argmetric.cli._errors import UsageError, gate
from argmetric.cli._progress import progress
from argmetric.cli.scores import _layout as layout
from argmetric.cli.scores import _lines as lines
from argmetric.cli.scores import _load as load
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
    if pieces.asked("evaluate", o, source):
        return _evaluate_pieces(o, source)
    behind: Any = "none" if o.score is None else "probabilities"
    rows = layout.read(
        o,
        source,
        labels="required" if way != "wide" else "optional",
        scores="numbers" if o.threshold is not None else behind,
        judged=True,
    )
    rule: list[tuple[str, str]] = []
    if o.threshold is not None:
        labels = (rows.p >= o.threshold).astype(np.int64)
        rule = [("rule", f"{rows.score} >= {o.threshold:g}")]
    else:
        labels = _decisions(rows, o)
        if rows.p is not None and way == "one":
            del rows.used["score"]
    with progress(f"evaluating {rows.table.n_rows:,} rows"):
        score = rows.evaluate(labels)
        notes: list[str] = []
        if rows.p is not None and o.threshold is None and way != "classes":
            expected = rows.forecast(labels, 0.9)
            notes = _report.surprises(expected, float(score))
    values: _report.Values = {
        **rows.described(),
        "threshold": o.threshold,
        "actual": score.to_dict(),
    }
    facts = [*lines.asked_of(rows), *rule]
    table: Any = None
    if way == "classes":
        text = _report.number(float(score))
        if score.interval is not None:
            text = _report.with_interval(float(score), score)
        shown = [*facts, ("score", text)]
        table = lines.judged_classes(score)
    else:
        empty = _empty(rows)
        values["groups_without_positives"] = empty
        shown = [*facts, *_score_facts(score, score.counts, empty)]
    if way == "wide":
        values |= {"labels": rows.names, "by_label": lines.by_label(rows, labels)}
        table = lines.label_table_of
    values["notes"] = notes
    _report.tell("evaluate", values, shown, json=o.json, table=table)
    return gate(float(score), o.fail_under, rows.metric, rows.metric.name)


def _decisions(rows: Rows, o: Given) -> Any:
    """Return decisions of the file."""
    if rows.way == "wide":
        name = o.decision_column or "decision_*"
        found = layout.decided(rows, o.but(decision_column=name))
        assert found is not None
        return found[1]
    if rows.way == "classes":
        return load.class_labels(rows.table, rows.used["decision"], rows.names)
    return load.load_decisions(rows.table, rows.used["decision"], o.pos_label)


def _empty(rows: Rows) -> int | None:
    """Return how many groups have no positive, None without groups."""
    if rows.groups is None:
        return None
    true = np.asarray(rows.y) != 0
    return len(rows.groups.ids) - int(np.unique(rows.groups.codes[true]).size)


def _score_facts(score: Any, counts: Any, empty: int | None) -> list[tuple[str, str]]:
    facts = [("counts", _report.counts(counts))]
    if empty:
        facts.append(("empty", f"{_report.count(empty, 'group')} without a positive"))
    return [*facts, ("score", _report.number(float(score)))]


def _evaluate_pieces(o: Given, source: Input) -> int:
    from argmetric.scale import evaluate as score_of

    metric, average = layout.metric_of(o, "one")
    with pieces.running(o) as how:
        found = score_of(
            source,
            metric,
            average=average or "groups",
            pos_label=Spelled(o.pos_label),
            **o.only("label", "decision_column", "group", "missing_groups", "work_dir"),
            **how,
        )
    used = {"decision": found.decision, "label": found.label, "group": found.group}
    described = pieces.described(source, found.n, **used)
    read = f"{_report.count(found.n_files, 'file')} in pieces, engine {o.engine}"
    empty = found.n_groups_without_positives
    values = {
        **described,
        "threshold": None,
        "actual": found.to_dict(),
        "groups_without_positives": empty,
        "notes": [read, *found.skipped],
    }
    facts = [
        *lines.asked(described, metric, groups=found.n_groups, average=average),
        *_score_facts(found.score, found.counts, empty),
    ]
    _report.tell("evaluate", values, facts, json=o.json)
    return gate(found.score, o.fail_under, metric, metric.name)
