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
from argmetric.scale.files.blocks._columns import ParquetRows
from argmetric.scale.files.blocks._open import ResumePoint, open_rows
from argmetric.scale.files.blocks._rows import TextRows

__all__ = [
    "MOST_ROWS",
    "BadRowError",
    "PackedError",
    "ParquetRows",
    "Position",
    "Request",
    "ResumePoint",
    "RowBlock",
    "RowFormat",
    "RowLayout",
    "StreamClasses",
    "TextRows",
    "open_rows",
]
