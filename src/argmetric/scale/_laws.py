"""The law of the score of labels in files: of one vector, and of groups."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from argmetric._files import DataError, marked
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
from argmetric._input.likely_slips import scores_of_a_model
from argmetric._input.segments import Segments
from argmetric.metrics import Metric, require_defined
from argmetric.scale._buckets import coded, counted
from argmetric.scale._conservation import Tally, tally
from argmetric.scale._evaluate import whole_groups
from argmetric.scale._judged import Judged
from argmetric.scale._pieces import Piece, batches_of_piece, read_piece
from argmetric.scale._run import Run
from argmetric.scale._scan import packed, unpacked
from argmetric.scale._sources import Source
from argmetric.scale._tasks import Found, Task


@dataclass(frozen=True)
class JudgedTask:
    """Pieces, and what their labels are judged by."""

    pieces: tuple[Piece, ...]
    used: Judged
    metric: Metric
    coverage: float = 0.0
    # Over all groups, once they are known: the mean, and over how many groups.
    mean: float = math.nan
    weight: float = math.nan


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


def forecast_vector(
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
        "share": share_of(groups, task.mean, task.weight),
    }


def forecast_at_once(
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


def forecast_by_group(
    run: Run,
    sources: dict[int, Source],
    used: Judged,
    metric: Metric,
    coverage: float,
) -> Forecast:
    buckets = whole_groups(run, sources, used)

    def look(mean: float, weight: float) -> list[Found]:
        used_at = JudgedTask((), used, metric, mean=mean, weight=weight)
        tasks = [
            Task(share_of_bucket, replace(used_at, pieces=pieces), "", rows)
            for pieces, rows in buckets
        ]
        return run.over_buckets("forecast", sources, tasks)

    first = look(math.nan, math.nan)
    results = look(*mean_of_shares([found["share"] for found in first]))
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
