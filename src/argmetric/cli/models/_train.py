"""``argmetric train`` and ``argmetric predict``."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np

from argmetric._ground.types import AnyArray
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._command import Arguments
from argmetric.cli._errors import UsageError, with_flags
from argmetric.cli._learning import average_of, metric_named, warnings_in
from argmetric.cli._values import refuse_bad_target
from argmetric.cli.models import _saved as models
from argmetric.cli.scores import _lines as lines
from argmetric.cli.scores import _rows as load
from argmetric.cli.scores._layout import TableRows
from argmetric.cli.scores._lines import Answer, verb
from argmetric.scale import files

_MANY_ROWS = 10_000


class _Route(opt.Options, group=opt.METRIC):
    route: Literal["tune", "decide", "half", "auto"] = "tune"
    joint: bool


class _Kind(opt.Options):
    model: models.Learner = "boosting"


class _Scores(opt.Options, group=opt.OUTPUT):
    score_column: opt.ColumnName = "score"


_OWN = opt.TargetLabel, opt.OverGroups, _Route, _Scores, _Kind
_READ = "format", "encoding", "max_line", "decimal"


@verb(
    "label pos_label drop group weight format encoding max_line decimal metric average "
    "zero_division route max_positives min_precision min_recall model seed "
    "output json jobs",
    *_OWN,
)
def train(o: Arguments, source: load.Input) -> Answer:
    """Train a classifier that decides for the metric, and save it to a file.

    All other columns are features: numbers as they are, words as categories, empty
    cells allowed. Every row is scored by a model that has not seen it; on these scores
    the probabilities are calibrated and the threshold is found. The answer goes to
    standard output. `argmetric predict` uses the model.

    Parameters
    ----------
    label
        The column to predict: 0 and 1, true and false, or two values with --pos-label.
        By default the one called label, y, y_true or target.
    route
        Where the threshold comes from: tuned on the labels of held-out rows, best in
        expectation by the calibrated probabilities (decide), one half, or auto, which
        takes the one that scores best out of fold.
    group
        The column of group ids (orders, queries, customers). Rows of a group stay
        together when rows are held out, and the metric is averaged as --average says.
    max_positives
        Choose at most this many of these rows, or this share of them: 500, or 5%.
    min_precision
        Keep the precision on held-out rows at or above this.
    min_recall
        Keep the recall on held-out rows at or above this.
    model
        What is trained: boosted trees, a logistic regression, or a logistic regression
        whose coefficients maximise the metric itself, by smooth counts (soft) or its
        expectation (expected).
    output
        The file for the model (.skops), replaced whole or not at all. Without it the
        model is not saved.
    jobs
        The number of folds trained at a time, -1 for one on each core.

    Examples
    --------
    argmetric train table.csv --label bought --drop id -o model.skops
    argmetric train table.csv --label bought --model logistic -o model.skops
    """
    metric = metric_named(o.metric, o.zero_division)
    average = average_of(o.average, o.group)
    refuse_bad_target(o.output)
    if o.output is not None:
        models.skops_io()
    table = load.read_rows(source, **o.only(*_READ))
    dropped = [files.named_column(table, name) for name in o.drop or []]
    label = load.find_label(table, o.label, taken=[o.group, o.weight, *dropped])
    load.refuse_shared(label=label, group=o.group, weight=o.weight)
    if label in dropped:
        raise UsageError(f"--drop and --label both name column {label!r}")
    y, positive = files.classes(table, label, o.pos_label)
    groups = load.load_groups(table, o.group)
    weights = load.load_weights(table, o.weight)
    ignored = [name for name in (*dropped, o.group, o.weight) if name is not None]
    features = models.learn_features(table, {*ignored, label})
    learner = models.build_model(
        o.model,
        features,
        metric.name,
        seed=o.seed,
        zero_division=None if o.zero_division is None else metric.zero_division,
        average="groups" if average == "groups" else None,
        pos_label=positive,
        n_jobs=o.jobs,
        **o.only("route", "min_precision", "min_recall", "max_positives"),
    )
    how: dict[str, Any] = {} if groups is None else {"groups": groups.codes}
    if weights is not None:
        how |= {"sample_weight": weights, f"{models.STEP}__sample_weight": weights}
    from threadpoolctl import threadpool_limits

    # With few rows, threads mostly wait for each other
    threads = threadpool_limits(1 if table.n_rows < _MANY_ROWS else None)
    said: list[str] = []
    with (
        _report.progress(f"training on {table.n_rows:,} rows"),
        warnings_in(said),
        threads,
    ):
        # The pipeline has no weights of its own; its last step gets them by name
        warnings.filterwarnings("ignore", message=".* takes no sample_weight")
        learner.fit(features.matrix(table), y, **how)
    ignored += features.left_out
    version = models.sklearn_version()
    saved = models.SavedModel(learner, features, label, ignored, o.model, version)
    if o.output is not None:
        with _report.progress("writing"):
            models.save_model(saved, o.output)
    rows = TableRows(table, "one", metric, average, groups=groups)
    rows.used = {"target": label}
    rows.use("weight", o.weight)
    rows.use("group", o.group)
    rule: Any = learner.rule_
    left_out = [f"left out {name!r}: {why}" for name, why in features.left_out.items()]
    numbers, words = (len(features.places(kind)) for kind in ("number", "category"))
    columns = [_report.count(n, "column") for n in (numbers, words)]
    negative, positive = saved.classes
    share = f"{100 * rule.prevalence:.1f} % of the rows"
    if o.output is None:
        said.append("the model is not kept: pass -o FILE")
    facts = [
        ("features", f"{columns[0]} of numbers, {columns[1]} of words"),
        ("model", o.model),
        ("classes", f"positive {positive!r} ({share}), else {negative!r}"),
        *lines.rule_facts(rule, "model score", rows="held-out rows"),
    ]
    values = {
        "rule": rule,
        "calibrator": learner.calibrator_,
        "check": learner.check_,
        "features": [feature.name for feature in features.used],
        "numbers": numbers,
        "categories": words,
        "classes": list(saved.classes),
        "route": learner.route_,
        **o.only("model", "output"),
    }
    return Answer(rows, values, facts, [*left_out, *rule.notes, *said])


# ------------------------------------------------------------------------- predict


@verb(
    "group format encoding max_line decimal average joint max_positives coverage "
    "output output_format score_column new_decisions json jobs",
    *_OWN,
    opt.Summary,
    first={"model": opt.FilePath},
)
def predict(o: Arguments, source: load.Input) -> Answer:
    """Score and label new rows with a model from `argmetric train`.

    The rows come out as they went in, in the same order, with the calibrated
    probability of the positive class and the decision added. Columns are found by
    name, in any order; unseen categories are allowed. A summary goes to standard
    error: the positives chosen, the score to expect with its interval and assumptions,
    and the actual score where labels are known.

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
    jobs
        The number of threads for groups with --joint, -1 for one on each core.

    Examples
    --------
    argmetric predict model.skops new.csv -o predicted.csv
    argmetric predict model.skops new.csv --joint --group order -o out.csv
    """
    load.refuse_shared_output(o.output, json=o.json)
    average = average_of(o.average, o.group)  # wrong usage comes before the file
    if o.model == "-":
        raise UsageError("a model is read from a file, not from standard input")
    if o.score_column == o.new_decisions:
        raise UsageError("--score-column and --decision-column must differ")
    with _report.reading(o.model):
        saved = models.load_model(o.model)
    table = load.read_rows(source, **o.only(*_READ))
    models.check_columns(table, saved.features)
    groups = load.load_groups(table, o.group)
    new = {o.score_column: "--score-column", o.new_decisions: "--decision-column"}
    out = load.rows_out(table, o, new)
    rule = saved.model.rule_
    rows = TableRows(table, "one", rule.metric, average, groups=groups)
    with _report.progress(f"predicting {table.n_rows:,} rows"):
        X = saved.features.matrix(table)
        place = saved.model.classes_.tolist().index(saved.classes[1])
        p = saved.model.predict_proba(X)[:, place]
        if o.joint:
            limits: dict[str, Any] = {**o.only("max_positives"), "n_jobs": o.jobs}
            decision = saved.model.decide(X, **rows.layout_options, **limits)
            chosen = np.asarray(decision.labels).astype(np.bool_)
        else:
            chosen = saved.model.predict(X) == saved.classes[1]
        rows.y, notes = _target(table, saved)
        forecast = saved.model.forecast(
            X, chosen, coverage=o.coverage, **rows.layout_options
        )
        score = rows.evaluate(chosen)
    rows.use("target", None if rows.y is None else saved.target)
    rows.use("group", o.group)
    notes += [] if score is None else _report.surprises(forecast, float(score))
    known = {feature.name for feature in saved.features.used}
    known |= {saved.target, *saved.ignored, o.group}
    if others := [repr(name) for name in table.names if name not in known]:
        notes.append(f"the model does not know, and does not use, {', '.join(others)}")
    if (here := models.sklearn_version()) != saved.made_by:
        notes.append(f"trained with scikit-learn {saved.made_by}, read with {here}")
    out.write(table, {o.score_column: p, o.new_decisions: rule.named(chosen)})
    how = "all rows jointly" if o.joint else lines.rule_text(rule, "model score")
    if o.joint and average == "groups":
        how = "each group jointly"
    n = int(chosen.sum())
    facts = [
        ("model", o.model),
        ("decided", how),
        lines.positives_line(n, table.n_rows),
        _report.forecast_line(forecast),
        *lines.actual_lines(score),
    ]
    values = {"rule": rule, "forecast": forecast, "actual": score, "n_positives": n}
    values |= {"classes": list(saved.classes), **o.only("model", "joint")}
    values["output"] = out.target
    return Answer(rows, values, facts, notes, beside_rows=True)


def _target(
    table: files.Table, saved: models.SavedModel
) -> tuple[AnyArray | None, list[str]]:
    """Return the true labels if the rows have them, or notes why not."""
    if table.names.count(saved.target) != 1:
        return None, []
    words = None if saved.classes == (0, 1) else str(saved.classes[1])
    try:
        return files.labels(table, saved.target, pos_label=words), []
    except files.DataError as error:
        return None, [with_flags(f"labels not used: {error}")]
