"""forecast, over files: of a column of decisions, or of those that decide makes."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

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
    UncertainGroups,
    normal_approximation,
    pooled_mean,
)
from argmetric._forecast.groups import MetricGroups
from argmetric._forecast.result import Forecast
from argmetric._ground.groups import Segments
from argmetric._ground.limits import check_limits
from argmetric._ground.types import Floats
from argmetric._ground.validation import Probabilities
from argmetric.metrics import Metric, require_defined
from argmetric.scale._columns import FileBatch, WantedColumns, negate_if
from argmetric.scale._groups import Bucket, as_read, whole_groups
from argmetric.scale._labels import Question, decide_all
from argmetric.scale._scan import OpenedFiles, Scan, scanning
from argmetric.scale.files import DataError, marked

# Gives the probabilities of a batch, with a minus where a row is positive
SignedScores = Callable[[FileBatch], Floats]
# Of one vector of independent labels: number of positives, expected true labels, and
# the distributions of the true labels among the positives and among the others
VectorCounts = tuple[int, float, CountPMF, CountPMF]


def forecast_files(
    files: OpenedFiles,
    metric: Metric,
    coverage: float,
    pos_label: object,
    *,
    by_group: bool,
) -> Forecast:
    """Return the forecast of labels in files; see `Verbs`."""
    wanted = WantedColumns(
        {"score": files.score, "decision_column": files.decision_column},
        group=files.group if by_group else None,
        missing=files.missing_groups,
        may_decide=True,
    )
    with scanning(files, wanted, pos_label) as scan:
        values: SignedScores = as_read
        if scan.columns.decision is None:
            question = Question(
                metric, check_limits(0, None, None, None), {"logits": False}
            )
            decision = decide_all(scan, question)
            scan = beside(scan, "forecast")

            def values(batch: FileBatch) -> Floats:
                return negate_if(batch.values, decision.is_positive(batch))

        return forecast_scan(scan, metric, coverage, values)


def beside(scan: Scan, name: str) -> Scan:
    """Return a scan with a subfolder of its own for temporary files."""
    work = scan.work and os.path.join(scan.work, name)
    if work:
        os.makedirs(work, exist_ok=True)
    return replace(scan, work=work)


def forecast_scan(
    scan: Scan, metric: Metric, coverage: float, values: SignedScores
) -> Forecast:
    """Return the forecast of the score of labels in files, by the way that fits."""
    if scan.columns.group is None:
        return _forecast_vector(scan, metric, coverage, values)
    if scan.n <= scan.division[1]:
        return _forecast_rows(scan, metric, coverage, values)
    return _forecast_groups(scan, metric, coverage, values)


def forecast_of(pmf: Any, metric: Metric, coverage: float, **known: Any) -> Forecast:
    """Return the forecast that a distribution of the score gives; `known` are sizes."""
    refuse_undefined(pmf.values, metric)
    assumptions = conditions(None, 0.0, np.zeros(0) * math.nan, None)
    return build_forecast(pmf, metric, coverage, assumptions=assumptions, **known)


# -- one vector -------------------------------------------------------------------


def _forecast_vector(
    scan: Scan, metric: Metric, coverage: float, values: SignedScores
) -> Forecast:
    """Return the forecast for rows that are scored as one vector."""
    require_defined(metric, scan.n)

    def of_batch(batch: FileBatch) -> VectorCounts:
        signed = values(batch)
        p, chosen = np.abs(signed), np.signbit(signed)
        hits, misses = (count_pmf(x, 1.0 - x) for x in (p[chosen], p[~chosen]))
        return int(chosen.sum()), float(p.sum()), hits, misses

    def merge(parts: list[VectorCounts]) -> VectorCounts:
        nothing = count_pmf(np.zeros(0), np.zeros(0))
        k, expected, *pmfs = zip(*(parts or [(0, 0.0, nothing, nothing)]), strict=True)
        hits, misses = (convolve_pmfs(list(one)) for one in pmfs)
        return sum(k), math.fsum(expected), hits, misses

    k, expected, hits, misses = scan.merge_batches(of_batch, merge)
    pmf = score_pmf_from_counts(metric, scan.n, k, hits, misses)
    sizes: dict[str, Any] = {"n": scan.n, "n_positives": k, "n_groups": None}
    return forecast_of(pmf, metric, coverage, expected_positives=expected, **sizes)


# -- by group ---------------------------------------------------------------------


def _forecast_rows(
    scan: Scan, metric: Metric, coverage: float, values: SignedScores
) -> Forecast:
    """Return the forecast for groups that are all in memory."""
    rows = Bucket(scan.n, scan=scan, values=values).read()
    # A probability with a minus sign is one of a row that is predicted positive.
    p, labels = np.abs(rows.values), np.signbit(rows.values)
    known = Probabilities(p, scale_is_known=True)
    groups: Any = rows.groups()
    return forecast_rows(known, labels, metric, coverage, groups=groups)


def _forecast_groups(
    scan: Scan, metric: Metric, coverage: float, values: SignedScores
) -> Forecast:
    """Return the forecast for groups in many buckets: their mean is nearly normal."""
    buckets = whole_groups(scan, values)

    def moments(mean: float, weight: float) -> list[tuple[PartialMoments, int, int]]:
        work = partial(_moments_of_bucket, metric=metric, mean=mean, weight=weight)
        return scan.map(work, buckets)

    first = moments(math.nan, math.nan)
    results = moments(*pooled_mean([one for one, _, _ in first]))
    parts = [one for one, _, _ in results]
    pmf = normal_approximation(parts)
    n_groups = sum(n for _, n, _ in results)
    if pmf is None:
        raise DataError(
            f"{n_groups:,} groups are too few, or too unequal, for a forecast in "
            f"pieces; raise {marked('memory')}, or take fewer workers"
        )
    return forecast_of(
        pmf,
        metric,
        coverage,
        n=scan.n,
        n_positives=sum(k for _, _, k in results),
        n_groups=n_groups,
        expected_positives=math.fsum(one.expected_positives for one in parts),
    )


def _moments_of_bucket(
    bucket: Bucket, metric: Metric, mean: float, weight: float
) -> tuple[PartialMoments, int, int]:
    """Return moments of the groups of a bucket, their number, and that of positives.

    A value of the bucket is p, with a minus sign where the row is predicted positive.
    `mean` and `weight` are the mean score of all groups and the expected number of
    groups where it is defined; nan in the first pass, before they are known.
    """
    rows = bucket.read()
    codes = rows.groups().codes
    values, sizes = rows.values[np.argsort(codes, kind="stable")], np.bincount(codes)
    require_defined(metric, int(sizes.max()))
    p, chosen = np.abs(values), np.signbit(values)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    unknown, rows_ = np.full(p.size, math.nan), Segments(p, 1.0 - p, indptr, sizes)
    groups = MetricGroups(metric, rows_, unknown, chosen, 0.0)
    moments = UncertainGroups.from_groups(groups).partial_moments(mean, weight)
    return moments, sizes.size, int(chosen.sum())
