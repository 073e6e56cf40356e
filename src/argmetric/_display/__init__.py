"""How results show themselves: as text, in notebooks, as frames and as pictures."""

from argmetric._display._displays import Display
from argmetric._display._pictures import (
    MOST_BARS,
    Mark,
    bars_size,
    draw_bars,
    draw_counts,
    draw_curve,
    draw_law,
    draw_map,
    drawing,
    new_axes,
    reach,
    thinned,
)
from argmetric._display._results import Lines, Result, Shown, lines_of, table
from argmetric._display._text import as_frame, shortest_cut

__all__ = [
    "MOST_BARS",
    "Display",
    "Lines",
    "Mark",
    "Result",
    "Shown",
    "as_frame",
    "bars_size",
    "draw_bars",
    "draw_counts",
    "draw_curve",
    "draw_law",
    "draw_map",
    "drawing",
    "lines_of",
    "new_axes",
    "reach",
    "shortest_cut",
    "table",
    "thinned",
]
