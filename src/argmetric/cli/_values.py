"""From the text of an option to its value; messages for lines that cannot be read."""

from __future__ import annotations

import difflib
import glob
import math
import os
import re
from collections.abc import Iterable, Sequence, Set
from contextvars import ContextVar
from functools import cache
from itertools import chain, combinations
from pkgutil import get_data
from typing import Any

import cyclopts

from argmetric._ground.whole_files import DataError, is_special
from argmetric.cli._errors import UsageError

COLUMNS = cyclopts.Group("Columns", sort_key=1)
OUTPUT = cyclopts.Group("Output", sort_key=7)
_MOST_JOBS = 10_000
force: ContextVar[bool] = ContextVar("force", default=False)  # --force was typed
# A lone "-" looks like an option to the parser; it travels under another name.
_MARKED_STREAM = "<->"
_NOT_A_NUMBER = re.compile(
    r'Invalid value for (\S+): unable to convert "(.*)" into (float|int)\.'
)
_NOT_A_CHOICE = re.compile(
    r'Invalid value for (\S+): unable to convert "(.*)" into (.*Literal.*)\.'
)
_NO_FILE = re.compile(r'Command "(.*)" parameter FILE requires an argument\.')
_NEAR = 0.75  # similarity of two options of which one may be meant for the other
_THRESHOLD = (
    "To apply a fixed threshold, pass --rule FILE with a rule of argmetric tune; to "
    "score one, use argmetric evaluate --threshold {}."
)


def flag_of(option: str) -> str:
    """Return an option as people type it."""
    return "-o" if option == "output" else f"--{option.replace('_', '-')}"


def jobs(type_: object, value: int | None) -> None:
    if value == 0:
        raise ValueError("Must not be 0.")
    if value is not None and abs(value) > _MOST_JOBS:
        raise ValueError(f"Must be at most {_MOST_JOBS:,}.")


def mark_streams(tokens: Sequence[str]) -> list[str]:
    """Return tokens in which a lone ``-`` cannot be taken for an option."""
    return [_MARKED_STREAM if token == "-" else token for token in tokens]


def restore_stream(token: str) -> str:
    """Return a token as the user typed it: "-" for its internal mark."""
    return "-" if token == _MARKED_STREAM else token


def path(type_: object, tokens: Sequence[cyclopts.Token]) -> str:
    return restore_stream(tokens[0].value)


def written_path(type_: object, tokens: Sequence[cyclopts.Token]) -> str:
    """Return the path; `check_arguments` knows written files by this function."""
    return restore_stream(tokens[0].value)


def _files(
    arguments: cyclopts.ArgumentCollection, converter: object
) -> list[tuple[str, str]]:
    """Return (option, file) pairs of all options that this converter reads."""
    return [
        (token.keyword or one.name, restore_stream(token.value))
        for one in arguments
        if one.parameter.converter is converter
        for token in one.tokens
    ]


def _is_same_file(one: str, other: str) -> bool:
    """Return whether two paths are one file, which need not exist yet."""
    if os.path.exists(one) and os.path.exists(other):
        return os.path.samefile(one, other)
    return os.path.realpath(one) == os.path.realpath(other)


def check_arguments(
    app: cyclopts.App, commands: object, arguments: cyclopts.ArgumentCollection
) -> None:
    """Refuse what contradicts itself, whatever the command, before anything is read.

    The parser calls this with what it found: options of no characters, one file for two
    outputs, one column for two purposes, and an output that the command reads.
    """
    _refuse_empty(arguments)
    refuse_same_file(_files(arguments, written_path))
    for group in (COLUMNS, OUTPUT):
        refuse_same_column(
            (token.keyword or one.name, token.value)
            for one in arguments
            if _names_column_of(one.parameter, group)
            if one.name != "--drop"  # what is no feature may have another purpose
            for token in one.tokens
        )
    read = [pattern for _, pattern in _files(arguments, path)]
    refuse_inputs(_files(arguments, written_path), read)


def refuse_same_file(outputs: Iterable[tuple[str, str]]) -> None:
    """Refuse two options that write to the same file: the later would replace it."""
    for (first, one), (second, other) in combinations(outputs, 2):
        if _is_same_file(one, other) and not is_special(one):
            raise UsageError(
                f"{first} {one} and {second} {other} are the same file: pass another "
                "name for one of them"
            )


def refuse_inputs(outputs: Iterable[tuple[str, str]], patterns: Iterable[str]) -> None:
    """Refuse outputs, each with its option, that are read; --force allows them."""
    written = [pair for pair in outputs if os.path.isfile(pair[1])]
    if not written or force.get():
        return
    for pattern in patterns:
        found = glob.glob(pattern, recursive=True) if glob.has_magic(pattern) else ()
        for read in (pattern, *found):
            for option, target in written:
                if os.path.isfile(read) and os.path.samefile(read, target):
                    raise UsageError(
                        f"{option} {target} is also an input: pass another name, "
                        "or --force to overwrite it"
                    )


def _names_column_of(parameter: cyclopts.Parameter, group: cyclopts.Group) -> bool:
    groups: Any = parameter.group
    return group in groups and parameter.metavar == "COLUMN"


def refuse_same_column(named: Iterable[tuple[str, str | None]]) -> None:
    """Refuse two options that name the same column; None is an option without one."""
    seen: dict[str, str] = {}
    for option, column in named:
        if column in seen:
            raise UsageError(
                f"{seen[column]} and {option} both name column {column!r}: pass "
                "another column for one of them"
            )
        if column is not None:
            seen[column] = option


def _refuse_empty(arguments: cyclopts.ArgumentCollection) -> None:
    """Refuse options and files of no characters, as an unset variable of a shell gives.

    The name of a column that is read may be empty: that of an index, say.
    """
    for one in arguments:
        if _names_column_of(one.parameter, COLUMNS):
            continue
        for token in one.tokens:
            if token.value == "" and token.implicit_value is cyclopts.UNSET:
                name = token.keyword or "the name of a file"
                raise UsageError(f"{name} is empty: give it a value, or leave it out")


def whole(type_: object, tokens: Sequence[cyclopts.Token]) -> int:
    """Read a whole number; the parser's own way would round 2.9 to 3."""
    text = tokens[0].value
    if re.fullmatch(r"[+-]?\d{1,30}", text, re.ASCII) is None:
        raise ValueError(f"A whole number is needed, not {text!r}.")
    return int(text)


def count_or_percent(type_: object, tokens: Sequence[cyclopts.Token]) -> int | str:
    """Read 500 as a count, and 5% as the verbs do."""
    return read_count(tokens[0].value)


def counts_by_class(given: Sequence[str], classes: Sequence[Any]) -> dict[Any, Any]:
    """Read cat=10 and cat=5% as limits of classes."""
    names, counts = {str(one): one for one in classes}, {}
    for text in given:
        name, equal, count = text.rpartition("=")
        if not equal or names.get(name, name) in counts:
            raise UsageError(
                f"--max-per-class {text}: one CLASS=COUNT for each class, such as "
                "cat=10 or cat=5%, is needed"
            )
        try:
            counts[names.get(name, name)] = read_count(count)
        except ValueError as error:
            raise UsageError(f"--max-per-class {text}: {error}") from None
    return counts


def fraction_by_class(
    type_: object, tokens: Sequence[cyclopts.Token]
) -> float | dict[str, float]:
    """Read 0.9 as a number, and cat=0.9 as that of a class."""
    found: dict[str, float] = {}
    for text in (token.value for token in tokens):
        name, equal, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not 0.0 <= value <= 1.0:
            raise ValueError(f"A number from 0 to 1 is needed, not {number!r}.")
        if name in found or (not equal and len(tokens) > 1):
            raise ValueError(
                f"{tokens[0].keyword} takes one number, or CLASS=NUMBER once a class."
            )
        found[name] = value
    return found if equal else value


def named_classes(
    value: float | dict[str, float] | None, classes: Sequence[Any]
) -> float | dict[Any, float] | None:
    """Return a limit by class with the classes in place of their names as text."""
    if not isinstance(value, dict):
        return value
    names = {str(one): one for one in classes}
    return {names.get(name, name): one for name, one in value.items()}


def read_count(text: str) -> int | str:
    """Return a count, or a percentage as text."""
    from argmetric._ground.arguments import read_share

    if re.fullmatch(r"\+?\d{1,15}", text, re.ASCII):
        return int(text)
    try:
        read_share(text, "")
    except ValueError:
        raise ValueError(
            f"A whole number (500) or a percentage (5%) is needed, not {text!r}."
        ) from None
    return text


def missed_positives(type_: object, tokens: Sequence[cyclopts.Token]) -> object:
    """Read 12 as a count, 0.4 as a rate, and 30,70 as counts of a reference."""
    text = tokens[0].value
    if re.fullmatch(r"\d{1,15}", text, re.ASCII):
        return int(text)
    if pair := re.fullmatch(r"(\d{1,15}),(\d{1,15})", text, re.ASCII):
        return int(pair[1]), int(pair[2])
    if re.fullmatch(r"\d*\.\d+|\d+\.\d*", text, re.ASCII):
        return float(text)
    raise ValueError(
        "A count (12), a rate per found positive (0.4), or two counts, found and "
        f"missed (30,70), are needed, not {text!r}."
    )


def share_or_estimate(type_: object, tokens: Sequence[cyclopts.Token]) -> float | str:
    """Return the value of --prior: a prevalence, or "estimate"."""
    text = tokens[0].value
    if text == "estimate":
        return text
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 < share < 1:
        raise ValueError("A share between 0 and 1 (0.05), or estimate, is needed.")
    return share


def check_encoding(encoding: str) -> None:
    """Refuse an encoding that nobody knows."""
    try:
        "a".encode(encoding)
    except LookupError:
        raise UsageError(f"--encoding {encoding}: there is no such encoding") from None


def refuse_bad_target(path: str | None, *, stream: bool = False) -> None:
    """Refuse an output that cannot be before the work, not after it.

    None is no output; `stream` allows standard output.
    """
    if path is None or (stream and path == "-"):
        return
    if path == "-":
        raise UsageError("the output is a file, not standard output: -o FILE")
    if os.path.isdir(path):
        raise DataError(f"cannot write {path}: it is a folder")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise DataError(f"cannot write {path}: there is no folder {folder}")


def refuse_bad_report(path: str) -> None:
    """Refuse a report that cannot be before the work, not after it."""
    from argmetric._report import format_of, require_page

    if path == "-":
        raise UsageError("a report is written to a file, not to standard output")
    refuse_bad_target(path)
    try:
        if format_of(path, "") == "html":
            require_page()
    except ValueError as error:
        raise UsageError(str(error)) from error
    except ModuleNotFoundError as error:
        raise DataError(str(error)) from error


# ------------------------------------------------------------------------ messages


@cache
def refusals() -> list[tuple[str, str, str]]:
    """Return ways, the options that they refuse, and why."""
    text = (get_data("argmetric.cli.scores", "refusals.txt") or b"").decode()
    lines = (line for line in text.splitlines() if line[:1] not in ("", "#"))
    found = (line.split(": ", 1) for line in lines)
    return [(way, *rest.split(" = ", 1)) for way, rest in found]  # type: ignore[misc]


def _unknown_reason(chain: Sequence[str] | None, option: str, known: Set[str]) -> str:
    """Return why a command does not have an option, if the table says so."""
    own, passed = option.lstrip("-"), re.compile(r"pass (--[\w-]+)")
    both = {own, f"{(chain or ('',))[-1]}:{own}"}
    for way, options, text in refusals():
        named = way == "unknown" and both & {*options.split()}
        if named and known >= {*passed.findall(text)}:
            return f"{text.format(option)}."
    return ""


def message(error: cyclopts.CycloptsError) -> str:
    """Return the error in a command line, in one or two sentences."""
    if isinstance(error, cyclopts.UnusedCliTokensError) and error.unused_tokens:
        unused = restore_stream(error.unused_tokens[0])
        return f"This command takes one file; leave {unused!r} out."
    if isinstance(error, cyclopts.UnknownOptionError):
        given = (error.token.keyword or error.token.value).split("=")[0]
        text = f"Unknown option: {given}."
        names = {*chain.from_iterable(one.names for one in error.argument_collection)}
        if reason := _unknown_reason(error.command_chain, given, names):
            return reason
        if given == "--threshold":
            typed = [*(error.root_input_tokens or ()), given, "NUMBER"]
            return f"{text} {_THRESHOLD.format(typed[typed.index(given) + 1])}"
        near = nearest_option(given, [name for name in names if name.startswith("--")])
        return f"{text} Did you mean {near}?" if near else text
    text = str(error)
    if isinstance(error, cyclopts.ValidationError):
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
    if found := _NOT_A_CHOICE.fullmatch(text):
        option, value, type_ = found.groups()
        known = ", ".join(re.findall(r"Literal\[(.*?)\]", type_)).split(", ")
        shown = ", ".join(f'"{one}"' for one in known)
        return f'Invalid value "{value}" for {option}. Choose from: {shown}.'
    return text


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
    """Return a hint how to write a percentage or a decimal comma; else empty."""
    if found := re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", value):
        return f" Write {value} as {float(found[1]) / 100:g}."
    if re.fullmatch(r"\d*,\d+", value):
        return f" Write {value} as {value.replace(',', '.')}."
    return ""
