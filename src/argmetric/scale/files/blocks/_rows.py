"""Rows of text as matrices and labels, from a place that can be found again.

A piece is parsed at once by pyarrow; only rows with anything unusual in them are read
one by one, which says what is wrong.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from argmetric._ground.types import Booleans
from argmetric.scale.files import _source
from argmetric.scale.files._formats import MAX_LINE_BYTES, UTF8_MARK, DataError
from argmetric.scale.files._parse import TextPlace, pieces, row_ends
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
)
from argmetric.scale.files.blocks._columns import known_labels

# Of the rows of a piece with nothing unusual in them: features, labels as a column
# (None where they are not read), and which rows these are
Quick = tuple[Any, Any, Booleans]


class TextRows:
    """Blocks from a position on; formats say how a piece, and how a row, is read."""

    layout: RowLayout
    position: Position

    @property
    def delimiter(self) -> str | None:
        """What separates cells that may be quoted."""
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
        self.layout, offset = self.settled(kind, known, start)
        if offset:
            self.source.read(offset)
        passed = head[:offset]
        tail = passed[-_source.TAIL :]
        self.position = Position(
            offset, passed.count(b"\n"), classes=classes, tail=tail
        )

    def settled(
        self, kind: RowFormat, known: RowLayout | None, start: int
    ) -> tuple[RowLayout, int]:
        """Return the layout, and the offset of the first row."""
        raise NotImplementedError

    def quick(self, piece: bytes, starts: Any, ends: Any) -> Quick | None:
        """Parse a piece at once; None if it cannot be."""
        raise NotImplementedError

    def row(self, text: bytes) -> tuple[Any, str] | None:
        """Return the features of a row and its label; None where it is blank."""
        raise NotImplementedError

    def stacked(self, rows: list[Any]) -> Any:
        return np.array(rows, np.float64).reshape(len(rows), self.layout.n_features)

    def blocks(self) -> Blocks:
        """Yield blocks until the input ends; a bad row is skipped, or raised."""
        source = self.source
        place = TextPlace(self.name, self.position.lines, self.position.offset)
        for piece, ends in pieces(
            source.read,
            self.delimiter,
            _source.PIECE,
            MAX_LINE_BYTES,
            MAX_LINE_BYTES // 4,
            lambda: source.interrupted,
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
        self, piece: bytes, place: TextPlace, newlines: Any, starts: Any, ends: Any
    ) -> Blocks:
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
            X, y = joined(X, self.stacked(rows)), np.append(y, labels).astype(np.uint8)
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

    def _quickly(self, piece: bytes, starts: Any, ends: Any) -> tuple[Any, Any, Any]:
        """Return what `quick` finds, with labels as 0 and 1; no rows where it fails."""
        classes = self.position.classes
        nothing = self.stacked([]), np.zeros(0, np.uint8), np.zeros(ends.size, bool)
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
        """Return 1 or 0 for a label, and learn it where it may be a class."""
        if self.layout.target is None and self.layout.format != "svmlight":
            return 0
        classes = self.position.classes
        worth = classes.of(label)
        if worth is None:
            learned = classes.learned(label)
            if learned is None:
                raise BadRowError(classes.complaint(label))
            self.position = replace(self.position, classes=learned)
            worth = learned.of(label)
        return int(worth or 0)


def joined(X: Any, other: Any) -> Any:
    """Return the rows of two matrices of a kind, one below the other."""
    if isinstance(X, np.ndarray):
        return np.concatenate([X, other])
    from scipy.sparse import vstack

    return vstack([X, other], format="csr")
