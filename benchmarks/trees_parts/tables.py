"""Scores of several seeds, and tables of them as the docs have them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def shares(found: Sequence[object], name: str) -> np.ndarray:
    """A score of each seed, in percent."""
    return 100 * np.array([getattr(one, name) for one in found])


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Rows under their heads."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    rule = "  ".join("=" * width for width in widths)
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in (heads, *rows)
    ]
    return "\n".join([rule, lines[0].rstrip(), rule, *map(str.rstrip, lines[1:]), rule])
