"""A command ends soon after a signal, whatever compiled code is running.

Python hears of a signal between two of its own steps, and one call into compiled code
is one step. A thread hears of it at once: it gives the clean-up code a moment, and then
ends the process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator

from argmetric._results.whole_files import remove_unfinished
from argmetric.cli._errors import INTERRUPTED, TERMINATED, say_interrupted

GRACE_SECONDS = 0.5
_CODES = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}
_SHOW_CURSOR = b"\x1b[?25h"
_awaited: set[int] = set()


def end_soon_after_signals() -> None:
    """Watch over this process; to be called once, by its main thread."""
    if os.name != "posix":
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reading,), daemon=True).start()


@contextlib.contextmanager
def ends_in_order(*numbers: int) -> Iterator[None]:
    """Leave the answer to a first signal to the command, which keeps what it has."""
    _awaited.update(numbers)
    try:
        yield
    finally:
        _awaited.difference_update(numbers)


def _watch(reading: int) -> None:
    while True:
        number = os.read(reading, 1)[0]
        if number in _awaited:
            _awaited.discard(number)
        elif number in _CODES:
            time.sleep(GRACE_SECONDS)
            _leave(_CODES[signal.Signals(number)])


def _leave(code: int) -> None:
    remove_unfinished()
    if sys.stderr.isatty():  # a spinner hides it
        os.write(sys.stderr.fileno(), _SHOW_CURSOR)
    if code == INTERRUPTED:
        say_interrupted(once=True)
    os._exit(code)
