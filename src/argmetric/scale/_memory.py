"""How much memory a run may use, and how many rows of a bucket that is."""

from __future__ import annotations

import os
from typing import Any

from argmetric._ground.arguments import check_bytes, shown

LEAST_MEMORY = 500 * 10**6  # what a run takes, however little it is granted
PROCESS_BYTES = 200 * 10**6  # of libraries and compiled code
ROW_BYTES = 200  # of a row while its bucket is decided, and a little more
ALWAYS_FITS = 100_000  # so many rows are decided at once, however little is granted
MOST_BUCKETS = 8192  # a million rows then have some hundred for each
SPARE = 1.5  # buckets of a hash are uneven
MANY_ROWS = 1_000_000  # so many are worth a bucket for each worker


def check_memory(value: Any, name: str = "memory") -> int:
    """Return bytes of a number or of text such as 2GB; None is half of the machine."""
    if value is None:
        try:
            return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
        except (AttributeError, ValueError, OSError):  # no POSIX
            return 4 << 30
    n_bytes = check_bytes(value, name)
    if n_bytes < LEAST_MEMORY:
        raise ValueError(
            f"{name} must be at least {LEAST_MEMORY // 10**6} MB, not {shown(value)}: "
            "a run takes as much, however little it is granted"
        )
    return n_bytes


def bucket_rows(memory: int, n_workers: int) -> int:
    """Return the most rows that one worker may decide at a time."""
    return max(1, rows_held(memory, ROW_BYTES) // n_workers)


def rows_held(memory: int, row_bytes: int) -> int:
    """Return how many rows of `row_bytes` fit into memory beside the process."""
    room = memory - PROCESS_BYTES if memory > 2 * PROCESS_BYTES else memory
    return room // row_bytes


def fits(n_rows: int, most_rows: int) -> bool:
    """Return whether a number of rows fits into the memory of one worker."""
    return n_rows <= max(2 * most_rows, ALWAYS_FITS)


def bucket_count(n_rows: int, most_rows: int, n_workers: int) -> int:
    """Return how many buckets are needed so that each fits in a worker's memory."""
    needed = -(-int(SPARE * n_rows) // most_rows) if n_rows > most_rows else 1
    if n_rows >= MANY_ROWS:
        needed = max(needed, 2 * n_workers if n_workers > 1 else 1)
    return min(needed, MOST_BUCKETS)
