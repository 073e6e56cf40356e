"""Print the public surface: every name, its parameters and defaults, every option.

    python docs/list_api.py               # of the installed package
    python docs/list_api.py --write       # into tests/public_api.txt

Two versions are compared by `diff` of what each prints.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MODULES = (
    "argmetric",
    "classes",
    "integrations",
    "metrics",
    "published",
    "scale",
    "search",
    "sequence",
    "sets",
    "stream",
    "tensors",
    "train",
)
SNAPSHOT = Path(__file__).parents[1] / "tests" / "public_api.txt"
# Classes of tensors that derive from torch's, which need not be installed
NEED_TORCH = ("BestAchievable", "ExpectedMetricLoss", "SoftMetricLoss")
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def lines() -> Iterator[str]:
    """A line for each public name, method, field and option of a command."""
    for name in MODULES:
        path = "argmetric" if name == "argmetric" else f"argmetric.{name}"
        module = importlib.import_module(path)
        for public in sorted(module.__all__):
            if public in NEED_TORCH:
                yield f"{path}.{public}"
            else:
                yield from _of(f"{path}.{public}", getattr(module, public))
    yield from _commands()


def _of(name: str, thing: Any) -> Iterator[str]:
    if inspect.ismodule(thing):
        return
    if inspect.isclass(thing):
        yield f"{name}{_parameters(thing)}"
        yield from _members(name, thing)
    elif callable(thing):
        yield f"{name}{_parameters(thing)}"
    else:
        yield name


def _members(name: str, owner: type) -> Iterator[str]:
    fields = (
        [field.name for field in dataclasses.fields(owner)]
        if dataclasses.is_dataclass(owner)
        else []
    )
    for field in fields:
        if not field.startswith("_"):
            yield f"{name}.{field}"
    if issubclass(owner, enum.Enum):
        yield from (f"{name}.{member.name}" for member in owner)
        return
    for member in sorted(set(dir(owner)) - set(fields)):
        ours = getattr(_definer(owner, member), "__module__", "")
        if member.startswith("_") or not ours.startswith("argmetric"):
            continue
        found = inspect.getattr_static(owner, member)
        if isinstance(found, property) or not callable(getattr(owner, member)):
            yield f"{name}.{member}"
        else:
            yield f"{name}.{member}{_parameters(getattr(owner, member))}"


def _definer(owner: type, member: str) -> type | None:
    return next((c for c in owner.__mro__ if member in vars(c)), None)


def _parameters(thing: Any) -> str:
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return "(...)"
    kept = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
    ]
    bare = signature.replace(parameters=kept, return_annotation=inspect.Signature.empty)
    return ADDRESS.sub("", str(bare))


def _commands() -> Iterator[str]:
    from argmetric.cli._command import app

    yield from _options("argmetric", app)


def _options(name: str, app: Any) -> Iterator[str]:
    for word, command in sorted(app.resolved_commands().items()):
        if word.startswith("-"):
            continue
        yield f"{name} {word}"
        if command.default_command is not None:
            arguments = command.assemble_argument_collection()
            flags = {flag for argument in arguments for flag in argument.names}
            yield from (f"{name} {word} {flag}" for flag in sorted(flags))
        yield from _options(f"{name} {word}", command)


if __name__ == "__main__":
    text = "\n".join(lines()) + "\n"
    if "--write" in sys.argv[1:]:
        SNAPSHOT.write_text(text)
    else:
        sys.stdout.write(text)
