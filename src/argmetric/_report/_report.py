"""A report: plain texts, tables and pictures, in four forms."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from argmetric._ground.arguments import check_choice, check_path, install
from argmetric._ground.whole_files import FilePath, written_whole
from argmetric._report._figures import Figure, number, percent, scores

Format = Literal["html", "md", "json", "text"]
FORMATS: tuple[Format, ...] = get_args(Format)
Row = tuple[str, ...]
_SUFFIXES: dict[str, Format] = {".html": "html", ".htm": "html", ".md": "md"}
_MORE = re.compile(r"[,;:] | \(")  # where the rest of a line begins
_SUFFIXES |= {".markdown": "md", ".json": "json", ".txt": "text"}


@dataclass(frozen=True)
class Card:
    """A figure that has to be seen first; an `interval` within [0, 1] is drawn."""

    name: str
    value: str
    below: str
    accent: bool = False
    interval: tuple[float, float] | None = None


def cards_of(lines: Iterable[tuple[str, str]]) -> Iterator[Card]:
    """Cards of lines that a result says: the first words large, the rest below."""
    for name, text in lines:
        value, _, below = _MORE.sub("\n", text.replace(">=", "≥"), 1).partition("\n")
        if below.count(")") > below.count("("):
            below = below.removesuffix(")")
        yield Card(f"{name[0].upper()}{name[1:]}", value, below)


def said_of(result: Any) -> dict[str, tuple[str, str]]:
    """The lines of a result by the keys of their fields."""
    told = [one for one in result.fields() if one.words]
    return {one.key: (one.words, one.text or "") for one in told}


def forecast_card(title: str, found: Any) -> Card:
    """The score to expect, and its interval."""
    low, high = found.interval
    below = f"{percent(found.coverage)} interval {scores(low, high)}"
    drawn = found.interval if low >= 0 and high <= 1 else None
    return Card(f"Forecast {title}", number(found.mean), below, True, drawn)


@dataclass(frozen=True)
class PageTable:
    """Rows under a header, with a caption that says what they are."""

    caption: str
    header: Row
    rows: Sequence[Row]

    @property
    def scrolls_on_a_phone(self) -> bool:
        """Whether it is wider than a small screen; the first column wraps."""
        words = tuple(max(cell.split() or [""], key=len) for cell in self.header)
        columns = zip(words, *self.rows, strict=True)
        _, *widths = (max(map(len, column)) for column in columns)
        first = max(len(x) for row in (words, *self.rows) for x in row[0].split())
        # A character takes 8 pixels and a column 14 more
        wide = 8 * (first + sum(widths)) + 14 * len(widths) > 340
        return wide and any(self.header)


@dataclass(frozen=True)
class Section:
    """A part of a report, which is found by its `key`; `after` stands below the rest.

    An example is a sentence by "actual" and "predicted": pieces of text, mark, type.
    """

    key: str
    title: str
    text: tuple[str, ...] = ()
    tables: tuple[PageTable, ...] = ()
    figures: tuple[Figure, ...] = ()
    after: tuple[str, ...] = ()
    examples: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, repr=False)
class Report:
    """What was decided, what to expect of it and what would change it, to be shown.

    Attributes
    ----------
    kind : str
        "decision", "labels", "rule", "check", "classes", "compare", "monitor", "tags",
        "stream".
    title, subtitle : str
        The answer in a line, and what it is about.
    cards : tuple
        What has to be seen first: `name`, `value` and what is said `below` it.
    sections : tuple
        Parts with `key`, `title`, `text`, `tables` and `figures`; a page has the first
        picture of all, and the first note, on its first screen.
    notes, assumptions : tuple of str
        What the reader should know, and what the forecast takes for granted.
    names : dict
        The file and its columns, where there are some.
    values : dict
        Numbers in full: the results that the report is made from, and its curves.

    Examples
    --------
    >>> import argmetric as am
    >>> report = am.report(am.decide([0.9, 0.45, 0.4, 0.1]))
    >>> report.title
    'Predict 3 of 4 rows positive'
    >>> round(report.values["forecast"]["mean"], 3)
    0.69
    """

    kind: str
    title: str
    subtitle: str
    cards: tuple[Card, ...]
    sections: tuple[Section, ...]
    notes: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)

    def render(self, format: Format = "html") -> str:
        """The report as text in one of its forms.

        Parameters
        ----------
        format : {"html", "md", "json", "text"}, default="html"
            A page that needs nothing else, Markdown, JSON or plain text. All say the
            same.
        """
        check_choice(format, "format", FORMATS)
        if format == "json":
            return json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"
        from argmetric._report import _forms

        if format == "html":
            return _forms.as_html(self)
        lines = _forms.as_markdown(self) if format == "md" else _forms.as_text(self)
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """All that it says as plain lists, texts and numbers, for JSON."""
        from argmetric._ground.saving import plain

        said = asdict(self)
        return dict(plain(said | said.pop("values"), "report"))

    def save(self, path: FilePath, format: Format | None = None) -> None:
        """Write the report; a file that is there is replaced whole or not at all.

        Parameters
        ----------
        path : str or path
            The file. Its ending tells the form: .html, .md, .json, .txt.
        format : {"html", "md", "json", "text"}, optional
            The form, where the ending does not tell it.
        """
        text = self.render(format_of(path) if format is None else format)
        with written_whole(path) as file:
            file.write(text.encode())

    def __repr__(self) -> str:
        return self.render("text").rstrip()

    def _repr_html_(self) -> str:
        inside = html.escape(self.render("html"))
        return (
            f'<iframe title="argmetric report" srcdoc="{inside}" width="100%" '
            'height="720" sandbox="allow-scripts" frameborder="0"></iframe>'
        )


def format_of(path: FilePath) -> Format:
    """The form that a name asks for."""
    path = check_path(path)
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        raise ValueError(
            f"{path!r}: the name of a report ends in .html, .md, .json or .txt: change "
            "it, or pass `format`"
        )
    return _SUFFIXES[suffix]


def require_page() -> Any:
    """The template engine of pages; before any work, where a page is asked for."""
    try:
        import jinja2
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"a report as HTML needs jinja2: {install('report')}; Markdown, JSON and "
            "text need nothing"
        ) from error
    return jinja2
