"""`argmetric decide` on many files, or on one that is larger than memory."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from argmetric.cli import _report
from argmetric.cli._errors import UsageError
from argmetric.cli._option_sets import Columns, Judge, RecalibrationOptions, Scores
from argmetric.cli._options import FilePath, Flag
from argmetric.cli._progress import stages
from argmetric.cli.scores._recalibrate import load_calibrator
from argmetric.cli.scores._rows import (
    COLUMNAR,
    Input,
    in_pieces,
    is_pattern,
    shown_input,
)
from argmetric.metrics import Metric

if TYPE_CHECKING:
    from argmetric.scale import ScaledDecision

MANY = Group("Many files", sort_key=8)
_MANY = Parameter(group=MANY)
IN_MEMORY = "{} is about one file that fits in memory"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PieceOptions:
    """How files of any size are read.

    Parameters
    ----------
    engine
        Threads of this machine, or a Dask cluster: that of --scheduler, or processes
        that are started for the run.
    scheduler
        The address of a Dask scheduler, such as tcp://10.0.0.1:8786.
    memory
        The memory to use, such as 2GB. A larger file is read in pieces. [default:
        half of the machine]
    on_error
        Whether a file that cannot be read, or has other columns, stops the run, or is
        skipped and listed.
    """

    engine: Annotated[Literal["local", "dask"], _MANY] = "local"
    scheduler: Annotated[str | None, _MANY, Parameter(metavar="ADDRESS")] = None
    memory: Annotated[str | None, _MANY, Parameter(metavar="SIZE")] = None
    on_error: Annotated[Literal["stop", "skip"], _MANY] = "stop"

    def asked_for(self, file: Input) -> bool:
        """Whether these options, or the files, ask for a run in pieces."""
        if self.scheduler is not None and self.engine != "dask":
            raise UsageError("--scheduler is about Dask: pass --engine dask too")
        if self.memory is not None:
            self._most_memory()
        if self != type(self)(memory=self.memory):
            return True
        if isinstance(file, tuple):
            return in_pieces(file[0])
        return is_many(file) or self._too_large(file)

    def _too_large(self, file: str) -> bool:
        if not (os.path.isfile(file) and file.lower().endswith(COLUMNAR)):
            return False
        return os.path.getsize(file) > self._most_memory()

    def _most_memory(self) -> int:
        from argmetric.scale import check_memory

        try:
            return check_memory(self.memory, "--memory")
        except ValueError as error:
            raise UsageError(str(error)) from error

    @contextmanager
    def running(self, jobs: int | None = None) -> Iterator[dict[str, Any]]:
        """What every verb over files takes: where and how it runs."""
        from argmetric.scale import Dask, Threads

        jobs = -1 if jobs is None else jobs
        dask = self.engine == "dask"
        with (
            stages() as report,
            _quiet() if dask else nullcontext(),
            Dask(self.scheduler, n_jobs=jobs) if dask else Threads(jobs) as executor,
        ):
            yield {
                "on_error": self.on_error,
                "memory": self.memory,
                "executor": executor,
                "progress": report,
            }

    def note(self, n_files: int) -> str:
        """How it was done."""
        return f"{_report.count(n_files, 'file')} in pieces, engine {self.engine}"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class GroupedPieces(PieceOptions):
    """How they are read by a verb that brings the rows of a group together.

    Parameters
    ----------
    work_dir
        The folder for intermediate files, about 24 bytes a row; all workers must see
        it. [default: beside the output, or the folder of temporary files]
    missing_groups
        Whether rows without a group are an error, or form a group of their own.
    """

    work_dir: Annotated[FilePath | None, _MANY, Parameter(metavar="FOLDER")] = None
    missing_groups: Annotated[Literal["error", "own"], _MANY] = "error"

    @property
    def by_group(self) -> dict[str, Any]:
        """What such a verb takes besides."""
        return {"missing_groups": self.missing_groups, "work_dir": self.work_dir}


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Many(GroupedPieces):
    """How files of any size are worked on.

    Parameters
    ----------
    resume
        Continue a run that was stopped.
    """

    resume: Annotated[bool, Flag, _MANY] = False


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the log of Dask: what ends the run is told once, by its message."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def is_many(file: str) -> bool:
    """Whether this is a folder, a pattern or an address."""
    return os.path.isdir(file) or "://" in file or is_pattern(file)


NOT_MANY = Many()
NO_PIECES = PieceOptions()
NO_GROUPED_PIECES = GroupedPieces()


def decide_many(
    file: Input,
    scores: Scores,
    columns: Columns,
    judge: Judge,
    recalibration: RecalibrationOptions,
    limits: dict[str, Any],
    many: Many,
    *,
    output: str | None,
    decision_column: str,
    json: bool,
    jobs: int | None,
) -> int:
    """Decide about all rows, and write a folder of the same files."""
    if output in (None, "-"):
        raise UsageError(
            f"{shown_input(file)}: decisions of many files go to a folder: pass "
            "-o FOLDER"
        )
    if columns.label is not None or columns.pos_label is not None:
        raise UsageError("--label is not read here: see `argmetric evaluate`")
    average = judge.average_for(columns.group)
    metric = judge.resolved()
    from argmetric.scale import decide

    calibrator = load_calibrator(
        recalibration, scores.score or "", columns, logits=scores.logits
    )
    with many.running(jobs) as how:
        found = decide(
            file,
            metric,
            output=output,
            group=columns.group,
            score=scores.score,
            average=average or "groups",
            logits=scores.logits,
            calibrator=calibrator,
            decision_column=decision_column,
            resume=many.resume,
            **how,
            **many.by_group,
            **limits,
        )
    summary = _summary(found, file, metric, average, many)
    notes = [("note", note) for note in summary["notes"]]
    notes += [("left out", file) for file in summary["skipped"]]
    return _report.tell("decide", summary, _facts, json=json, stderr=True, notes=notes)


def _summary(
    found: ScaledDecision, file: Input, metric: Metric, average: Any, many: Many
) -> _report.Values:
    used = {"score": found.score, "group": found.group}
    return {
        **_report.pieces_described(file, found.n, found.n_groups, average, **used),
        **_report.metric_described(metric),
        "files": found.n_files,
        "positives": found.n_positives,
        "expected": found.expected,
        "error": found.error,
        "threshold": found.threshold,
        "expected_half": found.expected_half,
        "positives_half": found.n_half,
        "plan": found.plan,
        "engine": many.engine,
        "skipped": list(found.skipped),
        "notes": list(found.notes),
        "output": found.output,
    }


def _facts(summary: _report.Values) -> _report.Facts:
    facts = [
        *_report.asked(summary),
        ("files", _report.count(summary["files"])),
        _report.positives(summary),
        ("expected", _report.number(summary["expected"])),
    ]
    if summary["expected_half"] is not None:
        half = _report.number(summary["expected_half"])
        facts.append(("cut at 0.5", f"{half}, {summary['positives_half']:,} positives"))
    facts.append(("plan", f"{summary['plan']}, engine {summary['engine']}"))
    return facts
