"""What `decide`, `forecast` and `tune` accept as a calibrator.

Maps and their fits are loaded by those who have one: most calls have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from argmetric._arguments import shown
from argmetric._labels import binary_labels
from argmetric._types import Floats
from argmetric._validation import is_frame_like

if TYPE_CHECKING:
    from argmetric._calibrate._base import Calibrator


def resolve_calibrator(
    calibrator: Any = None, reference: Any = None, *, logits: bool = False
) -> Calibrator | None:
    """The map that is meant, or None.

    Parameters
    ----------
    calibrator : Calibrator, callable or object with `apply`, optional
        A map, or a function from probabilities to probabilities.
    reference : pair (y, p), optional
        Labels (0/1, booleans or -1/1) and their scores, on which a map is fitted.
    logits : bool, default=False
        Whether the scores of the reference are log-odds.
    """
    if reference is not None:
        if calibrator is not None:
            raise ValueError(
                "calibrator and reference exclude each other: the reference is what a "
                "calibrator is fitted on"
            )
        return _fitted(reference, logits)
    if calibrator is None:
        return None
    from argmetric._calibrate._maps import ClassTemperatureMap

    found = as_calibrator(calibrator)
    if any(isinstance(one, ClassTemperatureMap) for one in found.parts):
        raise ValueError(
            "this calibrator is for the probabilities of several classes, row by row: "
            "apply it first and pass what it gives"
        )
    return found


def as_calibrator(calibrator: Any) -> Calibrator:
    """A calibrator as it is; a function, or an object with `apply`, wrapped."""
    from argmetric._calibrate._base import Calibrator
    from argmetric._calibrate._composed import FunctionMap

    if isinstance(calibrator, Calibrator):
        return calibrator
    if isinstance(calibrator, type):
        raise TypeError(f"calibrator is a class, {calibrator.__name__}, not a map")
    function = getattr(calibrator, "apply", calibrator)
    if not callable(function):
        raise TypeError(
            "calibrator must be a Calibrator (see calibrate), a function of p (such as "
            "the method predict of a fitted regressor), or an object with a method "
            f"apply, not {type(calibrator).__name__}"
        )
    return FunctionMap(function)


def _fitted(reference: Any, logits: bool) -> Calibrator:
    pair = isinstance(reference, tuple | list) and len(reference) == 2
    if not pair or is_frame_like(reference):
        raise TypeError(
            "reference must be a pair (y, p) of labels and their scores, not "
            f"{_shown(reference)}"
        )
    from argmetric._calibrate._calibrate import calibrate
    from argmetric._calibrate._maps import ClassTemperatureMap

    y, p = reference
    labels = binary_labels(y, name="the y of reference=(y, p)", naming=_as_calibrator)
    found = calibrate(labels.positive, p, logits=logits)
    if isinstance(found, ClassTemperatureMap):
        raise ValueError(
            "the reference has one label per row but a matrix of scores: labels and "
            "scores must have the same shape"
        )
    return found


def _as_calibrator(*label: Any) -> str:
    return f"calibrator=calibrate(y, p, pos_label={shown(label[0])})"


def _shown(reference: Any) -> str:
    if isinstance(reference, tuple | list):
        return f"a {type(reference).__name__} of {len(reference)}"
    return f"{type(reference).__name__}"


def calibrated_scores(found: Calibrator, scores: Floats, *, logits: bool) -> Floats:
    """Scores on the same scale after the map; log-odds keep their tails."""
    return found._map(scores) if logits else found._map_p(scores)
