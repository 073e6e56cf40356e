"""``argmetric predict``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt
from cyclopts import Parameter

from argmetric import _files as files
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._errors import UsageError, with_flags
from argmetric.cli._option_sets import Columns, GroupJudge
from argmetric.cli._progress import progress, reading
from argmetric.cli.models._learners import check_columns
from argmetric.cli.models._saved import SavedModel, load_model, sklearn_version
from argmetric.cli.scores._load import (
    GroupColumns,
    TrueLabels,
    grouping,
    load_groups,
    read_rows,
)
from argmetric.cli.scores._rows import gathered, refuse_shared_output, rows_out
from argmetric.cli.scores._rules import rule_text
from argmetric.metrics import Metric

if TYPE_CHECKING:
    from argmetric import Forecast


def predict(
    model: opt.FilePath,
    file: opt.RowsFile,
    /,
    *more: opt.MoreFiles,
    group: opt.GroupColumn = None,
    format: opt.InputFormat = None,
    encoding: opt.InputEncoding = "utf-8",
    max_line: opt.MaxLine = opt.MAX_LINE,
    decimal: opt.Decimal = ".",
    average: opt.AverageOver = None,
    joint: Annotated[bool, opt.Flag, Parameter(group=opt.METRIC)] = False,
    max_positives: Annotated[
        opt.Most,
        Parameter(
            help="With --joint: choose at most this many (500), or this share of all "
            "rows (5%); with --group, this many in each group."
        ),
    ] = None,
    coverage: opt.Coverage = 0.9,
    output: opt.RowsTarget = None,
    output_format: opt.OutputFormat = None,
    score_column: opt.NewColumn = "score",
    decision_column: opt.NewDecisions = "decision",
    json: opt.JsonSummary = False,
    jobs: Annotated[
        opt.Jobs,
        Parameter(
            help="The number of threads for groups with --joint, -1 for one on each "
            "core."
        ),
    ] = None,
) -> int:
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
    score_column
        The name of the column of probabilities that is added.
    """
    source = gathered(file, more)
    refuse_shared_output(output, json=json)
    judge = GroupJudge(average=average)
    judge.average_for(group)  # wrong usage comes before the file is read
    if max_positives is not None and not joint:
        raise UsageError("--max-positives is about the whole batch: pass --joint too")
    if model == "-":
        raise UsageError("a model is read from a file, not from standard input")
    if score_column == decision_column:
        raise UsageError("--score-column and --decision-column must differ")
    with reading(model):
        saved = load_model(model)
    table = read_rows(source, format, encoding, max_line, decimal)
    check_columns(table, saved.features)
    groups = load_groups(table, Columns(group=group), judge)
    new = {score_column: "--score-column", decision_column: "--decision-column"}
    out = rows_out(table, output, output_format, json=json, new=new)
    metric = saved.model.rule_.metric
    with progress(f"predicting {table.n_rows:,} rows"):
        X = saved.features.matrix(table)
        place = saved.model.classes_.tolist().index(saved.classes[1])
        p = saved.model.predict_proba(X)[:, place]
        if joint:
            how = grouping(groups)
            most = opt.as_count(max_positives, table.n_rows, how["average"])
            limits: dict[str, Any] = {"max_positives": most, "n_jobs": jobs}
            decision = saved.model.decide(X, **how, **limits)
            chosen = np.asarray(decision.labels).astype(np.bool_)
        else:
            chosen = saved.model.predict(X) == saved.classes[1]
        labels = _target(table, saved)
        how = {**grouping(groups), "coverage": coverage}
        forecast = saved.model.forecast(X, chosen, **how)
        found = _predicted(saved, metric, forecast, chosen, groups, labels)
    found["notes"] += [*_unknown_columns(table, saved, group), *_age(saved)]
    summary: _report.Values = {
        **_report.described(table, metric, groups, target=labels.column),
        **found,
        "model": model,
        "joint": joint,
        "output": out.target,
    }
    decided = saved.model.rule_.named(chosen)
    out.write(table, {score_column: p, decision_column: decided})
    return _report.tell(
        "predict", summary, _facts, json=json, stderr=True, unwritten="rows"
    )


def _predicted(
    saved: SavedModel,
    metric: Metric,
    forecast: Forecast,
    chosen: npt.NDArray[np.bool_],
    groups: GroupColumns | None,
    labels: TrueLabels,
) -> _report.Values:
    from argmetric import evaluate

    real = None
    if labels.values is not None:
        real = float(evaluate(labels.values, chosen, metric, **grouping(groups)))
    return {
        "positives": int(chosen.sum()),
        "expected_positives": forecast.expected_positives,
        "rule": rule_text(saved.model.rule_, "model score"),
        "classes": list(saved.classes),
        "forecast": _report.forecast_values(forecast),
        "real": real,
        "notes": [
            *([labels.note] if labels.note else []),
            *_report.surprises(forecast, real),
        ],
    }


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


def _facts(summary: _report.Values) -> _report.Facts:
    how = "all rows jointly" if summary["joint"] else summary["rule"]
    if summary["joint"] and summary["average"] == "groups":
        how = "each group jointly"
    return [
        *_report.asked(summary),
        ("model", summary["model"]),
        ("decided", how),
        _report.positives(summary),
        _report.forecast_line(summary["forecast"]),
        *_report.real(summary),
    ]
