"""What commands that learn have in common: training, keeping, telling."""

from __future__ import annotations

import contextlib
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from cyclopts import App

from argmetric.cli._errors import UsageError, say
from argmetric.cli._examples import epilogue
from argmetric.cli._progress import progress, reading
from argmetric.cli._report import Values
from argmetric.cli._stop import ends_in_order
from argmetric.cli.scores._rows import refuse_shared_output
from argmetric.cli.scores._rules import refuse_bad_target

_INTERRUPT = "learning was interrupted"  # how the warning of `fit` begins


def tell_epoch(row: dict[str, Any]) -> None:
    """Print the result of an epoch."""
    score = "" if row["score"] is None else f", dev {row['score']:.4f}"
    say(
        f"{row['stage']}, epoch {row['epoch']}: {100 * row['error']:.2f} % of the "
        f"decisions wrong{score}, {row['seconds']:.1f} s"
    )


@contextlib.contextmanager
def warnings_in(notes: list[str]) -> Iterator[None]:
    """Let warnings be notes, but for that of an interrupt."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    said = (" ".join(str(warning.message).split()) for warning in caught)
    notes += [s for s in dict.fromkeys(said) if not s.startswith(_INTERRUPT)]


def at_last(history: list[Values]) -> str:
    """How the last epoch ended, for the line on learning."""
    return "".join(
        f", at last {100 * row['error']:.2f} % wrong" for row in history[-1:]
    )


@dataclass(frozen=True)
class Training:
    """A model that is learned, kept in a file, and told of.

    Attributes
    ----------
    what : str
        What is learned: a tagger, a parser, a summarizer.
    path : str
        The file for it.
    """

    what: str
    path: str

    def __post_init__(self) -> None:
        """Refuse a file that cannot be written before the work, not after it."""
        if self.path == "-":
            where = "a file, not to standard output"
            raise UsageError(f"a {self.what} is written to {where}")
        refuse_bad_target(self.path)

    def fit(
        self, model: Any, doing: str, notes: list[str], *data: Any, **options: Any
    ) -> Values | None:
        """Fit a model and save it; Ctrl-C keeps what was learned.

        Returns
        -------
        dict or None
            How it went; None where nothing was learned.
        """
        started = time.perf_counter()
        with ends_in_order(signal.SIGINT):
            try:
                with progress(f"training on {doing}"), warnings_in(notes):
                    model.fit(*data, **options)
            except KeyboardInterrupt:
                said = "interrupted before anything was learned"
                say(f"{said}: no {self.what} is written")
                return None
            seconds = time.perf_counter() - started
            model.save(self.path)
        return {
            "history": model.history_,
            "interrupted": model.interrupted_,
            "seconds": seconds,
            "notes": notes,
            "model": self.path,
            "bytes": os.stat(self.path).st_size,
        }


def load_learned(kind: Any, what: str, path: str) -> Any:
    """Load a model of a class of `argmetric.search`.

    Parameters
    ----------
    kind : type
        The class.
    what : str
        What it is called.
    path : str
        The file.
    """
    if path == "-":
        raise UsageError(f"a {what} is read from a file, not from standard input")
    with reading(path):
        return kind.load(path)


def refuse_two_streams(*files: str | None) -> None:
    """Refuse standard input for two files."""
    if files.count("-") > 1:
        raise UsageError("only one of the files can be standard input")


def text_target(output: str | None, *, json: bool) -> str | None:
    """Return where lines go, None for nowhere; what cannot be is refused."""
    refuse_shared_output(output, json=json)
    if output is None:
        return None if json else "-"
    if output != "-":
        refuse_bad_target(output)
    return output


def command_group(
    name: str,
    help: str,
    ending: str,
    *commands: Callable[..., int],
    default: Callable[..., int] | None = None,
    hint: str = "",
) -> App:
    """Return a command that has commands of its own.

    Parameters
    ----------
    name, help : str
        The command and what it is for.
    ending : str
        How it and its commands may end.
    *commands : callable
        Those of its own, in the order in which they are listed.
    default : callable, optional
        What is done without one of them; its help is that of the command.
    hint : str, optional
        What is said before the ending.
    """
    said = f"{hint}\n\n{ending}" if hint else ending
    made = App(name=name, help=help or None, help_epilogue=epilogue(name, said))
    if default is not None:
        made.default(default)
    for place, command in enumerate(commands):
        shown = epilogue(f"{name} {command.__name__}", ending)
        made.command(command, sort_key=place, help_epilogue=shown)
    return made
