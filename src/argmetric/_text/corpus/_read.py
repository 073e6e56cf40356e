"""Sentences from files: CoNLL columns and JSON lines."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, Literal, get_args

from argmetric._input.arguments import check_path
from argmetric._input.validation import check_choice
from argmetric._results.saving import DataError, parsed
from argmetric._text.corpus._columns import (
    BYTE_ORDER,
    ColumnFile,
    read_columns,
    read_text,
)
from argmetric._text.corpus._schemes import (
    SCHEMES,
    SchemeName,
    as_iob2,
    is_label,
    split_label,
)
from argmetric._text.corpus._sentence import CorpusFormat, Sentence, corpus_format

HasLabels = Literal["auto", "yes", "no"]


def read_sentences(
    path: str | os.PathLike[str],
    *,
    format: CorpusFormat | None = None,
    labels: HasLabels = "auto",
    scheme: SchemeName = "IOB2",
) -> list[Sentence]:
    """Read CoNLL columns or JSON lines.

    Columns are separated by tabs or, in a line without one, by blanks; any other white
    space, such as a no-break space, is part of a word. Sentences are separated by empty
    lines, documents by lines that start with ``-DOCSTART-``. A JSON line has "tokens",
    and may have "labels", "columns" (lists beside the tokens), "document", "features"
    and "probabilities".

    Parameters
    ----------
    path : str or path-like
        The file, UTF-8; ``"-"`` is standard input.
    format : {"conll", "jsonl"}, optional
        By default what the extension says: .jsonl, .ndjson and .json are JSON lines.
    labels : {"auto", "yes", "no"}, default="auto"
        Whether the last column holds labels; "auto" looks at its first value.
    scheme : {"IOB2", "BIOES"}, default="IOB2"
        How the labels of the result write chunks. With "IOB2", labels of a file in
        BIOES are converted one by one: S-X becomes B-X, and E-X becomes I-X.

    Returns
    -------
    list of Sentence

    Raises
    ------
    DataError
        With the number of the line that is wrong.
    """
    path = check_path(path)
    kind = corpus_format(path, format)
    check_choice(labels, "labels", get_args(HasLabels))
    check_choice(scheme, "scheme", SCHEMES)
    if kind == "conll":
        return _from_columns(read_columns(path), labels, scheme)
    name, text = read_text(path)
    lines = text.removeprefix(BYTE_ORDER).split("\n")
    sentences = list(_from_json(lines, name, scheme))
    if not sentences:
        raise DataError(f"{name} has no sentences")
    return sentences


def _from_columns(
    text: ColumnFile, labels: HasLabels, scheme: SchemeName
) -> list[Sentence]:
    """Take the last column for labels, if it holds them."""
    last = text.columns[-1]
    if labels == "yes" and text.width == 1:
        raise DataError("there is one column only: it cannot be words and labels")
    guess = text.width > 1 and is_label(last[0], "BIOES")  # and so one of IOB2
    if labels == "no" or (labels == "auto" and not guess):
        return text.objects(text.columns)
    known: dict[str, str] = {}
    for label in dict.fromkeys(last):
        try:
            known[label] = _read_label(label, scheme)
        except ValueError as error:
            raise DataError(f"{text.where(last.index(label))}: {error}") from None
    return text.objects(text.columns[:-1], [known[label] for label in last])


def _read_label(label: str, scheme: SchemeName) -> str:
    """A label of the scheme, converted from BIOES where that is IOB2."""
    if scheme == "IOB2" and is_label(label, "BIOES"):
        return as_iob2(label)
    split_label(label, scheme)  # refuses what is none
    return label


def _from_json(
    lines: Iterable[str], name: str, scheme: SchemeName
) -> Iterator[Sentence]:
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
        try:
            labels = labels and [_read_label(label, scheme) for label in labels]
        except ValueError as error:
            raise DataError(f"{where}: {error}") from None
        document = row.pop("document", 0)
        yield Sentence((tokens, *others), labels, number, document, row, name)


def _texts(value: Any, key: str, where: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise DataError(f"{where}: {key!r} must be a list of text")
    return value
