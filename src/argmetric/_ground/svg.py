"""Small pictures for notebooks, from plain arrays: SVG text, without matplotlib."""

from __future__ import annotations

import html
from typing import Any, Self

import numpy as np

from argmetric._ground.types import Floats, Interval

WIDTH, HEIGHT, EDGE = 320.0, 96.0, 4.0
BELOW, BESIDE = 14.0, 36.0  # room for the ends of both axes
MOST_POINTS = 200
INK = "fill='currentColor' font-size='10' opacity='.75'"
# Seen on white and on black alike; all else is drawn in the ink of the page.
BLUE, ORANGE, RED, GREY = "#4c8bf5", "#f59e0b", "#ef4444", "currentColor"


class SmallPicture:
    """Layers in the units of the data, within the ends of both axes."""

    def __init__(self, name: str, x: Any, y: Any) -> None:
        self.name = name
        self.x, self.y = _ends(x), _ends(y)
        self._parts: list[str] = []

    def line(self, x: Any, y: Any, colour: str = BLUE, dashes: str = "") -> Self:
        """A line through points; of many as many as can be seen."""
        across, up = self._places(x, y)
        there = np.isfinite(across) & np.isfinite(up)
        across, up = across[there], up[there]
        if across.size > MOST_POINTS:
            some = np.linspace(0, across.size - 1, MOST_POINTS).astype(int)
            across, up = across[some], up[some]
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, up, strict=True))
        return self._add(
            f"<polyline points='{points}' fill='none' stroke='{colour}' "
            f"stroke-width='1.5' stroke-dasharray='{dashes}'/>"
        )

    def bars(self, edges: Floats, heights: Any) -> Self:
        """A bar between every two edges."""
        left, up = self._places(edges[:-1], heights)
        right, _ = self._places(edges[1:], heights)
        _, foot = self._places(0.0, self.y.low)
        for a, b, top in zip(left, right, up, strict=True):
            self._add(
                f"<rect x='{a:.1f}' y='{top:.1f}' width='{max(b - a - 0.5, 0.5):.1f}' "
                f"height='{max(float(foot) - top, 0.0):.1f}' fill='{BLUE}'/>"
            )
        return self

    def band(self, interval: Interval) -> Self:
        """The interval on the x axis, as a shade over the whole height."""
        inside = np.clip(interval, *self.x)
        (low, high), _ = self._places(inside, self.y.low)
        return self._add(
            f"<rect x='{low:.1f}' y='0' width='{max(high - low, 1.0):.1f}' "
            f"height='{HEIGHT:.0f}' fill='{ORANGE}' opacity='.25'/>"
        )

    def upright(self, x: float, colour: str = RED) -> Self:
        """A line over the whole height."""
        at, _ = self._places(x, self.y.low)
        return self._add(
            f"<line x1='{at:.1f}' x2='{at:.1f}' y1='0' y2='{HEIGHT:.0f}' "
            f"stroke='{colour}' stroke-width='1.5'/>"
        )

    def points(self, x: Any, y: Any, colour: str = BLUE, size: float = 3.0) -> Self:
        """A dot at each place that is finite."""
        across, up = self._places(x, y)
        for a, b in zip(np.atleast_1d(across), np.atleast_1d(up), strict=True):
            if np.isfinite(a) and np.isfinite(b):
                self._add(
                    f"<circle cx='{a:.1f}' cy='{b:.1f}' r='{size}' fill='{colour}'/>"
                )
        return self

    def whiskers(self, x: Any, intervals: Any, colour: str = BLUE) -> Self:
        """An upright line from the lower to the upper end of every interval."""
        for place, (low, high) in zip(x, intervals, strict=True):
            at, (first, last) = self._places(place, np.array([low, high]))
            if np.isfinite(first) and np.isfinite(last):
                self._add(
                    f"<line x1='{at:.1f}' x2='{at:.1f}' y1='{first:.1f}' "
                    f"y2='{last:.1f}' stroke='{colour}' stroke-width='2' opacity='.5'/>"
                )
        return self

    def scaled(self) -> Self:
        """The ends of the y axis, written at the right."""
        for value, at in ((self.y.high, 10.0), (self.y.low, HEIGHT - 4.0)):
            self._add(
                f"<text x='{WIDTH + 4:.0f}' y='{at:.0f}' {INK}>{_short(value)}</text>"
            )
        return self

    def ends(self, name: str = "") -> str:
        """The picture as text, with the ends of its x axis."""
        return self.named(f"{name} {_short(self.x.low)}".strip(), _short(self.x.high))

    def named(self, left: str, right: str) -> str:
        """The picture as text, with names of the ends of its x axis."""
        size = f"0 0 {WIDTH + BESIDE:.0f} {HEIGHT + BELOW:.0f}"
        foot = f"y='{HEIGHT + BELOW - 3:.0f}'"
        return (
            f"<svg viewBox='{size}' width='{WIDTH + BESIDE:.0f}' role='img' "
            f"style='display:block;max-width:100%;margin:.3em 0'>"
            f"<title>{html.escape(self.name)}</title>{''.join(self._parts)}"
            f"<line x1='0' x2='{WIDTH:.0f}' y1='{HEIGHT:.0f}' y2='{HEIGHT:.0f}' "
            f"stroke='{GREY}' opacity='.4'/>"
            f"<text x='0' {foot} {INK}>{html.escape(left)}</text>"
            f"<text x='{WIDTH:.0f}' {foot} text-anchor='end' {INK}>"
            f"{html.escape(right)}</text></svg>"
        )

    def _add(self, part: str) -> Self:
        self._parts.append(part)
        return self

    def _places(self, x: Any, y: Any) -> tuple[Any, Any]:
        wide, high = WIDTH - 2 * EDGE, HEIGHT - 2 * EDGE
        across = (np.asarray(x, dtype=float) - self.x.low) / (self.x.high - self.x.low)
        up = (np.asarray(y, dtype=float) - self.y.low) / (self.y.high - self.y.low)
        return EDGE + wide * across, HEIGHT - EDGE - high * up


def _short(value: float) -> str:
    return f"{value:.3g}" if abs(value) >= 0.001 else "0"


def _ends(values: Any) -> Interval:
    """Least and largest of the finite values, apart from each other."""
    known = np.asarray(values, dtype=float).ravel()
    known = known[np.isfinite(known)]
    if not known.size:
        return Interval(0.0, 1.0)
    low, high = float(known.min()), float(known.max())
    return Interval(low, high) if high > low else Interval(low - 0.5, high + 0.5)


def small_histogram(values: Floats, name: str) -> str:
    """Twenty bars over the values that are defined."""
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    if not known.size:
        return ""
    heights, edges = np.histogram(known, bins=20)
    drawn = SmallPicture(name, edges, [0.0, heights.max()]).bars(edges, heights)
    return drawn.ends()


def small_law(law: Any, interval: Interval) -> str:
    """The law of a score: its bars, the interval behind them, and its mean."""
    if not law.values.size:
        return ""
    heights, edges = np.histogram(law.values, bins=40, weights=law.probabilities)
    drawn = SmallPicture("Distribution of the score", edges, [0.0, heights.max()])
    drawn.band(interval).bars(edges, heights).upright(law.mean)
    return drawn.ends()
