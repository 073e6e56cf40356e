"""svmlight, ``label index:value index:value … # comment``: CSR matrices."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from argmetric._files._arrow import cast, integer_array, to_numpy
from argmetric._files._delimited import pieces
from argmetric._files._formats import MAX_LINE_BYTES, DataError, marked
from argmetric._files._source import PIECE, Source
from argmetric._files.blocks._base import BadRowError, RowFormat, RowLayout, shown
from argmetric._files.blocks._columns import (
    HASHED,
    csr,
    numbers_in,
    odd_bytes,
    spans,
    sparse_rows,
)
from argmetric._files.blocks._delimited import finite
from argmetric._files.blocks._rows import Quick, TextRows

_MOST_FEATURES = 1 << 24  # found in a file rather than asked for
_INDEX_LIMIT = 2**31 - 1
_MOST_DIGITS = 12  # of an index


class SvmlightRows(TextRows):
    """Rows of numbered features."""

    def settled(
        self, kind: RowFormat, known: RowLayout | None, start: int
    ) -> tuple[RowLayout, int]:
        return known or RowLayout("svmlight", self._width()), start

    def _width(self) -> int:
        """Settle the number of features; of a file the largest index says it."""
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
        found = pieces(again.read, None, PIECE, MAX_LINE_BYTES)
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

    def quick(self, piece: bytes, starts: Any, ends: Any) -> Quick | None:
        import pyarrow as pa

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
            index = cast(spans(text, begin, colon, np.ones(row.size)), pa.int64())
        except pa.ArrowException:
            return None
        places = to_numpy(index, np.int64)[::2] - (not self.request.zero_based)
        bad |= (places < 0) | (places >= self.layout.n_features)
        bad[1:] |= (np.diff(places) <= 0) & (np.diff(row) == 0)
        good[row[bad]] = False
        kept = good[row] & (values != 0.0)  # a value of 0 leaves no trace
        rows = (np.cumsum(good) - 1)[row[kept]]
        shape = int(good.sum()), self.layout.n_features
        X = csr(rows, places[kept], values[kept], shape)
        label = first & good[of_word]
        target = spans(text, words[label], word_ends[label], np.ones(shape[0]))
        return X, target.take(integer_array(2 * np.arange(shape[0]))), good

    def row(self, text: bytes) -> tuple[Any, str] | None:
        words = text.decode(errors="replace").partition("#")[0].split()
        if not words:
            return None
        label, *pairs = words
        if ":" in label:
            raise BadRowError(f"it begins with {shown(label)}, not with a label")
        base, width = (0 if self.request.zero_based else 1), self.layout.n_features
        found: list[tuple[int, float]] = []
        before = -1
        for pair in pairs:
            if pair.startswith("qid:"):
                continue
            place, sign, number = pair.partition(":")
            said = shown(pair)
            if not (sign and place.isdecimal() and place.isascii()):
                raise BadRowError(f"{said} is not index:value")
            try:
                value = float("x" if "_" in number else number)
            except ValueError:
                raise BadRowError(f"{said}: the value is not a number") from None
            how = "; leave the feature out, or fill it in"
            value = finite(value, number, f"{said}: the value", how)
            index = int(place[-4000:]) - base
            if index < 0:
                raise BadRowError(
                    f"{said}: indices begin with 1; pass {marked('zero_based')} if "
                    "they begin with 0 in this file"
                )
            if index >= width:
                more = f"; {marked('features', 'N')} makes room for more"
                how = "" if self.request.hash_bits else more
                largest = width - 1 if self.request.zero_based else width
                raise BadRowError(f"{said}: the largest index is {largest:,}{how}")
            if index <= before:
                raise BadRowError(
                    f"{said}: indices must rise within a line, none twice"
                )
            if value:
                found.append((index, value))
            before = index
        return found, label

    def stacked(self, rows: list[Any]) -> Any:
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
