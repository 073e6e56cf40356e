"""Run commands on files that are made to hurt: messages, memory and CPU seconds.

    python benchmarks/files.py hostile --table  # the figures of docs/limits.rst
    python benchmarks/files.py --quick          # smaller files

Every command is a process of its own, whose address space is bounded: a file that is
not refused in time costs a line of this table, and not the machine.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import emit, run_sections

MOST_BYTES = 8 << 30  # of the address space of a command
MOST_SECONDS = 300
TARGET_MB = 1000.0


class Case(NamedTuple):
    """A file by name and in words, how it is made, and the command that gets it."""

    file: str
    name: str
    make: Callable[[Path], None]
    words: str


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    message: str
    megabytes: float
    seconds: float


def run(words: str, folder: Path) -> Ended:
    """Run a command of argmetric by a shell, and measure it."""
    command = f"exec {sys.executable} -m argmetric {words}"
    process = subprocess.Popen(
        command,
        shell=True,
        cwd=folder,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=_bounded,
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    code = process.returncode = os.waitstatus_to_exitcode(status)
    lines = [line for line in said.splitlines() if line.startswith("argmetric: ")]
    done = "rows are written" if code == 0 else ""
    message = lines[-1].removeprefix("argmetric: ") if lines else done
    return Ended(code, message, used.ru_maxrss / 1e3, used.ru_utime + used.ru_stime)


def _bounded() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))


def nested(path: Path) -> None:
    deep = "[" * 20_000 + "]" * 20_000
    path.write_text(f'{{"score": 0.5, "x": {deep}}}\n')


def rule(path: Path) -> None:
    path.write_text('{"a":' * 20_000 + "1" + "}" * 20_000)
    (path.parent / "rows.csv").write_text("score\n0.2\n0.7\n")


def zeros(size: int) -> Iterator[bytes]:
    piece = b"0" * (1 << 20)
    yield b"score\n"
    for _ in range(size >> 20):
        yield piece


def bomb(size: int, codec: str | None = None) -> Callable[[Path], None]:
    """One long line, which may be packed."""

    def make(path: Path) -> None:
        with pa.output_stream(str(path), compression=codec) as file:
            for piece in zeros(size):
                file.write(piece)

    return make


def columns(count: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        names = ["score", *(f"c{i}" for i in range(count - 1))]
        row = ["0.5", *("7" for _ in range(count - 1))]
        lines = [",".join(names), *([",".join(row)] * 6)]
        path.write_text("\n".join(lines) + "\n")

    return make


def brackets(path: Path) -> None:
    lists = "[" + ",".join(["[1]"] * 100_000) + "]"
    path.write_text(f'{{"score": 0.5, "x": {lists}}}\n' * 10)


def plain(path: Path) -> None:
    path.write_text("score\n0.2\n0.7\n")


def tiny(count: int) -> Callable[[Path], None]:
    """A folder of files of ten rows."""

    def make(path: Path) -> None:
        path.mkdir()
        rng = np.random.default_rng(0)
        rows = {"user": rng.integers(0, 5, 10), "score": rng.beta(0.5, 2, 10)}
        pq.write_table(pa.table(rows), path / "first.parquet")
        data = (path / "first.parquet").read_bytes()
        for i in range(count - 1):
            (path / f"part-{i:06d}.parquet").write_bytes(data)

    return make


def cases(*, quick: bool) -> list[Case]:
    """All of them; quick ones are small."""
    size = 1 << 28 if quick else 2 << 30
    line = 1 << 27 if quick else 1 << 29
    wide = 2_000 if quick else 100_000
    files = 200 if quick else 10_000
    out = "decide {} -o out.csv"
    lines = "decide {} -o out.jsonl"
    ruled = "decide rows.csv --rule {}"
    many = f"{files:,} files of 10 rows"
    return [
        Case("deep.jsonl", "JSONL of 20,000 levels", nested, out),
        Case("deep.json", "a rule of 20,000 levels", rule, ruled),
        Case("flat.jsonl", "a million brackets, none deep", brackets, lines),
        Case("bomb.csv.gz", "gz of one long line", bomb(size, "gzip"), out),
        Case("bomb.csv.zst", "zst of one long line", bomb(size, "zstd"), out),
        Case("line.csv", "one long line", bomb(line), out),
        Case("wide.csv", f"{wide:,} columns, 6 rows", columns(wide), out),
        Case("wider.csv", "300,000 columns, 6 rows", columns(300_000), out),
        Case("closed.csv", "standard output closed", plain, "decide {} >&-"),
        Case("few", "--memory 100", tiny(3), "decide {} -o out --memory 100"),
        Case("tiny", many, tiny(files), "decide {} -o out --group user"),
    ]


def hostile(*, quick: bool) -> None:
    """Run all cases; one JSON line each."""
    for case in cases(quick=quick):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            case.make(place / case.file)
            ended = run(case.words.format(case.file), place)
        about = {"exit": ended.code, "message": ended.message, "seconds": ended.seconds}
        most = ("<=", TARGET_MB)
        emit("hostile", case.name, ended.megabytes, "MB", most, **about)


if __name__ == "__main__":
    sys.exit(run_sections(__doc__, {"hostile": hostile}))
