"""A map for the scores, from a file or from labelled rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from argmetric import _files as files
from argmetric._input.types import Floats, Integers
from argmetric._input.validation import Probabilities
from argmetric.cli._errors import UsageError
from argmetric.cli._option_sets import Columns, Recalibration, Scores
from argmetric.cli.scores._load import (
    Batch,
    find_score,
    load_labels,
    read_rows,
    refuse_shared,
)

if TYPE_CHECKING:
    from argmetric import Calibrator
    from argmetric._calibrate.resolve import FittedReference


def recalibrated(batch: Batch, options: Recalibration, columns: Columns) -> Batch:
    """Return scored rows with the map that the options ask for, if any."""
    fitted = _load(options, batch.score, columns, logits=batch.logits)
    return replace(batch, calibrator=fitted.calibrator, reference=fitted.rows)


def load_calibrator(
    options: Recalibration, score: str, columns: Columns, *, logits: bool
) -> Calibrator | None:
    """Return the map that the options ask for, if any.

    Parameters
    ----------
    options : Recalibration
        A file, a reference, or neither.
    score : str
        The column of scores of the rows, looked for in the reference too.
    columns : Columns
        The options about the other columns of the rows.
    logits : bool
        Whether scores are log-odds, here and there.
    """
    return _load(options, score, columns, logits=logits).calibrator


def _load(
    options: Recalibration, score: str, columns: Columns, *, logits: bool
) -> FittedReference:
    from argmetric._calibrate.resolve import FittedReference, resolve_reference

    if options.calibrator is not None:
        return FittedReference(read_calibrator(options.calibrator), None)
    if options.reference is None:
        return FittedReference(None, None)
    known = read_reference(options, score, columns, logits=logits)
    labelled = known.y, Probabilities(known.p, logits)
    try:
        return resolve_reference(None, labelled, logits=logits)
    except ValueError as error:
        raise files.DataError(f"{known.table.source}: {error}") from error


@dataclass(frozen=True)
class LabelledRows:
    """Scores and labels (0 and 1) of a reference."""

    table: files.Table
    p: Floats
    y: Integers


def read_reference(
    options: Recalibration, score: str, columns: Columns, *, logits: bool
) -> LabelledRows:
    """Read the rows of --reference."""
    assert options.reference is not None
    table = read_rows(options.reference, **columns.reading | {"format": None})
    label = options.reference_label
    if label is None and columns.label in table.names:
        label = columns.label
    wanted = options.reference_score
    if wanted is None and score in table.names:
        wanted = score
    found = find_score(
        table,
        Scores(score=wanted, logits=logits),
        taken=[label],
        role="reference_score",
    )
    refuse_shared(reference_score=found, reference_label=label)
    p = files.probabilities(table, found, logits=logits)
    columns = replace(columns, label=label)
    _, y = load_labels(table, columns, taken=[found], role="reference_label")
    return LabelledRows(table, p, y.astype(np.int64))


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
