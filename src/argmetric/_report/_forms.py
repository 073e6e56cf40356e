"""A report as one HTML file that needs nothing else, as Markdown, and as plain text."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any

from argmetric._ground.display import metric_title
from argmetric._report._curves import BETAS, FLOORS
from argmetric._report._figures import FigurePlace
from argmetric._report._report import PageTable, Report, Row, require_page

SIGNS = {"right": "✓", "missed": "missed", "wrong": "✗"}
# What Markdown, and HTML within it, would take for a sign of its own
_SIGNS = re.compile(r"([\\`*_\[\]<>#|~&$])")
_NO_MENTION = "@\u2060"  # a name after it would be called upon in chat
UNIT = 1e9  # scores travel as whole numbers: shorter, and exact to what is shown
SCRIPTS = {"curves": "page.js", "histogram": "monitor.js"}  # by what they work with


def as_html(report: Report) -> str:
    """The page, the same byte for byte for the same report."""
    template, files = _assets()
    kind = next((name for name in SCRIPTS if name in report.values), None)
    style, script = files["page.css"], "" if kind is None else files[SCRIPTS[kind]]
    data: Any = None if kind is None else report.values[kind]
    controls = None
    if kind == "curves":
        controls = _choices(data)
        data = _controls(data) | {"betas": controls["betas"]}
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}"
    page = template.render(
        report=report,
        lead=next((one for one in report.sections if one.figures), None),
        place=FigurePlace,
        data=None if data is None else _embedded(data),
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
    """The template, and the style and scripts without the spaces before their lines."""
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
    template = environment.get_template("page.html")
    return template, {
        name: re.sub(r"^\s+", "", text, flags=re.MULTILINE)
        for name, text in files.items()
    }


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _embedded(values: dict[str, Any]) -> str:
    """JSON that no parser of HTML takes for anything but text."""
    text = json.dumps(values, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _choices(curves: dict[str, Any]) -> dict[str, Any]:
    """Metrics to choose from, all F of the given betas as one, and floors."""
    betas = [(f"{beta:g}", f"f{beta:g}") for beta in BETAS]
    others = [name for name in curves["scores"] if name not in dict(betas).values()]
    floors = {}
    for name in () if curves["recall"] is None else ("recall", "precision"):
        own = curves["limits"].get(f"min_{name}", 0.0)
        floors[name] = sorted({0.0, *FLOORS, own}), own
    size = len(curves["k"])
    return {"betas": betas, "others": others, "floors": floors, "size": size}


def _controls(curves: dict[str, Any]) -> dict[str, Any]:
    """What the script works with: all numbers at all places, nothing to compute."""
    unused, recall = ("thresholds", "best_cut", "near", "limits"), curves["recall"]
    return {name: x for name, x in curves.items() if name not in unused} | {
        "hits": [round(hits, 6) for hits in curves["hits"]],
        "recall": None if recall is None else _units(recall),
        "scores": {name: _units(x) for name, x in curves["scores"].items()},
        "views": {name: list(view.values()) for name, view in curves["views"].items()},
        "titles": {name: metric_title(name) for name in curves["scores"]},
    }


def _units(values: list[float]) -> list[int | None]:
    return [round(x * UNIT) if math.isfinite(x) else None for x in values]


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


def _markdown_table(table: PageTable) -> Iterator[str]:
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
            yield ""
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
