"""One pass over a stream: its predictions, its status, signals, checkpoints."""

from __future__ import annotations

import contextlib
import io
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from argmetric._ground import saving
from argmetric._ground.types import (
    AnyArray,
    Booleans,
    Floats,
    Integers,
    SparseMatrix,
)
from argmetric._ground.whole_files import read_whole, writing, written_whole
from argmetric.cli import _report
from argmetric.cli._errors import INTERRUPTED, TERMINATED, ends_in_order, say
from argmetric.metrics import Metric
from argmetric.scale import files
from argmetric.scale.files import blocks

if TYPE_CHECKING:
    from argmetric.stream import OnlineClassifier, StreamHistory


VERSION = 2


class Checkpoint(NamedTuple):
    """A model that has learned: plain values, the state of the model, the file."""

    manifest: dict[str, Any]
    arrays: saving.Arrays
    path: str


def save_checkpoint(path: str, manifest: dict[str, Any], arrays: saving.Arrays) -> None:
    """Write a checkpoint, whole or not at all."""
    said = {"version": VERSION, **manifest, "arrays": list(arrays)}
    members: Any = {f"state_{name}": array for name, array in arrays.items()}
    buffer = io.BytesIO()  # a disk that is full is told by what writes the file
    np.savez(buffer, manifest=saving.json_array(said), **members)
    with written_whole(path) as file:
        file.write(buffer.getbuffer())


def read_checkpoint(path: str) -> Checkpoint:
    """Read and check a checkpoint; any damage is an error."""
    members = saving.read_arrays(io.BytesIO(read_whole(path)))
    manifest = saving.parse_json(members["manifest"].tobytes())
    saving.check_version(manifest["version"], VERSION, path)
    arrays = {name: members[f"state_{name}"] for name in manifest["arrays"]}
    return Checkpoint(manifest, arrays, path)


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def new_model(metric: Metric, options: dict[str, Any], seed: int) -> OnlineClassifier:
    """Return a model that has learned nothing yet."""
    from argmetric.stream import OnlineClassifier

    return OnlineClassifier(
        metric,
        rule=options["rule"] or "histogram",
        random_state=seed,
        **{name: options[name] for name in ("learner", "step", "memory")},
    )


class Interruption:
    """Whether a signal has asked to stop; a second one stops at once.

    `code` is the exit code that tells of the signal, 0 without one.
    """

    code = 0

    def __call__(self) -> bool:
        return self.code != 0

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.code:
            raise SystemExit(self.code)
        self.code = INTERRUPTED if number == signal.SIGINT else TERMINATED

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Treat SIGINT and SIGTERM as requests to stop, in the main thread."""
        before: dict[int, Any] = {}
        with contextlib.suppress(ValueError):
            for number in _SIGNALS:
                before[number] = signal.signal(number, self._ask)
        try:
            yield
        finally:
            for caught, handler in before.items():
                signal.signal(caught, handler)


def prediction_lines(
    options: dict[str, Any],
    numbers: Integers,
    scores: Floats,
    decisions: Integers | Booleans,
    labels: AnyArray | tuple[()] = (),
) -> memoryview:
    """Return a JSON object for each row, as bytes; labels where they are known.

    Classes are 0 and 1, unless both were named: one that is found on the way may be
    needed before it is known.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    names = ["0", "1"]
    if options["pos_label"] is not None and options["neg_label"] is not None:
        names = [_as_json(options[f"{one}_label"]) for one in ("neg", "pos")]
    known = [f',"label":{name}' for name in names] if len(labels) else [""]
    ends = [f',"decision":{name}{label}}}\n' for name in names for label in known]
    place = decisions.astype(np.int64)
    if len(labels):
        place = 2 * place + labels
    lines = pc.binary_join_element_wise(
        files.text_scalar('{"row":'),
        pc.cast(files.integer_array(numbers), pa.large_string()),
        files.text_scalar(',"score":'),
        pc.cast(files.float_array(scores), pa.large_string()),
        files.text_array(ends).take(files.integer_array(place)),
        files.text_scalar(""),
    )
    return files.text_bytes(lines)


def _as_json(label: str) -> str:
    """Return a label as JSON: a number where it reads as one, else text."""
    try:
        number = saving.parse_json(label, rows=True)
    except ValueError:
        number = label
    return json.dumps(label if isinstance(number, list | dict) else number)


@contextlib.contextmanager
def predictions_to(target: str) -> Iterator[Callable[[memoryview], object]]:
    """Yield what writes predictions: to a file, or to standard output."""
    if target == "-":  # what goes wrong is for the caller to tell
        yield sys.stdout.buffer.write
        sys.stdout.buffer.flush()
    else:
        with writing(target), open(target, "wb") as file:
            yield file.write


@dataclass
class StreamRun:
    """A pass over rows; a `checkpoint` is written after every so many."""

    model: OnlineClassifier
    rows: blocks.LabelledRows
    write: Callable[[memoryview], object] | None  # predictions
    configuration: dict[str, Any]
    checkpoint: str | None
    every: int
    history: StreamHistory | None = None  # for a report
    finished: bool = False
    seconds: float = 0.0

    def __post_init__(self) -> None:
        # Of predictions, each made before its label was seen
        self.counts = dict.fromkeys(("tp", "fp", "fn", "tn"), 0)
        self.kept = 0  # rows of the last checkpoint

    @property
    def n_rows(self) -> int:
        return sum(self.counts.values())

    def go(self, stopped: Interruption) -> None:
        """Run until the input ends, a signal comes, or a row is wrong.

        A checkpoint is left in all three cases; the error is raised after it.
        """
        started, warned, status = time.monotonic(), False, None
        # Before the first block, which waits for compilers, there is nothing to keep
        with contextlib.ExitStack() as in_order:
            try:
                for block in self.rows.blocks():
                    self._take(block)
                    if not self.seconds:
                        in_order.enter_context(ends_in_order(*_SIGNALS))
                        status = in_order.enter_context(_report.progress("learning"))
                    self.seconds = time.monotonic() - started
                    if self.rows.rows >= blocks.MANY_ROWS and not warned:
                        warned = True
                        if self.absence is not None:
                            say(f"so far, {self.absence}")
                    if status is not None:
                        status.update(self._progress)
                    if stopped():
                        break
                    if self.n_rows - self.kept >= self.every:
                        self._keep()
                self.finished = not stopped()
            finally:
                self._keep()

    def _take(self, block: blocks.RowBlock) -> None:
        if not block.y.size:
            return
        if self.history is None:
            self._learn(block.X, block.y, block.numbers)
            return
        from argmetric.stream import StreamMoment

        for part in self.history.pieces(self.n_rows, block.y.size):
            self._learn(block.X[part], block.y[part], block.numbers[part])
            tp, fp, fn, _ = self.counts.values()
            known = self.model.score_, self.model.threshold_
            self.history.look(StreamMoment(self.n_rows, *known, tp, tp + fp, tp + fn))

    def _learn(self, X: Floats | SparseMatrix, y: AnyArray, numbers: Integers) -> None:
        """Predict rows before learning from each; count outcomes, write decisions."""
        found, scores = self.model.progressive(X, y, classes=[0, 1], return_proba=True)
        decisions = np.asarray(found).astype(np.int64)
        counts = np.bincount(2 * decisions + y, minlength=4).tolist()
        for name, n in zip(("tn", "fn", "fp", "tp"), counts, strict=True):
            self.counts[name] += n
        if self.write is not None:
            how = self.configuration
            self.write(prediction_lines(how, numbers, scores, decisions, y))

    @property
    def _progress(self) -> str:
        """The score so far, for a terminal."""
        rate = self.n_rows / max(self.seconds, 1e-9)
        score, threshold = self.model.score_, self.model.threshold_
        return (
            f"{self.n_rows:,} rows · {self.configuration['metric']} "
            f"{_report.number(score)} · threshold {_report.number(threshold)} · "
            f"{rate:,.0f} rows/s"
        )

    @property
    def absence(self) -> str | None:
        """A note if no row was positive; None if that is plausible."""
        classes = self.rows.classes
        both_named = self.configuration["neg_label"] is not None
        positive = self.counts["tp"] + self.counts["fn"]
        if positive or both_named or not classes.doubtful:
            return None
        others = "other labels" if classes.negative is None else repr(classes.negative)
        return (
            f"{self.rows.name}: none of {self.n_rows:,} rows has the label "
            f"{classes.positive!r}, which --pos-label names; they hold {others}"
        )

    def _keep(self) -> None:
        """Write a checkpoint, if it is wanted and there is something new."""
        if self.checkpoint is None or self.n_rows == self.kept:
            return
        assert self.rows.layout is not None
        manifest = {
            "configuration": self.configuration,
            "names": self.rows.layout.names,
            "rows": self.n_rows,
        }
        save_checkpoint(self.checkpoint, manifest, self.model.get_state())
        self.kept = self.n_rows
