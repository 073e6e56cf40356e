"""Bytes of a file, a pipe or standard input, unpacked, from a place on."""

from __future__ import annotations

import contextlib
import os
import select
import stat
import sys
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import PurePath
from types import SimpleNamespace
from typing import Any, Literal, get_args

from argmetric._ground.whole_files import DataError as DataError

Format = Literal["csv", "tsv", "parquet", "arrow", "arrow-stream", "jsonl"]
FORMATS: tuple[Format, ...] = get_args(Format)
DELIMITERS: dict[Format, str] = {"csv": ",", "tsv": "\t"}

STANDARD_STREAM = "-"

EXTENSIONS: dict[str, Format] = {
    **{".csv": "csv", ".tsv": "tsv", ".tab": "tsv"},
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
    **{".arrows": "arrow-stream"},
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "jsonl"),
}

_MAGIC: tuple[tuple[bytes, Format], ...] = (
    (b"PAR1", "parquet"),
    (b"ARROW1", "arrow"),
    (b"\xff\xff\xff\xff", "arrow-stream"),
)

_CODECS_OF_NAMES = {".gz": "gzip", ".zst": "zstd"}
MAX_LINE_BYTES = 1 << 26
UTF8_MARK = b"\xef\xbb\xbf"
_SNIFFED_BYTES = 65_536

Role = Literal[
    "decimal", "decision_column", "drop", "encoding", "format", "label", "logits",
    "max_line", "memory", "missing_groups", "one_label", "neg_label", "output",
    "output_format", "pos_label", "reference_label", "reference_score", "resume",
    "score", "work_dir",
]  # fmt: skip
ROLES: tuple[Role, ...] = get_args(Role)


def marked(role: Role, value: str | None = None) -> str:
    """Return an option as messages mark it, `role` or `role=value`."""
    return f"`{role}`" if value is None else f"`{role}={value}`"


OTHER_ENCODING = f"pass {marked('encoding')}, for instance latin-1"
COMMENTS = "; lines that begin with # are not skipped: remove them"


def has_bare_returns(head: bytes) -> bool:
    """Return whether lines of text end in CR alone, as on old Macs."""
    return b"\r" in head and b"\n" not in head


def format_by_name(path: str, *, role: Role) -> Format:
    """Return the format of an extension; `role` is how a user names it instead."""
    extension = PurePath(path).suffix.lower()
    try:
        return EXTENSIONS[extension]
    except KeyError:
        shown = f"unknown extension {extension!r}" if extension else "no extension"
        known = ", ".join(EXTENSIONS)
        raise DataError(
            f"{path}: {shown}; use one of {known}, or pass {marked(role)}"
        ) from None


def codec_by_name(path: str) -> str | None:
    """Return the codec that the extension of a file names, or None."""
    return _CODECS_OF_NAMES.get(PurePath(path).suffix.lower())


def without_codec(path: str) -> str:
    """Return a name without the end that says how it is compressed."""
    return path if codec_by_name(path) is None else str(PurePath(path).with_suffix(""))


def binary_format(head: bytes) -> Format | None:
    """Return the binary format that the first bytes announce, None for text."""
    return next((kind for mark, kind in _MAGIC if head.startswith(mark)), None)


def sniff(head: bytes) -> Format | None:
    """Return the format that the first bytes of a stream show, None if none does.

    Text that is not JSON is CSV, or TSV where its first line has tabs and no comma.

    Examples
    --------
    >>> sniff(b'{"score": 0.5}')
    'jsonl'
    """
    if kind := binary_format(head):
        return kind
    text = head[:_SNIFFED_BYTES].removeprefix(UTF8_MARK).lstrip()
    if not text or b"\0" in text:
        return None
    if text.startswith((b"{", b"[")):
        return "jsonl"
    first_line = text.splitlines()[0]
    return "tsv" if b"\t" in first_line and b"," not in first_line else "csv"


# Columns that are taken without being named
SCORE_NAMES = (
    "score", "scores", "prob", "probs", "proba", "probability", "probabilities", "p",
    "y_score", "y_prob", "y_proba", "pred_prob", "pred_proba", "predicted_probability",
)  # fmt: skip
LOGIT_NAMES = ("logit", "logits", "log_odds")
LABEL_NAMES = ("label", "labels", "y", "y_true", "target")
DECISION_NAMES = ("decision", "prediction", "predicted", "pred", "y_pred")


PIECE = 1 << 20
MAX_EXPANSION = 200  # text packs to a fifth, to a hundredth if it repeats itself
ALWAYS_UNPACKED = 1 << 26  # bytes, however small the file was
_CODECS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ of Linux
_PATIENCE_SECONDS = 0.1


class Source:
    """Bytes that are read forward; what is packed by gzip or zstd is unpacked.

    `stopped` is asked while nothing comes: True gives up waiting, and the end that is
    then `interrupted` is not that of the stream. The `head` has up to `PIECE` bytes.
    """

    def __init__(self, path: str, stopped: Callable[[], bool] = lambda: False) -> None:
        self.name = "standard input" if path == STANDARD_STREAM else path
        self.path, self._stopped = path, stopped
        self._file = _open_file(path)
        self._descriptor = -1
        with contextlib.suppress(OSError, AttributeError, ValueError):
            self._descriptor = self._file.fileno()
        mode = os.fstat(self._descriptor).st_mode if self._descriptor >= 0 else 0
        self.regular = stat.S_ISREG(mode) and path != STANDARD_STREAM
        self._waits = bool(mode) and not stat.S_ISREG(mode) and os.name == "posix"
        self.interrupted = False
        self.offset = self._taken = 0  # of what was read, and of what it was packed
        self._unpacking: Any = None
        if self._waits:
            with contextlib.suppress(ImportError, OSError):  # fewer and larger pieces
                import fcntl

                fcntl.fcntl(self._descriptor, _SET_PIPE_SIZE, PIECE)
        self.head = self._pushed = self._peek(self._raw)
        if self.head.startswith(b"BZh"):
            self.close()
            raise DataError(f"{self.name} is compressed: bzip2 -dc FILE unpacks it")
        self.codec = next((_CODECS[m] for m in _CODECS if self.head.startswith(m)), "")
        if self.codec:
            import pyarrow as pa

            self._packed = self.head
            file = SimpleNamespace(read=self._take, closed=False)  # as pyarrow reads it
            packed = pa.PythonFile(file, "r")
            self._unpacking = pa.CompressedInputStream(packed, self.codec)
            self.head = self._pushed = self._peek(self._unpack)

    def _peek(self, read: Callable[[int], bytes]) -> bytes:
        """Return up to PIECE bytes of the beginning, fewer where a writer is slow."""
        parts = bytearray()
        while len(parts) < PIECE and (part := read(PIECE - len(parts))):
            parts += part
            if self._waits and b"\n" in part and not self._ready(0.0):
                break  # whoever writes slowly shall not be waited for
        return bytes(parts)

    @property
    def size(self) -> int | None:
        """Bytes in all as they are stored, None for a stream."""
        return os.fstat(self._descriptor).st_size if self.regular else None

    def close(self) -> None:
        if self.path != STANDARD_STREAM:
            self._file.close()

    def read(self, most: int, *, at_once: bool = True) -> bytes:
        """Return up to `most` bytes; with `at_once`, only those that are ready."""
        data, self._pushed = self._pushed[:most], self._pushed[most:]
        read = self._unpack if self._unpacking else self._raw
        parts = [data or read(most)]
        got = len(parts[0])
        patient = not (self._waits and at_once)
        while parts[-1] and got < most and (patient or self._ready(0.0)):
            parts.append(read(most - got))
            got += len(parts[-1])
        self.offset += got
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def all(self) -> bytes:
        """Return all that is left, of a file at its beginning without a copy."""
        if self.regular and not self.codec and not self.offset and self.size:
            self.offset, self._pushed = self.size, b""
            self._file.seek(0)
            return bytes(self._file.readall())
        return b"".join(iter(lambda: self.read(1 << 24), b""))

    def _raw(self, most: int) -> bytes:
        """Return up to `most` bytes as they are in the source; empty at its end."""
        if self._descriptor < 0:
            return bytes(self._file.read(most) or b"")
        while self._waits and not self._ready(_PATIENCE_SECONDS):
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

    def _take(self, most: int = PIECE) -> bytes:
        """Return up to `most` packed bytes, at first those of the head."""
        data, self._packed = self._packed[:most], self._packed[most:]
        data = data or self._raw(most)
        self._taken += len(data)
        return data

    def _unpack(self, most: int) -> bytes:
        """Return up to `most` unpacked bytes; refuse damaged and exploding files."""
        import pyarrow as pa

        try:
            data = self._unpacking.read(min(most, PIECE))
        except (OSError, pa.ArrowException) as error:
            if self.interrupted:
                return b""
            raise DataError(
                f"{self.name} is not a whole {self.codec} file, perhaps cut short: "
                f"{str(error).splitlines()[0]}"
            ) from None
        packed = self.size or self._taken
        if self.offset + len(data) > max(ALWAYS_UNPACKED, MAX_EXPANSION * packed):
            raise DataError(
                f"{self.name}: {packed:,} bytes of {self.codec} unpack to more than "
                f"{MAX_EXPANSION} times as many; if that is right, unpack them first "
                f"({self.codec} -dc)"
            )
        return bytes(data)

    def _ready(self, seconds: float) -> bool:
        return bool(select.select([self._descriptor], [], [], seconds)[0])


def _open_file(path: str) -> Any:
    """Open a file, or standard input for -; say clearly why one cannot be read."""
    if path == STANDARD_STREAM:
        if sys.stdin is None:
            raise DataError("standard input is closed")
        return sys.stdin.buffer
    try:
        file = open(path, "rb", buffering=0)  # noqa: SIM115 -- `Source.close`
    except FileNotFoundError:
        raise DataError(f"{path}: no such file{_similar_file(path)}") from None
    except IsADirectoryError:
        raise DataError(f"{path} is a folder; pass a file") from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None
    mode = os.fstat(file.fileno()).st_mode
    is_device = stat.S_ISCHR(mode) or stat.S_ISBLK(mode)
    if is_device and not file.isatty() and os.path.realpath(path) != os.devnull:
        file.close()
        raise DataError(f"cannot read {path}: it is a device, not a file")
    return file


def _similar_file(path: str) -> str:
    """Return a hint with a file of a similar name in the folder, or nothing."""
    try:
        siblings = os.listdir(os.path.dirname(path) or ".")
    except OSError:
        return ""
    # Without the ending, which makes any two files look alike
    stems = {os.path.splitext(name)[0]: name for name in sorted(siblings)}
    stem = os.path.splitext(os.path.basename(path))[0]
    similar = get_close_matches(stem, stems, n=1, cutoff=0.75)
    return f"; did you mean {stems[similar[0]]!r}?" if similar else ""
