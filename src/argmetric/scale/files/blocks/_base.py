"""Arguments and results of all readers of blocks, and the classes of labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from argmetric._ground.label_words import (
    neither,
    same_spelling,
    spelled_number,
    unclear,
)
from argmetric._ground.types import Bytes, Integers
from argmetric.scale.files._source import DataError, marked

_TRUTHS = {"true": "false", "True": "False", "TRUE": "FALSE"}
_SHOWN = 40  # letters of a label
_FALSE = {negative: positive for positive, negative in _TRUTHS.items()}


@dataclass(frozen=True)
class StreamClasses:
    """Positive and negative class of a stream, each None until it is known.

    Numbers are compared as numbers: "1", "+1" and "1.0" are one class. Where the user
    has `named` the positive one, the first other value is the negative one, or with
    `rest` all are; else labels are 0 and 1, -1 and 1, or true and false.
    """

    positive: str | None = None
    negative: str | None = None
    named: bool = False
    rest: bool = False

    @property
    def are_known(self) -> bool:
        return self.positive is not None and self.negative is not None

    def of(self, label: str) -> int | None:
        """Return 1, 0, or None for a label that is not (yet) a class."""
        for number, name in ((1, self.positive), (0, self.negative)):
            if name is not None and same_spelling(label, name):
                return number
        return 0 if self.rest and label else None

    def learn(self, label: str) -> StreamClasses | None:
        """Return the classes with a new label among them, or None if both are known."""
        if not label or self.are_known:
            return None
        if self.named:
            return replace(self, negative=label)
        value = spelled_number(label)
        if self.positive is None:
            if value in (0.0, -1.0):
                return replace(self, positive="1", negative=label)
            if value == 1.0:
                return replace(self, positive=label)
            if label in _TRUTHS:
                return replace(self, positive=label, negative=_TRUTHS[label])
            if label in _FALSE:
                return replace(self, positive=_FALSE[label], negative=label)
        elif value in (0.0, -1.0):
            return replace(self, negative=label)
        return None

    def complaint(self, label: str) -> str:
        """Return a message on a label that is no class."""
        if not label:
            return "it has no label"
        label = label[:_SHOWN]
        if self.are_known or self.named:
            return neither(label, self.negative, self.positive)
        problem = unclear([label], "it").problem
        names = f"{marked('pos_label')} and {marked('neg_label')}"
        return f"{problem}; name the classes by {names}"

    @property
    def doubtful(self) -> bool:
        """Return whether a positive class that never occurs is likely a slip."""
        usual = StreamClasses().learn(self.negative or "")
        pair = "" if usual is None else usual.positive or ""
        return self.named and not same_spelling(pair, self.positive or "")


RowFormat = Literal["svmlight", "csv", "tsv", "jsonl", "parquet"]
OnError = Literal["stop", "skip"]

MOST_ROWS = 8192  # of a block
SHOWN_ERRORS = 5


@dataclass(frozen=True)
class Request:
    """How rows are to be read."""

    target: str | None = None  # column of the labels; None looks for a default name
    drop: tuple[str, ...] = ()  # columns that are no features
    features: int | None = None  # of svmlight; None finds the largest index first
    hash_bits: int | None = None  # features are hashed to 2**hash_bits columns
    zero_based: bool = False  # indices of svmlight begin with 0
    on_error: OnError = "stop"  # or skip rows that cannot be used
    every: int | None = None  # no block crosses a multiple of so many rows
    known: RowLayout | None = None  # read these features, no labels
    decimal: str = "."  # of CSV and TSV


@dataclass(frozen=True)
class RowLayout:
    """Columns of the matrix of features, known before the first row is read."""

    format: RowFormat
    n_features: int
    names: tuple[str, ...] = ()  # of the features, where they have any
    target: str | None = None  # the column of labels, None in svmlight
    columns: tuple[str, ...] = ()  # all of a CSV file
    delimiter: str = ","  # between its cells

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"names": list(self.names), "columns": list(self.columns)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> RowLayout:
        names, columns = tuple(values["names"]), tuple(values["columns"])
        return cls(**(values | {"names": names, "columns": columns}))


@dataclass(frozen=True)
class Position:
    """Place in the input after some row, with counts of rows and errors so far."""

    offset: int = 0  # bytes of text, or rows of Parquet
    lines: int = 0
    rows: int = 0  # bad ones included
    skipped: int = 0  # bad rows
    errors: tuple[str, ...] = ()  # what was wrong with the first of them
    classes: StreamClasses = field(default_factory=StreamClasses)  # as far as known
    tail: bytes = b""  # before the offset, by which the place is recognised

    def skip(self, messages: list[str]) -> Position:
        """Return the position after bad rows, with their messages noted."""
        if not messages:
            return self
        return replace(
            self,
            rows=self.rows + len(messages),
            skipped=self.skipped + len(messages),
            errors=(*self.errors, *messages)[:SHOWN_ERRORS],
        )


@dataclass(frozen=True)
class RowBlock:
    """Some rows, and the position behind them."""

    X: Any  # features: an array or a CSR matrix
    y: Bytes  # 1 for the positive class; anything where labels are not read
    numbers: Integers  # of the rows in the input, from 1, bad ones counted too
    position: Position


Blocks = Iterator[RowBlock]


class BadRowError(DataError):
    """A row that cannot be used."""


def room(position: Position, every: int | None) -> int:
    """Return the most rows that the next block may have."""
    if every is None:
        return MOST_ROWS
    return min(MOST_ROWS, every - position.rows % every)


def shown(text: str, most: int = 40) -> str:
    """Return text from a file for a message: on one line, and not too long."""
    text = text.strip()
    return repr(text if len(text) <= most else text[: most - 1] + "…")
