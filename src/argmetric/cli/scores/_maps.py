"""What scores go through first: a map from a file, or one of labelled rows."""

from __future__ import annotations

from typing import Any

import numpy as np

import argmetric as am
from argmetric import _files as files
from argmetric._input.types import Floats
from argmetric._input.validation import Probabilities
from argmetric.cli._command import Given
from argmetric.cli._errors import UsageError
from argmetric.cli.scores._layout import Rows, way_of
from argmetric.cli.scores._load import read_rows


def recalibrate(rows: Rows, o: Given) -> None:
    """Take the map that the options ask for, if any."""
    if o.calibrator is not None:
        rows.calibrator = read_calibrator(o.calibrator)
    if o.reference is None:
        return
    table, y, p = read_reference(o, rows.score, rows.columns)
    rows.labelled = rows.reference = y, p
    if rows.way != "classes":
        found = fitted(o, table, y, p)
        rows.calibrator = found.calibrator
        rows.reference = None if found.rows is None else found


def fitted(o: Given, table: files.Table, y: Any, p: Any) -> Any:
    """Return the map of labelled rows, with these rows."""
    from argmetric._calibrate.resolve import resolve_reference

    logits = bool(o.logits)
    try:
        return resolve_reference(None, (y, Probabilities(p, logits)), logits=logits)
    except ValueError as error:
        raise files.DataError(f"{table.source}: {error}") from error


def read_reference(
    o: Given, score: str, columns: dict[str, str] | None = None
) -> tuple[files.Table, Any, Floats]:
    """Read labels and scores of --reference.

    `score` is the column of scores of the rows, looked for in the reference too, and
    `columns` are those of several labels or classes.
    """
    how = o.only("encoding", "max_line", "decimal")
    table = read_rows(o.reference, **{k: v for k, v in how.items() if v})
    way = way_of(o)
    if way == "wide" and o.labels is None:
        raise UsageError("--reference needs its labels: pass --labels 'y_*'")
    named = {"score": o.reference_score, "label": o.reference_label}
    for role, same in (("score", score), ("label", o.label)):
        if named[role] is None and same in table.names:
            named[role] = same
    none = dict.fromkeys(("group", "weight", "known", "decision_column"))
    o = o.but(**named, **none)
    rows = Rows(table, way, None, logits=bool(o.logits), prefix="reference_")
    rows.columns = columns or {}
    rows.read_scores(o, None, "probabilities")
    rows.read_labels(o, None, "required")
    return table, rows.y.astype(np.int64) if way == "one" else rows.y, rows.p


def read_calibrator(path: str) -> am.Calibrator:
    """Read a map that `argmetric calibrate` wrote."""
    if path == "-":
        raise UsageError("a map is read from a file, not from standard input")
    try:
        return am.Calibrator.load(path)
    except OSError as error:
        raise files.DataError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, TypeError, UnicodeDecodeError) as error:
        said = f"{path} is not a map of argmetric calibrate: {error}"
        raise files.DataError(said) from error
