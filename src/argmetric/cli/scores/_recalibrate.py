"""A map for the scores, from a file or labelled rows, and the route to labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from argmetric import _files as files
from argmetric._input.types import Floats, Integers
from argmetric._input.validation import Probabilities
from argmetric.cli._errors import UsageError
from argmetric.cli._option_sets import Columns, Judge, RecalibrationOptions, Scores
from argmetric.cli.scores._load import (
    ScoreBatch,
    find_score,
    load_groups,
    load_labels,
    read_rows,
    refuse_shared,
)

if TYPE_CHECKING:
    from argmetric import CalibrationCheck, Calibrator, Rule
    from argmetric._calibrate.resolve import FittedReference

Route = Literal["recalibrate", "decide", "tune", "half", "auto"]


def recalibrated(
    batch: ScoreBatch, options: RecalibrationOptions, columns: Columns
) -> ScoreBatch:
    """Return scored rows with the map that the options ask for, if any."""
    fitted = _load(options, batch.score, columns, logits=batch.logits)
    return replace(batch, calibrator=fitted.calibrator, reference=fitted.rows)


def load_calibrator(
    options: RecalibrationOptions, score: str, columns: Columns, *, logits: bool
) -> Calibrator | None:
    """Return the map that the options ask for, if any.

    Parameters
    ----------
    options : RecalibrationOptions
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
    options: RecalibrationOptions, score: str, columns: Columns, *, logits: bool
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
    options: RecalibrationOptions, score: str, columns: Columns, *, logits: bool
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


@dataclass(frozen=True)
class Taken:
    """The route that is taken, with what it needs.

    Attributes
    ----------
    name : str
        One of "recalibrate", "decide", "tune" and "half".
    batch : ScoreBatch
        The rows, with the map by which they are forecast.
    rule : Rule or None
        The cut, where there is one.
    check : CalibrationCheck or None
        How all routes did on the reference, where they were compared.
    """

    name: str
    batch: ScoreBatch
    rule: Rule | None
    check: CalibrationCheck | None

    @property
    def note(self) -> str:
        """What was taken, and why, in a sentence."""
        if self.check is None:
            return f"route: {self.name}, as asked"
        routes = ", ".join(
            f"{one.words} {one.score:.4f} ± {one.standard_error:.4f}"
            for one in self.check.routes
        )
        return f"route: {self.name}, by what each scored on the reference ({routes})"


def take_route(
    batch: ScoreBatch,
    route: Route,
    recalibration: RecalibrationOptions,
    columns: Columns,
    judge: Judge,
) -> Taken:
    """Fit what the route needs on the reference; "auto" compares all of them first."""
    from argmetric import calibration_check, tune
    from argmetric._calibrate.resolve import FittedReference, resolve_reference

    known = read_reference(recalibration, batch.score, columns, logits=batch.logits)
    groups = _reference_groups(known, batch, columns, judge)
    how: dict[str, Any] = {"logits": batch.logits}
    check, name = None, str(route)
    try:
        if route == "auto":
            check = calibration_check(known.y, known.p, batch.metric, **groups, **how)
            name = check.route
        rule: Any = None
        if name == "tune":
            rule = tune(known.y, known.p, batch.metric, **groups)
        elif name == "half":
            rule = _half(batch)
        fitted = FittedReference(None, None)
        if name != "decide":
            fitted = resolve_reference(None, (known.y, known.p), **how)
    except ValueError as error:
        raise files.DataError(f"{known.table.source}: {error}") from error
    found = replace(batch, calibrator=fitted.calibrator, reference=fitted.rows)
    return Taken(name, found, rule, check)


def _half(batch: ScoreBatch) -> Rule:
    from argmetric import Rule

    half = 0.0 if batch.logits else 0.5
    return Rule(batch.metric, half, probabilities=not batch.logits)


def _reference_groups(
    known: LabelledRows, batch: ScoreBatch, columns: Columns, judge: Judge
) -> dict[str, Any]:
    """Groups of the reference, where the rows have groups: it must have them too."""
    if batch.groups is None:
        return {}
    from argmetric.cli.scores._load import grouping

    return grouping(load_groups(known.table, columns, judge))
