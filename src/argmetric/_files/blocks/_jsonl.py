"""JSON lines: one object on each line, numbers by key."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any

import numpy as np

from argmetric._files._arrow import mask_to_numpy, to_numpy
from argmetric._files._formats import UTF8_MARK, DataError, marked
from argmetric._files._table import LABEL_NAMES
from argmetric._files.blocks._base import (
    BadRowError,
    Request,
    RowBlock,
    RowLayout,
    StreamClasses,
    finite,
    shown,
)
from argmetric._files.blocks._columns import dense, known_labels, label_text
from argmetric._files.blocks._delimited import chosen_columns
from argmetric._files.blocks._text import ByteSource, TextReader
from argmetric._input.types import Floats
from argmetric._results.saving import is_too_deep, parsed

_MOST_CELLS = 1 << 22  # of a table that is mostly empty
_OPENING = ord("{")
_HASHED = marked("hash_bits", "18")


def jsonl_layout(source: ByteSource, request: Request) -> RowLayout:
    """Take features and target from the first line that is an object."""
    head = source.head.removeprefix(UTF8_MARK)
    if head.lstrip().startswith(b"["):
        raise DataError(
            f"{source.name} holds a JSON array; one object on each line is needed "
            "(jq -c '.[]' makes them)"
        )
    names: list[str] | None = None
    for line in head.splitlines():
        try:
            row = parsed(line, rows=True)
        except ValueError:
            continue
        if isinstance(row, dict):
            names = list(row)
            break
    if names is None:
        raise DataError(f"{source.name} does not begin with a JSON object on a line")
    if request.hash_bits is None:
        target, features = chosen_columns(names, source.name, "jsonl", request)
        return RowLayout("jsonl", len(features), features, target)
    known = {name for name in names if name.lower() in LABEL_NAMES}
    if request.target is None and len(known) != 1:
        chosen_columns([*names, ""], source.name, "jsonl", request)  # says why not
    target = request.target if request.target is not None else known.pop()
    return RowLayout("jsonl", 2**request.hash_bits, (), target)


class JsonlReader(TextReader):
    """Blocks of dense matrices, or with hashed keys of CSR matrices."""

    def _parsed(self, limit: int) -> tuple[RowBlock | None, BadRowError | None]:
        lines = np.flatnonzero(self._text[self._next : self._stop] == 10)[:limit]
        end = self._next + int(lines[-1]) + 1
        piece = self._buffer[self._next : end]
        block = self._quickly(piece, end, lines)
        return (block, None) if block is not None else self._carefully(piece)

    # -- whole pieces -----------------------------------------------------------

    def _quickly(self, piece: bytes, end: int, newlines: Any) -> RowBlock | None:
        """Parse a piece at once; None if there is anything unusual in it."""
        # pyarrow reads it; checks and places add a tenth (`python benchmarks/files.py`)
        import pyarrow as pa

        lengths = np.diff(newlines, prepend=-1)
        begins = self._text[self._next + newlines - lengths + 1]
        if ((begins != _OPENING) & (lengths > 2)).any():
            return None  # pyarrow takes null for a row, or crashes
        if is_too_deep(piece, int((lengths > 2).sum())):
            return None  # pyarrow crashes
        try:
            table = self._table(piece)
        except pa.ArrowException:
            return None
        if table.num_rows != int((lengths > 2).sum()) or not table.num_rows:
            return None
        found = self._labels(table)
        if found is None:
            return None
        y, classes = found
        rest = self._features(table)
        X = self._hashed(rest) if self.request.hash_bits else self._dense(rest)
        if X is None or (y == 2).any():
            return None
        first = self._position.rows + 1
        self._position = replace(self._position, classes=classes)
        self._consumed(end, lengths.size, y.size)
        return RowBlock(X, y, np.arange(first, first + y.size), self._position)

    def _labels(self, table: Any) -> tuple[Any, StreamClasses] | None:
        """Return the labels of a table; None if there is anything unusual in them."""
        import pyarrow as pa

        name, classes = self.layout.target, self._position.classes
        if name is None:
            return np.zeros(table.num_rows, np.uint8), classes
        if name not in table.column_names:
            return None
        target = table.column(name)
        if pa.types.is_timestamp(target.type) or target.null_count:
            return None
        y, classes, _ = known_labels(target, classes)
        return y, classes

    def _features(self, table: Any) -> Any:
        """Return the columns of features; without labels, those that were learned."""
        names = table.column_names
        if self.layout.target is None and self.layout.names:
            return table.select([name for name in self.layout.names if name in names])
        other = [*self.request.drop, self.layout.target]
        return table.drop_columns([name for name in other if name in names])

    def _table(self, piece: bytes) -> Any:
        import pyarrow as pa
        import pyarrow.json as pj

        schema = None
        if not self.request.hash_bits:
            schema = pa.schema([(name, pa.float64()) for name in self.layout.names])
        return pj.read_json(
            pa.BufferReader(pa.py_buffer(piece)),
            read_options=pj.ReadOptions(use_threads=False, block_size=len(piece) + 1),
            parse_options=pj.ParseOptions(explicit_schema=schema),
        )

    def _dense(self, table: Any) -> Floats | None:
        names = self.layout.names
        if set(table.column_names) != set(names):
            return None
        X, bad = dense([table.column(name) for name in names], table.num_rows)
        return None if bad.any() else X

    def _hashed(self, table: Any) -> Any:
        import pyarrow as pa

        if table.num_rows * table.num_columns > _MOST_CELLS:
            return None
        parts = []
        for name, column in zip(table.column_names, table.columns, strict=True):
            kind = column.type
            if pa.types.is_null(kind):
                continue
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
                return None
            values = to_numpy(column.cast(pa.float64(), safe=False), np.float64)
            rows = np.flatnonzero(mask_to_numpy(column.is_valid()))
            if not np.isfinite(values[rows]).all():
                return None
            rows = rows[values[rows] != 0.0]
            place = np.full(rows.size, hashed_name(name, self._bits))
            parts.append((rows, place, values[rows]))
        return self._matrix(parts, table.num_rows)

    @property
    def _bits(self) -> int:
        return int(self.request.hash_bits or 0)

    def _matrix(self, parts: list[Any], n_rows: int) -> Any:
        """Return a CSR matrix whose rows are sorted, whatever the order of keys was."""
        from scipy.sparse import csr_matrix

        if not parts:
            return csr_matrix((n_rows, self.layout.n_features))
        rows, places, values = (
            np.concatenate(part) for part in zip(*parts, strict=True)
        )
        order = np.lexsort((values, places, rows))
        indptr = np.zeros(n_rows + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=n_rows), out=indptr[1:])
        shape = (n_rows, self.layout.n_features)
        return csr_matrix(
            (values[order], places[order].astype(np.int32), indptr), shape=shape
        )

    # -- line by line -----------------------------------------------------------

    def _carefully(self, piece: bytes) -> tuple[RowBlock | None, BadRowError | None]:
        """Parse line by line, and say what is wrong with which."""
        rows: list[Any] = []
        labels: list[int] = []
        numbers: list[int] = []
        problem = None
        for line in piece.split(b"\n")[:-1]:
            end = self._next + len(line) + 1
            if not line.strip():
                self._consumed(end, 1, 0)
                continue
            try:
                found, label = self._row(line)
            except BadRowError as error:
                problem = self._bad(str(error), end=end)
                if problem is not None:
                    break
                continue
            rows.append(found)
            labels.append(label)
            self._consumed(end, 1, 1)
            numbers.append(self._position.rows)
        y = np.array(labels, dtype=np.uint8)
        X = self._stacked(rows)
        return RowBlock(X, y, np.array(numbers, np.int64), self._position), problem

    def _stacked(self, rows: list[Any]) -> Any:
        if not self.request.hash_bits:
            return np.array(rows).reshape(len(rows), self.layout.n_features)
        parts = [
            (
                np.full(len(row), i),
                np.array([place for place, _ in row], dtype=np.int64),
                np.array([value for _, value in row], dtype=np.float64),
            )
            for i, row in enumerate(rows)
        ]
        return self._matrix(parts, len(rows))

    def _row(self, line: bytes) -> tuple[Any, int]:
        """Return features and class of one line."""
        try:
            row = parsed(line, rows=True)
        except UnicodeDecodeError:
            raise BadRowError("it is not UTF-8 text") from None
        except ValueError as error:
            raise BadRowError(f"it is not JSON: {error}") from None
        if not isinstance(row, dict):
            text = line.decode(errors="replace")
            raise BadRowError(f"it is not a JSON object: {shown(text)}")
        label = label_text(row.pop(str(self.layout.target), None))
        for name in self.request.drop:
            row.pop(name, None)
        names = self.layout.names
        if self.layout.target is None and names:
            row = {name: value for name, value in row.items() if name in names}
        found = self._hashed_row(row) if self.request.hash_bits else self._values(row)
        if self.layout.target is None:
            return found, 0
        worth = self._position.classes.of(label)
        if worth is None:
            message = self._unknown_label(label)
            if message is not None:
                raise BadRowError(message)
            worth = self._position.classes.of(label)
        return found, int(worth or 0)

    def _values(self, row: dict[str, Any]) -> list[float]:
        names = self.layout.names
        if row.keys() != set(names):
            new = [name for name in row if name not in names]
            if new:
                raise BadRowError(
                    f"key {new[0]!r} is not in the first line; pass "
                    f"{marked('drop', new[0])}, or {_HASHED} for any keys"
                )
            lacking = next(name for name in names if name not in row)
            raise BadRowError(
                f"it lacks the key {lacking!r}; with {_HASHED} keys may be missing"
            )
        return [_number(name, row[name]) for name in names]

    def _hashed_row(self, row: dict[str, Any]) -> list[tuple[int, float]]:
        found = []
        for name, value in row.items():
            if value is None:
                continue
            if isinstance(value, str):  # as `OnlineClassifier.learn_one` has it
                name, value = f"{name}={value}", 1.0
            number = _number(name, value)
            if number != 0.0:
                found.append((hashed_name(name, self._bits), number))
        return found


def hashed_name(name: str, bits: int) -> int:
    """Return the column of a name, as `OnlineClassifier.learn_one` hashes it."""
    return zlib.crc32(name.encode()) >> (32 - bits)


def _number(name: str, value: Any) -> float:
    if value is None:
        raise BadRowError(f"key {name!r} is null; fill it in, or pass {marked('drop')}")
    if not isinstance(value, int | float):
        raise BadRowError(
            f"key {name!r}: {shown(str(value))} is not a number; pass {marked('drop')} "
            "for keys that are no features"
        )
    try:
        number = float(value)
    except OverflowError:
        raise BadRowError(f"key {name!r} is beyond 1e308") from None
    if not finite(number):
        raise BadRowError(f"key {name!r} is {value}; fill it in")
    return number
