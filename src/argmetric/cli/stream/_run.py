"""One pass over a stream: its predictions, its status, signals, checkpoints."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from argmetric._ground import saving
from argmetric._ground.types import (
    AnyArray,
    Booleans,
    Floats,
    Integers,
    SparseMatrix,
)
from argmetric._ground.whole_files import held_alone, read_whole, writing, written_whole
from argmetric.cli import _report
from argmetric.cli._errors import INTERRUPTED, TERMINATED, ends_in_order, say
from argmetric.metrics import Metric
from argmetric.scale import files
from argmetric.scale.files import DataError, blocks

if TYPE_CHECKING:
    from argmetric.stream import OnlineClassifier, StreamHistory


VERSION = 1
_N_CHECKPOINTS = 2  # the newest, and the one before it
_NAME = re.compile(r"checkpoint-(\d{15})\.npz")
_TEMPORARY = re.compile(r"\.checkpoint-\d{15}\.npz\..*\.tmp")


class Checkpoint(NamedTuple):
    """State to resume a run: plain values, the state of the model, the file."""

    manifest: dict[str, Any]
    arrays: saving.Arrays
    path: str


@contextlib.contextmanager
def checkpoint_folder(path: str) -> Iterator[Path]:
    """Lock a folder, and remove unfinished files of a run that was killed."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise DataError(f"--checkpoint {path} is a file; pass a folder") from None
    refusal = f"another run writes to {path}; give each run a folder of its own"
    with held_alone(str(folder / "lock"), refusal):
        for name in os.listdir(folder):
            if _TEMPORARY.fullmatch(name):
                with contextlib.suppress(OSError):
                    (folder / name).unlink()
        yield folder


def checkpoint_to_resume(
    folder: Path, configuration: dict[str, Any], *, resume: bool
) -> Checkpoint | None:
    """Return the checkpoint to go on from; damaged ones behind it are set aside."""
    if not resume:
        if checkpoint_files(folder):
            raise DataError(
                f"{folder} holds checkpoints: pass --resume to go on, or another "
                "folder to begin anew"
            )
        return None
    newest = newest_checkpoint(folder)
    if newest is None:
        say(f"no checkpoint in {folder} yet: beginning with the first row")
        return None
    saved = newest.manifest["configuration"]
    for name in sorted(saved.keys() | configuration.keys()):
        before, now = saved.get(name), configuration.get(name)
        if before != now:
            raise DataError(
                f"{newest.path} is of a run with --{name.replace('_', '-')} "
                f"{_option_text(before)}, not {_option_text(now)}: pass the same "
                "options, or another folder"
            )
    return newest


def _option_text(value: object) -> str:
    if value is None or value is False:
        return "left out"
    return "given" if value is True else str(value)


def checkpoint_files(folder: Path) -> list[Path]:
    names = sorted(os.listdir(folder), reverse=True)
    return [folder / name for name in names if _NAME.fullmatch(name)]


def newest_checkpoint(folder: Path) -> Checkpoint | None:
    """Return the newest checkpoint that is whole; a damaged one is passed over."""
    damaged = False
    for path in checkpoint_files(folder):
        try:
            return read_checkpoint(path)
        except saving.DAMAGE as error:
            damaged, reason = True, " ".join(str(error).split()) or repr(error)
            say(f"{path} is damaged ({reason}); the one before it is tried")
    if damaged:
        raise DataError(
            f"no checkpoint in {folder} is whole; pass another folder to begin anew"
        )
    return None


def save_checkpoint(
    folder: Path, rows: int, manifest: dict[str, Any], arrays: saving.Arrays
) -> str:
    """Write a checkpoint, and remove all but the one before it."""
    path = folder / f"checkpoint-{rows:015d}.npz"
    said = {"version": VERSION, **manifest, "arrays": list(arrays)}
    members: Any = {f"state_{name}": array for name, array in arrays.items()}
    buffer = io.BytesIO()  # a disk that is full is told by what writes the file
    np.savez(buffer, manifest=saving.json_array(said), **members)
    with written_whole(path) as file:
        file.write(buffer.getbuffer())
    for old in checkpoint_files(folder)[_N_CHECKPOINTS:]:
        old.unlink()
    return str(path)


def read_checkpoint(path: Path) -> Checkpoint:
    """Read and check a checkpoint; any damage is an error."""
    members = saving.read_arrays(io.BytesIO(read_whole(path)))
    manifest = saving.parse_json(members["manifest"].tobytes())
    saving.check_version(manifest["version"], VERSION, str(path))
    arrays = {name: members[f"state_{name}"] for name in manifest["arrays"]}
    return Checkpoint(manifest, arrays, str(path))


_SECONDS = 0.25  # between two looks
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def new_model(
    metric: Metric, options: dict[str, Any], format: blocks.RowFormat, seed: int
) -> OnlineClassifier:
    """Return a model that has learned nothing yet."""
    from argmetric.stream import OnlineClassifier

    return OnlineClassifier(
        metric,
        rule=options["rule"] or "histogram",
        # names are hashed by the reader of JSONL
        hash_bits=options["hash_bits"] if format == "svmlight" else None,
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


class Predictions:
    """A file of predictions, standard output ("-"), or nothing (None).

    One of a given length is gone on with, and what is behind it is removed.
    """

    def __init__(self, target: str | None, length: int | None = None) -> None:
        self.target, self.length = target, length or 0
        self._file = self._open(length)

    def _open(self, length: int | None) -> IO[bytes] | None:
        """Open the output; a resumed run goes on after its last checkpoint."""
        if self.target is None or self.target == "-":
            return None if self.target is None else sys.stdout.buffer
        if length is None:
            return open(self.target, "wb")
        try:
            file = open(self.target, "r+b")  # noqa: SIM115 -- closed by `close`
        except FileNotFoundError:
            raise files.DataError(
                f"{self.target} is gone: the checkpoint goes on with it at byte "
                f"{length:,}"
            ) from None
        size = os.fstat(file.fileno()).st_size
        if size < length:
            file.close()
            raise files.DataError(
                f"{self.target} has {size:,} bytes, the checkpoint goes on at byte "
                f"{length:,}: it is another file, or was changed"
            )
        file.truncate(length)
        file.seek(length)
        return file

    def write(self, data: memoryview) -> None:
        if self._file is not None:
            with self._name_in_errors():
                self._file.write(data)
            self.length += len(data)

    def sync(self) -> None:
        """Write what is buffered to the disk."""
        if self._file is None:
            return
        with self._name_in_errors():
            self._file.flush()
        if self.target != "-":
            with contextlib.suppress(OSError):  # a pipe has no disk
                os.fsync(self._file.fileno())

    def close(self) -> None:
        if self._file is not None:
            with self._name_in_errors():
                self._file.flush() if self.target == "-" else self._file.close()

    def _name_in_errors(self) -> contextlib.AbstractContextManager[None]:
        """Return a context in which errors name the output file, if it is one."""
        return contextlib.nullcontext() if self.target == "-" else writing(self.target)


@dataclass
class StreamRun:
    """A pass over rows, from the first one or from the checkpoint that was `found`.

    A checkpoint must agree with the `configuration`; `every` are rows between two.
    """

    model: OnlineClassifier
    rows: blocks.TextRows | blocks.ParquetRows
    predictions: Predictions
    configuration: dict[str, Any]
    folder: Path | None
    every: int
    found: Checkpoint | None
    history: StreamHistory | None = None  # for a report
    finished: bool = False
    seconds: float = 0.0
    learned: int = 0  # rows of this process
    kept: str | None = None  # the last checkpoint

    def __post_init__(self) -> None:
        # Of predictions, each made before its label was seen
        self.counts = dict.fromkeys(("tp", "fp", "fn", "tn"), 0)
        self.position = self.rows.position
        self._saved_rows = self.position.rows
        self._line: Any = None  # on standard error, if that is a terminal
        self._next_look = time.monotonic() + _SECONDS
        if self.found is not None and self.folder is not None:
            self.counts = dict(self.found.manifest["counts"])
            newest = Path(self.found.path).name
            for path in checkpoint_files(self.folder):
                if path.name > newest:  # damaged: it does not count as the newest
                    os.replace(path, path.with_suffix(".damaged"))
            say(f"going on after {self.position.rows:,} rows, from {self.found.path}")

    @property
    def n_rows(self) -> int:
        return sum(self.counts.values())

    def go(self, stopped: Interruption) -> None:
        """Run until the input ends, a signal comes, or a row is wrong.

        A checkpoint is left in all three cases; the error is raised after it.
        """
        started, warned = time.monotonic(), False
        # Before the first block, which waits for compilers, there is nothing to keep
        with contextlib.ExitStack() as in_order:
            try:
                for block in self.rows.blocks():
                    self._take(block)
                    if not self.seconds:
                        in_order.enter_context(ends_in_order(*_SIGNALS))
                    self.seconds = time.monotonic() - started
                    if self.position.rows >= blocks.MOST_ROWS and not warned:
                        warned = True
                        if self.absence is not None:
                            self._close_line()
                            say(f"so far, {self.absence}")
                    self._look()
                    if stopped():
                        break
                    rows = self.position.rows
                    if rows % self.every == 0 and rows > self._saved_rows:
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
                self._close_line()
            self._keep()

    def _take(self, block: blocks.RowBlock) -> None:
        """Learn from a block of rows, in parts where a history is kept."""
        self.position = block.position
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
        if self.predictions.target is not None:
            how = self.configuration
            lines = prediction_lines(how, numbers, scores, decisions, y)
            self.predictions.write(lines)
        self.learned += y.size

    def _look(self) -> None:
        """Print the progress from time to time, on a terminal only."""
        if time.monotonic() < self._next_look or not sys.stderr.isatty():
            return
        rate = self.learned / max(self.seconds, 1e-9)
        score, threshold = self.model.score_, self.model.threshold_
        text = (
            f"{self.n_rows:,} rows · {self.configuration['metric']} "
            f"{_report.number(score)} · threshold {_report.number(threshold)} · "
            f"{rate:,.0f} rows/s"
        )
        if self._line is None:
            from rich.console import Console

            self._line = Console(stderr=True, highlight=False).status(text)
            self._line.start()
        self._line.update(text)
        self._next_look = time.monotonic() + _SECONDS

    def _close_line(self) -> None:
        if self._line is not None:
            self._line.stop()
            self._line = None

    @property
    def absence(self) -> str | None:
        """A note if no row was positive; None if that is plausible."""
        classes = self.position.classes
        both_named = self.configuration["neg_label"] is not None
        positive = self.counts["tp"] + self.counts["fn"]
        if positive or both_named or not classes.doubtful:
            return None
        others = "other labels" if classes.negative is None else repr(classes.negative)
        return (
            f"{self.rows.name}: none of {self.n_rows:,} rows has the label "
            f"{classes.positive!r}, which --pos-label names; they hold {others}"
        )

    def _keep(self) -> bool:
        """Write a checkpoint if there is a folder: predictions, then the state."""
        if self.folder is None:
            return False
        self.predictions.sync()
        position, source = self.position, self.rows
        tail = base64.b64encode(position.tail).decode()
        errors = list(position.errors)
        manifest = {
            "configuration": self.configuration,
            "layout": self.rows.layout.to_dict(),
            "position": asdict(position) | {"tail": tail, "errors": errors},
            "input": source.mark(position.offset, position.tail),
            "output": self.predictions.length,
            "counts": self.counts,
            "finished": self.finished,
        }
        arrays = self.model.get_state() if self.n_rows else {}
        self.kept = save_checkpoint(self.folder, position.rows, manifest, arrays)
        self._saved_rows = position.rows
        return True


def resumed_rows(checkpoint: Checkpoint) -> blocks.ResumePoint:
    """Return where a checkpoint stood in its input."""
    values = dict(checkpoint.manifest["position"])
    values["classes"] = blocks.StreamClasses(**values["classes"])
    values["errors"] = tuple(values["errors"])
    values["tail"] = base64.b64decode(values["tail"])
    layout = blocks.RowLayout.from_dict(checkpoint.manifest["layout"])
    position = blocks.Position(**values)
    return blocks.ResumePoint(position, layout, checkpoint.manifest["input"])
