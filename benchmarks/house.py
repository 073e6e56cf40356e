"""The size of the house: lines, rooms, imports, and how far a call walks.

    python benchmarks/house.py

prints one JSON object a line: lines of source and of tests, the rooms and the imports
between them (none may point up), the switches by size of the route table, and for one
call of each verb the moves from room to room. tests/house/test_walks.py holds them.
"""

from __future__ import annotations

import ast
import json
import runpy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from sizes import code_lines

import argmetric as am

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(am.__file__).parent
DRAWING = runpy.run_path(str(ROOT / "docs/draw_architecture.py"))


def count_lines(folder: str) -> dict[str, Any]:
    """Return files, lines of code, and the longest file."""
    lines = {
        str(path.relative_to(ROOT)): code_lines(path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / folder).rglob("*.py"))
    }
    longest = max(lines, key=lambda path: lines[path])
    return {
        "files": len(lines),
        "lines": sum(lines.values()),
        "longest": longest,
        "longest_lines": lines[longest],
    }


def count_rooms() -> dict[str, int]:
    """Rooms, imports from room to room, and imports that point up or sideways."""
    layers = DRAWING["read_layers"](ROOT)
    level = {room: i for i, rooms in enumerate(layers) for room in rooms}
    imports = DRAWING["read_imports"](ROOT)
    arrows = [(room, other) for room, found in imports.items() for other in found]
    return {
        "rooms": len(imports),
        "arrows": len(arrows),
        "arrows_up": sum(level[other] <= level[room] for room, other in arrows),
    }


def count_constants(*paths: Path) -> int:
    """Numbers with a name at the top of modules."""
    return sum(
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and type(node.value.value) in (int, float)
        for path in paths
        for node in ast.parse(path.read_text(encoding="utf-8")).body
    )


def count_switches() -> int:
    """Limits of the route table."""
    return count_constants(PACKAGE / "_expected/plan.py")


def room_of(frame: FrameType | None) -> str | None:
    """The room whose code a frame runs, or that of the nearest caller that has one."""
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(PACKAGE):
            return path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        frame = frame.f_back
    return None


def walk(call: Callable[[], object]) -> list[tuple[str, str]]:
    """Room and function of every call that comes from another room, in order."""
    call()  # what is loaded at the first call is not walked again
    moves: list[tuple[str, str]] = []

    def look(frame: FrameType, event: str, _: object) -> None:
        inside = Path(frame.f_code.co_filename).is_relative_to(PACKAGE)
        if event == "call" and inside:
            room = room_of(frame)
            if room is not None and room != room_of(frame.f_back):
                moves.append((room, frame.f_code.co_name))

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return moves


def verbs() -> Iterator[tuple[str, Callable[[], object]]]:
    """One small call of each verb."""
    p = np.linspace(0.05, 0.95, 10)
    y = p > 0.6
    yield "decide", lambda: am.decide(p)
    yield "forecast", lambda: am.forecast(p, y)
    yield "evaluate", lambda: am.evaluate(y, p > 0.5)
    yield "tune", lambda: am.tune(y, p)


def main() -> None:
    for folder in ("src", "tests", "benchmarks"):
        print(json.dumps({"folder": folder, **count_lines(folder)}))
    constants = count_constants(*PACKAGE.rglob("*.py"))
    switches = {"constants": constants, "switches": count_switches()}
    print(json.dumps(count_rooms() | switches))
    for name, call in verbs():
        print(json.dumps({"verb": name, "moves": len(walk(call))}))


if __name__ == "__main__":
    main()
