"""How results show themselves: as text, in notebooks and as frames; their verdicts.

There are no other verdicts. A surface that says one says this word, and this reason
beside it.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import FrozenInstanceError
from inspect import signature
from itertools import islice
from types import FunctionType
from typing import Any, ClassVar, Literal, NamedTuple, NoReturn, Self, TypeVar

import numpy as np

from argmetric._ground.arguments import check_choice
from argmetric._ground.lazy import load_module
from argmetric._ground.plain import plain
from argmetric._ground.types import DiscreteScores, Frame, Interval, ScoringMetric

Lines = list[tuple[str, str]]

_LONGEST = 120
COUNT = "{:,}"  # a format of fields
ASSUMES = "assumes"  # what the line of assumptions is called
MOST_LINES, MOST_NOTES = 10, 6  # of a printed result
SMALL = 0.01  # below it three decimals would leave less than three digits
# No colours of their own: what is drawn in the ink of the page is read on any paper.
_FINE = "1px solid rgba(128,128,128,.3)"
_CELL = f"text-align:left;vertical-align:top;border-bottom:{_FINE};padding:.2em .8em"
_NAME = f"{_CELL};font-weight:normal;opacity:.75;white-space:nowrap"
_LARGE = "font-size:2.2em;font-weight:600;line-height:1.25"
_CAPTION = (
    "caption-side:top;text-align:left;color:inherit;font-weight:bold;padding:.2em .8em"
)


class Field(NamedTuple):
    """Entry of a result: key and value in JSON, name and text for people."""

    key: str | None = None  #: in `to_dict`; None for what is only shown
    value: Any = None  #: of a kind that `plain` knows, or a function that makes it
    words: str | None = None  #: what a person calls it; None for what is not shown
    text: str | None = None  #: the value as a person reads it; None is not shown


_FIGURES = (bool, int, float, str, np.number, Interval)


class Headline(NamedTuple):
    """Main number of a result: begins its text, and is shown in large type."""

    words: str  #: what the number is, such as "expected F1"
    number: str
    more: str = ""  #: its interval, and what else belongs to the answer

    def __str__(self) -> str:
        first = f"{self.words} {self.number}".strip()
        return f"{first}, {self.more}" if self.more else first


def number(value: float) -> str:
    """Return a score as text: three digits, or three decimals below 10."""
    if math.isnan(value):
        return "undefined"
    size = abs(value)
    if size >= 1000.0 and not math.isinf(size):
        return f"{value:,.0f}"
    return f"{value:.3g}" if 0.0 < size < SMALL or size >= 10.0 else f"{value:.3f}"


def between(interval: tuple[float, float]) -> str:
    """Return an interval as text."""
    low, high = interval
    return f"{number(low)} to {number(high)}"


def with_interval(interval: tuple[float, float] | None, coverage: float) -> str:
    """Return the text of an interval with its coverage; empty without an interval."""
    if interval is None or any(map(math.isnan, interval)):
        return ""
    return f"{coverage:.0%} interval {between(interval)}"


def counted(n: int, what: str) -> str:
    """Return a number with its noun: "1 positive", "2 positives"."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


class _Sections:
    """Sections of docstrings that methods of all results have alike."""

    def plot(self) -> None:
        """Draw the result.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
            The axes, to style or save.
        """

    def to_frame(self) -> None:
        """Return the result as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default="pandas"
            Library of the frame.

        Returns
        -------
        DataFrame or Table
            One row for each group or value, or one row in all.
        """


Method = TypeVar("Method", bound=Callable[..., Any])
Kind = TypeVar("Kind")


def documented(method: Method) -> Method:
    """Return the method with the sections that `_Sections` has for its name."""
    function: Any = method
    if function.__doc__ is not None:  # it is with -OO
        sections = getattr(_Sections, function.__name__).__doc__.partition("\n\n")
        function.__doc__ += "\n\n" + sections[2]
    return method


class Shown:
    """An object that notebooks show as a table: a title, `_lines`, and notes."""

    def _title(self) -> str:
        return type(self).__name__

    def _lines(self) -> Sequence[tuple[str, ...]]:
        return lines_of(vars(self))

    def _notes(self) -> tuple[str, ...]:
        left_out = (f"left out: {file}" for file in getattr(self, "skipped", ()))
        return (*getattr(self, "notes", ()), *left_out)

    def _repr_html_(self) -> str:
        return table(self._title(), self._lines(), self._notes())


class Result(Shown):
    """A result: its text, its table in notebooks and its JSON come from its fields."""

    _nan: ClassVar[str | None] = None  # what JSON has for nan
    _told: ClassVar[tuple[str, ...]] = ()  # lines that the headline tells already

    def __init_subclass__(cls, **keywords: object) -> None:
        super().__init_subclass__(**keywords)
        own = vars(cls).get("fields")
        if own is not None and own.__doc__ is None:
            own.__doc__ = Result.fields.__doc__

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings and hints for the reader: always printed."""
        return ()

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions behind the answer; none where it is counted, not inferred."""
        return ()

    def fields(self) -> list[Field]:
        """Return all fields of the result, in the order of its summary.

        Returns
        -------
        list of Field
            Each with its key in `to_dict`, its value, and its name and text for people.
        """
        raise NotImplementedError

    def _headline(self) -> Headline | None:
        """Return the answer with its number and interval; None if the title says it."""
        return None

    def _picture(self) -> str:
        """Return a small SVG picture for notebooks; empty without one."""
        return ""

    def _field(
        self, key: str, words: str, form: str | Callable[[Any], str] = "{}"
    ) -> Field:
        """Return an attribute as a field with formatted text; only JSON shows None."""
        value = getattr(self, key)
        if value is None:
            return Field(key, value, words)
        text = form.format(value) if isinstance(form, str) else form(value)
        return Field(key, value, words, text)

    def _keys(self, *names: str) -> list[Field]:
        """Return attributes as fields of JSON only, under their own names."""
        return [Field(name, getattr(self, name)) for name in names]

    def lines(self) -> Lines:
        """Return pairs of name and text of the fields that the summary shows.

        Returns
        -------
        list of tuple of str
            One pair for each line of the summary.
        """
        return [
            (words, text)
            for _, _, words, text in self.fields()
            if words is not None and text is not None
        ]

    def _lines(self) -> Sequence[tuple[str, ...]]:
        return [line for line in self.lines() if line[0] not in self._told]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; nan is null unless it is read again.

        Returns
        -------
        dict
            The fields of the result by name: numbers, text, lists and dicts.
        """
        return self._plain(self.fields())

    @documented
    def to_frame(self, backend: str = "pandas") -> Frame:
        """Return the result as a data frame of groups, a curve or one row."""
        return as_frame(self._columns(), backend)

    def _columns(self) -> Mapping[str, Any]:
        """Return the columns of `to_frame`: by default one row of all numbers."""
        known = (
            (one.key, one.value() if type(one.value) is FunctionType else one.value)
            for one in self.fields()
            if one.key is not None
        )
        return {key: [x] for key, x in known if isinstance(x, _FIGURES)}

    def _plain(self, fields: Sequence[Field]) -> dict[str, Any]:
        return {
            key: plain(
                value() if type(value) is FunctionType else value, key, self._nan
            )
            for key, value, *_ in fields
            if key is not None
        }

    def __repr__(self) -> str:
        """Return at most ten lines: the answer, what it is based on, and all notes."""
        headline = self._headline()
        first = self._title()
        if headline is not None:
            first = f"{type(self).__name__}: {headline}"
        notes = [f"  note: {note}" for note in self._notes()]
        if len(notes) > MOST_NOTES:
            rest = f"  ... {len(notes) - MOST_NOTES + 1} more in notes"
            notes = [*notes[: MOST_NOTES - 1], rest]
        lines, room = list(self._lines()), MOST_LINES - 1 - len(notes)
        left = len(lines) - room
        if left > 0:
            lines = lines[: room - 1]
        width = max((len(name) for name, *_ in lines), default=0)
        text = [f"  {name:<{width}}  {'  '.join(cells)}" for name, *cells in lines]
        if left > 0:
            text.append(f"  ... {left + 1} more lines in a notebook and in to_dict()")
        return "\n".join([first, *text, *notes])

    def _repr_html_(self) -> str:
        headline = self._headline()
        if headline is not None:
            return view(self, headline)
        shown = table(self._title(), _lines_above(self), self._notes())
        return shown + self._picture() + _assumptions_html(self)


class ScoreFloat(float, Result):
    """A score that is a float in every respect; its attributes cannot be set."""

    def __new__(cls, value: float, **known: object) -> Self:
        made = super().__new__(cls, value)
        vars(made).update(known)
        return made

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")


def hide_private(cls: type[Kind]) -> type[Kind]:
    """Return a dataclass whose signature names public fields alone."""
    known = signature(cls)
    public = [x for name, x in known.parameters.items() if not name.startswith("_")]
    cls.__signature__ = known.replace(parameters=public)  # type: ignore[attr-defined]
    return cls


def distribution_columns(distribution: DiscreteScores) -> dict[str, Any]:
    """Return the values and probabilities of a discrete distribution as columns."""
    return {"value": distribution.values, "probability": distribution.probabilities}


def view(result: Result, headline: Headline) -> str:
    """Return the notebook view: a large number, a picture, lines and notes."""
    what = f"{type(result).__name__}: {headline.words}".removesuffix(": ")
    return "".join(
        (
            "<div style='color:inherit'>",
            f"<div style='opacity:.75'>{html.escape(what)}</div>",
            f"<div style='{_LARGE}'>{html.escape(headline.number)}</div>",
            f"<div>{html.escape(headline.more)}</div>",
            result._picture(),
            table("", _lines_above(result), result._notes()),
            _assumptions_html(result),
            "</div>",
        )
    )


def _lines_above(result: Result) -> Sequence[tuple[str, ...]]:
    """Return the lines of a notebook's table: the assumptions are folded below it."""
    return [line for line in result._lines() if line[0] != ASSUMES]


def _assumptions_html(result: Result) -> str:
    assumed = getattr(result, "assumptions", ())
    if not assumed:
        return ""
    items = "".join(f"<li>{html.escape(one)}</li>" for one in assumed)
    return f"<details><summary>assumptions</summary><ul>{items}</ul></details>"


def metric_fields(
    metric: ScoringMetric, text: str | None = None, words: str | None = "metric"
) -> list[Field]:
    """Return the fields of a metric: its name, and the value of 0/0."""
    if text is None:
        zero = metric.zero_division
        text = f"{metric.name}, 0/0 = {'left out' if zero != zero else f'{zero:g}'}"
    missed = getattr(metric, "missed", None)
    more = [Field("missed", missed, "missed", getattr(metric, "words", ""))]
    return [
        Field("metric", metric.name, words, text),
        Field("zero_division", metric.zero_division),
        *(more if missed is not None else ()),
    ]


def class_metric_fields(
    metric: ScoringMetric, more: str = "", words: str | None = "metric"
) -> list[Field]:
    """Return the fields of a metric of several classes, with that of absent ones."""
    told = f"; {metric.convention}" if metric.convention else ""
    first = metric_fields(metric, f"{metric.name}{more}{told}", words)
    return [*first, Field("convention", metric.convention)]


def only_shown(lines: Iterable[tuple[str, str]]) -> list[Field]:
    """Return fields of lines that JSON has in another form."""
    return [Field(None, None, *line) for line in lines]


def first_lines(
    lines: Iterable[tuple[str, str]], count: int, most: int, what: str
) -> list[Field]:
    """Return at most `most` of `count` lines, and one with the number of the others."""
    more = [("...", f"{count - most} more {what}")] if count > most else []
    return only_shown([*islice(lines, most), *more])


def part_text(part: int, of: int, what: str = "") -> str:
    """Return the text of a count and its share of all."""
    return f"{part:,} of {of:,}{what} ({part / of:.1%})"


def lines_of(values: Mapping[str, Any]) -> Lines:
    """Return names and short texts of values, without private ones."""
    return [
        (name, brief(value))
        for name, value in values.items()
        if not name.startswith("_")
    ]


def brief(value: object) -> str:
    """Return a value on one line: an array's shape, the beginning of a long text."""
    if isinstance(value, np.ndarray) and value.size > 8:
        return f"{value.dtype} array of shape {value.shape}"
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def table(
    title: str, lines: Sequence[tuple[str, ...]], notes: Sequence[str] = ()
) -> str:
    """Return HTML of a title, lines and notes, all of them escaped."""
    parts = ["<table style='color:inherit'>"]  # not every notebook has it so
    if title:
        parts.append(f"<caption style='{_CAPTION}'>{html.escape(title)}</caption>")
    for name, *cells in lines:
        parts.append(f"<tr><th scope='row' style='{_NAME}'>{html.escape(name)}</th>")
        parts += [f"<td style='{_CELL}'>{html.escape(cell)}</td>" for cell in cells]
        parts.append("</tr>")
    parts.append("</table>")
    parts += [f"<p><em>{html.escape(note)}</em></p>" for note in notes]
    return "".join(parts)


_METRIC_TITLES = {
    "mcc": "MCC",
    "gmean": "G-mean",
    "hmean": "H-mean",
    "qmean": "Q-mean",
    "kappa": "Cohen's kappa",
    "jaccard": "Jaccard index",
    "youden": "Youden's J",
}


def metric_title(name: str) -> str:
    """Return a metric's name for an axis or a card: "macro F1" for "macro f1"."""
    mean, _, own = name.partition(" ")
    if mean in ("macro", "weighted"):
        return f"{mean} {metric_title(own)}"
    if re.fullmatch(r"f[\d.]+", name):
        return name.upper()
    return _METRIC_TITLES.get(name, name.replace("_", " "))


def cut_text(threshold: float, digits: int = 3) -> str:
    """Return a threshold with this many digits; more where it would read as 0 or 1."""
    ends = (0.0, 1.0 - 2.0**-53) if 0.0 < threshold < 1.0 else (-math.inf, math.inf)
    return shortest_cut(threshold, *ends, digits)


def shortest_cut(threshold: float, low: float, high: float, least: int = 2) -> str:
    """Return a threshold in (low, high] with as few digits as possible, or `least`."""
    for digits in range(least, 18):
        text = f"{threshold:.{digits}g}"
        if low < float(text) <= high:
            return text
    return repr(threshold)


def as_frame(columns: Mapping[str, Any], backend: str) -> Frame:
    """Return columns as a data frame of the named library.

    An interval is two columns, its ends: `low` and `high`, `share_low` and
    `share_high` of `share_interval`.
    """
    import narwhals as nw

    check_choice(backend, "backend", ("pandas", "polars", "pyarrow"))
    load_module(backend)  # where it is missing, the error names its extra
    flat: dict[str, Any] = {}
    for name, column in columns.items():
        if len(column) and isinstance(column[0], Interval):
            before = name.removesuffix("interval")
            flat[f"{before}low"], flat[f"{before}high"] = (
                list(ends) for ends in zip(*column, strict=True)
            )
        else:
            flat[name] = column
    return nw.from_dict(flat, backend=backend).to_native()  # type: ignore[arg-type]


CheckVerdict = Literal["yes", "no", "too few rows to say"]
ForecastVerdict = Literal["yes", "recalibrated", "no", "too few rows to say"]
PeriodVerdict = Literal[
    "no shift",
    "no alarm",
    "all labels known",
    "prevalence shift",
    "cannot say without labels",
    "below the floor",
]
Alarm = Literal["moved for the worse", "moved for the better", "below the floor"]

# From good to bad
PERIOD: dict[PeriodVerdict, str] = {
    "no shift": "the scores look as before; a changed label definition is not seen",
    "no alarm": "the score of rows with known labels is not below the floor",
    "all labels known": "the score is known, and the floor says nothing about it",
    "prevalence shift": "each class still looks the same; the forecast is adjusted",
    "cannot say without labels": "the scores moved in another way: label some rows",
    "below the floor": "the score of rows with known labels is below the floor",
}
ALARM: dict[Alarm, str] = {
    "moved for the worse": "the forecast moved for the worse against the past",
    "moved for the better": "the forecast improves: without a cause that is suspect",
    "below the floor": "the score is below the floor, by forecast or by labels",
}
