"""Output for people: answers as lines or as JSON, and a progress bar.

docs/results.rst lists the keys of every command with their types and meanings; a test
holds what is printed to it.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from argmetric._ground.display import shortest_cut
from argmetric._ground.types import Floats
from argmetric.cli._errors import DONE, say
from argmetric.metrics import Metric, convention_in_words

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from argmetric import Forecast
    from argmetric.classes import ClassForecast


Values = dict[str, Any]  # what a command found, by the keys of docs/results.rst
_SMALL = 0.001  # four decimals would leave nothing of it
Facts = list[tuple[str, str]]
Table = tuple[Any, ...]
_WIDTH_OF_FILES = 200  # where nobody sees a wrapped line, none is wrapped


def surprises(forecast: Forecast | ClassForecast, real: float) -> list[str]:
    """Return a note where the interval does not contain the actual score."""
    if (said := forecast.surprise(real)) is None:
        return []
    said = said.replace("calibration_check(y, p)", "argmetric calibrate")
    return [said.replace("classes.check(y, p)", "argmetric calibrate --one-label")]


def short_threshold(p: Floats, threshold: float) -> str:
    """Return a threshold with as few digits as still cut in the same place."""
    low = p[p < threshold].max(initial=-np.inf)
    high = p[p >= threshold].min(initial=np.inf)
    return shortest_cut(threshold, float(low), float(high))


def _finite(value: object) -> object:
    """Return a value with None for each number that is not finite, at any depth."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def console(*, stderr: bool) -> Console:
    """Return a console that shows text as it is: no markup, no highlighting."""
    from rich.console import Console

    target = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    if not target.is_terminal and "COLUMNS" not in os.environ:
        target.width = _WIDTH_OF_FILES
    return target


def print_answer(
    command: str,
    values: Values,
    facts: Facts,
    *,
    json: bool,
    stderr: bool = False,
    unwritten: str = "",
    table: Table | None = None,
    notes: Facts | None = None,
) -> int:
    """Print an answer: its values with --json, else its lines; return the exit code.

    The lines are facts (names and texts), a table as `print_table` takes it, the
    assumptions of a forecast, notes (sentences, each behind its kind; by default those
    of the values), and what was written. With `stderr` standard output is left to
    rows; `unwritten` is what went nowhere, with --json, if there is no output.
    """
    if json:
        print_json(values)
        if unwritten and values["output"] is None:
            say(f"{unwritten} not written: no --output")
        return DONE
    target = console(stderr=stderr)
    print_facts(target, f"argmetric {command}", facts)
    if table is not None:
        print_table(target, *table)
    forecast = values.get("forecast") or {"assumptions": ()}
    print_notes(target, "assumes", forecast["assumptions"])
    if notes is None:
        notes = [("note", note) for note in values.get("notes", ())]
    for kind, note in notes:
        print_notes(target, kind, [note])
    print_notes(target, "written", written_files(values))
    return DONE


def written_files(values: Values) -> list[str]:
    """Return the files that were written; standard output is not among them."""
    if "bytes" in values:
        kilobytes = max(1, round(values["bytes"] / 1e3))
        megabytes = f"{values['bytes'] / 1e6:.1f} MB"
        size = f"{kilobytes} kB" if kilobytes < 1000 else megabytes
        return [f"{values['model']} ({size})"]
    output = values.get("output")
    given = output if isinstance(output, list) else [output, values.get("report")]
    return [path for path in given if path not in (None, "-")]


def print_json(summary: Mapping[str, object] | list[Any]) -> None:
    """Print a summary as JSON, in which what is not finite is null."""
    sys.stdout.write(json.dumps(_finite(summary), indent=2, allow_nan=False) + "\n")


def number(value: float | None) -> str:
    """Return a score as text, with four digits; "undefined" for nan."""
    if value is None:
        return ""
    if math.isnan(value):
        return "undefined"
    return f"{value:.3g}" if 0 < abs(value) < _SMALL else f"{value:.4f}"


def count(value: int, noun: str = "") -> str:
    """Return a count with its noun: ``1,200 rows``."""
    plural = noun if value == 1 or not noun else f"{noun}s"
    return f"{value:,} {plural}".rstrip()


def metric_line(metric: Metric) -> tuple[str, str]:
    """Return the line on the metric, with its convention."""
    better = "" if metric.greater_is_better else ", smaller is better"
    convention = convention_in_words(metric.convention, metric.zero_division)
    return "metric", f"{metric.name}{better}; {convention}"


def rows_text(summary: Values) -> str:
    """Return how many rows of which file, and the columns used."""
    used = [f"{role} {name!r}" for role, name in summary["columns"].items()]
    return f"{count(summary['rows'], 'row')} of {summary['file']} ({', '.join(used)})"


def forecast_line(forecast: Forecast | ClassForecast) -> tuple[str, str]:
    """Return the line on a forecast: its mean, and the interval around that."""
    mean, low, high = map(number, (forecast.mean, *forecast.interval))
    within = f"{100 * forecast.coverage:g} % interval {low} to {high}"
    return "forecast", f"{mean}, {within}"


def print_facts(target: Console, title: str, facts: Facts) -> None:
    """Print a title, and lines of a name and its text."""
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
    numbers_from: int = 1,
    more: str = "",
) -> None:
    """Print rows under a header, columns of numbers to the right.

    `more` tells of rows that are left out.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for i, name in enumerate(header):
        justify: Literal["left", "right"] = "right" if i >= numbers_from else "left"
        # Texts fold before numbers and names do
        whole = i >= numbers_from or (i == 0 and numbers_from > 1)
        table.add_column(name, justify=justify, overflow="fold", no_wrap=whole)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    target.print(table)
    if more:
        print_notes(target, "and", [more])


def print_notes(target: Console, kind: str, notes: Iterable[object]) -> None:
    """Print sentences, one on a line."""
    from rich.text import Text

    for note in notes:
        target.print(Text.assemble((f"{kind}: ", "dim"), str(note)))


PATIENCE_SECONDS = 2.0


@contextlib.contextmanager
def progress(doing: str) -> Iterator[Status | None]:
    """Show a spinner on standard error if the work takes long and may be seen."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    status = Console(stderr=True).status(doing)
    waiting = threading.Timer(PATIENCE_SECONDS, status.start)
    waiting.daemon = True
    waiting.start()
    try:
        yield status
    finally:
        waiting.cancel()
        waiting.join()
        status.stop()


@contextlib.contextmanager
def reading(file: str) -> Iterator[None]:
    """Show a spinner while a file is read, but not to someone who types it."""
    typed = file == "-" and sys.stdin is not None and sys.stdin.isatty()
    name = "standard input" if file == "-" else file
    with contextlib.nullcontext() if typed else progress(f"reading {name}"):
        yield
