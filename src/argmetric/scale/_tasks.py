"""Tasks: each leaves one result behind, once, and is not done twice."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from argmetric._files import DataError
from argmetric.scale._executors import Executor
from argmetric.scale._folders import save

Found = dict[str, Any]  # what a task has found, as plain values


@dataclass(frozen=True)
class Task:
    """A function of one item whose result is kept under a name.

    Attributes
    ----------
    function : callable
        Has done all its work when it returns, however often it was begun.
    item : object
        Its argument.
    kept : str
        Where its result is kept.
    rows : int
        How much work it is, for those who wait.
    """

    function: Callable[[Any], Found]
    item: Any
    kept: str
    rows: int = 0


@dataclass(frozen=True)
class Refused:
    """What a task will not do, however often it is tried."""

    why: str


def perform(task: Task) -> Found | Refused:
    """The result of a task, from where it is kept or by doing it."""
    if os.path.exists(task.kept):
        with open(task.kept, encoding="utf-8") as file:
            kept: Found = json.load(file)
            return kept
    try:
        found = task.function(task.item)
    except (ValueError, TypeError) as error:
        return Refused(str(error))
    save(task.kept, found)
    return found


@dataclass(frozen=True)
class Progress:
    """How far a run is: rows of a stage that are done, of how many."""

    stage: str
    done: int
    rows: int


class StageError(DataError):
    """A stage could not be done now; what was done is kept."""


def run_stage(
    stage: str,
    executor: Executor,
    tasks: Sequence[Task],
    report: Callable[[Progress], None] | None,
) -> Iterator[Found | Refused]:
    """Results of tasks in their order."""
    total, done = sum(task.rows for task in tasks), 0
    if report is not None:
        report(Progress(stage, 0, total))
    try:
        for task, found in zip(tasks, executor.map(perform, tasks), strict=True):
            done += task.rows
            if report is not None:
                report(Progress(stage, done, total))
            yield found
    except DataError:
        raise
    except Exception as error:  # a full disk, a lost worker, a library's own
        reason = str(error) or type(error).__name__
        raise StageError(f"{stage} failed: {reason.splitlines()[0]}") from error


def accepted(results: Iterator[Found | Refused]) -> Iterator[Found]:
    """Results, of which none may be refused."""
    for found in results:
        if isinstance(found, Refused):
            raise DataError(found.why)
        yield found
