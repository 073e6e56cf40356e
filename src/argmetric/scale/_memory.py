"""How much memory a run may take, and what that means in rows."""

from __future__ import annotations

import os
import re
from typing import Any

from argmetric._arguments import check_count, shown

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
UNITS |= {f"{unit}i": 1 << (10 * i) for i, unit in enumerate("kmgt", 1)}
ROW_BYTES = 200  # of a row while its bucket is decided, and a little more
ALWAYS_FITS = 100_000  # so many rows are decided at once, however little was granted
MOST_BUCKETS = 8192  # a million rows then have some hundred for each
SPARE = 1.5  # buckets of a hash are uneven
MANY_ROWS = 1_000_000  # so many are worth a bucket for each worker


def check_memory(value: Any, name: str = "memory") -> int:
    """Bytes, as a number or text such as 2GB or 512MiB; None is half of the machine."""
    if value is None:
        return _whole_memory() // 2
    if isinstance(value, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", value.lower())
        if match is None or match[2] not in UNITS:
            raise ValueError(f"{name} must be a size such as '2GB', not {shown(value)}")
        return max(1, int(float(match[1]) * UNITS[match[2]]))
    return check_count(value, name, low=1)


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
