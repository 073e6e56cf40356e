"""evaluate and forecast, over files."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from argmetric._forecast.forecast import assumptions_of, forecast_of, refuse_undefined
from argmetric._forecast.forecast import forecast as forecast_rows
from argmetric._forecast.groups import JudgedGroups
from argmetric._forecast.laws import law_of_count, law_of_counts, sum_of_laws
from argmetric._forecast.result import Forecast
from argmetric._forecast.shares import (
    GroupShare,
    law_of_shares,
    mean_of_shares,
    share_of,
)
from argmetric._ground.arguments import check_choice, check_share
from argmetric._ground.groups import Segments
from argmetric._ground.types import Label
from argmetric._ground.validation import Probabilities
from argmetric.metrics import Metric, MetricLike, get_metric, require_defined
from argmetric.scale._buckets import defined_sum
from argmetric.scale._columns import FileBatch, WantedColumns
from argmetric.scale._executors import bucket_rows
from argmetric.scale._pieces import Bucket
from argmetric.scale._reading import reading
from argmetric.scale._result import ScaledScore
from argmetric.scale._run import Run
from argmetric.scale._tasks import Found, require_all
from argmetric.scale._vector import packed, unpacked
from argmetric.scale.files import DataError, marked

if TYPE_CHECKING:
    from argmetric.scale._open import Files


CELLS = ("tn", "fn", "fp", "tp")  # by 2·decision + truth


def evaluate(
    files: Files,
    metric: MetricLike = "f1",
    *,
    average: Literal["groups", "pooled"] = "groups",
    zero_division: float | None = None,
    pos_label: Label | None = None,
) -> ScaledScore:
    """Actual score of a column of decisions, for files of any size.

    The score is that of `argmetric.evaluate` on all rows at once.

    Parameters
    ----------
    metric : str, Metric or callable, default="f1"
        What to compute.
    average : {"groups", "pooled"}, default="groups"
        With groups: their mean (default), or all rows pooled.
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
            results = run.over_files("evaluate", pairs_of)
            counts = np.sum([one["cells"] for one in results], axis=0)
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


def forecast(
    files: Files,
    metric: MetricLike = "f1",
    coverage: float = 0.9,
    *,
    average: Literal["groups", "pooled"] = "groups",
    zero_division: float | None = None,
    pos_label: Label | None = None,
) -> Forecast:
    """Forecast the score of a column of labels, for files of any size.

    The forecast is that of `argmetric.forecast` on all rows at once. For one vector,
    each file gives the distributions of its true and false positives. For groups that
    do not all fit in memory, the mean is normal with a correction for skewness, as in
    memory for as many groups; a note says if this does not apply.

    Parameters
    ----------
    metric : str, Metric or callable, default="f1"
        The metric to forecast.
    coverage : float, default=0.9
        Probability that the interval contains the score.
    average : {"groups", "pooled"}, default="groups"
        With groups: their mean (default), or all rows pooled.
    zero_division, pos_label
        See `argmetric.forecast`.

    Returns
    -------
    Forecast
    """
    metric = get_metric(metric, zero_division=zero_division)
    coverage = check_share(coverage, "coverage")
    check_choice(average, "average", ("groups", "pooled"))
    wanted = WantedColumns(
        {"score": files.score, "decision_column": files.decision_column},
        group=files.group if average == "groups" else None,
        missing=files.missing_groups,
    )
    grouped = wanted.group is not None
    with reading(files, wanted, pos_label, moves_rows=grouped) as run:
        if not grouped:
            require_defined(metric, run.n)
            result = forecast_vector(run, metric, coverage)
        elif run.n <= bucket_rows(run.memory, run.n_workers):
            work = partial(forecast_bucket, metric=metric, coverage=coverage)
            (found,) = run.over_buckets("forecast", run.partition(1), work)
            result = found["forecast"]
        else:
            result = forecast_by_group(run, metric, coverage)
        run.tell_skipped()
    return result


def _made(law: Any, metric: Metric, coverage: float, **known: Any) -> Forecast:
    refuse_undefined(law, metric)
    assumptions = assumptions_of(None, 0.0, np.zeros(0) * math.nan, None)
    return forecast_of(law, metric, coverage, assumptions=assumptions, **known)


# -- one vector -------------------------------------------------------------------


def forecast_vector(run: Run, metric: Metric, coverage: float) -> Forecast:
    """The forecast for one vector, from laws of the hits and misses of every file."""
    results = run.over_files("forecast", count_laws)
    hits, misses = (
        sum_of_laws(
            [
                (low, unpacked(text, float))
                for low, text in (found["laws"][side] for found in results)
            ]
        )
        for side in (0, 1)
    )
    n, k = (sum(found[name] for found in results) for name in ("rows", "positives"))
    return _made(
        law_of_counts(metric, n, k, hits, misses),
        metric,
        coverage,
        n=n,
        n_positives=k,
        n_groups=None,
        expected_positives=math.fsum(found["expected"] for found in results),
    )


def count_laws(batches: Iterable[FileBatch]) -> Found:
    """Laws of the hits and of the misses of a file."""
    laws: tuple[list[Any], list[Any]] = ([], [])
    positives, expected = 0, []
    for batch in batches:
        p, chosen = np.abs(batch.values), np.signbit(batch.values)
        for kept, part in zip(laws, (p[chosen], p[~chosen]), strict=True):
            kept.append(law_of_count(part, 1.0 - part))
        positives += int(chosen.sum())
        expected.append(float(p.sum()))
    nothing = law_of_count(np.zeros(0), np.zeros(0))
    sums = [sum_of_laws([nothing, *kept]) for kept in laws]
    return {
        "positives": positives,
        "expected": math.fsum(expected),
        "laws": [(low, packed(law)) for low, law in sums],
    }


# -- by group ---------------------------------------------------------------------


def forecast_bucket(bucket: Bucket, metric: Metric, coverage: float) -> Found:
    """All rows at once, in memory."""
    p, chosen = np.abs(bucket.values), np.signbit(bucket.values)
    known = Probabilities(p, scale_is_known=True)
    of_groups: Any = bucket.groups()
    found = forecast_rows(known, chosen, metric, coverage, groups=of_groups)
    return {"forecast": found}


def forecast_by_group(run: Run, metric: Metric, coverage: float) -> Forecast:
    """The forecast for groups in many buckets: their mean is normal, with skewness."""
    buckets = run.whole_groups()

    def look(mean: float, weight: float) -> list[Found]:
        work = partial(share_of_bucket, metric=metric, mean=mean, weight=weight)
        return run.over_buckets("forecast", buckets, work)

    first = look(math.nan, math.nan)
    results = look(*mean_of_shares([found["share"] for found in first]))
    shares: list[GroupShare] = [found["share"] for found in results]
    law = law_of_shares(shares)
    n_groups = sum(found["groups"] for found in results)
    if law is None:
        raise DataError(
            f"{n_groups:,} groups are too few, or too unequal, for a forecast in "
            f"pieces; raise {marked('memory')}, or take fewer workers"
        )
    return _made(
        law,
        metric,
        coverage,
        n=run.n,
        n_positives=sum(found["positives"] for found in results),
        n_groups=n_groups,
        expected_positives=math.fsum(one.positives for one in shares),
    )


def share_of_bucket(
    bucket: Bucket, metric: Metric, mean: float, weight: float
) -> Found:
    """What the groups of a bucket add to the sum over all.

    `mean` and `weight` are the mean over all groups and over how many it is, nan before
    they are known.
    """
    codes = bucket.groups().codes
    values = bucket.values[np.argsort(codes, kind="stable")]
    sizes = np.bincount(codes)
    require_defined(metric, int(sizes.max()))
    p, chosen = np.abs(values), np.signbit(values)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    rows = Segments(p, 1.0 - p, indptr, sizes)
    groups = JudgedGroups(metric, rows, np.full(p.size, math.nan), chosen, 0.0)
    return {
        "groups": sizes.size,
        "positives": int(chosen.sum()),
        "share": share_of(groups, mean, weight),
    }
