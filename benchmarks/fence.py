"""The fence: how many lines each room may have, checked by `make lint`.

    python benchmarks/fence.py            # sizes beside the fence; exit code 1 above it
    python benchmarks/fence.py --lower    # lower every number to the size of now

The numbers stand in `[tool.fence]` of pyproject.toml: a room is a module or package
directly below `argmetric`; `all` is the whole package, `tests` the folder of tests.
`--lower` never raises a number: that is a commit of its own, which says what it buys.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def sizes(root: Path = ROOT) -> dict[str, int]:
    """Lines of each room, of the package and of the tests."""
    package = root / "src/argmetric"
    found: Counter[str] = Counter()
    for path in sorted(package.rglob("*.py")):
        found[path.relative_to(package).parts[0].removesuffix(".py")] += lines(path)
    rooms = dict(sorted(found.items()))
    tests = sum(map(lines, (root / "tests").rglob("*.py")))
    return {**rooms, "all": sum(rooms.values()), "tests": tests}


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def fence(root: Path = ROOT) -> dict[str, int]:
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    found: dict[str, int] = tomllib.loads(text)["tool"]["fence"]
    return found


def faults(now: dict[str, int], most: dict[str, int]) -> list[str]:
    """What breaks the fence, a sentence each."""
    found = [
        f"{room} has {n:,} lines, the fence is {most[room]:,}: take lines away, or "
        f"raise the number in a commit of its own that says what it buys"
        for room, n in now.items()
        if n > most.get(room, n)
    ]
    found += [
        f"{room} has no number: write {room} = {now[room]} into [tool.fence] of "
        "pyproject.toml"
        for room in now.keys() - most.keys()
    ]
    found += [
        f"{room} is not there: delete its line from [tool.fence] of pyproject.toml"
        for room in most.keys() - now.keys()
    ]
    return found


def lower(text: str, now: dict[str, int]) -> str:
    """The text of pyproject.toml with every number of the fence at most the size."""
    start = text.index("[tool.fence]")
    end = text.find("\n[", start)
    end = len(text) if end < 0 else end

    def lowered(line: re.Match[str]) -> str:
        room, most = line[1], int(line[2].replace("_", ""))
        return f"{room} = {min(most, now.get(room, most)):_}"

    table = re.sub(r"(?m)^(\w+) = ([\d_]+)", lowered, text[start:end])
    return text[:start] + table + text[end:]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lower", action="store_true", help="lower all numbers to now")
    options = parser.parse_args()
    now = sizes()
    if options.lower:
        path = ROOT / "pyproject.toml"
        path.write_text(lower(path.read_text(encoding="utf-8"), now), encoding="utf-8")
    most = fence()
    found = faults(now, most)
    for room, n in now.items():
        print(f"{room:20} {n:8,} of {most.get(room, 0):8,}")
    for fault in found:
        print(f"fence: {fault}", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
