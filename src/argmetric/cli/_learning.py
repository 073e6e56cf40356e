"""What commands that learn have in common: training, keeping, telling."""

from __future__ import annotations

import contextlib
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from inspect import Signature
from typing import Annotated, Any, Literal

from cyclopts import App, Group, Parameter

from argmetric.cli import _options as opt
from argmetric.cli._command import Given
from argmetric.cli._errors import DONE, INTERRUPTED, UsageError, ends_in_order, say
from argmetric.cli._examples import epilogue
from argmetric.cli._progress import progress, reading
from argmetric.cli._report import Facts, Table, Values, count, tell
from argmetric.cli._values import check_encoding
from argmetric.cli.scores._rows import refuse_bad_target, refuse_shared_output

RECIPE = Group("Recipe", sort_key=2)
REQUIRED: Any = Signature.empty
# Options of models of text, and those that mean something of their own there
OF_TEXTS: dict[str, Any] = {
    "model": opt.option(opt.WrittenPath, None, REQUIRED, alias="-o"),
    "dev": opt.option(opt.FilePath | None),
    "encoding": (opt.Encoding, "utf-8"),
    "direction": opt.option(
        Literal["left", "right", "both"] | None,
        RECIPE,
        help='From where sentences are read; "both" combines two policies.',
    ),
    "beam": opt.option(
        int | None, RECIPE, help="The width of the beam; 1 is greedy search.", gte=1
    ),
    "epochs": opt.option(int | None, RECIPE, help="Passes over the sentences.", gte=1),
    "hash_bits": opt.option(
        int | None,
        RECIPE,
        help="Features are hashed to 2^B rows of weights.",
        gte=8,
        lte=28,
    ),
    "seed": (Annotated[opt.Seed, Parameter(group=RECIPE)], 0),
    "output": (opt.TextTarget, None),
}
_RECIPE = "beam", "memory", "hash_bits", "seed", "roll_in", "epochs", "step", "dropout"
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


def recipe_of(options: dict[str, Any]) -> Values:
    """Return how a model was learned, by the keys of JSON."""
    options = {**options, "seed": options["random_state"]}
    return {key: options[key] for key in _RECIPE if key in options}


def how_learned(values: Values) -> str:
    """Return the line on learning: how, how long, how the last epoch ended."""
    wrong = [f"at last {100 * row['error']:.2f} % wrong" for row in values["history"]]
    said = f"roll-in {values['roll_in']}", count(values["epochs"], "epoch")
    return ", ".join([*said, f"{values['seconds']:.1f} s", *wrong[-1:]])


def note_interrupt(model: Any, what: str, learned: Values) -> None:
    """Add a note where Ctrl-C ended the training."""
    if model.interrupted_:
        learned["notes"].append(f"interrupted: this is the best {what} so far")


def train(
    command: str,
    what: str,
    model: Any,
    o: Given,
    doing: str,
    answer: Callable[[Values], tuple[Values, Facts]],
    /,
    *data: Any,
    notes: list[str],
    table: Callable[[Values], Table | None] | None = None,
    **how: Any,
) -> int:
    """Fit a model on data, save it, and tell; Ctrl-C keeps what was learned.

    `what` people call it; `doing` is what it is learned from. `answer` makes of how it
    went all that the command found, and its lines; `table` makes a table of that.
    Warnings come behind the `notes`.
    """
    started = time.perf_counter()
    with ends_in_order(signal.SIGINT):
        try:
            with progress(f"training on {doing}"), warnings_in(notes):
                model.fit(*data, **how)
        except KeyboardInterrupt:
            said = "interrupted before anything was learned"
            say(f"{said}: no {what} is written")
            return INTERRUPTED
        seconds = time.perf_counter() - started
        model.save(o.model)
    values, facts = answer(
        {
            "history": model.history_,
            "interrupted": model.interrupted_,
            "seconds": seconds,
            "notes": notes,
            "model": o.model,
            "bytes": os.stat(o.model).st_size,
        }
    )
    found = None if table is None else table(values)
    tell(command, values, facts, json=o.json, table=found)
    return INTERRUPTED if model.interrupted_ else DONE


def refuse_target(what: str, path: str) -> None:
    """Refuse a file that cannot be written before the work, not after it."""
    if path == "-":
        raise UsageError(f"a {what} is written to a file, not to standard output")
    refuse_bad_target(path)


def refuse(why: str, **given: Any) -> None:
    """Refuse the first option that is given, which {} stands for in the message."""
    for name, value in given.items():
        if value is not None:
            raise UsageError(why.format(f"--{name.replace('_', '-')}"))


def load_learned(kind: Any, what: str, path: str) -> Any:
    """Load a model of a class of `argmetric.search`, which people call `what`."""
    if path == "-":
        raise UsageError(f"a {what} is read from a file, not from standard input")
    with reading(path):
        return kind.load(path)


def read_text_file(read: Callable[..., Any], path: str, encoding: str) -> Any:
    """Read a file of text; one in another encoding is refused with what to do."""
    check_encoding(encoding)
    with reading(path):
        return read(path, encoding=encoding, otherwise=opt.OTHER_ENCODING)


def timed(doing: str, call: Callable[..., Any], *given: Any, **how: Any) -> Any:
    """Return an answer and the seconds it took."""
    with progress(doing):
        started = time.perf_counter()
        return call(*given, **how), time.perf_counter() - started


def refuse_two_streams(*files: str | None) -> None:
    """Refuse standard input for two files."""
    if files.count("-") > 1:
        raise UsageError("only one of the files can be standard input")


def text_target(o: Given) -> str | None:
    """Return where lines go, None for nowhere; what cannot be is refused."""
    refuse_shared_output(o.output, json=o.json)
    if o.output not in (None, "-"):
        refuse_bad_target(o.output)
    return None if o.output is None and o.json else o.output or "-"


def tell_predicted(
    command: str, o: Given, values: Values, facts: Facts, unwritten: str = "lines"
) -> int:
    """Tell what became of text that was written, and how long it took."""
    facts = [*facts, ("took", f"{values['seconds']:.1f} s")]
    how: dict[str, Any] = {"json": o.json, "stderr": True, "unwritten": unwritten}
    return tell(command, values, facts, **how)


def command_group(
    name: str,
    help: str,
    ending: str,
    *commands: Callable[..., int],
    default: Callable[..., int] | None = None,
    hint: str = "",
) -> App:
    """Return a command that has commands of its own.

    `default` is what is done without one of them; its help is that of the command.
    `ending` says how they may end, behind a `hint`.
    """
    said = f"{hint}\n\n{ending}" if hint else ending
    made = App(name=name, help=help or None, help_epilogue=epilogue(name, said))
    if default is not None:
        made.default(default)
    for place, command in enumerate(commands):
        shown = epilogue(f"{name} {command.__name__}", ending)
        made.command(command, sort_key=place, help_epilogue=shown)
    return made
