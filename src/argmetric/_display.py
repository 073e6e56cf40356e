"""The printed form of a result: a title, named lines, and notes; axes for plots."""

from __future__ import annotations

import html
from typing import Any

Lines = list[tuple[str, str]]


def as_text(title: str, lines: Lines, notes: tuple[str, ...] = ()) -> str:
    """One line each, the names in a column."""
    width = max(len(name) for name, _ in lines)
    text = [f"  {name:<{width}}  {value}" for name, value in lines]
    return "\n".join([title, *text, *(f"  note: {note}" for note in notes)])


def as_html(title: str, lines: Lines, notes: tuple[str, ...] = ()) -> str:
    """The same as a table, for notebooks."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
        for name, value in lines
    )
    below = "".join(f"<p><em>{html.escape(note)}</em></p>" for note in notes)
    return f"<table><caption>{html.escape(title)}</caption>{rows}</table>{below}"


def new_axes(ax: Any, size: tuple[float, float] = (6.4, 3.8)) -> Any:
    """The given axes, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "plots need matplotlib: pip install 'argmetric[plot]'"
        ) from error
    return plt.subplots(figsize=size, layout="constrained")[1]
