"""Help, signs of life, and commands as processes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import argmetric as am
from cli_scores import COMPILED, DECIDED, Y, write_csv
from command import PATIENCE


def test_the_package_is_the_command(run):
    assert "Forecast the score of a decision" in run().out
    assert run("--version").out == f"{am.__version__}\n"
    asked = [sys.executable, "-m", "argmetric", "--version"]
    ended = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert ended.stdout == f"{am.__version__}\n"


@pytest.fixture
def shown(monkeypatch):
    """What a terminal would be shown if the work took long."""
    texts = []

    def told(*text):
        """Show nothing."""

    def status(console, text):
        texts.append(text)
        return SimpleNamespace(**dict.fromkeys(("start", "stop", "update"), told))

    monkeypatch.setattr("rich.console.Console.status", status)
    terminal = SimpleNamespace(isatty=lambda: True)
    streams = SimpleNamespace(stderr=terminal, stdin=terminal)
    monkeypatch.setattr("argmetric.cli._report.sys", streams)
    return texts


SENTENCES = "the an DT\ncat an NN\nsees an VB\n\n" * 5


@pytest.mark.parametrize(
    ("command", "work"),
    [
        (
            "decide s.csv --decision-column d -o o.csv",
            "checking 60 rows, deciding 60 rows, writing",
        ),
        ("decide s.csv --scores scor* -o o.csv", "deciding 60 rows, writing"),
        ("forecast s.csv", "checking 60 rows, forecasting 60 rows"),
        ("report s.csv --report o.md", "checking 60 rows, reporting on 60 rows"),
        ("evaluate s.csv", "evaluating 60 rows"),
        ("tune s.csv --report o.md", "tuning on 60 rows, reporting"),
        ("calibrate s.csv -o m.json", "calibrating on 60 rows"),
        ("stream s.csv --drop id", "learning"),
        (
            "expect s.csv s.csv --label label",
            "reading s.csv, expecting f1 of 60 labels",
        ),
        ("tag train s.txt --task pos --model t --epochs 1", "training on 5 sentences"),
        ("tag evaluate s.txt --task pos", "comparing 15 tokens"),
        ("spans s.jsonl --names O,B-X -o o.jsonl", "decoding 1 sentences"),
    ],
)
def test_every_command_gives_a_sign_of_life(run, shown, command, work):
    write_csv("s.csv", label=Y, decision=DECIDED)
    Path("s.txt").write_text(SENTENCES)
    row = {"tokens": ["Ana", "va"], "probabilities": [[0.6, 0.4], [0.9, 0.1]]}
    Path("s.jsonl").write_text(json.dumps(row) + "\n")
    words = command.split()
    assert run(*words).code == 0
    file = next(word for word in words if word.startswith("s."))
    assert ", ".join(shown) == f"reading {file}, {work}"


@pytest.fixture
def thousand(tmp_path):
    rng = np.random.default_rng(0)
    pq.write_table(pa.table({"score": rng.random(1000)}), tmp_path / "s.parquet")
    return tmp_path


def test_a_thousand_rows_are_light(thousand):
    code = """
import json, sys
from argmetric.cli import main
code = main(["decide", "s.parquet", "-o", "out.parquet"])
heavy = {"sklearn", "pandas", "scipy.stats", "matplotlib"} & set(sys.modules)
print(json.dumps([code, sorted(heavy)]))
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=thousand, capture_output=True, check=True)
    assert json.loads(done.stdout) == [0, []]


def test_only_the_command_that_is_called_is_loaded():
    code = """
import sys
from argmetric.cli import main
assert main(["metrics"]) == 0
loaded = {name for name in sys.modules if name.startswith("argmetric.cli._")}
others = {f"argmetric.cli._{name}" for name in ("decide", "forecast", "demo")}
assert not loaded & others, loaded
assert "pyarrow" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_reader_that_leaves_early(tmp_path):
    rows = "".join(f"{i},0.5\n" for i in range(200_000))
    (tmp_path / "s.csv").write_text("id,score\n" + rows)
    line = f"{sys.executable} -m argmetric.cli decide s.csv 2>err | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.stdout == b"id,score,decision\n"
    assert done.returncode == 141
    assert (tmp_path / "err").read_text() == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["metrics"], ["decide", "s.parquet"]])
def test_full_standard_output(thousand, arguments):
    command = [sys.executable, "-m", "argmetric.cli", *arguments]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command, cwd=thousand, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 1
    assert done.stderr == b"argmetric: standard output: No space left on device\n"


@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
@pytest.mark.parametrize("work", ["time.sleep(600)", COMPILED])
def test_interruption_leaves_no_temporary_file(tmp_path, sent, code, work):
    (tmp_path / "s.csv").write_text("score\n0.5\n")
    program = f"""
import hashlib, signal, sys, time
from argmetric.cli import main
from argmetric.scale.files import _write

signal.signal(signal.SIGINT, signal.default_int_handler)

def slow(stream, lines):
    stream.write(b"half")
    print("writing", flush=True)
    {work}

_write._write_lines = slow
sys.argv = ["argmetric", "decide", "s.csv", "-o", "out.csv"]
sys.exit(main())
"""
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline() == b"writing\n"
        process.send_signal(sent)
        _, err = process.communicate(timeout=PATIENCE)
    said = b"argmetric: interrupted\n" if sent == signal.SIGINT else b""
    assert (process.returncode, err) == (code, said)
    assert os.listdir(tmp_path) == ["s.csv"]


def test_a_command_that_ends_in_order_is_given_time_once():
    program = f"""
import hashlib, signal, time
from argmetric.cli import _errors

signal.signal(signal.SIGINT, signal.default_int_handler)
_errors.end_soon_after_signals()
with _errors.ends_in_order(signal.SIGINT):
    try:
        print("begun", flush=True)
        time.sleep(600)
    except KeyboardInterrupt:
        time.sleep(_errors.GRACE_SECONDS + 1)
    told = False
    while True:
        try:  # the second signal may come as soon as this is read
            if not told:
                told = True
                print("kept", flush=True)
            {COMPILED}
        except KeyboardInterrupt:
            pass
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE
    ) as process:
        for said in (b"begun\n", b"kept\n"):
            assert process.stdout.readline() == said
            process.send_signal(signal.SIGINT)
        assert process.wait(timeout=PATIENCE) == 130
