"""``argmetric predict``."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

from argmetric import _files as files
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._command import Given, command
from argmetric.cli._errors import UsageError, with_flags
from argmetric.cli._judge import as_count, average_of
from argmetric.cli._progress import progress, reading
from argmetric.cli._report import surprises
from argmetric.cli.models._learners import check_columns
from argmetric.cli.models._saved import SavedModel, load_model, sklearn_version
from argmetric.cli.scores import _lines as lines
from argmetric.cli.scores._layout import Rows
from argmetric.cli.scores._load import TrueLabels, load_groups, read_rows
from argmetric.cli.scores._rows import gathered, refuse_shared_output, rows_out
from argmetric.cli.scores._rules import rule_text


@command(
    "group format encoding max_line decimal average joint max_positives coverage "
    "output output_format score_column new_decisions json jobs",
    first={"model": opt.FilePath},
    changed={
        "average": (opt.AverageOver, None),
        "joint": (Annotated[bool, opt.Flag, Parameter(group=opt.METRIC)], False),
        "score_column": (opt.NewColumn, "score"),
    },
)
def predict(o: Given) -> int:
    """Score and label new rows by a model of `argmetric train`.

    The rows come out as they went in, in the same order, with the calibrated
    probability of the positive class and the decision added. Columns are found by
    name, in any order; words that the model has not seen are no reason to fail. A
    summary goes to standard error: the positives chosen, the score to expect with its
    interval and assumptions, and the actual score where labels are known.

    Parameters
    ----------
    model
        The file of the model. Nothing in it is run, and types that `argmetric train`
        does not use are refused.
    joint
        Decide the whole batch jointly, as `argmetric decide` does, instead of row by
        row with the threshold of the model; with --group, group by group.
    max_positives
        With --joint: choose at most this many (500), or this share of all rows (5%);
        with --group, this many in each group.
    score_column
        The name of the column of probabilities that is added.
    json
        Print the summary as JSON to standard output; rows are then written only to
        --output.
    jobs
        The number of threads for groups with --joint, -1 for one on each core.
    """
    source = gathered(o.file, o.more)
    refuse_shared_output(o.output, json=o.json)
    average = average_of(o.average, o.group)  # wrong usage comes before the file
    if o.max_positives is not None and not o.joint:
        raise UsageError("--max-positives is about the whole batch: pass --joint too")
    if o.model == "-":
        raise UsageError("a model is read from a file, not from standard input")
    if o.score_column == o.new_decisions:
        raise UsageError("--score-column and --decision-column must differ")
    with reading(o.model):
        saved = load_model(o.model)
    table = read_rows(source, **o.only("format", "encoding", "max_line", "decimal"))
    check_columns(table, saved.features)
    groups = load_groups(table, o.group, average)
    new = {o.score_column: "--score-column", o.new_decisions: "--decision-column"}
    out = rows_out(table, o.output, o.output_format, json=o.json, new=new)
    rule = saved.model.rule_
    rows = Rows(table, "one", rule.metric, average, groups=groups)
    with progress(f"predicting {table.n_rows:,} rows"):
        X = saved.features.matrix(table)
        place = saved.model.classes_.tolist().index(saved.classes[1])
        p = saved.model.predict_proba(X)[:, place]
        if o.joint:
            most = as_count(o.max_positives, table.n_rows, average)
            limits: dict[str, Any] = {"max_positives": most, "n_jobs": o.jobs}
            decision = saved.model.decide(X, **rows.how, **limits)
            chosen = np.asarray(decision.labels).astype(np.bool_)
        else:
            chosen = saved.model.predict(X) == saved.classes[1]
        labels = _target(table, saved)
        rows.y = labels.values
        forecast = saved.model.forecast(X, chosen, coverage=o.coverage, **rows.how)
        score = rows.evaluate(chosen)
    rows.use("target", labels.column)
    rows.use("group", o.group)
    real = None if score is None else float(score)
    notes = [*([labels.note] if labels.note else []), *surprises(forecast, real)]
    notes += [*_unknown_columns(table, saved, o.group), *_age(saved)]
    values: _report.Values = {
        **rows.described(),
        "n_positives": int(chosen.sum()),
        "rule": rule.to_dict(),
        "classes": list(saved.classes),
        "forecast": forecast.to_dict(),
        "actual": None if score is None else score.to_dict(),
        "notes": notes,
        "model": o.model,
        "joint": o.joint,
        "output": out.target,
    }
    out.write(table, {o.score_column: p, o.new_decisions: rule.named(chosen)})
    how = "all rows jointly" if o.joint else rule_text(rule, "model score")
    if o.joint and average == "groups":
        how = "each group jointly"
    facts = [
        *lines.asked_of(rows),
        ("model", o.model),
        ("decided", how),
        lines.positives(int(chosen.sum()), table.n_rows),
        _report.forecast_line(forecast),
        *lines.actual(values["actual"]),
    ]
    return _report.tell(
        "predict", values, facts, json=o.json, stderr=True, unwritten="rows"
    )


def _target(table: files.Table, saved: SavedModel) -> TrueLabels:
    """Return what came true, if the rows know it already; never a reason to fail."""
    if table.names.count(saved.target) != 1:
        return TrueLabels()
    positive: Any = saved.classes[1]
    words = None if saved.classes == (0, 1) else str(positive)
    try:
        y = files.labels(table, saved.target, pos_label=words)
        return TrueLabels(saved.target, y)
    except files.DataError as error:
        return TrueLabels(note=with_flags(f"labels not used: {error}"))


def _unknown_columns(
    table: files.Table, saved: SavedModel, group: str | None
) -> list[str]:
    known = {feature.name for feature in saved.features.used}
    known |= {saved.target, *saved.ignored}
    others = [repr(name) for name in table.names if name not in known and name != group]
    if not others:
        return []
    return [f"the model does not know, and does not use, {', '.join(others)}"]


def _age(saved: SavedModel) -> list[str]:
    here = sklearn_version()
    if saved.made_by == here:
        return []
    return [f"trained with scikit-learn {saved.made_by}, read with {here}"]
