"""Sums over the rows of a reference, some of them at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

ROWS = 1 << 14  # worked on at a time: they stay in the cache


def row_blocks(n: int, rows: int = ROWS) -> Iterator[slice]:
    """The rows 0…n-1 in parts."""
    return (slice(first, min(first + rows, n)) for first in range(0, n, rows))


def summed(terms: Callable[[slice], float], n: int) -> float:
    """The sum over all rows of what is told of a part of them."""
    return math.fsum(terms(part) for part in row_blocks(n))
