"""decide, over files."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from argmetric import __version__
from argmetric._calibrate.resolve import resolve_calibrator
from argmetric._ground.arguments import as_flags, check_choice, check_path
from argmetric._ground.display import Result
from argmetric._ground.limits import Limits, check_limits
from argmetric._ground.types import Path, ReferenceLike
from argmetric._ground.whole_files import removed_at_exit
from argmetric._verbs.decide import refuse_never_defined
from argmetric.metrics import Metric, MetricLike, get_metric
from argmetric.scale._buckets import Labelling, append_decisions, decide_buckets
from argmetric.scale._columns import WantedColumns
from argmetric.scale._executors import ALWAYS_FITS, bucket_rows, n_buckets
from argmetric.scale._reading import look_at, running
from argmetric.scale._result import ScaledDecision
from argmetric.scale._run import Run, n_rows
from argmetric.scale._sources import is_address
from argmetric.scale._tasks import (
    Found,
    StageError,
    begin,
    claimed,
    clean_up,
    commit,
    places_of,
)
from argmetric.scale._vector import Reading, VectorFound, decide_vector
from argmetric.scale.files import DataError, marked

if TYPE_CHECKING:
    from argmetric.scale._open import Files

Answer = TypeVar("Answer", bound=Result)


def decide(
    files: Files,
    metric: MetricLike = "f1",
    *,
    output: Path,
    average: Literal["groups", "pooled"] = "groups",
    zero_division: float | None = None,
    min_positives: int = 0,
    max_positives: int | str | None = None,
    min_precision: float | None = None,
    min_recall: float | None = None,
    logits: bool = False,
    reference: ReferenceLike | None = None,
    resume: bool = False,
) -> ScaledDecision:
    """Choose the labels with the highest expected metric.

    The labels are those of `argmetric.decide` on all rows at once, whatever the number
    of files, workers and buckets. The output has the same files, rows, order and
    columns, as Parquet, plus the decisions. It appears when it is complete.

    Parameters
    ----------
    metric : str, Metric or callable, default="f1"
        See `argmetric.decide`.
    output : str or path
        The folder to write. One of an earlier run is replaced.
    average : {"groups", "pooled"}, default="groups"
        With groups: their mean (default), or all rows pooled. Groups are a column, and
        each is decided by itself.
    zero_division, min_positives, max_positives, min_precision, min_recall, logits
        See `argmetric.decide`.
    reference : pair (y, p) or Calibrator, optional
        See `argmetric.decide`.
    resume : bool, default=False
        Continue a run that was interrupted.

    Returns
    -------
    ScaledDecision
    """
    metric = get_metric(metric, zero_division=zero_division)
    check_choice(average, "average", ("groups", "pooled"))
    logits, resume = as_flags(logits=logits, resume=resume)
    limits = check_limits(min_positives, max_positives, min_precision, min_recall)
    options: dict[str, Any] = {
        "min_positives": min_positives,
        "max_positives": max_positives,
        "min_precision": min_precision,
        "min_recall": min_recall,
        "reference": resolve_calibrator(reference, logits=logits),
    }
    added = files.decision_column or "decision"
    wanted = WantedColumns(
        {"score": files.score},
        group=files.group if average == "groups" else None,
        scores="logits" if logits else "probabilities",
        missing=files.missing_groups,
        added=added,
    )

    def prepare(run: Run) -> dict[str, Any]:
        most, buckets = bucket_rows(run.memory, run.n_workers), 1
        if run.columns.group is not None:
            buckets = n_buckets(run.n, most, run.n_workers)
        return {
            "metric": named(metric),
            "options": {name: named(value) for name, value in options.items()},
            "columns": [named(run.columns), added],
            "division": [buckets, most],
        }

    def work(run: Run, plan: dict[str, Any]) -> ScaledDecision:
        results, decided, words = _decided(
            run, metric, options, limits, *plan["division"]
        )
        positives = append_decisions(run, decided, added)
        calibrated = options["reference"] is not None

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
            plan=words,
            skipped=tuple(run.skipped),
            notes=tuple(results[0]["notes"]) if not grouped else (),
            scale="calibrated score" if calibrated else "score",
        )

    return written(files, output, wanted, resume, prepare, work)


def written(
    files: Files,
    output: Any,
    wanted: WantedColumns,
    resume: bool,
    prepare: Callable[[Run], dict[str, Any]],
    work: Callable[[Run, dict[str, Any]], Answer],
) -> Answer:
    """The answer of a run that writes a folder, all of it or nothing.

    `prepare` makes the plan, in which a run that goes on must agree with the earlier
    one. Work is left where the run may go on, and nothing where it cannot.
    """
    output = check_path(output, "output")
    if is_address(output):
        raise ValueError(f"output must be a folder of this machine, not {output}")
    places = places_of(output, files.work_dir)
    for path, *_ in files.found:
        if path.startswith(places.output.replace(os.sep, "/") + "/"):
            raise DataError(f"output: {places.output} holds {path}, which is read")
    with running(files, places) as run, claimed(places):
        look_at(run, files.found, wanted)
        known = [[one.path, one.size, one.modified] for one in run.sources.values()]
        plan = {"argmetric": __version__, "files": known, **prepare(run)}
        try:
            with removed_at_exit(places.work, places.fresh):
                plan = begin(places, plan, resume=resume)
                answer = work(run, plan)
                commit(places, {**answer.to_dict(), "run": plan["run"]})
        except StageError as error:
            way_on = f"{marked('resume')} goes on with it"
            raise StageError(f"{error}; what was done is kept: {way_on}") from error
        except BaseException as error:
            if not getattr(error, "keeps_work", False):
                clean_up(places)
            raise
        clean_up(places)
    return answer


def _decided(
    run: Run,
    metric: Metric,
    options: dict[str, Any],
    limits: Limits,
    buckets: int,
    most: int,
) -> tuple[list[Found], Mapping[int, Labelling], str]:
    """What was found in buckets or large vectors, where labels are, and the plan."""
    reading = Reading(run.columns, options["reference"])
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


def named(value: Any) -> str:
    """What a value is, the same in every process."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
