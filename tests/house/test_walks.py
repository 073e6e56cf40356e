"""The size of the house: rooms, imports, and how far one call walks."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOUSE = runpy.run_path(str(ROOT / "benchmarks/house.py"))
MOST_MOVES = {"decide": 20, "forecast": 24, "evaluate": 8, "tune": 54}
MOST_LINES = 500  # of a file of the package
MOST_TEST_LINES = 600


def test_rooms_are_few_and_imports_point_down():
    counts = HOUSE["count_rooms"]()
    assert counts["rooms"] <= 24
    assert counts["arrows"] <= 190
    assert counts["arrows_up"] == 0


@pytest.mark.parametrize("name", MOST_MOVES)
def test_a_call_moves_from_room_to_room_rarely(name):
    call = dict(HOUSE["verbs"]())[name]
    moves = HOUSE["walk"](call)
    assert len(moves) <= MOST_MOVES[name], moves


def test_files_fit_in_a_head():
    assert HOUSE["count_lines"]("src")["longest_lines"] <= MOST_LINES
    assert HOUSE["count_lines"]("tests")["longest_lines"] <= MOST_TEST_LINES


def test_the_route_table_has_few_switches():
    assert 0 < HOUSE["count_switches"]() <= 12
