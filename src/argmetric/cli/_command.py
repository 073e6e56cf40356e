"""A command from its function: options of the table, help of the docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pkgutil import get_data
from typing import Annotated, Any

from cyclopts import App, Parameter

from argmetric import __version__
from argmetric.cli._options import OPTIONS, MoreFiles, Options, RowsFile, read_docstring
from argmetric.cli._values import refuse_bad_report


class Arguments:
    """Options of a command, each by its name; `more` and `file` are its files."""

    def __init__(self, defaults: Mapping[str, Any], given: Mapping[str, Any]) -> None:
        self._defaults = dict(defaults)
        self.__dict__.update({**defaults, **given})

    def __getattr__(self, name: str) -> Any:
        """Return None for an option that the command does not have."""
        if name.startswith("_"):
            raise AttributeError(name)
        return None

    def has(self, name: str) -> bool:
        """Return whether an option was given, with another value than its default."""
        value, default = getattr(self, name), self._defaults.get(name)
        return value is not None and value is not False and value != default

    @property
    def names(self) -> list[str]:
        """All options that the command has."""
        return list(self._defaults)

    def but(self, **values: object) -> Arguments:
        """Return a copy with other values of some options."""
        return Arguments(self._defaults, {**vars(self), **values})

    def only(self, *names: str) -> dict[str, Any]:
        """Return some options by their names."""
        return {name: getattr(self, name) for name in names}

    def with_value(self, *names: str) -> dict[str, Any]:
        """Return those of some options that have a value."""
        return {name: x for name, x in self.only(*names).items() if x is not None}


_RESULTS = "Exit codes: 0 done, 1 failure, 2 wrong usage, 3 gate not met"
_STREAMS = (
    "`-` is standard input or output. `--force` lets an output overwrite a file that "
    "is read. `--debug` (or `ARGMETRIC_DEBUG=1`) shows the traceback of a failure."
)
ENDINGS = f"{_RESULTS}. {_STREAMS}"
TRAINING_ENDINGS = f"{_RESULTS}, 130 interrupted. {_STREAMS}"
ROWS_ENDINGS = (
    f"{_RESULTS}.\n\nFiles: CSV, TSV and JSONL (also .gz, .zst), Parquet, Arrow "
    f"(Feather); {_STREAMS}"
)


def command(
    options: str,
    *own: type[Options],
    files: Mapping[str, object] | None = None,
    first: Mapping[str, object] | None = None,
    ending: str = ROWS_ENDINGS,
) -> Callable[[Callable[[Arguments], int]], App]:
    """Make a command of a function that takes all options at once.

    Its docstring is the help, with examples of what is typed.

    Parameters
    ----------
    options : str
        Names in `argmetric.cli._options.OPTIONS`, in the order of the help.
    *own : subclasses of Options
        Options of the command alone, or with another type than in the table.
    files : mapping of str to type, optional
        All files that are named, where they are no rows; `*name` is any number of them.
    first : mapping of str to type, optional
        Files that are named before those of the rows.
    ending : str
        What the help ends with: how the command may end.
    """
    table = OPTIONS | {name: x for one in own for name, x in one.table.items()}
    named = {name: table[name] for name in options.split()}
    if files is None:
        files = {**(first or {}), "file": RowsFile, "*more": MoreFiles}
    of = inspect.Parameter

    def make(function: Callable[[Arguments], int]) -> App:
        """Make the command of a function, with its options as a signature."""
        text, helps, examples = read_docstring(function)

        def parameter(
            name: str, type_: object, kind: inspect._ParameterKind, **default: object
        ) -> inspect.Parameter:
            if name in helps:
                type_ = Annotated[type_, Parameter(help=helps[name])]
            return of(name, kind, annotation=type_, **default)

        found = []
        for name, type_ in files.items():
            kind = of.VAR_POSITIONAL if name.startswith("*") else of.POSITIONAL_ONLY
            found.append(parameter(name.lstrip("*"), type_, kind))
        for name, (type_, default) in named.items():
            found.append(parameter(name, type_, of.KEYWORD_ONLY, default=default))
        defaults = {name: default for name, (_, default) in named.items()}
        signature = inspect.Signature(found)

        def run(*paths: str, **given: object) -> int:
            """Call the function with all options in one object."""
            bound = signature.bind_partial(*paths)
            bound.apply_defaults()
            o = Arguments(defaults, {**bound.arguments, **given})
            if o.report is not None:
                refuse_bad_report(o.report)
            return function(o)

        run.__signature__ = signature  # type: ignore[attr-defined]
        run.__doc__, run.__module__ = text, function.__module__
        name = function.__name__.replace("install_completion", "--install-completion")
        made = App(name=name, help_epilogue=epilogue(examples, ending))
        made.default(run)
        return made

    return make


def epilogue(examples: list[str], ending: str) -> str:
    """Return what the help of a command ends with: examples, and how it may end."""
    lines = "\n".join(f"    {line}" for line in examples)
    return f"Examples:\n\n{lines}\n\n{ending}"


def add(group: App, *commands: App) -> App:
    """Add subcommands to a command, listed in this order."""
    for place, one in enumerate(commands):
        one.sort_key = place
        group.command(one)
    return group


# Of each its module, in the order of the help
_TABLE = (
    "decide:scores._decide forecast:scores._decide monitor:scores._monitor "
    "compare:scores._compare report:scores._lines evaluate:scores._decide "
    "tune:scores._fit calibrate:scores._fit train:models._train predict:models._train "
    "export:_tools expect:_tools stream:stream._commands spans:_spans tag:_tag "
    "summarize:_summarize metrics:_tools demo:_demo --install-completion:_tools"
)
_COMMANDS = dict(one.split(":") for one in _TABLE.split())
_EXAMPLES = [
    "argmetric demo",
    "argmetric decide scores.csv --metric f1 -o decided.csv",
    "argmetric decide --help",
]


def make_app(*, listed: bool = False) -> App:
    """Return the application; of one that is only `listed` no command is loaded."""
    made = App(
        name="argmetric",
        version=__version__,
        help="Decide for the metric you are judged by: choose the labels that maximise "
        "its expected value, and forecast the score.",
        help_format="markdown",
        suppress_keyboard_interrupt=False,  # `main` answers for it
        help_epilogue=epilogue(_EXAMPLES, ROWS_ENDINGS),
    )
    lines = first_lines() if listed else {}
    for place, (command, module) in enumerate(_COMMANDS.items()):
        how: dict[str, Any] = {"help": lines[command]} if listed else {}
        if not command.startswith("-"):
            how["sort_key"] = place
        made.command(
            f"argmetric.cli.{module}:{_function(command)}", name=command, **how
        )
    return made


def _function(command: str) -> str:
    return command.lstrip("-").replace("-", "_")


def first_lines() -> dict[str, str]:
    """Return the first line of the help of each command, without importing it."""
    found = {}
    for command, module in _COMMANDS.items():
        text = b""
        with suppress(OSError):  # where there is no source, nothing is said
            text = get_data("argmetric.cli", f"{module.replace('.', '/')}.py") or text
        name = _function(command)
        begin = rf'^(?:def {name}\(.*?"""|{name} = App\(.*?help=")'
        line = re.search(rf"{begin}(.*?)(?:\n\n|\\n\\n)", text.decode(), re.M | re.S)
        found[command] = "" if line is None else " ".join(line[1].split())
    return found


app = make_app()
