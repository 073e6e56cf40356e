"""The fence: each way to break it is named."""

import runpy
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCE = runpy.run_path(str(ROOT / "benchmarks/fence.py"))
TEXT = (
    "[tool.fence] # lines\na = 1_200\nb = 7\nall = 1_207\n\n[tool.other]\na = 9_000\n"
)


def test_each_fault_says_what_to_do():
    assert FENCE["faults"]({"a": 5, "all": 5}, {"a": 5, "all": 6}) == []
    (above,) = FENCE["faults"]({"a": 1_500}, {"a": 1_200})
    assert "a has 1,500 lines, the fence is 1,200" in above
    assert "says what it buys" in above
    (new,) = FENCE["faults"]({"a": 5, "b": 3}, {"a": 5})
    assert "write b = 3" in new
    (gone,) = FENCE["faults"]({"a": 5}, {"a": 5, "b": 3})
    assert "b is not there" in gone


def test_numbers_are_lowered_and_never_raised():
    text = FENCE["lower"](TEXT, {"a": 1_100, "b": 20, "all": 1_120})
    assert tomllib.loads(text)["tool"] == {
        "fence": {"a": 1_100, "b": 7, "all": 1_120},
        "other": {"a": 9_000},
    }


def test_a_module_is_a_room_and_all_is_their_sum(tmp_path):
    package = tmp_path / "src/argmetric"
    (package / "room/kernels").mkdir(parents=True)
    (package / "room/one.py").write_text("1\n2\n3\n")
    (package / "room/kernels/two.py").write_text("1\n2\n")
    (package / "single.py").write_text("1")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_it.py").write_text("1\n2\n3\n4\n")
    found = FENCE["sizes"](tmp_path)
    assert found == {"room": 5, "single": 1, "all": 6, "tests": 4}
