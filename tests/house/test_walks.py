"""The size of the house: rooms, imports, and how far one call walks."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOUSE = runpy.run_path(str(ROOT / "benchmarks/house.py"))
MOST_MOVES = {"decide": 22, "forecast": 27, "evaluate": 12, "tune": 56}
MOST_LINES = 500  # of a file of the package
MOST_TEST_LINES = 600


def test_rooms_are_few_and_imports_point_down():
    counts = HOUSE["count_rooms"]()
    assert counts["rooms"] <= 20
    assert counts["arrows"] <= 110
    assert counts["arrows_up"] == 0


def test_a_call_moves_from_room_to_room_rarely():
    # in a process of its own: what others have loaded or remembered changes the way
    command = [sys.executable, ROOT / "benchmarks/house.py"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = map(json.loads, printed.splitlines())
    moves = {one["verb"]: one["moves"] for one in lines if "verb" in one}
    assert moves.keys() == MOST_MOVES.keys()
    assert all(moves[verb] <= most for verb, most in MOST_MOVES.items()), moves


def test_files_fit_in_a_head():
    assert HOUSE["count_lines"]("src")["longest_lines"] <= MOST_LINES
    assert HOUSE["count_lines"]("tests")["longest_lines"] <= MOST_TEST_LINES


def test_the_route_table_has_few_switches():
    # 12 of one metric over positives and negatives, 3 of one of several classes, whose
    # search, climb and draws have nothing in common with the curves of the others
    assert 0 < HOUSE["count_switches"]() <= 15
