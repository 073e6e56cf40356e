"""``argmetric train``."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from argmetric import _files as files
from argmetric._input.types import Floats
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._errors import UsageError
from argmetric.cli._learning import warnings_in
from argmetric.cli._option_sets import DEFAULT_GROUP_JUDGE, Columns, GroupJudge
from argmetric.cli._progress import progress
from argmetric.cli.models._learners import (
    STEP,
    Features,
    Learner,
    build_model,
    learn_features,
)
from argmetric.cli.models._saved import (
    SavedModel,
    save_model,
    sklearn_version,
    skops_io,
)
from argmetric.cli.scores._load import (
    GroupColumns,
    find_label,
    load_groups,
    load_weights,
    read_rows,
    refuse_shared,
)
from argmetric.cli.scores._rows import gathered
from argmetric.cli.scores._rules import refuse_bad_target, rule_facts, rule_values

if TYPE_CHECKING:
    from argmetric import MetricClassifier

_MANY_ROWS = 10_000


def train(
    file: opt.RowsFile,
    /,
    *more: opt.MoreFiles,
    label: opt.LearnedLabel = None,
    pos_label: opt.PosLabel = None,
    drop: opt.Drop = None,
    group: Annotated[
        opt.GroupColumn,
        Parameter(
            help="The column of group ids (orders, queries, customers). Rows of a "
            "group stay together when rows are held out, and the metric is averaged as "
            "--average says."
        ),
    ] = None,
    weight: opt.Weight = None,
    format: opt.InputFormat = None,
    encoding: opt.InputEncoding = "utf-8",
    max_line: opt.MaxLine = opt.MAX_LINE,
    decimal: opt.Decimal = ".",
    judge: GroupJudge = DEFAULT_GROUP_JUDGE,
    route: Annotated[
        Literal["tune", "decide", "half", "auto"], Parameter(group=opt.METRIC)
    ] = "tune",
    choice: opt.Choice = "best",
    max_positives: opt.MostTuned = None,
    min_precision: opt.Share = None,
    min_recall: opt.Share = None,
    model: Learner = "boosting",
    seed: opt.Seed = 0,
    output: opt.Target = None,
    json: opt.Json = False,
    jobs: Annotated[
        opt.Jobs,
        Parameter(
            help="The number of folds trained at a time, -1 for one on each core."
        ),
    ] = None,
) -> int:
    """Train a classifier that decides for the metric, and keep it in a file.

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
    """
    source = gathered(file, more)
    metric = judge.resolved()
    average = judge.average_for(group)
    if output is not None:
        refuse_bad_target(output)
        skops_io()
    table = read_rows(source, format, encoding, max_line, decimal)
    dropped = [files.named_column(table, name) for name in drop or []]
    label = find_label(table, label, taken=[group, weight, *dropped])
    refuse_shared(label=label, group=group, weight=weight)
    if label in dropped:
        raise UsageError(f"--drop and --label both name column {label!r}")
    y, positive = files.classes(table, label, pos_label)
    groups = load_groups(table, Columns(group=group), judge)
    weights = load_weights(table, weight)
    ignored = [name for name in (*dropped, group, weight) if name is not None]
    features = learn_features(table, {*ignored, label})
    learner = build_model(
        model,
        features,
        metric.name,
        seed=seed,
        zero_division=None if judge.zero_division is None else metric.zero_division,
        average="groups" if average == "groups" else None,
        route=route,
        choice="best" if choice == "best" else "one_se",
        min_precision=min_precision,
        min_recall=min_recall,
        max_positives=max_positives,
        pos_label=positive,
        n_jobs=jobs,
    )
    with progress(f"training on {table.n_rows:,} rows"):
        notes = _fit(learner, features, table, y, weights, groups)
    ignored += features.left_out
    saved = SavedModel(learner, features, label, ignored, model, sklearn_version())
    if output is not None:
        with progress("writing"):
            save_model(saved, output)
    summary: _report.Values = {
        **_report.described(table, metric, groups, target=label, weight=weight),
        **_found(saved, notes),
        "output": output,
    }
    told = [("note", note) for note in summary["notes"]]
    if output is None:
        told.append(("note", "the model is not kept: pass -o FILE"))
    return _report.tell("train", summary, _facts, json=json, notes=told)


def _fit(
    learner: MetricClassifier,
    features: Features,
    table: files.Table,
    y: Any,
    weights: Floats | None,
    groups: GroupColumns | None,
) -> list[str]:
    """Fit a model, and return what was remarkable about it."""
    options: dict[str, Any] = {}
    if weights is not None:
        options = {"sample_weight": weights, f"{STEP}__sample_weight": weights}
    if groups is not None:
        options["groups"] = groups.codes
    X = features.matrix(table)
    notes: list[str] = []
    with warnings_in(notes), _threads(table.n_rows):
        # The pipeline has no weights of its own; its last step gets them by name
        warnings.filterwarnings("ignore", message=".* takes no sample_weight")
        learner.fit(X, y, **options)
    return notes


@contextlib.contextmanager
def _threads(n_rows: int) -> Iterator[None]:
    """Keep to one thread for few rows: there, threads mostly wait for each other."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1 if n_rows < _MANY_ROWS else None):
        yield


def _found(saved: SavedModel, notes: list[str]) -> _report.Values:
    rule: Any = saved.model.rule_
    calibrator: Any = saved.model.calibrator_
    check: Any = saved.model.check_
    left_out = [f"{name!r}: {why}" for name, why in saved.features.left_out.items()]
    return {
        "model": saved.kind,
        "features": [feature.name for feature in saved.features.used],
        "numbers": len(saved.features.places("number")),
        "categories": len(saved.features.places("category")),
        "classes": list(saved.classes),
        "calibrator": calibrator.to_dict(),
        "rule": rule_values(rule, "model score", None),
        "route": saved.model.route_,
        "check": None if check is None else check.to_dict(),
        "notes": [*(f"left out {one}" for one in left_out), *rule.notes, *notes],
    }


def _facts(summary: _report.Values) -> _report.Facts:
    negative, positive = summary["classes"]
    rule = summary["rule"]
    numbers = _report.count(summary["numbers"], "column")
    words = _report.count(summary["categories"], "column")
    return [
        *_report.asked(summary),
        ("features", f"{numbers} of numbers, {words} of words"),
        ("model", summary["model"]),
        (
            "classes",
            f"positive {positive!r} ({100 * rule['prevalence']:.1f} % of the rows), "
            f"else {negative!r}",
        ),
        *rule_facts(rule, rows="held-out rows"),
    ]
