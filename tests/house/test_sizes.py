"""Limits of sizes: each way to break them is named; docstrings are free."""

import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SIZES = runpy.run_path(str(ROOT / "benchmarks/sizes.py"))
TEXT = (
    "[tool.sizes] # lines\na = 1_200\nb = 7\nall = 1_207\n\n[tool.other]\na = 9_000\n"
)


def test_each_fault_says_what_to_do():
    assert SIZES["faults"]({"a": 5, "all": 5}, {"a": 5, "all": 6}) == []
    (above,) = SIZES["faults"]({"a": 1_500}, {"a": 1_200})
    assert "a has 1,500 lines of code, the limit is 1,200" in above
    assert "says what it buys" in above
    (new,) = SIZES["faults"]({"a": 5, "b": 3}, {"a": 5})
    assert "write b = 3" in new
    (gone,) = SIZES["faults"]({"a": 5}, {"a": 5, "b": 3})
    assert "b does not exist" in gone


def test_limits_are_lowered_and_never_raised():
    text = SIZES["lower"](TEXT, {"a": 1_100, "b": 20, "all": 1_120})
    assert tomllib.loads(text)["tool"] == {
        "sizes": {"a": 1_100, "b": 7, "all": 1_120},
        "other": {"a": 9_000},
    }


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("", 0),
        ("# a comment\n\nx = 1  # behind code\n", 1),
        ('"""A docstring\nof two lines."""\nx = 1\n', 1),
        ('def f():\n    """Return 1."""\n    return 1\n', 2),
        (
            'class A:\n    """A class."""\n\n    x: int = 1\n    """No docstring."""\n',
            3,
        ),
        ('text = """\nno docstring\n\n# nor comment\n"""\n', 5),
        ("x = (\n    1,\n    # why\n\n    2,\n)\n", 4),
    ],
)
def test_lines_of_code_are_counted(source, expected):
    assert SIZES["code_lines"](source) == expected


def test_a_module_is_a_subpackage_and_all_is_their_sum(tmp_path):
    package = tmp_path / "src/argmetric"
    (package / "room/kernels").mkdir(parents=True)
    (package / "room/one.py").write_text("1\n2\n3\n")
    (package / "room/kernels/two.py").write_text("1\n2\n")
    (package / "single.py").write_text("1")
    for name in ("tests", "benchmarks"):
        (tmp_path / name).mkdir()
    (tmp_path / "tests/test_it.py").write_text("1\n2\n3\n4\n")
    (tmp_path / "benchmarks/it.py").write_text("1\n2\n")
    expected = {"room": 5, "single": 1, "all": 6, "tests": 4, "benchmarks": 2}
    assert SIZES["sizes"](tmp_path) == expected
