"""Pictures as plain arrays, their places in a page, and numbers as it shows them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

SMALL = 0.01  # below it three decimals would leave less than three digits
WIDTH, HEIGHT = 720, 340
LEFT, RIGHT, TOP, BOTTOM = 62, 18, 34, 54
SQUARE = 360  # width of the pictures that stand side by side
BETAS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
FLOORS = tuple(round(0.05 * i, 2) for i in range(1, 20))

Layer = dict[str, Any]
Values = Iterable[float]
Series = tuple[str, str, Any, Any]


def number(value: float) -> str:
    """Return the text of a score: three decimals, or three digits if that is more.

    Sums of a thousand and more have none, those of a hundred and more have one.
    """
    if math.isnan(value):
        return "undefined"
    if abs(value) >= 100.0:
        return f"{value:,.{0 if abs(value) >= 1000.0 else 1}f}"
    if 0 < abs(value) < SMALL:
        return f"{value:.{min(2 - math.floor(math.log10(abs(value))), 9)}f}"
    return f"{value:.3f}"


def scores(low: float, high: float) -> str:
    return f"{number(low)} to {number(high)}"


def share(part: float, whole: float = 1.0) -> str:
    """Return a share in per cent."""
    return f"{100 * part / whole:.1f} %"


def percent(part: float) -> str:
    return f"{100 * part:g} %"


def short(name: object, most: int = 80) -> str:
    text = str(name)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def count_text(value: float) -> str:
    """Return a count as on an axis: 1,500, 2.5 M, or 0.5 of an expected one."""
    if value >= 1e5:
        return f"{value / 1e6:g} M" if value >= 1e6 else f"{value / 1e3:g} k"
    return f"{value:g}" if 0 < value < 1 else f"{value:,.0f}"


def amount(value: float) -> str:
    """Return a sum of worths as on an axis, with its sign."""
    if abs(value) >= 1e5:
        return f"{'-' * bool(value < 0.0)}{count_text(abs(value))}"
    return f"{value:,.0f}" if abs(value) >= 1e3 else f"{value:.4g}"


@dataclass(frozen=True)
class FigureAxis:
    """Axis of a figure: its name, ends and ticks."""

    name: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]


def axis(
    name: str,
    low: float,
    high: float,
    count: int = 5,
    *,
    text: Callable[[float], str] = "{:g}".format,
    whole: bool = False,
    exact: bool = False,
) -> FigureAxis:
    """Return an axis with about `count` round numbers; its ends too unless `exact`."""
    if high - low < 1e-9:
        low, high = (0.0, 1.0) if low == 0.0 else (low - 0.05, high + 0.05)
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * 0.999)
    if whole:
        step = max(1.0, math.ceil(step))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = [round(i * step, 12) for i in range(first, last + 1)]
    if exact:
        ticks = [x for x in ticks if low - 1e-9 <= x <= high + 1e-9]
    else:
        low, high = min(low, ticks[0]), max(high, ticks[-1])
    return FigureAxis(name, low, high, tuple((x, text(x)) for x in ticks))


@dataclass(frozen=True)
class Figure:
    """Figure of a report: two axes, the layers between them, and a script.

    A confusion matrix has no axes. Each layer says in "draw" how it is drawn, in "look"
    in which style, in "name" what the legend says. Pictures with a `title` stand side
    by side; a script finds a picture by its `id`.
    """

    caption: str
    x: FigureAxis | None
    y: FigureAxis | None
    layers: tuple[Layer, ...]
    title: str = ""
    id: str = ""

    @property
    def label(self) -> str:
        if self.title or self.x is None or self.y is None:
            return self.title
        name, by = self.y.name, self.x.name or "period"
        return f"{name[0].upper()}{name[1:]} by {by}"


def line(x: Values, y: Values, look: str = "line", name: str = "") -> Layer:
    """Return a line through points."""
    return {"draw": "line", "look": look, "name": name, "x": list(x), "y": list(y)}


def points(
    x: Values, y: Values, look: str = "chosen", name: str = "", **more: Iterable[object]
) -> Layer:
    """Return marks, with intervals `low` to `high` and a text of `titles` each."""
    layer = line(x, y, look, name) | {"draw": "points"}
    return layer | {key: list(values) for key, values in more.items()}


def upright(x: Values, look: str, name: str) -> Layer:
    """Return lines from top to bottom."""
    return line(x, (), look, name) | {"draw": "upright"}


def level(y: float, look: str, name: str) -> Layer:
    """Return a line from left to right."""
    return line((), (y,), look, name) | {"draw": "level"}


def bars(edges: Values, titles: Iterable[str], *series: Series) -> Layer:
    """Return a layer of bars between edges; a series has look, name, low and high."""
    keys = ("look", "name", "low", "high")
    drawn = [dict(zip(keys, one, strict=True)) for one in series]
    layer = {"draw": "bars", "name": "", "edges": list(edges)}
    return layer | {"titles": list(titles), "bars": drawn}


def by_name(
    caption: str, y_name: str, names: Sequence[str], series: dict[str, Any]
) -> Figure:
    """Return bars for each name: the second series in front, and narrower."""
    looks, n = ("bar", "bar taken own")[-len(series) :], len(names)
    values = {one: np.nan_to_num(series[one]).tolist() for one in series}
    pairs = zip(looks, values.items(), strict=True)
    drawn = [(look, word, [0.0] * n, high) for look, (word, high) in pairs]
    titles = [
        f"{name}: {', '.join(f'{word} {number(x[i])}' for word, x in values.items())}"
        for i, name in enumerate(names)
    ]
    ticks = tuple((i + 0.5, short(names[i], 9)) for i in range(0, n, -(-n // 6)))
    y = axis(y_name, 0.0, max(max(x) for x in values.values()), 4)
    layer = bars(range(n + 1), titles, *drawn)
    return Figure(caption, FigureAxis("", 0.0, float(n), ticks), y, (layer,))


class FigurePlace:
    """Coordinates of a figure: from its values to pixels."""

    def __init__(self, figure: Figure) -> None:
        self.figure, self.width = figure, SQUARE if figure.title else WIDTH
        self.height, self.left, self.right = HEIGHT, LEFT, self.width - RIGHT
        self.top, self.bottom = TOP, HEIGHT - BOTTOM

    def x(self, value: float) -> float:
        return _on(self.figure.x, value, self.left, self.right)

    def y(self, value: float) -> float:
        return _on(self.figure.y, value, self.bottom, self.top)

    def path(self, x: Sequence[float], y: Sequence[float]) -> str:
        """Return a line through finite points."""
        pairs = [(a, b) for a, b in zip(x, y, strict=True) if math.isfinite(b)]
        text = " ".join(f"{self.x(a):g},{self.y(b):g}" for a, b in pairs)
        return f"M{text}" if text else ""

    def bars(self, layer: Layer) -> Iterator[tuple[str, list[Any]]]:
        """Yield the title of each bar group, with look, x, y and size of its bars."""
        edges = [self.x(edge) for edge in layer["edges"]]
        for i, title in enumerate(layer["titles"]):
            left, width, found = edges[i], edges[i + 1] - edges[i], []
            for one in layer["bars"]:
                x, wide = left + 1, width - 2
                if "own" in one["look"]:  # before the others, and narrower
                    x, wide = left + width / 4, width / 2
                top, end = self.y(one["high"][i]), self.y(one["low"][i])
                shape = (round(x, 1), top, round(wide, 1), round(end - top, 1))
                found.append((one["look"], *shape))
            yield title, found


def _on(axis: FigureAxis | None, value: float, first: int, last: int) -> float:
    assert axis is not None
    part = (value - axis.low) / (axis.high - axis.low)
    return round(first + part * (last - first), 1)
