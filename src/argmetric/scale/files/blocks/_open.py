"""Readers of CSV, TSV and svmlight, and which reader a file or a stream needs."""

from __future__ import annotations

import contextlib
import csv
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np
import pyarrow as pa

from argmetric._ground.saving import refuse_utf16_and_zero_bytes
from argmetric._ground.types import Integers
from argmetric.scale.files._parse import header, parse, split_rows
from argmetric.scale.files._source import (
    COMMENTS,
    EXTENSIONS,
    MAX_LINE_BYTES,
    PIECE,
    UTF8_MARK,
    DataError,
    Source,
    marked,
    sniff,
    without_codec,
)
from argmetric.scale.files._table import cast, flat, integer_array, to_numpy
from argmetric.scale.files._values import number_problem
from argmetric.scale.files.blocks._base import (
    BadRowError,
    Position,
    Request,
    RowFormat,
    RowLayout,
    StreamClasses,
    shown,
)
from argmetric.scale.files.blocks._columns import (
    HASHED,
    ParquetRows,
    chosen_columns,
    csr,
    dense,
    known_layout,
    numbers_in,
    odd_bytes,
    spans,
    sparse_rows,
    usable_rows,
    with_header,
)
from argmetric.scale.files.blocks._rows import JsonRows, Quick, TextRows

LABELS = pa.dictionary(pa.int32(), pa.string())
_MOST_FEATURES = 1 << 24  # found in a file rather than asked for
_INDEX_LIMIT = 2**31 - 1
_MOST_DIGITS = 12  # of an index


class DelimitedRows(TextRows):
    """Rows of cells under a header."""

    _doubtful = False  # the last piece had a row that is not all numbers

    @property
    def delimiter(self) -> str:
        return self.layout.delimiter

    def settle_layout(
        self, kind: RowFormat, known: RowLayout | None, start: int
    ) -> tuple[RowLayout, int]:
        """Return the layout by the header line, and where the rows begin."""
        head, name = self.source.head, self.name
        names, mark, end = header(head, "\t" if kind == "tsv" else ",", name)
        if not head[:end].endswith(b"\n"):
            raise DataError(f"{name} has a header line, and no rows after it")
        if known is not None:
            return with_header(known, names, name, mark), end
        target, found = chosen_columns(names, name, kind, self.request)
        return RowLayout(kind, len(found), found, target, tuple(names), mark), end

    def quick(self, piece: bytes, starts: Integers, ends: Integers) -> Quick | None:
        """Return features and labels of usual rows by pyarrow; None if it cannot."""
        if ends.size == 1 and piece.count(b'"') % 2:
            return None  # a quote that never closes
        columns, target = self.layout.columns, self.layout.target
        places = [f"f{columns.index(name)}" for name in self.layout.names]
        of_target = {} if target is None else {f"f{columns.index(target)}": LABELS}
        ragged: list[int] = []

        def skip(row: pa.csv.InvalidRow) -> str:
            ragged.append(row.number - 1)
            return "skip"

        table = None
        how: dict[str, Any] = {"on_ragged": skip, "decimal_point": self.request.decimal}
        for kind in (pa.float64(), pa.large_binary())[self._doubtful :]:
            types = dict.fromkeys(places, kind) | of_target
            ragged.clear()
            with contextlib.suppress(pa.ArrowException):
                table = parse(piece, len(columns), self.delimiter, types, **how)
                break
        if table is None or table.num_rows + len(ragged) != ends.size:
            return None
        cells = [flat(table.column(name)) for name in places]
        is_number = pa.types.is_floating(cells[0].type)
        X, bad = dense(cells, table.num_rows) if is_number else self._numbers(cells)
        good = np.ones(ends.size, bool)
        good[ragged] = False
        self._doubtful = bool(bad.any() or ragged)
        labels = next((table.column(name) for name in of_target), None)
        return usable_rows(X, labels, good, np.asarray(~bad.any(axis=1)))

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
        """Return the values and the label of one line; None if it is blank."""
        columns, features = self.layout.columns, set(self.layout.names)
        lines = [f"{one}\n" for one in text.decode(errors="replace").split("\n")[:-1]]
        try:
            reader = csv.reader(lines, delimiter=self.delimiter, skipinitialspace=True)
            cells = next(reader)
        except csv.Error as error:
            raise BadRowError(f"it cannot be read: {error}") from None
        if "\n" in cells[-1] and text.count(b'"') % 2:
            raise BadRowError("it opens a quote that never closes")
        hint = COMMENTS if "#" in (cells[0][:1], columns[0][:1]) else ""
        if len(cells) > len(columns):
            raise BadRowError(
                f"it has more cells than the {len(columns)} of the header{hint}"
            )
        if len(cells) < len(columns):
            raise BadRowError(
                f"it has {len(cells)} cells, the header has {len(columns)}{hint}"
            )
        values, label = [], ""
        for name, cell in zip(columns, cells, strict=True):
            if name == self.layout.target:
                label = cell.strip()
                if not label:
                    raise BadRowError("it has no label")
            elif name in features:
                values.append(self._number(name, cell.strip()))
        return values, label

    def _number(self, name: str, cell: str) -> float:
        """Return the number in a cell; refuse text, gaps and infinite values."""
        place, drop = f"column {name!r}", marked("drop")
        if not cell:
            raise BadRowError(f"{place} is empty; fill it in, or pass {drop}")
        text = cell.replace(self.request.decimal, ".", 1)
        try:
            value = float("x" if "_" in text else text)
        except ValueError:
            why = number_problem(cell)
            if why == "is not a number":
                why += f"; pass {drop} for columns that are no features"
            raise BadRowError(f"{place}: {shown(cell)} {why}") from None
        return finite(value, cell, f"{place}: {shown(cell)}", "; fill it in")


def finite(value: float, text: str, place: str, how: str) -> float:
    """Return a number; refuse one that is not finite, as it was written."""
    if abs(value) < np.inf:
        return value
    if text.strip("+-").lower() in ("inf", "infinity", "nan"):
        raise BadRowError(f"{place} is not finite{how}")
    raise BadRowError(f"{place} is beyond 1e308")


class SvmlightRows(TextRows):
    """Rows ``label index:value index:value … # comment``."""

    def settle_layout(
        self, kind: RowFormat, known: RowLayout | None, start: int
    ) -> tuple[RowLayout, int]:
        return known or RowLayout("svmlight", self._width()), start

    def _width(self) -> int:
        """Return the number of features: an option, or the largest index."""
        request, source = self.request, self.source
        if request.hash_bits is not None:
            return _INDEX_LIMIT
        if request.features is not None:
            return request.features
        if not source.regular:
            raise DataError(
                f"how many features has {self.name}? A stream cannot be looked through "
                f"first: pass {marked('features', 'N')}, or {HASHED} for indices of "
                "any size"
            )
        again = Source(source.path)
        found = split_rows(again.read, None, PIECE, MAX_LINE_BYTES)
        largest = max((_largest_index(piece) for piece, _ in found), default=-1)
        again.close()
        width = largest + (1 if request.zero_based else 0)
        if width > _MOST_FEATURES:
            raise DataError(
                f"{self.name} has the feature index {largest:,}; pass "
                f"{marked('features', str(width))} if that is right (memory grows with "
                f"it), or {HASHED}"
            )
        return max(width, 1)

    def quick(self, piece: bytes, starts: Integers, ends: Integers) -> Quick | None:
        """Return features and labels of usual rows by array operations."""
        text = np.frombuffer(piece, np.uint8)
        space = text <= 32
        words = np.flatnonzero(np.append(True, space[:-1]) & ~space)
        word_ends = np.flatnonzero(np.append(False, ~space[:-1]) & space)
        colons = np.flatnonzero(text == 58)
        # A row has a label without a colon, then a colon in each word
        n_words, n_colons = (
            np.diff(np.searchsorted(i, ends), prepend=0) for i in (words, colons)
        )
        of_word = np.repeat(np.arange(ends.size), n_words)
        first = np.diff(of_word, prepend=-1) != 0
        good = n_words == n_colons + 1
        odd = odd_bytes(text)
        word = np.searchsorted(words, odd, "right") - 1
        in_label = first[word] & (text[odd] < 128) & (text[odd] != ord("#"))
        good[of_word[word[~in_label]]] = False
        pairs = good[of_word] & ~first
        begin, end, row = words[pairs], word_ends[pairs], of_word[pairs]
        colon = colons[np.repeat(good, n_colons)]
        good[row[(colon <= begin) | (colon >= end)]] = False
        kept = good[row]
        if not kept.any():
            return None
        begin, end, row, colon = begin[kept], end[kept], row[kept], colon[kept]
        try:
            values, bad = numbers_in(text, colon + 1, end, odd[:0])
            index = cast(spans(text, begin, colon, np.ones(row.size, bool)), pa.int64())
        except pa.ArrowException:
            return None
        places = to_numpy(index, np.int64)[::2] - (not self.request.zero_based)
        bad |= (places < 0) | (places >= self.layout.n_features)
        bad[1:] |= (np.diff(places) <= 0) & (np.diff(row) == 0)
        good[row[bad]] = False
        if not good.any():
            return None
        kept = good[row] & (values != 0.0)  # a value of 0 leaves no trace
        rows = (np.cumsum(good) - 1)[row[kept]]
        shape = int(good.sum()), self.layout.n_features
        X = csr(rows, places[kept], values[kept], shape)
        label = first & good[of_word]
        target = spans(text, words[label], word_ends[label], np.ones(shape[0], bool))
        return X, target.take(integer_array(2 * np.arange(shape[0]))), good

    def row(self, text: bytes) -> tuple[Any, str] | None:
        """Return the (index, value) pairs and the label of a line, None if blank."""
        words = text.decode(errors="replace").partition("#")[0].split()
        if not words:
            return None
        label, *pairs = words
        if ":" in label:
            raise BadRowError(f"it begins with {shown(label)}, not with a label")
        numbers: list[tuple[int, float]] = []
        before = -1
        for pair in pairs:
            if pair.startswith("qid:"):
                continue
            index, value = self._pair(pair)
            if index <= before:
                raise BadRowError(
                    f"{shown(pair)}: indices must rise within a line, none twice"
                )
            before = index
            if value:
                numbers.append((index, value))
        return numbers, label

    def _pair(self, pair: str) -> tuple[int, float]:
        """Return the column and the value of ``index:value``."""
        place, sign, number = pair.partition(":")
        said, zero_based = shown(pair), self.request.zero_based
        if not (sign and place.isdecimal() and place.isascii()):
            raise BadRowError(f"{said} is not index:value")
        try:
            value = float("x" if "_" in number else number)
        except ValueError:
            raise BadRowError(f"{said}: the value is not a number") from None
        how = "; leave the feature out, or fill it in"
        value = finite(value, number, f"{said}: the value", how)
        index, width = int(place[-4000:]) - (not zero_based), self.layout.n_features
        if index < 0:
            raise BadRowError(
                f"{said}: indices begin with 1; pass {marked('zero_based')} if "
                "they begin with 0 in this file"
            )
        if index >= width:
            more = f"; {marked('features', 'N')} makes room for more"
            how = "" if self.request.hash_bits else more
            largest = width - 1 if zero_based else width
            raise BadRowError(f"{said}: the largest index is {largest:,}{how}")
        return index, value

    def stack(self, rows: list[Any]) -> Any:
        return sparse_rows(rows, self.layout.n_features)


def _largest_index(piece: bytes) -> int:
    """Return the largest index of any ``index:value``, -1 without one."""
    text = np.frombuffer(b" " + re.sub(rb"#[^\n]*", b"", piece), np.uint8)
    at = np.flatnonzero(text == 58) - 1
    index, largest = np.zeros(at.size, np.int64), -1
    for power in 10 ** np.arange(_MOST_DIGITS):
        digit = text[at].astype(np.int64) - 48
        is_digit = (digit >= 0) & (digit <= 9)
        index, at = (index + power * digit)[is_digit], at[is_digit] - 1
        largest = max(largest, index[text[at] <= 32].max(initial=-1))
    return int(largest)


_READERS: dict[RowFormat, Any] = {
    "svmlight": SvmlightRows,
    "csv": DelimitedRows,
    "tsv": DelimitedRows,
    "jsonl": JsonRows,
    "parquet": ParquetRows,
}


@dataclass(frozen=True)
class ResumePoint:
    """Where another run has been: position, layout, and the mark of the place."""

    position: Position
    layout: RowLayout
    mark: dict[str, Any]


def open_rows(
    path: str,
    request: Request,
    *,
    format: RowFormat | None = None,
    classes: StreamClasses | None = None,
    resumed: ResumePoint | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> TextRows | ParquetRows:
    """Open a file of svmlight, CSV, TSV, JSONL or Parquet, or standard input for "-".

    The `format` is needed where neither the name nor the first bytes say it. A reader
    goes on from where it is `resumed`, if that is the same input. `stopped` is asked
    while a pipe has nothing to give; True ends the reading.
    """
    source = Source(path, stopped)
    try:
        head = source.head.removeprefix(UTF8_MARK)
        if not head.strip():
            raise DataError(f"{source.name} is empty")
        kind = format or _format(path, head, source.name)
        if kind != "parquet":
            refuse_utf16_and_zero_bytes(head, source.name)
        _refuse_options(request, kind)
        reader: TextRows | ParquetRows = _READERS[kind](source, request)
        if resumed is None:
            known = request.known
            if known is not None:
                known = known_layout(known, kind, source.name)
            reader.begin(kind, known, classes or StreamClasses())
        else:
            reader.layout, reader.position = resumed.layout, resumed.position
            reader.skip_to(resumed.position.offset, resumed.mark)
        return reader
    except BaseException:
        source.close()
        raise


def _refuse_options(request: Request, kind: RowFormat) -> None:
    """Refuse options that mean nothing in a file of this kind."""
    if kind != "svmlight":
        if request.features is not None:
            raise DataError(
                f"{marked('features')} is for svmlight; {kind} says itself how many"
            )
        if request.zero_based:
            raise DataError(f"{marked('zero_based')} is for svmlight, not for {kind}")
    elif request.target is not None or request.drop:
        raise DataError(
            f"svmlight has no columns: {marked('label')} and {marked('drop')} are "
            "not for it"
        )
    if request.decimal != "." and kind not in ("csv", "tsv"):
        raise DataError(f"{marked('decimal')} is for CSV and TSV, not for {kind}")
    if request.hash_bits is not None and kind not in ("svmlight", "jsonl"):
        raise DataError(
            f"{marked('hash_bits')} is for svmlight and JSONL; {kind} has columns"
        )


def _format(path: str, head: bytes, name: str) -> RowFormat:
    """Return the format of a file, by its name or else by its first lines."""
    extension = PurePath(without_codec(path)).suffix.lower()
    if extension in (".svm", ".libsvm", ".svmlight"):
        return "svmlight"
    named = EXTENSIONS.get(extension)
    if named in ("csv", "tsv", "jsonl", "parquet"):
        return named
    words = head.splitlines()[0].split()
    if len(words) > 1 and words[1].partition(b":")[0].isdigit() and b":" in words[1]:
        return "svmlight"
    found = sniff(head)
    if found in ("csv", "tsv", "jsonl", "parquet"):
        return found
    raise DataError(
        f"cannot tell the format of {name}; pass {marked('format')} with one of "
        "svmlight, csv, tsv, jsonl, parquet"
    )
