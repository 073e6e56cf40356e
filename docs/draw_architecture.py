"""Draw the rooms of the package and who imports whom: docs/_static/architecture.svg.

    python docs/draw_architecture.py

Rooms are the modules and packages directly below `argmetric`. Rows are the layers of
the import-linter contract in pyproject.toml, arrows the imports in the code. An import
that also leads over other rooms is left out, and lines to the same room run together,
in one colour: so a line is followed downwards to the room that is imported.
"""

from __future__ import annotations

import ast
import functools
import itertools
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

PACKAGE = "argmetric"
ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs/_static/architecture.svg"

Graph = dict[str, set[str]]


class Node(NamedTuple):
    """A room in its row, or the place where the line to a room crosses another row."""

    room: str
    row: int


Rows = list[list[Node]]
Links = list[tuple[Node, Node]]

# ------------------------------------------------------------------- what is drawn


def read_layers(root: Path) -> list[list[str]]:
    """Rooms by layer, the topmost first."""
    layers = _contract(root)["layers"]
    return [[name.strip(" ()") for name in re.split("[|:]", one)] for one in layers]


def _contract(root: Path) -> dict[str, list[str]]:
    """The contract on the layers of the package."""
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    contracts = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    found: dict[str, list[str]] = next(
        c for c in contracts if c["type"] == "layers" and c["containers"] == [PACKAGE]
    )
    return found


@functools.cache
def read_imports(root: Path) -> Graph:
    """For each room, the rooms that its files import, where the contract counts it."""
    folder = root / "src" / PACKAGE
    home = _rooms_of_names(folder / "__init__.py")
    graph: Graph = defaultdict(set)
    for path in sorted(folder.rglob("*.py")):
        room = path.relative_to(folder).parts[0].removesuffix(".py")
        if not room.startswith("__"):
            graph[room] |= {home.get(name, name) for name in _imported(path)}
    for line in _contract(root).get("ignore_imports", []):
        importer, imported = line.split(" -> ")
        if "." in importer:  # the package itself is no room
            graph[importer.split(".")[1]].discard(imported.split(".")[1])
    return {
        room: {other for other in found if other in graph and other != room}
        for room, found in sorted(graph.items())
    }


def _rooms_of_names(path: Path) -> dict[str, str]:
    """Where the public names live: they are imported for type checkers."""
    found = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            room = node.module.removeprefix(f"{PACKAGE}.")
            found |= {alias.name: room for alias in node.names}
    return found


def _imported(path: Path) -> Iterator[str]:
    """First names below the package that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
            modules = [f"{PACKAGE}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules = [node.module]
        for module in modules:
            if module.startswith(f"{PACKAGE}."):
                yield module.split(".")[1]


def reduced(graph: Graph) -> Graph:
    """Without the imports that follow from others."""

    def reached(room: str, seen: set[str]) -> set[str]:
        for other in graph[room] - seen:
            seen.add(other)
            reached(other, seen)
        return seen

    far = {room: reached(room, set()) for room in graph}
    return {
        room: {to for to in found if not any(to in far[o] for o in found - {to})}
        for room, found in graph.items()
    }


# ------------------------------------------------------------------- where it goes


def place(layers: Sequence[Sequence[str]], graph: Graph) -> tuple[Rows, Links]:
    """Rows of rooms and of crossing lines, and the links between neighbouring rows."""
    named = [room for layer in layers for room in layer]
    others = sorted(set(graph) - set(named))
    for room in others:
        if graph[room]:
            raise ValueError(f"{room} is in no layer of the contract in pyproject.toml")
    rows = [list(layer) for layer in layers] + ([others] if others else [])
    row_of = {room: i for i, row in enumerate(rows) for room in row}
    nodes: Rows = [[Node(room, i) for room in row] for i, row in enumerate(rows)]
    links: Links = []
    for to in row_of:
        sources = sorted(room for room in graph if to in graph[room])
        start = min((row_of[room] for room in sources), default=row_of[to])
        for i in range(start + 1, row_of[to]):
            nodes[i].append(Node(to, i))
        links += [(Node(to, i), Node(to, i + 1)) for i in range(start + 1, row_of[to])]
        links += [(Node(r, row_of[r]), Node(to, row_of[r] + 1)) for r in sources]
    return _ordered(nodes, links), links


def _ordered(rows: Rows, links: Links) -> Rows:
    """Rows in the order with the fewest crossings that sweeps of means find."""
    below, above = _neighbours(links)
    best, least = rows, _crossings(rows, links)
    for sweep in range(60):
        down = sweep % 2 == 0
        order = range(1, len(rows)) if down else range(len(rows) - 2, -1, -1)
        rows = [list(row) for row in rows]
        for i in order:
            beside = rows[i - 1] if down else rows[i + 1]
            at = {node: (j + 0.5) / len(beside) for j, node in enumerate(beside)}
            own = {node: (j + 0.5) / len(rows[i]) for j, node in enumerate(rows[i])}
            near = above if down else below
            rows[i].sort(key=lambda n: _mean([at[o] for o in near[n]], own[n]))
        count = _crossings(rows, links)
        if count < least:
            best, least = rows, count
    return best


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _neighbours(links: Links) -> tuple[Mapping[Node, list[Node]], ...]:
    below, above = defaultdict(list), defaultdict(list)
    for upper, lower in links:
        below[upper].append(lower)
        above[lower].append(upper)
    return below, above


def _crossings(rows: Rows, links: Links) -> int:
    place_of = {node: j for row in rows for j, node in enumerate(row)}
    by_row = defaultdict(list)
    for a, b in links:
        by_row[a.row].append((place_of[a], place_of[b]))
    return sum(
        (a - c) * (b - d) < 0
        for pairs in by_row.values()
        for i, (a, b) in enumerate(pairs)
        for c, d in pairs[:i]
    )


def centres(rows: Rows, links: Links, width: Mapping[Node, float]) -> dict[Node, float]:
    """Places from left to right: near to the neighbours, in order, not touching."""
    below, above = _neighbours(links)
    x = {node: 90.0 * j for row in rows for j, node in enumerate(row)}
    for sweep in range(400):
        order = rows if sweep % 2 == 0 else rows[::-1]
        for row in order:
            wish = [_mean([x[o] for o in (*above[n], *below[n])], x[n]) for n in row]
            x |= dict(zip(row, _apart(wish, [width[n] for n in row]), strict=True))
    left = min(x[n] - width[n] / 2 for row in rows for n in row)
    return {node: round(value - left, 1) for node, value in x.items()}


def _apart(wish: Sequence[float], widths: Sequence[float]) -> list[float]:
    """The nearest places to those wished for, by least squares, that do not touch."""
    offsets = [0.0]
    for one, other in itertools.pairwise(widths):
        offsets.append(offsets[-1] + (one + other) / 2 + GAP)
    blocks: list[list[float]] = []  # sum and count of wishes that share an offset
    for value, offset in zip(wish, offsets, strict=True):
        blocks.append([value - offset, 1])
        while len(blocks) > 1 and (
            blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]
        ):
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    starts = [total / count for total, count in blocks for _ in range(int(count))]
    return [start + offset for start, offset in zip(starts, offsets, strict=True)]


# ------------------------------------------------------------------- how it looks

GAP = 20.0
ROW, BOX = 64.0, 32.0  # distance of rows, height of a box
MARGIN, LEGEND = 28.0, 46.0
LETTER, PADDING = 8.5, 26.0  # width of a letter of the names, and around them
COLOURS = (
    "#3b6fb6",
    "#c0653a",
    "#3f8f6b",
    "#8a5aa8",
    "#b08a1e",
    "#b8476b",
    "#2f8f9d",
    "#6b7280",
    "#7a9a2e",
    "#1f3f77",
)
STYLE = """\
text { font: 600 13.5px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  text-anchor: middle; dominant-baseline: central; fill: #1c2733; }
.note { font: 12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif;
  text-anchor: start; fill: #52606d; }
.band { fill: #f4f6f9; }
.line { fill: none; stroke-width: 1.8; stroke-linecap: round; }
.public { fill: #dbe8f8; stroke: #3b6fb6; stroke-width: 1.4; }
.private { fill: #ffffff; stroke: #7b8794; stroke-width: 1.4; }
.module { fill: #ffffff; stroke: #9aa5b1; stroke-width: 1.2;
  stroke-dasharray: 3 2.5; }"""


def draw(root: Path = ROOT) -> str:
    """The drawing as SVG; the same imports always give the same text."""
    layers = read_layers(root)
    graph = read_imports(root)
    rows, links = place(layers, reduced(graph))
    boxes = {node.room: node for row in rows for node in row}  # the last row wins
    width = {
        n: LETTER * len(n.room) + PADDING if n == boxes[n.room] else 2.0
        for row in rows
        for n in row
    }
    x = {n: at + MARGIN for n, at in centres(rows, links, width).items()}
    full = max(x[n] + width[n] / 2 for n in x) + MARGIN
    height = ROW * len(rows) + LEGEND
    colour = _colours(links)
    exits = _exits(links, x, width)
    lines = [
        _line(exits[a, b], x[b], a, b, b == boxes[b.room], colour) for a, b in links
    ]
    lines += [_through(n, x, colour) for n in sorted(x) if n != boxes[n.room]]
    kinds = {room: _kind(root, room) for room in graph}
    shapes = [_box(n, x[n], width[n], kinds[n.room]) for n in boxes.values()]
    return "\n".join(_page(full, height, len(rows), lines, shapes, colour)) + "\n"


def _top(row: int) -> float:
    return ROW * row + (ROW - BOX) / 2


def _colours(links: Links) -> dict[str, str]:
    """A colour for the line to each room; lines beside each other differ."""
    spans: dict[str, set[int]] = defaultdict(set)
    for upper, lower in links:
        spans[lower.room] |= {upper.row, lower.row}
    found: dict[str, str] = {}
    for room in sorted(spans, key=lambda room: (-len(spans[room]), room)):
        cost = dict.fromkeys(COLOURS, 0)
        for other, tone in found.items():
            cost[tone] += 100 * len(spans[other] & spans[room]) + 1
        found[room] = min(COLOURS, key=lambda tone: cost[tone])
    return found


def _exits(
    links: Links, x: Mapping[Node, float], width: Mapping[Node, float]
) -> dict[tuple[Node, Node], float]:
    """Where lines leave their box: side by side, in the order in which they go on."""
    below, _ = _neighbours(links)
    found = {}
    for node, targets in below.items():
        step = min(GAP, 0.7 * width[node] / len(targets))
        for j, to in enumerate(sorted(targets, key=lambda n: (x[n], n))):
            found[node, to] = x[node] + step * (j - (len(targets) - 1) / 2)
    return found


def _line(
    start: float,
    stop: float,
    a: Node,
    b: Node,
    ends: bool,
    colour: Mapping[str, str],
) -> str:
    tone = colour[b.room]
    arrow = f' marker-end="url(#a{tone[1:]})"' if ends else ""
    y, end = _top(a.row) + BOX, _top(b.row) - (5.0 if ends else 0.0)
    middle = (y + end) / 2
    path = f"M{start:g} {y:g}C{start:g} {middle:g} {stop:g} {middle:g} {stop:g} {end:g}"
    return f'<path class="line" stroke="{tone}" d="{path}"{arrow}/>'


def _through(node: Node, x: Mapping[Node, float], colour: Mapping[str, str]) -> str:
    y = _top(node.row)
    path = f"M{x[node]:g} {y:g}V{y + BOX:g}"
    return f'<path class="line" stroke="{colour[node.room]}" d="{path}"/>'


def _kind(root: Path, room: str) -> str:
    if not (root / "src" / PACKAGE / room).is_dir():
        return "module"
    return "private" if room.startswith("_") else "public"


def _box(node: Node, x: float, width: float, kind: str) -> str:
    y = _top(node.row)
    return (
        f'<rect class="{kind}" x="{x - width / 2:g}" y="{y:g}" width="{width:g}" '
        f'height="{BOX:g}" rx="7"/>'
        f'<text x="{x:g}" y="{y + BOX / 2:g}">{escape(node.room)}</text>'
    )


def _page(
    width: float,
    height: float,
    n_rows: int,
    lines: Iterable[str],
    shapes: Iterable[str],
    colour: Mapping[str, str],
) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" '
        f'height="{height:g}" viewBox="0 0 {width:g} {height:g}" role="img">'
    )
    yield f"<title>The rooms of {PACKAGE} and their imports</title>"
    yield f"<style>\n{STYLE}\n</style>"
    yield f'<rect width="{width:g}" height="{height:g}" rx="8" fill="#ffffff"/>'
    yield "<defs>"
    for tone in sorted(set(colour.values())):
        yield (
            f'<marker id="a{tone[1:]}" viewBox="0 0 8 8" refX="4" refY="4" '
            'markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" '
            f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{tone}"/></marker>'
        )
    yield "</defs>"
    for i in range(n_rows):
        y = _top(i) - 6
        yield (
            f'<rect class="band" x="8" y="{y:g}" width="{width - 16:g}" '
            f'height="{BOX + 12:g}" rx="6"/>'
        )
    yield from lines
    yield from shapes
    y = ROW * n_rows + LEGEND / 2 - 4
    at = MARGIN
    for kind, words in (
        ("public", "public package"),
        ("private", "private package"),
        ("module", "one module"),
    ):
        yield (
            f'<rect class="{kind}" x="{at:g}" y="{y - 8:g}" width="24" height="16" '
            f'rx="4"/><text class="note" x="{at + 32:g}" y="{y:g}">{words}</text>'
        )
        at += 32 + 6.6 * len(words) + 26
    yield "</svg>"


if __name__ == "__main__":
    TARGET.write_text(draw(), encoding="utf-8")
    print(TARGET.relative_to(ROOT))
