"""Sentences from files of columns (CoNLL) and from plain text.

Columns are separated by tabs or, in a line without one, by blanks. Any other white
space, such as a no-break space, is part of a word.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, repeat
from pathlib import PurePath
from typing import Any, Literal, get_args

import numpy as np

from argmetric._ground.saving import decode_text
from argmetric._ground.types import Integers
from argmetric._ground.validation import check_choice
from argmetric._ground.whole_files import DataError, read_whole

CorpusFormat = Literal["conll", "jsonl"]

_JSON_EXTENSIONS = (".jsonl", ".ndjson", ".json")
Column = Sequence[str]
STREAM = "-"
DOCUMENT = "-DOCSTART-"
BYTE_ORDER = "\ufeff"
ENDS = " \r"
_BLANKS = re.compile(" +")
_SHOWN = 40
CONVERT = "convert it first, for instance with iconv"
_TEXT_HINT = (
    "this looks like plain text: one token on a line is needed, its columns behind it, "
    "and an empty line behind each sentence"
)
_TOKEN = re.compile(
    r"""https?://[^\s<>"]*[^\s<>".,;:!?)\]]  # an address, without the mark behind it
    | [\w.+-]+@[\w-]+(?:\.[\w-]+)+
    | (?:[^\W\d_]\.){2,}                     # U.S.
    | \d+(?:[.,:/-]\d+)*                     # 1,250.50 and 12:30
    | \w+(?:[-'’&]\w+)*                      # well-known, don't
    | \.{2,}
    | \S""",
    re.VERBOSE,
)
# A line ends a sentence, and so does an end mark, unless the text goes on in lower
# case, or the mark is the point of a title, of the initial of a name, or of an
# abbreviation with blanks (z. B., i. d. R.)
_NO_END = "".join(
    rf"(?<!\b{one})"
    for one in ("[A-Z]", "Mr", "Mrs", "Ms", "Dr", "Prof", r"d\. h", r"e\. g", "ej")
)
_CLOSERS = r"[\"')\]}»”’]*"
_END = re.compile(
    rf"(?:{_NO_END}\.(?!(?<=\b[a-z]\.)\s(?:[^\W\d_]|Chr)\.)|[!?…؟۔।])[.!?…]*{_CLOSERS}(?=\s)(?!\s+[a-zà-öø-ÿ])"
    rf"|[。！？]+{_CLOSERS}|\n"
)


@dataclass(frozen=True)
class Sentence:
    """A sentence read from a file.

    Parameters
    ----------
    columns : tuple of lists of str
        The columns without that of the labels; words first.
    labels : list of str or None
        The labels, where there are some.
    line : int
        The line of the file where the sentence starts.
    document : int
        The number of its document (``-DOCSTART-`` lines, or the key "document").
    extra : dict
        The other keys of a JSON line, such as "features" or "probabilities".
    file : str
        The name of the file in messages; it is ignored in comparisons.

    Examples
    --------
    >>> from argmetric.sequence import Sentence
    >>> Sentence((["Ana", "vino"],), ["B-PER", "O"]).tokens
    ['Ana', 'vino']
    """

    columns: tuple[list[str], ...]
    labels: list[str] | None = None
    line: int = 1
    document: Any = 0
    extra: dict[str, Any] = field(default_factory=dict)
    file: str = field(default="", compare=False)

    @property
    def tokens(self) -> list[str]:
        """Return the words."""
        return self.columns[0]

    def __len__(self) -> int:
        return len(self.columns[0])


def corpus_format(
    path: str | os.PathLike[str], given: CorpusFormat | None = None
) -> CorpusFormat:
    """Return `given`, or the format by the file name: JSON lines or columns."""
    if given is not None:
        check_choice(given, "format", get_args(CorpusFormat))
        return given
    extension = PurePath(path).suffix.lower()
    return "jsonl" if extension in _JSON_EXTENSIONS else "conll"


@dataclass(frozen=True, eq=False)
class ColumnFile:
    """A file of tokens."""

    name: str  # what messages call it
    lines: list[str]  # all lines, without the line feeds
    places: Integers  # the line of each token, counted from 0
    sentences: Integers  # token numbers where sentences start, and the number of tokens
    documents: Integers  # the number of each sentence's document
    columns: tuple[Column, ...]  # the columns of all tokens; words first

    @property
    def n_tokens(self) -> int:
        return len(self.places)

    @property
    def n_sentences(self) -> int:
        return len(self.sentences) - 1

    @property
    def width(self) -> int:
        return len(self.columns)

    def place(self, token: int) -> str:
        return f"{self.name}, line {self.places[token] + 1}"

    def objects(
        self, columns: Sequence[Column], labels: Column | None = None
    ) -> list[Sentence]:
        """Return sentences with some columns."""
        flat = [list(column) for column in columns]
        known = None if labels is None else list(labels)
        bounds = pairwise(self.sentences.tolist())
        first = (self.places[self.sentences[:-1]] + 1).tolist()
        return [
            Sentence(
                tuple([column[a:b] for column in flat]),
                None if known is None else known[a:b],
                line,
                document,
                file=self.name,
            )
            for (a, b), line, document in zip(
                bounds, first, self.documents.tolist(), strict=True
            )
        ]

    def with_columns(self, added: Sequence[Column]) -> str:
        """Return the text of the file, with columns added to the lines of tokens."""
        lines = self.lines.copy()
        for place, *values in zip(self.places.tolist(), *added, strict=True):
            line = lines[place]
            body = line.rstrip("\r")
            separator = "\t" if "\t" in line else " "
            lines[place] = separator.join([body, *values]) + line[len(body) :]
        return "\n".join(lines)


def read_columns(
    path: str, *, encoding: str = "UTF-8", otherwise: str = CONVERT
) -> ColumnFile:
    """Read a file of tokens; errors name the line.

    ``"-"`` is standard input. `otherwise` says what to do about text that is written in
    another encoding, for the message.
    """
    name, text = read_text(path, encoding, otherwise)
    lines = text.split("\n")
    bodies = [line.strip(ENDS) for line in lines]
    bodies[0] = bodies[0].removeprefix(BYTE_ORDER).strip(ENDS)
    breaks = []
    if DOCUMENT in text:
        breaks = [i for i, body in enumerate(bodies) if body.startswith(DOCUMENT)]
    for i in breaks:
        bodies[i] = ""
    places = np.array([i for i, b in enumerate(bodies) if b.strip("\t ")], np.int64)
    if not places.size:
        raise DataError(f"{name} has no sentences")
    starts = np.flatnonzero(np.diff(places, prepend=-2) != 1)
    return ColumnFile(
        name,
        lines,
        places,
        np.append(starts, len(places)),
        # What stands before the first of them is of the first document too
        np.maximum(np.searchsorted(breaks, places[starts]) - 1, 0),
        columns_of([bodies[i] for i in places.tolist()], places, len(starts), name),
    )


def columns_of(
    tokens: list[str], places: Integers, n_sentences: int, name: str
) -> tuple[list[str], ...]:
    """Return the columns of the lines of tokens, by one split of all of them.

    A list for each line, turned into columns, would take twice the time.
    """
    separator = " "
    if any("\t" in line or "  " in line for line in tokens):
        separator, tokens = "\t", ["\t".join(cells_of(line)) for line in tokens]
    cells, width = split_rows(tokens, separator, places, name)
    if n_sentences == len(tokens):  # each line a sentence by itself: words, no columns?
        rows = [line.split(separator) for line in tokens]
        hint, n, where = _text_hint(rows), len(rows[0]), f"{name}, line {places[0] + 1}"
        if hint and n > 2:
            line = " ".join(rows[0])[:_SHOWN]
            raise DataError(f"{where}: {n} columns: {line!r}{hint}")
    return tuple([cells[i::width] for i in range(width)])


def split_rows(
    rows: list[str], separator: str, places: Integers, name: str
) -> tuple[list[str], int]:
    """Return the cells of rows of equal width, none empty, and that width."""
    counts = map(str.count, rows, repeat(separator))
    widths = np.fromiter(counts, np.int64, len(rows)) + 1
    width, text = int(widths[0]), separator.join(rows)
    is_filled = separator * 2 not in f"{separator}{text}{separator}"
    if not is_filled or (widths != width).any():
        _refuse_rows([row.split(separator) for row in rows], places, name)
    return text.split(separator), width


def cells_of(line: str) -> list[str]:
    return line.split("\t") if "\t" in line else _BLANKS.split(line)


def _refuse_rows(rows: Sequence[Sequence[str]], places: Integers, name: str) -> None:
    """Raise an error for the first line with another width or an empty cell."""
    width = len(rows[0])
    token = next(i for i, row in enumerate(rows) if len(row) != width or not all(row))
    row, where = rows[token], f"{name}, line {places[token] + 1}"
    line = " ".join(row)[:_SHOWN]
    if len(row) == width:
        raise DataError(f"{where}: an empty column: {line!r}")
    raise DataError(
        f"{where}: {len(row)} columns, but line {places[0] + 1} has {width}: {line!r}"
        f"{_text_hint([rows[0], row])}"
    )


def _text_hint(rows: Iterable[Sequence[str]]) -> str:
    """Return a hint if lines are words, not columns: most cells in lower case."""
    behind = [cell for cells in rows for cell in cells[1:]]
    words = sum(map(str.islower, behind))
    return f"; {_TEXT_HINT}" if 2 * words > len(behind) else ""


def read_text(
    path: str, encoding: str = "UTF-8", otherwise: str = CONVERT
) -> tuple[str, str]:
    """Return the name of a file for messages, and its text."""
    name = "standard input" if path == STREAM else path
    try:
        data = sys.stdin.buffer.read() if path == STREAM else read_whole(path)
    except OSError as error:
        raise DataError(f"cannot read {name}: {error.strerror}") from None
    return name, decode_text(data, encoding, name, otherwise)


@dataclass(frozen=True, eq=False)
class PlainText:
    """A text, its tokens and its sentences."""

    name: str  # what messages call it
    text: str  # all of it
    tokens: list[str]  # the tokens: ``text[spans[i, 0]:spans[i, 1]]`` is the i-th
    # (n, 2): the first character of each token, and that behind its last one
    spans: Integers
    sentences: Integers  # token numbers where sentences start, and the number of tokens

    @property
    def n_sentences(self) -> int:
        return len(self.sentences) - 1

    def objects(self) -> list[Sentence]:
        """Return sentences with words only."""
        bounds = pairwise(self.sentences.tolist())
        return [Sentence((self.tokens[a:b],)) for a, b in bounds]


def tokenize_text(text: str, name: str = "text") -> PlainText:
    """Find the tokens and the sentences of a text; messages use `name`.

    Examples
    --------
    >>> plain = tokenize_text("Dr. Silva left. She's in Porto now.")
    >>> [sentence.tokens for sentence in plain.objects()]
    [['Dr', '.', 'Silva', 'left', '.'], ["She's", 'in', 'Porto', 'now', '.']]
    """
    spans = np.array([one.span() for one in _TOKEN.finditer(text)], dtype=np.int64)
    spans = spans.reshape(-1, 2)
    ends = np.array([one.end() for one in _END.finditer(text)], dtype=np.int64)
    starts = np.searchsorted(spans[:, 0], ends)
    bounds = np.unique(np.concatenate([[0], starts, [len(spans)]]))
    return PlainText(name, text, _TOKEN.findall(text), spans, bounds)
