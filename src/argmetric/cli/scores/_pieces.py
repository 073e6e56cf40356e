"""Files of any size: read in pieces, or whole where an option needs all rows."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from argmetric.cli import _report
from argmetric.cli._command import Given
from argmetric.cli._errors import UsageError
from argmetric.cli._progress import stages
from argmetric.cli.scores._refusals import check
from argmetric.cli.scores._rows import (
    COLUMNAR,
    Input,
    in_pieces,
    is_pattern,
    listed,
    shown_input,
)

RUNNING = "engine scheduler memory on_error"
GROUPED = f"{RUNNING} work_dir missing_groups"
# Options that each command takes in pieces, besides those above
TAKEN = {
    "decide": "score group average metric zero_division logits calibrator reference "
    "reference_score reference_label min_positives max_positives min_precision "
    "min_recall coverage new_decisions jobs",
    "forecast": "score decision_column group average metric zero_division pos_label "
    "coverage fail_under fail_on jobs",
    "evaluate": "label decision_column group average metric zero_division pos_label "
    "fail_under",
    "tune": "score label metric zero_division cost_fp cost_fn pos_label choice "
    "min_precision min_recall max_positives coverage seed",
    "calibrate": "score label weight group average metric zero_division pos_label "
    "logits method seed",
}
_FORCING = ("engine", "on_error", "work_dir", "missing_groups", "resume")
_ALWAYS = f"{GROUPED} resume output json encoding max_line decimal file more".split()


def asked(verb: str, o: Given, source: Input) -> bool:
    """Whether the rows are worked on in pieces.

    Raises
    ------
    UsageError
        If an option needs all rows at once, and they are more than the memory holds.
    """
    if o.scheduler is not None and o.engine != "dask":
        raise UsageError("--scheduler is about Dask: pass --engine dask too")
    if o.memory is not None:
        _limit(o)
    forced = any(
        map(o.has, ["engine", "on_error", "work_dir", "missing_groups", "resume"])
    )
    if isinstance(source, tuple):
        many = in_pieces(source[0])
    else:
        many = is_many(source) or _too_large(source, o)
    if not (forced or many):
        return False
    taken = {*TAKEN[verb].split(), *_ALWAYS}
    beyond = [name for name in o.names if o.has(name) and name not in taken]
    if verb == "decide" and isinstance(o.max_positives, float):
        beyond.append("max_positives")
    if not beyond:
        return True
    check(verb, {"whole"}, o)
    _refuse_too_large(f"--{beyond[0].replace('_', '-')}", source, o)
    return False


def is_many(file: str) -> bool:
    """Whether this is a folder, a pattern or an address."""
    return os.path.isdir(file) or "://" in file or is_pattern(file)


def _too_large(file: str, o: Given) -> bool:
    if not (os.path.isfile(file) and file.lower().endswith(COLUMNAR)):
        return False
    return os.path.getsize(file) > _limit(o)


def _limit(o: Given) -> int:
    from argmetric.scale import check_memory

    try:
        return check_memory(o.memory, "--memory")
    except ValueError as error:
        raise UsageError(str(error)) from error


def _refuse_too_large(option: str, source: Input, o: Given) -> None:
    """Refuse rows that cannot be read at once."""
    name = shown_input(source)
    if "://" in name:
        raise UsageError(f"{option} needs all rows at once: copy {name} to this disk")
    size, most = sum(map(os.path.getsize, listed(source))), _limit(o)
    if size > most:
        raise UsageError(
            f"{option} needs all rows at once, and {name} has {size / 1e6:,.0f} MB: "
            f"more than the {most / 1e6:,.0f} MB of --memory"
        )


@contextmanager
def running(o: Given) -> Iterator[dict[str, Any]]:
    """What every verb over files takes: where and how it runs."""
    from argmetric.scale import Dask, Threads

    jobs = -1 if o.jobs is None else o.jobs
    dask = o.engine == "dask"
    with (
        stages() as report,
        _quiet() if dask else nullcontext(),
        Dask(o.scheduler, n_jobs=jobs) if dask else Threads(jobs) as executor,
    ):
        how = {"executor": executor, "progress": report}
        yield {**o.only("on_error", "memory"), **how}


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the log of Dask: what ends the run is told once, by its message."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def described(file: Input, rows: int, **columns: str | None) -> _report.Values:
    """Return which rows of files that were read in pieces, and the columns used."""
    return {
        "file": shown_input(file),
        "format": "parquet",
        "rows": rows,
        "columns": {role: name for role, name in columns.items() if name is not None},
    }
