"""``argmetric stream predict``: rows without labels, by the model of a checkpoint."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter

from argmetric import _files as files
from argmetric._files import blocks
from argmetric._results.archives import DAMAGE
from argmetric._results.whole_files import written_whole
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._errors import with_flags
from argmetric.cli._judge import metric_named
from argmetric.cli._progress import progress
from argmetric.cli.scores import _lines as lines
from argmetric.cli.scores._rows import refuse_shared_output
from argmetric.cli.scores._rules import refuse_bad_target
from argmetric.cli.stream._checkpoint import (
    Checkpoint,
    newest_checkpoint,
    read_checkpoint,
)
from argmetric.cli.stream._out import class_names, new_model, prediction_lines

if TYPE_CHECKING:
    from argmetric.stream import OnlineClassifier

_ANY_LABEL = blocks.StreamClasses(
    rest=True
)  # of svmlight, where a label stands before each row


def predict(
    checkpoint: Annotated[opt.FilePath, Parameter(metavar="CHECKPOINT")],
    file: opt.FilePath,
    /,
    *,
    format: Annotated[blocks.RowFormat | None, opt.INPUT_FORMAT] = None,
    decimal: opt.Decimal = ".",
    on_error: Annotated[Literal["stop", "skip"], opt.IN_FILE] = "stop",
    output: opt.TextTarget = None,
    json: opt.JsonSummary = False,
) -> int:
    """Predict rows without labels by the model of a checkpoint; nothing is learned.

    Features are found by their names, so that columns may come in another order and
    others may be there, such as labels, which are not read. A run that still writes
    checkpoints is not disturbed.

    Parameters
    ----------
    checkpoint
        The folder of --checkpoint, of which the newest is taken, or one of its files.
    file
        Rows of libsvm (svmlight) text, CSV, TSV, JSONL or Parquet; - is standard input.
        In libsvm text each line begins with a label, which may be any, such as 0.
    on_error
        A row that cannot be used: "stop", or "skip" and count it.
    """
    refuse_shared_output(output, json=json)
    if output not in (None, "-"):
        refuse_bad_target(output)
    found = _checkpoint(Path(checkpoint))
    options, known = found.manifest["configuration"], found.manifest["layout"]
    layout = blocks.RowLayout.from_dict(known)
    metric = metric_named(options["metric"], options["zero_division"])
    model = new_model(metric, options, layout.format, options["seed"] or 0)
    model.set_state(found.arrays)
    target = output if output is not None else None if json else "-"
    rows = _open(file, options, layout, format, on_error, decimal)
    with closing(rows.source), progress("predicting"), _written(target) as out:
        summary = _predicted(rows, model, layout, options, out)
    summary["checkpoint"], summary["output"] = found.path, target
    summary["learned"] = _learned(found)
    how: dict[str, Any] = {"json": json, "stderr": True, "unwritten": "rows"}
    notes = [("skipped", error) for error in summary["errors"]]
    return _report.tell("stream predict", summary, _facts, notes=notes, **how)


def _checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint that a model can be made from."""
    try:
        found = newest_checkpoint(path) if path.is_dir() else read_checkpoint(path)
    except FileNotFoundError:
        raise files.DataError(f"there is no checkpoint {path}") from None
    except files.DataError:
        raise
    except DAMAGE:
        raise files.DataError(
            f"{path} is not a checkpoint of argmetric stream, or it is damaged"
        ) from None
    if found is None:
        raise files.DataError(f"there is no checkpoint in {path}")
    if not found.arrays:
        raise files.DataError(f"{found.path} has learned from no row yet")
    return found


def _learned(checkpoint: Checkpoint) -> int:
    return sum(checkpoint.manifest["counts"].values())


def _open(
    file: str,
    options: dict[str, Any],
    layout: blocks.RowLayout,
    format: blocks.RowFormat | None,
    on_error: Literal["stop", "skip"],
    decimal: str,
) -> blocks.OpenRows:
    hashed = options["hash_bits"] is not None and layout.format == "jsonl"
    request = blocks.Request(
        drop=(*options["drop"], str(layout.target)) if hashed else (),
        hash_bits=options["hash_bits"],
        zero_based=options["zero_based"],
        on_error=on_error,
        known=layout,
        decimal=decimal,
    )
    try:
        return blocks.open_rows(file, request, format=format, classes=_ANY_LABEL)
    except blocks.PackedError as error:
        raise files.DataError(
            f"{error.name} is compressed: {error.command} FILE | argmetric stream "
            "predict CHECKPOINT -"
        ) from None


@contextlib.contextmanager
def _written(target: str | None) -> Iterator[IO[bytes] | None]:
    """Yield where lines go: a file that is replaced whole, standard output, nowhere."""
    if target is None:
        yield None
    elif target == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with written_whole(target) as file:
            yield file


def _predicted(
    rows: blocks.OpenRows,
    model: OnlineClassifier,
    known: blocks.RowLayout,
    options: dict[str, Any],
    out: IO[bytes] | None,
) -> _report.Values:
    """Predict all rows, block by block."""
    layout, position = rows.reader.layout, rows.start
    order = [layout.names.index(name) for name in known.names]
    names = class_names(options["pos_label"], options["neg_label"])
    n_rows, positives, started = 0, 0, time.monotonic()
    for block in rows.reader.blocks():
        position = block.position
        if not block.numbers.size:
            continue
        X = block.X[:, order] if order and layout.names != known.names else block.X
        decisions = np.asarray(model.predict(X)) == model.classes_[1]
        scores = np.ascontiguousarray(model.predict_proba(X)[:, 1])
        if out is not None:
            out.write(prediction_lines(names, block.numbers, scores, decisions))
        n_rows += decisions.size
        positives += int(decisions.sum())
    if not n_rows:
        raise files.DataError(f"no row of {rows.source.name} could be used")
    return {
        "file": rows.source.name,
        "format": layout.format,
        "rows": n_rows,
        "skipped": position.skipped,
        "errors": [with_flags(error) for error in position.errors],
        "checkpoint": "",
        "learned": 0,
        "metric": options["metric"],
        "threshold": float(model.threshold_),
        "positives": positives,
        "seconds": time.monotonic() - started,
        "output": None,
    }


def _facts(summary: _report.Values) -> _report.Facts:
    rows = _report.count(summary["rows"], "row")
    learned = _report.count(summary["learned"], "row")
    facts = [
        ("rows", f"{rows} of {summary['file']} ({summary['format']})"),
        ("metric", summary["metric"]),
        ("model", f"{summary['checkpoint']}, which has learned from {learned}"),
        ("threshold", _report.number(summary["threshold"])),
        lines.positives(summary["positives"], summary["rows"]),
    ]
    if summary["skipped"]:
        facts.append(("skipped", _report.count(summary["skipped"], "bad row")))
    return facts
