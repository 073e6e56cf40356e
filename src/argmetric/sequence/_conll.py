"""Sentences in files: CoNLL columns and JSON lines."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, Literal, get_args

from argmetric._arguments import check_items, check_path, check_texts, shown
from argmetric._saving import DataError, parsed, refuse_other_encodings, written_whole
from argmetric._validation import check_choice
from argmetric.sequence._schemes import SCHEMES, SchemeName, split_label
from argmetric.sequence._span_decision import Span

CorpusFormat = Literal["conll", "jsonl"]
HasLabels = Literal["auto", "yes", "no"]

_STREAM = "-"
_DOCUMENT = "-DOCSTART-"
_JSON_EXTENSIONS = (".jsonl", ".ndjson", ".json")
_TEXT_HINT = (
    "this looks like plain text: one token on a line is needed, its columns behind it, "
    "and an empty line behind each sentence"
)


@dataclass(frozen=True)
class Sentence:
    """A sentence as a file has it.

    Attributes
    ----------
    columns : tuple of lists of str
        The columns without that of the labels; words first.
    labels : list of str or None
        The labels, where there are some.
    line : int
        The line of the file that it starts at.
    document : int
        The number of its document (``-DOCSTART-`` lines, or the key "document").
    extra : dict
        The other keys of a JSON line, such as "features" or "probabilities".
    """

    columns: tuple[list[str], ...]
    labels: list[str] | None = None
    line: int = 1
    document: Any = 0
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def tokens(self) -> list[str]:
        """The words."""
        return self.columns[0]

    def __len__(self) -> int:
        return len(self.columns[0])


def corpus_format(path: str | os.PathLike[str]) -> CorpusFormat:
    """The format that the name of a file stands for: JSON lines, or else columns."""
    extension = PurePath(path).suffix.lower()
    return "jsonl" if extension in _JSON_EXTENSIONS else "conll"


def read_sentences(
    path: str | os.PathLike[str],
    *,
    format: CorpusFormat | None = None,
    labels: HasLabels = "auto",
    scheme: SchemeName = "IOB2",
) -> list[Sentence]:
    """Read CoNLL columns or JSON lines.

    Columns are separated by tabs or blanks, sentences by empty lines, documents by
    lines that start with ``-DOCSTART-``. A JSON line has "tokens", and may have
    "labels", "columns" (lists beside the tokens), "document", "features" and
    "probabilities".

    Parameters
    ----------
    path : str or path-like
        The file, UTF-8; ``"-"`` is standard input.
    format : {"conll", "jsonl"}, optional
        By default what the extension says: .jsonl, .ndjson and .json are JSON lines.
    labels : {"auto", "yes", "no"}, default="auto"
        Whether the last column holds labels; "auto" looks at its first value.
    scheme : {"IOB2", "BIOES"}, default="IOB2"
        Which labels there may be.

    Returns
    -------
    list of Sentence

    Raises
    ------
    DataError
        With the number of the line that is wrong.
    """
    path = check_path(path)
    kind = _format_of(path, format)
    check_choice(labels, "labels", get_args(HasLabels))
    check_choice(scheme, "scheme", SCHEMES)
    name = "standard input" if path == _STREAM else path
    lines = _lines(path, name)
    read = _from_json(lines, name) if kind == "jsonl" else _from_columns(lines, name)
    sentences = list(read)
    if not sentences:
        raise DataError(f"{name} has no sentences")
    if kind == "conll":
        if all(len(sentence) == 1 for sentence in sentences):
            lone = [[column[0] for column in s.columns] for s in sentences]
            refuse_text(lone, f"{name}, line {sentences[0].line}")
        sentences = _with_labels(sentences, labels, scheme)
    for sentence in sentences:
        _check_labels(sentence, name, scheme, kind)
    return sentences


def _format_of(path: str, given: CorpusFormat | None) -> CorpusFormat:
    if given is None:
        return corpus_format(path)
    check_choice(given, "format", get_args(CorpusFormat))
    return given


def _lines(path: str, name: str) -> list[str]:
    try:
        data = sys.stdin.buffer.read() if path == _STREAM else Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {name}: {error.strerror}") from None
    refuse_other_encodings(data, name)
    try:
        return data.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{name}, line {number}: not UTF-8 text; convert it first, for instance "
            "with iconv"
        ) from None


def _from_columns(lines: Iterable[str], name: str) -> Iterator[Sentence]:
    rows: list[list[str]] = []
    width, width_line, start, document = 0, 0, 1, -1
    for number, line in enumerate([*lines, ""], start=1):
        line = line.rstrip("\r")
        if line.startswith(_DOCUMENT) or not line.strip():
            if rows:
                columns = tuple(list(column) for column in zip(*rows, strict=True))
                yield Sentence(columns, line=start, document=max(document, 0))
                rows = []
            document += line.startswith(_DOCUMENT)
            continue
        cells = line.split("\t") if "\t" in line else line.split()
        if not width:
            width, width_line = len(cells), number
        if len(cells) != width:
            raise DataError(
                f"{name}, line {number}: {len(cells)} columns, but line {width_line} "
                f"has {width}: {line[:40]!r}{text_hint([*rows, cells])}"
            )
        if not all(cells):
            raise DataError(f"{name}, line {number}: an empty column: {line[:40]!r}")
        if not rows:
            start = number
        rows.append(cells)


def text_hint(rows: Iterable[Sequence[str]]) -> str:
    """A hint if lines are words and no columns of tags: most cells in lower case."""
    behind = [cell for cells in rows for cell in cells[1:]]
    words = sum(map(str.islower, behind))
    return f"; {_TEXT_HINT}" if 2 * words > len(behind) else ""


def refuse_text(rows: Sequence[Sequence[str]], where: str) -> None:
    """Refuse lines, each a sentence by itself, that are words and no columns."""
    hint = text_hint(rows)
    if hint and len(rows[0]) > 2:
        line = " ".join(rows[0])
        raise DataError(f"{where}: {len(rows[0])} columns: {line[:40]!r}{hint}")


def _with_labels(
    sentences: list[Sentence], labels: HasLabels, scheme: str
) -> list[Sentence]:
    """Take the last column for labels, if it holds them."""
    if labels == "auto":
        first = sentences[0].columns
        try:
            split_label(first[-1][0], scheme)
        except ValueError:
            return sentences
        if len(first) == 1:
            return sentences
    elif labels == "no":
        return sentences
    elif len(sentences[0].columns) == 1:
        raise DataError("there is one column only: it cannot be words and labels")
    return [
        Sentence(s.columns[:-1], s.columns[-1], s.line, s.document) for s in sentences
    ]


def _from_json(lines: Iterable[str], name: str) -> Iterator[Sentence]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{name}, line {number}"
        try:
            row = parsed(line)
        except ValueError as error:
            raise DataError(f"{where}: not JSON: {error}") from None
        if not isinstance(row, dict):
            raise DataError(f"{where}: not a JSON object: {line[:40]}")
        tokens = _texts(row.pop("tokens", None), "tokens", where)
        columns = row.pop("columns", [])
        if not isinstance(columns, list):
            raise DataError(f"{where}: 'columns' must be a list of lists of text")
        others = [_texts(column, "columns", where) for column in columns]
        labels = row.pop("labels", None)
        labels = None if labels is None else _texts(labels, "labels", where)
        known = {"columns": others, "labels": [labels] if labels is not None else []}
        known |= {k: [row[k]] for k in ("features", "probabilities") if k in row}
        for key, values in known.items():
            for value in values:
                if not isinstance(value, list) or len(value) != len(tokens):
                    size = len(value) if isinstance(value, list) else "no"
                    raise DataError(f"{where}: {size} {key} for {len(tokens)} tokens")
        document = row.pop("document", 0)
        yield Sentence((tokens, *others), labels, number, document, row)


def _texts(value: Any, key: str, where: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise DataError(f"{where}: {key!r} must be a list of text")
    return value


def _check_labels(
    sentence: Sentence, name: str, scheme: str, kind: CorpusFormat
) -> None:
    for i, label in enumerate(sentence.labels or []):
        try:
            split_label(label, scheme)
        except ValueError as error:
            line = sentence.line + (i if kind == "conll" else 0)
            raise DataError(f"{name}, line {line}: {error}") from None


def write_sentences(
    path: str | os.PathLike[str],
    sentences: Sequence[Sentence],
    predicted: Sequence[Sequence[str]],
    *,
    spans: Sequence[Sequence[Any]] | None = None,
    format: CorpusFormat | None = None,
) -> None:
    """Write sentences with predicted labels: a last column, or the key "predicted".

    Parameters
    ----------
    path : str or path-like
        The file, replaced whole or not at all; ``"-"`` is standard output.
    sentences : sequence of Sentence
        As they were read.
    predicted : sequence of sequences of str
        A label for each token.
    spans : sequence of sequences of Span, optional
        Written to JSON lines as the key "spans".
    format : {"conll", "jsonl"}, optional
        By default what the extension says.
    """
    path = check_path(path)
    kind = _format_of(path, format)
    sentences = _sentences(sentences)
    predicted = _predicted(predicted, sentences)
    chosen = [None] * len(sentences) if spans is None else _spans(spans, sentences)
    parts = (
        _json_text(s, p, c) if kind == "jsonl" else _column_text(s, p)
        for s, p, c in zip(sentences, predicted, chosen, strict=True)
    )
    text = _with_documents(parts, sentences) if kind == "conll" else "".join(parts)
    if path == _STREAM:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
        return
    with written_whole(path) as stream:
        stream.write(text.encode())


def _sentences(given: Any) -> list[Sentence]:
    wanted = "a list of Sentence"
    sentences = check_items(given, "sentences", wanted)
    for i, sentence in enumerate(sentences):
        if not isinstance(sentence, Sentence):
            raise TypeError(
                f"sentences must be {wanted}, not {shown(sentence)} at position {i}"
            )
    return sentences


def _predicted(given: Any, sentences: Sequence[Sentence]) -> list[list[str]]:
    """Labels of every sentence, one for each token."""
    labels = check_items(given, "predicted", "a list of labels for each sentence")
    _same_number(labels, "predicted", sentences)
    found = [check_texts(one, f"predicted[{i}]") for i, one in enumerate(labels)]
    for i, (one, sentence) in enumerate(zip(found, sentences, strict=True)):
        if len(one) != len(sentence):
            raise ValueError(
                f"predicted[{i}] has {len(one)} labels for {len(sentence)} tokens"
            )
    return found


def _spans(given: Any, sentences: Sequence[Sentence]) -> list[list[Span]]:
    spans = check_items(given, "spans", "a list of Span for each sentence")
    _same_number(spans, "spans", sentences)
    wanted = "a list of Span"
    found = [check_items(one, f"spans[{i}]", wanted) for i, one in enumerate(spans)]
    for i, one in enumerate(found):
        for span in one:
            if not isinstance(span, Span):
                raise TypeError(f"spans[{i}] must be {wanted}, not {shown(span)} in it")
    return found


def _same_number(
    given: Sequence[Any], name: str, sentences: Sequence[Sentence]
) -> None:
    if len(given) != len(sentences):
        raise ValueError(
            f"{name} has {len(given)} sentences but there are {len(sentences)}"
        )


def _column_text(sentence: Sentence, predicted: Sequence[str]) -> str:
    columns = [*sentence.columns, predicted]
    if sentence.labels is not None:
        columns.insert(-1, sentence.labels)
    # Blanks within a word, which tabs may have separated, need tabs again
    blank = any(len(cell.split()) > 1 for column in sentence.columns for cell in column)
    separator = "\t" if blank else " "
    rows = zip(*columns, strict=True)
    return "".join(separator.join(row) + "\n" for row in rows) + "\n"


def _with_documents(parts: Iterable[str], sentences: Sequence[Sentence]) -> str:
    """Sentences as text, with a line before each document if there are several."""
    documents = [sentence.document for sentence in sentences]
    if len(set(map(str, documents))) < 2:
        return "".join(parts)
    pieces: list[str] = []
    last: Any = object()
    for part, document in zip(parts, documents, strict=True):
        if document != last:
            pieces.append(f"{_DOCUMENT}\n\n")
        pieces.append(part)
        last = document
    return "".join(pieces)


def _json_text(sentence: Sentence, predicted: Sequence[str], spans: Any) -> str:
    row: dict[str, Any] = {"tokens": sentence.tokens}
    if len(sentence.columns) > 1:
        row["columns"] = list(sentence.columns[1:])
    if sentence.labels is not None:
        row["labels"] = sentence.labels
    row |= {"document": sentence.document, **sentence.extra}
    row["predicted"] = list(predicted)
    if spans is not None:
        row["spans"] = [span._asdict() for span in spans]
    return json.dumps(row, ensure_ascii=False) + "\n"
