import copy
import gc
import inspect
import io
import os
import random
import re
import sys
from collections import Counter
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
FEW_WORKERS = 4  # with more of them files are shared out, as rooms are too large
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


def room_of(nodeid):
    """The room of the package that a test is about; a page of docs is one by itself."""
    return "/".join(nodeid.split("::")[0].split("/")[:2])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Few workers take whole rooms: none compiles or loads the kernels of another."""
    from xdist.scheduler import LoadFileScheduling

    class RoomScheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return room_of(nodeid)

    few = config.option.dist == "loadfile" and len(config.option.tx) <= FEW_WORKERS
    return RoomScheduling(config, log) if few else None


def pytest_collection():
    """Next to nothing that is loaded is garbage, and to look for it takes long."""
    gc.disable()


def pytest_collection_finish():
    gc.enable()
    gc.freeze()  # it stays, and need not be looked at again


def pytest_collection_modifyitems(config, items):
    """Kernels that all rooms use come first, and then the largest room.

    Unless ARGMETRIC_SLOW is set, tests that take long are skipped, and of a test with
    more than `MANY_CASES` cases `QUICK_CASES` run.
    """
    rooms = {item: room_of(item.nodeid) for item in items}
    sizes = Counter(rooms.values())
    items.sort(key=lambda one: (rooms[one] != "tests/expected", -sizes[rooms[one]]))
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


PARAMETERS = {}


def parameters_of(app, original, **options):
    """What cyclopts reads from the signature of a command, which takes long, once.

    A call puts its words into the arguments: it gets copies without any.
    """
    key = id(app), *options.items()
    if key not in PARAMETERS:
        PARAMETERS[key] = app, original(app, **options)
    given = PARAMETERS[key][1]
    copies = {id(one): copy.copy(one) for one in given}
    for one in copies.values():
        one.tokens = []
        one.children = type(given)(copies[id(child)] for child in one.children)
    return type(given)(copies.values())


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Run a command in an empty folder of its own, inside this process."""
    from cyclopts import App

    from argmetric.cli import main

    original = App.assemble_argument_collection
    monkeypatch.setattr(
        App,
        "assemble_argument_collection",
        lambda app, **options: parameters_of(app, original, **options),
    )
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
