"""Summaries as tables for people."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from argmetric.cli._summary import Values, as_json
from argmetric.metrics import convention_in_words

if TYPE_CHECKING:
    from rich.console import Console

_SMALL = 0.001  # four decimals would leave nothing of it
_WIDTH_OF_FILES = 200  # where nobody sees a wrapped line, none is wrapped


def console(*, stderr: bool) -> Console:
    """Return a console that shows text as it is: no markup, no highlighting."""
    from rich.console import Console

    target = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    if not target.is_terminal and "COLUMNS" not in os.environ:
        target.width = _WIDTH_OF_FILES
    return target


def print_json(summary: Mapping[str, object] | list[Any]) -> None:
    """Print a summary as JSON to standard output."""
    sys.stdout.write(as_json(summary) + "\n")


def number(value: float | None) -> str:
    """Return a score as people read it."""
    if value is None:
        return ""
    if math.isnan(value):
        return "undefined"
    return f"{value:.3g}" if 0 < abs(value) < _SMALL else f"{value:.4f}"


def count(value: int, noun: str = "") -> str:
    """Return a count with its noun: ``1,200 rows``."""
    plural = noun if value == 1 or not noun else f"{noun}s"
    return f"{value:,} {plural}".rstrip()


def asked(summary: Values) -> list[tuple[str, str]]:
    """Return the first lines of every summary: what was asked of which rows."""
    rows = "rows", rows_asked(summary)
    return [rows, *groups_asked(summary), metric_asked(summary)]


def metric_asked(summary: Values) -> tuple[str, str]:
    """Return the line on the metric, with its convention."""
    better = "" if summary["greater_is_better"] else ", smaller is better"
    zero_division = float(summary["zero_division"])
    convention = convention_in_words(summary["convention"], zero_division)
    return "metric", f"{summary['metric']}{better}; {convention}"


def counts(values: Values) -> str:
    """Return a confusion matrix in one line."""
    return ", ".join(f"{name} {n:,}" for name, n in values.items())


def rows_asked(summary: Values) -> str:
    """Return how many rows of which file, and the columns used."""
    used = [f"{role} {name!r}" for role, name in summary["columns"].items()]
    return f"{count(summary['rows'], 'row')} of {summary['file']} ({', '.join(used)})"


def sentences_asked(summary: Values) -> tuple[str, str]:
    """Return the line on sentences: how many, of which file."""
    sizes = count(summary["sentences"], "sentence"), count(summary["tokens"], "token")
    return "sentences", f"{', '.join(sizes)} of {summary['file']}"


def groups_asked(summary: Values) -> list[tuple[str, str]]:
    """Return the line on groups, none without groups."""
    if summary["groups"] is None or summary["average"] is None:
        return []
    means = {"groups": "mean over groups", "pooled": "all rows pooled"}
    how, asked_for = means[summary["average"]], f"--average {summary['average']}"
    return [("groups", f"{count(summary['groups'])}, {how} ({asked_for})")]


def expectation(mean: float, forecast: Values) -> str:
    """Return an expected score and the interval around it in one line."""
    low, high = forecast["interval"]
    coverage = f"{100 * forecast['coverage']:g} %"
    return f"{number(mean)}, {coverage} interval {number(low)} to {number(high)}"


def share(forecast: Values) -> list[tuple[str, str]]:
    """Return the line of an estimated share of positives, if there is one."""
    found = forecast["share"]
    if found is None:
        return []
    from argmetric._calibrate.share import Share

    return [("share", str(Share(**found)))]


def print_facts(target: Console, title: str, facts: Iterable[tuple[str, str]]) -> None:
    """Print a title and lines of a name and what it is."""
    from rich.table import Table
    from rich.text import Text

    target.print(Text(title, style="bold"))
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, fact in facts:
        grid.add_row(name, Text(fact))
    target.print(grid)


def print_table(
    target: Console,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers_from: int = 1,
) -> None:
    """Print rows under a header, columns of numbers to the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for i, name in enumerate(header):
        is_number = i >= numbers_from
        justify: Literal["left", "right"] = "right" if is_number else "left"
        is_name = i == 0 and numbers_from > 1
        whole = is_number or is_name  # texts fold before numbers and names do
        table.add_column(name, justify=justify, overflow="fold", no_wrap=whole)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    target.print(table)


def print_notes(target: Console, kind: str, notes: Iterable[Any]) -> None:
    """Print sentences, one on a line."""
    from rich.text import Text

    for note in notes:
        target.print(Text.assemble((f"{kind}: ", "dim"), str(note)))


def print_written(target: Console, output: str | None) -> None:
    """Print which file was written; of standard output there is nothing to tell."""
    if output not in (None, "-"):
        print_notes(target, "written", [output])
