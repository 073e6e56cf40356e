"""What the tests of sources and pages share.

The ``console`` blocks of README and of the pages are replayed, as doctest replays the
Python ones. A line that begins with ``$`` is run; what follows has to be what it
prints, standard error included, with any white space and with ``...`` for anything. The
blocks of a page share one folder and see the files that earlier blocks wrote; ``$ cat
FILE`` of a file that is not there yet makes it from what follows.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
# Modules that import torch or triton are collected where these are installed.
collect_ignore = ["tests/tensors/interpreted.py", "docs/draw_results.py"]  # programs
if sys.platform == "win32":
    collect_ignore.append("tests/house/test_fuzz.py")  # it sets limits of memory
if find_spec("torch") is None:
    names = ("_achievable", "_losses")
    collect_ignore += [f"src/argmetric/tensors/{name}.py" for name in names]
if find_spec("triton") is None:
    fused = (ROOT / "src/argmetric/tensors").glob("_fused*.py")
    collect_ignore += [str(path.relative_to(ROOT)) for path in fused]

BLOCKS = {  # README indents nothing
    ".rst": re.compile(
        r"^( *)\.\. code-block:: console\n\n((?:(?:\1   .*)?\n)+)", re.M
    ),
    ".md": re.compile(r"^()```console\n(.*?)^```$", re.M | re.S),
}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
WIDTH = "88"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip an example with tensors where torch is not installed."""
    if isinstance(item, pytest.DoctestItem) and any(
        example.source.startswith("import torch") for example in item.dtest.examples
    ):
        pytest.importorskip("torch")


def pytest_runtest_teardown() -> None:
    """Close the figures of a test or a page: pyplot warns of more than twenty."""
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> object:
    if blocks(file_path):
        return ConsolePage.from_parent(parent, path=file_path)
    return None


def blocks(page: Path) -> list[str]:
    """Return the console blocks of README or of a page of docs, without indent."""
    if page != ROOT / "README.md" and not page.is_relative_to(ROOT / "docs"):
        return []
    if page.suffix not in BLOCKS:
        return []
    found = BLOCKS[page.suffix].findall(page.read_text(encoding="utf-8"))
    return [textwrap.dedent(block) for _, block in found]


class ConsolePage(pytest.File):
    """The console blocks of a page: one test, since later blocks use earlier files."""

    def collect(self) -> Iterator[pytest.Item]:
        yield ConsoleItem.from_parent(self, name="console")


class ConsoleItem(pytest.Item):
    """Run every command of a page and compare what it prints."""

    def runtest(self) -> None:
        factory = self.config._tmp_path_factory
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(factory.mktemp("console"))
            patch.setenv("COLUMNS", WIDTH)
            patch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
            shell = Shell()
            for block in blocks(self.path):
                for command, expected in sessions(block):
                    shell.check(command, expected)

    def repr_failure(self, excinfo: pytest.ExceptionInfo, style: object = None) -> str:
        return str(excinfo.value)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"console blocks of {self.path.name}"


def sessions(block: str) -> Iterator[tuple[str, str]]:
    """Commands of a block, each with the lines that should follow."""
    lines = block.splitlines()
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
