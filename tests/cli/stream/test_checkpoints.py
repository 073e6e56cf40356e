"""``argmetric stream``: what was learned is kept, also when a run is stopped."""

import gzip
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from argmetric.cli.stream._run import read_checkpoint
from argmetric.scale.files._source import Source
from cli_stream import N, csv_lines, learned, read, same_state, write, write_all
from command import PATIENCE, wait_for

HEADER, *LINES = csv_lines()


def test_a_bad_row_leaves_what_was_learned_before_it(run):
    write("some.csv", [HEADER, *LINES[:250]])
    assert run("some.csv", "--checkpoint", "some.npz").code == 0
    write("rows.csv", [HEADER, *LINES[:250], "oh no", *LINES[250:]])
    run("rows.csv", "--checkpoint", "kept.npz").failed(1, "row 251: it has 1 cell")
    same_state(learned(), learned("some.npz"))
    assert learned().manifest["rows"] == 250


def test_the_input_is_not_overwritten(run):
    write("rows.csv", csv_lines())
    before = Path("rows.csv").read_bytes()
    run("rows.csv", "-o", "./rows.csv").failed(
        2, "-o ./rows.csv is also an input: pass another"
    )
    assert Path("rows.csv").read_bytes() == before
    done = run("rows.csv", "-o", "./rows.csv", "--force")  # it is read as it is written
    assert done.code == 2
    assert "-o ./rows.csv is the input: it would be overwritten" in done.err
    assert Path("rows.csv").read_bytes() == before


def test_no_damage_goes_unnoticed(run):
    run(write("rows.csv", csv_lines()), "--checkpoint", "kept.npz")
    path, good = Path("kept.npz"), learned()
    data, rng, refused = path.read_bytes(), random.Random(1), 0
    for _ in range(150):
        place = rng.randrange(len(data))
        spoilt = bytearray(data)
        spoilt[place] ^= 1 << rng.randrange(8)
        path.write_bytes(spoilt)
        ended = run("predict", "kept.npz", "rows.csv", "-o", "out.jsonl")
        if ended.code == 0:  # a byte that says nothing, such as a date
            same_state(read_checkpoint("kept.npz"), good)
            continue
        assert "Traceback" not in ended.err
        refused += 1
    assert refused > 100


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_signals_end_a_run_in_order(run, number, code):
    """While it waits for more rows, with half a line read."""
    rows = N // 2
    options = ["-", "--checkpoint", "kept.npz", "-o", "out.jsonl", "--every", str(rows)]
    process = subprocess.Popen(
        [sys.executable, "-m", "argmetric.cli", "stream", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    text = "\n".join([HEADER, *LINES[:rows], LINES[rows][:3]])
    process.stdin.write(text.encode())
    process.stdin.flush()
    # It has learned all whole lines: what comes later is the checkpoint of its end
    wait_for(Path("kept.npz").exists, process)
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, err
    assert b"stopped by SIG" in out
    assert learned().manifest["rows"] == rows
    assert len(read()) == rows


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_signal_before_the_first_byte(run, monkeypatch):
    def nothing_comes(source, seconds):
        os.kill(os.getpid(), signal.SIGINT)
        return False

    monkeypatch.setattr(Source, "_ready", nothing_comes)
    before = signal.getsignal(signal.SIGINT)  # ignored, where tests run in background
    reading, writing = os.pipe()
    with open(reading) as file, open(writing, "w"):
        monkeypatch.setattr(sys, "stdin", file)
        assert run("-").code == 130
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_compressed_text_is_read_as_it_was(run, monkeypatch, name):
    monkeypatch.setattr("argmetric.scale.files._source.PIECE", 1 << 10)
    monkeypatch.setattr("argmetric.scale.files._read.BLOCK_BYTES", 1 << 10)
    write_all()
    Path(f"{name}.gz").write_bytes(gzip.compress(Path(name).read_bytes()))
    assert run(name, "-o", "plain.jsonl").code == 0
    assert run(f"{name}.gz", "-o", "packed.jsonl").code == 0
    assert Path("packed.jsonl").read_bytes() == Path("plain.jsonl").read_bytes()
