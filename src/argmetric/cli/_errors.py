"""How a command ends: exit codes, messages, signals, a score that must be reached.

It ends soon after a signal, whatever compiled code is running. Python hears of a signal
between two of its own steps, and one call into compiled code is one step. A thread
hears of it at once: it gives the clean-up code a moment, and then ends the process.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import signal
import sys
import threading
import time
import warnings
from typing import TYPE_CHECKING

from argmetric._ground.whole_files import DataError, remove_unfinished
from argmetric.scale.files import ROLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from argmetric.metrics import Metric

DONE = 0
FAILURE = 1
USAGE = 2
GATE_NOT_MET = 3
INTERRUPTED = 130  # 128 + SIGINT, as shells have it
PIPE_CLOSED = 141  # 128 + SIGPIPE
TERMINATED = 143  # 128 + SIGTERM
GRACE_SECONDS = 0.5
_CODES = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}
_SHOW_CURSOR = b"\x1b[?25h"
_awaited: set[int] = set()
_FLAGS: dict[str, str] = {role: f"--{role.replace('_', '-')}" for role in ROLES}
_FLAGS |= {"output": "-o", "known": "--known", "reference": "--reference"}
_LIMITS = r"(?:min|max)_(?:positives|precision|recall|specificity|npv|per_class)"
# Arguments as Python has them, in messages of the package
_ARGUMENT = re.compile(
    rf"""(?<![\w'-])(?:({_LIMITS}|zero_division|average|prior|route|confidence)=(["']?)([\w.%]+)\2
    |({_LIMITS})(?![\w'=]))""",
    re.VERBOSE,
)
_MARKED = re.compile(rf"`({'|'.join(_FLAGS)})(?:=([^`]*))?`")


class UsageError(Exception):
    """Error in the command line itself, whatever the data may be."""


def refuse_usage(wrong: Mapping[str, bool]) -> None:
    """Raise a UsageError with the first message whose condition holds."""
    for message, is_wrong in wrong.items():
        if is_wrong:
            raise UsageError(message)


def say(message: str) -> None:
    """Print a message for people on standard error."""
    print(f"argmetric: {message}", file=sys.stderr)


_interruption_was_said: list[bool] = []


def say_interrupted(*, once: bool = False) -> int:
    """Say that Ctrl-C ended the command, `once` or again; return the exit code."""
    if not (once and _interruption_was_said):
        _interruption_was_said.append(True)
        with contextlib.suppress(OSError, ValueError):
            say("interrupted")
            sys.stderr.flush()
    return INTERRUPTED


@contextlib.contextmanager
def hide_warnings_in_notes() -> Iterator[None]:
    """Hide warnings that the answer of a command has as notes."""
    with warnings.catch_warnings():
        for said in ("the mean of p is .* on labelled", "the scores moved since the"):
            warnings.filterwarnings("ignore", said)
        yield


def hide_warnings_of_libraries() -> None:
    """Print the warnings of this package in one line each, and no others."""
    package = os.path.dirname(os.path.dirname(__file__))

    def show(message: Warning | str, *place: object, **more: object) -> None:
        """Print a warning that the package raised; hide those of other libraries."""
        frame = sys._getframe(1)
        while frame.f_back and frame.f_code.co_filename == warnings.__file__:
            frame = frame.f_back
        if frame.f_code.co_filename.startswith(package):  # what called `warn`
            say(f"note: {with_flags(' '.join(str(message).split()))}")

    warnings.showwarning = show


def with_flags(message: str) -> str:
    """Return a message in which roles and arguments are the flags that stand for them.

    Examples
    --------
    >>> with_flags("min_recall=0.9 of 'min_recall', min_npv, route='tune'")
    "--min-recall 0.9 of 'min_recall', --min-npv, --route tune"
    >>> with_flags("pass `max_line=18`, or `drop`")
    'pass --max-line 18, or --drop'
    """

    def flag(found: re.Match[str]) -> str:
        role, value = found.groups()
        return _FLAGS[role] if value is None else f"{_FLAGS[role]} {value}"

    def argument(found: re.Match[str]) -> str:
        name, _, value, alone = found.groups()
        option = f"--{(name or alone).replace('_', '-')}"
        return option if value is None else f"{option} {value}"

    message = message.replace("review=True", "--review")
    message = message.replace("call argmetric.classes.decide", "pass --one-label")
    message = message.replace("min_precision={'a class': 0.95}", "a_class=0.95")
    return _ARGUMENT.sub(argument, _MARKED.sub(flag, message))


@contextlib.contextmanager
def naming(place: str) -> Iterator[None]:
    """Raise errors about values as DataError that names their file."""
    try:
        yield
    except DataError:  # it names its own
        raise
    except (ValueError, TypeError) as error:
        raise DataError(f"{place}: {error}") from error


def gate(score: float, bound: float | None, metric: Metric, what: str) -> int:
    """Return the exit code of a score against its bound; print why it failed."""
    if bound is None:
        return DONE
    from argmetric._ground.discrete import ROUNDING, beside  # need numpy, unlike help

    greater = metric.greater_is_better  # an undefined score never passes
    if score >= bound - ROUNDING if greater else score <= bound + ROUNDING:
        return DONE
    ends = (bound, math.inf) if greater else (-math.inf, bound)
    shown, *bounds = beside(score, *ends, "{:.6g}".format)
    text = f"{shown}, under {bounds[0]}" if greater else f"{shown}, over {bounds[1]}"
    say(f"gate not met: {what} is {'undefined' if math.isnan(score) else text}")
    return GATE_NOT_MET


def end_soon_after_signals() -> None:
    """Start watching this process for signals; call it once, in the main thread."""
    if os.name != "posix":
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reading,), daemon=True).start()


@contextlib.contextmanager
def ends_in_order(*numbers: int) -> Iterator[None]:
    """Let the command answer a first signal itself, to keep what it has done."""
    _awaited.update(numbers)
    try:
        yield
    finally:
        _awaited.difference_update(numbers)


def _watch(reading: int) -> None:
    """Exit after a signal that the command itself has not answered in time."""
    while True:
        number = os.read(reading, 1)[0]
        if number in _awaited:
            _awaited.discard(number)
        elif number in _CODES:
            time.sleep(GRACE_SECONDS)
            code = _CODES[signal.Signals(number)]
            remove_unfinished()
            if sys.stderr.isatty():  # a spinner hides it
                os.write(sys.stderr.fileno(), _SHOW_CURSOR)
            if code == INTERRUPTED:
                say_interrupted(once=True)
            os._exit(code)
