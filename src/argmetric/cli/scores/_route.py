"""``argmetric decide --reference --route``: the way to labels, measured or named."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from argmetric import _files as files
from argmetric.cli._option_sets import Columns, Judge, Recalibration
from argmetric.cli.scores._load import Batch, load_groups
from argmetric.cli.scores._recalibrate import LabelledRows, read_reference

if TYPE_CHECKING:
    from argmetric import CalibrationCheck, Rule

Route = Literal["recalibrate", "decide", "tune", "half", "auto"]


@dataclass(frozen=True)
class Taken:
    """The route that is taken, with what it needs.

    Attributes
    ----------
    name : str
        One of "recalibrate", "decide", "tune" and "half".
    batch : Batch
        The rows, with the map by which they are forecast.
    rule : Rule or None
        The cut, where there is one.
    check : CalibrationCheck or None
        How all routes did on the reference, where they were compared.
    """

    name: str
    batch: Batch
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
    batch: Batch,
    route: Route,
    recalibration: Recalibration,
    columns: Columns,
    judge: Judge,
) -> Taken:
    """Fit what the route needs on the reference; "auto" compares all of them first."""
    from argmetric import calibrate, calibration_check, tune

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
        calibrator = None if name == "decide" else calibrate(known.y, known.p, **how)
    except ValueError as error:
        raise files.DataError(f"{known.table.source}: {error}") from error
    return Taken(name, replace(batch, calibrator=calibrator), rule, check)


def _half(batch: Batch) -> Rule:
    from argmetric import Rule

    half = 0.0 if batch.logits else 0.5
    return Rule(batch.metric, half, probabilities=not batch.logits)


def _reference_groups(
    known: LabelledRows, batch: Batch, columns: Columns, judge: Judge
) -> dict[str, Any]:
    """Groups of the reference, where the rows have groups: it must have them too."""
    if batch.groups is None:
        return {}
    from argmetric.cli.scores._load import grouping

    return grouping(load_groups(known.table, columns, judge))
