"""Rows of text as matrices and labels, from a place that can be found again.

A piece is parsed at once by pyarrow; only rows with anything unusual in them are read
one by one, which says what is wrong.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as pj

from argmetric._ground.saving import is_too_deep, parse_json
from argmetric._ground.types import Booleans, Integers
from argmetric.scale.files import _source
from argmetric.scale.files._parse import TextPlace, row_ends, split_rows
from argmetric.scale.files._source import (
    LABEL_NAMES,
    MAX_LINE_BYTES,
    UTF8_MARK,
    DataError,
    marked,
)
from argmetric.scale.files._table import flat, mask_to_numpy, to_numpy
from argmetric.scale.files.blocks import _base
from argmetric.scale.files.blocks._base import (
    BadRowError,
    Blocks,
    Position,
    Request,
    RowBlock,
    RowFormat,
    RowLayout,
    StreamClasses,
    shown,
)
from argmetric.scale.files.blocks._columns import (
    HASHED,
    chosen_columns,
    chosen_rows,
    csr,
    dense,
    known_labels,
    label_text,
    sparse_rows,
    usable_rows,
)

# Of the rows of a piece with nothing unusual in them: features, labels as a column
# (None where they are not read), and which rows these are
Quick = tuple[Any, Any, Booleans]


class TextRows:
    """Reader of blocks of rows from a text, from a position on."""

    layout: RowLayout
    position: Position

    @property
    def delimiter(self) -> str | None:
        """Return the delimiter of cells that may be quoted; None if none may be."""
        return None

    def __init__(self, source: _source.Source, request: Request) -> None:
        self.source, self.request, self.name = source, request, source.name
        self.mark, self.skip_to, self.close = source.mark, source.skip_to, source.close

    def begin(
        self, kind: RowFormat, known: RowLayout | None, classes: StreamClasses
    ) -> None:
        """Settle the layout, and the position before the first row."""
        head = self.source.head
        start = len(UTF8_MARK) if head.startswith(UTF8_MARK) else 0
        self.layout, offset = self.settle_layout(kind, known, start)
        if offset:
            self.source.read(offset)
        passed = head[:offset]
        tail = passed[-_source.TAIL :]
        self.position = Position(
            offset, passed.count(b"\n"), classes=classes, tail=tail
        )

    def settle_layout(
        self, kind: RowFormat, known: RowLayout | None, start: int
    ) -> tuple[RowLayout, int]:
        """Return the layout, and the offset of the first row."""
        raise NotImplementedError

    def quick(self, piece: bytes, starts: Integers, ends: Integers) -> Quick | None:
        """Parse a piece at once; None if it cannot be."""
        raise NotImplementedError

    def row(self, text: bytes) -> tuple[Any, str] | None:
        """Return the features of a row and its label; None where it is blank."""
        raise NotImplementedError

    def stack(self, rows: list[Any]) -> Any:
        return np.array(rows, np.float64).reshape(len(rows), self.layout.n_features)

    def blocks(self) -> Blocks:
        """Parse the input part by part, and yield its rows as blocks.

        A bad row is skipped or raises an error, as the request says.
        """
        source = self.source
        place = TextPlace(self.name, self.position.lines, self.position.offset)
        for piece, ends in split_rows(
            source.read,
            self.delimiter,
            _source.PIECE,
            MAX_LINE_BYTES,
            most_quoted=MAX_LINE_BYTES // 4,
            interrupted=lambda: source.interrupted,
        ):
            if len(piece) > MAX_LINE_BYTES and b"\n" not in piece:
                raise DataError(
                    f"{self.name}, line {place.lines + 1}: longer than "
                    f"{MAX_LINE_BYTES >> 20} MiB; is it text, and in the right format?"
                )
            lines = np.count_nonzero(np.frombuffer(piece, np.uint8) == 10)
            is_plain = ends is not None and ends.size == lines
            newlines = ends if is_plain else row_ends(piece, None)
            ends = newlines if ends is None else ends
            sizes = np.diff(ends, prepend=0)
            begins = np.frombuffer(piece, np.uint8)[ends - sizes]
            full = (sizes > 2) | ((sizes == 2) & (begins != 13))
            if full.any():
                starts, ends = (ends - sizes)[full], ends[full]
                yield from self._blocks(piece, place, newlines, starts, ends)
            place = place.plus(newlines.size, len(piece))

    def _blocks(
        self,
        piece: bytes,
        place: TextPlace,
        newlines: Integers,
        starts: Integers,
        ends: Integers,
    ) -> Blocks:
        """Yield the rows of a piece of text as blocks; unusual rows are read singly."""
        X, y, good = self._quickly(piece, starts, ends)
        rows: list[Any] = []
        labels: list[int] = []
        mended: list[int] = []
        problems: dict[int, str] = {}
        is_row = np.ones(ends.size, bool)
        stops = self.request.on_error == "stop"
        for i in np.flatnonzero(~good).tolist():
            try:
                found = self.row(piece[starts[i] : ends[i]])
                if found is None:
                    is_row[i] = False
                    continue
                labels.append(self._class(found[1]))
                rows.append(found[0])
                mended.append(i)
            except BadRowError as error:
                line = place.lines + np.searchsorted(newlines, starts[i], "right") + 1
                problems[i] = f"{self.name}, line {line}: {error}"
                if stops:
                    break
        if mended:
            order = np.argsort(np.concatenate([np.flatnonzero(good), mended]))
            X, y = join_rows(X, self.stack(rows)), np.append(y, labels).astype(np.uint8)
            X, y = X[order], y[order]
            good[mended] = True
        kept = np.flatnonzero(is_row)
        good, behind = good[kept], ends[kept]
        behind[-1:] = len(piece)  # blank lines after the last row are done with
        lines = np.searchsorted(newlines, behind, "right")
        wrong = {int(np.searchsorted(kept, i)): text for i, text in problems.items()}
        start = taken = 0
        end = min(wrong) if stops and wrong else kept.size
        while start < end:
            stop = min(start + _base.room(self.position, self.request.every), end)
            numbers = self.position.rows + 1 + np.flatnonzero(good[start:stop])
            rows_behind = self.position.rows + stop - start
            skipped = [text for i, text in wrong.items() if start <= i < stop]
            # The last newline may be ours
            size = min(int(behind[stop - 1]), self.source.offset - place.offset)
            self.position = replace(
                self.position.skip(skipped),
                offset=place.offset + size,
                lines=place.lines + int(lines[stop - 1]),
                rows=rows_behind,
                tail=piece[max(0, size - _source.TAIL) : size],
            )
            part = slice(taken, taken + numbers.size)
            yield RowBlock(X[part], y[part], numbers, self.position)
            start, taken = stop, taken + numbers.size
        if stops and wrong:
            raise BadRowError(wrong[end])

    def _quickly(
        self, piece: bytes, starts: Integers, ends: Integers
    ) -> tuple[Any, Any, Any]:
        """Return features, labels as 0 and 1, and which rows were read at once."""
        classes = self.position.classes
        nothing = self.stack([]), np.zeros(0, np.uint8), np.zeros(ends.size, bool)
        found = self.quick(piece, starts, ends)
        if found is None:
            return nothing
        X, target, good = found
        if target is None:
            return X, np.zeros(X.shape[0], np.uint8), good
        y, learned, _ = known_labels(target, classes)
        if (y == 2).any():
            good[good] = known = y != 2
            X, y = X[known], y[known]
        if learned != classes and not good.all():
            before = target.slice(0, int(np.argmin(good)))
            if known_labels(before, classes)[1] != learned:
                return nothing  # which of two new labels comes first matters
        self.position = replace(self.position, classes=learned)
        return X, y, good

    def _class(self, label: str) -> int:
        """Return 1 or 0 for a label, which may be a class seen first."""
        if self.layout.target is None and self.layout.format != "svmlight":
            return 0
        classes = self.position.classes
        worth = classes.of(label)
        if worth is None:
            learned = classes.learn(label)
            if learned is None:
                raise BadRowError(classes.complaint(label))
            self.position = replace(self.position, classes=learned)
            worth = learned.of(label)
        return int(worth or 0)


def join_rows(X: Any, other: Any) -> Any:
    """Return the rows of two matrices of a kind, one below the other."""
    if isinstance(X, np.ndarray):
        return np.concatenate([X, other])
    from scipy.sparse import vstack

    return vstack([X, other], format="csr")


_MOST_CELLS = 1 << 22  # of a table that is mostly empty
_MOST_OTHERS = 8  # keys that are looked for in all rows
_MARKS = bytes(byte in b'"[]{}:' for byte in range(256))


class JsonRows(TextRows):
    """Rows of numbers by key."""

    def settle_layout(
        self, kind: RowFormat, known: RowLayout | None, start: int
    ) -> tuple[RowLayout, int]:
        return known or self._first_layout(), start

    def _first_layout(self) -> RowLayout:
        """Take features and target from the first line that is an object."""
        head, request = self.source.head.removeprefix(UTF8_MARK), self.request
        if head.lstrip().startswith(b"["):
            raise DataError(
                f"{self.name} holds a JSON array; one object on each line is needed "
                "(jq -c '.[]' makes them)"
            )
        names: list[str] | None = None
        for line in head.splitlines():
            try:
                row = parse_json(line, rows=True)
            except ValueError:
                continue
            if isinstance(row, dict):
                names = list(row)
                break
        if names is None:
            raise DataError(f"{self.name} does not begin with a JSON object on a line")
        if request.hash_bits is None:
            target, features = chosen_columns(names, self.name, "jsonl", request)
            return RowLayout("jsonl", len(features), features, target)
        known = {name for name in names if name.lower() in LABEL_NAMES}
        if request.target is None and len(known) != 1:
            chosen_columns([*names, ""], self.name, "jsonl", request)  # says why not
        target = request.target if request.target is not None else known.pop()
        return RowLayout("jsonl", 2**request.hash_bits, (), target)

    def quick(self, piece: bytes, starts: Integers, ends: Integers) -> Quick | None:
        """Return features and labels of usual rows by pyarrow; None if it cannot."""
        text = np.frombuffer(piece, np.uint8)
        if (text[starts] != ord("{")).any() or is_too_deep(piece, ends.size):
            return None  # pyarrow takes null for a row, or crashes
        good = np.ones(ends.size, bool)
        table = self._table(piece)
        if table is None:  # without rows that have other quotes and brackets than most
            marks = np.frombuffer(piece.translate(_MARKS), np.uint8)
            count = np.add.reduceat(marks, starts, dtype=np.int64)
            good = count == np.bincount(count).argmax()
            table = self._table(chosen_rows(piece, starts, good))
        if table is None or table.num_rows != good.sum():
            return None
        is_known, labels = self._labels(table)
        if not is_known:
            return None
        if self._bits:
            X, usable = self._hash_columns(table)
        else:
            columns = [table.column(name) for name in self.layout.names]
            X, bad = dense(columns, table.num_rows)
            usable = ~bad.any(axis=1)
        if usable is None:
            return None
        others = self._other_keys(table)
        if len(others) > _MOST_OTHERS:
            return None
        for name in others:
            usable &= self._rows_without(name, piece, ends)[good]
            usable &= mask_to_numpy(table.column(name).is_null())
        return usable_rows(X, labels, good, usable)

    def _other_keys(self, table: pa.Table) -> list[str]:
        """Return keys that no row may have."""
        if self._bits or self.layout.target is None:
            return []
        known = {*self.layout.names, *self.request.drop, self.layout.target}
        return [name for name in table.column_names if name not in known]

    def _rows_without(self, key: str, piece: bytes, ends: Integers) -> Booleans:
        """Return the rows in which a key is not named."""
        hits = re.finditer(re.escape(json.dumps(key).encode()), piece)
        rows = np.searchsorted(ends, [hit.start() for hit in hits], "right")
        return ~np.isin(np.arange(ends.size), rows)

    def _labels(self, table: pa.Table) -> tuple[bool, Any]:
        """Return whether labels can be read at once, and their column."""
        target = self.layout.target
        if target is None:
            return True, None
        if target not in table.column_names:
            return False, None
        labels = flat(table.column(target))
        return not pa.types.is_timestamp(labels.type), labels

    def _table(self, piece: bytes) -> pa.Table | None:
        """Parse rows; None if that fails."""
        names = self.layout.names
        schema = pa.schema([(name, pa.float64()) for name in names]) if names else None
        try:
            return pj.read_json(
                pa.BufferReader(pa.py_buffer(piece)),
                read_options=pj.ReadOptions(
                    use_threads=False, block_size=len(piece) + 1
                ),
                parse_options=pj.ParseOptions(explicit_schema=schema),
            )
        except pa.ArrowException:
            return None

    def _hash_columns(self, table: pa.Table) -> tuple[Any, Any]:
        """Return hashed features of a table, and which of its rows are usable."""
        n_rows, other = table.num_rows, {*self.request.drop, self.layout.target}
        usable = np.ones(n_rows, bool)
        parts = [(np.zeros(0, int), np.zeros(0, int), np.zeros(0))]
        if n_rows * table.num_columns > _MOST_CELLS:
            return None, None
        for name, column in zip(table.column_names, table.columns, strict=True):
            kind = column.type
            if name in other or pa.types.is_null(kind):
                continue
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
                return None, None
            values = to_numpy(column.cast(pa.float64(), safe=False), np.float64)
            there = mask_to_numpy(column.is_valid())
            usable &= np.isfinite(values) | ~there
            rows = np.flatnonzero(there & (values != 0.0))
            place = np.full(rows.size, hashed_name(name, self._bits))
            parts.append((rows, place, values[rows]))
        rows, places, values = (np.concatenate(one) for one in zip(*parts, strict=True))
        order = np.lexsort((values, places, rows))  # whatever the order of keys was
        shape = n_rows, self.layout.n_features
        return csr(rows[order], places[order], values[order], shape), usable

    @property
    def _bits(self) -> int:
        return int(self.request.hash_bits or 0)

    def row(self, text: bytes) -> tuple[Any, str] | None:
        """Return the values and the label of one line; None if it is blank."""
        if not text.strip():
            return None
        try:
            row = parse_json(text.rstrip(b"\r\n"), rows=True)
        except UnicodeDecodeError:
            raise BadRowError("it is not UTF-8 text") from None
        except ValueError as error:
            raise BadRowError(f"it is not JSON: {error}") from None
        if not isinstance(row, dict):
            said = shown(text.decode(errors="replace"))
            raise BadRowError(f"it is not a JSON object: {said}")
        label = label_text(row.pop(str(self.layout.target), None))
        for name in self.request.drop:
            row.pop(name, None)
        names = self.layout.names
        if self.layout.target is None and names:
            row = {name: value for name, value in row.items() if name in names}
        if self._bits:
            return self._hashed_row(row), label
        if new := [name for name in row if name not in names]:
            raise BadRowError(
                f"key {new[0]!r} is not in the first line; pass "
                f"{marked('drop', new[0])}, or {HASHED} for any keys"
            )
        if lacking := [name for name in names if name not in row]:
            raise BadRowError(
                f"it lacks the key {lacking[0]!r}; with {HASHED} keys may be missing"
            )
        return [_number(name, row[name]) for name in names], label

    def _hashed_row(self, row: dict[str, Any]) -> list[tuple[int, float]]:
        """Return (hashed name, number) of each key; texts count as name=text."""
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

    def stack(self, rows: list[Any]) -> Any:
        if not self._bits:
            return super().stack(rows)
        return sparse_rows(rows, self.layout.n_features)


def hashed_name(name: str, bits: int) -> int:
    """Return the column of a name, as `OnlineClassifier.learn_one` hashes it."""
    return zlib.crc32(name.encode()) >> (32 - bits)


def _number(name: str, value: object) -> float:
    """Return the number under a key; refuse null, text and infinite values."""
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
    if not math.isfinite(number):
        raise BadRowError(f"key {name!r} is {value}; fill it in")
    return number
