"""Files of any size, opened once, with the verbs as methods; evaluate and forecast."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Literal

import numpy as np

from argmetric._forecast.distributions import (
    CountPMF,
    convolve_pmfs,
    count_pmf,
    score_pmf_from_counts,
)
from argmetric._forecast.forecast import build_forecast, conditions, refuse_undefined
from argmetric._forecast.forecast import forecast as forecast_rows
from argmetric._forecast.group_moments import (
    PartialMoments,
    normal_approximation,
    partial_moments,
    pooled_mean,
)
from argmetric._forecast.groups import MetricGroups
from argmetric._forecast.result import Forecast
from argmetric._ground.arguments import (
    check_choice,
    check_path,
    check_share,
    check_texts,
    shown,
)
from argmetric._ground.display import Shown
from argmetric._ground.groups import Segments
from argmetric._ground.types import ArrayLike, Label, Path
from argmetric._ground.validation import Probabilities
from argmetric.metrics import Metric, MetricLike, get_metric, require_defined
from argmetric.scale._buckets import defined_sum
from argmetric.scale._calibrate import calibrate, calibration_check
from argmetric.scale._classes import decide_classes, evaluate_classes
from argmetric.scale._columns import FileBatch, MissingGroups, WantedColumns
from argmetric.scale._decide import decide
from argmetric.scale._executors import bucket_rows, check_memory
from argmetric.scale._pieces import Bucket
from argmetric.scale._reading import reading
from argmetric.scale._result import ScaledScore
from argmetric.scale._run import Run
from argmetric.scale._sources import OnError, blocks_of, find_input, is_array
from argmetric.scale._tasks import Found, Progress, require_all
from argmetric.scale._tune import fit, tune
from argmetric.scale._vector import packed, unpacked
from argmetric.scale.files import DataError, marked

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
            results = run.over_files("forecast", count_laws)
            hits, misses = (
                convolve_pmfs(
                    [CountPMF(low, unpacked(text, float)) for low, text in side]
                )
                for side in zip(*(one["laws"] for one in results), strict=True)
            )
            n, k = (
                sum(found[name] for found in results) for name in ("rows", "positives")
            )
            result = _made(
                score_pmf_from_counts(metric, n, k, hits, misses),
                metric,
                coverage,
                n=n,
                n_positives=k,
                n_groups=None,
                expected_positives=math.fsum(found["expected"] for found in results),
            )
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
    assumptions = conditions(None, 0.0, np.zeros(0) * math.nan, None)
    return build_forecast(law, metric, coverage, assumptions=assumptions, **known)


# -- one vector -------------------------------------------------------------------


def count_laws(batches: Iterable[FileBatch]) -> Found:
    """Laws of the hits and of the misses of a file."""
    laws: tuple[list[Any], list[Any]] = ([], [])
    positives, expected = 0, []
    for batch in batches:
        p, chosen = np.abs(batch.values), np.signbit(batch.values)
        for kept, part in zip(laws, (p[chosen], p[~chosen]), strict=True):
            kept.append(count_pmf(part, 1.0 - part))
        positives += int(chosen.sum())
        expected.append(float(p.sum()))
    nothing = count_pmf(np.zeros(0), np.zeros(0))
    sums = [convolve_pmfs([nothing, *kept]) for kept in laws]
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
    results = look(*pooled_mean([found["share"] for found in first]))
    shares: list[PartialMoments] = [found["share"] for found in results]
    law = normal_approximation(shares)
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
        expected_positives=math.fsum(one.expected_positives for one in shares),
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
    groups = MetricGroups(metric, rows, np.full(p.size, math.nan), chosen, 0.0)
    return {
        "groups": sizes.size,
        "positives": int(chosen.sum()),
        "share": partial_moments(groups, mean, weight),
    }


@dataclass(frozen=True, repr=False, eq=False)
class Files(Shown):
    """Files of any size, their columns, and how they are worked on; see `open`."""

    # the files, sorted by path, or the partitions of a Dask collection
    found: list[Any]
    # score, label, group, weight, decision_column, scores, features, missing_groups:
    # the columns, as they were named
    score: str | None
    label: str | None
    group: str | None
    weight: str | None
    decision_column: str | None
    scores: list[str] | None
    features: list[str] | None
    missing_groups: MissingGroups
    # on_error, memory, work_dir, executor, n_jobs, progress: how the verbs run
    on_error: OnError
    memory: int
    work_dir: str | None
    executor: Any
    n_jobs: int | None
    progress: Callable[[Progress], None] | None
    are_arrays: bool = False

    decide = decide
    forecast = forecast
    evaluate = evaluate
    tune = tune
    calibrate = calibrate
    calibration_check = calibration_check
    fit = fit
    decide_classes = decide_classes
    evaluate_classes = evaluate_classes

    def __repr__(self) -> str:
        number = f"{len(self.found):,} file{'s' * (len(self.found) != 1)}"
        named = [
            f"{one.name}={getattr(self, one.name)!r}"
            for one in fields(self)[1:8]
            if getattr(self, one.name) is not None
        ]
        return f"<{', '.join([f'Files: {number}', *named])}>"


def open(
    files: Path | Sequence[Path] | tuple[ArrayLike, ArrayLike],
    *,
    score: str | None = None,
    label: str | None = None,
    group: str | None = None,
    weight: str | None = None,
    decision_column: str | None = None,
    scores: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    missing_groups: MissingGroups = "error",
    on_error: OnError = "stop",
    memory: int | str | None = None,
    work_dir: Path | None = None,
    executor: object = None,
    n_jobs: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Any:
    """Open files or a lazy table: the verbs are methods of what is returned.

    Parameters
    ----------
    files : str, path or list of these, or lazy table
        A folder, a pattern such as ``"scores/*.parquet"``, or files: Parquet or Arrow,
        also at an address of fsspec. Folders such as ``day=3`` are columns. Or a lazy
        table: a LazyFrame of Polars, a relation of DuckDB, a DataFrame of Dask or
        Spark, of which the columns below are named, and no other option. For `fit` also
        a pair of Dask arrays, of features and labels, by their blocks of rows.
    score : str, optional
        The column of scores; by default the one called score, prob, p or the like.
    label : str, optional
        The column of true labels; by default the one called label, y, target or the
        like.
    group : str, optional
        The column of group ids, of any type.
    weight : str, optional
        The column of weights of the rows, for `calibrate` and `calibration_check`.
    decision_column : str, optional
        The column of decisions: the one that `decide` adds, by default ``"decision"``,
        and `evaluate` and `forecast` read, by default the one called decision,
        prediction, predicted, pred or y_pred.
    scores : list of str, optional
        The columns of probabilities of `decide_classes`, one for each class.
    features : list of str, optional
        The columns of numbers for `fit`; by default all but the label, in their order.
    missing_groups : {"error", "own"}, default="error"
        Whether rows without a group are an error, or a group of their own.
    on_error : {"stop", "skip"}, default="stop"
        Whether a file that cannot be read, or has other columns, ends the run or is
        left out and listed.
    memory : int or str, optional
        Memory that a run may use, such as ``"2GB"``; by default half of the machine's.
        With an executor on other machines: of all workers together.
    work_dir : str or path, optional
        The folder for temporary files, about 24 bytes per row; by default beside the
        output of `decide`, else that of the system. All workers must see it.
    executor : Threads, Processes, Dask or distributed.Client, optional
        Where tasks run: anything with ``map(function, items)``.
    n_jobs : int, optional
        Threads where there is no executor: None is 1, -1 all cores.
    progress : callable, optional
        Called with a `Progress` after each task.

    Returns
    -------
    Files or LazyTable
        With `decide`, `forecast`, `evaluate` and `tune`; files also with `calibrate`,
        `calibration_check`, `fit`, `decide_classes` and `evaluate_classes`.

    Examples
    --------
    >>> from argmetric import scale
    >>> data = scale.open("scores/", group="user", memory="2GB")  # doctest: +SKIP
    >>> data.decide("f1", output="decided/")  # doctest: +SKIP
    """
    named: dict[str, Any] = {
        **{"score": score, "label": label, "group": group, "weight": weight},
        "decision_column": decision_column,
    }
    for name, value in named.items():
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name} must be the name of a column, not {shown(value)}")
    for name, value in (("scores", scores), ("features", features)):
        several = "a list of columns"
        named[name] = None if value is None else check_texts(value, name, several)
    check_choice(missing_groups, "missing_groups", ("error", "own"))
    check_choice(on_error, "on_error", ("stop", "skip"))
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be a function, not {shown(progress)}")
    given: Any = files
    if not isinstance(given, str | os.PathLike | list | tuple):
        from argmetric.scale._lazy import open_lazy

        others = {
            **{"weight": weight, "scores": scores, "features": features},
            **{"memory": memory, "work_dir": work_dir, "executor": executor},
            **{"n_jobs": n_jobs, "progress": progress, "on_error": on_error},
            "missing_groups": missing_groups,
        }
        columns = {name: named[name] for name in ("score", "label", "group")}
        table = open_lazy(given, others, decision_column=decision_column, **columns)
        if table is not None:
            return table
    arrays = isinstance(files, tuple) and len(files) == 2 and is_array(files[0])
    return Files(
        found=blocks_of(*given) if arrays else find_input(given),
        **named,
        missing_groups=missing_groups,
        on_error=on_error,
        memory=check_memory(memory),
        work_dir=None if work_dir is None else check_path(work_dir, "work_dir"),
        executor=executor,
        n_jobs=n_jobs,
        progress=progress,
        are_arrays=arrays,
    )
