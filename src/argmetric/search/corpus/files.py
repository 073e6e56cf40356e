"""Read and write sentences: CoNLL columns and JSON lines."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, get_args

from argmetric._ground.arguments import check_items, check_path, check_texts, shown
from argmetric._ground.saving import parse_json
from argmetric._ground.validation import check_choice
from argmetric._ground.whole_files import DataError, written_whole
from argmetric.search.corpus.labels import (
    SCHEMES,
    SchemeName,
    Span,
    as_iob2,
    is_label,
    split_label,
)
from argmetric.search.corpus.sentences import (
    BYTE_ORDER,
    DOCUMENT,
    STREAM,
    ColumnFile,
    CorpusFormat,
    Sentence,
    corpus_format,
    read_columns,
    read_text,
)

HasLabels = Literal["auto", "yes", "no"]


def read_sentences(
    path: str | os.PathLike[str],
    *,
    format: CorpusFormat | None = None,
    labels: HasLabels = "auto",
    scheme: SchemeName = "IOB2",
) -> list[Sentence]:
    r"""Read CoNLL columns or JSON lines.

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
        The sentences, in the order of the file.

    Raises
    ------
    DataError
        With the number of the line that is wrong.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from argmetric.sequence import read_sentences
    >>> path = Path(tempfile.mkdtemp(), "names.conll")
    >>> size = path.write_text("Ana B-PER\nvino O\n")
    >>> read_sentences(path)[0].labels
    ['B-PER', 'O']
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
    """Return sentences of columns, with labels from the last if it has some."""
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
            raise DataError(f"{text.place(last.index(label))}: {error}") from None
    return text.objects(text.columns[:-1], [known[label] for label in last])


def _read_label(label: str, scheme: SchemeName) -> str:
    """Return a label of the scheme, converted from BIOES to IOB2 if needed."""
    if scheme == "IOB2" and is_label(label, "BIOES"):
        return as_iob2(label)
    split_label(label, scheme)  # refuses what is none
    return label


def _from_json(
    lines: Iterable[str], name: str, scheme: SchemeName
) -> Iterator[Sentence]:
    """Yield the sentences of JSON lines."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{name}, line {number}"
        try:
            row = parse_json(line, rows=True)
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


def _texts(value: object, key: str, where: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise DataError(f"{where}: {key!r} must be a list of text")
    return value


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

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from argmetric.sequence import Sentence, write_sentences
    >>> path = Path(tempfile.mkdtemp(), "names.conll")
    >>> write_sentences(path, [Sentence((["Ana", "vino"],))], [["B-PER", "O"]])
    >>> path.read_text().split()
    ['Ana', 'B-PER', 'vino', 'O']
    """
    path = check_path(path)
    kind = corpus_format(path, format)
    sentences = check_items(sentences, "sentences", "a list of Sentence")
    for i, sentence in enumerate(sentences):
        if not isinstance(sentence, Sentence):
            raise TypeError(
                f"sentences must be a list of Sentence, not {shown(sentence)} at "
                f"position {i}"
            )
    predicted = _for_each(predicted, "predicted", "a list of labels", len(sentences))
    predicted = [check_texts(one, f"predicted[{i}]") for i, one in enumerate(predicted)]
    for i, (labels, sentence) in enumerate(zip(predicted, sentences, strict=True)):
        if len(labels) != len(sentence):
            raise ValueError(
                f"predicted[{i}] has {len(labels)} labels for {len(sentence)} tokens"
            )
    chosen = _check_spans(spans, len(sentences))
    rows = zip(sentences, predicted, chosen, strict=True)
    if kind == "jsonl":
        write_text(path, "".join(_json_text(*row) for row in rows))
        return
    # A line before each document, if there are several
    parted = len({str(sentence.document) for sentence in sentences}) > 1
    pieces: list[str] = []
    last: Any = object()
    for sentence, labels, _ in rows:
        if parted and sentence.document != last:
            pieces.append(f"{DOCUMENT}\n\n")
        last = sentence.document
        columns = [*sentence.columns, labels]
        if sentence.labels is not None:
            columns.insert(-1, sentence.labels)
        # Blanks within a word, which tabs may have separated, need tabs again
        blank = any(" " in cell for column in sentence.columns for cell in column)
        lines = map(("\t" if blank else " ").join, zip(*columns, strict=True))
        pieces += [*(f"{line}\n" for line in lines), "\n"]
    write_text(path, "".join(pieces))


def _check_spans(spans: Sequence[Sequence[Any]] | None, count: int) -> list[Any]:
    """Return the checked spans of each sentence, or `count` times None."""
    if spans is None:
        return [None] * count
    wanted = "a list of Span"
    chosen = _for_each(spans, "spans", wanted, count)
    chosen = [check_items(x, f"spans[{i}]", wanted) for i, x in enumerate(chosen)]
    for i, span in ((i, span) for i, one in enumerate(chosen) for span in one):
        if not isinstance(span, Span):
            raise TypeError(f"spans[{i}] must be {wanted}, not {shown(span)} in it")
    return chosen


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


def _for_each(given: object, name: str, what: str, n: int) -> list[Any]:
    """Return a list with an item for each of n sentences."""
    items = check_items(given, name, f"{what} for each sentence")
    if len(items) != n:
        raise ValueError(f"{name} has {len(items)} sentences but there are {n}")
    return items


def _json_text(sentence: Sentence, predicted: Sequence[str], spans: Any) -> str:
    """Return a sentence with its predicted labels as a line of JSON."""
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
