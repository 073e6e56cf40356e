"""Rows in chunks, in constant memory, from a place that can be found again.

Text is read in blocks and parsed row by row; a chunk knows the offset behind its last
row, so that another process can go on from there and sees the same rows.
"""

from argmetric._files.chunks._base import (
    MOST_ROWS,
    BadRowError,
    Chunk,
    Layout,
    Position,
    Request,
    RowFormat,
)
from argmetric._files.chunks._bytes import PackedError
from argmetric._files.chunks._classes import Classes
from argmetric._files.chunks._open import OpenRows, Reader, Resumed, open_rows

__all__ = [
    "MOST_ROWS",
    "BadRowError",
    "Chunk",
    "Classes",
    "Layout",
    "OpenRows",
    "PackedError",
    "Position",
    "Reader",
    "Request",
    "Resumed",
    "RowFormat",
    "open_rows",
]
