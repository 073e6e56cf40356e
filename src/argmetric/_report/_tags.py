"""What a report says of labels of tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from argmetric._report._summary import Example, MarkedWords, Row, Summary, Tags
from argmetric._text.corpus.labels import read_chunks
from argmetric._text.corpus.sentences import ColumnFile

TYPES = 100
CONFUSIONS = 15
EXAMPLES = 10
LONGEST = 60  # tokens of a sentence that are shown
LONGEST_WORD = 40
LONGEST_LABEL = 80


def summarize_tags(
    text: ColumnFile,
    truth: Sequence[str],
    predicted: Sequence[str],
    *,
    metric: str,
    facts: Sequence[Row],
    types: Sequence[Row],
    chunks: bool,
    notes: Sequence[str] = (),
) -> Summary:
    """Say how labels of tokens were predicted.

    Parameters
    ----------
    text : ColumnFile
        The tokens.
    truth, predicted : sequence of str
        A label for each token.
    metric : str
        What the labels are judged by.
    facts, types : sequence of tuple of str
        What has to be seen first, and a row of scores for each type.
    chunks : bool
        Whether labels are B-X, I-X and O, or stand for themselves.
    notes : sequence of str
        What the reader should know.
    """
    pairs = Counter(zip(truth, predicted, strict=True))
    wrong = [(n, *pair) for pair, n in pairs.items() if pair[0] != pair[1]]
    wrong.sort(key=lambda one: (-one[0], one[1:]))
    tags = Tags(
        sentences=text.n_sentences,
        types=tuple((_short(name), *cells) for name, *cells in types[:TYPES]),
        confusions=tuple(
            (_short(is_), _short(called), f"{n:,}")
            for n, is_, called in wrong[:CONFUSIONS]
        ),
        examples=tuple(_examples(text, truth, predicted, chunks=chunks)),
    )
    more = [f"{len(types) - TYPES:,} more types are not shown"][: len(types) > TYPES]
    return Summary(
        kind="tags",
        metric=metric,
        convention="",
        n=text.n_tokens,
        names={"file": text.name},
        facts=tuple(facts),
        notes=(*notes, *more),
        tags=tags,
    )


def _short(label: str, most: int = LONGEST_LABEL) -> str:
    return label if len(label) <= most else f"{label[: most - 1]}…"


def _examples(
    text: ColumnFile, truth: Sequence[str], predicted: Sequence[str], *, chunks: bool
) -> list[Example]:
    """Sentences with mistakes, spread over the file."""
    wrong = np.fromiter(map(str.__ne__, truth, predicted), np.bool_, text.n_tokens)
    starts = text.sentences
    found = np.flatnonzero(np.logical_or.reduceat(wrong, starts[:-1]))
    picks = np.linspace(0, found.size - 1, min(EXAMPLES, found.size)).astype(np.int64)
    examples = []
    for sentence in found[picks].tolist():
        own = slice(*starts[sentence : sentence + 2].tolist())
        words = [_short(word, LONGEST_WORD) for word in text.columns[0][own]]
        spans = [_spans(labels[own], chunks=chunks) for labels in (truth, predicted)]
        lines = (
            _line(words, spans[i], set(spans[1 - i]), ("missed", "wrong")[i])
            for i in (0, 1)
        )
        examples.append(Example(*lines))
    return examples


def _spans(labels: Sequence[str], *, chunks: bool) -> list[tuple[int, int, str]]:
    if chunks:
        found = read_chunks(list(labels))
        return [(chunk.start, chunk.stop, chunk.type) for chunk in found]
    return [(i, i + 1, label) for i, label in enumerate(labels)]


def _line(
    words: list[str],
    spans: list[tuple[int, int, str]],
    others: set[tuple[int, int, str]],
    mistake: str,
) -> tuple[MarkedWords, ...]:
    """A sentence in pieces; right ones of a tag for each word need no mark."""
    each = len(spans) == len(words)
    pieces, at, end = [], 0, min(len(words), LONGEST)
    for start, stop, type_ in spans:
        right = (start, stop, type_) in others
        if start >= end or (right and each):
            continue
        if at < start:
            pieces.append(MarkedWords(" ".join(words[at:start])))
        mark = "right" if right else mistake
        pieces.append(MarkedWords(" ".join(words[start:stop]), mark, _short(type_)))
        at = stop
    if at < end:
        pieces.append(MarkedWords(" ".join(words[at:end])))
    if len(words) > end:
        pieces.append(MarkedWords("…"))
    return tuple(pieces)
