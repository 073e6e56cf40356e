"""Verbs that read files and write none: what they share."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from argmetric._files import DataError, Table, find_column
from argmetric._input.arguments import check_choice, check_path, shown
from argmetric._results.saving import remove_folder, unfinished
from argmetric.scale._executors import as_executor
from argmetric.scale._folders import Places
from argmetric.scale._memory import check_memory
from argmetric.scale._run import Run
from argmetric.scale._sources import OnError, find_files, look
from argmetric.scale._tasks import Progress


@dataclass(frozen=True)
class How:
    """How a verb is to run, as its caller says."""

    on_error: OnError
    memory: int | str | None
    work_dir: Any
    executor: Any
    n_jobs: int | None
    progress: Callable[[Progress], None] | None


@contextlib.contextmanager
def running(executor: Any, n_jobs: int | None) -> Iterator[tuple[Any, int]]:
    """An executor and how many tasks it runs side by side; ours ends with the block."""
    tasks = as_executor(executor, n_jobs)
    workers = getattr(tasks, "n_workers", getattr(tasks, "_max_workers", 1))
    try:
        yield tasks, max(1, int(workers))
    finally:
        if tasks is not executor and hasattr(tasks, "close"):
            tasks.close()


@contextlib.contextmanager
def reading(how: How, *, moves_rows: bool) -> Iterator[Run]:
    """A run that leaves nothing behind; with a folder where rows are moved."""
    check_choice(how.on_error, "on_error", ("stop", "skip"))
    check_progress(how.progress)
    n_bytes = check_memory(how.memory)
    folder = None if how.work_dir is None else check_path(how.work_dir, "work_dir")
    with contextlib.ExitStack() as stack:
        tasks, workers = stack.enter_context(running(how.executor, how.n_jobs))
        work = ""
        if moves_rows:
            made = tempfile.mkdtemp(prefix="argmetric-", dir=folder)
            work = os.path.abspath(made)
            stack.enter_context(unfinished(work))
            stack.callback(remove_folder, work)
        places = Places("", "", work)
        yield Run(tasks, workers, n_bytes, places, how.progress, how.on_error)


def columns_of(files: Any, **wanted: tuple[str | None, tuple[str, ...]]) -> list[str]:
    """Names of columns in the first file: as given, else one of the default names.

    One that cannot be read is passed over: the verb says what becomes of it.
    """
    items = find_files(files)
    while True:
        try:
            source, schema = look(items[0])
            break
        except DataError:
            items = items[1:]
            if not items:
                raise
    table = Table(schema.empty_table(), "parquet", source.path)
    found: list[str] = []
    for role, (name, defaults) in wanted.items():
        known: Any = role
        what = role.removesuffix("_column")
        column = find_column(table, name, defaults, what=what, role=known, taken=found)
        found.append(column)
    return found


def check_progress(progress: Any) -> None:
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be a function, not {shown(progress)}")


def check_names(**names: Any) -> None:
    """Refuse names of columns that are no text."""
    for name, value in names.items():
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name} must be the name of a column, not {shown(value)}")
