"""Tasks that leave one result each, tallies of their rows, and folders of a run."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from argmetric._ground.types import Booleans, Floats, Hashes, Integers
from argmetric._ground.whole_files import held_alone, remove_folder, replaced_whole
from argmetric.scale._executors import Executor
from argmetric.scale.files import DataError, marked

MARKER = "_argmetric.json"  # in a folder that a run has written
PLAN = "plan.json"


class UnfinishedError(DataError):
    """Work of an earlier run is in the way, and is kept."""

    keeps_work = True


@dataclass(frozen=True)
class Places:
    """Folders of a run."""

    output: str  # what is written in the end, by one rename
    fresh: str  # the output while it grows, beside its place
    work: str  # pieces, labels, and what tasks have found

    def inside(self, *parts: str) -> str:
        return os.path.join(self.work, *parts)

    def made(self, *parts: str) -> str:
        """A folder in the working folder, which is there afterwards."""
        folder = self.inside(*parts)
        os.makedirs(folder, exist_ok=True)
        return folder


def places_of(output: str, work_dir: str | None) -> Places:
    """Folders of the run that writes an output."""
    output = os.path.abspath(output)
    if work_dir is None:
        return Places(output, _beside(output, "fresh"), _beside(output, "work"))
    # A folder of its own: what else lies in the one that was given is not ours
    name = hashlib.sha256(output.encode()).hexdigest()[:16]
    work = os.path.join(os.path.abspath(work_dir), f"argmetric-{name}")
    return Places(output, _beside(output, "fresh"), work)


def _beside(path: str, word: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.{word}")


def temporary(path: str) -> str:
    """A name beside a path that no other attempt at the same task has."""
    return f"{path}.{uuid.uuid4().hex}.tmp"


def moved_folder(made: str, path: str) -> None:
    """Give a folder its name; where another attempt was first, that one stays."""
    try:
        os.rename(made, path)
    except OSError:
        if not os.path.isdir(path):
            raise
        shutil.rmtree(made, ignore_errors=True)


@contextlib.contextmanager
def claimed(places: Places) -> Iterator[None]:
    """Refuse a second run into the same output, and to replace what no run has written.

    A run that was killed claims nothing.
    """
    folder = os.path.dirname(places.output)
    if not os.path.isdir(folder):
        raise DataError(f"cannot write {places.output}: there is no folder {folder}")
    path = _beside(places.output, "lock")
    with held_alone(path, f"another run is writing {places.output}"):
        old, output = _beside(places.output, "old"), places.output
        if os.path.isdir(old):  # a run was killed between the two renames of `commit`
            if os.path.isdir(output):
                shutil.rmtree(old, ignore_errors=True)
            else:
                os.rename(old, output)
        if os.path.exists(output) and not os.path.isdir(output):
            raise DataError(
                f"cannot write {output}: it is a file, and many are written"
            )
        names = os.listdir(output) if os.path.exists(output) else []
        if names and MARKER not in names:
            raise DataError(
                f"cannot write {output}: it holds files that are not of an earlier "
                "run; choose another folder, or empty it"
            )
        yield


def begin(places: Places, plan: dict[str, Any], *, resume: bool) -> dict[str, Any]:
    """Set up the working folder; the plan is that of the run that goes on, if any.

    How the rows are divided is that of the first run; all else must be the same.
    """
    path = places.inside(PLAN)
    plan = json.loads(json.dumps({**plan, "run": uuid.uuid4().hex}))
    marker = os.path.join(places.output, MARKER)
    ended = os.path.exists(path) and os.path.exists(marker)  # killed in the clean-up
    ended = ended and _loaded(marker)["run"] == _loaded(path)["run"]
    if os.path.exists(path) and not ended:
        if not resume:
            raise UnfinishedError(
                f"a run into {places.output} has not ended: {marked('resume')} goes on "
                f"with it; or remove {places.work}"
            )
        before = _loaded(path)
        changed = [key for key in plan if plan[key] != before.get(key)]
        changed = sorted(set(changed) - {"division", "run"})
        if changed:
            raise UnfinishedError(
                f"cannot go on with the run in {places.work}: {', '.join(changed)} "
                "changed since; remove that folder to begin again"
            )
        return before
    for folder in (places.work, places.fresh):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
    save(path, plan)
    return plan


def _loaded(path: str) -> dict[str, Any]:
    with open(path, encoding="utf-8") as file:
        values: dict[str, Any] = json.load(file)
    return values


def save(path: str, values: Any) -> None:
    """Write JSON, whole or not at all."""
    with replaced_whole(path) as file:
        file.write(json.dumps(values).encode())


def commit(places: Places, about: dict[str, Any]) -> None:
    """Give the output its name, in place of that of an earlier run."""
    save(os.path.join(places.fresh, MARKER), about)
    old = _beside(places.output, "old")
    if os.path.isdir(places.output):
        os.rename(places.output, old)
    os.rename(places.fresh, places.output)
    shutil.rmtree(old, ignore_errors=True)


def clean_up(places: Places) -> None:
    """Remove all that a run leaves besides its output."""
    for folder in (places.work, places.fresh):
        remove_folder(folder)  # workers of a cluster may be at it


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
    found: list[Found | Refused] = []
    for task in tasks:
        try:
            found.append(task.function(task.item))
        except (ValueError, TypeError) as error:
            found.append(Refused(str(error)))
    if kept and not any(isinstance(one, Refused) for one in found):
        save(kept, {"names": names, "found": found})
    return found


def together(tasks: Sequence[PieceTask]) -> list[list[PieceTask]]:
    """Small tasks in a row as one: every result costs a file that lasts."""
    batches: list[list[PieceTask]] = []
    rows = 0
    for task in tasks:
        rows += task.rows
        full = rows > SMALL_TASKS_ROWS
        if not batches or full or len(batches[-1]) == MOST_SMALL_TASKS:
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
