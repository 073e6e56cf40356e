"""CSV, TSV and svmlight: blocks parsed by a compiled loop."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from argmetric._files._formats import MAX_LINE_BYTES, UTF8_MARK, DataError, marked
from argmetric._files._read import _header
from argmetric._files._table import LABEL_NAMES, Table, find_column, named_column
from argmetric._files._values import why_no_number
from argmetric._files.blocks._base import (
    BadRowError,
    Request,
    RowBlock,
    RowFormat,
    RowLayout,
    shown,
)
from argmetric._files.blocks._columns import with_header
from argmetric._files.blocks._text import PIECE, ByteSource, TextReader, exact
from argmetric._input.types import Floats, Integers


def chosen_columns(
    names: list[str], source: str, format: RowFormat, request: Request
) -> tuple[str, tuple[str, ...]]:
    """Return the column of labels and those of features."""
    import pyarrow as pa

    empty = pa.Table.from_arrays([pa.nulls(0)] * len(names), names=names)
    table = Table(empty, "csv" if format == "svmlight" else format, source)
    dropped = [named_column(table, name) for name in request.drop]
    target = find_column(
        table,
        request.target,
        LABEL_NAMES,
        what="label",
        role="label",
        taken=dropped,
    )
    if target in dropped:
        raise DataError(
            f"{marked('drop')} and {marked('label')} both name column {target!r}"
        )
    features = [name for name in names if name != target and name not in dropped]
    for name in features:
        named_column(table, name)  # a name that two columns have is refused
    if not features:
        raise DataError(f"{source} has no column to learn from beside {target!r}")
    return target, tuple(features)


def delimited_layout(
    source: ByteSource,
    request: Request,
    format: RowFormat,
    known: RowLayout | None = None,
) -> tuple[RowLayout, int, int]:
    """Read the header line.

    Returns
    -------
    layout : RowLayout
    offset, lines : int
        Bytes and lines up to the first row.
    """
    head = source.head
    names, delimiter = _header(head, "\t" if format == "tsv" else ",", source.name)
    start = len(UTF8_MARK) if head.startswith(UTF8_MARK) else 0
    while head[start : start + 1] in (b"\r", b"\n"):
        start += 1
    end = start
    while True:
        end = head.find(b"\n", end) + 1
        if not end:
            raise DataError(f"{source.name} has a header line, and no rows after it")
        if head.count(b'"', start, end) % 2 == 0:
            break
    names = [name.strip() for name in names]
    if known is not None:
        layout = with_header(known, names, source.name, delimiter)
    else:
        target, features = chosen_columns(names, source.name, format, request)
        layout = RowLayout(
            format, len(features), features, target, tuple(names), delimiter=delimiter
        )
    return layout, end, head.count(b"\n", 0, end)


class CompiledReader(TextReader):
    """Rows that a compiled loop parses; see `kernels.text_rows`."""

    @property
    def _kernels(self) -> Any:
        from argmetric._files.kernels import text_rows

        return text_rows

    def _given(self, limit: int, values: Floats) -> tuple[Any, Any, Any]:
        """What every loop takes: text, classes and labels, and numbers left as text."""
        size, classes = self._stop - self._next, self._position.classes
        text = self._text, self._next, self._stop, limit
        y, found = np.empty(limit, np.uint8), np.zeros(8, np.int64)
        labels = classes.worths(), *classes.words(), classes.rest, y
        ends, targets = np.empty(values.size + 1, np.int64), np.empty(values.size, int)
        return text, labels, (np.empty(size, np.uint8), ends, targets, found)

    def _finished(
        self, values: Floats, left: Any
    ) -> tuple[Integers, BadRowError | None]:
        """Round what was left, and move on; numbers of the rows, and what is wrong."""
        kernels, (later, ends, targets, found) = self._kernels, left
        exact(values, later, ends, targets, int(found[kernels.LATER]))
        first, rows = self._position.rows + 1, int(found[kernels.ROWS])
        self._consumed(int(found[kernels.NEXT]), int(found[kernels.LINES]), rows)
        return np.arange(first, first + rows), self._problem(kernels, found)

    def _problem(self, kernels: Any, found: Any) -> BadRowError | None:
        status, where = int(found[kernels.STATUS]), int(found[kernels.WHERE])
        if status == kernels.DONE:
            return None
        if status == kernels.OPEN_QUOTE:
            return self._open_quote()
        token = self._token(where, self._stops(where))
        if status == kernels.LABEL:
            message = self._unknown_label(token)
            if message is None:
                return None
        else:
            column = int(found[kernels.COLUMN])
            message = self._message(kernels, status, column, shown(token))
        end = self._buffer.find(b"\n", where) + 1
        lines = self._buffer.count(b"\n", self._next, end)
        return self._bad(message, lines=lines, end=end)

    def _open_quote(self) -> BadRowError | None:
        """Read on, where a quoted cell goes on behind the buffer."""
        if not self._ended and len(self._buffer) - self._next < MAX_LINE_BYTES // 4:
            self._stop = self._next  # forces a longer buffer
            return None
        end = self._buffer.find(b"\n", self._next) + 1
        return self._bad("it opens a quote that never closes", end=end)

    @abstractmethod
    def _stops(self, where: int) -> bytes:
        """Bytes that end what stands at a place."""

    @abstractmethod
    def _message(self, kernels: Any, status: int, column: int, token: str) -> str:
        """What is wrong with a row."""


class DelimitedReader(CompiledReader):
    """Blocks of dense matrices."""

    # Not pyarrow.csv: on pieces of the same size it takes 1.1 to 1.2 times the CPU
    # seconds, and tells neither the place of a row nor which cell is wrong (10^6 rows
    # of ten numbers: `python benchmarks/files.py csv`)
    def _parsed(self, limit: int) -> tuple[RowBlock | None, BadRowError | None]:
        kernels = self._kernels
        layout, size = self.layout, self._stop - self._next
        limit = min(limit, size // (2 * len(layout.columns)) + 1)  # "1,1\n"
        X = np.empty((limit, layout.n_features))
        text, labels, left = self._given(limit, X)
        signs = ord(layout.delimiter), ord(self.request.decimal)
        kernels.delimited(*text, *signs, self._roles(kernels), *labels, X, *left)
        later = left[0]
        later[later == ord(self.request.decimal)] = ord(".")
        numbers, problem = self._finished(X, left)
        rows = numbers.size
        return RowBlock(X[:rows], labels[-1][:rows], numbers, self._position), problem

    def _roles(self, kernels: Any) -> Any:
        features, target = set(self.layout.names), self.layout.target
        return np.array(
            [
                kernels.TARGET
                if name == target
                else kernels.VALUE
                if name in features
                else kernels.SKIPPED
                for name in self.layout.columns
            ],
            dtype=np.int8,
        )

    def _stops(self, where: int) -> bytes:
        quoted = self._buffer[where - 1 : where] == b'"'
        return b'"' if quoted else self.layout.delimiter.encode() + b"\r\n"

    def _message(self, kernels: Any, status: int, column: int, token: str) -> str:
        columns = self.layout.columns
        if status == kernels.CELLS:
            if column >= len(columns):
                return f"it has more cells than the {len(columns)} of the header"
            return f"it has {column} cells, the header has {len(columns)}"
        place = f"column {columns[column]!r}"
        return {
            kernels.NO_LABEL: "it has no label",
            kernels.EMPTY: f"{place} is empty; fill it in, or pass {marked('drop')}",
            kernels.NUMBER: f"{place}: {token} {_why_no_number(token)}",
            kernels.NOT_FINITE: f"{place}: {token} is not finite; fill it in",
            kernels.TOO_LARGE: f"{place}: {token} is beyond 1e308",
        }[status]


def _why_no_number(token: str) -> str:
    """Say what a cell is instead of a number, and what to do about it."""
    why = why_no_number(token[1:-1])
    if why == "is not a number":
        why += f"; pass {marked('drop')} for columns that are no features"
    return why


_MOST_FEATURES = 1 << 24  # found in a file rather than asked for
_INDEX_LIMIT = 2**31 - 1
_HASHED = marked("hash_bits", "18")


def svmlight_layout(source: ByteSource, request: Request) -> RowLayout:
    """Settle the number of features; of a file the largest index says it."""
    if request.hash_bits is not None:
        return RowLayout("svmlight", _INDEX_LIMIT)
    if request.features is not None:
        return RowLayout("svmlight", request.features)
    if not source.regular:
        raise DataError(
            f"how many features has {source.name}? A stream cannot be looked through "
            f"first: pass {marked('features', 'N')}, or {_HASHED} for indices of any "
            "size"
        )
    largest = _largest_index(source.path)
    width = largest + (1 if request.zero_based else 0)
    if width > _MOST_FEATURES:
        raise DataError(
            f"{source.name} has the feature index {largest:,}; pass "
            f"{marked('features', str(width))} if that is right (memory grows with "
            f"it), or {_HASHED}"
        )
    return RowLayout("svmlight", max(width, 1))


def _largest_index(path: str) -> int:
    from argmetric._files.kernels.text_rows import largest_index

    largest, rest = -1, b""
    with open(path, "rb") as file:
        while data := file.read(PIECE):
            cut = data.rfind(b"\n") + 1
            if not cut:
                rest += data
                continue
            piece = rest + data[:cut]
            rest = data[cut:]
            text = np.frombuffer(piece, dtype=np.uint8)
            largest = max(largest, int(largest_index(text, 0, text.size)))
    if rest:
        text = np.frombuffer(rest + b"\n", dtype=np.uint8)
        largest = max(largest, int(largest_index(text, 0, text.size)))
    return largest


class SvmlightReader(CompiledReader):
    """Blocks of CSR matrices."""

    # pyarrow has no such reader, and that of scikit-learn takes 7.8 times the CPU
    # seconds (10^6 rows of ten features: `python benchmarks/files.py svmlight`)
    def _parsed(self, limit: int) -> tuple[RowBlock | None, BadRowError | None]:
        from scipy.sparse import csr_matrix

        kernels = self._kernels
        size, width = self._stop - self._next, self.layout.n_features
        limit, room = min(limit, size // 2 + 1), size // 4 + 2  # "1:1 " is the shortest
        indptr, indices = np.empty(limit + 1, np.int64), np.empty(room, np.int32)
        data, base = np.empty(room), 0 if self.request.zero_based else 1
        text, labels, left = self._given(limit, data)
        kernels.svmlight(*text, width, base, *labels, indptr, indices, data, *left)
        numbers, problem = self._finished(data, left)
        rows, n = numbers.size, int(left[-1][kernels.VALUES])
        filled = (data[:n], indices[:n], indptr[: rows + 1])
        matrix = csr_matrix(filled, shape=(rows, width))
        return RowBlock(matrix, labels[-1][:rows], numbers, self._position), problem

    def _stops(self, where: int) -> bytes:
        return b" \t\r\n"

    def _message(self, kernels: Any, status: int, column: int, token: str) -> str:
        width = self.layout.n_features
        largest = width - 1 if self.request.zero_based else width
        more = marked("features", "N")
        how = "" if self.request.hash_bits else f"; {more} makes room for more"
        return {
            kernels.NO_LABEL: f"it begins with {token}, not with a label",
            kernels.FEATURE: f"{token} is not index:value",
            kernels.NUMBER: f"{token}: the value is not a number",
            kernels.NOT_FINITE: f"{token}: the value is not finite; leave the feature "
            "out, or fill it in",
            kernels.TOO_LARGE: f"{token}: the value is beyond 1e308",
            kernels.ZERO_INDEX: f"{token}: indices begin with 1; pass "
            f"{marked('zero_based')} if they begin with 0 in this file",
            kernels.OUT_OF_RANGE: f"{token}: the largest index is {largest:,}{how}",
            kernels.ORDER: f"{token}: indices must rise within a line, none twice",
        }[status]
