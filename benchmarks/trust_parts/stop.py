"""How soon every command ends after Ctrl-C and after a request to end, at hard work."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import emit

TARGET = 2.0
PATIENCE = 120.0
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run(*, quick: bool) -> None:
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for name, command in _commands(quick):
            waits = (0.5,) if quick else (2.0, 4.0, 8.0)
            for number in SIGNALS:
                _judge(name, command, number, waits)


def _judge(
    name: str, command: list[str], number: signal.Signals, waits: tuple[float, ...]
) -> None:
    """The longest time to the end, over signals at several moments of the work."""
    before = set(os.listdir())
    taken = [seconds for wait in waits if (seconds := _end(command, number, wait))]
    left = sorted(set(os.listdir()) - before - {"out.jsonl"})
    emit(
        "stop",
        f"{name}: from {number.name} to the end",
        max(taken, default=None),
        "s",
        ("<=", TARGET) if taken else None,
        moments=len(taken),
        files_left=[file for file in left if file.endswith(".tmp")],
    )


def _end(command: list[str], number: signal.Signals, wait: float) -> float | None:
    """Seconds from a signal to the end of a command, None if it was done before."""
    process = subprocess.Popen(
        [sys.executable, "-m", "argmetric.cli", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Jobs in the background are born deaf to Ctrl-C
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        process.wait(wait)
        return None
    except subprocess.TimeoutExpired:
        start = time.perf_counter()
    process.send_signal(number)
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return time.perf_counter() - start


def _commands(quick: bool) -> Iterator[tuple[str, list[str]]]:
    rng = np.random.default_rng(0)
    n = 20_000 if quick else 5_000_000
    rows = f"{n:,} rows"
    _write_rows("rows.parquet", n, rng)
    scored = ["rows.parquet", "--score", "p"]
    yield f"decide, {rows}", ["decide", *scored, "-o", "out.parquet"]
    yield (
        f"decide in groups, {rows}",
        ["decide", *scored, "--group", "g", "-o", "o.csv"],
    )
    yield f"forecast, {rows}", ["forecast", *scored]
    yield f"tune, {rows}", ["tune", *scored, "-o", "rule.json"]
    yield f"calibrate, {rows}", ["calibrate", *scored, "-o", "map.json"]
    target = ["--target", "y", "--drop", "g"]
    yield f"stream, {rows}", ["stream", "rows.parquet", *target, "-o", "out.jsonl"]
    _write_rows("some.parquet", n // 10, rng)
    yield f"train, {n // 10:,} rows", ["train", "some.parquet", *target]
    m = 300 if quick else 20_000
    _write_rows("few.parquet", m, rng)
    Path("few.csv").write_text("y\n" + "\n".join(map(str, rng.integers(0, 2, m))))
    for utility in ("f1", "boundary_similarity"):
        options = ["few.parquet", "few.csv", "--score", "p", "-u", utility]
        yield f"expect {utility}, {m:,} labels", ["expect", *options]
    tokens = 500 if quick else 20_000
    _write_sentence("long.jsonl", tokens, rng)
    names = ["--names", "O,B-X,I-X"]
    yield f"spans, a sentence of {tokens:,} tokens", ["spans", "long.jsonl", *names]
    sentences = 100 if quick else 30_000
    _write_columns("text.conll", sentences, rng)
    size = f"{sentences:,} sentences"
    tag = ["tag", "train", "text.conll", "--task", "chunk", "--model", "text.tag"]
    yield f"tag train, {size}", tag
    _write_columns("little.conll", 100, rng)
    quickly = [*tag[:2], "little.conll", *tag[3:], "--epochs", "1"]
    subprocess.run(
        [sys.executable, "-m", "argmetric.cli", *quickly],
        check=True,
        capture_output=True,
    )
    predict = ["tag", "predict", "text.tag", "text.conll", "-o", "tagged.txt"]
    yield f"tag predict, {size}", predict


def _write_rows(name: str, n: int, rng: np.random.Generator) -> None:
    p = rng.beta(0.5, 2.0, n)
    columns = {"p": p, "y": rng.random(n) < p, "g": np.arange(n) // 10}
    pq.write_table(pa.table(columns), name)


def _write_sentence(name: str, n: int, rng: np.random.Generator) -> None:
    p = np.tile([0.947, 0.003, 0.05], (n, 1)) + rng.uniform(0, 1e-3, (n, 3))
    p /= p.sum(axis=1, keepdims=True)
    row = {"tokens": ["a"] * n, "probabilities": p.tolist()}
    Path(name).write_text(json.dumps(row) + "\n")


def _write_columns(name: str, n: int, rng: np.random.Generator) -> None:
    words = rng.integers(0, 20_000, (n, 20))
    labels = np.array(["O", "B-NP", "B-VP"])[words % 3]
    tags = np.array(["DT", "NN", "VB", "JJ"])[words % 4]
    with open(name, "w") as file:
        for sentence in zip(words, tags, labels, strict=True):
            for word, tag, label in zip(*sentence, strict=True):
                print(f"w{word} {tag} {label}", file=file)
            print(file=file)
