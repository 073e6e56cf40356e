"""Rows in blocks, in constant memory, as matrices of features and labels of 0 and 1.

Blocks are those of `read_blocks`, whatever the format. Rows that cannot be used are set
aside: what is wrong with one is said by reading it alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from argmetric._ground.label_words import (
    neither,
    same_spelling,
    spelled_number,
    unclear,
)
from argmetric._ground.types import Booleans, Bytes, Floats, Integers
from argmetric.scale.files._read import read_blocks
from argmetric.scale.files._source import LABEL_NAMES, DataError, Format, marked
from argmetric.scale.files._table import (
    Table,
    call,
    cast,
    find_column,
    flat,
    mask_to_numpy,
    named_column,
    null_like,
    to_numpy,
)
from argmetric.scale.files._values import (
    NUMBER,
    CodedColumn,
    is_numeric,
    number_cells,
    numbers,
    plain_column,
)

MANY_ROWS = 8192  # after which a class that never came is worth a word
SHOWN_ERRORS = 5
_TRUTHS = {"true": "false", "True": "False", "TRUE": "FALSE"}
_FALSE = {negative: positive for positive, negative in _TRUTHS.items()}
_SHOWN = 40  # letters of a label


class BadRowError(DataError):
    """A row that cannot be used."""


@dataclass(frozen=True)
class StreamClasses:
    """Positive and negative class, None where it is not known yet.

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
        """Return the classes with a new one added, None if there is no place for it."""
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
        """Say what is wrong with a label that is no class."""
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
        """Whether a positive class that never comes is a slip, and not all 0 of 0/1."""
        usual = StreamClasses().learn(self.negative or "")
        pair = "" if usual is None else usual.positive or ""
        return self.named and not same_spelling(pair, self.positive or "")

    def read(self, column: pa.Array) -> tuple[Bytes, StreamClasses]:
        """Return labels as 0 and 1, 2 for neither, and the classes with new ones."""
        classes, coded = self, CodedColumn.of(flat(column))
        codes, texts = coded.codes, [_label_text(value) for value in coded.values]
        if not classes.are_known:
            # In order of the rows: which of two new values comes first must not depend
            # on how the rows are cut into blocks
            new, first = np.unique(codes, return_index=True)
            for code in new[np.argsort(first)]:
                if code >= 0 and classes.of(texts[code]) is None:
                    classes = classes.learn(texts[code]) or classes
        found = [classes.of(text) for text in texts]
        meaning = np.array([2 if one is None else one for one in found] + [2], np.uint8)
        return meaning[codes], classes


def _label_text(value: object) -> str:
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).lower()
    return str(value).strip()


@dataclass(frozen=True)
class RowLayout:
    """Columns of the matrix, and the place of the labels (None: nowhere)."""

    format: str
    names: tuple[str, ...]
    target: str | None


@dataclass(frozen=True)
class RowBlock:
    """Some rows."""

    X: Floats  # features
    y: Bytes  # 1 for the positive class, 0 where labels are not read
    numbers: Integers  # of the rows in the input, from 1, bad ones counted too


class LabelledRows:
    """Rows of a file or of a pipe, block by block, with their labels.

    Parameters
    ----------
    path : str
        CSV, TSV, JSONL, Parquet or Arrow; "-" is standard input.
    target : str or None
        The column of labels; None looks for a default name.
    drop : tuple of str
        Columns that are no features.
    names : tuple of str or None
        Features that are known: other columns may be there, and labels are not read.
    on_error : {"stop", "skip"}
        Whether a row that cannot be used ends the reading.
    classes : StreamClasses
        The classes as far as they are known.
    format, decimal, stopped
        Options of `read_blocks`.
    """

    def __init__(
        self,
        path: str,
        target: str | None = None,
        drop: tuple[str, ...] = (),
        *,
        names: tuple[str, ...] | None = None,
        on_error: Literal["stop", "skip"] = "stop",
        classes: StreamClasses | None = None,
        format: Format | None = None,
        decimal: str = ".",
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.name = "standard input" if path == "-" else path
        self.layout: RowLayout | None = None
        self.classes = classes or StreamClasses()
        self.rows = self.skipped = 0  # up to now, bad ones included
        self.errors: list[str] = []  # what was wrong with the first of them
        self._asked, self._stops = (target, drop, names), on_error == "stop"
        how: dict[str, Any] = {"decimal": decimal, "stopped": stopped}
        tables = read_blocks(path, self._choose, format, set_aside=self._numeric, **how)
        self.close: Callable[[], None] = tables.close
        first = next(tables, None)  # the layout is known before the first block
        self._tables = itertools.chain([] if first is None else [first], tables)

    def _numeric(self) -> tuple[str, ...]:
        return () if self.layout is None else self.layout.names

    def _choose(self, table: Table) -> list[str]:
        """Settle the layout by the first rows; of JSON lines any has its own keys."""
        there, (target, drop, known) = table.names, self._asked
        names = there
        if table.format == "jsonl":
            if not table.n_rows:
                return []
            if self.layout is None and known is None:
                names = [one for one in names if table.columns[one][0].is_valid]
        if self.layout is None and known is not None:
            found = tuple(named_column(table, name) for name in known)
            self.layout = RowLayout(table.format, found, None)
        elif self.layout is None:
            dropped = [named_column(table, name) for name in drop]
            how: Any = {"what": "label", "role": "label", "taken": dropped}
            if table.format == "jsonl":
                table = replace(table, columns=table.columns.select(names))
            target = find_column(table, target, LABEL_NAMES, **how)
            if target in dropped:
                both = f"{marked('drop')} and {marked('label')}"
                raise DataError(f"{both} both name column {target!r}")
            features = [one for one in names if one != target and one not in dropped]
            features = [named_column(table, one) for one in features]
            if not features:
                raise DataError(
                    f"{table.source} has no column to learn from beside {target!r}"
                )
            self.layout = RowLayout(table.format, tuple(features), target)
        if table.format == "jsonl" and known is None:
            return [one for one in there if one not in drop]
        wanted = *self.layout.names, self.layout.target
        return [one for one in wanted if one in there]

    def blocks(self) -> Iterator[RowBlock]:
        """Yield the rows; a bad row is skipped, or raised after those before it."""
        for table in self._tables:
            problem, size = None, table.n_rows + len(table.aside)
            X, y, wrong = self._read(table)
            places = np.setdiff1d(np.arange(size), list(table.aside))
            bad = sorted({*table.aside, *places[wrong].tolist()})
            if bad and self._stops:
                problem = BadRowError(self._reason(table, bad[0], places))
                size, bad = bad[0], []
            for place in bad[: SHOWN_ERRORS - len(self.errors)]:
                self.errors.append(self._reason(table, place, places))
            good = np.flatnonzero(~wrong & (places < size))
            if good.size < len(wrong):
                X, y = X[good], y[good]
            first, self.rows = self.rows, self.rows + size
            self.skipped += len(bad)
            yield RowBlock(X, y, first + 1 + places[good])
            if problem is not None:
                raise problem

    def _read(self, table: Table) -> tuple[Floats, Bytes, Booleans]:
        """Return features and labels, and which rows cannot be used."""
        n, layout = table.n_rows, self.layout
        names = () if layout is None else layout.names
        X, y = np.empty((n, len(names))), np.zeros(n, np.uint8)
        wrong = np.zeros(n, bool)
        if layout is None or not n:
            return X, y, wrong
        for j, name in enumerate(names):
            X[:, j], bad = _finite_cells(table, name)
            wrong |= bad
        for name in self._strange(table):
            wrong |= mask_to_numpy(call("is_valid", flat(table.columns.column(name))))
        if layout.target is not None:
            known = layout.target in table.names
            y, self.classes = self.classes.read(
                plain_column(table, layout.target) if known else pa.nulls(n)
            )
            wrong |= y == 2
        return X, y, wrong

    def _strange(self, table: Table) -> list[str]:
        """Return keys that the first line does not have."""
        layout = self.layout
        known = () if layout is None else (*layout.names, layout.target)
        return [name for name in table.names if name not in known]

    def _reason(self, table: Table, place: int, places: Integers) -> str:
        """Say what is wrong with a row of a table."""
        row = f"{self.name}, row {self.rows + place + 1}: "
        if place in table.aside:
            return row + table.aside[place]
        assert self.layout is not None
        at = int(np.searchsorted(places, place))
        columns = table.columns.slice(at, 1)
        for name in self.layout.names:
            if name not in table.names:  # a key that no row of this block has
                columns = columns.append_column(name, pa.nulls(1))
        alone = replace(table, columns=columns, first=self.rows + place, aside={})
        drop = (
            f"; {marked('drop')} leaves columns out" if self._asked[2] is None else ""
        )
        for name in self.layout.names:
            try:
                numbers(alone, name)
            except DataError as error:
                if pa.types.is_nested(columns[name].type):
                    cell = repr(str(columns[name][0].as_py()))
                    return f"{row}column {name!r}: {cell} is not a number{drop}"
                return f"{error}{drop}"
        for name in self._strange(table):
            if not columns.column(name).null_count:
                return (
                    f"{row}key {name!r} is not in the first line; pass "
                    f"{marked('drop', name)}"
                )
        target = self.layout.target
        value = columns.column(target)[0].as_py() if target in table.names else None
        return row + self.classes.complaint(_label_text(value))


def _finite_cells(table: Table, name: str) -> tuple[Floats, Booleans]:
    """Return a column as floats, and which cells are no finite numbers."""
    if name not in table.names:
        return np.full(table.n_rows, np.nan), np.ones(table.n_rows, bool)
    column = number_cells(table, name)
    if pa.types.is_large_string(column.type):
        column = call("utf8_trim_whitespace", column)
        legible = call("match_substring_regex", column, pattern=NUMBER)
        column = call("if_else", legible, column, null_like(column))
    elif not is_numeric(column.type) and not pa.types.is_null(column.type):
        if table.format != "jsonl":
            held = f"column {name!r} holds {column.type}, not numbers; pass"
            raise DataError(f"{table.source}: {held} {marked('drop', name)}")
        return np.full(table.n_rows, np.nan), np.ones(table.n_rows, bool)
    values = to_numpy(cast(column, pa.float64(), safe=False), np.float64)
    bad = ~np.isfinite(values)
    if column.null_count:
        bad = bad | mask_to_numpy(call("is_null", column))
    return values, bad
