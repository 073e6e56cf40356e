"""A report of a stream: score, threshold and positives over time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from argmetric._ground.display import counted, metric_title
from argmetric._report import _figures as draw
from argmetric._report._figures import Figure, Layer, number, share, short
from argmetric._report._report import Card, PageTable, Report, Row, Section, make_cards
from argmetric.metrics import Metric
from argmetric.search.corpus.labels import read_chunks
from argmetric.search.corpus.sentences import ColumnFile
from argmetric.stream import StreamMoment, alarms_in, recent_counts

PICTURES: tuple[tuple[dict[str, str], ...], tuple[str, ...]] = (  # lines, captions
    (
        {"score": "so far", "recent": "recent"},
        {"threshold": ""},
        {"predicted": "predicted", "actual": "actual"},
    ),
    (
        "If the recent score falls below the score so far, the data may have changed: "
        "check the input, then train again.",
        "A threshold that settles has learned; one that drifts follows the data.",
        "If the two lines part, the threshold lags behind the prevalence.",
    ),
)


def report_stream(
    records: Sequence[StreamMoment],
    *,
    metric: Metric,
    rows: int,
    file: str,
    lines: Sequence[tuple[str, str]],
    notes: Sequence[str] = (),
) -> Report:
    """Return a page on a stream: score, threshold and prevalence over time.

    In `values` of the page "recent" is the score of the last fortieth of the rows, and
    "predicted" and "actual" are the parts of these rows that are predicted, and really,
    positive.

    Parameters
    ----------
    records : sequence of StreamMoment
        The counts at some moments, in order.
    rows : int
        Number of rows in all.
    lines : sequence of (name, text)
        The cards at the top.
    """
    counts = [(one.hits, one.predicted, one.actual, one.rows) for one in records]
    recent = recent_counts(np.array(counts, dtype=np.float64).reshape(-1, 4).T)
    over: dict[str, list[Any]] = {
        "rows": [one.rows for one in records],
        "score": [one.score for one in records],
        "recent": np.atleast_1d(metric.value(*recent)).tolist(),
        "threshold": [one.threshold for one in records],
        "predicted": (recent[1] / recent[3]).tolist(),
        "actual": (recent[2] / recent[3]).tolist(),
        "alarms": [alarm._asdict() for alarm in alarms_in(records)],
    }
    title = metric_title(metric.name)
    last, sections = len(records) - 1, tuple[Section, ...]()
    if records:
        shares = ("recent predicted positives", "recent actual positives")
        header = ("rows", f"{title} so far", f"recent {title}", "threshold", *shares)
        points: list[Row] = []
        for i in sorted({round(last * i / 9) for i in range(10)}):
            now = [number(over[name][i]) for name in ("score", "recent", "threshold")]
            now += [share(over[name][i]) for name in ("predicted", "actual")]
            points.append((f"{over['rows'][i]:,}", *now))
        names = (title, "threshold", "recent prevalence")
        figures = (_figure(over, *one) for one in zip(names, *PICTURES, strict=True))
        table = PageTable("Ten points in time", header, points)
        text = "Recent means the last fortieth of all rows."
        sections = (Section("over", "Over time", (text,), (table,), (*figures,)),)
    alarms = [
        f"Alarm at row {one['rows']:,}: {share(one['now'])} of the recent predictions "
        f"were wrong, {share(one['before'])} before; this is no accident."
        for one in reversed(over["alarms"])
    ]
    return Report(
        kind="stream",
        title=f"{title} of a stream, row by row",
        subtitle=f"{file}: {counted(rows, 'row')}; metric: {title}",
        cards=tuple(make_cards(lines)),
        sections=sections,
        notes=(*alarms, *notes),
        names={"file": file},
        values={"over": over},
    )


def _figure(
    over: dict[str, list[Any]], name: str, lines: dict[str, str], caption: str
) -> Figure:
    """Return values against the number of rows; the first line lies on top."""
    rows, alarms = over["rows"], [one["rows"] for one in over["alarms"]]
    finite = [x for key in lines for x in over[key] if math.isfinite(x)]
    layers: list[Layer] = [draw.upright(alarms, "cut", "alarm")] if alarms else []
    for i, (key, word) in reversed([*enumerate(lines.items())]):
        look = ("line", "line second")[i]
        layers.append(draw.line(rows, over[key], look, word))
    text = draw.count_text
    x = draw.axis("rows", 0.0, float(rows[-1]), text=text, whole=True, exact=True)
    y = draw.axis(name, min(0.0, 0.0, *finite), max(finite, default=0.0), 4)
    return Figure(caption, x, y, tuple(layers))


TYPES = 100
SHOWN = 30  # of them in a picture
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
    """Return a report of how labels of tokens were predicted.

    `types` has a row of scores for each type; with `chunks` labels are B-X, I-X and O,
    without they stand for themselves.
    """
    sections = []
    if types:
        rows = tuple((short(name), *cells) for name, *cells in types[:TYPES])
        caption = "A chunk is right if its borders and its type are"
        table = PageTable(caption, SHARES, rows)
        names, precision, recall, *_ = zip(*rows[:SHOWN], strict=True)
        both = {"recall": recall, "precision": precision}
        series = {word: [*map(float, x)] for word, x in both.items()}
        told = "Low recall: chunks are missed. Low precision: others are taken for it."
        figure = draw.by_name(told, "score", names, series)
        sections.append(Section("types", "Scores by type", (), (table,), (figure,)))
    more = [f"{len(types) - TYPES:,} more types are not shown"] * (len(types) > TYPES)
    pairs = Counter(zip(truth, predicted, strict=True))
    wrong = [(-n, *pair) for pair, n in pairs.items() if pair[0] != pair[1]]
    if wrong:
        most = sorted(wrong)[:CONFUSIONS]
        rows = tuple((short(is_), short(called), f"{-n:,}") for n, is_, called in most)
        table = PageTable("Labels of tokens", ("actual", "predicted", "tokens"), rows)
        names, n_tokens = (*(f"{a} → {b}" for a, b, _ in rows),), [-n for n, *_ in most]
        told = "Labels that are mistaken most often."
        figure = draw.by_name(told, "tokens", names, {"tokens": n_tokens})
        parts = "confusions", "Most frequent confusions", (), (table,), (figure,)
        sections.append(Section(*parts))
        told = "Sentences with errors: the actual labels, then the predicted ones."
        examples = tuple(_examples(text, truth, predicted, chunks=chunks))
        sections.append(Section("examples", "Examples", (told,), examples=examples))
    size = f"{counted(text.n_sentences, 'sentence')}, {counted(text.n_tokens, 'token')}"
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
    """Return sentences with mistakes, spread over the file."""
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
    """Return a sentence in parts; correct tags of a single word are not marked."""
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
