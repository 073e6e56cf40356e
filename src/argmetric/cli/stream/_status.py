"""A stream while it runs: a line on the terminal, and signals that end it in order."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

from argmetric.cli._errors import INTERRUPTED, TERMINATED

_SECONDS = 0.25  # between two looks
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """Whether a signal has asked to stop; a second one stops at once.

    Attributes
    ----------
    code : int
        The exit code that tells of the signal, 0 without one.
    """

    def __init__(self) -> None:
        self.code = 0

    def __call__(self) -> bool:
        """Whether to stop."""
        return self.code != 0

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.code:
            raise SystemExit(self.code)
        self.code = INTERRUPTED if number == signal.SIGINT else TERMINATED

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Take SIGINT and SIGTERM as wishes; only the main thread can."""
        before: dict[int, Any] = {}
        with contextlib.suppress(ValueError):
            for number in SIGNALS:
                before[number] = signal.signal(number, self._ask)
        try:
            yield
        finally:
            for caught, handler in before.items():
                signal.signal(caught, handler)


class Status:
    """One line on standard error, if that is a terminal."""

    def __init__(self) -> None:
        self._line: Any = None
        self._next = time.monotonic() + _SECONDS
        self._wanted = sys.stderr.isatty()

    def due(self) -> bool:
        """Whether it is time for another look."""
        return self._wanted and time.monotonic() >= self._next

    def show(self, text: str) -> None:
        """Replace the line."""
        if self._line is None:
            from rich.console import Console

            self._line = Console(stderr=True, highlight=False).status(text)
            self._line.start()
        else:
            self._line.update(text)
        self._next = time.monotonic() + _SECONDS

    def close(self) -> None:
        """Remove the line."""
        if self._line is not None:
            self._line.stop()
            self._line = None
