"""What `decide`, `forecast` and `tune` accept as a calibrator.

Maps and their fits are loaded by those who have one: most calls have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from argmetric._ground.arguments import check_share, shown
from argmetric._ground.labels import (
    binary_labels,
    distinct,
    label_array,
    refuse_missing,
    usual_pair,
)
from argmetric._ground.likely_slips import warn_of_scale
from argmetric._ground.types import Floats
from argmetric._ground.validation import is_frame_like, to_numpy

if TYPE_CHECKING:
    from argmetric._calibrate.calibrator import Calibrator
    from argmetric._calibrate.kept import ScoreCells
    from argmetric._calibrate.reference import Reference

_Y = "the y of reference=(y, p)"
PriorShare = float | Literal["estimate"]


class FittedReference(NamedTuple):
    """A map, and the labelled rows that it was fitted on where these are at hand.

    Passed as `reference=` it is taken as it is. A rule keeps the rows in cells.
    """

    calibrator: Calibrator | None
    rows: Reference | ScoreCells | None


def resolve_calibrator(
    calibrator: Any = None, reference: Any = None, *, logits: bool = False
) -> Calibrator | None:
    """The map that is meant, or None; arguments as for `resolve_reference`."""
    return resolve_reference(calibrator, reference, logits=logits).calibrator


def resolve_reference(
    calibrator: Any = None, reference: Any = None, *, logits: bool = False
) -> FittedReference:
    """The map that is meant, with the rows it was fitted on."""
    if reference is not None:
        if calibrator is not None:
            raise ValueError(
                "calibrator and reference exclude each other: the reference is what a "
                "calibrator is fitted on"
            )
        return _fitted(reference, logits)
    if calibrator is None:
        return FittedReference(None, None)
    found = as_calibrator(calibrator)
    if found.parts[0]._of_classes:
        raise ValueError(
            "this calibrator is for the probabilities of several classes, row by row: "
            "apply it first and pass what it gives"
        )
    return FittedReference(found, None)


def as_calibrator(calibrator: Any) -> Calibrator:
    """A calibrator as it is; a function, or an object with `apply`, wrapped."""
    from argmetric._calibrate.calibrator import Calibrator, FunctionMap

    if isinstance(calibrator, Calibrator):
        return calibrator
    if isinstance(calibrator, type):
        raise TypeError(f"calibrator is a class, {calibrator.__name__}, not a map")
    function = getattr(calibrator, "apply", calibrator)
    if not callable(function) or is_frame_like(calibrator):  # they have an apply too
        raise TypeError(
            "calibrator must be a Calibrator (see calibrate), a function of p (such as "
            "the method predict of a fitted regressor), or an object with a method "
            f"apply, not {type(calibrator).__name__}"
        )
    return FunctionMap(function)


def _fitted(reference: Any, logits: bool) -> FittedReference:
    if isinstance(reference, FittedReference):
        return reference
    y, p = check_pair(reference)
    from argmetric._calibrate.calibrate import DEFAULT
    from argmetric._calibrate.fit import fit_map
    from argmetric._calibrate.reference import check_reference

    shape = getattr(p, "shape", ()) or to_numpy(p, "p").shape
    if len(shape) == 2 and label_array(y, _Y).ndim == 1:
        raise ValueError(
            "the reference has one label per row but a matrix of scores: labels and "
            "scores must have the same shape; for one of several classes per row call "
            "argmetric.classes.decide or argmetric.classes.forecast"
        )
    labels = binary_labels(y, name=_Y, naming=_as_calibrator)
    rows = check_reference(labels.positive, p, logits=logits)
    warn_of_scale(rows.scores, logits=logits)
    return FittedReference(fit_map(rows, DEFAULT), rows)


def with_positives(reference: Any, pos_label: Any) -> Any:
    """A reference whose y says which rows are positive, for a verb with `pos_label`.

    The verb's other labels may have names where those of the reference are 0 and 1.
    """
    if reference is None or isinstance(reference, FittedReference):
        return reference
    y, p = check_pair(reference)
    array = label_array(y, _Y)
    refuse_missing(array, _Y)
    found = distinct(array)
    if pos_label not in found and usual_pair(found) is not None:
        pos_label = None
    return binary_labels(array, pos_label, name=_Y).positive, p


def check_pair(reference: Any) -> tuple[Any, Any]:
    """Labels and scores; anything else is refused."""
    pair = isinstance(reference, tuple | list) and len(reference) == 2
    if not pair or is_frame_like(reference):
        raise TypeError(
            "reference must be a pair (y, p) of labels and their scores, not "
            f"{_shown(reference)}"
        )
    y, p = reference
    return y, p


def _as_calibrator(*label: Any) -> str:
    return f"calibrator=calibrate(y, p, pos_label={shown(label[0])})"


def _shown(reference: Any) -> str:
    if isinstance(reference, tuple | list):
        return f"a {type(reference).__name__} of {len(reference)}"
    return f"{type(reference).__name__}"


def check_prior(prior: Any, *, with_reference: bool) -> PriorShare | None:
    """The argument `prior`: a share of positives, "estimate", or None."""
    if prior is None:
        return None
    if not isinstance(prior, str):
        return check_share(prior, "prior")
    if prior != "estimate":
        raise ValueError(
            'prior must be a share strictly between 0 and 1, or "estimate", not '
            f"{shown(prior)}"
        )
    if not with_reference:
        raise ValueError(
            'prior="estimate" compares the scores with those of labelled rows: pass '
            "reference=(y, p); a calibrator alone does not keep them"
        )
    return "estimate"


def calibrated_scores(found: Calibrator, scores: Floats, *, logits: bool) -> Floats:
    """Scores on the same scale after the map; log-odds keep their tails."""
    return found._map(scores) if logits else found._map_p(scores)
