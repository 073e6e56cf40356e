"""evaluate, over files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from argmetric._files import DECISION_NAMES, LABEL_NAMES, DataError
from argmetric._input.arguments import check_choice
from argmetric._input.types import Floats, Integers
from argmetric.metrics import Metric, MetricLike, get_metric, require_defined
from argmetric.scale._buckets import coded, counted, defined_sum
from argmetric.scale._columns import MissingGroups, kind_of_group
from argmetric.scale._conservation import require_all
from argmetric.scale._marks import Pairs, find_mark, settle_marks
from argmetric.scale._memory import bucket_rows, n_buckets
from argmetric.scale._pieces import Piece, read_piece
from argmetric.scale._reading import How, check_names, reading
from argmetric.scale._result import ScaledScore
from argmetric.scale._run import Run, look_at
from argmetric.scale._scan import Reading, ScanTask, scan
from argmetric.scale._sources import OnError, Source, find_input
from argmetric.scale._tasks import Found, Progress, Task

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
    """Realised score of a column of labels against the truth, for files of any size.

    The score is that of `argmetric.evaluate` on all rows at once.

    Parameters
    ----------
    files : str, path or list of these
        As `argmetric.scale.decide` takes them.
    metric : str, Metric or callable, default="f1"
        What to compute.
    label : str, optional
        The column of true labels: by default the one called label, y, target or the
        like.
    decision_column : str, optional
        The column of labels that were handed in: by default the one called decision,
        prediction, predicted, pred or y_pred.
    group : str, optional
        The column of group ids, of any type.
    average : {"groups", "pooled"}, default="groups"
        With `group`: the mean over groups, or all rows as one.
    zero_division, pos_label
        As `argmetric.evaluate` takes them.
    missing_groups, on_error, memory, executor, n_jobs, progress
        As `argmetric.scale.decide` takes them.
    work_dir : str or path, optional
        With groups: the folder for what is in between, about 24 bytes a row; by default
        that of the system for temporary files. All workers must see it.

    Returns
    -------
    ScaledScore
    """
    metric = get_metric(metric, zero_division=zero_division)
    check_choice(missing_groups, "missing_groups", ("error", "own"))
    check_choice(average, "average", ("groups", "pooled"))
    check_names(label=label, decision_column=decision_column, group=group)
    if average == "pooled":
        group = None
    use = partial(
        find_pairs,
        label=label,
        decision=decision_column,
        group=group,
        missing=missing_groups,
    )
    how = How(on_error, memory, work_dir, executor, n_jobs, progress)
    found = find_input(files)
    with reading(how, moves_rows=group is not None) as run:
        sources, used = look_at(run, found, use)
        assert isinstance(used, Pairs)
        marks = settle_marks(run, sources, (used.truth, used.decision), pos_label)
        used = replace(used, truth=marks[0], decision=marks[1])
        if group is None:
            counts = count_pairs(run, sources, used)
            tn, fn, fp, tp = counts.tolist()
            require_defined(metric, sum(counts))
            score = float(metric.value(tp, tp + fp, tp + fn, tp + fp + fn + tn))
            groups = empty = None
        else:
            results = _by_group(run, sources, used, metric)
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
    return ScaledScore(
        score=score,
        metric=metric,
        label=used.truth.column,
        decision=used.decision.column,
        group=group,
        n=int(sum(counts)),
        n_files=len(sources),
        n_groups=groups,
        n_groups_without_positives=empty,
        counts=dict(zip(CELLS[::-1], map(int, counts[::-1]), strict=True)),
        skipped=tuple(run.skipped),
    )


def find_pairs(
    source: Source,
    schema: Any,
    label: str | None,
    decision: str | None,
    group: str | None,
    missing: MissingGroups,
) -> Pairs:
    """The columns of one file."""
    taken = [] if group is None else [group]
    find = partial(find_mark, source, schema)
    chosen = find(
        decision, DECISION_NAMES, what="decision", role="decision_column", taken=taken
    )
    taken = [*taken, chosen.column]
    truth = find(label, LABEL_NAMES, what="label", role="label", taken=taken)
    if truth.column == chosen.column or group in (truth.column, chosen.column):
        raise DataError(f"{source.path}: two of label, decision and group are the same")
    kind = "" if group is None else kind_of_group(source, schema, group)
    return Pairs("", True, group, kind, missing, truth=truth, decision=chosen)


@dataclass(frozen=True)
class Cells:
    """How many rows have every pair of labels."""

    def collect(self, batches: Iterator[Floats]) -> Found:
        total = np.zeros(len(CELLS), dtype=np.int64)
        for codes in batches:
            total += np.bincount(codes.astype(np.int64), minlength=len(CELLS))
        return {"cells": total.tolist()}


def count_pairs(run: Run, sources: dict[int, Source], used: Pairs) -> Integers:
    """Rows of every cell of the confusion matrix."""
    tasks = [
        Task(
            scan,
            ScanTask(Piece(i, source, rows=source.rows), Reading(used), Cells()),
            "",
            source.rows,
        )
        for i, source in sources.items()
    ]
    results = run.over_files("evaluate", sources, tasks)
    return np.asarray(np.sum([found["cells"] for found in results], axis=0))


@dataclass(frozen=True)
class ScoreTask:
    """A bucket of whole groups, and what they are judged by."""

    pieces: tuple[Piece, ...]
    used: Pairs
    metric: Metric


def score_bucket(task: ScoreTask) -> Found:
    """Sum of the scores of groups; found: what the bucket adds to the whole."""
    parts = [read_piece(piece, task.used) for piece in task.pieces]
    groups = coded(parts, task.used)
    codes = np.concatenate([part.scores for part in parts]).astype(np.int64)
    size = len(groups.ids)
    pairs = np.bincount(len(CELLS) * groups.codes + codes, minlength=len(CELLS) * size)
    tn, fn, fp, tp = pairs.reshape(size, len(CELLS)).T.astype(np.float64)
    require_defined(task.metric, int((tn + fn + fp + tp).max()))
    values = task.metric.value(tp, tp + fp, tp + fn, tn + fn + fp + tp)
    return {
        **counted(task.pieces, [part.tally for part in parts]),
        "groups": size,
        "empty": int((tp + fn == 0).sum()),
        "cells": [int(cell.sum()) for cell in (tn, fn, fp, tp)],
        **defined_sum("value", np.atleast_1d(values)),
    }


def _by_group(
    run: Run, sources: dict[int, Source], used: Pairs, metric: Metric
) -> list[Found]:
    tasks = [
        Task(score_bucket, ScoreTask(pieces, used, metric), "", rows)
        for pieces, rows in whole_groups(run, sources, used)
    ]
    return run.over_buckets("evaluate", sources, tasks)


def whole_groups(
    run: Run, sources: dict[int, Source], used: Any
) -> list[tuple[tuple[Piece, ...], int]]:
    """Buckets of whole groups that fit in memory, with their rows."""
    rows = sum(source.rows for source in sources.values())
    most = bucket_rows(run.memory, run.n_workers)
    pieces = run.partition(sources, used, n_buckets(rows, most, run.n_workers))
    small, large = run.split(pieces, used.kind, most)
    return [(one, sum(piece.rows for piece in one)) for one in small + large]
