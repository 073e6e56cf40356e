"""Files that are compressed, by their names."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import PurePath
from typing import IO, Any

_CODECS = {".gz": "gzip", ".zst": "zstd"}


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
