"""Bytes of a file or a pipe from an offset on, and blocks parsed in place from text."""

from __future__ import annotations

import contextlib
import hashlib
import os
import select
import stat
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from argmetric._files._arrow import to_numpy
from argmetric._files._formats import MAX_LINE_BYTES, STANDARD_STREAM, DataError
from argmetric._files._read import _similar_file
from argmetric._files.blocks._base import (
    BadRowError,
    Blocks,
    Position,
    Request,
    RowBlock,
    RowLayout,
    room,
)
from argmetric._input.types import Bytes, Floats, Integers

PIECE = 1 << 20
HEAD = 1 << 16  # bytes by which a file is recognised
TAIL = 1 << 12  # bytes by which a place in it is
_PIPE_BYTES = 1 << 20
_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ of Linux
_PATIENCE_SECONDS = 0.1

_PACKED = {b"\x1f\x8b": "gzip -dc", b"BZh": "bzip2 -dc", b"(\xb5/\xfd": "zstd -dc"}


class PackedError(DataError):
    """The bytes are compressed.

    Attributes
    ----------
    name : str
        What holds them.
    command : str
        Unpacks a file to standard output.
    """

    def __init__(self, name: str, command: str) -> None:
        super().__init__(f"{name} is compressed: {command} FILE unpacks it")
        self.name, self.command = name, command


def digest(data: bytes) -> str:
    """Return a short name for bytes."""
    return hashlib.sha256(data).hexdigest()


class ByteSource:
    """A file, or a stream that can only be read forward.

    Parameters
    ----------
    path : str
        A path, or "-" for standard input.
    stopped : callable
        Asked while nothing comes: True gives up waiting.
    """

    def __init__(self, path: str, stopped: Callable[[], bool]) -> None:
        self.name = "standard input" if path == STANDARD_STREAM else path
        self.path = path
        self._stopped = stopped
        self._file: Any = None
        self._descriptor = -1
        self._open(path)
        is_file = self._descriptor >= 0 and _is_regular(self._descriptor)
        self.regular = is_file and path != STANDARD_STREAM
        self._waits = self._descriptor >= 0 and not is_file and os.name == "posix"
        self.interrupted = False  # the end is not the end of the stream
        self.offset = 0  # of what was read
        self._pushed = b""
        if self._waits:
            self._widen()
        self.head = self._peek(PIECE)

    def refuse_packed(self) -> None:
        """Refuse compressed bytes, and say what unpacks them."""
        for mark, command in _PACKED.items():
            if self.head.startswith(mark):
                raise PackedError(self.name, command)

    def _open(self, path: str) -> None:
        if path == STANDARD_STREAM:
            if sys.stdin is None:
                raise DataError("standard input is closed")
            self._file = sys.stdin.buffer
            with contextlib.suppress(OSError, AttributeError, ValueError):
                self._descriptor = self._file.fileno()
            return
        try:
            self._file = open(path, "rb", buffering=0)  # noqa: SIM115 -- `close`
        except FileNotFoundError:
            raise DataError(f"{path}: no such file{_similar_file(path)}") from None
        except IsADirectoryError:
            raise DataError(f"{path} is a folder; pass a file") from None
        except OSError as error:
            raise DataError(f"cannot read {path}: {error.strerror}") from None
        self._descriptor = self._file.fileno()

    def _widen(self) -> None:
        """Ask for a larger pipe: fewer and larger pieces."""
        with contextlib.suppress(ImportError, OSError):
            import fcntl

            fcntl.fcntl(self._descriptor, _SET_PIPE_SIZE, _PIPE_BYTES)

    def _peek(self, most: int) -> bytes:
        parts = bytearray()
        while len(parts) < most:
            part = self._read(most - len(parts))
            if not part:
                break
            parts += part
            if self._waits and b"\n" in part and not self._ready(0.0):
                break  # whoever writes slowly shall not be waited for
        self._pushed = bytes(parts)
        return self._pushed

    @property
    def size(self) -> int | None:
        """Bytes in all, None for a stream."""
        return os.fstat(self._descriptor).st_size if self.regular else None

    def close(self) -> None:
        """Close a file; standard input stays open."""
        if self.path != STANDARD_STREAM:
            self._file.close()

    def read(self, most: int) -> bytes:
        """Return the next bytes: all that is there at once, b"" at the end."""
        if self._pushed:
            data, self._pushed = self._pushed[:most], self._pushed[most:]
            self.offset += len(data)
            return data
        parts = [self._read(most)]
        got = len(parts[0])
        while parts[-1] and got < most and (not self._waits or self._ready(0.0)):
            parts.append(self._read(most - got))
            got += len(parts[-1])
        self.offset += got
        return b"".join(parts)

    def _read(self, most: int) -> bytes:
        if self._descriptor < 0:
            return bytes(self._file.read(most) or b"")
        if self._waits:
            while not self._ready(_PATIENCE_SECONDS):
                if self._stopped():
                    self.interrupted = True
                    return b""
        try:
            data = os.read(self._descriptor, most)
        except OSError as error:
            raise DataError(f"cannot read {self.name}: {error.strerror}") from None
        if not data and self._stopped():
            self.interrupted = True  # the end may be the doing of the same signal
        return data

    def _ready(self, seconds: float) -> bool:
        return bool(select.select([self._descriptor], [], [], seconds)[0])

    def mark(self, offset: int, tail: bytes) -> dict[str, Any]:
        """Return what a place is recognised by, as plain values."""
        head = self.head[: min(offset, HEAD)]
        return {
            "size": self.size,
            "head": [len(head), digest(head)],
            "tail": [len(tail), digest(tail)],
        }

    def skip_to(self, offset: int, mark: dict[str, Any]) -> None:
        """Go to a place that another run has marked, if this is the same input.

        A stream is read up to there: it has to begin anew.
        """
        (head_length, head), (tail_length, tail) = mark["head"], mark["tail"]
        if self.regular:
            self._refuse_short(offset)
            first = self._bytes_at(0, head_length)
            last = self._bytes_at(offset - tail_length, tail_length)
            following = self._bytes_at(offset, 1)
            os.lseek(self._descriptor, offset, os.SEEK_SET)
            self.offset, self._pushed = offset, b""
        else:
            first = last = following = b""
            while self.offset < offset:
                data = self.read(min(PIECE, offset - self.offset))
                if not data:
                    break
                first += data[: head_length - len(first)]
                last = (last + data)[-tail_length:]
        if self.offset < offset or len(first) < head_length:
            raise DataError(
                f"{self.name} is shorter than the {offset:,} bytes that were learned "
                "from; it has to begin with the same rows"
            )
        if digest(first) != head or digest(last) != tail:
            raise DataError(
                f"{self.name} is another file than the one of the checkpoint: it "
                f"differs before byte {offset:,}"
            )
        if last and following and not last.endswith(b"\n"):
            raise DataError(
                f"{self.name} has grown within a line that was learned from: it ended "
                f"at byte {offset:,}, without a newline"
            )

    def _bytes_at(self, offset: int, count: int) -> bytes:
        os.lseek(self._descriptor, offset, os.SEEK_SET)
        data = b""
        while len(data) < count and (part := os.read(self._descriptor, count)):
            data += part[: count - len(data)]
        return data

    def _refuse_short(self, offset: int) -> None:
        size = self.size or 0
        if size < offset:
            raise DataError(
                f"{self.name} has {size:,} bytes, fewer than the {offset:,} that were "
                "learned from: it is another file, or was cut short"
            )


def _is_regular(descriptor: int) -> bool:
    return stat.S_ISREG(os.fstat(descriptor).st_mode)


_LONGEST_TOKEN = 1024


class TextReader(ABC):
    """Rows of text, from a position on.

    The buffer holds what is read and not yet consumed; it ends with a newline except
    where a row goes on behind it.
    """

    def __init__(
        self, source: ByteSource, layout: RowLayout, request: Request, start: Position
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
    def _parsed(self, limit: int) -> tuple[RowBlock | None, BadRowError | None]:
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
