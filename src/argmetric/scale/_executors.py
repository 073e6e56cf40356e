"""Where tasks run, `map(function, items)` and nothing else, and with how much memory.

A plan needs no more than results in the order of the items. A task leaves nothing
behind before it is done, so a worker that is lost costs a task that is done again.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures import Executor as Pool
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol, TypeVar

from argmetric._ground.arguments import (
    check_bytes,
    check_count,
    check_jobs,
    shown,
)
from argmetric._ground.lazy import load_module

Item = TypeVar("Item")
Answer = TypeVar("Answer")

# A busy machine takes longer to start a worker again than the 15 s after which Dask
# gives it up; and where none comes back a run ends, and does not wait for ever.
PATIENCE = {
    "distributed.deploy.lost-worker-timeout": "10 minutes",
    "distributed.scheduler.no-workers-timeout": "10 minutes",
}
WAIT_FOR_SCHEDULER = "30s"
OLDEST_DASK = (2026, 6)  # the first in which no known fault loses rows or tasks


class Executor(Protocol):
    """Anything that maps a function over items, and gives the results in order."""

    def map(
        self, function: Callable[[Item], Answer], items: Iterable[Item], /
    ) -> Iterable[Answer]:
        """Results of the function, in the order of the items."""


class _Closing(contextlib.AbstractContextManager[Any]):
    """An executor that ends with its `with` block."""

    n_workers: int

    def close(self) -> None:
        """End what was started."""

    def __exit__(self, *raised: object) -> None:
        self.close()


def _in_order(
    pool: Pool, function: Callable[[Item], Answer], items: list[Item]
) -> Iterator[Answer]:
    """Results in order; the first failure cancels what has not begun."""
    futures = [pool.submit(function, item) for item in items]
    try:
        for future in futures:
            yield future.result()
    finally:
        for future in futures:
            future.cancel()


class Threads(_Closing):
    """Tasks in threads of this process: the local engine.

    Reading, partitioning, deciding and writing all release the lock of the
    interpreter.

    Parameters
    ----------
    n_jobs : int, optional
        Number of threads: None is 1, -1 all cores.
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_workers = check_jobs(n_jobs)

    def map(
        self, function: Callable[[Item], Answer], items: Iterable[Item], /
    ) -> Iterator[Answer]:
        """Results of the function, in the order of the items."""
        with ThreadPoolExecutor(self.n_workers) as pool:
            yield from _in_order(pool, function, list(items))


class Processes(_Closing):
    """Tasks in processes of this machine.

    If a process is killed, its pool ends, and unfinished tasks run again in a new pool.

    Parameters
    ----------
    n_jobs : int, optional
        Number of processes: None is 1, -1 all cores.
    retries : int, default=3
        How often a pool may be lost.
    """

    def __init__(self, n_jobs: int | None = None, *, retries: int = 3) -> None:
        self.n_workers = check_jobs(n_jobs)
        self.retries = check_count(retries, "retries")
        self._pool: ProcessPoolExecutor | None = None

    def map(
        self, function: Callable[[Item], Answer], items: Iterable[Item], /
    ) -> Iterator[Answer]:
        """Results of the function, in the order of the items."""
        left, lost = list(items), 0
        while left:
            try:
                for answer in _in_order(self._begun(), function, left):
                    left = left[1:]
                    yield answer
            except BrokenProcessPool:
                self.close()
                lost += 1
                if lost > self.retries:
                    raise

    def _begun(self) -> ProcessPoolExecutor:
        """The pool, which imports everything once and lasts."""
        if self._pool is None:
            # A fork of a process with threads may never come to life
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.n_workers, context)
        return self._pool

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


class Dask(_Closing):
    """Run tasks on a Dask cluster; its scheduler repeats lost tasks.

    Parameters
    ----------
    client : distributed.Client or str, optional
        A client, or the address of a scheduler; by default processes of this machine,
        which end with this object.
    n_jobs : int, optional
        Number of processes where there is no cluster yet: None is 1, -1 all cores.
    retries : int, default=3
        How often a task that failed is tried again.
    """

    def __init__(
        self, client: Any = None, *, n_jobs: int | None = None, retries: int = 3
    ) -> None:
        workers, self.retries = check_jobs(n_jobs), check_count(retries, "retries")
        distributed = load_module("distributed")
        version = distributed.__version__
        if tuple(map(int, version.split(".")[:2])) < OLDEST_DASK:
            oldest = ".".join(map(str, OLDEST_DASK))
            raise ImportError(f"Dask {oldest} or later is needed, not {version}")
        self._ends = contextlib.ExitStack()
        if client is None:
            # Workers may be killed for their memory; what they hold is in files.
            # Another cluster of this machine may have the usual port.
            settings = load_module("dask").config.set(PATIENCE)
            with contextlib.ExitStack() as ends:
                ends.enter_context(settings)
                client = distributed.Client(
                    n_workers=workers, threads_per_worker=1, dashboard_address=":0"
                )
                ends.callback(client.close)
                self._ends = ends.pop_all()
        elif isinstance(client, str):
            address = client
            try:
                client = distributed.Client(address, timeout=WAIT_FOR_SCHEDULER)
            except (OSError, ValueError) as error:
                why = str(error).partition("\n")[0]
                raise ConnectionError(
                    f"no Dask scheduler answers at {address} ({why}): start one with "
                    "`dask scheduler`, or pass the address that it prints"
                ) from error
            self._ends.callback(client.close)
        elif not isinstance(client, distributed.Client):
            raise TypeError(
                "client must be a distributed.Client or the address of a scheduler, "
                f"not {shown(client)}"
            )
        self.client = client
        self.n_workers = max(1, sum(client.nthreads().values()))

    def map(
        self, function: Callable[[Item], Answer], items: Iterable[Item], /
    ) -> Iterator[Answer]:
        """Results of the function, in the order of the items."""
        futures = self.client.map(
            function, list(items), pure=False, retries=self.retries
        )
        try:
            for future in futures:
                yield future.result()
        except CancelledError as error:  # by nobody here
            raise ConnectionError("the Dask scheduler is lost") from error
        finally:
            self.client.cancel(futures)

    def close(self) -> None:
        """Leave the cluster, and end it where it was started here."""
        self._ends.close()


def as_executor(executor: Any, n_jobs: int | None) -> Any:
    """What a caller may pass for an executor: one, a Dask client, or None: threads."""
    if executor is None:
        return Threads(n_jobs)
    if type(executor).__module__.partition(".")[0] == "distributed":
        return Dask(executor)
    if not callable(getattr(executor, "map", None)):
        raise TypeError(
            "executor must have a method map(function, items), as Threads, Processes "
            f"and Dask of argmetric.scale have, not {shown(executor)}"
        )
    return executor


LEAST_MEMORY = 500 * 10**6  # what a run takes, however little it was granted
ROW_BYTES = 200  # of a row while its bucket is decided, and a little more
ALWAYS_FITS = 100_000  # so many rows are decided at once, however little was granted
MOST_BUCKETS = 8192  # a million rows then have some hundred for each
SPARE = 1.5  # buckets of a hash are uneven
MANY_ROWS = 1_000_000  # so many are worth a bucket for each worker


def check_memory(value: Any, name: str = "memory") -> int:
    """Bytes, as a number or text such as 2GB or 512MiB; None is half of the machine."""
    if value is None:
        try:
            return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
        except (AttributeError, ValueError, OSError):  # no POSIX
            return 4 << 30
    n_bytes = check_bytes(value, name)
    if n_bytes < LEAST_MEMORY:
        raise ValueError(
            f"{name} must be at least {LEAST_MEMORY // 10**6} MB, not {shown(value)}: "
            "a run takes as much, however little it is granted"
        )
    return n_bytes


def bucket_rows(memory: int, n_workers: int) -> int:
    """How many rows one worker may decide at a time."""
    return max(1, memory // (n_workers * ROW_BYTES))


def n_buckets(rows: int, most_rows: int, n_workers: int) -> int:
    """So many that one fits in the memory of a worker, as far as there may be."""
    needed = -(-int(SPARE * rows) // most_rows) if rows > most_rows else 1
    if rows >= MANY_ROWS:
        needed = max(needed, 2 * n_workers if n_workers > 1 else 1)
    return min(needed, MOST_BUCKETS)
