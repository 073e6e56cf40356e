"""Files with a line for each token, kept as they are but for the columns added."""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
from cyclopts import Parameter

from argmetric._saving import DataError, refuse_other_encodings, written_whole
from argmetric.cli._errors import UsageError
from argmetric.cli._progress import reading
from argmetric.sequence._conll import Sentence, refuse_text, text_hint

Encoding = Annotated[str, Parameter(metavar="NAME", help="How the text is written.")]
Column = Sequence[str]

_STREAM = "-"
_DOCUMENT = "-DOCSTART-"
_BYTE_ORDER = "\ufeff"
_SHOWN = 40
# Words may hold other white space, such as the no-break space
_BLANKS = re.compile(" +")


@dataclass(frozen=True, eq=False)
class TagFile:
    """A file of tokens.

    Attributes
    ----------
    name : str
        What messages call it.
    encoding : str
        How its text is written.
    lines : list of str
        All lines, with their ends.
    places : ndarray of int64
        The line of each token, counted from 0.
    sentences : ndarray of int64
        Token numbers where sentences start, and the number of tokens.
    columns : tuple of sequences of str
        The columns of all tokens; words first.
    """

    name: str
    encoding: str
    lines: list[str]
    places: npt.NDArray[np.int64]
    sentences: npt.NDArray[np.int64]
    columns: tuple[Column, ...]

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return len(self.places)

    @property
    def n_sentences(self) -> int:
        """Number of sentences."""
        return len(self.sentences) - 1

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def where(self, token: int) -> str:
        """File and line of a token."""
        return f"{self.name}, line {self.places[token] + 1}"

    def objects(
        self, columns: Sequence[Column], labels: Column | None = None
    ) -> list[Sentence]:
        """Sentences with some columns, as taggers read them."""
        bounds = list(pairwise(self.sentences.tolist()))
        flat = [list(column) for column in columns]
        known = None if labels is None else list(labels)
        return [
            Sentence(
                tuple(column[a:b] for column in flat),
                None if known is None else known[a:b],
                int(self.places[a]) + 1,
            )
            for a, b in bounds
        ]

    def with_columns(self, added: Sequence[Column]) -> str:
        """The text of the file, with columns added to the lines of tokens."""
        lines = self.lines.copy()
        for place, *values in zip(self.places.tolist(), *added, strict=True):
            line = lines[place]
            body = line.rstrip("\r\n")
            separator = "\t" if "\t" in line else " "
            lines[place] = separator.join([body, *values]) + line[len(body) :]
        return "".join(lines)


def read_tags(path: str, encoding: str) -> TagFile:
    """Read a file of tokens; what is wrong with it is told with the line."""
    with reading(path):
        return _read_tags(path, encoding)


def _read_tags(path: str, encoding: str) -> TagFile:
    name = "standard input" if path == _STREAM else path
    text = _text(path, name, encoding)
    lines = text.split("\n")
    lines = [f"{line}\n" for line in lines[:-1]] + [line for line in lines[-1:] if line]
    places: list[int] = []
    starts = [0]
    rows: list[list[str]] = []
    for place, cells in _tokens(lines, name):
        if places and place != places[-1] + 1:
            starts.append(len(places))
        places.append(place)
        rows.append(cells)
    if not rows:
        raise DataError(f"{name} has no sentences")
    if len(starts) == len(rows):
        refuse_text(rows, f"{name}, line {places[0] + 1}")
    return TagFile(
        name,
        encoding,
        lines,
        np.array(places, dtype=np.int64),
        np.array([*starts, len(places)], dtype=np.int64),
        tuple(zip(*rows, strict=True)),
    )


def _tokens(lines: Sequence[str], name: str) -> Iterator[tuple[int, list[str]]]:
    """Places and columns of the tokens."""
    width, width_line = 0, 0
    first: list[str] = []
    for place, line in enumerate(lines):
        body = (line if place else line.removeprefix(_BYTE_ORDER)).strip(" \r\n")
        if not body.strip("\t ") or body.startswith(_DOCUMENT):
            continue
        cells = body.split("\t") if "\t" in body else _BLANKS.split(body)
        if not width:
            width, width_line, first = len(cells), place + 1, cells
        where = f"{name}, line {place + 1}"
        if len(cells) != width:
            raise DataError(
                f"{where}: {len(cells)} columns, but line {width_line} has {width}: "
                f"{body[:_SHOWN]!r}{text_hint([first, cells])}"
            )
        if not all(cells):
            raise DataError(f"{where}: an empty column: {body[:_SHOWN]!r}")
        yield place, cells


def _text(path: str, name: str, encoding: str) -> str:
    try:
        "a".encode(encoding)
    except LookupError:
        raise UsageError(f"--encoding {encoding}: there is no such encoding") from None
    try:
        data = sys.stdin.buffer.read() if path == _STREAM else Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {name}: {error.strerror}") from None
    if codecs.lookup(encoding).name == "utf-8":
        refuse_other_encodings(data, name)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{name}, line {number}: not {encoding} text; pass --encoding, for "
            "instance latin-1"
        ) from None


def write_text(path: str, text: str, encoding: str) -> None:
    """Write a file, replaced whole or not at all; ``"-"`` is standard output."""
    try:
        data = text.encode(encoding)
    except UnicodeEncodeError as error:
        sign = text[error.start]
        raise DataError(
            f"cannot write {path}: a label has {sign!r}, which {encoding} cannot write"
        ) from None
    if path == _STREAM:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    with written_whole(path) as stream:
        stream.write(data)
