"""Sums over the rows of a reference, some of them at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

# Worked on at a time: they stay in the cache, and BLAS adds up to 10,000 products by
# one thread.
ROWS = 1 << 13


def row_blocks(n: int, rows: int = ROWS) -> Iterator[slice]:
    """The rows 0…n-1 in parts."""
    return (slice(first, min(first + rows, n)) for first in range(0, n, rows))


def summed(terms: Callable[[slice], float], n: int) -> float:
    """The sum over all rows of what is told of a part of them."""
    return math.fsum(terms(part) for part in row_blocks(n))
