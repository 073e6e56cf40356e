"""JSON lines, one object on each: dense matrices, or with hashed keys CSR ones."""

from __future__ import annotations

import json
import math
import re
import zlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as pj

from argmetric._ground.saving import is_too_deep, parsed
from argmetric.scale.files._arrow import flat, integer_array, mask_to_numpy, to_numpy
from argmetric.scale.files._formats import LABEL_NAMES, UTF8_MARK, DataError, marked
from argmetric.scale.files.blocks._base import BadRowError, RowFormat, RowLayout, shown
from argmetric.scale.files.blocks._columns import (
    HASHED,
    chosen_columns,
    csr,
    dense,
    label_text,
    sparse_rows,
)
from argmetric.scale.files.blocks._rows import Quick, TextRows

_MOST_CELLS = 1 << 22  # of a table that is mostly empty
_MOST_OTHERS = 8  # keys that are looked for in all rows
_MARKS = bytes(byte in b'"[]{}:' for byte in range(256))


class JsonRows(TextRows):
    """Rows of numbers by key."""

    def settled(
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
                row = parsed(line, rows=True)
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

    def quick(self, piece: bytes, starts: Any, ends: Any) -> Quick | None:
        text = np.frombuffer(piece, np.uint8)
        if (text[starts] != ord("{")).any() or is_too_deep(piece, ends.size):
            return None  # pyarrow takes null for a row, or crashes
        good = np.ones(ends.size, bool)
        table = self._table(piece)
        if table is None:  # without rows that have other quotes and brackets than most
            marks = np.frombuffer(piece.translate(_MARKS), np.uint8)
            count = np.add.reduceat(marks, starts, dtype=np.int64)
            good = count == np.bincount(count).argmax()
            sizes = np.diff(starts, append=len(piece))
            table = self._table(text[starts[0] :][np.repeat(good, sizes)].tobytes())
        target = self.layout.target
        if table is None or table.num_rows != good.sum():
            return None
        labels = None
        if target is not None:
            if target not in table.column_names:
                return None
            labels = flat(table.column(target))
            if pa.types.is_timestamp(labels.type):
                return None
        if self._bits:
            X, usable = self._hashed(table)
        else:
            columns = [table.column(name) for name in self.layout.names]
            X, bad = dense(columns, table.num_rows)
            usable = ~bad.any(axis=1)
        if usable is None:
            return None
        if not (self._bits or target is None):
            known = {*self.layout.names, *self.request.drop, target}
            others = [name for name in table.column_names if name not in known]
            if len(others) > _MOST_OTHERS:
                return None
            for name in others:
                hits = re.finditer(re.escape(json.dumps(name).encode()), piece)
                rows = np.searchsorted(ends, [hit.start() for hit in hits], "right")
                usable &= ~np.isin(np.flatnonzero(good), rows)
                usable &= mask_to_numpy(table.column(name).is_null())
        if not usable.all():
            good[good] = usable
            kept = integer_array(np.flatnonzero(usable))
            X, labels = X[usable], None if labels is None else labels.take(kept)
        return X, labels, good

    def _table(self, piece: bytes) -> Any:
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

    def _hashed(self, table: Any) -> tuple[Any, Any]:
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
        if not text.strip():
            return None
        try:
            row = parsed(text.rstrip(b"\r\n"), rows=True)
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

    def stacked(self, rows: list[Any]) -> Any:
        if not self._bits:
            return super().stacked(rows)
        return sparse_rows(rows, self.layout.n_features)


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
    if not math.isfinite(number):
        raise BadRowError(f"key {name!r} is {value}; fill it in")
    return number
