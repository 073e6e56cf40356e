"""Rows in blocks, in constant memory, from a place that can be found again.

Text is read in pieces of whole rows; a block knows the offset behind its last
row, so that another process can go on from there and sees the same rows.
"""

from argmetric.scale.files._source import PackedError
from argmetric.scale.files.blocks._base import (
    MOST_ROWS,
    BadRowError,
    Position,
    Request,
    RowBlock,
    RowFormat,
    RowLayout,
    StreamClasses,
)
from argmetric.scale.files.blocks._open import OpenRows, ResumePoint, open_rows

__all__ = [
    "MOST_ROWS",
    "BadRowError",
    "OpenRows",
    "PackedError",
    "Position",
    "Request",
    "ResumePoint",
    "RowBlock",
    "RowFormat",
    "RowLayout",
    "StreamClasses",
    "open_rows",
]
