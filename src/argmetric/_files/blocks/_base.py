"""What every reader of blocks takes and gives."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from argmetric._files._formats import DataError
from argmetric._files.blocks._classes import Classes
from argmetric._input.types import Bytes, Integers

RowFormat = Literal["svmlight", "csv", "tsv", "jsonl", "parquet"]
OnError = Literal["stop", "skip"]

MOST_ROWS = 8192  # of a block
SHOWN_ERRORS = 5


@dataclass(frozen=True)
class Request:
    """How rows are to be read.

    Attributes
    ----------
    target : str or None
        The column, or key, of the labels; None looks for a default name.
    drop : tuple of str
        Columns that are no features.
    features : int or None
        For svmlight: the number of features; None finds the largest index first.
    hash_bits : int or None
        Features are hashed to 2**hash_bits columns.
    zero_based : bool
        For svmlight: indices begin with 0.
    on_error : {"stop", "skip"}
        Whether a row that cannot be used ends the reading.
    every : int or None
        No block crosses a multiple of so many rows.
    known : Layout or None
        Read these features and no labels: what was learned from before.
    """

    target: str | None = None
    drop: tuple[str, ...] = ()
    features: int | None = None
    hash_bits: int | None = None
    zero_based: bool = False
    on_error: OnError = "stop"
    every: int | None = None
    known: Layout | None = None


@dataclass(frozen=True)
class Layout:
    """What the columns of the matrix are; known before the first row is read.

    Attributes
    ----------
    format : str
        The format.
    n_features : int
        Columns of the matrix.
    names : tuple of str
        Names of the features where they have any.
    target : str or None
        The column of labels, None in svmlight.
    columns : tuple of str
        All columns of a CSV file.
    delimiter : str
        What separates its cells.
    """

    format: RowFormat
    n_features: int
    names: tuple[str, ...] = ()
    target: str | None = None
    columns: tuple[str, ...] = ()
    delimiter: str = ","

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self) | {"names": list(self.names), "columns": list(self.columns)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Layout:
        """Return what `to_dict` described."""
        names, columns = tuple(values["names"]), tuple(values["columns"])
        return cls(**(values | {"names": names, "columns": columns}))


@dataclass(frozen=True)
class Position:
    """Behind which row of the input we are, and what happened up to there.

    Attributes
    ----------
    offset : int
        Bytes of text, or rows of Parquet, that were consumed.
    lines, rows : int
        Lines and rows among them, bad rows included.
    skipped : int
        Bad rows.
    errors : tuple of str
        What was wrong with the first of them.
    classes : Classes
        What the labels mean, as far as it is known.
    tail : bytes
        The last bytes before the offset, by which the place is recognised.
    """

    offset: int = 0
    lines: int = 0
    rows: int = 0
    skipped: int = 0
    errors: tuple[str, ...] = ()
    classes: Classes = field(default_factory=Classes)
    tail: bytes = b""

    def skip(self, message: str) -> Position:
        """Return the position behind a bad row; offset and lines are the caller's."""
        errors = self.errors
        if len(errors) < SHOWN_ERRORS:
            errors = (*errors, message)
        return replace(
            self, rows=self.rows + 1, skipped=self.skipped + 1, errors=errors
        )


@dataclass(frozen=True)
class Block:
    """Some rows, and the position behind them.

    Attributes
    ----------
    X : ndarray or scipy CSR matrix
        Features.
    y : ndarray of uint8
        1 for the positive class, 0 for the other; anything where labels are not read.
    numbers : ndarray of int
        The numbers of the rows in the input, from 1; bad rows are counted too.
    position : Position
        Behind the last row.
    """

    X: Any
    y: Bytes
    numbers: Integers
    position: Position


Blocks = Iterator[Block]


class BadRowError(DataError):
    """A row that cannot be used."""


def room(position: Position, every: int | None) -> int:
    """How many rows the next block may have."""
    if every is None:
        return MOST_ROWS
    return min(MOST_ROWS, every - position.rows % every)


def shown(text: str, most: int = 40) -> str:
    """Return text from a file for a message: on one line, and not too long."""
    text = text.strip()
    return repr(text if len(text) <= most else text[: most - 1] + "…")


def finite(value: float) -> bool:
    """Whether a number can be a feature."""
    return math.isfinite(value)
