"""forecast, over files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from argmetric._files import DataError, marked
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
from argmetric._input.arguments import check_choice, check_share
from argmetric._input.segments import Segments
from argmetric._input.validation import Probabilities
from argmetric.metrics import Metric, MetricLike, get_metric, require_defined
from argmetric.scale._columns import FileBatch, MissingGroups, WantedColumns
from argmetric.scale._memory import bucket_rows
from argmetric.scale._pieces import Bucket
from argmetric.scale._reading import How, reading
from argmetric.scale._run import Run
from argmetric.scale._sources import OnError, find_input
from argmetric.scale._tasks import Found, Progress
from argmetric.scale._vector import packed, unpacked


def forecast(
    files: Any,
    metric: MetricLike = "f1",
    coverage: float = 0.9,
    *,
    score: str | None = None,
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
) -> Forecast:
    """Forecast the score of a column of labels, for files of any size.

    The forecast is that of `argmetric.forecast` on all rows at once. For one vector,
    each file gives the distributions of its true and false positives. For groups that
    do not all fit in memory, the mean is normal with a correction for skewness, as in
    memory for as many groups; a note says if this does not apply.

    Parameters
    ----------
    files : str, path or list of these
        See `argmetric.scale.decide`.
    metric : str, Metric or callable, default="f1"
        The metric to forecast.
    coverage : float, default=0.9
        Probability that the interval contains the score.
    score : str, optional
        The column of probabilities. By default the one called score, prob, p or the
        like.
    decision_column : str, optional
        The column of decisions: by default the one called decision, prediction,
        predicted, pred or y_pred.
    group : str, optional
        The column of group ids, of any type.
    average : {"groups", "pooled"}, default="groups"
        With `group`: the mean over groups, or all rows as one.
    zero_division, pos_label
        See `argmetric.forecast`.
    missing_groups, on_error, memory, executor, n_jobs, progress
        See `argmetric.scale.decide`.
    work_dir : str or path, optional
        With groups: the folder for temporary files, about 24 bytes per row; by default
        that of the system. All workers must see it.

    Returns
    -------
    Forecast
    """
    metric = get_metric(metric, zero_division=zero_division)
    coverage = check_share(coverage, "coverage")
    check_choice(missing_groups, "missing_groups", ("error", "own"))
    check_choice(average, "average", ("groups", "pooled"))
    wanted = WantedColumns(
        {"score": score, "decision_column": decision_column},
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
            require_defined(metric, run.n)
            plan = forecast_vector
        elif run.n <= bucket_rows(run.memory, run.n_workers):
            plan = forecast_at_once
        else:
            plan = forecast_by_group
        result = plan(run, metric, coverage)
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


def forecast_at_once(run: Run, metric: Metric, coverage: float) -> Forecast:
    """The forecast for groups that all fit in memory."""
    work = partial(forecast_bucket, metric=metric, coverage=coverage)
    (found,) = run.over_buckets("forecast", run.partition(1), work)
    forecast: Forecast = found["forecast"]
    return forecast


def forecast_bucket(bucket: Bucket, metric: Metric, coverage: float) -> Found:
    """All rows at once, in memory."""
    p, chosen = np.abs(bucket.values), np.signbit(bucket.values)
    known = Probabilities(p, scale_is_known=True)
    found = forecast_rows(known, chosen, metric, coverage, groups=bucket.groups())
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
