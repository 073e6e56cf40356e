"""5. A long stream through the command line, at constant memory.

Ten blocks of 100,000 rows of CSV with eight features are drawn beforehand and
fed to standard input in turns, 50 million rows in all: what is measured is memory and
rate, and neither depends on whether a row has been seen before. A checkpoint is
written every million rows.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
from harness import emit

FEATURES, BLOCK, BLOCKS = 8, 100_000, 10


def run(*, quick: bool) -> None:
    n = 1_000_000 if quick else 50_000_000
    blocks = [_block(seed) for seed in range(BLOCKS)]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "argmetric.cli", "stream", "-", "--json"]
        command += ["--format", "csv", "--every", "1000000"]
        command += ["--checkpoint", str(Path(folder, "kept.npz"))]
        start = time.perf_counter()
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert child.stdin is not None
        assert child.stdout is not None
        found: list[bytes] = []
        reader = threading.Thread(target=_collect, args=(child.stdout, found))
        reader.start()
        child.stdin.write(
            ",".join(["label", *map("f{}".format, range(FEATURES))]).encode() + b"\n"
        )
        memory = list(_feed(child.stdin, child.pid, blocks, n))
        child.stdin.close()
        reader.join()
        code = child.wait()
        seconds = time.perf_counter() - start
    if code:
        sys.exit(f"argmetric stream ended with {code}")
    answer = json.loads(b"".join(found))
    tenth = max(1, len(memory) // 10)
    emit(
        "long",
        f"memory after {n:,} rows, command line",
        memory[-1] / memory[tenth - 1],
        "x that after a tenth of them",
        ("<=", 1.05),
        mib=memory[-1] / 1024,
        most_mib=max(memory) / 1024,
        rows=answer.get("rows"),
        score=answer.get("score"),
        rows_per_second=n / seconds,
        minutes=seconds / 60,
    )


def _collect(stream: IO[bytes], found: list[bytes]) -> None:
    found.append(stream.read())


def _feed(stream: IO[bytes], pid: int, blocks: list[bytes], n: int) -> Iterator[int]:
    """Write the rows; memory of the child in KiB after every block."""
    for i in range(n // BLOCK):
        stream.write(blocks[i % BLOCKS])
        yield _resident(pid)


def _resident(pid: int) -> int:
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1])
    shown = subprocess.run(
        ["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, check=True
    )
    return int(shown.stdout)


def _block(seed: int) -> bytes:
    """Rows of CSV, one in twenty positive."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(BLOCK, FEATURES)).round(3)
    z = X @ np.linspace(1.5, -1.0, FEATURES) - 5.0
    y = rng.random(BLOCK) < 1.0 / (1.0 + np.exp(-z))
    rows = np.column_stack([y.astype(int).astype(str), X.astype(str)]).tolist()
    return "".join(f"{','.join(row)}\n" for row in rows).encode()
