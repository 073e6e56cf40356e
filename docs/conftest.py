"""Replay the ``console`` blocks of these pages, as doctest replays the Python ones.

A line that begins with ``$`` is run; what follows has to be what it prints, standard
error included, with any white space and with ``...`` for anything. The blocks of a
page share one folder and see the files that earlier blocks wrote; ``$ cat FILE`` of a
file that is not there yet makes it from what follows.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

BLOCK = re.compile(r"^\.\. code-block:: console\n\n((?:(?:   .*)?\n)+)", re.MULTILINE)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
WIDTH = "88"


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> object:
    if file_path.suffix == ".rst" and ".. code-block:: console" in file_path.read_text(
        encoding="utf-8"
    ):
        return ConsolePage.from_parent(parent, path=file_path)
    return None


class ConsolePage(pytest.File):
    """The console blocks of a page: one test, since later blocks use earlier files."""

    def collect(self) -> Iterator[pytest.Item]:
        yield ConsoleItem.from_parent(self, name="console")


class ConsoleItem(pytest.Item):
    """Run every command of a page and compare what it prints."""

    def runtest(self) -> None:
        factory = self.config._tmp_path_factory
        text = self.path.read_text(encoding="utf-8")
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(factory.mktemp("console"))
            patch.setenv("COLUMNS", WIDTH)
            patch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
            shell = Shell()
            for block in BLOCK.findall(text):
                for command, expected in sessions(block):
                    shell.check(command, expected)

    def repr_failure(self, excinfo: pytest.ExceptionInfo, style: object = None) -> str:
        return str(excinfo.value)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"console blocks of {self.path.name}"


def sessions(block: str) -> Iterator[tuple[str, str]]:
    """Commands of a block, each with the lines that should follow."""
    lines = [line[3:] for line in block.splitlines()]
    starts = [i for i, line in enumerate(lines) if line.startswith("$ ")]
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        command, rest = lines[start][2:], lines[start + 1 : stop]
        while command.endswith("\\"):
            command = command[:-1] + rest.pop(0).strip()
        yield command, "\n".join(rest).strip() + "\n"


class Shell:
    """Runs `argmetric` in this process, which is quick, and all else in a shell."""

    def __init__(self) -> None:
        self.code = 0

    def check(self, command: str, expected: str) -> None:
        verb, _, name = command.partition(" ")
        if verb == "cat" and "|" not in name and not Path(name).exists():
            Path(name).write_text(expected, encoding="utf-8")
        got = self.run(command).strip() + "\n"
        if not doctest.OutputChecker().check_output(expected, got, FLAGS):
            raise AssertionError(f"$ {command}\nexpected\n{expected}\ngot\n{got}")

    def run(self, command: str) -> str:
        if command == "echo $?":
            return f"{self.code}\n"
        if command.startswith("argmetric ") and not set("|<>;") & set(command):
            return self.run_here(shlex.split(command)[1:])
        done = subprocess.run(
            ["bash", "-c", command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        self.code = done.returncode
        return done.stdout.decode()

    def run_here(self, arguments: list[str]) -> str:
        from argmetric.cli import main

        raw = io.BytesIO()
        stream = io.TextIOWrapper(raw, encoding="utf-8", write_through=True)
        with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
            self.code = main(arguments)
        return raw.getvalue().decode()
