"""``argmetric tag predict --raw``: plain text in, marked text or JSON lines out."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from argmetric._results.whole_files import DataError
from argmetric._text.corpus.labels import CodedLabels
from argmetric._text.corpus.sentences import PlainText, read_text, tokenized
from argmetric.cli._encoding import OTHER_ENCODING, check_encoding
from argmetric.cli._progress import reading

if TYPE_CHECKING:
    from argmetric.search import Tagger

RawFormat = Literal["text", "jsonl"]
_LINES = (".jsonl", ".ndjson", ".json")


def read_plain(path: str, encoding: str) -> PlainText:
    """Read plain text; one without a word is refused."""
    check_encoding(encoding)
    with reading(path):
        name, text = read_text(path, encoding, OTHER_ENCODING)
    plain = tokenized(text, name)
    if not plain.tokens:
        raise DataError(f"{name} has no words")
    return plain


def refuse_other_columns(tagger: Tagger, model: str) -> None:
    """Refuse a tagger that reads more than words."""
    if tagger.n_columns_ > 1:
        raise DataError(
            f"{model} reads {tagger.n_columns_} columns, and plain text has words "
            "alone: train one on a file with words and labels"
        )


def raw_format(output: str | None, format: RawFormat | None) -> RawFormat:
    """Return what was asked for, else what the name of the output says."""
    if format is not None:
        return format
    return "jsonl" if str(output).lower().endswith(_LINES) else "text"


class Marked:
    """Text with the labels that a tagger found.

    Parameters
    ----------
    plain : PlainText
        The text.
    labels : list of str or None
        The label of each token, where there are chunks.
    tags : list of str or None
        The part of speech of each token, where there is one.
    """

    def __init__(
        self, plain: PlainText, labels: list[str] | None, tags: list[str] | None
    ) -> None:
        self.plain, self.tags, self.has_entities = plain, tags, labels is not None
        self.start = self.stop = np.zeros(0, dtype=np.int64)
        self.types: list[str] = []
        if labels is not None:
            numbers: dict[str, int] = {}
            found = CodedLabels.read(labels, plain.sentences, numbers).chunks(
                lenient=True
            )
            self.start, self.stop = found.start, found.stop
            known = list(numbers)
            self.types = [known[kind] for kind in found.kind.tolist()]

    def as_text(self) -> str:
        """Return the text with each entity in brackets, or a tag behind each token."""
        text, spans = self.plain.text, self.plain.spans
        if self.has_entities:
            marks = [(f"[{kind} ", "]") for kind in self.types]
            places = np.column_stack([spans[self.start, 0], spans[self.stop - 1, 1]])
        else:
            marks, places = [("", f"/{tag}") for tag in self.tags or ()], spans
        cuts = [0, *places.ravel().tolist(), len(text)]
        parts = [text[a:b] for a, b in pairwise(cuts)]
        between = [mark for pair in marks for mark in pair] + [""]
        return "".join(part + mark for part, mark in zip(parts, between, strict=True))

    def as_lines(self) -> str:
        """Return a JSON object for each sentence."""
        plain = self.plain
        first = np.searchsorted(self.start, plain.sentences)
        bounds = zip(
            pairwise(plain.sentences.tolist()), pairwise(first.tolist()), strict=True
        )
        lines = [self._object(a, b, c, d) for (a, b), (c, d) in bounds]
        return "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in lines)

    def _object(self, first: int, end: int, chunk: int, last: int) -> dict[str, Any]:
        """Return a sentence; places are characters of its own text."""
        spans = self.plain.spans
        begin, stop = int(spans[first, 0]), int(spans[end - 1, 1])
        text = self.plain.text[begin:stop]
        found: dict[str, Any] = {"text": text, "start": begin}
        if self.tags is not None:
            places = (spans[first:end] - begin).tolist()
            found["tokens"] = [
                {"text": text[a:b], "start": a, "end": b, "tag": tag}
                for (a, b), tag in zip(places, self.tags[first:end], strict=True)
            ]
        if self.has_entities:
            from_ = (spans[self.start[chunk:last], 0] - begin).tolist()
            to = (spans[self.stop[chunk:last] - 1, 1] - begin).tolist()
            found["entities"] = [
                {"type": kind, "start": a, "end": b, "text": text[a:b]}
                for a, b, kind in zip(from_, to, self.types[chunk:last], strict=True)
            ]
        return found
