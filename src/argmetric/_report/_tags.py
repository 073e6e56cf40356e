"""A report of labels of tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from argmetric._ground.display import metric_title
from argmetric._report._figures import count, short
from argmetric._report._report import Card, PageTable, Report, Row, Section
from argmetric.search.corpus.labels import read_chunks
from argmetric.search.corpus.sentences import ColumnFile

TYPES = 100
CONFUSIONS = 15
EXAMPLES = 10
LONGEST = 60  # tokens of a sentence that are shown
LONGEST_WORD = 40
SHARES = ("type", "precision", "recall", "F1", "right", "there are", "predicted")
Span = tuple[int, int, str]


def report_tags(
    text: ColumnFile,
    truth: Sequence[str],
    predicted: Sequence[str],
    *,
    metric: str,
    cards: Sequence[tuple[str, str, str]],
    types: Sequence[Row],
    chunks: bool,
    notes: Sequence[str] = (),
) -> Report:
    """A report of how labels of tokens were predicted.

    `types` has a row of scores for each type; with `chunks` labels are B-X, I-X and O,
    without they stand for themselves.
    """
    sections = []
    if types:
        rows = tuple((short(name), *cells) for name, *cells in types[:TYPES])
        caption = "A chunk is right if its borders and its type are"
        table = PageTable(caption, SHARES, rows)
        sections.append(Section("types", "Scores by type", tables=(table,)))
    more = [f"{len(types) - TYPES:,} more types are not shown"] * (len(types) > TYPES)
    pairs = Counter(zip(truth, predicted, strict=True))
    wrong = [(-n, *pair) for pair, n in pairs.items() if pair[0] != pair[1]]
    if wrong:
        most = sorted(wrong)[:CONFUSIONS]
        rows = tuple((short(is_), short(called), f"{-n:,}") for n, is_, called in most)
        table = PageTable("Labels of tokens", ("actual", "predicted", "tokens"), rows)
        title = "Most frequent confusions"
        sections.append(Section("confusions", title, tables=(table,)))
        told = "Sentences with errors: the actual labels, then the predicted ones."
        examples = tuple(_examples(text, truth, predicted, chunks=chunks))
        sections.append(Section("examples", "Examples", (told,), examples=examples))
    size = f"{count(text.n_sentences, 'sentence')}, {count(text.n_tokens, 'token')}"
    return Report(
        kind="tags",
        title="Predicted labels against actual labels",
        subtitle=f"{text.name}: {size}; metric: {metric_title(metric)}",
        cards=tuple(Card(*one, accent=i == 0) for i, one in enumerate(cards)),
        sections=tuple(sections),
        notes=(*notes, *more),
        names={"file": text.name},
    )


def _examples(
    text: ColumnFile, truth: Sequence[str], predicted: Sequence[str], *, chunks: bool
) -> Iterator[dict[str, Any]]:
    """Sentences with mistakes, spread over the file."""
    wrong = np.fromiter(map(str.__ne__, truth, predicted), np.bool_, text.n_tokens)
    starts = text.sentences
    found = np.flatnonzero(np.logical_or.reduceat(wrong, starts[:-1]))
    picks = np.linspace(0, found.size - 1, min(EXAMPLES, found.size)).astype(np.int64)
    for sentence in found[picks].tolist():
        own = slice(*starts[sentence : sentence + 2].tolist())
        words = [short(word, LONGEST_WORD) for word in text.columns[0][own]]
        actual, called = (_spans(x[own], chunks=chunks) for x in (truth, predicted))
        yield {
            "actual": _line(words, actual, called, "missed"),
            "predicted": _line(words, called, actual, "wrong"),
        }


def _spans(labels: Sequence[str], *, chunks: bool) -> list[Span]:
    if not chunks:
        return [(i, i + 1, label) for i, label in enumerate(labels)]
    return [(one.start, one.stop, one.type) for one in read_chunks(list(labels))]


def _line(
    words: list[str], spans: list[Span], others: list[Span], mistake: str
) -> tuple[Row, ...]:
    """A sentence in pieces; right ones of a tag for each word need no mark."""
    each = len(spans) == len(words)
    pieces, at, end = [], 0, min(len(words), LONGEST)
    for start, stop, type_ in spans:
        right = (start, stop, type_) in others
        if start >= end or (right and each):
            continue
        if at < start:
            pieces.append((" ".join(words[at:start]), "", ""))
        mark = "right" if right else mistake
        pieces.append((" ".join(words[start:stop]), mark, short(type_)))
        at = stop
    if at < end:
        pieces.append((" ".join(words[at:end]), "", ""))
    if len(words) > end:
        pieces.append(("…", "", ""))
    return tuple(pieces)
