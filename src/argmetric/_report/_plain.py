"""A report as Markdown, and as plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from argmetric._report._sections import ReportTable, marked
from argmetric._report._summary import Row, Summary
from argmetric._report._words import Document, document

# What Markdown, and HTML within it, would take for a sign of its own
_SIGNS = re.compile(r"([\\`*_\[\]<>#|~&$])")
_NO_MENTION = "@\u2060"  # a name after it would be called upon in chat


def as_markdown(said: Summary) -> str:
    """For pull requests and chat."""
    return "\n".join(_markdown(document(said))) + "\n"


def _markdown(doc: Document) -> Iterator[str]:
    yield f"# {_quoted(doc.title)}\n"
    yield f"{_quoted(doc.subtitle)}\n"
    for card in doc.cards:
        below = f" ({_quoted(card.below)})" if card.below else ""
        yield f"- {_quoted(card.name)}: **{_quoted(card.value)}**{below}"
    yield ""
    if doc.assumptions:
        yield f"Assumes: {_quoted('; '.join(doc.assumptions))}.\n"
    for note in doc.notes:
        yield f"Note: {_quoted(note)}\n"
    if doc.change:
        yield f"## What would change it\n\n{_quoted(doc.change)}\n"
    if doc.changes is not None:
        yield from _markdown_table(doc.changes)
    for section in doc.sections:
        yield f"## {_quoted(section.title)}\n"
        for text in section.text:
            yield f"{_quoted(text)}\n"
        for table in section.tables:
            yield from _markdown_table(table)
        for example in section.examples:
            for name, line in (
                ("actual", example.truth),
                ("predicted", example.predicted),
            ):
                yield f"- {name}: {_quoted(' '.join(map(marked, line)))}"
            yield ""


def _markdown_table(table: ReportTable) -> Iterator[str]:
    if any(table.header):
        yield f"{_quoted(table.caption)}:\n"
    cells = [tuple(map(_quoted, row)) for row in (table.header, *table.rows)]
    yield f"| {' | '.join(cells[0])} |"
    right = " | ".join(["---", *["---:"] * (len(table.header) - 1)])
    yield f"| {right} |"
    for row in cells[1:]:
        yield f"| {' | '.join(row)} |"
    yield ""


def _quoted(text: str) -> str:
    text = " ".join(text.split()).replace("@", _NO_MENTION)
    return _SIGNS.sub(r"\\\1", text)


def as_text(said: Summary) -> str:
    """For a terminal."""
    return "\n".join(_text(document(said))) + "\n"


def _text(doc: Document) -> Iterator[str]:
    yield from (_clean(doc.title), _clean(doc.subtitle), "")
    yield from _aligned([(card.name, card.value, card.below) for card in doc.cards])
    yield from (f"  assumes: {_clean(one)}" for one in doc.assumptions)
    yield from (f"  note: {_clean(one)}" for one in doc.notes)
    if doc.change:
        yield from ("", "What would change it", f"  {_clean(doc.change)}")
    if doc.changes is not None:
        yield from _aligned([doc.changes.header, *doc.changes.rows])
    for section in doc.sections:
        yield from ("", _clean(section.title))
        yield from (f"  {_clean(text)}" for text in section.text)
        for table in section.tables:
            rows = [table.header, *table.rows] if any(table.header) else table.rows
            yield ""
            yield from _aligned(list(rows))
        for example in section.examples:
            yield ""
            for name, line in (
                ("actual", example.truth),
                ("predicted", example.predicted),
            ):
                yield f"  {name:<9}  {_clean(' '.join(map(marked, line)))}"


def _aligned(rows: list[Row]) -> Iterator[str]:
    rows = [tuple(map(_clean, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield f"  {'  '.join(cells)}".rstrip()


def _clean(text: str) -> str:
    """On one line, without signs that a terminal would obey."""
    return "".join(c if c.isprintable() else " " for c in text)
