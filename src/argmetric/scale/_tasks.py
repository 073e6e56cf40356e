"""Tasks that leave one result each, and tallies that hold them to their rows."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from argmetric._files import DataError, marked
from argmetric._input.types import Booleans, Floats, Hashes, Integers
from argmetric.scale._executors import Executor
from argmetric.scale._folders import save

_WORD = (1 << 64) - 1
_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xBF58476D1CE4E5B9)
_THIRD = np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True)
class Tally:
    """How many rows there are, and the sum of the hashes of (row, score) mod 2^64."""

    rows: int = 0
    checksum: int = 0

    def __add__(self, other: Self) -> Tally:
        total = (self.checksum + other.checksum) & _WORD
        return Tally(self.rows + other.rows, total)


def tally(rows: Integers, scores: Floats) -> Tally:
    """Tally of rows, given by their numbers in the file, with their scores."""
    with np.errstate(over="ignore"):
        word = scores.view(np.uint64) ^ _spread(rows)
        total = mixed(word).sum(dtype=np.uint64)
    return Tally(rows.size, int(total))


def tally_of(rows: Integers, values: Floats, positive: Booleans) -> Tally:
    """Tally of rows of several values and a label, each as one number."""
    factors = np.arange(1, 2 * values.shape[1] + 2, 2, dtype=np.uint64) * _SECOND
    with np.errstate(over="ignore"):
        words = values.view(np.uint64) @ factors[:-1] + positive * factors[-1]
    return tally(rows, words.view(np.float64))


def tickets(rows: Integers) -> Hashes:
    """A number for each row that no other has, without any order: a lottery."""
    with np.errstate(over="ignore"):
        return mixed(_spread(rows))


def _spread(rows: Integers) -> Hashes:
    return rows.view(np.uint64) * _FIRST + _SECOND


def mixed(word: Hashes) -> Hashes:
    """Every bit of a word spread over all others (the finish of splitmix64)."""
    word = (word ^ (word >> np.uint64(30))) * _SECOND
    word = (word ^ (word >> np.uint64(27))) * _THIRD
    return word ^ (word >> np.uint64(31))


def require_same(stage: str, file: str, before: Tally, after: Tally) -> None:
    """Refuse to go on where a stage has lost, doubled or changed rows of a file."""
    if before == after:
        return
    if before.rows != after.rows:
        what = f"{before.rows:,} rows went in and {after.rows:,} came out"
    else:
        what = "rows came out with other scores than they went in with"
    raise DataError(f"{stage}: {file}: {what}; nothing was written")


def require_read(stage: str, file: str, there: Tally, read: Tally) -> None:
    """Refuse to go on where a look has not seen all rows of a file, as they were."""
    if there.rows != read.rows:
        raise DataError(
            f"{stage}: {file}: {there.rows:,} rows were there and {read.rows:,} were "
            "read"
        )
    if there != read:
        raise DataError(f"{stage}: {file}: rows have other values than a look before")


def require_all(stage: str, rows: int, added: int) -> None:
    """Refuse to go on where rows were read that have not come to the result."""
    if rows != added:
        raise DataError(f"{stage}: {rows:,} rows were read and {added:,} are counted")


Found = dict[str, Any]  # what a task has found, as plain values
SMALL_TASKS_ROWS = 1 << 12  # of tasks that are done as one
MOST_SMALL_TASKS = 1 << 9


@dataclass(frozen=True)
class PieceTask:
    """A function of one item whose result is kept under a name."""

    # has done all its work when it returns, however often it was begun
    function: Callable[[Any], Found]
    item: Any  # its argument
    kept: str  # where its result is kept; empty where it is not
    rows: int = 0  # how much work it is, for those who wait


@dataclass(frozen=True)
class Refused:
    """What a task will not do, however often it is tried."""

    why: str


def perform(tasks: Sequence[PieceTask]) -> list[Found | Refused]:
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


def _performed(task: PieceTask) -> Found | Refused:
    try:
        return task.function(task.item)
    except (ValueError, TypeError) as error:
        return Refused(str(error))


def together(tasks: Sequence[PieceTask]) -> list[list[PieceTask]]:
    """Small tasks in a row as one: every result costs a file that lasts."""
    batches: list[list[PieceTask]] = []
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
    """Progress of a run: rows of a stage that are done, and their total."""

    stage: str
    done: int
    rows: int


class StageError(DataError):
    """A stage could not be done now; what was done is kept."""


def run_stage(
    stage: str,
    executor: Executor,
    tasks: Sequence[PieceTask],
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
