"""How results show themselves: as text, in notebooks, as frames and as pictures."""

from __future__ import annotations

import contextlib
import html
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from argmetric._arguments import check_choice
from argmetric._types import Floats

Lines = list[tuple[str, str]]


class Result:
    """A result that shows itself: a title, named lines, and notes.

    A class says what stands in `_lines`. One that prints itself in another way has a
    `__repr__` of its own; in notebooks all are tables.
    """

    def _title(self) -> str:
        return type(self).__name__

    def _lines(self) -> Sequence[tuple[str, ...]]:
        raise NotImplementedError

    def _notes(self) -> tuple[str, ...]:
        return ()

    def __repr__(self) -> str:
        lines = self._lines()
        width = max(len(name) for name, *_ in lines)
        text = [f"  {name:<{width}}  {'  '.join(cells)}" for name, *cells in lines]
        notes = [f"  note: {note}" for note in self._notes()]
        return "\n".join([self._title(), *text, *notes])

    def _repr_html_(self) -> str:
        rows = "".join(_row(*line) for line in self._lines())
        below = "".join(
            f"<p><em>{html.escape(note)}</em></p>" for note in self._notes()
        )
        title = html.escape(self._title())
        return f"<table><caption>{title}</caption>{rows}</table>{below}"


def _row(name: str, *cells: str) -> str:
    return f"<tr>{_cell('th', name)}{''.join(_cell('td', cell) for cell in cells)}</tr>"


def _cell(tag: str, text: str) -> str:
    return f"<{tag} style='text-align:left'>{html.escape(text)}</{tag}>"


def shortest_cut(threshold: float, low: float, high: float) -> str:
    """A threshold with as few digits as still cut above `low` and not above `high`."""
    for digits in range(2, 18):
        text = f"{threshold:.{digits}g}"
        if low < float(text) <= high:
            return text
    return repr(threshold)


def as_frame(columns: dict[str, Any], backend: str) -> Any:
    """Columns as a frame of the library of that name."""
    import narwhals as nw

    check_choice(backend, "backend", ("pandas", "polars", "pyarrow"))
    return nw.from_dict(columns, backend=backend).to_native()  # type: ignore[arg-type]


@contextlib.contextmanager
def drawing(
    ax: Any, size: tuple[float, float] = (6.4, 3.8), **labels: Any
) -> Iterator[Any]:
    """Axes to draw on: the given ones, or those of a new figure.

    Parameters
    ----------
    ax : matplotlib Axes or None
        None for a new figure.
    size : (float, float)
        Of a new figure.
    **labels
        What ``ax.set`` takes, such as xlabel, ylabel, title; there is a legend where
        something drawn has a label.
    """
    ax = new_axes(ax, size)
    yield ax
    ax.set(**labels)
    if ax.get_legend_handles_labels()[0]:
        ax.legend()


def new_axes(ax: Any, size: tuple[float, float] = (6.4, 3.8), **options: Any) -> Any:
    """The given axes, or those of a new figure with these options."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "plots need matplotlib: pip install 'argmetric[plot]'"
        ) from error
    return plt.subplots(figsize=size, layout="constrained", **options)[1]


def draw_law(
    ax: Any,
    name: str,
    law: Any,
    interval: tuple[float, float],
    coverage: float,
) -> Any:
    """Draw the law of a score with its mean and an interval."""
    with drawing(ax, xlabel=name, ylabel="probability") as ax:
        if not law.values.size:
            ax.text(0.5, 0.5, "never defined", ha="center", transform=ax.transAxes)
            return ax
        bins = np.linspace(law.values[0], law.values[-1], 61)
        ax.hist(law.values, bins=bins, weights=law.probabilities, color="C0")
        ax.axvspan(*interval, color="C1", alpha=0.25, label=f"{coverage:.0%} interval")
        ax.axvline(law.mean, color="C3", label=f"mean {law.mean:.3f}")
    return ax


def draw_map(ax: Any, name: str, apply: Callable[[Floats], Floats]) -> Any:
    """Draw a map of probabilities over the diagonal."""
    whole = (-0.02, 1.02)
    labels = {"xlabel": "p as given", "ylabel": "p calibrated"}
    with drawing(ax, (4.4, 4.2), **labels, xlim=whole, ylim=whole) as ax:
        p = np.linspace(0.0, 1.0, 1001)
        ax.plot([0, 1], [0, 1], color="C7", linestyle=":", label="unchanged")
        ax.plot(p, apply(p), color="C0", label=name)
    return ax


@contextlib.contextmanager
def curve_drawing(ax: Any, curve: Floats, name: str, which: str) -> Iterator[Any]:
    """Axes with what is expected for every number of positives."""
    label = f"expected {name}"
    with drawing(ax, xlabel="k, items predicted positive", ylabel=label) as ax:
        k = np.arange(curve.size)
        ax.plot(k, curve, color="C0", label=f"{label} of {which}")
        yield ax
