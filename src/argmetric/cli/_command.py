"""A command from its function: options of the table, help of the docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from argmetric.cli._options import OPTIONS, MoreFiles, RowsFile, with_help

_ENTRY = re.compile(r"\w+")


class Given:
    """The options of a command, each by its name; `more` and `file` are its files."""

    def __init__(self, defaults: Mapping[str, Any], given: Mapping[str, Any]) -> None:
        self._defaults = dict(defaults)
        self.__dict__.update({**defaults, **given})

    def __getattr__(self, name: str) -> Any:
        """Return None for an option that the command does not have."""
        if name.startswith("_"):
            raise AttributeError(name)
        return None

    def has(self, name: str) -> bool:
        """Whether an option was given, with another value than its default."""
        value, default = getattr(self, name), self._defaults.get(name)
        return value is not None and value is not False and value != default

    @property
    def names(self) -> list[str]:
        """All options that the command has."""
        return list(self._defaults)

    def but(self, **values: Any) -> Given:
        """Return the same options, some with other values."""
        return Given(self._defaults, {**vars(self), **values})

    def only(self, *names: str) -> dict[str, Any]:
        """Return some options by their names."""
        return {name: getattr(self, name) for name in names}


Run = Callable[[Given], int]


def command(
    options: str,
    *,
    changed: Mapping[str, Any] | None = None,
    first: Mapping[str, Any] | None = None,
) -> Callable[[Run], Callable[..., int]]:
    """Make a command of a function that takes all options at once.

    Parameters
    ----------
    options : str
        Names in `argmetric.cli._options.OPTIONS`, in the order of the help.
    changed : mapping of str to (type, default), optional
        Options of the command alone, or with another type than in the table.
    first : mapping of str to type, optional
        Files that are named before those of the rows.
    """
    table = {**OPTIONS, **(changed or {})}
    named = {name: table[name] for name in options.split()}

    def made(function: Run) -> Callable[..., int]:
        text, helps = documented(function)
        keywords = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=default,
                annotation=Annotated[type_, with_help(helps[name])]
                if name in helps
                else type_,
            )
            for name, (type_, default) in named.items()
        ]
        defaults = {name: default for name, (_, default) in named.items()}

        files = {**(first or {}), "file": RowsFile}
        places = [
            inspect.Parameter(
                name,
                inspect.Parameter.POSITIONAL_ONLY,
                annotation=Annotated[type_, with_help(helps[name])]
                if name in helps
                else type_,
            )
            for name, type_ in files.items()
        ]
        rest = inspect.Parameter(
            "more", inspect.Parameter.VAR_POSITIONAL, annotation=MoreFiles
        )

        def run(*paths: str, **given: Any) -> int:
            named = dict(zip(files, paths, strict=False))
            more = paths[len(files) :]
            return function(Given(defaults, {**given, **named, "more": more}))

        signature = inspect.Signature([*places, rest, *keywords])
        run.__signature__ = signature  # type: ignore[attr-defined]
        run.__name__, run.__doc__, run.__module__ = (
            function.__name__.rstrip("_"),
            text,
            function.__module__,
        )
        return run

    return made


def documented(function: Any) -> tuple[str, dict[str, str]]:
    """Return a docstring without its parameters, and the text of each of those.

    Examples
    --------
    >>> documented(Given.has)
    ('Whether an option was given, with another value than its default.', {})
    >>> sorted(documented(command)[1])
    ['changed', 'first', 'options']
    """
    text, _, entries = (inspect.getdoc(function) or "").partition("\nParameters\n")
    helps: dict[str, str] = {}
    name = ""
    for line in entries.splitlines()[1:]:
        if line.startswith(" "):
            helps[name] = f"{helps.get(name, '')} {line.strip()}".strip()
        elif found := _ENTRY.match(line):
            name = found[0]
    return text.rstrip(), helps
