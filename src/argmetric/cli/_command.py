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
    files: Mapping[str, Any] | None = None,
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
    files : mapping of str to type, optional
        All files that are named, where they are no rows; `*name` is any number of them.
    """
    table = {**OPTIONS, **(changed or {})}
    named = {name: table[name] for name in options.split()}
    if files is None:
        files = {**(first or {}), "file": RowsFile, "*more": MoreFiles}

    def made(function: Run) -> Callable[..., int]:
        text, helps = documented(function)
        of = inspect.Parameter

        def parameter(name: str, type_: Any, kind: Any, **default: Any) -> Any:
            if name in helps:
                type_ = Annotated[type_, with_help(helps[name])]
            return of(name, kind, annotation=type_, **default)

        found = []
        for name, type_ in files.items():
            kind = of.VAR_POSITIONAL if name.startswith("*") else of.POSITIONAL_ONLY
            found.append(parameter(name.lstrip("*"), type_, kind))
        for name, (type_, default) in named.items():
            found.append(parameter(name, type_, of.KEYWORD_ONLY, default=default))
        defaults = {name: default for name, (_, default) in named.items()}
        signature = inspect.Signature(found)

        def run(*paths: str, **given: Any) -> int:
            bound = signature.bind_partial(*paths)
            bound.apply_defaults()
            return function(Given(defaults, {**bound.arguments, **given}))

        run.__signature__ = signature  # type: ignore[attr-defined]
        run.__name__, run.__doc__ = function.__name__.rstrip("_"), text
        run.__module__ = function.__module__
        return run

    return made


def documented(function: Any) -> tuple[str, dict[str, str]]:
    """Return a docstring without its parameters, and the text of each of those.

    Examples
    --------
    >>> documented(Given.has)
    ('Whether an option was given, with another value than its default.', {})
    >>> sorted(documented(command)[1])
    ['changed', 'files', 'first', 'options']
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
