"""forecast, over files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from argmetric._forecast import Forecast
from argmetric._input.arguments import check_choice, check_share
from argmetric.metrics import MetricLike, get_metric, require_defined
from argmetric.scale._columns import MissingGroups
from argmetric.scale._judged import Judged, find_judged
from argmetric.scale._laws import forecast_at_once, forecast_by_group, forecast_vector
from argmetric.scale._marks import settle_marks
from argmetric.scale._memory import bucket_rows
from argmetric.scale._reading import How, check_names, reading
from argmetric.scale._run import look_at
from argmetric.scale._sources import OnError, find_input
from argmetric.scale._tasks import Progress


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

    The forecast is that of `argmetric.forecast` on all rows at once. For one vector
    every file gives the laws of its hits and misses. With groups that do not all fit in
    memory the mean over them is normal with its skewness, as it is in memory for so
    many; where it is not, the run says so.

    Parameters
    ----------
    files : str, path or list of these
        As `argmetric.scale.decide` takes them.
    metric : str, Metric or callable, default="f1"
        What the labels are judged by.
    coverage : float, default=0.9
        Probability that the interval should hold.
    score : str, optional
        The column of probabilities. By default the one called score, prob, p or the
        like.
    decision_column : str, optional
        The column of labels that are handed in: by default the one called decision,
        prediction, predicted, pred or y_pred.
    group : str, optional
        The column of group ids, of any type.
    average : {"groups", "pooled"}, default="groups"
        With `group`: the mean over groups, or all rows as one.
    zero_division, pos_label
        As `argmetric.forecast` takes them.
    missing_groups, on_error, memory, executor, n_jobs, progress
        As `argmetric.scale.decide` takes them.
    work_dir : str or path, optional
        With groups: the folder for what is in between, about 24 bytes a row; by default
        that of the system for temporary files. All workers must see it.

    Returns
    -------
    Forecast
    """
    metric = get_metric(metric, zero_division=zero_division)
    coverage = check_share(coverage, "coverage")
    check_choice(missing_groups, "missing_groups", ("error", "own"))
    check_choice(average, "average", ("groups", "pooled"))
    check_names(score=score, decision_column=decision_column, group=group)
    if average == "pooled":
        group = None
    use = partial(
        find_judged,
        score=score,
        decision=decision_column,
        group=group,
        missing=missing_groups,
    )
    how = How(on_error, memory, work_dir, executor, n_jobs, progress)
    found = find_input(files)
    with reading(how, moves_rows=group is not None) as run:
        sources, used = look_at(run, found, use)
        assert isinstance(used, Judged)
        (mark,) = settle_marks(run, sources, (used.mark,), pos_label)
        used = replace(used, mark=mark)
        rows = sum(source.rows for source in sources.values())
        if group is None:
            require_defined(metric, rows)
            plan = forecast_vector
        elif rows <= bucket_rows(run.memory, run.n_workers):
            plan = forecast_at_once
        else:
            plan = forecast_by_group
        result = plan(run, sources, used, metric, coverage)
        run.tell_skipped()
    return result
