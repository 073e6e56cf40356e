"""Blocks out of text: pieces of bytes, parsed in place by a compiled loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from argmetric._files._arrow import to_numpy
from argmetric._files._formats import MAX_LINE_BYTES, DataError
from argmetric._files.blocks._base import (
    BadRowError,
    Block,
    Blocks,
    Layout,
    Position,
    Request,
    room,
)
from argmetric._files.blocks._bytes import PIECE, TAIL, ByteSource
from argmetric._input.types import Bytes, Floats, Integers

_LONGEST_TOKEN = 1024


class TextReader(ABC):
    """Rows of text, from a position on.

    The buffer holds what is read and not yet consumed; it ends with a newline except
    where a row goes on behind it.
    """

    def __init__(
        self, source: ByteSource, layout: Layout, request: Request, start: Position
    ) -> None:
        self.source, self.layout, self.request = source, layout, request
        self._position = start
        self._buffer = b""
        self._text: Bytes = np.zeros(0, dtype=np.uint8)
        self._base = start.offset  # of the first byte of the buffer
        self._next = 0  # first byte that is not consumed
        self._stop = 0  # behind the last newline
        self._ended = False

    def blocks(self) -> Blocks:
        """Yield blocks until the input ends; a bad row is skipped, or raised."""
        while self._next < self._stop or self._fill():
            block, problem = self._parsed(room(self._position, self.request.every))
            if block is not None:
                yield block
            if problem is not None:
                raise problem

    @abstractmethod
    def _parsed(self, limit: int) -> tuple[Block | None, BadRowError | None]:
        """Parse up to so many rows of the buffer, and move on."""

    # -- the buffer -------------------------------------------------------------

    def _fill(self) -> bool:
        """Read on until the buffer holds a whole line; False at the end."""
        rest = self._buffer[self._next :]
        while not self._ended:
            data = self.source.read(PIECE)
            if not data:
                self._ended = True
                if self.source.interrupted or not rest:
                    return False
                data = b"" if rest.endswith(b"\n") else b"\n"
                self._set(rest + data, len(rest + data))
                return True
            cut = data.rfind(b"\n") + 1
            rest += data
            if len(rest) > MAX_LINE_BYTES:
                raise DataError(
                    f"{self.source.name}, line {self._position.lines + 1}: longer than "
                    f"{MAX_LINE_BYTES >> 20} MiB; is it text, and in the right format?"
                )
            if cut:
                self._set(rest, len(rest) - len(data) + cut)
                return True
        return False

    def _set(self, buffer: bytes, stop: int) -> None:
        self._base += self._next
        self._buffer, self._next, self._stop = buffer, 0, stop
        self._text = np.frombuffer(buffer, dtype=np.uint8)

    def _consumed(self, pos: int, lines: int, rows: int) -> None:
        """Take note of lines that are done with."""
        offset = min(self._base + pos, self.source.offset)  # a last newline may be ours
        end = offset - self._base
        self._next = pos
        self._position = replace(
            self._position,
            offset=offset,
            lines=self._position.lines + lines,
            rows=self._position.rows + rows,
            tail=self._buffer[max(0, end - TAIL) : end],
        )

    # -- bad rows ---------------------------------------------------------------

    def _token(self, pos: int, stops: bytes) -> str:
        """Return what stands at a place, up to one of some bytes."""
        part = self._buffer[pos : pos + _LONGEST_TOKEN]
        ends = [i for i in (part.find(bytes([stop])) for stop in stops) if i >= 0]
        token = part[: min(ends, default=_LONGEST_TOKEN)]
        return token.decode(errors="replace").strip()

    def _unknown_label(self, label: str) -> str | None:
        """Learn a class from a label, or return what is wrong with it."""
        classes = self._position.classes
        learned = classes.learned(label)
        if learned is None:
            return classes.complaint(label)
        self._position = replace(self._position, classes=learned)
        return None

    def _place(self) -> str:
        return f"{self.source.name}, line {self._position.lines + 1}"

    def _bad(self, message: str, *, lines: int = 1, end: int) -> BadRowError | None:
        """Skip a row, or return the error to raise once the rows before it are out."""
        where = f"{self._place()}: {message}"
        if self.request.on_error == "stop":
            return BadRowError(where)
        self._position = self._position.skip(where)
        self._consumed(end, lines, 0)
        return None


def exact(
    data: Floats, later: Bytes, ends: Integers, targets: Integers, count: int
) -> None:
    """Fill in the numbers that the compiled loop left as text, correctly rounded."""
    if not count:
        return
    import pyarrow as pa
    import pyarrow.compute as pc

    texts: Any = pa.LargeStringArray.from_buffers(
        count, pa.py_buffer(ends[: count + 1]), pa.py_buffer(later)
    )
    try:
        values = to_numpy(pc.cast(texts, pa.float64()), np.float64)
    except pa.ArrowInvalid:  # at the edge of what can be told from 0
        values = np.array([float(text) for text in texts.to_pylist()])
    data.reshape(-1)[targets[:count]] = values
