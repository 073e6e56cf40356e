"""Rows in chunks, in constant memory, from a place that can be found again.

Text is read in blocks and parsed row by row; a chunk knows the offset behind its last
row, so that another process can go on from there and sees the same rows.
"""

from argmetric._files.chunks._base import (
    BadRowError,
    Chunk,
    Layout,
    Position,
    Request,
    RowFormat,
)
from argmetric._files.chunks._bytes import PackedError
from argmetric._files.chunks._classes import Classes
from argmetric._files.chunks._open import Reader, open_rows

__all__ = [
    "BadRowError",
    "Chunk",
    "Classes",
    "Layout",
    "PackedError",
    "Position",
    "Reader",
    "Request",
    "RowFormat",
    "open_rows",
]
