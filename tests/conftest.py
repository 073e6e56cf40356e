import inspect
import io
import os
import random
import re
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from argmetric._ground.jit import NOTICE
from command import Ended
from slow import SLOW

# The first example compiles kernels, and machines are noisy: no time limits.
settings.register_profile("argmetric", deadline=None, max_examples=100 if SLOW else 40)
settings.load_profile("argmetric")
MANY_CASES, QUICK_CASES = 24, 12
WHOLE_FOLDERS = {"browser", "cli", "house"}
NOTICE.given = True  # what tests read on stderr does not depend on the cache


WINDOWS = sys.platform == "win32"
# What a test that has one of these words in its source asks of POSIX
OF_POSIX = re.compile(
    r"SIGALRM|SIGKILL|mkfifo|os\.kill|/dev/|resource\.|chmod|symlink_to|os\.pipe|PIPE\b"
)


def needs_posix(item):
    """Whether a test uses signals, pipes, devices, rights of files or links."""
    function = getattr(item, "function", None)
    return function is not None and OF_POSIX.search(inspect.getsource(function))


def pytest_collection_modifyitems(config, items):
    """Kernels first: workers compile different ones, and load each other's later.

    Unless ARGMETRIC_SLOW is set, tests that take long are skipped, and of a test with
    more than `MANY_CASES` cases `QUICK_CASES` run.
    """
    items.sort(key=lambda item: not {"expected", "kernels"} & {*item.path.parts})
    for item in filter(needs_posix, items if WINDOWS else ()):
        item.add_marker(pytest.mark.skip(reason="needs POSIX"))
    if not SLOW:
        left_out = cases_left_out(items)
        config.hook.pytest_deselected(items=left_out)
        names = {item.nodeid for item in left_out}
        items[:] = [item for item in items if item.nodeid not in names]
        skip = pytest.mark.skip(
            reason="takes long: ARGMETRIC_SLOW=1, or make test-all, runs it"
        )
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(skip)


def cases_left_out(items):
    """The cases of tests with many parameters that do not run, always the same ones.

    Drawn at random and not evenly: even steps through a product of parameters can miss
    one of their values altogether. A case of scikit-learn's checks, of the command
    line or of the house rules is a question of its own: all of them run.
    """
    cases = {}
    for item in items:
        kept = WHOLE_FOLDERS & {*item.path.parts} or "check" in item.name.split("[")[0]
        if hasattr(item, "callspec") and not kept:
            cases.setdefault(item.nodeid.split("[")[0], []).append(item)
    return [
        case
        for name, of_test in cases.items()
        if len(of_test) > MANY_CASES
        for case in random.Random(name).sample(of_test, len(of_test) - QUICK_CASES)
    ]


@pytest.fixture(scope="session")
def data_folder():
    """Folder of real data, or a skip that says what is missing."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("ARGMETRIC_DATA", default))
    if not folder.is_dir():
        pytest.skip("needs real data: set ARGMETRIC_DATA to the folder that holds it")
    return folder


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Run a command in an empty folder of its own, inside this process."""
    from argmetric.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ARGMETRIC_DEBUG", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)

    def call(*arguments, stdin=None):
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfd.readouterr()
        code = main(arguments)
        return Ended(code, *capfd.readouterr())

    return call
