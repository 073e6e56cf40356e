"""A report as Markdown, and as plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from argmetric._report._report import Report, Row, Table

SIGNS = {"right": "✓", "missed": "missed", "wrong": "✗"}
# What Markdown, and HTML within it, would take for a sign of its own
_SIGNS = re.compile(r"([\\`*_\[\]<>#|~&$])")
_NO_MENTION = "@\u2060"  # a name after it would be called upon in chat


def as_markdown(report: Report) -> Iterator[str]:
    """Lines for pull requests and chat."""
    yield f"# {_quoted(report.title)}\n"
    yield f"{_quoted(report.subtitle)}\n"
    for card in report.cards:
        below = f" ({_quoted(card.below)})" if card.below else ""
        yield f"- {_quoted(card.name)}: **{_quoted(card.value)}**{below}"
    yield ""
    if report.assumptions:
        yield f"Assumes: {_quoted('; '.join(report.assumptions))}.\n"
    yield from (f"Note: {_quoted(note)}\n" for note in report.notes)
    for section in report.sections:
        yield f"## {_quoted(section.title)}\n"
        yield from (f"{_quoted(text)}\n" for text in section.text)
        for table in section.tables:
            yield from _markdown_table(table)
        for example in section.examples:
            for name, words in example.items():
                yield f"- {name}: {_quoted(_sentence(words))}"
            yield ""


def _sentence(words: Any) -> str:
    """A sentence, with what is to be said of its pieces."""
    return " ".join(
        f"[{text}: {type_} {SIGNS[mark]}]" if mark else text
        for text, mark, type_ in words
    )


def _markdown_table(table: Table) -> Iterator[str]:
    if any(table.header):
        yield f"{_quoted(table.caption)}:\n"
    cells = [tuple(map(_quoted, row)) for row in (table.header, *table.rows)]
    right = ("---", *["---:"] * (len(table.header) - 1))
    yield from (f"| {' | '.join(row)} |" for row in (cells[0], right, *cells[1:]))
    yield ""


def _quoted(text: str) -> str:
    text = " ".join(text.split()).replace("@", _NO_MENTION)
    return _SIGNS.sub(r"\\\1", text)


def as_text(report: Report) -> Iterator[str]:
    """Lines for a terminal."""
    yield from (_clean(report.title), _clean(report.subtitle), "")
    yield from _aligned([(card.name, card.value, card.below) for card in report.cards])
    yield from (f"  assumes: {_clean(one)}" for one in report.assumptions)
    yield from (f"  note: {_clean(one)}" for one in report.notes)
    for section in report.sections:
        yield from ("", _clean(section.title))
        yield from (f"  {_clean(text)}" for text in section.text)
        for table in section.tables:
            rows = [table.header, *table.rows] if any(table.header) else table.rows
            yield from [""] * (section.key != "change")
            yield from _aligned(list(rows))
        for example in section.examples:
            yield ""
            for name, words in example.items():
                yield f"  {name:<9}  {_clean(_sentence(words))}"


def _aligned(rows: list[Row]) -> Iterator[str]:
    rows = [tuple(map(_clean, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield f"  {'  '.join(cells)}".rstrip()


def _clean(text: str) -> str:
    """On one line, without signs that a terminal would obey."""
    return "".join(c if c.isprintable() else " " for c in text)
