"""Sentences with their labels into files: CoNLL columns and JSON lines."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from argmetric._input.arguments import check_items, check_path, check_texts, shown
from argmetric._results.saving import DataError, written_whole
from argmetric._text.corpus._chunks import Span
from argmetric._text.corpus._columns import DOCUMENT, STREAM
from argmetric._text.corpus._sentence import CorpusFormat, Sentence, corpus_format


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
    kind = corpus_format(path, format)
    sentences = _sentences(sentences)
    predicted = _predicted(predicted, sentences)
    chosen = [None] * len(sentences) if spans is None else _spans(spans, sentences)
    parts = (
        _json_text(s, p, c) if kind == "jsonl" else _column_text(s, p)
        for s, p, c in zip(sentences, predicted, chosen, strict=True)
    )
    text = _with_documents(parts, sentences) if kind == "conll" else "".join(parts)
    write_text(path, text)


def write_text(path: str, text: str, encoding: str = "utf-8") -> None:
    """Write a file, replaced whole or not at all; ``"-"`` is standard output."""
    try:
        data = text.encode(encoding)
    except UnicodeEncodeError as error:
        raise DataError(
            f"cannot write {path}: a word or label has {text[error.start]!r}, which "
            f"{encoding} cannot write"
        ) from None
    if path == STREAM:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    with written_whole(path) as file:
        file.write(data)


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
    blank = any(" " in cell for column in sentence.columns for cell in column)
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
            pieces.append(f"{DOCUMENT}\n\n")
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
