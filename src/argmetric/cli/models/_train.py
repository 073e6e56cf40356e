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
from argmetric.cli._command import Given, command
from argmetric.cli._errors import UsageError
from argmetric.cli._judge import average_of, metric_named
from argmetric.cli._learning import warnings_in
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
from argmetric.cli.scores import _lines as lines
from argmetric.cli.scores._layout import Rows
from argmetric.cli.scores._load import (
    GroupColumns,
    find_label,
    load_groups,
    load_weights,
    read_rows,
    refuse_shared,
)
from argmetric.cli.scores._rows import gathered
from argmetric.cli.scores._rules import refuse_bad_target, rule_facts

if TYPE_CHECKING:
    from argmetric import MetricClassifier

_MANY_ROWS = 10_000


@command(
    "label pos_label drop group weight format encoding max_line decimal metric average "
    "zero_division route choice max_positives min_precision min_recall model seed "
    "output json jobs",
    changed={
        "label": (opt.LearnedLabel, None),
        "drop": (opt.Drop, None),
        "average": (opt.AverageOver, None),
        "route": (
            Annotated[
                Literal["tune", "decide", "half", "auto"], Parameter(group=opt.METRIC)
            ],
            "tune",
        ),
        "model": (Learner, "boosting"),
    },
)
def train(o: Given) -> int:
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
    """
    source = gathered(o.file, o.more)
    metric = metric_named(o.metric, o.zero_division)
    average = average_of(o.average, o.group)
    if o.output is not None:
        refuse_bad_target(o.output)
        skops_io()
    table = read_rows(source, **o.only("format", "encoding", "max_line", "decimal"))
    dropped = [files.named_column(table, name) for name in o.drop or []]
    label = find_label(table, o.label, taken=[o.group, o.weight, *dropped])
    refuse_shared(label=label, group=o.group, weight=o.weight)
    if label in dropped:
        raise UsageError(f"--drop and --label both name column {label!r}")
    y, positive = files.classes(table, label, o.pos_label)
    groups = load_groups(table, o.group, average)
    weights = load_weights(table, o.weight)
    ignored = [name for name in (*dropped, o.group, o.weight) if name is not None]
    features = learn_features(table, {*ignored, label})
    learner = build_model(
        o.model,
        features,
        metric.name,
        seed=o.seed,
        zero_division=None if o.zero_division is None else metric.zero_division,
        average="groups" if average == "groups" else None,
        choice="best" if o.choice == "best" else "one_se",
        pos_label=positive,
        n_jobs=o.jobs,
        **o.only("route", "min_precision", "min_recall", "max_positives"),
    )
    with progress(f"training on {table.n_rows:,} rows"):
        notes = _fit(learner, features, table, y, weights, groups)
    ignored += features.left_out
    saved = SavedModel(learner, features, label, ignored, o.model, sklearn_version())
    if o.output is not None:
        with progress("writing"):
            save_model(saved, o.output)
    rows = Rows(table, "one", metric, average, groups=groups)
    rows.used = {"target": label}
    rows.use("weight", o.weight)
    rows.use("group", o.group)
    values = {**rows.described(), **_found(saved, notes), "output": o.output}
    told = [("note", note) for note in values["notes"]]
    if o.output is None:
        told.append(("note", "the model is not kept: pass -o FILE"))
    facts = [*lines.asked_of(rows), *_facts(saved)]
    return _report.tell("train", values, facts, json=o.json, notes=told)


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
        "route": saved.model.route_,
        "rule": rule.to_dict(),
        "calibrator": calibrator.to_dict(),
        "check": None if check is None else check.to_dict(),
        "notes": [*(f"left out {one}" for one in left_out), *rule.notes, *notes],
    }


def _facts(saved: SavedModel) -> _report.Facts:
    negative, positive = saved.classes
    rule: Any = saved.model.rule_
    numbers, words = (
        _report.count(len(saved.features.places(kind)), "column")
        for kind in ("number", "category")
    )
    share = f"{100 * rule.prevalence:.1f} % of the rows"
    return [
        ("features", f"{numbers} of numbers, {words} of words"),
        ("model", saved.kind),
        ("classes", f"positive {positive!r} ({share}), else {negative!r}"),
        *rule_facts(rule, "model score", rows="held-out rows"),
    ]
