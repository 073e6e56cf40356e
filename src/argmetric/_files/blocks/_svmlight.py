"""Lines ``label index:value index:value ...``, as libsvm and svmlight write them."""

from __future__ import annotations

from typing import Any

import numpy as np

from argmetric._files._formats import DataError, marked
from argmetric._files.blocks._base import BadRowError, Block, Layout, Request, shown
from argmetric._files.blocks._bytes import PIECE, ByteSource
from argmetric._files.blocks._text import TextReader, exact

_MOST_FEATURES = 1 << 24  # found in a file rather than asked for
_INDEX_LIMIT = 2**31 - 1
_STOPS = b" \t\r\n"
_HASHED = marked("hash_bits", "18")


def svmlight_layout(source: ByteSource, request: Request) -> Layout:
    """Settle the number of features; of a file the largest index says it."""
    if request.hash_bits is not None:
        return Layout("svmlight", _INDEX_LIMIT)
    if request.features is not None:
        return Layout("svmlight", request.features)
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
    return Layout("svmlight", max(width, 1))


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


class SvmlightReader(TextReader):
    """Blocks of CSR matrices."""

    # pyarrow has no such reader, and that of scikit-learn takes 7.8 times the CPU
    # seconds (10^6 rows of ten features: `python benchmarks/files.py svmlight`)
    def _parsed(self, limit: int) -> tuple[Block | None, BadRowError | None]:
        from scipy.sparse import csr_matrix

        from argmetric._files.kernels import text_rows as kernels

        size = self._stop - self._next
        limit = min(limit, size // 2 + 1)
        room = size // 4 + 2  # "1:1 " is the shortest feature
        y, indptr = np.empty(limit, np.uint8), np.empty(limit + 1, np.int64)
        indices, data = np.empty(room, np.int32), np.empty(room)
        later, ends = np.empty(size, np.uint8), np.empty(room + 1, np.int64)
        targets, found = np.empty(room, np.int64), np.zeros(8, np.int64)
        classes = self._position.classes
        kernels.svmlight(
            self._text,
            self._next,
            self._stop,
            limit,
            self.layout.n_features,
            0 if self.request.zero_based else 1,
            classes.worths(),
            *classes.words(),
            classes.rest,
            y,
            indptr,
            indices,
            data,
            later,
            ends,
            targets,
            found,
        )
        rows, values = int(found[kernels.ROWS]), int(found[kernels.VALUES])
        exact(data, later, ends, targets, int(found[kernels.LATER]))
        first = self._position.rows + 1
        self._consumed(int(found[kernels.NEXT]), int(found[kernels.LINES]), rows)
        problem = self._problem(kernels, found)
        matrix = csr_matrix(
            (data[:values], indices[:values], indptr[: rows + 1]),
            shape=(rows, self.layout.n_features),
        )
        numbers = np.arange(first, first + rows)
        return Block(matrix, y[:rows], numbers, self._position), problem

    def _problem(self, kernels: Any, found: Any) -> BadRowError | None:
        status, where = int(found[kernels.STATUS]), int(found[kernels.WHERE])
        if status == kernels.DONE:
            return None
        token = self._token(where, _STOPS)
        if status == kernels.LABEL:
            message = self._unknown_label(token)
            if message is None:
                return None
        else:
            message = self._message(kernels, status, shown(token))
        end = self._buffer.find(b"\n", where) + 1
        return self._bad(message, end=end)

    def _message(self, kernels: Any, status: int, token: str) -> str:
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
