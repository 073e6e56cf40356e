"""CSV and TSV: dense matrices."""

from __future__ import annotations

import csv
from typing import Any

import numpy as np

from argmetric._files._arrow import flat, integer_array
from argmetric._files._delimited import header, parse
from argmetric._files._formats import DataError, marked
from argmetric._files._values import why_no_number
from argmetric._files.blocks._base import BadRowError, RowFormat, RowLayout, shown
from argmetric._files.blocks._columns import (
    chosen_columns,
    dense,
    numbers_in,
    odd_bytes,
    with_header,
)
from argmetric._files.blocks._rows import Quick, TextRows


class DelimitedRows(TextRows):
    """Rows of cells under a header."""

    _doubtful = False  # the last piece had a cell that is no number

    @property
    def delimiter(self) -> str:
        return self.layout.delimiter

    def settled(
        self, kind: RowFormat, known: RowLayout | None, start: int
    ) -> tuple[RowLayout, int]:
        head, name = self.source.head, self.name
        names, mark, end = header(head, "\t" if kind == "tsv" else ",", name)
        if not head[:end].endswith(b"\n"):
            raise DataError(f"{name} has a header line, and no rows after it")
        names = [one.strip() for one in names]
        if known is not None:
            return with_header(known, names, name, mark), end
        target, found = chosen_columns(names, name, kind, self.request)
        return RowLayout(kind, len(found), found, target, tuple(names), mark), end

    def quick(self, piece: bytes, starts: Any, ends: Any) -> Quick | None:
        import pyarrow as pa

        if ends.size == 1 and piece.count(b'"') % 2:
            return None  # a quote that never closes
        columns, features = self.layout.columns, set(self.layout.names)
        places = [f"f{i}" for i, name in enumerate(columns) if name in features]
        ragged: list[int] = []

        def skip(row: Any) -> str:
            ragged.append(row.number - 1)
            return "skip"

        def parsed(kind: Any) -> Any:
            types = dict.fromkeys(places, kind)
            if self.layout.target is not None:
                target = f"f{columns.index(self.layout.target)}"
                types[target] = pa.dictionary(pa.int32(), pa.string())
            ragged.clear()
            sign = self.request.decimal
            given = piece, len(columns), self.delimiter, types
            return parse(*given, on_ragged=skip, decimal_point=sign)

        table = None
        try:
            if not self._doubtful:
                table = parsed(pa.float64())
        except pa.ArrowException:
            self._doubtful = True
        try:
            if table is None:
                table = parsed(pa.large_binary())
        except pa.ArrowException:
            return None
        if not table.num_rows or table.num_rows + len(ragged) != ends.size:
            return None
        cells = [flat(table.column(name)) for name in places]
        if self._doubtful:
            X, bad = self._numbers(cells)
            self._doubtful = bool(bad.any())
        else:
            X, bad = dense(cells, table.num_rows)
        good, usable = np.ones(ends.size, bool), ~bad.any(axis=1)
        good[ragged] = False
        target = None
        if self.layout.target is not None:
            target = flat(table.column(f"f{columns.index(self.layout.target)}"))
        if not usable.all():
            good[good] = usable
            X = X[usable]
            kept = integer_array(np.flatnonzero(usable))
            target = None if target is None else target.take(kept)
        return X, target, good

    def _numbers(self, cells: list[Any]) -> tuple[Any, Any]:
        """Return columns of bytes as numbers, and which cells are none."""
        X = np.empty((len(cells[0]), len(cells)))
        bad = np.zeros(X.shape, bool)
        for j, column in enumerate(cells):
            _, places, text = column.buffers()
            offsets = np.frombuffer(places, np.int64)[: len(column) + 1]
            cell = np.frombuffer(text or b"", np.uint8)
            if self.request.decimal != ".":
                cell = np.where(cell == ord(self.request.decimal), np.uint8(46), cell)
            found = numbers_in(cell, offsets[:-1], offsets[1:], odd_bytes(cell))
            X[:, j], bad[:, j] = found
        return X, bad

    def row(self, text: bytes) -> tuple[Any, str] | None:
        columns, features = self.layout.columns, set(self.layout.names)
        lines = [f"{one}\n" for one in text.decode(errors="replace").split("\n")[:-1]]
        try:
            reader = csv.reader(lines, delimiter=self.delimiter, skipinitialspace=True)
            cells = next(reader)
        except csv.Error as error:
            raise BadRowError(f"it cannot be read: {error}") from None
        if "\n" in cells[-1] and text.count(b'"') % 2:
            raise BadRowError("it opens a quote that never closes")
        values, label = [], ""
        for name, cell in zip(columns, cells, strict=False):
            if name == self.layout.target:
                label = cell.strip()
                if not label:
                    raise BadRowError("it has no label")
            elif name in features:
                values.append(self._number(name, cell.strip()))
        if len(cells) > len(columns):
            raise BadRowError(
                f"it has more cells than the {len(columns)} of the header"
            )
        if len(cells) < len(columns):
            raise BadRowError(
                f"it has {len(cells)} cells, the header has {len(columns)}"
            )
        return values, label

    def _number(self, name: str, cell: str) -> float:
        place, drop = f"column {name!r}", marked("drop")
        if not cell:
            raise BadRowError(f"{place} is empty; fill it in, or pass {drop}")
        text = cell.replace(self.request.decimal, ".", 1)
        try:
            value = float("x" if "_" in text else text)
        except ValueError:
            why = why_no_number(cell)
            if why == "is not a number":
                why += f"; pass {drop} for columns that are no features"
            raise BadRowError(f"{place}: {shown(cell)} {why}") from None
        return finite(value, cell, f"{place}: {shown(cell)}", "; fill it in")


def finite(value: float, text: str, place: str, how: str) -> float:
    """Return a number; one that is not finite is refused, as it was written."""
    if abs(value) < np.inf:
        return value
    if text.strip("+-").lower() in ("inf", "infinity", "nan"):
        raise BadRowError(f"{place} is not finite{how}")
    raise BadRowError(f"{place} is beyond 1e308")
