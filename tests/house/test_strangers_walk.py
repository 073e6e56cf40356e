"""A stranger adds a metric and an option by the table of docs/architecture.rst."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/architecture.rst").read_text(encoding="utf-8")
ROWS = {
    what: re.findall(r"``([\w./]+)``", files)
    for what, files in re.findall(r'^   "(an? [\w ]+)","(``.+)"$', PAGE, re.MULTILINE)
}

METRIC = '''

@dataclass(frozen=True, repr=False, eq=False)
class HalfRecall(_Rates):
    """Half of recall: the metric of a stranger."""

    short_name: ClassVar[str] = "half_recall"
    formula: ClassVar[str] = "tp / (2 t)"

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        return ratio(tp, 2.0 * t, self.zero_division)
'''


@pytest.fixture
def package(tmp_path):
    """A copy of the sources, and how a program runs with it."""
    shutil.copytree(
        ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__")
    )

    def run(*arguments):
        own = {"PYTHONPATH": str(tmp_path / "src"), "NO_COLOR": "1"}
        return subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
            env=os.environ | own,
        ).stdout

    return tmp_path / "src/argmetric", run


def test_the_table_is_short_and_its_files_are_there():
    assert 2 < len(ROWS) <= 10
    for files in ROWS.values():
        assert 1 <= len(files) <= 2
        assert all((ROOT / "src/argmetric" / file).is_file() for file in files)


def test_a_metric_is_added_in_one_file(package):
    folder, run = package
    (file,) = ROWS["a metric"]
    with (folder / file).open("a", encoding="utf-8") as target:
        target.write(METRIC)
    program = (
        "import argmetric as am\n"
        "p = [0.9, 0.6, 0.2]\n"
        "print(am.decide(p, 'half_recall', max_positives=1).labels.tolist())\n"
        "print(am.evaluate([1, 1, 0, 0], [1, 0, 0, 0], 'half_recall'))\n"
        "print(am.tune([0, 1, 1], p[::-1], 'half_recall', cv=None).score)\n"
    )
    assert run("-c", program).split("\n")[:3] == ["[1, 0, 0]", "0.25", "0.5"]
    assert "half_recall" in run("-m", "argmetric", "metrics")


def test_an_option_of_a_command_is_added_in_two_files(package):
    folder, run = package
    table, command = (folder / file for file in ROWS["an option of a command"])
    text = table.read_text(encoding="utf-8")
    help_, option = (
        "        Print the answer as JSON.\n",
        "    json: bool\n\n\nclass Text(",
    )
    assert text.count(help_) == text.count(option) == 1
    text = text.replace(help_, f"{help_}    loud\n        Say it loud.\n")
    table.write_text(text.replace(option, f"    loud: bool\n{option}"))
    text = command.read_text(encoding="utf-8")
    assert text.count("seed output report json") == 1
    text = text.replace("seed output report json", "seed output report loud json")
    line = "    cost, way = _cost(o), layout.way_of(o)\n"
    assert text.count(line) == 1
    command.write_text(text.replace(line, f"{line}    print('LOUD' * o.loud)\n"))
    (folder.parent / "rows.csv").write_text("score,label\n.9,1\n.8,1\n.2,0\n.1,0\n")
    assert "Say it loud." in run("-m", "argmetric", "tune", "--help")
    rows = str(folder.parent / "rows.csv")
    assert "LOUD" in run("-m", "argmetric", "tune", rows, "--loud")
    assert "LOUD" not in run("-m", "argmetric", "tune", rows)
