"""Compiling: a changed callee makes cached code old, and a long wait is explained."""

import os
import re
from types import SimpleNamespace

import pytest

from processes import run_program

CALLEE = """
from argmetric._ground.jit import kernel

@kernel
def inner(x):
    return x + {step}
"""
CALLER = """
from argmetric._ground.jit import kernel
from callee import inner

@kernel
def outer(x):
    return 2 * inner(x)
"""
PROGRAM = """
import argmetric._ground.jit
{before}
from caller import outer
print(outer(1), sum(outer.stats.cache_hits.values()))
"""
LINES = (
    r"argmetric: compiling for this machine, the first time\n"
    r"argmetric: compiled in \d+ s, and kept in the cache: later runs start at once\n"
)
NOT_KEPT = r"argmetric: compiling, which every run will do, .* set NUMBA_CACHE_DIR .*\n"
MANY = "(inner(x) + inner(0) + inner(3))"
NO_STAMP = """from argmetric._ground import jit
jit._stamp = lambda dispatcher, folder: False
"""


def run_cached(program, folder, **environment):
    cache = {"NUMBA_CACHE_DIR": str(folder / "cache")}
    return run_program(program, folder=folder, **cache, **environment)


@pytest.fixture
def call(tmp_path):
    """A process that calls `outer(1)`: its value, and hits in the cache."""
    (tmp_path / "caller.py").write_text(CALLER)

    def run(step, before=""):
        path = tmp_path / "callee.py"
        path.write_text(CALLEE.format(step=step))
        os.utime(path, (1, 1))  # as where files of the same age were unpacked
        # Python, too, goes by the age of a file
        program, fresh = PROGRAM.format(before=before), {"PYTHONDONTWRITEBYTECODE": "1"}
        return tuple(map(int, run_cached(program, tmp_path, **fresh).stdout.split()))

    return run


def test_a_changed_callee_gives_the_new_value(call):
    assert call(1) == (4, 0)
    assert call(1) == (4, 1)  # from the cache
    assert call(5) == (12, 0)


def test_nothing_is_cached_where_numba_cannot_be_told(call, tmp_path):
    assert call(1, NO_STAMP) == (4, 0)
    assert not list(tmp_path.rglob("*.nbi"))


def test_a_kernel_is_compiled_once_for_constants_and_variables(tmp_path):
    (tmp_path / "callee.py").write_text(CALLEE.format(step=1))
    (tmp_path / "caller.py").write_text(CALLER.replace("inner(x)", MANY))
    program = "from caller import inner, outer\nprint(outer(5), len(inner.signatures))"
    found = run_cached(program, tmp_path).stdout
    assert found.split() == ["22", "1"]  # 2·(6 + 1 + 4)


def said_by(tmp_path, kernel, patience=0.0, before=""):
    """What a process says on stderr that calls a kernel twice."""
    program = (
        f"from argmetric._ground import jit\njit._PATIENCE = {patience}\n{before}\n"
        f"{kernel}\nimport numpy as np\nmix(np.uint64(1)), mix(np.uint64(2))"
    )
    return run_cached(program, tmp_path).stderr


OURS = "from argmetric._ground.jit.hashing import mix"
THEIRS = "from theirs import mix"


def test_one_line_for_each_cache_says_that_our_kernels_are_compiled(tmp_path):
    first = said_by(tmp_path, OURS)
    assert re.fullmatch(LINES, first)
    another = f"{OURS}, absorb\nimport numpy as np\nabsorb(np.uint64(3), np.uint64(4))"
    assert said_by(tmp_path, another) == ""  # something is, and it was said before
    (tmp_path / "cache").rename(tmp_path / "old")
    assert re.fullmatch(LINES, said_by(tmp_path, OURS))


def test_what_is_quick_or_not_ours_needs_no_line(tmp_path):
    (tmp_path / "theirs.py").write_text(
        "import numba\n\n@numba.njit(cache=True)\ndef mix(x):\n    return x\n"
    )
    assert said_by(tmp_path, OURS, patience=1e9) == ""
    assert said_by(tmp_path, THEIRS) == ""


def test_a_line_says_why_every_run_compiles(tmp_path):
    for _ in range(2):
        assert re.fullmatch(NOT_KEPT, said_by(tmp_path, OURS, before=NO_STAMP))


def test_a_function_that_a_kernel_calls_needs_no_cache_of_its_own(monkeypatch, capsys):
    import numba

    from argmetric._ground import jit as _jit
    from argmetric._ground.jit.hashing import mix

    def helper(x):
        return x

    helper.__module__ = "argmetric.of_a_kernel"
    outer, callee = (
        SimpleNamespace(data={"dispatcher": one}) for one in (mix, numba.njit(helper))
    )
    notice = _jit._Notice()
    monkeypatch.setattr(_jit, "_PATIENCE", 1e9)
    notice.on_start(outer)
    monkeypatch.setattr(_jit, "_PATIENCE", 0.0)
    notice.on_start(callee)
    notice.on_end(callee)
    notice.on_end(outer)
    assert notice.given
    assert "every run" not in capsys.readouterr().err
