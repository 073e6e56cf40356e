"""Command line: ``argmetric decide scores.csv --metric f1 -o decided.csv``."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Sequence

__all__ = ["main"]

_INTERRUPTED = 130  # 128 + SIGINT, as shells have it


def _leave() -> None:
    with contextlib.suppress(OSError):
        os.write(2, b"argmetric: interrupted\n")
    os._exit(_INTERRUPTED)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command and its options; by default those of the process.

    Returns
    -------
    int
        0 done, 1 failure, 2 wrong usage, 3 gate not met.
    """
    if arguments is None and sys.platform != "win32":
        # Until there is something to clean up
        signal.signal(signal.SIGINT, lambda number, frame: _leave())
    from argmetric.cli._main import run

    return run(arguments)
