"""How much memory a run may take, and what that means in rows."""

from __future__ import annotations

import os
from typing import Any

from argmetric._input.arguments import check_bytes, shown

LEAST_MEMORY = 500 * 10**6  # what a run takes, however little it was granted
ROW_BYTES = 200  # of a row while its bucket is decided, and a little more
ALWAYS_FITS = 100_000  # so many rows are decided at once, however little was granted
MOST_BUCKETS = 8192  # a million rows then have some hundred for each
SPARE = 1.5  # buckets of a hash are uneven
MANY_ROWS = 1_000_000  # so many are worth a bucket for each worker


def check_memory(value: Any, name: str = "memory") -> int:
    """Bytes, as a number or text such as 2GB or 512MiB; None is half of the machine."""
    if value is None:
        return _whole_memory() // 2
    n_bytes = check_bytes(value, name)
    if n_bytes < LEAST_MEMORY:
        raise ValueError(
            f"{name} must be at least {LEAST_MEMORY // 10**6} MB, not {shown(value)}: "
            "a run takes as much, however little it is granted"
        )
    return n_bytes


def _whole_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # no POSIX
        return 8 << 30


def bucket_rows(memory: int, n_workers: int) -> int:
    """How many rows one worker may decide at a time."""
    return max(1, memory // (n_workers * ROW_BYTES))


def n_buckets(rows: int, most_rows: int, n_workers: int) -> int:
    """So many that one fits in the memory of a worker, as far as there may be."""
    needed = -(-int(SPARE * rows) // most_rows) if rows > most_rows else 1
    if rows >= MANY_ROWS:
        needed = max(needed, 2 * n_workers if n_workers > 1 else 1)
    return min(needed, MOST_BUCKETS)
