"""``argmetric compare``: models on the same rows, and the rows to label."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

import argmetric as am
from argmetric._compare import with_labels
from argmetric._ground.types import Integers
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._command import Arguments, command
from argmetric.cli._errors import UsageError, naming, with_flags
from argmetric.cli._learning import average_of, metric_named, warnings_in
from argmetric.cli._values import refuse_bad_target
from argmetric.cli.scores import _rows as io
from argmetric.cli.scores._layout import READING, TableRows, way_of
from argmetric.cli.scores._lines import save
from argmetric.metrics import Metric
from argmetric.scale import files

ROW = "row"  # the column of numbers of rows, from 1


class _Models(opt.Options, group=opt.COLUMNS):
    """Options that name the scores, decisions and known labels of the models.

    Attributes
    ----------
    scores
        The columns of scores, one for each model, as in 'p_*'. The part that * matches
        is the name of the model. By default one column of scores, that of --score,
        serves all.
    decisions
        The columns of decisions, one for each model, as in 'd_*', or the one of a
        single model. By default each model decides by --threshold, or by the cut that
        is best on the reference.
    known
        Labels of people that have arrived: a column of the rows, empty where there is
        none, or a file with the column row, the number of a row from 1 as -o writes it,
        and the column of --label.
    """

    scores: opt.Pattern
    decisions: opt.Pattern
    known: Annotated[str | None, opt.shown("FILE|COLUMN")]


class _Next(opt.Options, group=opt.OUTPUT):
    """Option --next: how many rows to label next are written.

    Attributes
    ----------
    next
        Write so many rows to label next.
    """

    next: opt.Positive


@command(
    "scores score logits decisions threshold group label pos_label metric average "
    "zero_division reference reference_label known coverage next seed output "
    f"output_format report json {READING}",
    _Models,
    _Next,
    opt.OverGroups,
)
def compare(o: Arguments) -> int:
    """Compare models on the same rows, and suggest which rows to label next.

    The answer is the paired difference of the scores with an interval, and the
    posterior probability that a model is better, which is no p-value. One column of
    decisions is one system, whose score is estimated. `--next 50 -o
    to_label.csv` writes the rows whose labels are most informative; with these filled
    in, `--known to_label.csv` updates the answer, and the next rows.

    Parameters
    ----------
    label
        The column of true labels, in the rows (empty where unknown), in the reference
        and in the file of --known. By default the one called label, y, y_true or
        target.
    threshold
        Every model calls rows of this score and above positive.
    reference
        Labelled rows with scores of the same models, in columns of the same names.
    output
        The file for the rows of --next, replaced whole or not at all.

    Examples
    --------
    argmetric compare new.csv --scores 'p_*' --reference val.csv
    argmetric compare new.csv --score judge --decisions 'd_*' --known labels.csv
    """
    io.check("compare", {name for name in ("next", "output") if o.has(name)}, o)
    io.exclude(o, "decisions", "threshold")
    io.exclude(o, "scores", "score")
    refuse_bad_target(o.output)
    if not (o.threshold is None or o.logits or 0 <= o.threshold <= 1):
        raise UsageError(
            f"--threshold {o.threshold:g}: probabilities need one from 0 to 1; pass "
            "--logits if the scores are log-odds"
        )
    metric = metric_named(o.metric, o.zero_division)
    average = average_of(o.average, o.group)
    rows, reference = _read(o, io.join_inputs(o.file, o.more), metric), None
    if o.reference is not None:
        reference = _read(o, o.reference, metric, rows)
        if reference.y is None:
            raise files.DataError(
                f"{o.reference} has no column of labels: pass --label"
            )
    elif o.decisions is None and o.threshold is None:
        raise UsageError(
            "nothing decides: pass --decisions, --threshold or --reference"
        )
    notes: list[str] = []
    doing = _report.progress(f"comparing on {rows.table.n_rows:,} rows")
    with doing, warnings_in(notes), naming(rows.table.source):
        groups: Any = io.load_groups(rows.table, o.group)  # coded already
        found = am.compare(
            rows.p,
            _decisions(o, rows, reference, notes),
            metric,
            reference=None if reference is None else (reference.y, reference.p),
            known=rows.y,
            groups=groups,
            average=average,
            logits=rows.logits,
            coverage=o.coverage,
        )
        if o.known is not None and "known" not in rows.used:
            found = _with_labels_of_file(o, found)
    some = None
    if o.next is not None:
        some = found.next_rows(o.next, random_state=o.seed)
        _write(rows.table, some, o)
    save(found, o.report)
    plain, several = found.to_dict(), len(found.names) > 1
    kept = ("metric", "zero_division", "n_labels", "coverage", "best", "assumptions")
    values = rows.description() | {key: plain[key] for key in kept}
    values |= {
        "answer": found._title(),
        "models": found.to_frame("pyarrow").to_pylist(),
        "difference": found.difference().to_dict() if several else None,
        "history": [one._asdict() for one in found.estimates()],
        "reference_rows": found.reference[0],
        "reference_positives": found.reference[1],
        "next": None if some is None else (some + 1).tolist(),
        "notes": [*notes, *map(with_flags, found.notes)],
        "output": o.output,
    }
    facts = [("rows", _report.rows_text(values)), ("answer", found._title())]
    return _report.print_answer(
        "compare", values, [*facts, *found.lines()], json=o.json
    )


def _read(
    o: Arguments, source: io.Input, metric: Metric, new: TableRows | None = None
) -> TableRows:
    """Read scores and labels of rows, or of the reference of `new` ones."""
    table = io.read_rows(source, **o.only(*READING.split()))
    rows = TableRows(table, way_of(o), metric, logits=bool(o.logits))
    score = o.score
    if new is not None:
        rows.columns, score = new.columns, new.used.get("score")
    rows.read_scores(o.but(score=score, known=None), None, "probabilities")
    if rows.way == "wide":
        rows.p = dict(zip(rows.columns, rows.p.T, strict=True))
    label = o.label if new is None else o.reference_label or o.label
    is_known = new is None and o.known in table.names
    if is_known:
        label = o.known
    elif new is None and o.known is not None and not Path(o.known).exists():
        raise UsageError(
            f"--known {o.known!r} is neither a file nor a column of {table.source}"
        )
    there = bool(files.default_columns(table, files.LABEL_NAMES))
    if label is not None:
        # the reference, or the file of --known, may have it instead of the rows
        other = o.known is not None or (o.reference and o.reference_label is None)
        there = new is not None or not other or label in table.names
    if there:
        name = io.find_label(table, label, taken=[rows.used.get("score")])
        how: Any = {"pos_label": o.pos_label, "missing": new is None}
        rows.y = files.labels(table, name, **how)
        rows.use("known" if is_known else "label", name)
    return rows


def _decisions(
    o: Arguments, rows: TableRows, reference: TableRows | None, notes: list[str]
) -> dict[str, Any]:
    """Return the decisions of each model, or the cuts that decide."""
    if o.decisions is not None:
        if rows.way == "wide":
            found = rows.partners(o.decisions, "--decisions", o.scores)
        elif "*" in o.decisions:
            found = rows.matching_columns(o.decisions, "--decisions")
        else:  # one system, by the name of its column
            found = {o.decisions: files.named_column(rows.table, o.decisions)}
        rows.use("decisions", o.decisions)
        return {
            x: io.load_decisions(rows.table, one, o.pos_label)
            for x, one in found.items()
        }
    names = rows.names if rows.way == "wide" else [rows.score]
    if o.threshold is not None:
        return dict.fromkeys(names, o.threshold)
    assert reference is not None
    scores = reference.p if rows.way == "wide" else {names[0]: reference.p}
    rules: dict[str, Any] = {
        x: am.tune(reference.y, p, rows.metric) for x, p in scores.items()
    }
    cuts = ", ".join(f"{name} {rule.threshold:.4g}" for name, rule in rules.items())
    notes.append(f"models decide by the cuts that are best on the reference: {cuts}")
    return rules


def _with_labels_of_file(o: Arguments, found: am.Comparison) -> am.Comparison:
    """Add the labels of the file of --known, whose rows are counted from 1."""
    table = io.read_rows(o.known, **o.only("encoding", "max_line", "decimal"))
    numbers = files.numbers(table, files.named_column(table, ROW))
    odd = (numbers != np.rint(numbers)) | (numbers < 1) | (numbers > found.n)
    if odd.any():
        first = int(np.argmax(odd))
        raise files.DataError(
            f"{table.source}: row {first + 1}: {numbers[first]:g} in the column "
            f"{ROW!r} is no number of the {found.n:,} rows, which are counted from 1"
        )
    name = io.find_label(table, o.label, taken=[ROW])
    y = files.labels(table, name, pos_label=o.pos_label, missing=True)
    rows, y = numbers[~np.isnan(y)].astype(np.int64), y[~np.isnan(y)]
    with naming(table.source):
        # Refuse labels that contradict each other by the numbers of the file
        with_labels(np.append(np.nan, found.table.y), rows, y)
    return found.add(rows - 1, y)


def _write(table: files.Table, some: Integers, o: Arguments) -> None:
    """Write some rows, with their numbers from 1."""
    part = replace(table, columns=table.columns.take(some), parts=())
    new = {ROW: "the column of another name in the rows"}
    io.rows_out(part, o, new).write(part, {ROW: some + 1})
