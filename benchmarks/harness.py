"""What every benchmark shares: lines of JSON, targets and fair timing."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import inspect
import json
import math
import os
import platform
import statistics
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

Target = tuple[str, float] | tuple[str, float, float] | None

ROOT = Path(__file__).resolve().parents[1]

_results: list[dict[str, Any]] = []
_judging = True
_heard = True


class MissingData(SystemExit):
    """A set that is not there: the end of a script, with where the set is to be had."""

    def __init__(self, name: str, folder: Path, published: str) -> None:
        super().__init__(
            f"no {name} in {folder}; set ARGMETRIC_DATA to where it is. It is "
            f"published at {published}"
        )


def data_file(name: str, published: str) -> Path:
    """A file of the folder that ARGMETRIC_DATA names, or of ../shared/data."""
    folder = Path(os.environ.get("ARGMETRIC_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / name).exists():
        raise MissingData(name, folder, published)
    return folder / name


def run_sections(
    about: str | None,
    sections: Mapping[str, Callable[..., Any]] | str,
    package: str = "",
    **more: Any,
) -> int:
    """Run the sections that the command line names, each with the options it takes.

    Parameters
    ----------
    about : str
        The help of the command.
    sections : mapping or str
        Functions by their names, or the names of modules of `package` whose `run` is
        called. A section prints lines, which `--table` prints once more as a
        table, unless it returns the text of one.
    package : str
        The package of the modules.
    **more : Any
        Further options of the command by name: a default, or a tuple of choices, the
        default first. Each section gets those that it has an argument for, `quick`
        among them.
    """
    names = sections.split() if isinstance(sections, str) else list(sections)
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", choices=[*names, []], default=[])
    parser.add_argument(
        "--quick", action="store_true", help="few and small: figures mean nothing"
    )
    parser.add_argument(
        "--table", action="store_true", help="print the tables of the docs, last"
    )
    for name, default in more.items():
        if isinstance(default, tuple):
            parser.add_argument(f"--{name}", choices=default, default=default[0])
        else:
            parser.add_argument(f"--{name}", type=type(default), default=default)
    options = vars(parser.parse_args())
    judge(not options["quick"])
    emit_machine()
    warnings.simplefilter("ignore")  # folds without a positive, and the like
    tables = []
    for name in options["sections"] or names:
        if isinstance(sections, str):
            call = importlib.import_module(f"{package}.{name}").run
        else:
            call = sections[name]
        taken = inspect.signature(call).parameters.keys() & options.keys()
        before = len(_results)
        table = call(**{option: options[option] for option in taken})
        tables.append(table or lines_table(_results[before:]))
    emit_summary()
    if options["table"]:
        print("\n" + "\n\n".join(table for table in tables if table))
    return 0


def judge(judging: bool) -> None:
    """Whether targets are judged; a smoke run is too small for them."""
    global _judging
    _judging = judging


def emit(
    section: str,
    what: str,
    value: float | None,
    unit: str,
    target: Target = None,
    **details: Any,
) -> None:
    """Print one measurement as a line of JSON, with its target and whether it holds."""
    line: dict[str, Any] = {
        "section": section,
        "what": what,
        "value": _rounded(value),
        "unit": unit,
        "target": None if target is None else described(target),
        "met": None if target is None or not _judging else met(value, target),
        **{name: _rounded(detail) for name, detail in details.items()},
    }
    _results.append(line)
    if _heard:
        print(json.dumps(line, ensure_ascii=False), flush=True)


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """Print no measurement: somebody else takes what the functions return."""
    global _heard
    before, _heard = _heard, False
    try:
        yield
    finally:
        _heard = before


def emit_summary() -> None:
    """How many targets were met, and which were not."""
    judged = [line for line in _results if line["met"] is not None]
    missed = [
        f"{line['section']}: {line['what']}" for line in judged if not line["met"]
    ]
    line = {
        "section": "summary",
        "targets": len(judged),
        "met": len(judged) - len(missed),
        "missed": missed,
    }
    print(json.dumps(line, ensure_ascii=False), flush=True)


def emit_machine() -> None:
    """Where these figures come from, as far as it matters for reading them."""
    packages = ("argmetric", "numpy", "numba", "scipy", "scikit-learn")
    line = {
        "section": "machine",
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in packages},
    }
    print(json.dumps(line), flush=True)


def text_table(head: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """Return a simple table of reStructuredText."""
    lines = [[str(cell) for cell in line] for line in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = "  ".join("=" * width for width in widths)
    padded = [
        "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    return "\n".join([rule, padded[0], rule, *padded[1:], rule])


def lines_table(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return lines of JSON as a table: a column for every key that any of them has."""
    keys = dict.fromkeys(key for line in lines for key in line)
    keep = [
        key for key in keys if any(line.get(key) not in (None, "") for line in lines)
    ]
    rows = [["" if line.get(k) is None else line[k] for k in keep] for line in lines]
    return text_table(keep, rows) if rows else ""


def markdown_table(head: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table of Markdown."""
    lines = (head, ["---"] * len(head), *rows)
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def standard_error(values: Any) -> float:
    """Return the standard error of the mean of independent values."""
    values = np.asarray(values, dtype=np.float64)
    return (
        float(values.std(ddof=1) / np.sqrt(values.size))
        if values.size > 1
        else math.nan
    )


def emit_mean(
    section: str,
    what: str,
    values: Any,
    unit: str,
    target: Target = None,
    **details: Any,
) -> None:
    """Print the mean of independent values, its standard error and their number."""
    values = np.asarray(values, dtype=np.float64)
    told = {"standard_error": standard_error(values), "n": values.size}
    emit(section, what, float(values.mean()), unit, target, **told, **details)


def mean_of(rows: Iterable[Mapping[str, Any]], name: str) -> float:
    """Return the mean of a value over rows."""
    return statistics.fmean(row[name] for row in rows)


def groups_of(
    rows: list[dict[str, Any]], *keys: str
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Yield all rows, then those of each value of each key; and what says which."""
    yield {}, rows
    for key in keys:
        for value in dict.fromkeys(row[key] for row in rows):
            yield {key: value}, [row for row in rows if row[key] == value]


def cpu_seconds(call: Callable[[], Any]) -> float:
    """CPU seconds of one call, all threads: blind to others' work on the machine."""
    start = time.process_time()
    call()
    return time.process_time() - start


def wall_seconds(call: Callable[[], Any]) -> float:
    """Wall-clock seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def interleaved(
    calls: dict[str, Callable[[], Any]],
    repeats: int,
    clock: Callable[[Callable[[], Any]], float] = cpu_seconds,
) -> dict[str, list[float]]:
    """Seconds of every call, taken in turns so that noise hits all of them alike."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            times[name].append(clock(call))
    return times


def median_ratio(above: list[float], below: list[float]) -> float:
    """Median over the repeats of the ratio of two calls timed side by side."""
    return statistics.median(a / b for a, b in zip(above, below, strict=True))


def met(value: float | None, target: tuple[Any, ...]) -> bool:
    """Whether a value is what was asked for."""
    if value is None or math.isnan(value):
        return False
    if target[0] == "<=":
        return bool(value <= target[1])
    if target[0] == ">=":
        return bool(value >= target[1])
    assert target[0] == "within"
    return bool(target[1] <= value <= target[2])


def described(target: tuple[Any, ...]) -> str:
    """A target as people write it."""
    if target[0] == "within":
        return f"{target[1]:g} to {target[2]:g}"
    return f"{target[0]} {target[1]:g}"


def _rounded(value: Any) -> Any:
    """Four significant digits: more would be noise."""
    if isinstance(value, float | np.floating):
        return float(f"{value:.4g}") if math.isfinite(value) else str(value)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return value
