"""Files that are compressed: by their bytes when read, by their names when written."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import PurePath
from typing import IO, Any

from argmetric._files._formats import DataError

# A text packs to a fifth, one that repeats itself to a hundredth; beyond, it is a trap
MAX_EXPANSION = 200
ALWAYS_UNPACKED = 1 << 26  # bytes, however small the file was
_PIECE = 1 << 24
_CODECS = {".gz": "gzip", ".zst": "zstd"}
_MARKS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}


def codec_by_name(path: str) -> str | None:
    """Return the codec that the end of a name stands for, None for a plain file.

    Examples
    --------
    >>> codec_by_name("scores.csv.gz"), codec_by_name("scores.csv")
    ('gzip', None)
    """
    return _CODECS.get(PurePath(path).suffix.lower())


def without_codec(path: str) -> str:
    """Return a name without the end that says how it is compressed."""
    return path if codec_by_name(path) is None else str(PurePath(path).with_suffix(""))


def unpacked(data: bytes, name: str) -> bytes:
    """Return bytes as they were before they were compressed, if they were."""
    codec = next((one for mark, one in _MARKS.items() if data.startswith(mark)), None)
    if codec is None:
        return data
    import pyarrow as pa

    try:
        stream: Any = pa.CompressedInputStream(pa.BufferReader(data), codec)
        most = max(ALWAYS_UNPACKED, MAX_EXPANSION * len(data))
        pieces, size = [], 0
        while piece := stream.read(_PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > most:
                raise DataError(
                    f"{name}: {len(data):,} bytes of {codec} unpack to more than "
                    f"{MAX_EXPANSION} times as many; if that is right, unpack them "
                    f"first ({codec} -dc)"
                )
        return b"".join(pieces)
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise DataError(
            f"{name} is not a whole {codec} file, perhaps cut short: {reason}"
        ) from None


@contextlib.contextmanager
def packing(file: IO[bytes], codec: str | None) -> Iterator[IO[bytes]]:
    """Yield what compresses to a file that stays open, or the file itself."""
    if codec is None:
        yield file
        return
    import pyarrow as pa

    with pa.CompressedOutputStream(pa.PythonFile(_Kept(file), "w"), codec) as packed:
        yield packed


class _Kept(io.RawIOBase):
    """A file that pyarrow may write to, and not close."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._file.write(data)
