"""Print the public surface: every name, its parameters and defaults, every option.

    python docs/list_api.py               # of the installed package
    python docs/list_api.py --write       # into tests/public_api.txt

Two versions are compared by `diff` of what each prints. What is stable is also added to
tests/stable_api.txt: names, parameters and keys of `to_dict`. `--write` takes nothing
away there.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from argmetric._ground.stability import COMMANDS, EXPERIMENTAL, STABLE, is_stable

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
PROMISES = SNAPSHOT.with_name("stable_api.txt")
METRICS = STABLE["argmetric.metrics"]
# Classes of tensors that derive from torch's, which need not be installed
NEED_TORCH = ("BestAchievable", "ExpectedMetricLoss", "SoftMetricLoss")
STABLE_PATH = re.compile(r"(argmetric(?:\.(?:classes|metrics))?)\.(\w+)")
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
    limits = getattr(thing, "limits", ())  # the names that **limits stands for
    if limits:
        kept[-1] = kept[-1].replace(annotation=tuple(limits))
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


def stable_lines() -> Iterator[str]:
    """Yield what is promised: names, parameters one by one, and keys of results."""
    return (line for line in _stable_lines() if line not in EXPERIMENTAL)


def _stable_lines() -> Iterator[str]:
    """Yield each stable name with its parameters, and the keys of results."""
    for line in lines():
        path, bracket, rest = line.partition("(")
        command = path.split()
        if len(command) > 1:
            if command[1] in COMMANDS:
                yield path
            continue
        found = STABLE_PATH.match(path)
        if found is not None and is_stable(*found.groups()):
            is_member = found.end() < len(path)
            if is_member and found[2] != "Metric" and found[2] in METRICS:
                continue  # those of Metric
            yield path
            if bracket and rest != "...)":
                rest = re.sub(r"<[^>]*>", "None", rest)  # defaults that are objects
                function = ast.parse(f"def f({rest}: pass").body[0]
                assert isinstance(function, ast.FunctionDef)
                names = function.args
                for one in (*names.posonlyargs, *names.args, *names.kwonlyargs):
                    if one.arg not in ("self", "cls") and one.arg[0] != "_":
                        yield f"{path} {one.arg}"
                if names.kwarg is not None and names.kwarg.annotation is not None:
                    limits = ast.literal_eval(names.kwarg.annotation)
                    yield from (f"{path} {one}" for one in limits)
    for result in _results():
        yield from (
            f"{type(result).__name__}.to_dict {key}" for key in result.to_dict()
        )


def _results() -> Iterator[Any]:
    """Yield a small result of each stable verb."""
    import numpy as np

    import argmetric as am

    p = np.linspace(0.05, 0.95, 60)
    y = np.arange(60) * 7 % 10 < p * 10
    yield am.decide(p)
    yield am.forecast(p, y)
    yield am.evaluate(y, p > 0.5)
    yield am.tune(y, p, n_bootstrap=10)
    yield am.calibrate(y, p)
    yield am.calibration_check(y, p, n_bootstrap=10)
    yield am.monitor(p, 0.5, reference=(y, p + 0.001))
    yield am.compare(p, {"a": y, "b": p > 0.5})
    table = np.column_stack([p, 0.6 * (1 - p), 0.4 * (1 - p)])
    label = np.where(y, 0, 1 + np.arange(60) % 2)
    yield am.classes.decide(table)
    yield am.classes.forecast(table, label)
    yield am.classes.evaluate(label, label[::-1])
    yield am.classes.tune(label, table, "f1", n_bootstrap=10)
    yield am.classes.check(label, table)
    yield am.classes.monitor(table, label, reference=(label, table))


if __name__ == "__main__":
    text = "\n".join(lines()) + "\n"
    if "--write" in sys.argv[1:]:
        SNAPSHOT.write_text(text)
        before = PROMISES.read_text().splitlines() if PROMISES.exists() else []
        PROMISES.write_text("\n".join(sorted({*before, *stable_lines()})) + "\n")
    else:
        sys.stdout.write(text)
