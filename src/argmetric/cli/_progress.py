"""A sign of life on the terminal, for those who wait longer than two seconds."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.status import Status

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
def reading(file: str) -> Iterator[None]:
    """Show a spinner while a file is read, but not to someone who types it."""
    typed = file == "-" and sys.stdin is not None and sys.stdin.isatty()
    name = "standard input" if file == "-" else file
    with contextlib.nullcontext() if typed else progress(f"reading {name}"):
        yield
