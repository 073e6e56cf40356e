"""The command line: ``argmetric decide scores.csv --metric f1 -o decided.csv``."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

__all__ = ["main"]

_INTERRUPTED = 130  # 128 + SIGINT, as shells have it


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
        # Until there is something to clean up: an import that is interrupted may tell
        # of it as it likes
        signal.signal(signal.SIGINT, lambda number, frame: os._exit(_INTERRUPTED))
    from argmetric.cli._main import run

    return run(arguments)
