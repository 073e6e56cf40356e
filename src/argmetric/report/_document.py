"""The shape of a report: words and tables, the same for a page, Markdown and text."""

from __future__ import annotations

from dataclasses import dataclass

from argmetric.report._summary import Chosen, Example, Piece, Row, Summary

SIGNS = {"right": "✓", "missed": "missed", "wrong": "✗"}


@dataclass(frozen=True)
class Table:
    """Rows under a header, with a caption that says what they are."""

    caption: str
    header: Row
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Section:
    """A part of a report; `key` names the picture that a page shows with it."""

    key: str
    title: str
    text: tuple[str, ...]
    tables: tuple[Table, ...] = ()
    after: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True)
class Card:
    """A figure that has to be seen first."""

    name: str
    value: str
    below: str


@dataclass(frozen=True)
class Document:
    """A whole report."""

    title: str
    subtitle: str
    cards: tuple[Card, ...]
    assumptions: tuple[str, ...]
    changes: Table | None
    change: str
    notes: tuple[str, ...]
    sections: tuple[Section, ...]


def units_of(said: Summary) -> str:
    return {"samples": "rows", "macro": "labels"}.get(said.average or "", "groups")


def probability(said: Summary) -> str:
    """What the rows were decided by, in words."""
    calibrated = said.scale.startswith("calibrated ")
    return "calibrated probability" if calibrated else "probability"


def cut_text(said: Summary, cut: Chosen) -> str:
    """The cut of a decision in a few words."""
    if cut.positives == 0:
        return "none is positive"
    if cut.cut is not None:
        return f"{said.scale} ≥ {cut.cut}"
    if said.kind == "labels":
        return "as given"
    if said.n_groups is not None:
        return "one in each group" if units_of(said) == "groups" else "one for each"
    return "some rows of equal score"


def marked(piece: Piece) -> str:
    """Words of a sentence in plain text, with what is to be said of them."""
    if not piece.mark:
        return piece.text
    return f"[{piece.text}: {piece.type} {SIGNS[piece.mark]}]"
