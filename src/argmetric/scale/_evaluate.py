"""evaluate, over files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from argmetric._files import DataError
from argmetric._input.arguments import check_choice
from argmetric._input.types import Integers
from argmetric.metrics import Metric, MetricLike, get_metric, require_defined
from argmetric.scale._buckets import defined_sum
from argmetric.scale._columns import FileBatch, MissingGroups, WantedColumns
from argmetric.scale._pieces import Bucket
from argmetric.scale._reading import How, reading
from argmetric.scale._result import ScaledScore
from argmetric.scale._run import Run
from argmetric.scale._sources import OnError, find_input
from argmetric.scale._tasks import Found, Progress, require_all

CELLS = ("tn", "fn", "fp", "tp")  # by 2·decision + truth


def evaluate(
    files: Any,
    metric: MetricLike = "f1",
    *,
    label: str | None = None,
    decision_column: str | None = None,
    group: str | None = None,
    average: Literal["groups", "pooled"] = "groups",
    zero_division: float | None = None,
    pos_label: Any = None,
    missing_groups: MissingGroups = "error",
    on_error: OnError = "stop",
    memory: int | str | None = None,
    work_dir: Any = None,
    executor: Any = None,
    n_jobs: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> ScaledScore:
    """Actual score of a column of decisions, for files of any size.

    The score is that of `argmetric.evaluate` on all rows at once.

    Parameters
    ----------
    files : str, path or list of these
        See `argmetric.scale.decide`.
    metric : str, Metric or callable, default="f1"
        What to compute.
    label : str, optional
        The column of true labels: by default the one called label, y, target or the
        like.
    decision_column : str, optional
        The column of decisions: by default the one called decision, prediction,
        predicted, pred or y_pred.
    group : str, optional
        The column of group ids, of any type.
    average : {"groups", "pooled"}, default="groups"
        With `group`: the mean over groups, or all rows as one.
    zero_division, pos_label
        See `argmetric.evaluate`.
    missing_groups, on_error, memory, executor, n_jobs, progress
        See `argmetric.scale.decide`.
    work_dir : str or path, optional
        With groups: the folder for temporary files, about 24 bytes per row; by default
        that of the system. All workers must see it.

    Returns
    -------
    ScaledScore
    """
    metric = get_metric(metric, zero_division=zero_division)
    check_choice(missing_groups, "missing_groups", ("error", "own"))
    check_choice(average, "average", ("groups", "pooled"))
    wanted = WantedColumns(
        {"decision_column": decision_column, "label": label},
        group=group,
        missing=missing_groups,
    )
    if average == "pooled":
        wanted = replace(wanted, group=None)
    grouped = wanted.group is not None
    how = How(on_error, memory, work_dir, executor, n_jobs, progress)
    found = find_input(files)
    with reading(found, wanted, how, pos_label, moves_rows=grouped) as run:
        if not grouped:
            counts = count_pairs(run)
            tn, fn, fp, tp = counts.tolist()
            require_defined(metric, sum(counts))
            score = float(metric.value(tp, tp + fp, tp + fn, tp + fp + fn + tn))
            groups = empty = None
        else:
            work = partial(score_groups, metric=metric)
            results = run.over_buckets("evaluate", run.whole_groups(), work)
            counts = np.sum([one["cells"] for one in results], axis=0)
            defined = math.fsum(one["value_defined"] for one in results)
            total = math.fsum(one["value"] for one in results)
            score = total / defined if defined else math.nan
            groups = sum(one["groups"] for one in results)
            empty = sum(one["empty"] for one in results)
        require_all("evaluate", run.rows_read, int(sum(counts)))
    if math.isnan(score):
        raise DataError(
            f"{metric.name} is undefined (0/0) on these labels; zero_division=0 or 1 "
            "gives it a value"
        )
    truth, decided = run.columns.of_labels
    return ScaledScore(
        score=score,
        metric=metric,
        label=truth.column,
        decision=decided.column,
        group=wanted.group,
        n=int(sum(counts)),
        n_files=len(run.sources),
        n_groups=groups,
        n_groups_without_positives=empty,
        counts=dict(zip(CELLS[::-1], map(int, counts[::-1]), strict=True)),
        skipped=tuple(run.skipped),
    )


def count_pairs(run: Run) -> Integers:
    """Rows of every cell of the confusion matrix."""
    results = run.over_files("evaluate", pairs_of)
    return np.asarray(np.sum([found["cells"] for found in results], axis=0))


def pairs_of(batches: Iterable[FileBatch]) -> Found:
    """How many rows of a file have every pair of labels."""
    total = np.zeros(len(CELLS), dtype=np.int64)
    for batch in batches:
        total += np.bincount(batch.values.astype(np.int64), minlength=len(CELLS))
    return {"cells": total.tolist()}


def score_groups(bucket: Bucket, metric: Metric) -> Found:
    """Sum of the scores of the groups of a bucket, and their counts."""
    groups = bucket.groups()
    codes = bucket.values.astype(np.int64)
    size = len(groups.ids)
    pairs = np.bincount(len(CELLS) * groups.codes + codes, minlength=len(CELLS) * size)
    tn, fn, fp, tp = pairs.reshape(size, len(CELLS)).T.astype(np.float64)
    require_defined(metric, int((tn + fn + fp + tp).max()))
    values = metric.value(tp, tp + fp, tp + fn, tn + fn + fp + tp)
    return {
        "groups": size,
        "empty": int((tp + fn == 0).sum()),
        "cells": [int(cell.sum()) for cell in (tn, fn, fp, tp)],
        **defined_sum("value", np.atleast_1d(values)),
    }
