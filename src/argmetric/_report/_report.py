"""A report, in four forms."""

from __future__ import annotations

import html
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from argmetric._input.arguments import check_choice, check_path
from argmetric._input.extras import install
from argmetric._report._summary import Summary
from argmetric._results.whole_files import FilePath, written_whole

Format = Literal["html", "md", "json", "text"]
FORMATS: tuple[Format, ...] = get_args(Format)
_SUFFIXES: dict[str, Format] = {
    ".html": "html",
    ".htm": "html",
    ".md": "md",
    ".markdown": "md",
    ".json": "json",
    ".txt": "text",
}


@dataclass(frozen=True, repr=False)
class Report:
    """What was decided, what to expect of it and what would change it, to be shown.

    Attributes
    ----------
    summary : object
        All that it says, as plain values; `to_dict` gives the same for JSON.

    Examples
    --------
    >>> import argmetric as am
    >>> report = am.report(am.decide([0.9, 0.45, 0.4, 0.1]))
    >>> print(report.render("md").splitlines()[0])
    # Predict 3 of 4 rows positive
    """

    summary: Summary

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
            import json

            return json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"
        if format == "html":
            from argmetric._report._page import page

            return page(self.summary)
        from argmetric._report._plain import as_markdown, as_text

        return {"md": as_markdown, "text": as_text}[format](self.summary)

    def to_dict(self) -> dict[str, Any]:
        """All that it says as plain lists, texts and numbers, for JSON."""
        return self.summary.to_dict()

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
