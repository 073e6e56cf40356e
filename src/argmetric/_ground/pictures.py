"""Axes and pictures that several rooms draw, and small ones for notebooks, SVG text."""

from __future__ import annotations

import contextlib
import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from argmetric._ground.arguments import install
from argmetric._ground.types import Axes, DiscreteScores, Floats, Integers, Interval

DRAWN_POINTS = 4000
ALIKE = 1e-9  # part of their size by which values differ that are drawn as one
MOST_BARS = 40  # names that have a bar each; more are a histogram


@contextlib.contextmanager
def drawing(
    ax: Axes | None, size: tuple[float, float] = (6.4, 3.8), **labels: Any
) -> Iterator[Axes]:
    """Yield `ax` or the axes of a new figure; label them as ``ax.set`` takes it."""
    ax = new_axes(ax, size)
    yield ax
    ax.set(**labels)
    if ax.get_legend_handles_labels()[0]:
        ax.legend()


def new_axes(ax: object, size: tuple[float, float] = (6.4, 3.8), **options: Any) -> Any:
    """Return `ax`, or the axes of a new figure of this size."""
    if ax is not None:
        if not hasattr(ax, "get_legend_handles_labels"):
            raise TypeError(f"ax must be matplotlib Axes, not {type(ax).__name__}")
        return ax
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"plots need matplotlib: {install('plot')}"
        ) from error
    return plt.subplots(figsize=size, layout="constrained", **options)[1]


def adaptive_edges(values: Floats) -> Floats:
    """Return edges of 5 to 40 bins, by Sturges' rule or widths of 2·IQR/∛n."""
    if not values.size:
        return np.linspace(0.0, 1.0, 6)
    low, high = _ends(values, 0.05)
    if values.max() < high:  # all alike
        return np.linspace(low, high, 6)
    lower, upper = np.quantile(values, (0.25, 0.75))
    width = max(2.0 * (upper - lower) / np.cbrt(values.size), (high - low) / 40)
    count = max((high - low) / width, np.log2(values.size) + 1.0)
    return np.linspace(low, high, int(np.clip(np.ceil(count), 5, 40)) + 1)


def draw_distribution(
    ax: Axes, scores: DiscreteScores, interval: tuple[float, float], coverage: float
) -> object:
    """Draw the distribution of a score with its mean and an interval."""
    if not scores.values.size:
        ax.text(0.5, 0.5, "never defined", ha="center", transform=ax.transAxes)
        return None
    # Bins over all but a thousandth of the PMF; few values have a bar each.
    below = np.cumsum(scores.probabilities) / np.sum(scores.probabilities)
    ends = np.searchsorted(below, (0.0005, 0.9995)).clip(max=scores.values.size - 1)
    low, high = scores.values[ends]
    room = max(1e-3, 0.02 * (high - low))
    edges = np.linspace(low - room, high + room, 61)
    ax.hist(scores.values, bins=list(edges), weights=scores.probabilities, color="C0")
    label = f"{coverage:.0%} interval, {interval[0]:.3f} to {interval[1]:.3f}"
    ax.axvspan(*interval, color="C1", alpha=0.2, lw=0, zorder=0, label=label)
    ax.margins(y=0.35)  # room for the legend
    return ax.axvline(scores.mean, color="C3", label=f"mean {scores.mean:.3f}")


def draw_map(ax: Axes | None, name: str, apply: Callable[[Floats], Floats]) -> Axes:
    """Draw a calibration curve over the diagonal."""
    whole = (-0.02, 1.02)
    labels = {"xlabel": "p as given", "ylabel": "p recalibrated"}
    with drawing(ax, (4.4, 4.2), **labels, xlim=whole, ylim=whole) as ax:
        p = np.linspace(0.0, 1.0, 1001)
        ax.plot([0, 1], [0, 1], color="C7", linestyle=":", label="unchanged")
        ax.plot(p, apply(p), color="C0", label=name)
    return ax


def draw_bars(ax: Axes, names: Sequence[str], heights: npt.ArrayLike) -> None:
    """Draw a bar for each name, from top to bottom; of many a histogram."""
    values: Floats = np.asarray(heights, dtype=np.float64)
    if len(names) > MOST_BARS:
        values = values[np.isfinite(values)]
        ax.hist(values, bins=adaptive_edges(values).tolist(), color="C0", alpha=0.8)
        return
    places = range(len(names))
    ax.barh(places, values, color="C0", alpha=0.8)
    ax.set_yticks(places, names)
    ax.invert_yaxis()


def draw_counts(ax: Axes, counts: Mapping[str, float]) -> None:
    """Draw tp, fp, fn and tn as a square: truth from top to bottom."""
    square = np.array([[counts["tn"], counts["fp"]], [counts["fn"], counts["tp"]]])
    share = square / np.maximum(square.sum(axis=1, keepdims=True), 1)
    ax.imshow(share, cmap="Blues", vmin=0, vmax=1)
    for (truth, said), count in np.ndenumerate(square):
        dark = share[truth, said] > 0.5
        text = f"{count:,}\n{share[truth, said]:.1%}"
        ax.text(said, truth, text, ha="center", va="center", color="wk"[not dark])
    ax.set_xticks((0, 1), ("negative", "positive"))
    ax.set_yticks((0, 1), ("negative", "positive"))


def bars_size(count: int) -> tuple[float, float]:
    """Return the size of a figure with this many bars."""
    return (6.4, 3.8) if count > MOST_BARS else (6.4, 1.6 + 0.24 * count)


def draw_curve(
    ax: Axes, curve: Floats, best: int, label: str, marks: Sequence[Mark] = ()
) -> object:
    """Draw a curve up to a k that keeps the best one in the left half."""
    most = int(min(curve.size - 1, reach(best, *(mark.k for mark in marks))))
    k = thin_indices(most + 1, best)
    (line,) = ax.plot(k, curve[k], color="C0", label=label)
    for mark in marks:
        ax.plot(mark.k, mark.value, mark.sign, color=mark.color, label=mark.label)
    ax.set_xlim(-0.02 * most, 1.02 * most)
    ax.margins(y=0.12)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    return line


class Mark(NamedTuple):
    """A point of a curve that has a name."""

    k: int
    value: float
    label: str
    sign: str = "o"
    color: str = "C3"


def reach(best: float, *others: float) -> float:
    """Return the largest k of a curve that is worth drawing."""
    return max(2.5 * best, 1.25 * max(others, default=0.0), 10.0)


def thin_indices(size: int, *kept: int) -> Integers:
    """Return as many of the first `size` whole numbers as a picture can show."""
    if size <= DRAWN_POINTS:
        return np.arange(size)
    spread = np.linspace(0, size - 1, DRAWN_POINTS).astype(np.int64)
    return np.unique([*spread, *kept])


@dataclass(repr=False)
class Display:
    """Base class of pictures: `_draw` of a subclass draws; `plot` keeps the artists."""

    ax_: Any = field(default=None, init=False)
    figure_: Any = field(default=None, init=False)
    line_: Any = field(default=None, init=False)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on given axes, or on those of a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        Display
            The display itself, with its artists as attributes.
        """
        with drawing(ax, self._size(), **self._labels()) as ax:
            self.line_ = self._draw(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _size(self) -> tuple[float, float]:
        """Return width and height of a new figure."""
        return 6.4, 3.8

    def _labels(self) -> dict[str, Any]:
        """Return the keywords for ``ax.set``."""
        raise NotImplementedError

    def _draw(self, ax: Axes) -> object:
        """Draw, and return the line that people will want to style."""
        raise NotImplementedError

    def __repr__(self) -> str:
        state = "not drawn yet" if self.ax_ is None else "drawn"
        return f"{type(self).__name__}({state})"


WIDTH, HEIGHT, EDGE = 320.0, 96.0, 4.0
BELOW, BESIDE = 14.0, 36.0  # room for the ends of both axes
MOST_POINTS = 200
INK = "fill='currentColor' font-size='10' opacity='.75'"
# Seen on white and on black alike; all else is drawn in the ink of the page.
BLUE, ORANGE, RED, GREY = "#4c8bf5", "#f59e0b", "#ef4444", "currentColor"
COLOURS = (BLUE, ORANGE, RED, "#10b981", "#a855f7")  # of lines beside each other


class SmallPicture:
    """Layers in the units of the data, within the ends of both axes."""

    def __init__(self, name: str, x: object, y: object) -> None:
        self.name = name
        self.x, self.y = _ends(x), _ends(y)
        self._parts: list[str] = []

    def line(self, x: object, y: object, colour: str = BLUE, dashes: str = "") -> Self:
        """Draw a line through points; many points are thinned to what can be seen."""
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

    def bars(self, edges: Floats, heights: object) -> Self:
        """Draw a bar between every two edges."""
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
        """Draw an interval of the x axis as a shade over the whole height."""
        inside = np.clip(interval, *self.x)
        (low, high), _ = self._places(inside, self.y.low)
        return self._add(
            f"<rect x='{low:.1f}' y='0' width='{max(high - low, 1.0):.1f}' "
            f"height='{HEIGHT:.0f}' fill='{ORANGE}' opacity='.25'/>"
        )

    def upright(self, x: float, colour: str = RED) -> Self:
        """Draw a vertical line over the whole height."""
        at, _ = self._places(x, self.y.low)
        return self._add(
            f"<line x1='{at:.1f}' x2='{at:.1f}' y1='0' y2='{HEIGHT:.0f}' "
            f"stroke='{colour}' stroke-width='1.5'/>"
        )

    def points(
        self, x: object, y: object, colour: str = BLUE, size: float = 3.0
    ) -> Self:
        """Draw a dot at each finite point."""
        across, up = self._places(x, y)
        for a, b in zip(np.atleast_1d(across), np.atleast_1d(up), strict=True):
            if np.isfinite(a) and np.isfinite(b):
                self._add(
                    f"<circle cx='{a:.1f}' cy='{b:.1f}' r='{size}' fill='{colour}'/>"
                )
        return self

    def whiskers(self, x: object, intervals: object, colour: str = BLUE) -> Self:
        """Draw a vertical line from the lower to the upper end of every interval."""
        for place, ends in zip(np.asarray(x), np.asarray(intervals), strict=True):
            at, (first, last) = self._places(place, ends)
            if np.isfinite(first) and np.isfinite(last):
                self._add(
                    f"<line x1='{at:.1f}' x2='{at:.1f}' y1='{first:.1f}' "
                    f"y2='{last:.1f}' stroke='{colour}' stroke-width='2' opacity='.5'/>"
                )
        return self

    def write(self, text: str, row: int, colour: str) -> Self:
        """Write a line of a legend at the left, `row` lines from the top."""
        return self._add(
            f"<text x='{EDGE:.0f}' y='{10 + 12 * row}' fill='{colour}' "
            f"font-size='10'>{html.escape(text)}</text>"
        )

    def y_labels(self) -> Self:
        """Write the ends of the y axis at the right."""
        for value, at in ((self.y.high, 10.0), (self.y.low, HEIGHT - 4.0)):
            self._add(
                f"<text x='{WIDTH + 4:.0f}' y='{at:.0f}' {INK}>{_short(value)}</text>"
            )
        return self

    def ends(self, name: str = "") -> str:
        """Return the picture as text, with the ends of its x axis."""
        return self.text(f"{name} {_short(self.x.low)}".strip(), _short(self.x.high))

    def text(self, left: str, right: str) -> str:
        """Return the picture as text, with names for the ends of its x axis."""
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

    def _places(self, x: object, y: object) -> tuple[Any, Any]:
        """Return the coordinates in the picture, whose y axis points down."""
        wide, high = WIDTH - 2 * EDGE, HEIGHT - 2 * EDGE
        across = (np.asarray(x, dtype=float) - self.x.low) / (self.x.high - self.x.low)
        up = (np.asarray(y, dtype=float) - self.y.low) / (self.y.high - self.y.low)
        return EDGE + wide * across, HEIGHT - EDGE - high * up


def _short(value: float) -> str:
    if abs(value) >= 1000.0:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 else "0"


def _ends(values: object, aside: float = 0.5) -> Interval:
    """Return the least and the largest finite value, at least a little apart.

    Values that are equal but for rounding have so much room on either side.
    """
    known = np.asarray(values, dtype=float).ravel()
    known = known[np.isfinite(known)]
    if not known.size:
        return Interval(0.0, 1.0)
    low, high = float(known.min()), float(known.max())
    size = max(1.0, abs(low), abs(high))
    if high - low > ALIKE * size:
        return Interval(low, high)
    return Interval(low - aside * size, high + aside * size)


def small_histogram(values: Floats, name: str) -> str:
    """Return a histogram of the values that are not nan."""
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    if not known.size:
        return ""
    heights, edges = np.histogram(known, bins=adaptive_edges(known))
    drawn = SmallPicture(name, edges, [0.0, heights.max()]).bars(edges, heights)
    return drawn.ends()


def small_distribution(scores: DiscreteScores, interval: Interval) -> str:
    """Return a picture of the distribution of a score, its interval and its mean."""
    if not scores.values.size:
        return ""
    edges = np.linspace(*_ends(scores.values, 0.05), 41)
    heights, _ = np.histogram(scores.values, bins=edges, weights=scores.probabilities)
    drawn = SmallPicture("Distribution of the score", edges, [0.0, heights.max()])
    drawn.band(interval).bars(edges, heights).upright(scores.mean)
    return drawn.ends()


def small_densities(draws: Mapping[str, Floats], name: str) -> str:
    """Return outlines of the histograms of draws of a few named scores."""
    some = dict(list(draws.items())[: len(COLOURS)])
    _, edges = np.histogram(np.concatenate(list(some.values())), bins=40)
    heights = [np.histogram(one, bins=edges)[0] / one.size for one in some.values()]
    drawn = SmallPicture(name, edges, [0.0, np.max(heights)])
    for row, (label, height, colour) in enumerate(
        zip(some, heights, COLOURS, strict=False)
    ):
        drawn.line(np.repeat(edges, 2)[1:-1], np.repeat(height, 2), colour)
        drawn.write(label, row, colour)
    return drawn.ends()


def small_difference(draws: Floats, interval: Interval, name: str) -> str:
    """Return a histogram of draws of a difference, its interval, and a line at 0."""
    heights, edges = np.histogram(draws, bins=40)
    drawn = SmallPicture(name, [*edges, 0.0], [0.0, heights.max()])
    return drawn.band(interval).bars(edges, heights).upright(0.0).ends("difference:")
