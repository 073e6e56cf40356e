"""Entry point: no traceback for bad input, and an exit code for each outcome."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from argmetric import __version__
from argmetric.cli import _errors as errors

_DEBUG_FLAG = "--debug"
_FORCE_FLAG = "--force"
_DEBUG_VARIABLE = "ARGMETRIC_DEBUG"
# Objects made before Python looks for cycles: what a command loads, it keeps
_KEPT = 100_000
_interrupts: list[int] = []  # that have come
_RICH_PIPE_CLOSED = 1  # how rich leaves when its output is closed; nothing else does


def run(arguments: Sequence[str] | None) -> int:
    """Run a command, as `argmetric.cli.main` says."""
    if arguments is not None:
        return _run_to_its_end(list(arguments))
    gc.set_threshold(_KEPT)
    # Open what was closed before us: else the next file would take its number. What is
    # written to a closed standard output fails, as it should
    for number, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # takes the lowest free number, which is this
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 -- lasts
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115 -- lasts
    signal.signal(signal.SIGTERM, _terminate)
    signal.signal(signal.SIGINT, _interrupt)
    errors.end_soon_after_signals()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A sign that the terminal does not know is no reason to fail
            stream.reconfigure(errors="replace")
    if _DEBUG_FLAG not in sys.argv and not _debug_variable_is_set():
        errors.hide_warnings_of_libraries()
    code = _run_to_its_end(sys.argv[1:])
    gc.freeze()  # nor when it ends
    return code


def _run_to_its_end(tokens: list[str]) -> int:
    """Run a command, whatever happens, and return its exit code."""
    debug = _DEBUG_FLAG in tokens or _debug_variable_is_set()
    typed = [token for token in tokens if token not in (_DEBUG_FLAG, _FORCE_FLAG)]
    try:
        code = _run(typed, force=_FORCE_FLAG in tokens)
        sys.stdout.flush()
    except BrokenPipeError:
        code = errors.PIPE_CLOSED  # whoever was reading has seen enough
    except SystemExit as stop:
        if stop.code != _RICH_PIPE_CLOSED:
            raise
        code = errors.PIPE_CLOSED
    except KeyboardInterrupt:
        code = errors.say_interrupted()
    except Exception as error:
        if _interrupts:  # what an import made of it
            return errors.say_interrupted()
        if debug:
            import traceback

            traceback.print_exc()
        code, message = _code_and_message(error)
        with contextlib.suppress(OSError):
            errors.say(message)
    # Keep the interpreter from flushing in vain, and complaining, at its end.
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    return code


def _debug_variable_is_set() -> bool:
    return os.environ.get(_DEBUG_VARIABLE, "") not in ("", "0")


@errors.hide_warnings_in_notes()
def _run(tokens: list[str], *, force: bool) -> int:
    """Run a command line and return its exit code."""
    if tokens == ["--version"]:
        print(__version__)
        return errors.DONE
    from cyclopts import CycloptsError

    from argmetric.cli import _values as values
    from argmetric.cli._command import app, make_app

    if not tokens or (len(tokens) == 1 and tokens[0] in app.help_flags):
        make_app(listed=True).help_print([])
        return errors.DONE
    if tokens[0] in app.help_flags:
        app.resolved_commands()  # the list of commands shows their first lines
    values.force.set(force)
    app.config = (values.check_arguments,)
    try:
        result = app(
            values.mark_streams(tokens),
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
    except CycloptsError as error:
        first = next((i for i, token in enumerate(tokens) if token in app), len(tokens))
        # With the command within it if any
        typed = [x for x in tokens[first : first + 2] if x not in app.help_flags]
        if len(typed) == 2 and typed[1] not in app[typed[0]]:
            del typed[1]
        help_ = " ".join(["argmetric", *typed, "--help"])
        raise errors.UsageError(f"{values.message(error)} See {help_}.") from error
    return result if isinstance(result, int) else 0


def _code_and_message(error: Exception) -> tuple[int, str]:
    """Return the exit code and one line for an error."""
    message = errors.with_flags(" ".join(str(error).split()))
    if isinstance(error, errors.UsageError):
        return errors.USAGE, message
    if isinstance(error, MemoryError):
        return errors.FAILURE, f"not enough memory {message}".strip()
    if isinstance(error, OSError) and (error.errno or error.filename):
        where = error.filename or "standard output"
        return errors.FAILURE, f"{where}: {error.strerror or message}"
    if isinstance(error, (ValueError, TypeError, OSError)):
        return errors.FAILURE, message
    if isinstance(error, ModuleNotFoundError):
        from argmetric._ground.lazy import missing_library

        if missing := missing_library(error):
            return errors.FAILURE, missing.replace("this", "this command", 1)
    said = f"unexpected {type(error).__name__}: {message}"
    return errors.FAILURE, f"{said} (run again with {_DEBUG_FLAG})"


def _interrupt(signal_number: int, frame: FrameType | None) -> None:
    """Leave by way of the clean-up code; what cannot be raised is not told either."""
    _interrupts.append(signal_number)
    sys.unraisablehook = lambda unraisable: None
    raise KeyboardInterrupt


def _terminate(signal_number: int, frame: FrameType | None) -> None:
    """Leave by way of the clean-up code, so that no temporary file stays."""
    raise SystemExit(errors.TERMINATED)
