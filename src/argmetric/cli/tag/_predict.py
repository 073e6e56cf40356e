"""``argmetric tag predict``: files with a token on each line, or plain text."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter

from argmetric._results.whole_files import DataError
from argmetric._text.corpus.files import write_text
from argmetric._text.corpus.labels import CodedLabels
from argmetric._text.corpus.sentences import (
    ColumnFile,
    PlainText,
    Sentence,
    read_text,
    tokenized,
)
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._errors import UsageError
from argmetric.cli._learning import load_learned, text_target
from argmetric.cli._progress import progress, reading
from argmetric.cli._values import check_encoding
from argmetric.cli.tag._labels import read_tags

if TYPE_CHECKING:
    from argmetric.search import Tagger

RawFormat = Literal["text", "jsonl"]
_LINES = (".jsonl", ".ndjson", ".json")


def predict(
    model: opt.FilePath,
    file: opt.FilePath,
    /,
    *,
    encoding: Annotated[
        opt.Encoding, Parameter(help="The encoding of input and output.")
    ] = "utf-8",
    raw: Annotated[bool, opt.Flag] = False,
    output: opt.TextTarget = None,
    output_format: Annotated[RawFormat | None, Parameter(group=opt.OUTPUT)] = None,
    json: opt.JsonSummary = False,
) -> int:
    """Tag sentences with a tagger from `argmetric tag train`.

    The output has the input lines with the predicted tag as last column (tag and chunk
    label for a joint tagger). Empty lines and -DOCSTART- lines stay as they are. A
    summary goes to standard error.

    With --raw the file is plain text. The output marks entities, as in [PER Ana], or
    tags, as in Ana/NNP. As JSON lines it has an object for each sentence: its "text"
    and its "entities" with type, "start" and "end"; text[start:end] is the entity.

    Parameters
    ----------
    model
        The file of the tagger. It holds data only; no code is run.
    file
        The sentences, words first; - is standard input. Further columns, such as true
        labels, are ignored.
    raw
        The file is plain text, not a token on each line; sentences end with lines and
        with full stops. For a tagger that was trained on words and labels alone.
    output_format
        With --raw: "text", or "jsonl" for JSON lines. By default the ending of --output
        tells it; on standard output it is text.
    """
    target = text_target(output, json=json)
    if output_format is not None and not raw:
        raise UsageError("--output-format is about --raw: pass it too")
    from argmetric.search import Tagger

    tagger = load_learned(Tagger, "tagger", model)
    if tagger.task == "label":
        raise DataError(f"{model} is a tagger of another task, which Python runs")
    read = _of_plain_text if raw else _of_columns
    tagged = read(file, encoding, tagger, model)
    if target is not None:
        write_text(target, tagged.written(raw_format(output, output_format)), encoding)
    summary: _report.Values = {
        "file": tagged.name,
        "sentences": tagged.n_sentences,
        "tokens": tagged.n_tokens,
        "model": model,
        "task": tagger.task,
        "columns": tagged.columns,
        "entities": tagged.entities,
        "seconds": tagged.seconds,
        "output": target,
    }
    how: dict[str, Any] = {"json": json, "stderr": True, "unwritten": "lines"}
    return _report.tell("tag predict", summary, _facts, **how)


@dataclass(frozen=True)
class _Tagged:
    """Sentences that were tagged; `written` gives the text of the output."""

    name: str
    n_sentences: int
    n_tokens: int
    columns: list[int]
    entities: int | None
    seconds: float
    written: Callable[[RawFormat], str]


def _of_columns(file: str, encoding: str, tagger: Tagger, model: str) -> _Tagged:
    text = read_tags(file, encoding)
    _check_columns(text, tagger, model)
    added, seconds = _labels(tagger, text.objects(text.columns))
    return _Tagged(
        text.name,
        text.n_sentences,
        text.n_tokens,
        list(range(text.width + 1, text.width + len(added) + 1)),
        None,
        seconds,
        lambda _: text.with_columns(added),
    )


def _of_plain_text(file: str, encoding: str, tagger: Tagger, model: str) -> _Tagged:
    refuse_other_columns(tagger, model)
    text = read_plain(file, encoding)
    added, seconds = _labels(tagger, text.objects())
    tags = list(added[0]) if tagger.task in ("pos", "joint") else None
    labels = None if tagger.task == "pos" else list(added[-1])
    marked = Marked(text, labels, tags)
    return _Tagged(
        text.name,
        text.n_sentences,
        len(text.tokens),
        [],
        None if labels is None else len(marked.types),
        seconds,
        lambda form: marked.as_lines() if form == "jsonl" else marked.as_text(),
    )


def _labels(
    tagger: Tagger, sentences: list[Sentence]
) -> tuple[list[Sequence[str]], float]:
    """Return columns of labels, one or in the joint task two, and the seconds."""
    with progress(f"tagging {len(sentences):,} sentences"):
        started = time.perf_counter()
        found = tagger.predict(sentences)
        seconds = time.perf_counter() - started
    flat = list(chain.from_iterable(found))
    joint = tagger.task == "joint"
    return list(zip(*flat, strict=True)) if joint else [flat], seconds


def _check_columns(text: ColumnFile, tagger: Tagger, model: str) -> None:
    """Refuse a file that lacks a column which the tagger reads."""
    needed = tagger.n_columns_
    if text.width < needed:
        raise DataError(
            f"{text.name}: {model} reads {needed} columns, words first; there "
            f"{'is 1' if text.width == 1 else f'are {text.width}'}"
        )
    labels = set(tagger.labels_[-1] if tagger.task == "joint" else tagger.labels_)
    for number in range(1, needed):
        values = set(text.columns[number])
        if values <= labels and values != {"O"}:
            raise DataError(
                f"{text.name}: column {number + 1}, which {model} reads to decide, "
                "holds the labels that it should find: a column seems to be missing"
            )


def _facts(summary: _report.Values) -> _report.Facts:
    facts = [
        _report.sentences_asked(summary),
        ("model", f"{summary['model']}, task {summary['task']}"),
    ]
    if places := summary["columns"]:
        columns = "column" if len(places) == 1 else "columns"
        facts.append(("added", f"{columns} {' and '.join(map(str, places))}"))
    if summary["entities"] is not None:
        facts.append(("found", f"{summary['entities']:,} entities"))
    return [*facts, ("took", f"{summary['seconds']:.1f} s")]


def read_plain(path: str, encoding: str) -> PlainText:
    """Read plain text; one without a word is refused."""
    check_encoding(encoding)
    with reading(path):
        name, text = read_text(path, encoding, opt.OTHER_ENCODING)
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
