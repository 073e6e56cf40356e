"""decide, over files."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from argmetric import __version__
from argmetric._calibrate import resolve_calibrator
from argmetric._decide import Limits, check_limits, refuse_never_defined
from argmetric._files import DataError, marked
from argmetric._input.arguments import check_choice, check_flag, check_path
from argmetric._results.saving import unfinished
from argmetric.metrics import MetricLike, get_metric
from argmetric.scale._append import Decided
from argmetric.scale._buckets import Asked
from argmetric.scale._columns import MissingGroups, find_used
from argmetric.scale._folders import (
    Places,
    begin,
    claimed,
    clean_up,
    commit,
    places_of,
)
from argmetric.scale._memory import ALWAYS_FITS, bucket_rows, check_memory, n_buckets
from argmetric.scale._reading import check_names, check_progress, running
from argmetric.scale._result import ScaledDecision
from argmetric.scale._run import Run, look_at
from argmetric.scale._sources import OnError, Source, find_input, is_address
from argmetric.scale._tasks import Found, Progress, StageError
from argmetric.scale._vector import VectorCut, VectorFound, decide_vector


def decide(
    files: Any,
    metric: MetricLike = "f1",
    *,
    output: Any,
    group: str | None = None,
    score: str | None = None,
    average: Literal["groups", "pooled"] = "groups",
    zero_division: float | None = None,
    min_positives: int = 0,
    max_positives: int | None = None,
    min_precision: float | None = None,
    min_recall: float | None = None,
    logits: bool = False,
    calibrator: Any = None,
    reference: Any = None,
    missing_groups: MissingGroups = "error",
    decision_column: str = "decision",
    on_error: OnError = "stop",
    memory: int | str | None = None,
    work_dir: Any = None,
    resume: bool = False,
    executor: Any = None,
    n_jobs: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> ScaledDecision:
    """Choose the labels with the highest expected metric, for files of any size.

    The labels are those of `argmetric.decide` on all rows at once, whatever the number
    of files, workers and buckets. The output has the same files, rows, order and
    columns, as Parquet, and the decisions; it appears when all of it is there.

    Parameters
    ----------
    files : str, path or list of these
        A folder, a pattern such as ``"scores/*.parquet"``, or files: Parquet or Arrow,
        also at an address of fsspec. Folders such as ``day=3`` are columns. Or a Dask
        DataFrame: every partition is a file, computed by the worker that reads it, as
        often as it is read, and never by the client.
    metric : str, Metric or callable, default="f1"
        As `argmetric.decide` takes it.
    output : str or path
        The folder to write. One of an earlier run is replaced.
    group : str, optional
        The column of group ids, of any type; each group is decided by itself.
    score : str, optional
        The column of probabilities. By default the one called score, prob, p or the
        like.
    average : {"groups", "pooled"}, default="groups"
        With `group`: the mean over groups, or all rows as one vector.
    zero_division, min_positives, max_positives, min_precision, min_recall, logits
        As `argmetric.decide` takes them.
    calibrator, reference : optional
        As `argmetric.decide` takes them.
    missing_groups : {"error", "own"}, default="error"
        Whether rows without a group are an error, or a group of their own.
    decision_column : str, default="decision"
        The name of the column that is added.
    on_error : {"stop", "skip"}, default="stop"
        Whether a file that cannot be read, or has other columns, ends the run or is
        left out and listed.
    memory : int or str, optional
        What the run may take, such as ``"2GB"``; by default half of the machine. With
        an executor on other machines: of all workers together.
    work_dir : str or path, optional
        The folder for what is in between, about 24 bytes a row; by default beside the
        output. All workers must see it.
    resume : bool, default=False
        Go on with a run that has not ended.
    executor : Threads, Processes, Dask or distributed.Client, optional
        Where tasks run: anything with ``map(function, items)``.
    n_jobs : int, optional
        Threads where there is no executor: None is 1, -1 all cores.
    progress : callable, optional
        Called with a `Progress` whenever a task has ended.

    Returns
    -------
    ScaledDecision
    """
    metric = get_metric(metric, zero_division=zero_division)
    check_choice(on_error, "on_error", ("stop", "skip"))
    check_choice(missing_groups, "missing_groups", ("error", "own"))
    check_choice(average, "average", ("groups", "pooled"))
    logits, resume = check_flag(logits, "logits"), check_flag(resume, "resume")
    limits = check_limits(min_positives, max_positives, min_precision, min_recall)
    options: dict[str, Any] = {
        "min_positives": min_positives,
        "max_positives": max_positives,
        "min_precision": min_precision,
        "min_recall": min_recall,
        "calibrator": resolve_calibrator(calibrator, reference, logits=logits),
    }
    check_names(group=group, score=score, decision_column=decision_column)
    check_progress(progress)
    n_bytes = check_memory(memory)
    folder = None if work_dir is None else check_path(work_dir, "work_dir")
    output = check_path(output, "output")
    if is_address(output):
        raise ValueError(f"output must be a folder of this machine, not {output}")
    places = places_of(output, folder)
    found = find_input(files)
    _refuse_own_input(found, places.output)
    use = partial(
        find_used,
        score=score,
        group=group if average == "groups" else None,
        decision=decision_column,
        logits=logits,
        missing=missing_groups,
    )
    with running(executor, n_jobs) as (tasks, workers), claimed(places):
        run = Run(tasks, workers, n_bytes, places, progress, on_error)
        sources, used = look_at(run, found, use)
        rows = sum(source.rows for source in sources.values())
        most = bucket_rows(n_bytes, workers)
        buckets = 1
        if used.group is not None:
            buckets = n_buckets(rows, most, workers)
        plan: dict[str, Any] = {
            "argmetric": __version__,
            "metric": _named(metric),
            "options": {name: _named(value) for name, value in options.items()},
            "columns": [_named(used), decision_column],
            "files": _identities(sources),
            "division": [buckets, most],
        }
        with kept_or_cleaned(places):
            plan = begin(places, plan, resume=resume)
            asked = Asked(metric, used, options)
            buckets, most = plan["division"]
            if used.group is None and not _fits(rows, most):
                results, decided, words = _one_vector(run, sources, asked, limits)
            else:
                results, decided, words = _by_group(
                    run, sources, asked, limits, buckets, most
                )
            positives = run.append(sources, decided, used.score, decision_column)
            answer = _answer(run, sources, asked, results, positives, words)
            commit(places, {**answer.to_dict(), "run": plan["run"]})
        clean_up(places)
    return answer


@contextlib.contextmanager
def kept_or_cleaned(places: Places) -> Iterator[None]:
    """Leave what was done where the run may go on, and nothing where it cannot."""
    try:
        with unfinished(places.work, places.fresh):
            yield
    except StageError as error:
        way_on = f"{marked('resume')} goes on with it"
        raise StageError(f"{error}; what was done is kept: {way_on}") from error
    except BaseException as error:
        if not getattr(error, "keeps_work", False):
            clean_up(places)
        raise


Labels = Mapping[int, tuple[Decided, ...] | VectorCut]


def _one_vector(
    run: Run, sources: dict[int, Source], asked: Asked, limits: Limits
) -> tuple[list[Found], Labels, str]:
    """Cut a vector that is larger than memory."""
    (pieces,) = run.partition(sources, asked.used, 1)
    found = decide_vector(run, "all", pieces, asked.reading, asked.metric, limits)
    cuts: Labels = {
        piece.file: replace(found.cut, quota=quota)
        for piece, quota in zip(pieces, found.quotas, strict=True)
    }
    for piece, tally in zip(pieces, found.tallies, strict=True):
        run.tallies[piece.file] = tally
    return [found.found()], cuts, f"one vector, {found.n_passes} passes"


def _by_group(
    run: Run,
    sources: dict[int, Source],
    asked: Asked,
    limits: Limits,
    buckets: int,
    most: int,
) -> tuple[list[Found], Labels, str]:
    """Decide whole buckets, and cut the groups that are larger than memory."""
    pieces = run.partition(sources, asked.used, buckets)
    cuts: dict[int, VectorFound] = {}
    if asked.used.group is not None:
        small, large = run.split(pieces, asked.used.kind, most)
        pieces = small + large
        for b, group in enumerate(large, len(small)):
            if not _fits(sum(piece.rows for piece in group), most):
                cuts[b] = decide_vector(
                    run, f"{b:06d}", group, asked.reading, asked.metric, limits
                )
    results, decided = run.decide(sources, pieces, asked, cuts)
    plan = f"{len(pieces):,} bucket{'s' * (len(pieces) != 1)}"
    kind = "one vector" if asked.used.group is None else "by group"
    return results, decided, f"{kind}, {plan}"


def _fits(rows: int, most_rows: int) -> bool:
    """Whether so many rows may be decided in the memory of one worker."""
    return rows <= max(2 * most_rows, ALWAYS_FITS)


def _refuse_own_input(found: list[Any], output: str) -> None:
    for path, *_ in found:
        if path.startswith(output + "/"):
            raise DataError(f"output: {output} holds {path}, which is read")


def _identities(sources: dict[int, Source]) -> list[list[Any]]:
    return [[one.path, one.size, one.modified] for one in sources.values()]


def _named(value: Any) -> str:
    """What a value is, the same in every process."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def _answer(
    run: Run,
    sources: dict[int, Source],
    asked: Asked,
    results: list[Found],
    positives: int,
    plan: str,
) -> ScaledDecision:
    def total(name: str) -> float:
        return math.fsum(found[name] for found in results)

    if positives != sum(found["positives"] for found in results):
        raise DataError("append: other positives were written than were decided")
    grouped = asked.used.group is not None
    groups, defined = int(total("groups")), total("expected_defined")
    expected = total("expected") / defined if defined else math.nan
    if any(found["likely"] for found in results):
        refuse_never_defined(expected, asked.metric)
    undefined = math.isnan(asked.metric.zero_division)
    rows = sum(source.rows for source in sources.values())
    return ScaledDecision(
        output=run.places.output,
        score=asked.used.score,
        group=asked.used.group,
        n=rows,
        n_files=len(sources),
        n_groups=groups if grouped else None,
        n_positives=positives,
        threshold=None if grouped else results[0]["threshold"],
        expected=expected,
        error=total("error") / groups,
        expected_half=None if undefined and grouped else total("half") / groups,
        n_half=int(total("half_positives")),
        metric=asked.metric,
        plan=plan,
        skipped=tuple(run.skipped),
        notes=tuple(results[0]["notes"]) if not grouped else (),
        scale="score" if asked.reading.calibrator is None else "calibrated score",
    )
