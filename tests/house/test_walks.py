"""The size of the house: rooms, imports, and how far one call walks."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MOST_MOVES = {"decide": 27, "forecast": 31, "evaluate": 14, "tune": 45}
MOST_LINES = 450  # of code in a file of the package
MOST_TEST_LINES = 600


@pytest.fixture(scope="module")
def counts():
    """All that is counted, by name; lines by folder, moves by verb."""
    # in a process of its own: what others have loaded or remembered changes the way
    command = [sys.executable, ROOT / "benchmarks/house.py"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = {"lines of": {}, "moves of": {}}
    for one in map(json.loads, printed.splitlines()):
        if "folder" in one:
            found["lines of"][one["folder"]] = one["longest_lines"]
        elif "verb" in one:
            found["moves of"][one["verb"]] = one["moves"]
        else:
            found |= one
    return found


def test_rooms_are_few_and_imports_point_down(counts):
    assert counts["rooms"] <= 20
    assert counts["arrows"] <= 110
    assert counts["arrows_up"] == 0


def test_a_call_moves_from_room_to_room_rarely(counts):
    moves = counts["moves of"]
    assert moves.keys() == MOST_MOVES.keys()
    assert all(moves[verb] <= most for verb, most in MOST_MOVES.items()), moves


def test_files_fit_in_a_head(counts):
    assert counts["lines of"]["src"] <= MOST_LINES
    assert counts["lines of"]["tests"] <= MOST_TEST_LINES


def test_the_route_table_has_few_switches(counts):
    # 12 of one metric over positives and negatives, 3 of one of several classes, whose
    # search, climb and draws have nothing in common with the curves of the others
    assert 0 < counts["switches"] <= 15
