"""forecast, over files."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from argmetric._arguments import check_choice, check_share
from argmetric._files import DECISION_NAMES, DataError, marked
from argmetric._forecast import (
    Forecast,
    Groups,
    Share,
    assumptions_of,
    forecast_of,
    law_of_count,
    law_of_counts,
    law_of_shares,
    mean_of_shares,
    refuse_undefined,
    share_of,
    sum_of_laws,
)
from argmetric._forecast import forecast as forecast_rows
from argmetric._segments import Segments
from argmetric._suspect import scores_of_a_model
from argmetric._types import Floats
from argmetric.metrics import Metric, MetricLike, get_metric, require_defined
from argmetric.scale._buckets import coded, counted
from argmetric.scale._columns import MissingGroups, Used, find_used
from argmetric.scale._conservation import Tally, tally
from argmetric.scale._evaluate import whole_groups
from argmetric.scale._marks import NO_MARK, Mark, find_mark, settle_marks
from argmetric.scale._memory import bucket_rows
from argmetric.scale._pieces import Piece, batches_of_piece, read_piece
from argmetric.scale._reading import How, check_names, reading
from argmetric.scale._run import Run, look_at
from argmetric.scale._scan import packed, unpacked
from argmetric.scale._sources import OnError, Source, find_input
from argmetric.scale._tasks import Found, Progress, Task


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
            return _one_vector(run, sources, used, metric, coverage)
        if rows <= bucket_rows(run.memory, run.n_workers):
            return _at_once(run, sources, used, metric, coverage)
        return _by_group(run, sources, used, metric, coverage)


@dataclass(frozen=True)
class Judged(Used):
    """Rows whose value is their probability, with a minus where the label is 1."""

    mark: Mark = NO_MARK

    @property
    def columns(self) -> list[str]:
        return [self.score, self.mark.column]

    def values(self, batch: Any, source: Source, first: int) -> Floats:
        p = super().in_range(super().values(batch, source, first))
        return np.where(self.mark.holds(batch), -p, p)

    def in_range(self, values: Floats) -> Floats:
        return values


def find_judged(
    source: Source,
    schema: Any,
    score: str | None,
    decision: str | None,
    group: str | None,
    missing: MissingGroups,
) -> Judged:
    """The columns of one file."""
    used = find_used(source, schema, score, group, "", logits=False, missing=missing)
    taken = [used.score, *([] if group is None else [group])]
    mark = find_mark(
        source,
        schema,
        decision,
        DECISION_NAMES,
        what="decision",
        role="decision_column",
        taken=taken,
    )
    if mark.column in taken:
        raise DataError(f"{source.path}: two columns are both {mark.column!r}")
    return Judged(**vars(used), mark=mark)


@dataclass(frozen=True)
class JudgedTask:
    """Pieces, and what their labels are judged by."""

    pieces: tuple[Piece, ...]
    used: Judged
    metric: Metric
    coverage: float = 0.0
    mean: float = math.nan  # over all groups, once it is known


def _made(law: Any, metric: Metric, coverage: float, **known: Any) -> Forecast:
    refuse_undefined(law, metric)
    assumptions = assumptions_of(None, 0.0, np.zeros(0) * math.nan, None)
    return forecast_of(law, metric, coverage, assumptions=assumptions, **known)


# -- one vector -------------------------------------------------------------------


def count_laws(task: JudgedTask) -> Found:
    """Laws of the hits and of the misses of a file."""
    (piece,) = task.pieces
    laws: tuple[list[Any], list[Any]] = ([], [])
    read, positives = Tally(), 0
    expected = []
    for rows, values in batches_of_piece(piece, task.used):
        p, chosen = np.abs(values), np.signbit(values)
        for kept, part in zip(laws, (p[chosen], p[~chosen]), strict=True):
            kept.append(law_of_count(part, 1.0 - part))
        read += tally(rows, values)
        positives += int(chosen.sum())
        expected.append(float(p.sum()))
    nothing = law_of_count(np.zeros(0), np.zeros(0))
    sums = [sum_of_laws([nothing, *kept]) for kept in laws]
    return {
        **vars(read),
        "positives": positives,
        "expected": math.fsum(expected),
        "laws": [(low, packed(law)) for low, law in sums],
    }


def _one_vector(
    run: Run,
    sources: dict[int, Source],
    used: Judged,
    metric: Metric,
    coverage: float,
) -> Forecast:
    tasks = [
        Task(
            count_laws,
            JudgedTask((Piece(i, source, rows=source.rows),), used, metric),
            "",
            source.rows,
        )
        for i, source in sources.items()
    ]
    results = run.over_files("forecast", sources, tasks)
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


# -- by group ---------------------------------------------------------------------


def forecast_bucket(task: JudgedTask) -> Found:
    """All rows at once, in memory."""
    parts = [read_piece(piece, task.used) for piece in task.pieces]
    values = np.concatenate([part.scores for part in parts])
    with scores_of_a_model():
        found = forecast_rows(
            np.abs(values),
            np.signbit(values),
            task.metric,
            task.coverage,
            groups=coded(parts, task.used),
        )
    return {
        **counted(task.pieces, [part.tally for part in parts]),
        "forecast": found,
    }


def share_of_bucket(task: JudgedTask) -> Found:
    """What the groups of a bucket add to the sum over all."""
    parts = [read_piece(piece, task.used) for piece in task.pieces]
    values = np.concatenate([part.scores for part in parts])
    codes = coded(parts, task.used).codes
    values = values[np.argsort(codes, kind="stable")]
    sizes = np.bincount(codes)
    require_defined(task.metric, int(sizes.max()))
    p, chosen = np.abs(values), np.signbit(values)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    rows = Segments(p, 1.0 - p, indptr, sizes)
    groups = Groups(task.metric, rows, np.full(p.size, math.nan), chosen, 0.0)
    return {
        **counted(task.pieces, [part.tally for part in parts]),
        "groups": sizes.size,
        "positives": int(chosen.sum()),
        "share": share_of(groups, task.mean),
    }


def _at_once(
    run: Run,
    sources: dict[int, Source],
    used: Judged,
    metric: Metric,
    coverage: float,
) -> Forecast:
    ((pieces, rows),) = [
        (one, sum(piece.rows for piece in one))
        for one in run.partition(sources, used, 1)
    ]
    task = Task(forecast_bucket, JudgedTask(pieces, used, metric, coverage), "", rows)
    found: Forecast = run.over_buckets("forecast", sources, [task])[0]["forecast"]
    return found


def _by_group(
    run: Run,
    sources: dict[int, Source],
    used: Judged,
    metric: Metric,
    coverage: float,
) -> Forecast:
    buckets = whole_groups(run, sources, used)

    def look(mean: float) -> list[Found]:
        tasks = [
            Task(share_of_bucket, JudgedTask(pieces, used, metric, mean=mean), "", rows)
            for pieces, rows in buckets
        ]
        return run.over_buckets("forecast", sources, tasks)

    mean, _ = mean_of_shares([found["share"] for found in look(math.nan)])
    results = look(mean)
    shares: list[Share] = [found["share"] for found in results]
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
        n=sum(source.rows for source in sources.values()),
        n_positives=sum(found["positives"] for found in results),
        n_groups=n_groups,
        expected_positives=math.fsum(one.positives for one in shares),
    )
