"""Which kind of file is this: by name, or by its first bytes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import PurePath
from typing import Literal, get_args

Format = Literal["csv", "tsv", "parquet", "arrow", "arrow-stream", "jsonl"]
FORMATS: tuple[Format, ...] = get_args(Format)
BINARY_FORMATS: frozenset[Format] = frozenset({"parquet", "arrow", "arrow-stream"})

STANDARD_STREAM = "-"

_EXTENSIONS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".arrows": "arrow-stream",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}

_MAGIC: tuple[tuple[bytes, Format], ...] = (
    (b"PAR1", "parquet"),
    (b"ARROW1", "arrow"),
    (b"\xff\xff\xff\xff", "arrow-stream"),
)

UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_SNIFFED_BYTES = 65_536

Role = Literal[
    "decision_column",
    "drop",
    "features",
    "format",
    "hash_bits",
    "label",
    "logits",
    "neg_label",
    "output",
    "output_format",
    "pos_label",
    "reference_label",
    "reference_score",
    "score",
    "target",
    "zero_based",
]
ROLES: tuple[Role, ...] = get_args(Role)


class DataError(ValueError):
    """The data at hand cannot be used; the message says where and why.

    What the user may do about it is named by its role, as `marked` writes it; the
    command line shows the flag in its place.
    """


def marked(role: Role, value: str | None = None) -> str:
    """Return what the user may choose as a message names it, with a value for it.

    Parameters
    ----------
    role : str
        One of `ROLES`.
    value : str, optional
        What it may be, or a word that stands for it.

    Examples
    --------
    >>> marked("pos_label"), marked("hash_bits", "18")
    ('`pos_label`', '`hash_bits=18`')
    """
    return f"`{role}`" if value is None else f"`{role}={value}`"


@contextlib.contextmanager
def writing(path: object) -> Iterator[None]:
    """Let a failure of the system tell which file it is that cannot be written."""
    try:
        yield
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}") from error


def refuse_other_encodings(data: bytes, name: str) -> None:
    """Refuse UTF-16 and bytes that are no text, where text in UTF-8 is expected."""
    if data.startswith(_UTF16_MARKS):
        raise DataError(f"{name} is UTF-16 text; iconv -f UTF-16 -t UTF-8 converts it")
    if b"\0" in data[:4]:  # where two letters of UTF-16 would be
        raise DataError(
            f"{name} begins with zero bytes: it is UTF-16, or no text at all"
        )


def format_by_name(path: str, *, role: Role) -> Format:
    """Return the format that the extension of a path stands for.

    Parameters
    ----------
    path : str
        A path or a bare file name.
    role : str
        By which the user names a format instead, for the message.

    Returns
    -------
    str
        One of `FORMATS`.

    Examples
    --------
    >>> format_by_name("scores.tsv", role="format")
    'tsv'
    """
    extension = PurePath(path).suffix.lower()
    try:
        return _EXTENSIONS[extension]
    except KeyError:
        shown = f"unknown extension {extension!r}" if extension else "no extension"
        known = ", ".join(_EXTENSIONS)
        raise DataError(
            f"{path}: {shown}; use one of {known}, or pass {marked(role)}"
        ) from None


def binary_format(head: bytes) -> Format | None:
    """Return the binary format that the first bytes announce, None for text."""
    return next((kind for mark, kind in _MAGIC if head.startswith(mark)), None)


def sniff(head: bytes) -> Format | None:
    """Return the format that the first bytes of a stream show, None if none does.

    Parameters
    ----------
    head : bytes
        The beginning of the stream, all of it if it is short.

    Returns
    -------
    str or None
        One of `FORMATS`; text that is not JSON is CSV, or TSV where its first
        line has tabs and no comma.

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
