"""One pass over a stream: its status on the terminal, signals, checkpoints."""

from __future__ import annotations

import base64
import contextlib
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from argmetric import _files as files
from argmetric._files import blocks
from argmetric.cli import _report
from argmetric.cli._errors import INTERRUPTED, TERMINATED, say
from argmetric.cli._stop import ends_in_order
from argmetric.cli.stream._checkpoint import Checkpoint, CheckpointFolder
from argmetric.cli.stream._out import Predictions

if TYPE_CHECKING:
    from argmetric.stream import OnlineClassifier, StreamHistory

_SECONDS = 0.25  # between two looks
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """Whether a signal has asked to stop; a second one stops at once.

    Attributes
    ----------
    code : int
        The exit code that tells of the signal, 0 without one.
    """

    def __init__(self) -> None:
        self.code = 0

    def __call__(self) -> bool:
        """Whether to stop."""
        return self.code != 0

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.code:
            raise SystemExit(self.code)
        self.code = INTERRUPTED if number == signal.SIGINT else TERMINATED

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Take SIGINT and SIGTERM as wishes; only the main thread can."""
        before: dict[int, Any] = {}
        with contextlib.suppress(ValueError):
            for number in SIGNALS:
                before[number] = signal.signal(number, self._ask)
        try:
            yield
        finally:
            for caught, handler in before.items():
                signal.signal(caught, handler)


class Status:
    """One line on standard error, if that is a terminal."""

    def __init__(self) -> None:
        self._line: Any = None
        self._next = time.monotonic() + _SECONDS
        self._wanted = sys.stderr.isatty()

    def due(self) -> bool:
        """Whether it is time for another look."""
        return self._wanted and time.monotonic() >= self._next

    def show(self, text: str) -> None:
        """Replace the line."""
        if self._line is None:
            from rich.console import Console

            self._line = Console(stderr=True, highlight=False).status(text)
            self._line.start()
        else:
            self._line.update(text)
        self._next = time.monotonic() + _SECONDS

    def close(self) -> None:
        """Remove the line."""
        if self._line is not None:
            self._line.stop()
            self._line = None


@dataclass
class Counts:
    """The confusion matrix of all predictions, each made before its label was seen."""

    tp: int = 0
    fp: int = 0
    fn: int = 0
    tn: int = 0

    def add(self, decisions: Any, labels: Any) -> None:
        """Count the rows of a block."""
        found = np.bincount(2 * decisions.astype(np.int64) + labels, minlength=4)
        tn, fn, fp, tp = found.tolist()
        self.tp, self.fp = self.tp + tp, self.fp + fp
        self.fn, self.tn = self.fn + fn, self.tn + tn

    def to_dict(self) -> _report.Values:
        """Return plain values."""
        return {"tp": self.tp, "fp": self.fp, "fn": self.fn, "tn": self.tn}

    @property
    def rows(self) -> int:
        """All of them."""
        return self.tp + self.fp + self.fn + self.tn


@dataclass
class StreamRun:
    """A pass over the rows of an input.

    Attributes
    ----------
    model : OnlineClassifier
        Predicts and learns.
    rows : OpenRows
        The input.
    predictions : Predictions
        Where predictions go.
    configuration : dict
        The options that a checkpoint must agree with.
    folder : CheckpointFolder or None
        Where checkpoints go.
    every : int
        Rows between two of them.
    """

    model: OnlineClassifier
    rows: blocks.OpenRows
    predictions: Predictions
    configuration: dict[str, Any]
    folder: CheckpointFolder | None
    every: int
    counts: Counts = field(default_factory=Counts)
    finished: bool = False
    seconds: float = 0.0
    learned: int = 0  # rows of this process
    kept: str | None = None  # the last checkpoint
    history: StreamHistory | None = None  # for a report

    def __post_init__(self) -> None:
        self.position = self.rows.start
        self._saved_rows = self.position.rows
        self._warned = False

    def go(self, stopped: Interruption, status: Status) -> None:
        """Run until the input ends, a signal comes, or a row is wrong.

        A checkpoint is left in all three cases; the error is raised after it.
        """
        # Before the first block, which waits for compilers, there is nothing to keep
        with contextlib.ExitStack() as in_order:
            self._go(stopped, status, in_order)

    def _go(
        self, stopped: Interruption, status: Status, in_order: contextlib.ExitStack
    ) -> None:
        started = time.monotonic()
        try:
            for block in self.rows.reader.blocks():
                self._take(block)
                if not self.seconds:
                    in_order.enter_context(ends_in_order(*SIGNALS))
                self.seconds = time.monotonic() - started
                if self.position.rows >= blocks.MOST_ROWS and not self._warned:
                    self._warned = True
                    self._warn(status)
                if status.due():
                    status.show(self._line())
                if stopped():
                    break
                if self._is_due():
                    self._keep()
            self.finished = not stopped()
        except blocks.BadRowError as error:
            if self._keep():
                raise files.DataError(
                    f"{error}. The {self.position.rows:,} rows before it are in "
                    "the checkpoint: mend the line, or pass --on-error skip, and "
                    "--resume"
                ) from error
            raise
        finally:
            status.close()
        self._keep()

    def _take(self, block: blocks.RowBlock) -> None:
        self.position = block.position
        if not block.y.size:
            return
        if self.history is None:
            self._learn(block.X, block.y, block.numbers)
            return
        from argmetric.stream import Look

        for part in self.history.pieces(self.counts.rows, block.y.size):
            self._learn(block.X[part], block.y[part], block.numbers[part])
            counts = self.counts
            predicted, actual = counts.tp + counts.fp, counts.tp + counts.fn
            known = self.model.score_, self.model.threshold_
            found = counts.tp, predicted, actual
            self.history.look(Look(counts.rows, *known, *found))

    def _learn(self, X: Any, y: Any, numbers: Any) -> None:
        decisions, scores = self.model.progressive(
            X, y, classes=[0, 1], return_proba=True
        )
        decisions = np.asarray(decisions)
        self.counts.add(decisions, y)
        self.predictions.write(numbers, scores, decisions, y)
        self.learned += y.size

    def _line(self) -> str:
        rate = self.learned / max(self.seconds, 1e-9)
        return (
            f"{self.counts.rows:,} rows · {self.configuration['metric']} "
            f"{_report.number(self.model.score_)} · threshold "
            f"{_report.number(self.model.threshold_)} · {rate:,.0f} rows/s"
        )

    # -- a positive class that does not come ------------------------------------

    @property
    def absence(self) -> str | None:
        """What is to be said if no row was positive; None if that may well be."""
        classes = self.position.classes
        both_named = self.configuration["neg_label"] is not None
        if self.counts.tp + self.counts.fn or both_named or not classes.doubtful:
            return None
        others = "other labels" if classes.negative is None else repr(classes.negative)
        return (
            f"{self.rows.source.name}: none of {self.counts.rows:,} rows has the label "
            f"{classes.positive!r}, which --pos-label names; they hold {others}"
        )

    def _warn(self, status: Status) -> None:
        if self.absence is not None:
            status.close()
            say(f"so far, {self.absence}")

    # -- checkpoints ------------------------------------------------------------

    def _is_due(self) -> bool:
        rows = self.position.rows
        return rows % self.every == 0 and rows > self._saved_rows

    def _keep(self) -> bool:
        """Write a checkpoint, if they are wanted: predictions first, then the state."""
        if self.folder is None:
            return False
        self.predictions.sync()
        position, source = self.position, self.rows.source
        manifest = {
            "configuration": self.configuration,
            "layout": self.rows.reader.layout.to_dict(),
            "position": saved_position(position),
            "input": source.mark(position.offset, position.tail),
            "output": self.predictions.length,
            "counts": self.counts.to_dict(),
            "finished": self.finished,
        }
        arrays = self.model.get_state() if self.counts.rows else {}
        self.kept = self.folder.save(position.rows, manifest, arrays)
        self._saved_rows = position.rows
        return True


def saved_position(position: blocks.Position) -> dict[str, Any]:
    """Return a position as plain values."""
    tail = base64.b64encode(position.tail).decode()
    return asdict(position) | {"tail": tail, "errors": list(position.errors)}


def resumed_rows(checkpoint: Checkpoint) -> blocks.Resumed:
    """Return where a checkpoint stood in its input."""
    values = dict(checkpoint.manifest["position"])
    values["classes"] = blocks.StreamClasses(**values["classes"])
    values["errors"] = tuple(values["errors"])
    values["tail"] = base64.b64decode(values["tail"])
    layout = blocks.RowLayout.from_dict(checkpoint.manifest["layout"])
    return blocks.Resumed(
        blocks.Position(**values), layout, checkpoint.manifest["input"]
    )


def refuse_other_options(checkpoint: Checkpoint, configuration: dict[str, Any]) -> None:
    """Refuse a checkpoint of a run with other options."""
    saved = checkpoint.manifest["configuration"]
    for name in sorted(saved.keys() | configuration.keys()):
        before, now = saved.get(name), configuration.get(name)
        if before != now:
            option = f"--{name.replace('_', '-')}"
            raise files.DataError(
                f"{checkpoint.path} is of a run with {option} {_shown(before)}, not "
                f"{_shown(now)}: pass the same options, or another folder"
            )


def _shown(value: Any) -> str:
    if value is None or value is False:
        return "left out"
    return "given" if value is True else str(value)
