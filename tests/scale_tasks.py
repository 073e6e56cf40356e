"""Tasks that processes of other executors can import."""

import os
import signal
from pathlib import Path


def square(x):
    return x * x


def refuse_three(x):
    if x == 3:
        raise ValueError("three is refused")
    return x


def die_once(item):
    """Kill this process at the first call for a mark; give the number then."""
    number, mark = item
    if mark is not None and not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def die(item):
    os.kill(os.getpid(), signal.SIGKILL)


def tasks_done(dask_scheduler):
    """How many tasks a Dask scheduler has seen the end of."""
    transitions = dask_scheduler.transition_log
    return sum(1 for one in transitions if one[2] == "memory")


class Deadly:
    """Tasks one of which kills its process once, in the middle of a stage.

    A stage is known by the folder in which its results are kept.
    """

    def __init__(self, function, folder, mark):
        self.function, self.folder, self.mark = function, folder, mark

    def __call__(self, tasks):
        kept = [Path(one.kept) for one in tasks if "1.json" in one.kept]
        if self.folder in {path.parent.name for path in kept}:
            die_once((0, self.mark))
        return self.function(tasks)


class DyingExecutor:
    """An executor one of whose workers is killed."""

    def __init__(self, executor, folder, mark):
        self.executor, self.folder, self.mark = executor, folder, mark
        self.n_workers = executor.n_workers

    def map(self, function, items):
        items = list(items)
        if items and hasattr(items[0][0], "kept"):
            function = Deadly(function, self.folder, self.mark)
        return self.executor.map(function, items)
