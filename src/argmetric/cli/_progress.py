"""A sign of life on the terminal, for those who wait longer than two seconds."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.status import Status

    from argmetric.scale import Progress

PATIENCE_SECONDS = 2.0


@contextlib.contextmanager
def progress(doing: str) -> Iterator[Status | None]:
    """Show a spinner on standard error if the work takes long and may be seen."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    status = Console(stderr=True).status(doing)
    waiting = threading.Timer(PATIENCE_SECONDS, status.start)
    waiting.daemon = True
    waiting.start()
    try:
        yield status
    finally:
        waiting.cancel()
        waiting.join()
        status.stop()


@contextlib.contextmanager
def stages() -> Iterator[Callable[[Progress], None] | None]:
    """Show how far the stages of a run are: rows, rows a second and the time left."""
    begun: dict[str, float] = {}
    with progress("looking at the files") as status:

        def show(at: Progress) -> None:
            seconds = time.monotonic() - begun.setdefault(at.stage, time.monotonic())
            if status is not None:
                status.update(stage_line(at, seconds))

        yield None if status is None else show


def stage_line(at: Progress, seconds: float) -> str:
    """One line on a stage that has run for so long.

    Examples
    --------
    >>> from argmetric.scale import Progress
    >>> stage_line(Progress("decide", 2_000_000, 8_000_000), 4.0)
    'decide: 2,000,000 of 8,000,000 rows, 500,000 rows/s, 12 s left'
    """
    line = f"{at.stage}: {at.done:,} of {at.rows:,} rows"
    if at.done == 0 or seconds == 0.0:
        return line
    rate = at.done / seconds
    return f"{line}, {rate:,.0f} rows/s, {(at.rows - at.done) / rate:.0f} s left"


@contextlib.contextmanager
def reading(file: str) -> Iterator[None]:
    """Show a spinner while a file is read, but not to someone who types it."""
    typed = file == "-" and sys.stdin is not None and sys.stdin.isatty()
    name = "standard input" if file == "-" else file
    with contextlib.nullcontext() if typed else progress(f"reading {name}"):
        yield
