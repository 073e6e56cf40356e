"""A sign of life on the terminal, for those who wait longer than two seconds."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

PATIENCE_SECONDS = 2.0


@contextlib.contextmanager
def progress(doing: str) -> Iterator[None]:
    """Show a spinner on standard error if the work takes long and someone may see it.

    Parameters
    ----------
    doing : str
        What the work is.
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    status = Console(stderr=True).status(doing)
    waiting = threading.Timer(PATIENCE_SECONDS, status.start)
    waiting.daemon = True
    waiting.start()
    try:
        yield
    finally:
        waiting.cancel()
        waiting.join()
        status.stop()


@contextlib.contextmanager
def reading(file: str) -> Iterator[None]:
    """Show a spinner while a file is read, but not to someone who types it.

    Parameters
    ----------
    file : str
        A path, or ``"-"``.
    """
    if file != "-":
        with progress(f"reading {file}"):
            yield
    elif sys.stdin is not None and sys.stdin.isatty():
        yield
    else:
        with progress("reading standard input"):
            yield
