"""decide, over files."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from argmetric import __version__
from argmetric._calibrate.resolve import resolve_calibrator
from argmetric._decide import Limits, check_limits, refuse_never_defined
from argmetric._files import DataError, marked
from argmetric._input.arguments import as_flags, check_choice, check_path
from argmetric._results.whole_files import unfinished
from argmetric.metrics import Metric, MetricLike, get_metric
from argmetric.scale._buckets import Labelling, append_decisions, decide_buckets
from argmetric.scale._columns import MissingGroups, WantedColumns
from argmetric.scale._folders import (
    Places,
    begin,
    claimed,
    clean_up,
    commit,
    places_of,
)
from argmetric.scale._memory import ALWAYS_FITS, bucket_rows, check_memory, n_buckets
from argmetric.scale._reading import How, check_progress, look_at, running
from argmetric.scale._result import ScaledDecision
from argmetric.scale._run import Run, n_rows
from argmetric.scale._sources import OnError, Source, find_input, is_address
from argmetric.scale._tasks import Found, Progress, StageError
from argmetric.scale._vector import Reading, VectorFound, decide_vector


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
    columns, as Parquet, plus the decisions. It appears when it is complete.

    Parameters
    ----------
    files : str, path or list of these
        A folder, a pattern such as ``"scores/*.parquet"``, or files: Parquet or Arrow,
        also at an address of fsspec. Folders such as ``day=3`` are columns. Or a Dask
        DataFrame: every partition is treated as a file; the worker that reads it
        computes it, once for each pass.
    metric : str, Metric or callable, default="f1"
        See `argmetric.decide`.
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
        See `argmetric.decide`.
    calibrator, reference : optional
        See `argmetric.decide`.
    missing_groups : {"error", "own"}, default="error"
        Whether rows without a group are an error, or a group of their own.
    decision_column : str, default="decision"
        The name of the column that is added.
    on_error : {"stop", "skip"}, default="stop"
        Whether a file that cannot be read, or has other columns, ends the run or is
        left out and listed.
    memory : int or str, optional
        Memory that the run may use, such as ``"2GB"``; by default half of the
        machine's. With an executor on other machines: of all workers together.
    work_dir : str or path, optional
        The folder for temporary files, about 24 bytes per row; by default beside the
        output. All workers must see it.
    resume : bool, default=False
        Continue a run that was interrupted.
    executor : Threads, Processes, Dask or distributed.Client, optional
        Where tasks run: anything with ``map(function, items)``.
    n_jobs : int, optional
        Threads where there is no executor: None is 1, -1 all cores.
    progress : callable, optional
        Called with a `Progress` after each task.

    Returns
    -------
    ScaledDecision
    """
    metric = get_metric(metric, zero_division=zero_division)
    check_choice(missing_groups, "missing_groups", ("error", "own"))
    check_choice(average, "average", ("groups", "pooled"))
    logits, resume = as_flags(logits=logits, resume=resume)
    limits = check_limits(min_positives, max_positives, min_precision, min_recall)
    options: dict[str, Any] = {
        "min_positives": min_positives,
        "max_positives": max_positives,
        "min_precision": min_precision,
        "min_recall": min_recall,
        "calibrator": resolve_calibrator(calibrator, reference, logits=logits),
    }
    wanted = WantedColumns(
        {"score": score},
        group=group,
        scores="logits" if logits else "probabilities",
        missing=missing_groups,
        added=decision_column,
    )
    if average == "pooled":
        wanted = replace(wanted, group=None)
    how = How(on_error, memory, work_dir, executor, n_jobs, progress)
    with writing(files, output, wanted, how) as run:
        places = run.places
        most = bucket_rows(run.memory, run.n_workers)
        buckets = 1
        if run.columns.group is not None:
            buckets = n_buckets(run.n, most, run.n_workers)
        plan: dict[str, Any] = {
            "argmetric": __version__,
            "metric": named(metric),
            "options": {name: named(value) for name, value in options.items()},
            "columns": [named(run.columns), decision_column],
            "files": identities(run.sources),
            "division": [buckets, most],
        }
        with kept_or_cleaned(places):
            plan = begin(places, plan, resume=resume)
            results, decided, words = _decided(
                run, metric, options, limits, *plan["division"]
            )
            positives = append_decisions(run, decided, decision_column)
            calibrated = options["calibrator"] is not None
            answer = _answer(run, metric, results, positives, words, calibrated)
            commit(places, {**answer.to_dict(), "run": plan["run"]})
        clean_up(places)
    return answer


@contextlib.contextmanager
def writing(files: Any, output: Any, wanted: WantedColumns, how: How) -> Iterator[Run]:
    """A run with its files and columns that writes a folder, which it has claimed."""
    check_choice(how.on_error, "on_error", ("stop", "skip"))
    check_progress(how.progress)
    n_bytes = check_memory(how.memory)
    folder = None if how.work_dir is None else check_path(how.work_dir, "work_dir")
    output = check_path(output, "output")
    if is_address(output):
        raise ValueError(f"output must be a folder of this machine, not {output}")
    places = places_of(output, folder)
    found = find_input(files)
    _refuse_own_input(found, places.output)
    with running(how.executor, how.n_jobs) as (tasks, workers), claimed(places):
        run = Run(tasks, workers, n_bytes, places, how.progress, how.on_error)
        look_at(run, found, wanted)
        yield run


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


def _decided(
    run: Run,
    metric: Metric,
    options: dict[str, Any],
    limits: Limits,
    buckets: int,
    most: int,
) -> tuple[list[Found], Mapping[int, Labelling], str]:
    """What was found in buckets or large vectors, where labels are, and the plan."""
    reading = Reading(run.columns, options["calibrator"])
    grouped = run.columns.group is not None
    if not grouped and not _fits(run.n, most):
        (pieces,) = run.partition(1)
        found = decide_vector(run, "all", pieces, reading, metric, limits)
        cuts: dict[int, Labelling] = {}
        lists = (pieces, found.quotas, found.tallies)
        for piece, quota, tally in zip(*lists, strict=True):
            cuts[piece.file] = replace(found.cut, quota=quota)
            run.tallies[piece.file] = tally
        return [found.found()], cuts, f"one vector, {found.n_passes} passes"
    parts = run.partition(buckets)
    large_cuts: dict[int, VectorFound] = {}
    if grouped:
        small, large = run.split(parts, most)
        parts = small + large
        for b, group in enumerate(large, len(small)):
            if not _fits(n_rows(group), most):
                large_cuts[b] = decide_vector(
                    run, f"{b:06d}", group, reading, metric, limits
                )
    results, decided = decide_buckets(run, parts, metric, options, large_cuts)
    kind = "by group" if grouped else "one vector"
    plan = f"{kind}, {len(parts):,} bucket{'s' * (len(parts) != 1)}"
    return results, decided, plan


def _fits(rows: int, most_rows: int) -> bool:
    """Whether so many rows may be decided in the memory of one worker."""
    return rows <= max(2 * most_rows, ALWAYS_FITS)


def _refuse_own_input(found: list[Any], output: str) -> None:
    for path, *_ in found:
        if path.startswith(output + "/"):
            raise DataError(f"output: {output} holds {path}, which is read")


def identities(sources: dict[int, Source]) -> list[list[Any]]:
    """Path, size and time of every file."""
    return [[one.path, one.size, one.modified] for one in sources.values()]


def named(value: Any) -> str:
    """What a value is, the same in every process."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def _answer(
    run: Run,
    metric: Metric,
    results: list[Found],
    positives: int,
    plan: str,
    calibrated: bool,
) -> ScaledDecision:
    def total(name: str) -> float:
        return math.fsum(found[name] for found in results)

    if positives != sum(found["positives"] for found in results):
        raise DataError("append: other positives were written than were decided")
    grouped = run.columns.group is not None
    groups, defined = int(total("groups")), total("expected_defined")
    expected = total("expected") / defined if defined else math.nan
    if any(found["likely"] for found in results):
        refuse_never_defined(expected, metric)
    undefined = math.isnan(metric.zero_division)
    return ScaledDecision(
        output=run.places.output,
        score=run.columns.score,
        group=run.columns.group,
        n=run.n,
        n_files=len(run.sources),
        n_groups=groups if grouped else None,
        n_positives=positives,
        threshold=None if grouped else results[0]["threshold"],
        expected=expected,
        error=total("error") / groups,
        expected_half=None if undefined and grouped else total("half") / groups,
        n_half=int(total("half_positives")),
        metric=metric,
        plan=plan,
        skipped=tuple(run.skipped),
        notes=tuple(results[0]["notes"]) if not grouped else (),
        scale="calibrated score" if calibrated else "score",
    )
