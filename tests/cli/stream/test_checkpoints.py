"""``argmetric stream``: checkpoints, kills and signals."""

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from argmetric._ground.whole_files import held_alone
from argmetric.cli.stream._run import newest_checkpoint, save_checkpoint
from argmetric.scale.files._source import Source
from cli_stream import (
    N,
    X,
    Y,
    names,
    newest,
    read,
    same_state,
    svm_lines,
    write,
    write_all,
)
from command import PATIENCE, wait_for
from slow import SLOW


def stopped_halfway(run, *options):
    """A run over all rows, and one that a bad row stops at 250."""
    lines = svm_lines()
    write("rows.svm", lines)
    base = [
        "rows.svm",
        *["--features", "5", "-o", "out.jsonl", "--every", "100"],
        *options,
    ]
    assert run(*base, "--checkpoint", "whole").code == 0
    whole = Path("out.jsonl").read_bytes()
    write("rows.svm", [*lines[:250], "oh no", *lines[250:]])
    assert run(*base, "--checkpoint", "kept").code == 1
    write("rows.svm", lines)
    return whole


def resume(run, *options):
    return run(
        "rows.svm", "--features", "5", "-o", "out.jsonl", "--every", "100",
        "--checkpoint", "kept", "--resume", *options,
    )  # fmt: skip


def test_resume_is_the_same_as_one_run(run):
    whole = stopped_halfway(run)
    assert names() == [f"checkpoint-{k:015d}.npz" for k in (200, 250)]
    with open("out.jsonl", "a") as file:
        file.write("what a killed run had written beyond\n" * 9)
    ended = resume(run)
    assert ended.code == 0, ended.err
    assert "going on after 250 rows" in ended.err
    assert Path("out.jsonl").read_bytes() == whole
    same_state(newest("kept"), newest("whole"))
    assert newest().manifest["finished"]
    # Once more: nothing is left to do, and the answer is the same
    again = resume(run, "--json")
    assert json.loads(again.out)["rows"] == N
    assert Path("out.jsonl").read_bytes() == whole
    # A file that has grown is gone on with
    write("rows.svm", [*svm_lines(), *svm_lines()])
    assert json.loads(resume(run, "--json").out)["rows"] == 2 * N


def test_the_input_is_not_overwritten(run):
    write("rows.svm", svm_lines())
    before = Path("rows.svm").read_bytes()
    run("rows.svm", "-o", "./rows.svm").failed(
        2, "-o ./rows.svm is also an input: pass another"
    )
    assert Path("rows.svm").read_bytes() == before
    done = run("rows.svm", "-o", "./rows.svm", "--force")  # it is read as it is written
    assert done.code == 2
    assert "-o ./rows.svm is the input: it would be overwritten" in done.err
    assert Path("rows.svm").read_bytes() == before


def test_without_resume_a_used_folder_is_refused(run):
    stopped_halfway(run)
    run("rows.svm", "--checkpoint", "kept").failed(1, "pass --resume to go on")


@pytest.mark.parametrize("damage", ["cut", "empty", "flip", "text", "version"])
def test_a_damaged_checkpoint_is_passed_over(run, damage):
    whole = stopped_halfway(run)
    path = Path("kept") / names()[-1]
    data = path.read_bytes()
    Path("new").mkdir()
    newer = Path(save_checkpoint(Path("new"), 0, {"version": 99}, {}))
    spoilt = {
        "cut": data[: len(data) // 2],
        "empty": b"",
        "flip": data.replace(b"configuration", b"conFiguration"),
        "text": b"not a checkpoint",
        "version": newer.read_bytes(),
    }[damage]
    assert spoilt != data
    path.write_bytes(spoilt)
    ended = resume(run)
    assert ended.code == 0, ended.err
    assert f"{path} is damaged" in ended.err or "has version 99" in ended.err
    assert "going on after 200 rows" in ended.err
    assert Path("out.jsonl").read_bytes() == whole
    same_state(newest("kept"), newest("whole"))
    assert path.with_suffix(".damaged").read_bytes() == spoilt


def test_no_damage_goes_unnoticed(run):
    stopped_halfway(run)
    path = Path("kept") / names()[-1]
    data, good = path.read_bytes(), newest()
    rng = random.Random(1)
    refused = 0
    for _ in range(150):
        place = rng.randrange(len(data))
        spoilt = bytearray(data)
        spoilt[place] ^= 1 << rng.randrange(8)
        path.write_bytes(spoilt)
        try:
            found = newest_checkpoint(Path("kept"))
        finally:
            path.write_bytes(data)
        assert found is not None
        if found.path != str(path):
            refused += 1
            continue
        same_state(found, good)  # a byte that says nothing, such as a date
    assert refused > 100


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--metric", "f2"], "is of a run with --metric f1, not f2"),
        (["--rule", "newton"], "--rule histogram, not newton"),
        (["--step", "0.5"], "--step left out, not 0.5"),
        (["--zero-based"], "--zero-based left out, not given"),
    ],
)
def test_other_options_are_refused(run, options, message):
    stopped_halfway(run)
    resume(run, *options).failed(1, message)


def test_other_inputs_and_outputs_are_refused(run):
    stopped_halfway(run)
    lines = svm_lines()
    write("rows.svm", lines[::-1])
    assert "is another file than the one of the checkpoint" in resume(run).err
    write("rows.svm", [*lines[:249], lines[249] + " ", *lines[250:]])
    assert "is another file than the one of the checkpoint" in resume(run).err
    write("rows.svm", lines[:100])
    assert "fewer than the" in resume(run).err
    write("rows.svm", lines)
    Path("out.jsonl").write_bytes(b"")
    assert "out.jsonl has 0 bytes" in resume(run).err
    Path("out.jsonl").unlink()
    assert "out.jsonl is gone" in resume(run).err
    ended = run("rows.svm", "--features", "5", "--checkpoint", "kept", "--resume")
    assert "--output given, not left out" in ended.err


def test_standard_input_is_read_past(run):
    lines = svm_lines()
    data = ("\n".join(lines) + "\n").encode()
    options = ["-", "--features", "5", "-o", "out.jsonl", "--checkpoint"]
    assert run(*options, "whole", stdin=data).code == 0
    whole = Path("out.jsonl").read_bytes()
    bad = "\n".join([*lines[:250], "oh no", *lines[250:]]).encode()
    assert run(*options, "kept", stdin=bad).code == 1
    other = data[:5] + b"2" + data[6:]
    assert "another file" in run(*options, "kept", "--resume", stdin=other).err
    assert "shorter than" in run(*options, "kept", "--resume", stdin=data[:99]).err
    assert run(*options, "kept", "--resume", stdin=data).code == 0
    assert Path("out.jsonl").read_bytes() == whole
    same_state(newest("kept"), newest("whole"))


def test_one_run_to_a_folder(run):
    pytest.importorskip("fcntl")
    write("rows.svm", svm_lines())
    Path("kept").mkdir()
    with held_alone("kept/lock", ""):
        ended = run("rows.svm", "--checkpoint", "kept")
        assert "another run writes to kept" in ended.err
    assert run("rows.svm", "--checkpoint", "kept").code == 0


KILLS = 12 if SLOW else 4
KILLER = """
import os, random, signal, sys, time
from pathlib import Path
from argmetric.cli import main

command = ["stream", "rows.svm", "--features", "5", "--every", "25"]

def attempt(folder, delay):
    # a process of its own, killed after a delay; its exit code, None if it was killed
    child = os.fork()
    if child == 0:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        code = 1
        try:
            code = main([*command, "-o", folder + ".jsonl", "--checkpoint", folder,
                         "--resume"])
        finally:
            os._exit(code)
    if delay is not None:
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    return None if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)

assert main([*command, "-o", "warm.jsonl"]) == 0
begin = time.perf_counter()
assert attempt("whole", None) == 0
seconds = time.perf_counter() - begin
rng, kills, series = random.Random(int(sys.argv[2])), 0, 0
while kills < int(sys.argv[1]):
    folder, left = f"kept{series}", 8
    series += 1
    while True:
        # at most so many kills of one run: no run is to be killed for ever
        delay = rng.uniform(0.0, 0.6 * seconds) if left else None
        code = attempt(folder, delay)
        if code is not None:
            assert code == 0, code
            break
        kills, left = kills + 1, left - 1
print(kills, series, file=sys.stderr)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_kills_at_random_moments_change_nothing(tmp_path):
    os.chdir(tmp_path)
    write("rows.svm", svm_lines(np.tile(X, (2, 1)), np.tile(Y, 2)))
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KILLER), str(KILLS), "11"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    kills, series = map(int, done.stderr.split()[-2:])
    assert kills >= KILLS
    whole = Path("whole.jsonl").read_bytes()
    assert len(whole.splitlines()) == 2 * N
    for i in range(series):
        assert Path(f"kept{i}.jsonl").read_bytes() == whole
        same_state(newest(f"kept{i}"), newest("whole"))
        assert len(names(f"kept{i}")) == 2  # nothing half-written is left


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_signals_end_a_run_in_order(run, number, code):
    """While it waits for more rows, with half a line read."""
    lines, rows = svm_lines(), N // 2
    options = ["-", "--features", "5", "--checkpoint", "kept", "-o", "out.jsonl"]
    options += ["--every", str(rows)]
    process = subprocess.Popen(
        [sys.executable, "-m", "argmetric.cli", "stream", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdin.write("\n".join([*lines[:rows], lines[rows][:3]]).encode())
    process.stdin.flush()
    # It has learned all whole lines: no other checkpoint comes, but that of its end
    learned = Path("kept", f"checkpoint-{rows:015d}.npz")
    wait_for(learned.exists, process)
    learned.unlink()
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, err
    assert b"stopped by SIG" in out
    assert newest().manifest["position"]["rows"] == rows
    assert not newest().manifest["finished"]
    data = "\n".join(lines)
    assert run(*options, "--resume", stdin=data.encode()).code == 0
    assert len(read()) == N


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
        assert run("-", "--features", "3").code == 130
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("name", ["rows.svm", "rows.csv", "rows.jsonl"])
def test_a_stopped_run_over_a_compressed_file_goes_on_within_it(run, monkeypatch, name):
    monkeypatch.setattr("argmetric.scale.files._source.PIECE", 1 << 10)
    write_all()
    whole = Path(name).read_bytes()
    lines = whole.splitlines(keepends=True)
    spoilt = [*lines[:251], b"oh no\n", *lines[251:]]
    options = [f"{name}.gz", "-o", "out.jsonl", "--every", "100"]
    options += ["--features", "5"] if name == "rows.svm" else []
    assert run(name, *options[1:]).code == 0
    expected = Path("out.jsonl").read_bytes()
    Path(f"{name}.gz").write_bytes(gzip.compress(b"".join(spoilt)))
    assert run(*options, "--checkpoint", "kept").code == 1
    assert newest().manifest["position"]["offset"] == len(b"".join(spoilt[:251]))
    Path(f"{name}.gz").write_bytes(gzip.compress(whole))
    assert run(*options, "--checkpoint", "kept", "--resume").code == 0
    assert Path("out.jsonl").read_bytes() == expected
    changed = whole.replace(b"1", b"2", 1)
    Path(f"{name}.gz").write_bytes(gzip.compress(changed))
    refused = run(*options, "--checkpoint", "kept", "--resume")
    assert (refused.code, "is another file than the one" in refused.err) == (1, True)
