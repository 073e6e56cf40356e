"""How results show themselves: as text, in notebooks, as frames and as pictures."""

from argmetric._display._pictures import (
    curve_drawing,
    draw_law,
    draw_map,
    drawing,
    new_axes,
)
from argmetric._display._results import Lines, Result, Shown, lines_of, table
from argmetric._display._text import as_frame, shortest_cut

__all__ = [
    "Lines",
    "Result",
    "Shown",
    "as_frame",
    "curve_drawing",
    "draw_law",
    "draw_map",
    "drawing",
    "lines_of",
    "new_axes",
    "shortest_cut",
    "table",
]
