"""How results show themselves: as text, in notebooks, as frames and as pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argmetric._lazy import lazy_names

if TYPE_CHECKING:
    from argmetric._results.display._displays import Display as Display
    from argmetric._results.display._pictures import MOST_BARS as MOST_BARS
    from argmetric._results.display._pictures import Mark as Mark
    from argmetric._results.display._pictures import bars_size as bars_size
    from argmetric._results.display._pictures import draw_bars as draw_bars
    from argmetric._results.display._pictures import draw_counts as draw_counts
    from argmetric._results.display._pictures import draw_curve as draw_curve
    from argmetric._results.display._pictures import draw_law as draw_law
    from argmetric._results.display._pictures import draw_map as draw_map
    from argmetric._results.display._pictures import drawing as drawing
    from argmetric._results.display._pictures import new_axes as new_axes
    from argmetric._results.display._pictures import reach as reach
    from argmetric._results.display._pictures import thinned as thinned
    from argmetric._results.display._results import Lines as Lines
    from argmetric._results.display._results import Result as Result
    from argmetric._results.display._results import Shown as Shown
    from argmetric._results.display._results import lines_of as lines_of
    from argmetric._results.display._results import table as table
    from argmetric._results.display._text import as_frame as as_frame
    from argmetric._results.display._text import shortest_cut as shortest_cut

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "_displays": ("Display",),
        "_pictures": (
            "MOST_BARS",
            "Mark",
            "bars_size",
            "draw_bars",
            "draw_counts",
            "draw_curve",
            "draw_law",
            "draw_map",
            "drawing",
            "new_axes",
            "reach",
            "thinned",
        ),
        "_results": (
            "Lines",
            "Result",
            "Shown",
            "lines_of",
            "table",
        ),
        "_text": (
            "as_frame",
            "shortest_cut",
        ),
    },
)
