"""Messages for command lines that cannot be parsed: what is wrong, and what to type."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from itertools import chain
from typing import Any

from cyclopts import (
    CycloptsError,
    UnknownOptionError,
    UnusedCliTokensError,
    ValidationError,
)

from argmetric.cli._values import unmarked

_NOT_A_NUMBER = re.compile(
    r'Invalid value for (\S+): unable to convert "(.*)" into (float|int)\.'
)
_NO_FILE = re.compile(r'Command "(.*)" parameter FILE requires an argument\.')
_NEAR = 0.75  # similarity of two options of which one may be meant for the other
_THRESHOLD = (
    "To apply a fixed threshold, pass --rule FILE with a rule of argmetric tune; to "
    "score one, use argmetric evaluate --threshold {}."
)
_COLUMN = "To name the column of probabilities, pass --score COLUMN."


def message(error: CycloptsError) -> str:
    """Return what is wrong with a command line, in one or two sentences."""
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        unused = unmarked(error.unused_tokens[0])
        return f"This command takes one file; leave {unused!r} out."
    if isinstance(error, UnknownOptionError):
        return _unknown_option(error)
    text = str(error)
    if isinstance(error, ValidationError):
        value: Any = error.argument.value if error.argument else None
        below_one = text.endswith(("< 1.", "<= 1.")) and isinstance(value, float)
        if below_one and 2 <= value <= 100:
            text += f" Write {value:g} % as {value / 100:g}."
        return text
    text = _NO_FILE.sub(r"Name a file: argmetric \1 FILE.", text)
    if found := _NOT_A_NUMBER.fullmatch(text):
        option, value, kind = found.groups()
        needed = "A number" if kind == "float" else "A whole number"
        return f'Invalid value "{value}" for {option}. {needed} is needed.' + (
            _spelling_hint(value)
        )
    return text


def _unknown_option(error: UnknownOptionError) -> str:
    given = (error.token.keyword or error.token.value).split("=")[0]
    text = f"Unknown option: {given}."
    if given == "--threshold":
        typed = [*(error.root_input_tokens or ()), given, "NUMBER"]
        return f"{text} {_THRESHOLD.format(typed[typed.index(given) + 1])}"
    names = {*chain.from_iterable(one.names for one in error.argument_collection)}
    if given == "--column" and "--score" in names:
        return f"{text} {_COLUMN}"
    near = nearest_option(given, [name for name in names if name.startswith("--")])
    return f"{text} Did you mean {near}?" if near else text


def nearest_option(given: str, known: Iterable[str]) -> str | None:
    """Return the option that was probably meant, None if no option is close.

    Examples
    --------
    >>> nearest_option("--out", ["--output-format", "--output", "--route"])
    '--output'
    >>> nearest_option("--column", ["--decision-column"])
    """
    known = sorted(known, key=len)
    begun = [name for name in known if name.startswith(given) and len(given) > 3]
    near = begun or difflib.get_close_matches(given, known, n=1, cutoff=_NEAR)
    return near[0] if near else None


def _spelling_hint(value: str) -> str:
    if found := re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", value):
        return f" Write {value} as {float(found[1]) / 100:g}."
    if re.fullmatch(r"\d*,\d+", value):
        return f" Write {value} as {value.replace(',', '.')}."
    return ""
