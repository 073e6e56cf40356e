"""What SECURITY.md promises: no network, and nothing in a file is run."""

import ast
from pathlib import Path

import pytest

from processes import run_program

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src/argmetric").rglob("*.py"))

# Modules and functions that run what they are given, or reach out; where one is used
# all the same, and why
FORBIDDEN = {"pickle", "cloudpickle", "marshal", "shelve", "subprocess", "socket"}
FORBIDDEN |= {
    "urllib",
    "http",
    "ftplib",
    "smtplib",
    "requests",
    "httpx",
    "eval",
    "exec",
}
ALLOWED: dict[tuple[str, str], str] = {}

# Pairs of sockets that are connected to each other (asyncio has one) reach nowhere
WATCHED = """
import sys
OPENED = ("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo")
def refuse(event, arguments):
    if event in OPENED:
        raise AssertionError(f"{event} {arguments[1:]}")
sys.addaudithook(refuse)
"""

USED = """
import warnings
warnings.simplefilter("ignore")
import numpy as np, argmetric as am
from argmetric.cli import main
rng = np.random.default_rng(0)
p = rng.beta(1, 3, 300)
y = (rng.random(300) < p).astype(int)
d = am.decide(p, "f1", groups=np.arange(300) // 10)
am.forecast(p, d.labels, "f1", reference=(y, p))
am.tune(y, p, "mcc").save("rule.json")
am.Rule.load("rule.json")
am.report(am.decide(p, "f1")).save("page.html")
np.savetxt("t.csv", np.column_stack([p, y]), "%g", ",", header="p,label", comments="")
for line in ("demo", "metrics", "decide t.csv -o out.csv", "tune t.csv -o rule2.json"):
    code = main(line.split())
    assert code == 0, (line, code)
"""


def test_no_socket_is_opened(tmp_path):
    run_program(WATCHED + USED, folder=tmp_path, COLUMNS="80")


def test_the_watch_sees_a_socket():
    code = WATCHED + "import socket\nsocket.socket().connect(('127.0.0.1', 9))"
    done = run_program(code, fails=True)
    assert "AssertionError: socket.connect" in done.stderr


def forbidden_in(tree):
    """Names of what may not be used: imported, called, or asked for by name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Call):
            function = node.func
            names = [function.id] if isinstance(function, ast.Name) else []
            if names == ["load_module"] and isinstance(node.args[0], ast.Constant):
                names = [str(node.args[0].value)]
            if any(
                word.arg == "shell" and ast.unparse(word.value) == "True"
                for word in node.keywords
            ):
                names.append("subprocess")
        else:
            continue
        yield from {name.partition(".")[0] for name in names} & FORBIDDEN


def test_nothing_that_is_read_can_be_run():
    used = {
        (name, path.relative_to(ROOT / "src/argmetric").as_posix())
        for path in SOURCES
        for name in forbidden_in(ast.parse(path.read_text("utf-8")))
    }
    assert used == set(ALLOWED)


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "from urllib.request import urlopen",
        "eval('1')",
        "load_module('socket')",
        "run('ls', shell=True)",
    ],
)
def test_what_is_forbidden_is_seen(code):
    assert list(forbidden_in(ast.parse(code)))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_arrays_are_read_without_pickle(path):
    text = path.read_text("utf-8")
    assert text.count("np.load(") == text.count("allow_pickle=False) as")
