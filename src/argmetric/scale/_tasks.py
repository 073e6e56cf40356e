"""Tasks: each leaves one result behind, once, and is not done twice."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from argmetric._files import DataError, marked
from argmetric.scale._executors import Executor
from argmetric.scale._folders import save

Found = dict[str, Any]  # what a task has found, as plain values
SMALL_TASKS_ROWS = 1 << 12  # of tasks that are done as one
MOST_SMALL_TASKS = 1 << 9


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
        Where its result is kept; empty where it is not.
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


def perform(tasks: Sequence[Task]) -> list[Found | Refused]:
    """The results of tasks, from where the first keeps them or by doing them."""
    kept = tasks[0].kept
    folder = os.path.dirname(kept)
    if kept and not os.path.isdir(folder):
        raise DataError(
            f"the machine {platform.node()} does not see {folder}: all workers must "
            f"see the folder for what is in between; {marked('work_dir')} names another"
        )
    names = [os.path.basename(task.kept) for task in tasks]
    if kept and os.path.exists(kept):
        with open(kept, encoding="utf-8") as file:
            before = json.load(file)
        if before["names"] == names:
            return list(before["found"])
    found = [_performed(task) for task in tasks]
    if kept and not any(isinstance(one, Refused) for one in found):
        save(kept, {"names": names, "found": found})
    return found


def _performed(task: Task) -> Found | Refused:
    try:
        return task.function(task.item)
    except (ValueError, TypeError) as error:
        return Refused(str(error))


def together(tasks: Sequence[Task]) -> list[list[Task]]:
    """Small tasks in a row as one: every result costs a file that lasts."""
    batches: list[list[Task]] = []
    rows = 0
    for task in tasks:
        rows += task.rows
        if (
            not batches
            or rows > SMALL_TASKS_ROWS
            or len(batches[-1]) == MOST_SMALL_TASKS
        ):
            batches.append([])
            rows = task.rows
        batches[-1].append(task)
    return batches


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
    refused: Callable[[str], None],
    take: Callable[[Found], Found] = lambda found: found,
) -> list[Found | Refused]:
    """Results of tasks in their order; `refused` hears of those that are none.

    `take` is given every result as it comes, in order, and says what is kept of it.

    When it raises, what has not begun is cancelled and what has begun is waited for:
    nothing may write once the folders are cleaned up.
    """
    total = sum(task.rows for task in tasks)
    tell = report or (lambda progress: None)
    tell(Progress(stage, 0, total))
    results: list[Found | Refused] = []
    done = 0
    batches = together(tasks)
    answers = iter(executor.map(perform, batches))
    pairs = (
        pair
        for batch, found in zip(batches, answers, strict=True)
        for pair in zip(batch, found, strict=True)
    )
    try:
        for task, found in pairs:
            if isinstance(found, Refused):
                refused(found.why)
                results.append(found)
            else:
                results.append(take(found))
            done += task.rows
            tell(Progress(stage, done, total))
    except DataError:
        raise
    except Exception as error:  # a full disk, a lost worker, a library's own
        reason = str(error) or type(error).__name__
        raise StageError(f"{stage} failed: {reason.splitlines()[0]}") from error
    finally:
        if hasattr(answers, "close"):
            answers.close()
    return results


def refuse(why: str) -> None:
    """End the run."""
    raise DataError(why)


def accepted(results: list[Found | Refused]) -> list[Found]:
    """The results of tasks, without those that were refused."""
    return [found for found in results if not isinstance(found, Refused)]
