"""calibration_check, over files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argmetric import _calibration_check as in_memory
from argmetric._calibrate import DEFAULT, Method
from argmetric._calibration_check import CalibrationCheck
from argmetric._files import DataError
from argmetric._input.arguments import check_flag
from argmetric._input.layout import Average
from argmetric.metrics import MetricLike, get_metric
from argmetric.scale._labelled import Wanted, check_sample, labelled_rows
from argmetric.scale._reading import How
from argmetric.scale._sources import OnError
from argmetric.scale._tasks import Progress

FEW = 1 << 22  # rows that are checked in memory unasked


def calibration_check(
    files: Any,
    metric: MetricLike = "f1",
    *,
    score: str | None = None,
    label: str | None = None,
    weight: str | None = None,
    group: str | None = None,
    average: Average | None = None,
    pos_label: Any = None,
    method: Method = DEFAULT,
    n_bins: int = 10,
    n_bootstrap: int = 200,
    random_state: int | None = 0,
    logits: bool = False,
    zero_division: float | None = None,
    n_sample: int | None = None,
    on_error: OnError = "stop",
    memory: int | str | None = None,
    executor: Any = None,
    n_jobs: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> CalibrationCheck:
    """Say whether probabilities in files are fit to decide and to forecast with.

    The check of up to four million rows is that of `argmetric.calibration_check` to the
    last digit. Its maps are fitted out of fold and its errors come from rows that are
    drawn again, which no sums over files can give: of more rows it takes a sample,
    whose size the caller says.

    Parameters
    ----------
    files : str, path or list of these
        As `argmetric.scale.decide` takes them.
    metric : str, Metric or callable, default="f1"
        What the labels are judged by.
    score : str, optional
        The column of scores: by default the one called score, prob, p or the like.
    label : str, optional
        The column of true labels: by default the one called label, y, target or the
        like.
    weight : str, optional
        The column of weights of the rows.
    group : str, optional
        The column of group ids. Groups are checked whole, and so not on a sample.
    average, pos_label, method, n_bins, n_bootstrap, logits, zero_division
        As `argmetric.calibration_check` takes them.
    random_state : int, optional
        Seed of the sample, the folds and the samples of these.
    n_sample : int, optional
        Check so many rows, each as likely to be drawn as the next; all of them where
        there are no more.
    on_error, memory, executor, n_jobs, progress
        As `argmetric.scale.decide` takes them.

    Returns
    -------
    CalibrationCheck
    """
    metric = get_metric(metric, zero_division=zero_division)
    n_sample = check_sample(n_sample, random_state)
    wanted = Wanted(
        score, label, weight, group, pos_label, check_flag(logits, "logits")
    )
    how = How(on_error, memory, None, executor, n_jobs, progress)
    with labelled_rows(files, wanted, how) as rows:
        if n_sample is None and rows.n > FEW:
            raise DataError(
                f"{rows.n:,} rows are too many to be mapped out of fold and drawn "
                "again: n_sample=1000000 checks so many of them"
            )
        if group is not None and n_sample is not None and n_sample < rows.n:
            raise DataError(
                "a sample of rows has no whole groups: leave group or n_sample out"
            )
        y, p, w, groups = rows.taken(n_sample or rows.n, random_state)
        rows.run.tell_skipped()
    return in_memory.calibration_check(
        y,
        p,
        metric,
        groups=groups,
        average=average,
        sample_weight=w,
        method=method,
        n_bins=n_bins,
        n_bootstrap=n_bootstrap,
        random_state=random_state,
        logits=wanted.logits,
    )
