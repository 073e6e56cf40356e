"""A report: plain texts, tables and pictures, in four forms."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, get_args

from argmetric._ground.arguments import check_choice, check_path, install
from argmetric._ground.discrete import beside
from argmetric._ground.display import Result, metric_title
from argmetric._ground.whole_files import FilePath, written_whole
from argmetric._report import _figures as draw

if TYPE_CHECKING:
    from argmetric._forecast.result import Forecast
    from argmetric.classes import ClassForecast

Format = Literal["html", "md", "json", "text"]
FORMATS: tuple[Format, ...] = get_args(Format)
Row = tuple[str, ...]
_SUFFIXES: dict[str, Format] = {".html": "html", ".htm": "html", ".md": "md"}
_MORE = re.compile(r"[,;:] | \(")  # where the rest of a line begins
_SUFFIXES |= {".markdown": "md", ".json": "json", ".txt": "text"}


@dataclass(frozen=True)
class Card:
    """Card at the top of a report: name, value, and an interval to be drawn."""

    name: str
    value: str
    below: str
    accent: bool = False
    interval: tuple[float, float] | None = None

    @classmethod
    def of_forecast(
        cls, title: str, found: Forecast | ClassForecast, actual: float = math.nan
    ) -> Card:
        """Return the forecast score, its interval beside the actual one if known."""
        low, high = found.interval
        _, *ends = beside(actual, low, high, draw.number)
        below = f"{draw.percent(found.coverage)} interval {' to '.join(ends)}"
        drawn = found.interval if low >= 0 and high <= 1 else None
        return cls(f"Forecast {title}", draw.number(found.mean), below, True, drawn)


def make_cards(lines: Iterable[tuple[str, str]]) -> Iterator[Card]:
    """Yield a card for each line of a result: its first words large, the rest below."""
    for name, text in lines:
        value, _, below = _MORE.sub("\n", text.replace(">=", "≥"), 1).partition("\n")
        if below.count(")") > below.count("("):
            below = below.removesuffix(")")
        yield Card(f"{name[0].upper()}{name[1:]}", value, below)


def lines_by_key(result: Result) -> dict[str, tuple[str, str]]:
    """Return (name, text) of the shown fields of a result, by key."""
    shown = (one for one in result.fields() if one.words)
    return {str(one.key): (str(one.words), one.text or "") for one in shown}


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
    figures: tuple[draw.Figure, ...] = ()
    after: tuple[str, ...] = ()
    examples: tuple[dict[str, Any], ...] = ()

    @property
    def has_words(self) -> bool:
        """Whether something of it is shown where there are no pictures."""
        return bool(self.text or self.tables or self.examples)


@dataclass(frozen=True, repr=False)
class Report:
    """Report of a result: what was decided, what to expect, and what would change it.

    Experimental: may change in any release.

    Parameters
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
        """Return the report as text in one of its formats.

        Parameters
        ----------
        format : {"html", "md", "json", "text"}, default="html"
            A page that needs nothing else, Markdown, JSON or plain text. All say the
            same.

        Returns
        -------
        str
            The whole file.
        """
        check_choice(format, "format", FORMATS)
        if format == "json":
            return json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"
        if format == "html":
            return as_html(self)
        lines = as_markdown(self) if format == "md" else as_text(self)
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Return the content as plain lists, texts and numbers, for JSON.

        Returns
        -------
        dict
            The parts of the report by their names, and its `values`.
        """
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


def format_of(path: FilePath, otherwise: str = ", or pass `format`") -> Format:
    """Return the form that a name asks for; `otherwise` ends the message if none."""
    path = check_path(path)
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        raise ValueError(
            f"{path!r}: the name of a report ends in .html, .md, .json or .txt: change "
            f"it{otherwise}"
        )
    return _SUFFIXES[suffix]


def require_page() -> ModuleType:
    """Import the template engine; called before any work where a page is wanted."""
    try:
        import jinja2
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"a report as HTML needs jinja2: {install('report')}; Markdown, JSON and "
            "text need nothing"
        ) from error
    return jinja2


SIGNS = {"right": "✓", "missed": "missed", "wrong": "✗"}
# What Markdown, and HTML within it, would take for a sign of its own
_SIGNS = re.compile(r"([\\`*_\[\]<>#|~&$])")
_NO_MENTION = "@\u2060"  # a name after it would be called upon in chat
UNIT = 1e9  # scores travel as whole numbers: shorter, and exact to what is shown
SCRIPTS = {"curves": "page.js", "histogram": "monitor.js"}  # by what they work with


def as_html(report: Report) -> str:
    """Return the page; equal reports give equal bytes."""
    template, files = _assets()
    kind = next((name for name in SCRIPTS if name in report.values), None)
    style, script = files["page.css"], "" if kind is None else files[SCRIPTS[kind]]
    data: Any = None if kind is None else report.values[kind]
    controls: dict[str, Any] | None = None
    if kind == "curves":
        scored, recall = data["scores"], data["recall"]
        betas = [(f"{beta:g}", f"f{beta:g}") for beta in draw.BETAS]  # one choice
        others = [name for name in scored if name not in dict(betas).values()]
        controls = {"betas": betas, "others": others, "size": len(data["k"])}
        controls["floors"] = floors = {}
        for name in () if recall is None else ("recall", "precision"):
            own = data["limits"].get(f"min_{name}", 0.0)
            floors[name] = sorted({0.0, *draw.FLOORS, own}), own
        # The script works with all numbers at all places: there is nothing to compute
        unused = ("thresholds", "best_cut", "near", "limits")
        data = {name: x for name, x in data.items() if name not in unused} | {
            "hits": [round(hits, 6) for hits in data["hits"]],
            "recall": None if recall is None else _units(recall),
            "scores": {name: _units(x) for name, x in scored.items()},
            "views": {name: [*view.values()] for name, view in data["views"].items()},
            "titles": {name: metric_title(name) for name in scored},
            "betas": betas,
        }
    embedded = None
    if data is not None:  # JSON that no parser of HTML takes for anything but text
        embedded = json.dumps(data, separators=(",", ":"), allow_nan=False)
        for sign in "<>&\u2028\u2029":
            embedded = embedded.replace(sign, f"\\u{ord(sign):04x}")
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}"
    page = template.render(
        report=report,
        lead=next((one for one in report.sections if one.figures), None),
        place=draw.FigurePlace,
        data=embedded,
        controls=controls,
        signs=SIGNS,
        title_of=metric_title,
        style=style,
        script=script,
        policy=f"{policy}; base-uri 'none'; form-action 'none'",
    )
    return str(page)


@cache
def _assets() -> tuple[Any, dict[str, str]]:
    """Return the template, and style and scripts without leading spaces."""
    jinja2 = require_page()
    folder = resources.files("argmetric._report") / "page"
    names = ("page.html", "figures.html", "page.css", *SCRIPTS.values())
    files = {name: (folder / name).read_text(encoding="utf-8") for name in names}
    environment = jinja2.Environment(
        loader=jinja2.DictLoader(files),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["whole_dates"] = _whole_dates
    template = environment.get_template("page.html")
    return template, {
        name: re.sub(r"^\s+", "", text, flags=re.MULTILINE)
        for name, text in files.items()
    }


def _whole_dates(text: str) -> str:
    """Return text as HTML that breaks no line within a date."""
    from markupsafe import Markup, escape

    span = r'<span class="date">\g<0></span>'
    return Markup(re.sub(r"\d{4}-\d\d-\d\d", span, str(escape(text))))


def _hash(text: str) -> str:
    """Return the hash of a script as a content security policy names it."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _units(values: list[float]) -> list[int | None]:
    """Return values as whole multiples of 1/UNIT, for JSON; None if not finite."""
    return [round(x * UNIT) if math.isfinite(x) else None for x in values]


def as_markdown(report: Report) -> Iterator[str]:
    """Return lines for pull requests and chat."""
    yield f"# {_quote(report.title)}\n"
    yield f"{_quote(report.subtitle)}\n"
    for card in report.cards:
        below = f" ({_quote(card.below)})" if card.below else ""
        yield f"- {_quote(card.name)}: **{_quote(card.value)}**{below}"
    yield ""
    if report.assumptions:
        yield f"Assumes: {_quote('; '.join(report.assumptions))}.\n"
    yield from (f"Note: {_quote(note)}\n" for note in report.notes)
    for section in [x for x in report.sections if x.has_words]:
        yield f"## {_quote(section.title)}\n"
        yield from (f"{_quote(text)}\n" for text in section.text)
        for table in section.tables:
            yield f"{_quote(table.caption)}:\n"
            cells = [tuple(map(_quote, row)) for row in (table.header, *table.rows)]
            cells.insert(1, ("---", *["---:"] * (len(table.header) - 1)))
            yield from (f"| {' | '.join(row)} |" for row in cells)
            yield ""
        for example in section.examples:
            for name, words in example.items():
                yield f"- {name}: {_quote(_sentence(words))}"
            yield ""


def _sentence(words: Iterable[Row]) -> str:
    """Return a sentence, with notes on its parts."""
    return " ".join(
        f"[{text}: {type_} {SIGNS[mark]}]" if mark else text
        for text, mark, type_ in words
    )


def _quote(text: str) -> str:
    text = " ".join(text.split()).replace("@", _NO_MENTION)
    return _SIGNS.sub(r"\\\1", text)


def as_text(report: Report) -> Iterator[str]:
    """Return lines for a terminal."""
    yield from (_clean(report.title), _clean(report.subtitle), "")
    yield from _align([(card.name, card.value, card.below) for card in report.cards])
    yield from (f"  assumes: {_clean(one)}" for one in report.assumptions)
    yield from (f"  note: {_clean(one)}" for one in report.notes)
    for section in [x for x in report.sections if x.has_words]:
        yield from ("", _clean(section.title))
        yield from (f"  {_clean(text)}" for text in section.text)
        for table in section.tables:
            rows = [table.header, *table.rows] if any(table.header) else table.rows
            yield ""
            yield from _align(list(rows))
        for example in section.examples:
            yield ""
            for name, words in example.items():
                yield f"  {name:<9}  {_clean(_sentence(words))}"


def _align(rows: list[Row]) -> Iterator[str]:
    """Yield rows of a table as lines of text with aligned columns."""
    rows = [tuple(map(_clean, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield f"  {'  '.join(cells)}".rstrip()


def _clean(text: str) -> str:
    """Return text on one line, without control characters."""
    return "".join(c if c.isprintable() else " " for c in text)
