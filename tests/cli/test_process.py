"""The command as a process: streams that are closed, and Ctrl-C while it loads."""

import subprocess
import sys

import pytest

ROWS = "score,label\n.2,0\n.7,1\n.9,1\n"
DECIDED = "score,label,decision\n.2,0,0\n.7,1,1\n.9,1,1\n"
INTERRUPTED = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Finder())
from argmetric.cli import main
sys.argv = ["argmetric", "decide", "rows.csv", "-o", "out.csv"]
sys.exit(main())
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text(ROWS)
    return tmp_path


def shell(words):
    command = f"{sys.executable} -m argmetric {words}"
    return subprocess.run(command, shell=True, capture_output=True, text=True)


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_that_is_not_needed(folder, closed):
    ended = shell(f"decide rows.csv -o out.csv {closed}")
    assert (ended.returncode, ended.stdout) == (0, "")
    assert "Traceback" not in ended.stderr
    assert (folder / "out.csv").read_text() == DECIDED


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
def test_a_closed_stream_that_is_needed(folder):
    ended = shell("decide rows.csv >&-")
    lines = ended.stderr.splitlines()
    assert ended.returncode == 1
    assert lines[-1] == "argmetric: standard output: Bad file descriptor"
    assert "Traceback" not in ended.stderr
    assert shell("decide none.csv 2>&-").returncode == 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(
    "module",
    ["argmetric.cli._main", "cyclopts", "numpy", "pyarrow", "argmetric._verbs.decide"],
)
def test_an_interrupt_while_modules_are_loaded(folder, module):
    code = INTERRUPTED.format(module=module)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (130, "")
    assert ended.stderr == "argmetric: interrupted\n"
    assert not (folder / "out.csv").exists()
