"""evaluate, over files."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from argmetric._files import DataError
from argmetric._input.arguments import check_choice
from argmetric._input.types import Integers
from argmetric.metrics import Metric, MetricLike, get_metric, require_defined
from argmetric.scale._buckets import defined_sum
from argmetric.scale._columns import FileBatch, WantedColumns
from argmetric.scale._pieces import Bucket
from argmetric.scale._reading import reading
from argmetric.scale._result import ScaledScore
from argmetric.scale._run import Run
from argmetric.scale._tasks import Found, require_all

if TYPE_CHECKING:
    from argmetric.scale._open import Files

CELLS = ("tn", "fn", "fp", "tp")  # by 2·decision + truth


def evaluate(
    files: Files,
    metric: MetricLike = "f1",
    *,
    average: Literal["groups", "pooled"] = "groups",
    zero_division: float | None = None,
    pos_label: Any = None,
) -> ScaledScore:
    """Actual score of a column of decisions, for files of any size.

    The score is that of `argmetric.evaluate` on all rows at once.

    Parameters
    ----------
    metric : str, Metric or callable, default="f1"
        What to compute.
    average : {"groups", "pooled"}, default="groups"
        With a column of groups: the mean over groups, or all rows as one.
    zero_division, pos_label
        See `argmetric.evaluate`.

    Returns
    -------
    ScaledScore
    """
    metric = get_metric(metric, zero_division=zero_division)
    check_choice(average, "average", ("groups", "pooled"))
    wanted = WantedColumns(
        {"decision_column": files.decision_column, "label": files.label},
        group=files.group if average == "groups" else None,
        missing=files.missing_groups,
    )
    grouped = wanted.group is not None
    with reading(files, wanted, pos_label, moves_rows=grouped) as run:
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
