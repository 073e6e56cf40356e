"""What scores go through first: a map from a file, or one of labelled rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from argmetric import _files as files
from argmetric._input.types import Floats
from argmetric._input.validation import Probabilities
from argmetric.cli._command import Given
from argmetric.cli._errors import UsageError
from argmetric.cli.scores import _load as load
from argmetric.cli.scores._layout import Rows, way_of

if TYPE_CHECKING:
    from argmetric import Calibrator


def recalibrate(rows: Rows, o: Given) -> None:
    """Take the map that the options ask for, if any."""
    if o.calibrator is not None:
        rows.calibrator = read_calibrator(o.calibrator)
    if o.reference is None:
        return
    table, y, p = read_reference(o, rows.score, rows.columns)
    rows.labelled = rows.reference = y, p
    if rows.way == "classes":
        return
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

    Parameters
    ----------
    o : Given
        The options.
    score : str
        The column of scores of the rows, looked for in the reference too.
    columns : dict of str to str, optional
        Of several labels or classes, the columns of scores of the rows.
    """
    how = o.only("encoding", "max_line", "decimal")
    table = load.read_rows(o.reference, **{k: v for k, v in how.items() if v})
    way, logits = way_of(o), bool(o.logits)
    if way == "wide":
        if o.labels is None:
            raise UsageError("--reference needs its labels: pass --labels 'y_*'")
        assert columns is not None
        same = load.partners(table, o.scores, "--scores", columns, o.scores)
        true = load.partners(table, o.labels, "--labels", columns, o.scores)
        y: Any = load.label_matrix(table, true, o.pos_label)
        return table, y, load.score_matrix(table, same, logits=logits)
    label = o.reference_label
    if label is None and o.label in table.names:
        label = o.label
    if way == "classes":
        assert columns is not None
        label = load.find_label(table, label, role="reference_label")
        same = load.partners(table, o.scores, "--scores", columns, o.scores)
        p = load.class_scores(table, o.scores, same, logits=logits)
        return table, load.class_labels(table, label, list(columns)), p
    wanted = o.reference_score
    if wanted is None and score in table.names:
        wanted = score
    found = load.find_score(
        table, wanted, logits=logits, taken=[label], role="reference_score"
    )
    load.refuse_shared(reference_score=found, reference_label=label)
    p = files.probabilities(table, found, logits=logits)
    label = load.find_label(table, label, taken=[found], role="reference_label")
    y = files.labels(table, label, pos_label=o.pos_label).astype(np.int64)
    return table, y, p


def read_calibrator(path: str) -> Calibrator:
    """Read a map that `argmetric calibrate` wrote."""
    from argmetric import Calibrator

    if path == "-":
        raise UsageError("a map is read from a file, not from standard input")
    try:
        return Calibrator.load(path)
    except OSError as error:
        raise files.DataError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, TypeError, UnicodeDecodeError) as error:
        raise files.DataError(
            f"{path} is not a map of argmetric calibrate: {error}"
        ) from (error)
